/* SPDX-License-Identifier: GPL-2.0 */
/*
 * session.h - a source, and the record of one load of the module that was read from it
 */
#ifndef SESSION_H
#define SESSION_H

#include "input/source.h"
#include "output/output.h"
#include "record/filter.h"

/* What to read */
struct wanted {
	struct words file;	/* none: the running kernel's memory */
	bool kept;		/* what the load before the last reset has left, too */
	bool scan;		/* look at every page of a dump */
	u64 instance;		/* the load of the module; 0: the default one */
	struct filter filter;	/* which events the command chooses */
	bool all;		/* keep those that it does not choose, too */
	u64 last;		/* keep only this number of the newest that it chooses; 0: all */
	bool totals;		/* totals of stacks are enough, so folded stacks will do */
};

/* A source that was read */
struct session {
	struct wanted *wanted;
	int kept_out;			/* keep_out() while a source is read */
	struct source source;
	struct page_set set;
	struct instance *instance;	/* the loads of the module found there, newest first */
	size_t instances;
	const struct instance *chosen;	/* the one that is read */
	struct record record;
	struct event_choice choice;	/* events to keep; without choice.wanted: all */
	struct search search;		/* what the filter has found */
	bool folded;			/* the source is text: stacks and their totals alone */
	struct symbols symbols;
};

/* All of these end the program with one line if something goes wrong */

/* Open the source; *@wanted stays as long as the session, and its filter is resolved */
void session_open(struct session *s, struct wanted *wanted);

/* Read all of it, again if that was done before */
void session_load(struct session *s);

/* Read again, a few times at most, while pages were overwritten as they were read */
void session_load_steady(struct session *s);

/* Read only what is known before any event, for a start without delay */
void session_load_info(struct session *s);

void session_close(struct session *s);

/* End the program unless the page of stackbuf_info is there */
void session_need_info(const struct session *s);

/* Report what is wrong with the source as a whole, and which of its loads this is */
void session_report_source(const struct session *s);

/* Report this and all that the output will lack */
void session_report_missing(const struct session *s);

/* Report that totals are of a part of the events alone */
void session_report_sampled(const struct session *s);

/* Report the events of evicted stacks.  One that was evicted as it was read may have its total */
void session_report_evicted(const struct session *s);

/* Set s->symbols, with the names of a dump's own kernel if stacks have no text.  First of these */
void session_add_names(struct session *s);

/* Learn what the source has besides the record itself: build ids, the running machine's name */
void session_add_origin(struct session *s);

/* Find the offset of KASLR: by the vmlinux named, else by the source */
void session_add_kernel_offset(struct session *s, const struct debug_config *debug);

/* Source lines for the record's frames; ends the program if a frame to come cannot have one */
struct srcline *session_open_srcline(const struct session *s, const struct debug_config *debug,
				     bool frames);

/* Why the kernel that is read does not hit the probes that are set; or NULL */
const char *session_probes_off(const struct session *s);

#endif
