/* SPDX-License-Identifier: GPL-2.0 */
/*
 * check.h - the second reader, tests/guest/sbcheck.c, on arrays in memory
 */
#ifndef CHECK_H
#define CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Of info, events, stacks and text */
struct check_arrays {
	void *at[4];
	size_t size[4];
};

/* Those of this program */
#define CHECK_ARRAYS ((struct check_arrays) {						\
	{ &stackbuf_info, stackbuf_events, stackbuf_stacks, stackbuf },			\
	{ sizeof(stackbuf_info), SBUF_EVENT_PAGES * STACKBUF_PAGE_SIZE,			\
	  SBUF_STACK_PAGES * STACKBUF_PAGE_SIZE, SBUF_TEXT_PAGES * STACKBUF_PAGE_SIZE } })

/* Makes @to a copy; the text ends with a NUL, as sbcheck reads it as a string */
static inline void check_copy(struct check_arrays *to, const struct check_arrays *from)
{
	int i;

	for (i = 0; i < 4; i++) {
		to->size[i] = from->size[i];
		to->at[i] = to->at[i] ?: calloc(1, from->size[i] + 1);
		memcpy(to->at[i], from->at[i], from->size[i]);
	}
}

/*
 * Check a copy of the arrays; @rest: nothing was recorded meanwhile, and @recorded has the number
 * of events that were recorded by path.  Problems are printed; return how many there were so far.
 */
unsigned int check_arrays(const struct check_arrays *copy, bool rest,
			  const unsigned long long *recorded, unsigned int paths);

/* Check what a reader can of @pages of the ring while they are written */
unsigned int check_live(const void *events, unsigned int pages);

#endif /* CHECK_H */
