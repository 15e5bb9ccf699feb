/* SPDX-License-Identifier: GPL-2.0 */
/*
 * flame.h - a flame graph: one SVG file, with zoom and search in it
 */
#ifndef FLAME_H
#define FLAME_H

#include "output/output.h"

/*
 * Write the graph of @event, with commands as outermost frames; with NULL that of all events since
 * loading, by stack alone.  Return 0, or -1 with @error set and no file written.
 */
int flame_write(const struct output *o, const struct filter *f, const struct stackbuf_event *event,
		size_t nr, const char *name, char *error, size_t size);

/* The same of totals, with the commands of their labels as outermost frames */
int flame_write_totals(const struct output *o, const struct stack_total *total, size_t nr,
		       const char *name, char *error, size_t size);

/*
 * The graph of the difference of two records: red and blue where a frame's share of the events
 * has grown and shrunk
 */
int flame_write_diff(const struct output *before, const struct output *after, const char *name,
		     char *error, size_t size);

#endif
