/* SPDX-License-Identifier: GPL-2.0 */
/*
 * open.h - open a source of pages of any kind
 */
#ifndef OPEN_H
#define OPEN_H

#include "input/source.h"

/*
 * Open a source: one name, or several files that together contain one machine's memory; without
 * names, the running kernel's memory.  Return 0, or -1 with s->error set.  Call source_close() in
 * both cases.
 */
int source_open(struct source *s, char *const *name, unsigned int names);

#endif
