/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kcore.h - the running kernel's memory
 */
#ifndef KCORE_H
#define KCORE_H

#include "input/source.h"

/*
 * Open the running kernel's memory through a core file, with the symbols of @kallsyms.  If
 * @kallsyms has only functions, search the memory described by @module, the module's directory in
 * sysfs.  Return 0, or -1 with s->error set
 */
int kcore_open(struct source *s, const char *core, const char *kallsyms, const char *module);

#endif
