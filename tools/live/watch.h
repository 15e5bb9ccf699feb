/* SPDX-License-Identifier: GPL-2.0 */
/*
 * watch.h - "snoop" and "count PATTERN": events of chosen functions
 *
 * Of the running kernel: probes are set for the time of the command.  Of any
 * other source: its events are chosen by their innermost function.
 */
#ifndef WATCH_H
#define WATCH_H

#include "live/follow.h"
#include "live/probe.h"

/**
 * struct watch - a command that watches functions
 * @source: where to read
 * @o: where to print; its record holds the page of stackbuf_info
 * @filter: what was given beside functions
 * @live: set probes
 * @patterns: the functions
 * @number: snoop: end after so many events; 0: never
 * @offsets: frames with their distance from the function's beginning
 * @verbose: snoop: more columns; count: addresses
 * @per_process: count: a total for each process
 * @folded: count: one line a stack, with the command
 * @timestamp: count: the time of day above the totals
 * @interval: count: ns between totals; 0: at the end only
 * @duration: ns; 0: until interrupted
 * @error: one line that says what went wrong
 */
struct watch {
	struct source *source;
	struct output *o;
	const struct filter *filter;
	bool live;
	struct patterns patterns;
	u64 number;
	bool offsets, verbose, per_process, folded, timestamp;
	u64 interval, duration;
	char error[512];

	/* The rest is for snoop.c and stackcount.c */
	struct matches matches;
	struct probes probes;
	int pidfd;
	bool reported_off;
	u64 missed, lost[STACKBUF_LOSSES];
};

/* The commands.  Return 0, or -1 with w->error set */
int snoop_run(struct watch *w);
int stackcount_run(struct watch *w);

/* What they share; the same way */
int watch_prepare(struct watch *w);	/* which functions; nothing is changed yet */
int watch_begin(struct watch *w);	/* filters and probes are set */
int watch_end(struct watch *w);		/* probes are as before; what is recorded stays filtered */
int watch_finish(struct watch *w);	/* all is as before; says what was missed */

/* Is it time to end: interrupted, the process of --pid has ended, nobody reads? */
bool watch_over(const struct watch *w);

/* Wait until it may be, at most so many ns; ~0ULL: however long it takes */
void watch_wait(const struct watch *w, u64 ns);

/* CLOCK_MONOTONIC */
u64 watch_now(void);

/*
 * Is it an event of this very process?  A probe on what it calls to read and to
 * print would feed itself.
 */
bool watch_own(const struct watch *w, const struct event *e);

/* Is it a stack of one of the functions? */
bool watch_wants(struct watch *w, struct stack *stack);

/*
 * Of a source that is not watched live: keep the events of the functions that the filter
 * wants, and of these the last ones if so wanted.  Return how many
 */
size_t watch_choose(struct watch *w);

/* Print a frame's name as it was asked for */
void watch_frame(const struct watch *w, const char *name);

#endif
