/* SPDX-License-Identifier: GPL-2.0 */
/*
 * filter.h - which events to show
 */
#ifndef FILTER_H
#define FILTER_H

#include "parse.h"

/* Each has_ says whether its option was given */
struct filter {
	bool has_pid, has_cpu, has_tag, has_since, has_until, has_stack, has_last;
	u32 pid, cpu, stack;
	u32 first;	/* the stack that stands for it; set by filter_resolve() */
	u64 tag, since, until, last;
	const char *comm;
};

/*
 * Take an option's value.  Return NULL, or what a value must be.
 * @option is its name without dashes.
 */
const char *filter_set(struct filter *f, const char *option, const char *value);

/* Values of other options, likewise: a number from 1, seconds in ns */
const char *filter_number(const char *value, u64 *n);
const char *filter_seconds(const char *value, u64 *ns);

/* Find in a record what the options name; same_merge() was there before */
void filter_resolve(struct filter *f, const struct record *r);

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
