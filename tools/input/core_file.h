/* SPDX-License-Identifier: GPL-2.0 */
/*
 * core_file.h - ELF core files, /proc/kcore among them
 */
#ifndef CORE_FILE_H
#define CORE_FILE_H

#include <elf.h>
#include "util.h"

#define CORE		"/proc/kcore"

/* The VMCOREINFO of a core file, to be freed; NULL if it is not there */
char *core_vmcoreinfo(int fd);

/*
 * Read the program headers of a 64-bit little-endian core file, to be freed, and set *@nr to their
 * number.  Return NULL if the file is none.  *@whole is whether that are all that it should have.
 */
Elf64_Phdr *core_segments(int fd, size_t *nr, bool *whole);

/* The offset of a virtual address in a core file, 0 if it is not there */
u64 core_offset(int fd, u64 addr, u64 size);

/*
 * Set *@offset to the offset of KASLR of the kernel that has VMCOREINFO as a note in this core
 * file.  Return false if that is unknown.
 */
bool core_kernel_offset(const char *core, u64 *offset);

#endif
