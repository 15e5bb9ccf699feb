/* SPDX-License-Identifier: GPL-2.0 */
/*
 * follow.h - print events as they are recorded
 */
#ifndef FOLLOW_H
#define FOLLOW_H

#include "output/print.h"
#include "output/output.h"
#include "input/source.h"

/* For commands that do not just print the events */
struct follow_hooks {
	void *arg;	/* first argument of all functions */
	bool quiet;	/* do not report lost events; @rest does */
	bool own_ids;	/* keep the id of a stack that equals another one, see stack_canonical() */
	/* All later events will be passed to @event, which returns false if no more are wanted */
	void (*begin)(void *arg);
	bool (*event)(void *arg, const struct stackbuf_event *e);
	/* After each round, with the number of lost events: returns true to end */
	bool (*enough)(void *arg, u64 lost);
	/* Before the events that are still in the ring are passed */
	void (*end)(void *arg);
	/* Last: events that were lost, and those whose stacks were evicted before they were read */
	void (*rest)(void *arg, u64 lost, u64 evicted);
};

/*
 * Print what is recorded from now on, until SIGINT, SIGTERM, SIGHUP or --until; before that, with
 * --last or --since, what is in the ring.  With @hooks, which may be NULL, the caller must have
 * caught the signals.  Ends the program if the source cannot be read.
 */
void follow_events(struct source *s, struct output *o, const struct filter *f,
		   const struct follow_hooks *hooks);

#endif
