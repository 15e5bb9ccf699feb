/* SPDX-License-Identifier: GPL-2.0 */
/*
 * follow.h - print events as they are recorded
 */
#ifndef FOLLOW_H
#define FOLLOW_H

#include "output/events.h"
#include "output/output.h"
#include "input/source.h"

/**
 * struct follow_hooks - for commands that do not just print the events
 * @arg: first argument of all functions
 * @quiet: do not report lost events; @rest does
 * @own_ids: do not replace the id of a stack by that of an equal one, see duplicates.h
 * @begin: called when all later events will be passed to @event
 * @event: called for each event; returns false if no more are wanted
 * @enough: called after each round with the number of lost events; returns true to end
 * @end: called before the events that are still in the ring are passed
 * @rest: called last, with the number of lost events, and of those whose stacks were evicted before
 *	they were read: which functions these begin in is unknown
 */
struct follow_hooks {
	void *arg;
	bool quiet;
	bool own_ids;
	void (*begin)(void *arg);
	bool (*event)(void *arg, const struct stackbuf_event *e);
	bool (*enough)(void *arg, u64 lost);
	void (*end)(void *arg);
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
