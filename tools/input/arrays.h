/* SPDX-License-Identifier: GPL-2.0 */
/*
 * arrays.h - sources whose arrays are each in one piece
 */
#ifndef ARRAYS_H
#define ARRAYS_H

#include "input/source.h"

/* Open a directory that holds them as files.  Return 0, or -1 with s->error set */
int arrays_open(struct source *s, const char *directory);

/* Such a source, without arrays yet */
void arrays_start(struct source *s, bool live);

/* The array @a begins at @offset in @fd, which is the source's from now on */
void arrays_place(struct source *s, enum array a, int fd, u64 offset);

/*
 * Read the first page of stackbuf_info, which was placed, and with it the sizes of all arrays.
 * Return 0, or -1 with s->error set
 */
int arrays_read_sizes(struct source *s, struct stackbuf_info *info);

/* The size of an array in bytes */
u64 arrays_size(const struct source *s, enum array a);

#endif
