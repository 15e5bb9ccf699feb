/* SPDX-License-Identifier: GPL-2.0 */
/*
 * filter.h - selects the events to show
 */
#ifndef FILTER_H
#define FILTER_H

#include "record/parse.h"

/* ----------------------------------------- numbers and times as users write them --- */

/* Functions that return text return NULL on success, else a description of valid values */

/* A time as the user wrote it, and the point that @ns counts from */
struct time_value {
	enum { WHEN_NONE, WHEN_BOOT, WHEN_BEFORE_NEWEST, WHEN_TRIGGER, WHEN_DAY, WHEN_DATE } kind;
	/* ns since boot, before the newest event, since midnight (local time), or since 1970 */
	u64 ns;
	u64 earlier;	/* --around: interval to subtract, ns */
	u64 later;	/* --around: interval to add, ns */
};

/* Parse a decimal or hexadecimal number at the start of @text; set *@end to the end of it */
bool value_number(const char *text, const char **end, u64 max, u64 *value);

/* Parse a number from 1; this and the next take a u64, as options of table.c do */
const char *value_count(void *n, const char *value);

/* Parse seconds, or a number with a unit, to ns */
const char *value_duration(void *ns, const char *value);

/* Parse a point in time to ns since boot; set *@known if it does not depend on a record */
const char *value_time(struct time_value *w, bool *known, u64 *value, const char *text);

/* --------------------------------------------------------------- filters --- */

/* Numbers as "1,5-9,!7" */
struct ranges {
	struct range {
		u64 first, last;
		bool not;
	} *range;	/* @range.not: it had a "!" */
	size_t nr;
	/*
	 * How many at the end filter_resolve() added: ids of stacks that represent the given ones
	 */
	size_t added;
	bool wants;	/* a range has no "!": only values in such ranges match */
};

/* Conditions on an event */
enum filter_option {
	FILTER_PID, FILTER_COMM, FILTER_CPU, FILTER_TAG, FILTER_SINCE, FILTER_UNTIL, FILTER_STACK,
	FILTER_FUNCTION, FILTER_OPTIONS
};

/* The given options; an event must meet every option, with any of its values */
struct filter {
	struct ranges pid;	/* threads or processes */
	struct ranges cpu, tag;
	struct ranges stack;	/* ids */
	char **comm;	/* commands, or patterns for them */
	size_t comms;
	char **function;	/* functions in which stacks begin, or patterns for them */
	size_t functions;
	u32 *begins;	/* sorted ids of these stacks, set by filter_begins() */
	size_t nr_begins;
	bool begins_known;
	struct time_value given_since, given_until;
	bool has_since, has_until;	/* @since, @until are set */
	bool has_last;	/* keep only the newest @last events */
	u64 since, until;	/* ns since boot */
	u64 last;
};

/*
 * Set an option, or add a value to an option that takes several.  @option is its name without
 * dashes.  Return NULL, or a description of valid values.
 */
const char *filter_set(struct filter *f, const char *option, const char *value);

/*
 * Resolve the options that depend on a record: times of day, times before the newest event, stacks
 * with two ids.  Call duplicates_merge() first.  Return NULL, or an error message.
 */
const char *filter_resolve(struct filter *f, const struct record *r);

/* Return true if times are given as times of day */
bool filter_needs_wall(const struct filter *f);

/* Return true if filter_match() needs filter_resolve() first */
bool filter_needs_record(const struct filter *f);

/* Set *@value to the only value of an option.  Return false if it has none or several */
bool filter_single(const struct ranges *r, u32 *value);

/* Set the ids of the stacks that begin in one of @function.  Takes over @id, from malloc() */
void filter_begins(struct filter *f, u32 *id, size_t nr);

/* Return true if --stack and --function choose this stack */
bool filter_stack(const struct filter *f, u32 id);

/* Return true if the filter has a condition other than the stack */
bool filter_events(const struct filter *f);

/* Return true if the option was given */
bool filter_given(const struct filter *f, enum filter_option option);

/* Return true if an event meets this option, or if the option was not given */
bool filter_meets(const struct filter *f, enum filter_option option,
		  const struct stackbuf_event *e);

/*
 * Apply all options but --last, which depends on the other events; then --last.  Return how many
 * events remain
 */
bool filter_match(const struct filter *f, const struct stackbuf_event *e);
size_t filter_last(const struct filter *f, struct stackbuf_event *event, size_t nr);

/* Keep the events that match, then the newest --last of them.  Return how many remain */
size_t filter_apply(const struct filter *f, struct stackbuf_event *event, size_t nr);

/* Totals of events compared with a filter */
struct search {
	const struct filter *filter;
	u64 searched;	/* events compared */
	u64 oldest;	/* time of the oldest, ns since boot */
	u64 newest;	/* time of the newest */
	u64 tagged;	/* how many have a tag */
	u64 match;	/* how many match */
	u64 meet[FILTER_OPTIONS];	/* by option: how many meet it */
	u64 without[FILTER_OPTIONS];	/* by option: how many fail only this one */
};

/* Call filter_match() and count the result: once per event */
bool search_event(struct search *s, const struct stackbuf_event *e);

#endif
