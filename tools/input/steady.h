/* SPDX-License-Identifier: GPL-2.0 */
/*
 * steady.h - whole pages of arrays that may be written concurrently
 */
#ifndef STEADY_H
#define STEADY_H

#include "input/source.h"

/*
 * Read @nr pages of the ring or the table from @index on, which may be written concurrently.  A
 * copy of a page of the ring is valid if its number, page.seq, is not 0 and does not change until
 * it is read again: then it has only whole events, and page.owner is 0 only if the page cannot grow
 * any more.  A copy of a page of the table has only whole stacks.  All pages together take only
 * three reads, because the functions that read may be probed.  Return 0, or -1 with s->error set.
 */
int steady_read_pages(struct source *s, enum array a, size_t index, void *page, size_t nr);

/* Read and parse only the array stackbuf_info.  Return 0, or -1 with s->error set */
int steady_read_info(struct source *s, struct record *r);

#endif
