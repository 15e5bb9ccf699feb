/* SPDX-License-Identifier: GPL-2.0 */
/*
 * args.h - the command line: commands and options
 */
#ifndef ARGS_H
#define ARGS_H

#include <popt.h>
#include "session.h"

#define BIT(n)	(1ULL << (n))

/* Ways to use a command: "count" is three of them. */
enum command_id {
	INFO, TEXT, LOG, REPORT, LIFE, LEAKS, LATENCY, OFFCPU, COUNT, COUNT_PATTERN, COUNT_LIST,
	DEPTH, SNOOP, SAVE, DIFF, METRICS, DECODE,
	COMMANDS
};

/* Options that are asked for by name; table.c has all of each */
enum option_id {
	OPT_FILE, OPT_KEPT,
	OPT_SCAN, OPT_INSTANCE, OPT_PID, OPT_COMM, OPT_CPU, OPT_TAG, OPT_SINCE, OPT_UNTIL,
	OPT_AROUND, OPT_STACK, OPT_LAST, OPT_TOP, OPT_PERCENT, OPT_FOLDED, OPT_PREFIX, OPT_JSON,
	OPT_PERF, OPT_PPROF, OPT_FLAME, OPT_WALL, OPT_FOLLOW, OPT_LINES, OPT_VMLINUX, OPT_MODULES,
	OPT_FORCE, OPT_OUTPUT, OPT_HELP, OPT_VERSION, OPT_NUMBER, OPT_INTERVAL,
	OPT_DURATION, OPT_CGROUP, OPT_TIMESTAMP, OPT_REGEXP, OPT_OFFSET, OPT_PERPID, OPT_VERBOSE,
	OPT_LIST, OPT_OLDER, OPT_WAKERS, OPT_ON_TRIGGER,
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
	bool past;		/* it chooses among what was recorded */
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
	u64 interval, duration, older;	/* ns */
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

#endif
