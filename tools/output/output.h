/* SPDX-License-Identifier: GPL-2.0 */
/*
 * output.h - events, counts, texts and the state, printed
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stdio.h>
#include "record/filter.h"
#include "symbol/srcline.h"
#include "symbol/symbols.h"

enum format { FORMAT_TEXT, FORMAT_FOLDED, FORMAT_JSON, FORMAT_PERF, FORMAT_PPROF, FORMAT_FLAME };

/**
 * struct output - how to print what
 * @file: where to
 * @format: how
 * @wall: times of day instead of seconds since boot
 * @percent: totals also as percentages
 * @top: print only this number of stacks, the most frequent ones; 0: all
 * @record: where stacks are found
 * @symbols: where their frames' names are found
 * @srcline: where source lines are found, or NULL: none wanted
 * @probed: addresses of probes, which are no return addresses
 * @nr_probed: how many
 * @probes_off: why the running kernel does not hit them, or NULL
 */
struct output {
	FILE *file;
	enum format format;
	bool wall, percent;
	u64 top;
	struct record *record;
	struct symbols *symbols;
	struct srcline *srcline;
	u64 *probed;
	size_t nr_probed;
	const char *probes_off;
};

/* For other formats: the stack of an event, by its id; never NULL */
struct stack *output_stack(const struct output *o, u32 id);
/*
 * A command's name, in @text.  Terminals obey what they are shown, so that bytes beyond
 * printable ASCII become "?"
 */
const char *output_comm(const char *comm, char text[STACKBUF_COMM_LEN]);
const char *output_context(const struct event *e);

double output_percent(u64 count, u64 sum);

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

void output_text(const struct output *o, const struct filter *f);

/* What is known of the source: its name, all pages found there, all loads of the module */
void output_info(const struct output *o, const char *source, const struct page_set *set,
		 const struct instance *instance, size_t instances);

#endif
