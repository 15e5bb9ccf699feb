/* SPDX-License-Identifier: GPL-2.0 */
/*
 * cmd.h - the commands, their options, and the data that they read
 */
#ifndef CMD_H
#define CMD_H

#include <popt.h>
#include "input/source.h"
#include "output/output.h"

struct overrides;

/* ----------------------------------------------------------- session --- */

/* A source, and the record of one load of the module from it */

/* The data to read */
struct wanted {
	struct words file;	/* empty: the running kernel's memory */
	bool kept;		/* the record that a previous load left before the last reset */
	bool scan;		/* scan every page of a dump */
	u64 instance;		/* id of a load of the module; 0: the default one */
	struct filter filter;	/* selects the command's events */
	bool all;		/* keep the other events, too */
	u64 last;		/* keep only this many of the newest selected events; 0: all */
	bool totals;		/* totals of stacks are enough, so folded stacks can be read */
};

/* An open source */
struct session {
	struct wanted *wanted;
	int excluded;			/* exclude_self() while a source is read */
	struct source source;
	struct page_set set;
	struct instance *instance;	/* the loads of the module in it, newest first */
	size_t instances;
	const struct instance *chosen;	/* the load that is read */
	struct record record;
	struct event_choice choice;	/* events to keep; without choice.search: all */
	struct search search;		/* result of the filter */
	bool folded;			/* the source is text: only stacks and their totals */
	struct symbols symbols;
};

/* All of these end the program with one line on failure */

/* Open the source; *@wanted must outlive the session, which resolves its filter */
void session_open(struct session *s, struct wanted *wanted);

/* Read all of it, again if it was read before */
void session_load(struct session *s);

/* Read again, up to a few times, while pages were overwritten during reading */
void session_load_steady(struct session *s);

/* Read only the data known before any event, to start without delay */
void session_load_info(struct session *s);

void session_close(struct session *s);

/* End the program unless the page of stackbuf_info was found */
void session_need_info(const struct session *s);

/* Find the stacks of --function; ends the program if none begins in any of them */
void session_choose_functions(struct session *s);

/* Report problems of the source as a whole, and which of its loads this is */
void session_report_source(const struct session *s);

/* Report the source, and everything that the output will lack */
void session_report_missing(const struct session *s);
/* Report the source, and the missing pages of one array */
void session_report_missing_of(const struct session *s, enum array a);

/* Report that totals are only of a part of the events */
void session_report_sampled(const struct session *s);
/* Report by how much totals may be too small, as pages changed while they were read */
void session_report_unsure(const struct session *s);

/* Report the events of evicted stacks.  A stack evicted while it was read may have its total */
void session_report_evicted(const struct session *s);

/* Set s->symbols, with the names of a dump's own kernel if stacks have no text.  Call this first */
void session_add_names(struct session *s);

/* Add the source's data outside the record itself: build ids, the running machine's name */
void session_add_origin(struct session *s);

/* Find the KASLR offset: from the given vmlinux, else from the source */
void session_add_kernel_offset(struct session *s, const struct debug_config *debug);

/* Source lines for the record's frames; ends the program if a frame to come cannot have one */
struct srcline *session_open_srcline(const struct session *s, const struct debug_config *debug,
				     bool frames);

/* Why the kernel in the source does not hit the probes that are set; or NULL */
const char *session_probes_off(const struct session *s);

/* Now, ns on the clock of events: else the latest known time */
u64 session_now(const struct session *s);

/* Report if times of day, which count from when the module was loaded, are wrong */
void session_report_wall(const struct session *s);

/* Return false if the above is only the time of the newest event */
bool session_knows_now(const struct session *s);

/* ---------------------------- the command line: commands and options --- */

#define BIT(n)	(1ULL << (n))

/* Ways to use a command: "count" has three, "errors" two */
enum command_id {
	INFO, TEXT, LOG, REPORT, LIFE, LEAKS, LATENCY, OFFCPU, ERRORS, ERRORS_PATTERN, COUNT,
	COUNT_PATTERN, COUNT_LIST, DEPTH, SNOOP, SAVE, DIFF, METRICS, DECODE,
	COMMANDS
};

/* Options that code refers to; table.c describes all */
enum option_id {
	OPT_FILE, OPT_KEPT,
	OPT_SCAN, OPT_INSTANCE, OPT_PID, OPT_COMM, OPT_CPU, OPT_TAG, OPT_SINCE, OPT_UNTIL,
	OPT_AROUND, OPT_STACK, OPT_FUNCTION, OPT_LAST, OPT_TOP, OPT_PERCENT, OPT_FOLDED,
	OPT_PREFIX, OPT_JSON,
	OPT_PERF, OPT_PPROF, OPT_FLAME, OPT_WALL, OPT_FOLLOW, OPT_LINES, OPT_VMLINUX, OPT_MODULES,
	OPT_FORCE, OPT_OUTPUT, OPT_HELP, OPT_VERSION, OPT_NUMBER, OPT_INTERVAL,
	OPT_DURATION, OPT_CGROUP, OPT_TIMESTAMP, OPT_REGEXP, OPT_OFFSET, OPT_PERPID, OPT_VERBOSE,
	OPT_LIST, OPT_OLDER, OPT_WAKERS, OPT_IDLE, OPT_ON_TRIGGER, OPT_ERROR, OPT_EXCLUDE, OPT_LOG,
	OPT_LONGER,
	OPTIONS
};

static_assert(OPTIONS <= 64, "an option is a bit of a u64");

struct args;

/* One way to use a command */
struct command {
	const char *name;
	const char *words;	/* arguments after the name, as in help; NULL: none */
	unsigned int min, max;	/* limits of their number */
	const char *missing;	/* message if there are fewer */
	const char *text;	/* one line for help; NULL: help does not list it separately */
	const char *example;	/* for its own help */
	const char *lack;	/* message for an option that only another way to use it takes */
	/* If it sets probes, for future events: the command for recorded ones */
	const char *of_record;
	bool totals;		/* totals of stacks are enough, so folded stacks can be read */
	bool all;		/* it also shows events that the filter does not select */
	bool offset;		/* it shows the KASLR offset */
	/* When it shows the machine and the code of its stacks */
	enum { ORIGIN_OF_LINES, ORIGIN_IN_JSON, ORIGIN_ALWAYS } origin;
	/* Prints a part of the record; or @run does everything */
	void (*show)(struct session *s, struct output *o, struct args *a);
	void (*run)(struct args *a);
};

/* An option */
struct option {
	const char *name;
	char letter;		/* short name, or '\0' */
	char own_letter;	/* replaces @letter after the commands @own_for */
	u64 own_for;		/* bits of enum command_id */
	const char *value;	/* name of its value in help; NULL: it has none */
	const char *text;	/* one line for help */
	u64 commands;		/* commands that take it */
	bool own;		/* not shown by the help for all commands */
	bool several;		/* it may be given several times */
	bool timed;		/* it is about passing time */
	bool filters;		/* its value is for filter_set() */
	enum output_format format;	/* the format that it selects */
	/*
	 * Takes the value, and returns NULL or a description of valid values; @field: offset in
	 * struct args
	 */
	const char *(*set)(void *field, const char *value);
	size_t field;
};

extern const struct command command_table[COMMANDS];
extern const struct option option_table[OPTIONS];

/* The command line */
struct args {
	enum command_id command;
	struct wanted wanted;
	struct output output;
	struct debug_config debug;
	struct words modules;		/* directories of -m */
	char *flame, *to, *cgroup, *on_trigger;
	const char **word;		/* arguments after the command; NULL: none */
	u64 given;			/* bits of enum option_id */
	u64 number;
	u64 interval, duration, older, longer;	/* ns */
	struct error_set errors_in, errors_out;
	poptContext context_after;	/* popt's context of the options after the command */
};

/*
 * Read the command line; end the program with one line if it is invalid.  The memory it allocates
 * is never freed: *@a is static.
 */
void args_read(struct args *a, int argc, const char **argv);

/* Return true for the running kernel, false for a given source */
bool args_live(const struct args *a);

/* Print help on all commands, or on @a's command */
void args_help(const struct args *a);

/* popt's table for options before or after a command's name */
struct poptOption *args_options(int command);

/* --------------------------------------------------------------- cmd --- */

/* All of these end the program with one line on failure */

/* Print a part of the record */
void cmd_info(struct session *s, struct output *o, struct args *a);
void cmd_text(struct session *s, struct output *o, struct args *a);
void cmd_log(struct session *s, struct output *o, struct args *a);
void cmd_count(struct session *s, struct output *o, struct args *a);
void cmd_depth(struct session *s, struct output *o, struct args *a);
void cmd_report(struct session *s, struct output *o, struct args *a);
void cmd_life(struct session *s, struct output *o, struct args *a);
void cmd_metrics(struct session *s, struct output *o, struct args *a);

/* These read two records, none, or events as they are recorded */
void cmd_diff(struct args *a);
void cmd_decode(struct args *a);
void cmd_list(struct args *a);
void cmd_watch(struct args *a);
void cmd_pairs(struct args *a);
void cmd_errors(struct args *a);
void cmd_save(struct args *a);

/* Read the source, with @live only the data known before any event; prepare the output */
void cmd_begin(struct session *s, struct args *a, bool live);
/* The same for one that sets probes: load the module, restore what a killed one has left */
void cmd_begin_live(struct session *s, struct args *a, struct overrides *p);
void cmd_end(struct session *s, struct args *a);

/* "latency -L": calls that took at least this long */
void cmd_slow(struct args *a);

/* Print the totals of a pair; reorders @t */
void cmd_print_pair(struct args *a, struct pair_totals *t, u64 now);

/*
 * Add up by path the errors that probes recorded, for events that the filter selects.  Call this
 * before applying the filter to the events.  Set *@nr to their number; do not free the result.
 */
struct error_path *cmd_error_paths(struct session *s, struct args *a, size_t *nr);

/*
 * Write formats that need their own file: for @event, or with NULL for all totals.  Return false if
 * the format is another one.
 */
bool cmd_profile(const struct output *o, const struct args *a, const struct stackbuf_event *event,
		 size_t nr);

#endif
