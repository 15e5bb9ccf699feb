/* SPDX-License-Identifier: GPL-2.0 */
/*
 * vmcoreinfo.h - VMCOREINFO, the kernel's notes about itself for readers of its dumps
 */
#ifndef VMCOREINFO_H
#define VMCOREINFO_H

#include "util.h"

/* Its first key.  Every Linux kernel's memory has VMCOREINFO as a page of text */
#define VMCOREINFO	"OSRELEASE="

/* Bytes of it that are read: the kernel has one page, of at most 64 KiB */
#define VMCOREINFO_MAX	65536

/*
 * Get the value of "SYMBOL(@name)", "NUMBER(@name)", or any @key.  Return false if there is none.
 * Here and below @info is the text, lines "KEY=VALUE", or NULL.
 */
bool vmcoreinfo_symbol(const char *info, const char *name, u64 *value);
bool vmcoreinfo_number(const char *info, const char *name, u64 *value);
bool vmcoreinfo_value(const char *info, const char *key, int base, u64 *value);

/* Get the KASLR offset, of x86-64 and arm64.  Return false if there is none */
bool vmcoreinfo_kernel_offset(const char *info, u64 *offset);

/* Copy the release (64 bytes) and the build id (128 bytes); "" if missing */
void vmcoreinfo_release(const char *info, char *release, char *build_id);

#endif
