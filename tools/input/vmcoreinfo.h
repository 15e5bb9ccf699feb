/* SPDX-License-Identifier: GPL-2.0 */
/*
 * vmcoreinfo.h - what a kernel notes about itself for readers of its dumps
 */
#ifndef VMCOREINFO_H
#define VMCOREINFO_H

#include "util.h"

/* Its first key.  As text it is a page of every Linux kernel's memory */
#define VMCOREINFO	"OSRELEASE="

/* Bytes of it that are read: the kernel has one page, of 64 KiB at most */
#define VMCOREINFO_MAX	65536

/*
 * The value of "SYMBOL(@name)", of "NUMBER(@name)", of any @key.  Return false without it.  Here
 * and below @info is its text, lines "KEY=VALUE", or NULL.
 */
bool vmcoreinfo_symbol(const char *info, const char *name, u64 *value);
bool vmcoreinfo_number(const char *info, const char *name, u64 *value);
bool vmcoreinfo_value(const char *info, const char *key, int base, u64 *value);

/* The offset of KASLR, of x86-64 and arm64.  Return false if it is not there */
bool vmcoreinfo_kernel_offset(const char *info, u64 *offset);

/* Copy the release, of 64 bytes, and the build id, of 128; "" where they are not there */
void vmcoreinfo_release(const char *info, char *release, char *build_id);

#endif
