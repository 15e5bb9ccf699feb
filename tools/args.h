/* SPDX-License-Identifier: GPL-2.0 */
/*
 * args.h - the command line: commands and options
 */
#ifndef ARGS_H
#define ARGS_H

#include <popt.h>
#include "record/filter.h"

#define EXIT_USAGE	2

#define BIT(n)	(1ULL << (n))

enum command {
	INFO, TEXT, LOG, REPORT, LIFE, COUNT, SNOOP, DEPTH, SAVE, DIFF, METRICS, DECODE,
	COMMANDS
};

/* Options, in the order of option_list[], then of watch_list[] */
enum option {
	OPT_NONE, OPT_FILE, OPT_SCAN, OPT_INSTANCE, OPT_PID, OPT_COMM, OPT_CPU, OPT_TAG, OPT_SINCE,
	OPT_UNTIL, OPT_AROUND, OPT_STACK, OPT_LAST, OPT_TOP, OPT_PERCENT, OPT_FOLDED,
	OPT_PREFIX, OPT_JSON, OPT_PERF, OPT_PPROF, OPT_FLAME,
	OPT_WALL, OPT_FOLLOW, OPT_LINES, OPT_VMLINUX, OPT_MODULES, OPT_FORCE, OPT_COMPAT,
	OPT_OUTPUT,
	OPT_HELP, OPT_VERSION,
	OPT_NUMBER, OPT_INTERVAL, OPT_DURATION, OPT_TIMESTAMP, OPT_REGEXP, OPT_OFFSET,
	OPT_PERPID, OPT_VERBOSE, OPT_LIST,
	OPTIONS
};

static_assert(OPTIONS <= 64, "an option is a bit of a u64");

/**
 * struct args - what was given
 * @command: the command
 * @source: files of -f
 * @flame: file of --flame
 * @vmlinux: file of -k
 * @modules: directories of -m
 * @module_dirs: how many
 * @sources: number of files of -f
 * @instance: of --instance, 0: the default one
 * @save_to: save, report: the file to write
 * @output: of -o
 * @prefix: of --prefix
 * @text: decode: the file to read, or NULL
 * @word: snoop, count: functions or patterns; diff: two files, or one; NULL: none
 * @context: popt's, of the options before the command
 * @context_after: popt's, of the options after the command
 * @rest: arguments after the command
 * @after: the command and these
 * @given: bits of enum option
 * @number: of -n
 * @interval: of -i, ns
 * @duration: of -D, ns
 * @top: of --top
 * @filter: what chooses among events
 */
struct args {
	enum command command;
	char **source, *flame, *vmlinux, **modules, *output, *prefix;
	unsigned int sources, module_dirs;
	u64 instance;
	const char *save_to, *text;
	const char **word;
	poptContext context, context_after;
	const char **rest, **after;
	u64 given;
	u64 number, interval, duration, top;
	struct filter filter;
};

/* Read the command line; end the program with one line where it makes no sense */
void args_read(struct args *a, int argc, const char **argv);
void args_free(struct args *a);

/* End the program if --since is later than --until */
void args_check_times(const struct filter *f);

/* Does the command watch functions? */
bool args_watch(const struct args *a);

/* Is it about the running kernel, not about a source that was named? */
bool args_live(const struct args *a);

#endif
