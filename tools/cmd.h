/* SPDX-License-Identifier: GPL-2.0 */
/*
 * cmd.h - the commands, their options, and what they read
 */
#ifndef CMD_H
#define CMD_H

#include <popt.h>
#include "input/source.h"
#include "output/output.h"

/* ----------------------------------------------------------- session --- */

/* A source, and the record of one load of the module that was read from it */

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
	int excluded;			/* exclude_self() while a source is read */
	struct source source;
	struct page_set set;
	struct instance *instance;	/* the loads of the module found there, newest first */
	size_t instances;
	const struct instance *chosen;	/* the one that is read */
	struct record record;
	struct event_choice choice;	/* events to keep; without choice.search: all */
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

/* Find the stacks of --function; ends the program if none begins in any of them */
void session_choose_functions(struct session *s);

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

/* Now, ns on the clock of events: else the latest that is known */
u64 session_now(const struct session *s);

/* ---------------------------- the command line: commands and options --- */

#define BIT(n)	(1ULL << (n))

/* Ways to use a command: "count" is three of them, "errors" two */
enum command_id {
	INFO, TEXT, LOG, REPORT, LIFE, LEAKS, LATENCY, OFFCPU, ERRORS, ERRORS_PATTERN, COUNT,
	COUNT_PATTERN, COUNT_LIST, DEPTH, SNOOP, SAVE, DIFF, METRICS, DECODE,
	COMMANDS
};

/* Options that are asked for by name; table.c has all of each */
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
	const char *words;	/* what follows the name, as help shows it; NULL: nothing */
	unsigned int min, max;	/* how many words */
	const char *missing;	/* what is said if there are fewer */
	const char *text;	/* one line for help; NULL: help does not show it apart */
	const char *example;	/* for its own help */
	const char *lack;	/* what is said of an option that another way to use it takes */
	/* It sets probes, and is about events to come: the command for those of a record */
	const char *of_record;
	bool totals;		/* totals of stacks are enough, so folded stacks will do */
	bool all;		/* it shows also of what the filter does not choose */
	bool offset;		/* it shows the offset of KASLR */
	/* It shows the machine and the code that its stacks are of */
	enum { ORIGIN_OF_LINES, ORIGIN_IN_JSON, ORIGIN_ALWAYS } origin;
	/* Prints what is in a record that was read; or @run does all */
	void (*show)(struct session *s, struct output *o, struct args *a);
	void (*run)(struct args *a);
};

/* An option */
struct option {
	const char *name;
	char letter;		/* short name, or '\0' */
	char own_letter;	/* in its place after the names of the commands @own_for */
	u64 own_for;		/* bits of enum command_id */
	const char *value;	/* what help calls its value; NULL: it has none */
	const char *text;	/* one line for help */
	u64 commands;		/* those that take it */
	bool own;		/* not shown by the help for all commands */
	bool several;		/* it may be given several times */
	bool timed;		/* it is about time that passes */
	bool filters;		/* its value is for filter_set() */
	enum output_format format;	/* which it stands for */
	/* Takes the value, and returns NULL or what it must be; @field: offset in struct args */
	const char *(*set)(void *field, const char *value);
	size_t field;
};

extern const struct command command_table[COMMANDS];
extern const struct option option_table[OPTIONS];

/* What was given */
struct args {
	enum command_id command;
	struct wanted wanted;
	struct output output;
	struct debug_config debug;
	struct words modules;		/* directories of -m */
	char *flame, *to, *cgroup, *on_trigger;
	const char **word;		/* what follows the command; NULL: nothing */
	u64 given;			/* bits of enum option_id */
	u64 number;
	u64 interval, duration, older, longer;	/* ns */
	struct error_set errors_in, errors_out;
	poptContext context_after;	/* popt's, of the options after the command */
};

/*
 * Read the command line; end the program with one line where it makes no sense.  What it allocates
 * is never freed: *@a is static.
 */
void args_read(struct args *a, int argc, const char **argv);

/* Is it about the running kernel, not about a source that was named? */
bool args_live(const struct args *a);

/* Print help on all commands, or on that of @a */
void args_help(const struct args *a);

/* popt's table for options before or after a command's name */
struct poptOption *args_options(int command);

/* --------------------------------------------------------------- cmd --- */

/* All of these end the program with one line if something goes wrong */

/* Print what is in a record that was read */
void cmd_info(struct session *s, struct output *o, struct args *a);
void cmd_text(struct session *s, struct output *o, struct args *a);
void cmd_log(struct session *s, struct output *o, struct args *a);
void cmd_count(struct session *s, struct output *o, struct args *a);
void cmd_depth(struct session *s, struct output *o, struct args *a);
void cmd_report(struct session *s, struct output *o, struct args *a);
void cmd_life(struct session *s, struct output *o, struct args *a);
void cmd_metrics(struct session *s, struct output *o, struct args *a);

/* These read two records, or none, or while events are recorded */
void cmd_diff(struct args *a);
void cmd_decode(struct args *a);
void cmd_list(struct args *a);
void cmd_watch(struct args *a);
void cmd_pairs(struct args *a);
void cmd_errors(struct args *a);
void cmd_save(struct args *a);

/* Read the source, only what is known before any event if @live; prepare what the output needs */
void cmd_begin(struct session *s, struct args *a, bool live);
void cmd_end(struct session *s, struct args *a);

/* "latency -L": calls that took at least as long */
void cmd_slow(struct args *a);

/* Print what is known of a pair; reorders @t */
void cmd_print_pair(struct args *a, struct pair_totals *t, u64 now);

/*
 * The errors that probes have recorded, added up by path, of events that the filter chooses.  To be
 * called before it is applied to the events.  Set *@nr to their number; not to be freed.
 */
struct error_path *cmd_error_paths(struct session *s, struct args *a, size_t *nr);

/*
 * Write formats that are a file of their own: of @event, or with NULL of all totals.  Return
 * false if the format is another one.
 */
bool cmd_profile(const struct output *o, const struct args *a, const struct stackbuf_event *event,
		 size_t nr);

#endif
