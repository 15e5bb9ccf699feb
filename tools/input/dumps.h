/* SPDX-License-Identifier: GPL-2.0 */
/*
 * dumps.h - files that contain a machine's memory, or a snapshot
 */
#ifndef DUMPS_H
#define DUMPS_H

#include "input/source.h"

/* Open files that together contain one machine's memory.  Return 0, or -1 with s->error set */
int dumps_open(struct source *s, char *const *name, unsigned int names);

#endif
