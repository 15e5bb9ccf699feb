/* SPDX-License-Identifier: GPL-2.0 */
/*
 * diff.h - the stacks of two records side by side
 */
#ifndef DIFF_H
#define DIFF_H

#include "output/files.h"

enum { BEFORE, AFTER, SIDES };

/**
 * struct diff_stack - a stack, by what its frames are called
 * @text: what it is compared by: its frames, innermost first, one a line
 * @stack: the stack, of one of the records
 * @side: of which
 * @events: its events in the record before, and in the one after
 */
struct diff_stack {
	char *text;
	struct stack *stack;
	int side;
	u64 events[SIDES];
};

/**
 * struct diff - two records, compared; @side and @name are to be set, all else is 0
 * @side: the records
 * @name: what they were read from
 * @same_build: the kernel is the same: frames are compared with their offset in the function, else
 *	by function
 * @events: of each record, in all stacks
 * @stacks: of each record
 * @stack: the stacks of both, by change: the largest is the last
 * @nr: how many
 * @profile: the same for formats that are a file of their own
 */
struct diff {
	const struct output *side[SIDES];
	const char *name[SIDES];
	bool same_build;
	u64 events[SIDES];
	size_t stacks[SIDES];
	struct diff_stack *stack;
	size_t nr;
	struct profile profile;
};

/* Match the stacks */
void diff_make(struct diff *d);
void diff_free(struct diff *d);

/* Print what changed, with --folded all stacks; not for formats that are a file of their own */
void diff_print(const struct diff *d);

#endif
