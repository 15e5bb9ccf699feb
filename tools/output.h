/* SPDX-License-Identifier: GPL-2.0 */
/*
 * output.h - events, counts, texts and the state, printed
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stdio.h>
#include "filter.h"
#include "symbols.h"

enum format { FORMAT_TEXT, FORMAT_FOLDED, FORMAT_JSON, FORMAT_PERF };

/**
 * struct output - how to print what
 * @file: where to
 * @format: how
 * @wall: times of day instead of seconds since boot
 * @record: where stacks are found
 * @symbols: where their frames' names are found
 */
struct output {
	FILE *file;
	enum format format;
	bool wall;
	struct record *record;
	struct symbols *symbols;
};

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

/* @changed as in struct bag; @source is its name */
void output_info(const struct output *o, const char *source, unsigned int changed);

#endif
