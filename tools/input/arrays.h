/* SPDX-License-Identifier: GPL-2.0 */
/*
 * arrays.h - sources that have each array in one piece
 */
#ifndef ARRAYS_H
#define ARRAYS_H

#include "input/source.h"

/* Open a directory that has the arrays as files.  Return 0, or -1 with s->error set */
int arrays_open(struct source *s, const char *directory);

/* Set up such a source, without arrays yet */
void arrays_start(struct source *s, bool live);

/* Let array @a begin at @offset in @fd, which the source then owns */
void arrays_place(struct source *s, enum array a, int fd, u64 offset);

/*
 * Read the first page of stackbuf_info, whose place is set, and from it the sizes of all arrays.
 * Return 0, or -1 with s->error set
 */
int arrays_read_sizes(struct source *s, struct stackbuf_info *info);

/* The size of an array in bytes */
u64 arrays_size(const struct source *s, enum array a);

#endif
