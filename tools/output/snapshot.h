/* SPDX-License-Identifier: GPL-2.0 */
/*
 * snapshot.h - write a snapshot: all pages, and the names and build ids that would be lost
 */
#ifndef SNAPSHOT_H
#define SNAPSHOT_H

#include "symbol/symbols.h"

/* Write file @name.  Return 0, or -1 with a line in @error and @name unchanged */
int snapshot_write(const char *name, const struct page_set *set, struct record *r,
		   struct symbols *symbols, char *error, size_t size);

#endif
