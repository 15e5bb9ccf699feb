/* SPDX-License-Identifier: GPL-2.0 */
/*
 * filter.h - which events to show
 */
#ifndef FILTER_H
#define FILTER_H

#include "record/parse.h"

/* ----------------------------------------- numbers and times as users write them --- */

/* What returns text returns NULL, or what the value must be */

/* A time as it was given, and what @ns counts from */
struct time_value {
	enum { WHEN_NONE, WHEN_BOOT, WHEN_BEFORE_NEWEST, WHEN_TRIGGER, WHEN_DAY, WHEN_DATE } kind;
	/* ns since boot, before the newest event, since midnight (local time), or since 1970 */
	u64 ns;
	u64 earlier;	/* ns by which the time that is meant is earlier; of --around */
	u64 later;	/* or later */
};

/* A number at the beginning of @text, decimal or hexadecimal; *@end is what follows */
bool value_number(const char *text, const char **end, u64 max, u64 *value);

/* A number from 1; this and the next take a u64, as options of table.c do */
const char *value_count(void *n, const char *value);

/* Seconds, or with a unit, to ns */
const char *value_duration(void *ns, const char *value);

/* A point in time; *@value is ns since boot, and *@known set, if it does not depend on a record */
const char *value_time(struct time_value *w, bool *known, u64 *value, const char *text);

/* --------------------------------------------------------------- filters --- */

/* Numbers as "1,5-9,!7" */
struct ranges {
	struct range {
		u64 first, last;
		bool not;
	} *range;	/* one of them; @range.not: it had a "!" */
	size_t nr;	/* how many */
	/* The last ones, which filter_resolve() added: ids of stacks that represent those given */
	size_t added;
	bool wants;	/* one of them had no "!", so that only what these hold is chosen */
};

/* What an event must meet */
enum filter_option {
	FILTER_PID, FILTER_COMM, FILTER_CPU, FILTER_TAG, FILTER_SINCE, FILTER_UNTIL, FILTER_STACK,
	FILTER_FUNCTION, FILTER_OPTIONS
};

/* What was given; an event must meet all options, of each any value */
struct filter {
	struct ranges pid;	/* threads or processes */
	struct ranges cpu, tag;
	struct ranges stack;	/* ids */
	char **comm;	/* commands, or patterns for them */
	size_t comms;
	char **function;	/* functions that stacks begin in, or patterns for them */
	size_t functions;
	u32 *begins;	/* ids of these stacks, in order, once filter_begins() was called */
	size_t nr_begins;
	bool begins_known;
	struct time_value given_since, given_until;
	bool has_since, has_until;	/* @since, @until are set */
	bool has_last;	/* keep only the newest @last events */
	u64 since, until;	/* ns since boot */
	u64 last;
};

/*
 * Set an option, or add a value to those of which several may be given.  @option is its name
 * without dashes.  Return NULL, or what a value must be.
 */
const char *filter_set(struct filter *f, const char *option, const char *value);

/*
 * Find in a record what the options mean: times of day, times before the newest event, stacks
 * with two ids.  Call duplicates_merge() first.  Return NULL, or what is wrong.
 */
const char *filter_resolve(struct filter *f, const struct record *r);

/* Is filter_match() wrong before filter_resolve()? */
bool filter_needs_record(const struct filter *f);

/* Set *@value to the only value of an option.  Return false if it has none or several */
bool filter_single(const struct ranges *r, u32 *value);

/* @id are the stacks that begin in one of @function: to be freed with malloc()'s memory */
void filter_begins(struct filter *f, u32 *id, size_t nr);

/* Do --stack and --function choose this stack? */
bool filter_stack(const struct filter *f, u32 id);

/* Does the filter choose among events by anything but their stack? */
bool filter_events(const struct filter *f);

/* Was the option given? */
bool filter_given(const struct filter *f, enum filter_option option);

/* Does an event meet this option?  True if it was not given */
bool filter_meets(const struct filter *f, enum filter_option option,
		  const struct stackbuf_event *e);

/* Apply all but --last, which depends on the other events; then --last.  Return how many remain */
bool filter_match(const struct filter *f, const struct stackbuf_event *e);
size_t filter_last(const struct filter *f, struct stackbuf_event *event, size_t nr);

/* Keep the events that match, then those of --last.  Return how many remain */
size_t filter_apply(const struct filter *f, struct stackbuf_event *event, size_t nr);

/* Events that were compared with a filter */
struct search {
	const struct filter *filter;
	u64 searched;	/* events */
	u64 oldest;	/* time of the oldest of them, ns since boot */
	u64 newest;	/* time of the newest of them */
	u64 tagged;	/* of these, how many have a tag */
	u64 match;	/* how many match */
	u64 meet[FILTER_OPTIONS];	/* by option, how many meet it */
	u64 without[FILTER_OPTIONS];	/* by option, how many would match without it, and do not */
};

/* As filter_match(), and count: to be called once for each event */
bool search_event(struct search *s, const struct stackbuf_event *e);

#endif
