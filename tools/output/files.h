/* SPDX-License-Identifier: GPL-2.0 */
/*
 * files.h - what is a file of its own: profile, flame graph, report, metrics, snapshot
 */
#ifndef FILES_H
#define FILES_H

#include "output/output.h"

/* ----------------------------------------------------------------- pprof --- */

/*
 * pprof_*() write a profile as pprof, Parca, Pyroscope and speedscope read it.  All functions here
 * end the program if they cannot write.
 */

/*
 * Write the profile of @event; with NULL that of all events since loading, of which those that the
 * ring no longer holds have the label event=overwritten and no others.
 */
void pprof_write(const struct output *o, const struct filter *f, const struct stackbuf_event *event,
		 size_t nr);

/*
 * The same of totals, each with its labels; without a label they count as overwritten.  They were
 * recorded from @from to @to, ns since boot; 0: unknown.
 */
void pprof_write_totals(const struct output *o, const struct stack_total *total, size_t nr,
			u64 from, u64 to);

/*
 * The difference of two records as "pprof -diff_base" makes it: the events of @before are negative
 * and have the label pprof::base=true.
 */
void pprof_write_diff(const struct output *before, const struct output *after);

/* ----------------------------------------------------------- flame graph --- */

/* flame_*() write a flame graph, one SVG file with zoom and search in it */

/*
 * Write the graph of @event, with commands as outermost frames; with NULL that of all events since
 * loading, by stack alone.
 */
void flame_write(const struct output *o, const struct filter *f, const struct stackbuf_event *event,
		 size_t nr, const char *name);

/* The same of totals, with the commands of their labels as outermost frames */
void flame_write_totals(const struct output *o, const struct stack_total *total, size_t nr,
			const char *name);

/*
 * The graph of the difference of two records: red and blue where a frame's share of the events
 * has grown and shrunk
 */
void flame_write_diff(const struct output *before, const struct output *after, const char *name);

/* ---------------------------------------------------------------- report --- */

/* More events are too much for a browser: the newest are in the page */
#define REPORT_EVENTS_MAX	1000000

/**
 * report_write() - write a report, one HTML file that refers to no other
 * @o: the record, and whether source lines are wanted
 * @info: what "info --json" prints
 * @event: the events chosen, in order of time
 * @nr: how many
 * @name: the file, as outfile_open() takes it
 */
void report_write(const struct output *o, const char *info, const struct stackbuf_event *event,
		  size_t nr, const char *name);

/* --------------------------------------------------------------- metrics --- */

/*
 * Write the counters, and those of the @o->top largest stacks, in Prometheus's text format into
 * @o->file.  What @before, the text of an earlier call, has of the same load of the module is a
 * lower bound for each counter of events; NULL: there is none.
 */
void metrics_write(const struct output *o, const char *before);

/* The text that the file @name has, to be freed; NULL if it has none */
char *metrics_read(const char *name);

/* -------------------------------------------------------------- snapshot --- */

/* Write file @name: all pages, and the names and build ids that would be lost */
void snapshot_write(const char *name, const struct page_set *set, struct record *r,
		    struct symbols *symbols);

#endif
