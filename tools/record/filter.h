/* SPDX-License-Identifier: GPL-2.0 */
/*
 * filter.h - which events to show
 */
#ifndef FILTER_H
#define FILTER_H

#include "record/parse.h"

/* "1,5-9" */
struct ranges {
	struct range {
		u64 first, last;
	} *range;
	size_t nr, room;
};

/**
 * struct when - a time as it was given
 * @kind: from what it counts
 * @ns: since boot, before the newest event, of the day (local time), or since 1970
 */
struct given_time {
	enum { WHEN_NONE, WHEN_BOOT, WHEN_BEFORE_NEWEST, WHEN_DAY, WHEN_DATE } kind;
	u64 ns;
};

/**
 * struct filter - what was given; an event must meet all options, of each any value
 * @pid: threads or processes
 * @cpu: CPUs
 * @tag: tags
 * @stack: ids of stacks
 * @comm: commands, or patterns for them
 * @comms: how many
 * @comm_room: how many fit @comm
 * @given_since: as it was given
 * @given_until: as it was given
 * @has_since: @since is known
 * @since: ns since boot
 * @has_until: @until is known
 * @until: ns since boot
 * @has_last: keep only the newest @last events
 * @last: see @has_last
 * @first: ids of the stacks that stand for those of @stack; set by filter_resolve()
 * @firsts: how many
 * @first_room: how many fit @first
 */
struct filter {
	struct ranges pid, cpu, tag, stack;
	char **comm;
	size_t comms, comm_room;
	struct given_time given_since, given_until;
	bool has_since, has_until, has_last;
	u64 since, until, last;
	u32 *canonical;
	size_t canonicals, canonical_room;
};

/*
 * Take an option's value; of --pid, --cpu, --tag, --stack and --comm one more.  Return
 * NULL, or what a value must be.  @option is its name without dashes.
 */
const char *filter_set(struct filter *f, const char *option, const char *value);
void filter_free(struct filter *f);

/* Values of other options, likewise: a number from 1, seconds in ns */
const char *filter_number(const char *value, u64 *n);
const char *filter_seconds(const char *value, u64 *ns);

/*
 * Find in a record, of which duplicates_merge() has been called, what the options mean: times
 * of day and before the newest event, stacks with two ids.  Return NULL, or what is wrong.
 */
const char *filter_resolve(struct filter *f, const struct record *r);

/* Does filter_match() take too much or too little before filter_resolve()? */
bool filter_needs_record(const struct filter *f);

/* The only value of an option; false if there are none or several */
bool filter_single(const struct ranges *r, u32 *value);

/* Is it a stack that --stack chooses? */
bool filter_stack(const struct filter *f, u32 id);

/* Does it choose among events, other than by their stack? */
bool filter_events(const struct filter *f);

/* All but --last, which depends on the other events */
bool filter_match(const struct filter *f, const struct event *e);
size_t filter_last(const struct filter *f, struct event *event, size_t nr);

/* Keep those that match, of them the last ones if so wanted.  Return how many */
size_t filter_apply(const struct filter *f, struct event *event, size_t nr);

#endif
