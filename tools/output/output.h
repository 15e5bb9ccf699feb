/* SPDX-License-Identifier: GPL-2.0 */
/*
 * output.h - common parts of all formats: times, commands, stacks by id, source lines
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <jansson.h>
#include <stdio.h>
#include "record/filter.h"
#include "symbol/errors.h"
#include "symbol/srcline.h"
#include "symbol/symbols.h"

enum output_format {
	FORMAT_TEXT, FORMAT_FOLDED, FORMAT_JSON, FORMAT_PERF, FORMAT_PPROF, FORMAT_FLAME,
};

/* Where and how to print */
struct output {
	FILE *file;
	enum output_format format;
	bool wall;	/* times of day instead of seconds since boot */
	bool percent;	/* totals also as percentages */
	u64 top;	/* print only this many stacks, the most frequent ones; 0: all */
	const char *prefix;	/* first frames of folded stacks, or NULL */
	struct record *record;
	const struct search *search;	/* result of the filter */
	struct symbols *symbols;	/* names of its frames */
	struct srcline *srcline;	/* source lines, or NULL if not wanted */
	char *left;	/* parameters that a killed command left set, or NULL */
	bool by_address;	/* tags were given as an address, as for "life" */
	bool nothing;	/* reported that there is nothing to print */
};

/* Events of one stack */
struct stack_total {
	struct stack *stack;
	/*
	 * Common properties of these events: command and process, perhaps more; NULL if they were
	 * overwritten before these were known
	 */
	const struct stackbuf_event *label;
	const char *error;	/* the returned error, in place of a label; or NULL */
	u64 events;
	bool before;	/* in a difference: events of the earlier record */
};

typedef int event_order(const struct stackbuf_event *a, const struct stackbuf_event *b);

/* Order events by everything that a label may have, except time and stack */
event_order output_label_order;

/* Order events by command, then by stack */
event_order output_command_order;

/*
 * Count equal events among those that the filter's --stack chooses; all if @f is NULL.  @order must
 * distinguish events of different stacks.  Set *@total to the totals, in this order, each with one
 * of its events as the label; the caller frees it.  Return their number.
 */
size_t output_event_totals(const struct output *o, const struct filter *f,
			   const struct stackbuf_event *event, size_t nr, event_order *order,
			   struct stack_total **total);

/* The stack of an event, by its id; never NULL */
struct stack *output_stack(const struct output *o, u32 id);

/* Copy a command's name to @text.  Bytes that are not printable ASCII become "?" */
const char *output_comm(const char *comm, char text[STACKBUF_COMM_LEN]);

/* Print the command as the first frame of a folded stack: ';' would end it, '#' begins a comment */
void output_folded_comm(const struct output *o, const char *comm);
const char *output_context(const struct stackbuf_event *e);

/* ns since 1970 as a time of day, in @buf */
const char *output_day(u64 ns, char *buf, size_t size);

/* ns since boot as ns since 1970, if the record has its info */
u64 output_realtime(const struct output *o, u64 ns);

/* ns since boot as seconds since boot, or as a time of day if @o->wall; in @buf */
const char *output_time(const struct output *o, u64 ns, char *buf, size_t size);

/* Begin a folded stack with the frame of --prefix, if given */
void output_prefix(const struct output *o);

double output_percent(u64 count, u64 sum);

/*
 * The text after frame @i of a stack: its source line, "" if unknown or not wanted.  Ends the
 * program if no frame of this kernel can be decoded.
 */
const char *output_line(const struct output *o, const struct stack *stack, unsigned int i);

/* ---------------------------------------------------------------- events --- */

/*
 * Print one JSON object: @count events of a stack, out of @sum; of a process if @comm is not NULL;
 * at time @now, ns since 1970, if not 0
 */
void output_total(const struct output *o, struct stack *stack, u64 count, u64 sum,
		  const char *comm, u32 tgid, u64 now);

/*
 * The text below an event or a total, in the output's format, which must not change between calls:
 * it is cached for each stack.  Set *@length to its length.
 */
const char *output_stack_text(const struct output *o, struct stack *stack, size_t *length);

/* Print a JSON object, its own keys before the stack's, and free it */
void output_json(const struct output *o, json_t *object, struct stack *stack);

/* Count the stacks with a total that --stack chooses */
size_t output_totals(const struct output *o, const struct filter *f);

/* Print the line above the events, if the format has one */
void output_head(const struct output *o);
void output_event(const struct output *o, const struct stackbuf_event *e);

/* Print all events of a --folded log: each command and stack with its count */
void output_folded(const struct output *o, const struct stackbuf_event *event, size_t nr);

/*
 * Print distinct stacks with their totals, the least frequent first: of all events since loading,
 * or only of @event.
 */
void output_count(const struct output *o, const struct filter *f,
		  const struct stackbuf_event *event, size_t nr);

/* ---------------------------------------------------------------- errors --- */

/* Print paths of errors: each with its count; with @log each with its time, task and CPU */
void output_errors(const struct output *o, const struct error_path *path, size_t nr, bool log);

/* ----------------------------------------------------------- other parts --- */

/* The state of the recorder, "enabled" and the like, perhaps in @buf */
const char *output_state(const struct output *o, char *buf, size_t size);

/* "x86-64", "arm64" or "unknown" */
const char *output_machine(const struct stackbuf_info *info);

/*
 * Print the state of the recorder: sizes, counters, probes.  @source is the source's name, @set all
 * pages in it, @instance all loads of the module.
 */
void output_info(const struct output *o, const char *source, const struct page_set *set,
		 const struct instance *instance, size_t instances);

/* Print the text log: records of stacks that the filter chooses, with source lines if wanted */
void output_text(struct output *o, const struct filter *f);

/* Print the deepest stack seen from each place, the deepest first, as text or JSON */
void output_depth(const struct output *o);

/*
 * Report in one line on standard error that no event is printed: how many were searched, their time
 * range, and which filters exclude them.
 */
void output_no_event(struct output *o);

/* The module's filters: "the module records only events with comm=x", or ""; to be freed */
char *output_filters(const struct stackbuf_info *info);

/*
 * Report that --stack and --function choose none of the @nr stacks of @where: "the record", "the
 * text log"
 */
void output_no_stack(struct output *o, const char *where, size_t nr);

/* ------------------------------------------------------------------ JSON --- */

/* A number, or a string above 2^53, where most readers of JSON round numbers */
json_t *json_number(u64 value);

/* Nanoseconds, always as a string: they may exceed 2^53, and a key must have one type */
json_t *json_ns(u64 ns);
json_t *json_hex(u64 value);

/* Add the machine's name and the kernel's release, if known */
void json_machine(const struct output *o, json_t *j);

/* All of an event except its stack */
json_t *json_event(const struct output *o, const struct stackbuf_event *e);

/* Write the keys of a stack, for events and totals: text without braces */
void json_stack_keys(const struct output *o, const struct stack *stack, FILE *f);

/* Print an object, and free it; @keys, if not NULL, is the text of more keys */
void json_print(const struct output *o, json_t *object, const char *keys, size_t len);

#endif
