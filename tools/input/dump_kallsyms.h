/* SPDX-License-Identifier: GPL-2.0 */
/*
 * dump_kallsyms.h - the kernel's own symbols in a dump
 */
#ifndef DUMP_KALLSYMS_H
#define DUMP_KALLSYMS_H

#include <stdio.h>
#include "input/dump.h"

/*
 * Write the kernel's own symbols, without modules' symbols, as /proc/kallsyms prints them.  Return
 * 0, or -1 if the dump lacks them, or has none with @name at @addr.
 */
int dump_kallsyms(struct dump_file *f, FILE *to, const char *name, u64 addr);

#endif
