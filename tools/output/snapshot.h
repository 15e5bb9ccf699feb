/* SPDX-License-Identifier: GPL-2.0 */
/*
 * save.h - write a snapshot: all pages, and names that would be lost
 */
#ifndef SAVE_H
#define SAVE_H

#include "symbol/symbols.h"

/* Return 0, or -1 with a line in @error; @name is then as it was before */
int snapshot_write(const char *name, const struct page_set *set, struct record *r, struct symbols *symbols,
	 char *error, size_t size);

#endif
