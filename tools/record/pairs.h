/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pairs.h - pairs of probes: what is open, and how long the rest was open, by stack
 */
#ifndef PAIRS_H
#define PAIRS_H

#include "record/parse.h"

/**
 * struct pair_total - what one stack has opened
 * @stack: the stack
 * @open: how many objects are open
 * @value: the sum of their values
 * @oldest: when the first of these was opened, ns
 * @newest: when the last of these was opened, ns
 * @closed: how many were closed
 * @sum: of the times from open to closed, ns
 * @longest: of these, ns
 * @times: how many were closed, by time, as in struct stackbuf_pair_stack
 */
struct pair_total {
	struct stack *stack;
	u64 open, value, oldest, newest;
	u64 closed, sum, longest;
	u64 times[STACKBUF_PAIR_TIMES];
};

/**
 * struct pair_totals - all of one pair
 * @pair: the pair
 * @name: its name, printable
 * @total: by stack
 * @nr: how many
 * @missed: hits that the kernel has missed, of its probes
 * @absent: probes of it that are not set, as their module is not loaded, and functions that a
 *	pattern leaves out
 * @half: objects that were being written
 * @lost: pages, and probes that are in none, that are not there
 * @kept: they outlived a reset: some are older than others, up to a second
 * @copies: pages of which there are two that differ: it is not known which one is newer
 * @off: the kernel does not hit its probes, as far as the caller knows
 */
struct pair_totals {
	struct stackbuf_pair pair;
	char name[sizeof(((struct stackbuf_pair *)0)->name) + 1];
	struct pair_total *total;
	size_t nr;
	u64 missed;
	unsigned int absent, half, lost, copies;
	bool kept;
	bool off;
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
