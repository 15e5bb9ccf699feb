/* SPDX-License-Identifier: GPL-2.0 */
/*
 * events.h - events and totals, each with its stack: plain text, folded, JSON, perf
 */
#ifndef EVENTS_H
#define EVENTS_H

#include "output/output.h"

/*
 * One JSON object: @count events of a stack, a part of @sum; of a process, if @comm is not
 * NULL; counted until @now, ns since 1970, if not 0
 */
void output_total(const struct output *o, struct stack *stack, u64 count, u64 sum,
		  const char *comm, u32 tgid, u64 now);

/* The line above the events, if the format has one */
void output_head(const struct output *o);
void output_event(const struct output *o, const struct event *e);

/* All events of a --folded log at once: commands and stacks with their counts */
void output_folded(const struct output *o, const struct event *event, size_t nr);

/*
 * Distinct stacks with their totals, least frequent first: all events since
 * loading, or with @event only those given.
 */
void output_count(const struct output *o, const struct filter *f,
		  const struct event *event, size_t nr);

#endif
