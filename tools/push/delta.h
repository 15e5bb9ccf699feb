/* SPDX-License-Identifier: GPL-2.0 */
/*
 * delta.h - what was recorded since the last push, stack by stack
 */
#ifndef DELTA_H
#define DELTA_H

#include "output/output.h"

/* A stack, and how many of its events were pushed */
struct pushed {
	u32 id;
	u64 events;
};

/**
 * struct push_state - what was pushed so far of one load of the module
 * @instance: the load; 0: nothing was pushed
 * @until: end of the last push, ns since 1970
 * @evicted: events of evicted stacks, as the record had them
 * @pending: of these, those that were in no push.  May be negative: a stack is gone from the table
 *	just before its events are added
 * @sequence: number of the last push, counted over all loads
 * @dropped: pushes that were dropped as the spool was full
 * @dropped_events: their events
 * @stack: stacks by id
 * @nr: how many
 * @room: how many fit @stack
 */
struct push_state {
	u64 instance;
	u64 until;
	u64 evicted;
	s64 pending;
	u64 sequence;
	u64 dropped, dropped_events;
	struct pushed *stack;
	size_t nr, room;
};

/**
 * struct delta - one push
 * @total: events of each stack since the last one; the last may be those of evicted stacks
 * @nr: how many
 * @room: how many fit @total
 * @events: their sum
 * @evicted: of these, those of stacks that were evicted before they were pushed
 * @next: the state if this push is made
 */
struct delta {
	struct stack_total *total;
	size_t nr, room;
	u64 events, evicted;
	struct push_state next;
};

/*
 * Compare a record with what was pushed.  @evicted: stackbuf_info.evicted_events as it was before
 * the record was read; @until: when that was, ns since 1970.
 */
void delta_make(struct delta *d, const struct push_state *last, const struct record *r, u64 evicted,
		u64 until);
void delta_free(struct delta *d);

#endif
