/* SPDX-License-Identifier: GPL-2.0 */
/*
 * watch.h - "snoop" and "count PATTERN": events of chosen functions
 *
 * In the running kernel, probes are set for the time of the command.  Of any other source the
 * events are chosen by their innermost function.
 */
#ifndef WATCH_H
#define WATCH_H

#include "watch/follow.h"
#include "watch/borrow.h"

/* A command that watches functions */
struct watch {
	struct source *source;
	struct output *o;		/* its record holds the page of stackbuf_info */
	const struct filter *filter;	/* what was given beside functions */
	bool live;			/* set probes */
	struct patterns patterns;	/* the functions */
	u64 number;			/* snoop: end after this number of events; 0: never */
	bool offsets, verbose, per_process, timestamp;
	bool events;			/* only events that were read, not totals of the table */
	const char *flame, *cgroup;	/* of --flame and --cgroup, or NULL */
	u64 interval;			/* count: ns between totals; 0: at the end only */
	u64 duration;			/* ns; 0: until interrupted */

	/* The rest is for snoop.c and stackcount.c */
	struct matches matches;
	struct borrowed borrowed;
	u64 cgroup_id;		/* of @cgroup; 0: all */
	int pidfd;
	u64 started;		/* CLOCK_MONOTONIC, ns */
	bool filtered;		/* live: the filter has a part that the kernel does not apply */
	bool reported_off;
	bool in_vain;		/* all functions waited for modules that were not loaded */
	bool unlisted;		/* which functions the kernel excludes from probes is not known */
	u64 missed, lost[STACKBUF_COUNTERS];
};

/* Is the format one that adds up events by command? */
bool watch_sums(const struct watch *w);

/*
 * The commands: each event, totals, or a list.  What goes wrong ends the program where it does,
 * with one line: exit() restores what was borrowed.
 */
void snoop_run(struct watch *w);
void stackcount_run(struct watch *w);
void list_run(struct watch *w);

/*
 * Choose the running kernel's functions, @expand: by their names; report each pattern that has
 * found none.
 */
void watch_functions(struct watch *w, bool expand);

/* Report what patterns match and is left out of the functions chosen */
void watch_report_left_out(const struct watch *w);

/* Their steps, in this order */
void watch_prepare(struct watch *w);	/* choose functions; change nothing */
void watch_begin(struct watch *w);	/* set filters and probes */
void watch_end(struct watch *w);	/* restore probes, but not yet filters */
void watch_finish(struct watch *w);	/* restore filters; report what was missed */

/* Is it time to end: --duration, an interrupt, no process of --pid or reader of the output? */
bool watch_over(const struct watch *w);

/* Wait until watch_over() may be true, for @ns at most; ~0ULL: without limit */
void watch_wait(const struct watch *w, u64 ns);

/* CLOCK_MONOTONIC, ns */
u64 watch_now(void);

/*
 * Is it an event of this process?  A probe on a function that this process calls to read and print
 * would produce events without end.
 */
bool watch_own(const struct watch *w, const struct stackbuf_event *e);

/* Does the stack begin in one of the functions? */
bool watch_wants(struct watch *w, struct stack *stack);

/* Report events of stacks of which no frames were read */
void watch_report_evicted(u64 events);

/*
 * Of a source that is not live, keep the events of the functions that match the filter, then those
 * of --last.  Return how many remain.
 */
size_t watch_choose(struct watch *w);

/* Print a frame's name, with its offset if w->offsets */
void watch_frame(const struct watch *w, const char *name);

#endif
