/* SPDX-License-Identifier: GPL-2.0 */
/*
 * print.h - events, totals and other parts of the record: plain text, folded, JSON, perf
 */
#ifndef PRINT_H
#define PRINT_H

#include <jansson.h>
#include "output/output.h"

/* ---------------------------------------------------------------- events --- */

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

/* ----------------------------------------------------------- other parts --- */

/*
 * Print the state of the recorder: sizes, counters, probes.  @source is the source's name, @set all
 * pages found there, @instance all loads of the module.
 */
void output_info(const struct output *o, const char *source, const struct page_set *set,
		 const struct instance *instance, size_t instances);

/* Print the text log: records of stacks that the filter chooses, with source lines if wanted */
void output_text(struct output *o, const struct filter *f);

/* Print the deepest stack seen from each place, the deepest first, as text or JSON */
void output_depth(const struct output *o);

/*
 * Report in one line on standard error that no event is printed: how many were searched, from when
 * to when, and which filters exclude them.  @functions: the events of some functions were wanted.
 */
void output_no_event(struct output *o, bool functions);

/* The same if --stack chooses none of the @nr stacks of @where: "the record", "the text log" */
void output_no_stack(struct output *o, const char *where, size_t nr);

/* ------------------------------------------------------------------ JSON --- */

/* A number, or a string beyond 2^53, where most readers of JSON round numbers */
json_t *json_number(u64 value);

/* Nanoseconds, always as a string: they may be beyond that, and a key has one type */
json_t *json_ns(u64 ns);
json_t *json_hex(u64 value);

/* Add the machine's name and the kernel's release, as far as they are known */
void json_machine(const struct output *o, json_t *j);

/* Write the keys of a stack, for events and totals: text without braces */
void json_stack_keys(const struct output *o, const struct stack *stack, FILE *f);

/* Print an object, and free it; @keys, if not NULL, is the text of more keys */
void json_print(const struct output *o, json_t *object, const char *keys, size_t len);

#endif
