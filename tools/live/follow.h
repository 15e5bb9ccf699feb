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
 * struct follow_hooks - for those who do something else with the events than print them
 * @arg: for all of them
 * @quiet: say nothing of what was lost; @rest will
 * @own_ids: events keep the id of their stack where an equal one stands for it, see same.h
 * @begin: the ring was looked at: events from now on will come.  -1, with
 *	source.error set, ends it
 * @event: one event; false if no more are wanted
 * @enough: asked after each round, with the events lost until now
 * @end: no more will be waited for; what is in the ring still comes.  As @begin
 * @rest: the last word, with the events that were lost
 */
struct follow_hooks {
	void *arg;
	bool quiet;
	bool own_ids;
	int (*begin)(void *arg);
	bool (*event)(void *arg, const struct event *e);
	bool (*enough)(void *arg, u64 lost);
	int (*end)(void *arg);
	void (*rest)(void *arg, u64 lost);
};

/*
 * Print what is recorded from now on, and before it what is in the ring if the
 * filter wants --last or --since, until SIGINT, SIGTERM, SIGHUP or --until.
 * Return 0, or -1 with s->error set.  Whoever gives @hooks, which may be NULL,
 * has caught the signals.
 */
int follow_events(struct source *s, struct output *o, const struct filter *f,
	   const struct follow_hooks *hooks);

#endif
