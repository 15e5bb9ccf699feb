/* SPDX-License-Identifier: GPL-2.0 */
/*
 * events.h - events and totals, each with its stack: plain text, folded, JSON, perf
 */
#ifndef EVENTS_H
#define EVENTS_H

#include <jansson.h>
#include "output/output.h"

/*
 * Print one JSON object: @count events of a stack, of @sum in all; of a process if @comm is not
 * NULL; at time @now, ns since 1970, if not 0
 */
void output_total(const struct output *o, struct stack *stack, u64 count, u64 sum,
		  const char *comm, u32 tgid, u64 now);

/*
 * What is printed below an event or a total, in the output's format, which must be the same in all
 * calls: it is made once for each stack.  Set *@length to its length.
 */
const char *output_stack_text(const struct output *o, struct stack *stack, size_t *length);

/* Print a JSON object, its own keys and then the stack's, and free it */
void output_json(const struct output *o, json_t *object, struct stack *stack);

/* How many stacks that --stack chooses have a total? */
size_t output_totals(const struct output *o, const struct filter *f);

/* Print the line above the events, if the format has one */
void output_head(const struct output *o);
void output_event(const struct output *o, const struct stackbuf_event *e);

/* Print all events of a --folded log: each command and stack with its count */
void output_folded(const struct output *o, const struct stackbuf_event *event, size_t nr);

/*
 * Print distinct stacks with their totals, the least frequent first: of all events since loading,
 * or with @event of those alone.
 */
void output_count(const struct output *o, const struct filter *f,
		  const struct stackbuf_event *event, size_t nr);

#endif
