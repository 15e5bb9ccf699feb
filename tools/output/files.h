/* SPDX-License-Identifier: GPL-2.0 */
/*
 * files.h - what is a file of its own: profile, flame graph, report, metrics, snapshot
 */
#ifndef FILES_H
#define FILES_H

#include <sys/types.h>
#include "output/output.h"

/* ---------------------------------------- what appears when it is complete --- */

/* A file that is being written */
struct outfile {
	FILE *file;	/* where to write */
	char *unfinished;	/* its name until it is complete; NULL if it is written directly */
	char *target;	/* its name when it is complete */
};

/*
 * Begin to write @name; a new file gets @mode.  "-" is standard output.  Symbolic links are
 * followed.  What exists and is not a regular file (a device, a FIFO, a pipe under /dev/fd) is
 * written directly.  A regular file is unchanged until outfile_close() replaces it, even if a
 * signal ends the program.
 *
 * @own is for what a timer writes as root: fail with EACCES if the directory, or a link that leads
 * there, belongs to a user who is neither this one nor root.
 *
 * Return 0, or -1 with errno set.
 */
int outfile_open(struct outfile *out, const char *name, mode_t mode, bool own);

/*
 * Put the file into its place, or remove it if @failed.  Return 0, or -1 with errno set if that
 * was not possible, or if @failed.
 */
int outfile_close(struct outfile *out, int failed);

/* Write a file as a whole, or end the program; a new one gets what umask() leaves of @mode */
void outfile_write(const char *name, mode_t mode, const char *text, size_t len);

/* --------------------------------------------------- profile, flame graph --- */

/* What a profile or a flame graph shows */
struct profile {
	/*
	 * Events by stack and label, to be freed; in a profile those without a label have the label
	 * event=overwritten
	 */
	struct stack_total *total;
	size_t nr;	/* how many */
	u64 from;	/* when the first of them was recorded, ns since boot; 0: unknown */
	u64 to;	/* the same of the last */
	bool commands;	/* outermost frames of a graph are the commands of labels */
	/*
	 * Of two records.  In a profile, as "pprof -diff_base" makes it, the events before are
	 * negative and have the label pprof::base=true.  In a graph frames are red and blue where
	 * their share of the events has grown and shrunk
	 */
	bool diff;
};

/* Set *@p to what @event has; with NULL to all events since loading, in a graph without commands */
void profile_events(struct profile *p, const struct output *o, const struct filter *f,
		    const struct stackbuf_event *event, size_t nr);

/* These end the program if they cannot write */

/* Write a profile as pprof, Parca, Pyroscope and speedscope read it */
void pprof_write(const struct output *o, const struct profile *p);

/* Write a flame graph, one SVG file with zoom and search in it */
void flame_write(const struct output *o, const struct profile *p, const char *name);

/* The same as an element of a page, whose script is in flame.js */
void flame_put(const struct output *o, const struct profile *p, FILE *f);

/* Put up to @len characters of printable text into XML or HTML */
void put_escaped(FILE *f, const char *text, size_t len);

/* Write one of these, as the format says, and free @p->total */
void profile_write(const struct output *o, struct profile *p, const char *graph);

/* ---------------------------------------------------------------- report --- */

/* More events are too much for a browser: the newest are in the page */
#define REPORT_EVENTS_MAX	1000000

/* What a report shows */
struct report {
	const char *info, *info_text;	/* what "info --json" and "info" print */
	const char *source;
	const struct page_set *set;	/* how the source was read */
	const struct stackbuf_event *event;	/* those that were chosen, in order of time */
	size_t nr;	/* how many */
	size_t left_out;	/* older ones that were chosen, too */
	u64 now;	/* on the clock of events, ns: the ages of what pairs have open end there */
	const struct error_path *error;	/* of those that were recorded */
	size_t errors;	/* how many */
};

/* Write a report, one HTML file that refers to no other.  @name is as outfile_open() takes it */
void report_write(const struct output *o, const struct report *page, const char *name);

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

/* ---------------------------- the stacks of two records side by side --- */

enum { BEFORE, AFTER, SIDES };

/* A stack, by what its frames are called */
struct diff_stack {
	char *text;	/* what it is compared by: its frames, innermost first, one a line */
	struct stack *stack;	/* the stack, of one of the records */
	int side;	/* of which */
	u64 events[SIDES];	/* its events in the record before, and in the one after */
};

/* Two records, compared; @side and @name are to be set, all else is 0 */
struct diff {
	const struct output *side[SIDES];	/* the records */
	const char *name[SIDES];	/* what they were read from */
	/*
	 * The kernel is the same: frames are compared with their offset in the function, else by
	 * function
	 */
	bool same_build;
	u64 events[SIDES];	/* of each record, in all stacks */
	size_t stacks[SIDES];	/* of each record */
	struct diff_stack *stack;	/* the stacks of both, by change: the largest is the last */
	size_t nr;	/* how many */
	struct profile profile;	/* the same for formats that are a file of their own */
};

/* Match the stacks */
void diff_make(struct diff *d);
void diff_free(struct diff *d);

/* Print what changed, with --folded all stacks; not for formats that are a file of their own */
void diff_print(const struct diff *d);

#endif
