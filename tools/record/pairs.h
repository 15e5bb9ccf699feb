/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pairs.h - pairs of probes: what is open, and how long the rest was open, by stack
 */
#ifndef PAIRS_H
#define PAIRS_H

#include "record/parse.h"

/* What one stack has opened */
struct pair_total {
	struct stack *stack;
	u64 open;	/* how many objects are open */
	u64 value;	/* the sum of their values */
	u64 oldest;	/* when the first of these was opened, ns */
	u64 newest;	/* when the last of these was opened, ns */
	u64 closed;	/* how many were closed */
	u64 sum;	/* of the times from open to closed, ns */
	u64 longest;	/* of these, ns */
	/* How many were closed, by time, as in struct stackbuf_pair_stack */
	u64 times[STACKBUF_PAIR_TIMES];
};

/* All of one pair */
struct pair_totals {
	struct stackbuf_pair pair;
	char name[sizeof(((struct stackbuf_pair *)0)->name) + 1];	/* its name, printable */
	struct pair_total *total;	/* by stack */
	size_t nr;	/* how many */
	u64 missed;	/* hits that the kernel has missed, of its probes */
	/*
	 * Probes of it that are not set, as their module is not loaded, and functions that a
	 * pattern leaves out
	 */
	unsigned int absent;
	unsigned int half;	/* objects that were being written */
	unsigned int lost;	/* pages, and probes that are in none, that are not there */
	/* Pages of which there are two that differ: it is not known which one is newer */
	unsigned int copies;
	bool kept;	/* they outlived a reset: some are older than others, up to a second */
	bool off;	/* the kernel does not hit its probes, as far as the caller knows */
};

/* Find the next pair after *@number, which begins at 0: false if there is none */
bool pairs_next(const struct record *r, unsigned int *number, struct stackbuf_pair *pair);

/*
 * Add up the pair with this number, of what is open only what was opened up to @until, ns.  To be
 * freed by pairs_free().
 */
void pairs_read(const struct record *r, unsigned int number, u64 until, struct pair_totals *t);
void pairs_free(struct pair_totals *t);

/* Is what was read exact: nothing spoiled it? */
bool pairs_exact(const struct pair_totals *t);

/* The least time, ns, that is in the column @i of times, and the least one beyond it */
u64 pairs_time(unsigned int i);

#endif
