/* SPDX-License-Identifier: GPL-2.0 */
/*
 * check.h - the second reader, tests/guest/sbcheck.c, on arrays in memory
 */
#ifndef CHECK_H
#define CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct check_arrays {
	void *info, *events, *stacks, *text;
	size_t info_size, events_size, stacks_size, text_size;
};

/*
 * Check a copy of the arrays; @rest: nothing was recorded meanwhile, and @recorded has the number
 * of events that were recorded by path.  Problems are printed; return how many there were so far.
 */
unsigned int check_arrays(const struct check_arrays *copy, bool rest,
			  const unsigned long long *recorded, unsigned int paths);

/* Check what a reader can of @pages of the ring while they are written */
unsigned int check_live(const void *events, unsigned int pages);

#endif /* CHECK_H */
