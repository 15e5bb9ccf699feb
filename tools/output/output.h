/* SPDX-License-Identifier: GPL-2.0 */
/*
 * output.h - what all formats share: times, commands, stacks by id, source lines
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stdio.h>
#include "record/filter.h"
#include "symbol/srcline.h"
#include "symbol/symbols.h"

enum output_format {
	FORMAT_TEXT, FORMAT_FOLDED, FORMAT_JSON, FORMAT_PERF, FORMAT_PPROF, FORMAT_FLAME,
};

/**
 * struct output - where and how to print
 * @file: where
 * @format: how
 * @wall: times of day instead of seconds since boot
 * @percent: totals also as percentages
 * @top: print only this number of stacks, the most frequent ones; 0: all
 * @prefix: what folded stacks begin with, or NULL
 * @record: the record
 * @search: what the filter has found in it
 * @symbols: names of its frames
 * @srcline: source lines, or NULL if they are not wanted
 * @probes_off: why the running kernel does not hit the probes, or NULL
 * @by_address: tags were asked for by an address, as "life" does
 * @nothing: standard error has reported why there is nothing to print
 */
struct output {
	FILE *file;
	enum output_format format;
	bool wall, percent;
	u64 top;
	const char *prefix;
	struct record *record;
	const struct search *search;
	struct symbols *symbols;
	struct srcline *srcline;
	const char *probes_off;
	bool by_address, nothing;
};

/**
 * struct stack_total - events of one stack
 * @stack: the stack
 * @label: what these events have in common: command and process, perhaps more; NULL if they were
 *	overwritten before that was known
 * @events: how many
 * @before: of a difference: they are of the earlier record
 */
struct stack_total {
	struct stack *stack;
	const struct stackbuf_event *label;
	u64 events;
	bool before;
};

typedef int event_order(const struct stackbuf_event *a, const struct stackbuf_event *b);

/* Order events by all that a label may have: not by time and stack */
event_order output_label_order;

/* Order events by command, then by stack */
event_order output_command_order;

/**
 * output_event_totals() - count equal events
 * @o: the output
 * @f: its --stack chooses among them; NULL: take all
 * @event: the events
 * @nr: how many
 * @order: compares them; it must tell events of two stacks apart
 * @total: is set to the totals, in this order, each with one of its events as the label; to be
 *	freed
 *
 * Return: the number of totals.
 */
size_t output_event_totals(const struct output *o, const struct filter *f,
			   const struct stackbuf_event *event, size_t nr, event_order *order,
			   struct stack_total **total);

/* The stack of an event, by its id; never NULL */
struct stack *output_stack(const struct output *o, u32 id);

/* A command's name, in @text.  Bytes that are not printable ASCII become "?" */
const char *output_comm(const char *comm, char text[STACKBUF_COMM_LEN]);

/* As the first frame of a folded stack: ';' would end it, '#' begins a comment */
void output_folded_comm(const struct output *o, const char *comm);
const char *output_context(const struct stackbuf_event *e);

/* ns since 1970 as a time of day, in @buf */
const char *output_day(u64 ns, char *buf, size_t size);

/* ns since boot as ns since 1970, if the record has its info */
u64 output_realtime(const struct output *o, u64 ns);

/* ns since boot as seconds since boot, or as a time of day if @o->wall; in @buf */
const char *output_time(const struct output *o, u64 ns, char *buf, size_t size);

/* Begin a folded stack by the frame of --prefix, if there is one */
void output_prefix(const struct output *o);

/**
 * struct frame_text - a frame without its offset
 * @len: bytes of @name that are the function's name
 * @name: not terminated there
 * @module: " [module]", or ""
 */
struct frame_text {
	int len;
	const char *name;
	char module[FRAME_MODULE_MAX];
};

void output_frame(const struct stack *stack, unsigned int i, struct frame_text *t);

double output_percent(u64 count, u64 sum);

/*
 * What is printed after frame @i of a stack: its source line, "" if unknown or not wanted.  Ends
 * the program where no frame of this kernel can be decoded.
 */
const char *output_line(const struct output *o, const struct stack *stack, unsigned int i);

#endif
