/* SPDX-License-Identifier: GPL-2.0 */
/*
 * files.h - outputs that need their own file: profile, flame graph, report, metrics, snapshot
 */
#ifndef FILES_H
#define FILES_H

#include <sys/types.h>
#include "output/output.h"

/* --------------------------------------- files that appear when complete --- */

/* A file being written */
struct outfile {
	FILE *file;	/* stream to write to */
	char *unfinished;	/* temporary name; NULL if the file is written directly */
	char *target;	/* final name */
};

/*
 * Begin to write @name; a new file gets @mode.  "-" is standard output.  Symbolic links are
 * followed.  An existing file that is not regular (a device, a FIFO, a pipe under /dev/fd) is
 * written directly.  A regular file is unchanged until outfile_close() replaces it, even if a
 * signal ends the program.
 *
 * @own is for files that a timer writes as root: fail with EACCES if the directory, or a link that
 * leads there, belongs to a user other than this one or root.
 *
 * Return 0, or -1 with errno set.
 */
int outfile_open(struct outfile *out, const char *name, mode_t mode, bool own);

/*
 * Rename the file to its final name, or remove it if @failed.  Return 0, or -1 with errno set if
 * that was not possible, or if @failed.
 */
int outfile_close(struct outfile *out, int failed);

/* Write a whole file, or end the program; a new file gets @mode minus the umask */
void outfile_write(const char *name, mode_t mode, const char *text, size_t len);

/* --------------------------------------------------- profile, flame graph --- */

/* Contents of a profile or a flame graph */
struct profile {
	/*
	 * Events by stack and label, allocated; in a profile those without a label have the label
	 * event=overwritten
	 */
	struct stack_total *total;
	size_t nr;
	u64 from;	/* time of the first event, ns since boot; 0: unknown */
	u64 to;	/* time of the last event */
	bool commands;	/* a graph's outermost frames are the commands of labels */
	bool processes;	/* with their processes */
	const char *unit;	/* what a graph counts; NULL: events */
	/*
	 * Difference of two records.  In a profile, as "pprof -diff_base" makes it, the events of
	 * the earlier record are negative and have the label pprof::base=true.  In a graph, frames
	 * whose share of the events grew are red, and frames whose share shrank are blue
	 */
	bool diff;
};

/* Set *@p to the events of @event; NULL: all events since loading, in a graph without commands */
void profile_events(struct profile *p, const struct output *o, const struct filter *f,
		    const struct stackbuf_event *event, size_t nr);

/* The write functions end the program on failure */

/* Write a profile in the format of pprof, Parca, Pyroscope and speedscope */
void pprof_write(const struct output *o, const struct profile *p);

/* Write a flame graph, one SVG file with zoom and search in it */
void flame_write(const struct output *o, const struct profile *p, const char *name);

/* Write a flame graph as an element of a page, whose script is in flame.js */
void flame_put(const struct output *o, const struct profile *p, FILE *f);

/* Put up to @len characters of printable text into XML or HTML */
void put_escaped(FILE *f, const char *text, size_t len);

/* Write a profile or flame graph, depending on the format, and free @p->total */
void profile_write(const struct output *o, struct profile *p, const char *graph);

/* ---------------------------------------------------------------- report --- */

/* More events are too many for a browser: the page has only the newest */
#define REPORT_EVENTS_MAX	1000000

/* Contents of a report */
struct report {
	const char *info, *info_text;	/* output of "info --json" and "info" */
	const char *state;	/* whether it records */
	const char *source;
	const struct page_set *set;	/* how the source was read */
	const struct stackbuf_event *event;	/* the chosen events, by time */
	size_t nr;
	size_t left_out;	/* older chosen events */
	u64 now;	/* time on the clock of events, ns: ages of open objects end there */
	const struct error_path *error;	/* errors among the recorded events */
	size_t errors;
};

/* Write a report, one self-contained HTML file.  @name is as for outfile_open() */
void report_write(const struct output *o, const struct report *page, const char *name);

/* --------------------------------------------------------------- metrics --- */

/*
 * Write the counters, and those of the @o->top largest stacks, in Prometheus's text format into
 * @o->file.  In @before, the text of an earlier call, values of the same load of the module are
 * lower bounds for counters of events; NULL: there is none.
 */
void metrics_write(const struct output *o, const char *before);

/* Return the text of the file @name, or NULL if it has none; the caller frees it */
char *metrics_read(const char *name);

/* -------------------------------------------------------------- snapshot --- */

/* Write file @name: all pages, and the names and build ids that would be lost */
void snapshot_write(const char *name, const struct page_set *set, struct record *r,
		    struct symbols *symbols);

/* ---------------------------- the stacks of two records side by side --- */

enum { BEFORE, AFTER, SIDES };

/* A stack, identified by the names of its frames */
struct diff_stack {
	char *text;	/* the text to compare: its frames, innermost first, one per line */
	struct stack *stack;	/* the stack, of one of the records */
	int side;	/* which record */
	u64 events[SIDES];	/* its events in the earlier record, and in the later one */
};

/* Comparison of two records; set @side and @name, and all else to 0 */
struct diff {
	const struct output *side[SIDES];	/* the records */
	const char *name[SIDES];	/* names of their sources */
	/* The kernel is the same: compare frames by function and offset, else only by function */
	bool same_build;
	u64 events[SIDES];	/* of each record, in all stacks */
	size_t stacks[SIDES];	/* of each record */
	struct diff_stack *stack;	/* the stacks of both, by change: the largest is the last */
	size_t nr;
	struct profile profile;	/* the differences, for formats that need their own file */
};

/* Match the stacks of both records */
void diff_make(struct diff *d);
void diff_free(struct diff *d);

/* Print the differences, with --folded all stacks; not for formats that need their own file */
void diff_print(const struct diff *d);

#endif
