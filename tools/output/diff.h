/* SPDX-License-Identifier: GPL-2.0 */
/*
 * diff.h - the stacks of two records side by side
 */
#ifndef DIFF_H
#define DIFF_H

#include "output/files.h"

enum { BEFORE, AFTER, SIDES };

/* A stack, by what its frames are called */
struct diff_stack {
	char *text;	/* what it is compared by: its frames, innermost first, one a line */
	struct stack *stack;	/* the stack, of one of the records */
	int side;	/* of which */
	u64 events[SIDES];	/* its events in the record before, and in the one after */
};

/* Two records, compared; @side and @name are to be set, all else is 0 */
struct diff {
	const struct output *side[SIDES];	/* the records */
	const char *name[SIDES];	/* what they were read from */
	/*
	 * The kernel is the same: frames are compared with their offset in the function, else by
	 * function
	 */
	bool same_build;
	u64 events[SIDES];	/* of each record, in all stacks */
	size_t stacks[SIDES];	/* of each record */
	struct diff_stack *stack;	/* the stacks of both, by change: the largest is the last */
	size_t nr;	/* how many */
	struct profile profile;	/* the same for formats that are a file of their own */
};

/* Match the stacks */
void diff_make(struct diff *d);
void diff_free(struct diff *d);

/* Print what changed, with --folded all stacks; not for formats that are a file of their own */
void diff_print(const struct diff *d);

#endif
