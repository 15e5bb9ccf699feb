/* SPDX-License-Identifier: GPL-2.0 */
/*
 * core_file.h - ELF core files, including /proc/kcore
 */
#ifndef CORE_FILE_H
#define CORE_FILE_H

#include <elf.h>
#include "util.h"

#define CORE		"/proc/kcore"

/* Return the VMCOREINFO of a core file, or NULL; the caller frees it */
char *core_vmcoreinfo(int fd);

/*
 * Read the program headers of a 64-bit little-endian core file, and set *@nr to their number; the
 * caller frees them.  Return NULL if the file is not one.  Set *@whole if no header is missing.
 */
Elf64_Phdr *core_segments(int fd, size_t *nr, bool *whole);

/* The file offset of a virtual address in a core file, 0 if it is not there */
u64 core_offset(int fd, u64 addr, u64 size);

/*
 * Set *@offset to the KASLR offset of the kernel whose VMCOREINFO is a note in this core file.
 * Return false if it is unknown.
 */
bool core_kernel_offset(const char *core, u64 *offset);

#endif
