// SPDX-License-Identifier: GPL-2.0
/*
 * main.c - stackbuf: read the flight recorder of kernel call stacks
 */
#include <popt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "symbol/decode.h"
#include "output/depth.h"
#include "record/filter.h"
#include "output/flame.h"
#include "live/follow.h"
#include "output/output.h"
#include "output/pprof.h"
#include "record/duplicates.h"
#include "output/snapshot.h"
#include "input/source.h"
#include "symbol/symbols.h"
#include "live/watch.h"

#ifndef VERSION
#define VERSION "unknown"
#endif

#define EXIT_USAGE	2

/* How often to read again when totals were spoilt by what was overwritten */
#define COUNT_TRIES	5

enum command { INFO, TEXT, LOG, COUNT, SNOOP, DEPTH, SAVE, DECODE, COMMANDS };

#define BIT(n)	(1ULL << (n))

static const char *const command_name[COMMANDS] = {
	"info", "text", "log", "count", "snoop", "depth", "save", "decode"
};

/* Options, in the order of option_list[], then of watch_list[] */
enum option {
	OPT_NONE, OPT_FILE, OPT_INSTANCE, OPT_PID, OPT_COMM, OPT_CPU, OPT_TAG, OPT_SINCE,
	OPT_UNTIL, OPT_STACK, OPT_LAST, OPT_TOP, OPT_PERCENT, OPT_FOLDED, OPT_JSON, OPT_PERF,
	OPT_PPROF, OPT_FLAME,
	OPT_WALL, OPT_FOLLOW, OPT_LINES, OPT_VMLINUX, OPT_MODULES, OPT_FORCE, OPT_COMPAT,
	OPT_HELP, OPT_VERSION,
	OPT_NUMBER, OPT_INTERVAL, OPT_DURATION, OPT_TIMESTAMP, OPT_REGEXP, OPT_OFFSET,
	OPT_PERPID, OPT_VERBOSE, OPT_DELIMITED,
	OPTIONS
};

static_assert(OPTIONS <= 64, "an option is a bit of a u64");

/* Which commands an option is for */
static const u64 option_for[OPTIONS] = {
	[OPT_FILE]	= ~BIT(DECODE),
	[OPT_INSTANCE]	= ~BIT(DECODE),
	[OPT_PID]	= BIT(LOG) | BIT(COUNT) | BIT(SNOOP),
	[OPT_COMM]	= BIT(LOG) | BIT(COUNT) | BIT(SNOOP),
	[OPT_CPU]	= BIT(LOG) | BIT(COUNT) | BIT(SNOOP),
	[OPT_TAG]	= BIT(LOG) | BIT(COUNT) | BIT(SNOOP),
	[OPT_SINCE]	= BIT(LOG) | BIT(COUNT) | BIT(SNOOP),
	[OPT_UNTIL]	= BIT(LOG) | BIT(COUNT) | BIT(SNOOP),
	[OPT_STACK]	= BIT(LOG) | BIT(COUNT) | BIT(TEXT) | BIT(SNOOP),
	[OPT_LAST]	= BIT(LOG) | BIT(COUNT) | BIT(SNOOP),
	[OPT_TOP]	= BIT(COUNT),
	[OPT_PERCENT]	= BIT(COUNT),
	[OPT_FOLDED]	= BIT(LOG) | BIT(COUNT),
	[OPT_JSON]	= BIT(LOG) | BIT(COUNT) | BIT(INFO) | BIT(DEPTH) | BIT(SNOOP),
	[OPT_PERF]	= BIT(LOG),
	[OPT_PPROF]	= BIT(LOG) | BIT(COUNT),
	[OPT_FLAME]	= BIT(LOG) | BIT(COUNT),
	[OPT_WALL]	= BIT(LOG),
	[OPT_FOLLOW]	= BIT(LOG),
	[OPT_LINES]	= BIT(LOG) | BIT(COUNT) | BIT(TEXT),
	[OPT_VMLINUX]	= BIT(LOG) | BIT(COUNT) | BIT(TEXT) | BIT(DECODE),
	[OPT_MODULES]	= BIT(LOG) | BIT(COUNT) | BIT(TEXT) | BIT(DECODE),
	[OPT_FORCE]	= BIT(LOG) | BIT(COUNT) | BIT(TEXT) | BIT(DECODE),
	[OPT_COMPAT]	= BIT(DECODE),
	[OPT_NUMBER]	= BIT(SNOOP),
	[OPT_INTERVAL]	= BIT(COUNT),
	[OPT_DURATION]	= BIT(COUNT) | BIT(SNOOP),
	[OPT_TIMESTAMP]	= BIT(COUNT),
	[OPT_REGEXP]	= BIT(COUNT),
	[OPT_OFFSET]	= BIT(COUNT) | BIT(SNOOP),
	[OPT_PERPID]	= BIT(COUNT),
	[OPT_VERBOSE]	= BIT(COUNT) | BIT(SNOOP),
	[OPT_DELIMITED]	= BIT(COUNT),
};

/* Those that "count" takes with a PATTERN only */
#define FOR_PATTERN	(BIT(OPT_INTERVAL) | BIT(OPT_DURATION) | BIT(OPT_TIMESTAMP) | \
			 BIT(OPT_REGEXP) | BIT(OPT_OFFSET) | BIT(OPT_PERPID) | \
			 BIT(OPT_VERBOSE) | BIT(OPT_DELIMITED))

/* Those that may be given several times: an event meets one of the values */
#define FOR_LISTS	(BIT(OPT_PID) | BIT(OPT_COMM) | BIT(OPT_CPU) | BIT(OPT_TAG) | \
			 BIT(OPT_STACK))

/* Those that choose among events of the past */
#define FOR_PAST	(BIT(OPT_SINCE) | BIT(OPT_UNTIL) | BIT(OPT_STACK) | BIT(OPT_LAST))

static struct poptOption option_list[] = {
	{ "file", 'f', POPT_ARG_STRING, NULL, OPT_FILE,
	  "read SOURCE, not the running kernel: a dump, a RAM image (several: -f FILE[@ADDRESS] -f ...), a snapshot, or a directory with the files text, info, events and stacks",
	  "SOURCE" },
	{ "instance", '\0', POPT_ARG_STRING, NULL, OPT_INSTANCE,
	  "of several loads of the module the one that \"info\" lists as ID", "ID" },
	{ "pid", '\0', POPT_ARG_STRING, NULL, OPT_PID,
	  "only events of these threads or processes, as 1 or 1,5-9", "ID" },
	{ "comm", '\0', POPT_ARG_STRING, NULL, OPT_COMM,
	  "only events of this command; *, ? and [] match; several: --comm NAME --comm ...",
	  "NAME" },
	{ "cpu", '\0', POPT_ARG_STRING, NULL, OPT_CPU,
	  "only events of these CPUs, as 1 or 0,2-3", "N" },
	{ "tag", '\0', POPT_ARG_STRING, NULL, OPT_TAG,
	  "only events with these tags, as 123 or 0xff,0x200-0x2ff", "NUMBER" },
	{ "since", '\0', POPT_ARG_STRING, NULL, OPT_SINCE,
	  "only events from then on: seconds since boot, as 618.05; -10s, -5m, -2h: before the newest event; 14:03:05 or '2026-11-22 14:03'",
	  "TIME" },
	{ "until", '\0', POPT_ARG_STRING, NULL, OPT_UNTIL, "only events up to then", "TIME" },
	{ "stack", '\0', POPT_ARG_STRING, NULL, OPT_STACK, "only these stacks, as 1 or 1,5-9",
	  "ID" },
	{ "last", '\0', POPT_ARG_STRING, NULL, OPT_LAST, "only the newest N of the events chosen",
	  "N" },
	{ "top", '\0', POPT_ARG_STRING, NULL, OPT_TOP, "only the N most frequent stacks", "N" },
	{ "percent", '\0', POPT_ARG_NONE, NULL, OPT_PERCENT,
	  "totals also as percentages of all events counted", NULL },
	{ "folded", '\0', POPT_ARG_NONE, NULL, OPT_FOLDED, "one line a stack, for flame graphs",
	  NULL },
	{ "json", '\0', POPT_ARG_NONE, NULL, OPT_JSON, "one JSON object a line", NULL },
	{ "perf", '\0', POPT_ARG_NONE, NULL, OPT_PERF, "as \"perf script\" prints", NULL },
	{ "pprof", '\0', POPT_ARG_NONE, NULL, OPT_PPROF, "a profile for pprof, gzipped", NULL },
	{ "flame", '\0', POPT_ARG_STRING, NULL, OPT_FLAME,
	  "write a flame graph, to be opened in a browser", "FILE.svg" },
	{ "wall", '\0', POPT_ARG_NONE, NULL, OPT_WALL, "times of day instead of seconds since boot",
	  NULL },
	{ "follow", '\0', POPT_ARG_NONE, NULL, OPT_FOLLOW, "go on with events as they are recorded",
	  NULL },
	{ "lines", '\0', POPT_ARG_NONE, NULL, OPT_LINES,
	  "source lines, from the kernel's debug information", NULL },
	{ "vmlinux", 'k', POPT_ARG_STRING, NULL, OPT_VMLINUX,
	  "the kernel's image with debug information", "FILE" },
	{ "modules", 'm', POPT_ARG_STRING, NULL, OPT_MODULES,
	  "where the modules are, with debug information", "DIR" },
	{ "force", '\0', POPT_ARG_NONE, NULL, OPT_FORCE,
	  "take vmlinux and modules of another build", NULL },
	{ "compat", '\0', POPT_ARG_NONE, NULL, OPT_COMPAT, "as decode_stacktrace.sh writes it",
	  NULL },
	{ "help", 'h', POPT_ARG_NONE, NULL, OPT_HELP, "show this help", NULL },
	{ "version", '\0', POPT_ARG_NONE, NULL, OPT_VERSION, "show the version", NULL },
	POPT_TABLEEND
};

/* Options of stacksnoop and stackcount, which "snoop" and "count" take behind their name */
static struct poptOption watch_list[] = {
	{ "number", 'n', POPT_ARG_STRING, NULL, OPT_NUMBER, "end after N events", "N" },
	{ "interval", 'i', POPT_ARG_STRING, NULL, OPT_INTERVAL,
	  "print totals every so many seconds", "SECONDS" },
	{ "duration", 'D', POPT_ARG_STRING, NULL, OPT_DURATION, "end after so many seconds",
	  "SECONDS" },
	{ "timestamp", 'T', POPT_ARG_NONE, NULL, OPT_TIMESTAMP,
	  "the time of day above the totals", NULL },
	{ "regexp", 'r', POPT_ARG_NONE, NULL, OPT_REGEXP,
	  "patterns are extended regular expressions", NULL },
	{ "offset", 's', POPT_ARG_NONE, NULL, OPT_OFFSET,
	  "frames with their distance from the function's beginning", NULL },
	{ "perpid", 'P', POPT_ARG_NONE, NULL, OPT_PERPID, "each process by itself", NULL },
	{ "verbose", 'v', POPT_ARG_NONE, NULL, OPT_VERBOSE,
	  "snoop: command, process and CPU; count: addresses", NULL },
	{ "delimited", 'd', POPT_ARG_NONE, NULL, OPT_DELIMITED,
	  "no effect: there is no user stack to delimit", NULL },
	{ "pid", 'p', POPT_ARG_STRING, NULL, OPT_PID, "only this process", "PID" },
	{ "cpu", 'c', POPT_ARG_STRING, NULL, OPT_CPU, "only this CPU", "CPU" },
	POPT_TABLEEND
};

/* For "count" alone; before "count", -f is the source */
static struct poptOption folded_list[] = {
	{ "folded", 'f', POPT_ARG_NONE, NULL, OPT_FOLDED, "one line a stack, for flame graphs",
	  NULL },
	POPT_TABLEEND
};

static const char *option_name(int option)
{
	return option < OPT_NUMBER ? option_list[option - 1].longName :
				     watch_list[option - OPT_NUMBER].longName;
}

struct args {
	enum command command;
	char **source, *flame, *vmlinux, *modules;
	unsigned int sources;
	u64 instance;		/* 0: the default */
	const char *save_to, *text;
	const char **word;	/* functions or patterns; NULL: none */
	poptContext context, context_behind;
	const char **rest, **behind;	/* arguments behind the command */
	u64 given;	/* bits of enum option */
	u64 number, interval, duration, top;
	struct filter filter;
};

/* One command's options: those that it takes, each once */
static void help_command(const struct args *a)
{
	static const char *const words[COMMANDS] = {
		[SAVE] = " FILE", [DECODE] = " [FILE]", [SNOOP] = " FUNCTION...", [COUNT] = " [PATTERN...]"
	};
	const struct poptOption *const list[] = {
		a->command == COUNT ? folded_list : option_list, watch_list, option_list
	};
	struct poptOption shown[OPTIONS + 1] = { 0 };
	unsigned int i, n = 0;
	u64 seen = 0;
	const struct poptOption *o;
	char usage[64], name[32];
	const char *argv[2] = { name };
	poptContext context;

	for (i = a->command == COUNT ? 0 : a->command == SNOOP ? 1 : 2; i < 3; i++)
		for (o = list[i]; o->val; o++) {
			if (seen & BIT(o->val) ||
			    (o->val != OPT_HELP && !(option_for[o->val] & BIT(a->command))))
				continue;
			seen |= BIT(o->val);
			shown[n] = *o;
			if (o->val == OPT_FILE && a->command == COUNT)
				shown[n].shortName = '\0';
			n++;
		}
	snprintf(name, sizeof(name), "stackbuf %s", command_name[a->command]);
	snprintf(usage, sizeof(usage), "[OPTION...]%s", words[a->command] ?: "");
	context = poptGetContext(name, 1, argv, shown, 0);
	poptSetOtherOptionHelp(context, usage);
	poptPrintHelp(context, stdout, 0);
	poptFreeContext(context);
	if (a->command == COUNT)
		puts("\n"
		     "Without a PATTERN: totals of all that was recorded.  With one, as bcc's stackcount:\n"
		     "  stackbuf count submit_bio         who called it, how often, until Ctrl-C\n"
		     "  stackbuf count -i 5 -T 'tcp_*'    functions that match, every 5 seconds\n"
		     "  stackbuf count -f -D 10 dput      10 seconds, for a flame graph\n"
		     "  stackbuf -f FILE count dput       of what FILE has recorded: no probe is set");
	if (a->command == SNOOP)
		puts("\n"
		     "As bcc's stacksnoop:\n"
		     "  stackbuf snoop submit_bio         each call with its stack, until Ctrl-C\n"
		     "  stackbuf snoop -v -n 5 -p 1234 vfs_read\n"
		     "  stackbuf snoop kfree@arg1         its first argument, too\n"
		     "  stackbuf -f FILE snoop vfs_read   of what FILE has recorded: no probe is set");
	puts("\nSee stackbuf(8).");
}

static void help(poptContext context, const struct args *a)
{
	if (a->context_behind) {
		help_command(a);
		return;
	}
	poptSetOtherOptionHelp(context,
			       "[OPTION...] info | text | log | count | depth | snoop FUNCTION... | count PATTERN... | save FILE | decode [FILE]");
	poptPrintHelp(context, stdout, 0);
	puts("\n"
	     "Commands:\n"
	     "  info                state, sizes and counters of the recorder\n"
	     "  text                the text log: every stack once, when it was first seen\n"
	     "  log                 every event in the ring, in order of time\n"
	     "  count               every distinct stack with its total, least frequent first\n"
	     "  depth               the deepest stack seen from each place, frame by frame\n"
	     "  snoop FUNCTION...   probe functions, and print each call with its stack\n"
	     "  count PATTERN...    probe functions, and print their stacks' totals at the end\n"
	     "  save FILE           write all of it into a snapshot, to be read with -f FILE\n"
	     "  decode [FILE]       copy text that holds stack traces, as dmesg's, with source lines\n"
	     "\n"
	     "stackbuf snoop -h and stackbuf count -h show the options of these two.\n"
	     "See stackbuf(8).");
}

static void take_option(struct args *a, int option, char *value)
{
	const char *must;

	if (option == OPT_FILE) {
		a->given |= BIT(option);
		a->source = xrealloc(a->source, a->sources + 1, sizeof(*a->source));
		a->source[a->sources++] = value;
		return;
	}
	if (a->given & BIT(option) & ~FOR_LISTS) {
		free(value);
		die(EXIT_USAGE, "--%s is given twice", option_name(option));
	}
	a->given |= BIT(option);
	if (option == OPT_FLAME)
		a->flame = value;
	else if (option == OPT_VMLINUX)
		a->vmlinux = value;
	else if (option == OPT_MODULES)
		a->modules = value;
	if (!value || BIT(option) & (BIT(OPT_FLAME) | BIT(OPT_VMLINUX) | BIT(OPT_MODULES)))
		return;
	if (option == OPT_INSTANCE) {
		char *end;

		a->instance = strtoull(value, &end, 16);
		if (!a->instance || *end || *value == '-')
			die(EXIT_USAGE,
			    "--instance %s: must be the hexadecimal number that \"info\" shows",
			    value);
		free(value);
		return;
	}
	if (option == OPT_NUMBER)
		must = filter_number(value, &a->number);
	else if (option == OPT_TOP)
		must = filter_number(value, &a->top) ? "a number of stacks, at least 1" : NULL;
	else if (option == OPT_INTERVAL)
		must = filter_seconds(value, &a->interval);
	else if (option == OPT_DURATION)
		must = filter_seconds(value, &a->duration);
	else
		must = filter_set(&a->filter, option_name(option), value);
	if (must)
		die(EXIT_USAGE, "--%s %s: must be %s", option_name(option), value, must);
	free(value);
}

/* Does it watch functions; and does it set probes to do so? */
static bool watches(const struct args *a)
{
	return a->command == SNOOP || (a->command == COUNT && a->word);
}

static bool live(const struct args *a)
{
	const char *parameters = getenv("STACKBUF_PARAMETERS");

	return !a->source || (parameters && *parameters);
}

static void check_times(const struct filter *f)
{
	if (f->has_since && f->has_until && f->since > f->until)
		die(EXIT_USAGE, "--since is later than --until: no event can be both");
}

/* The module's filters take one value each */
static void check_single(const struct filter *f)
{
	u32 value;

	if ((f->pid.nr && !filter_single(&f->pid, &value)) ||
	    (f->cpu.nr && !filter_single(&f->cpu, &value)) || f->comms > 1)
		die(EXIT_USAGE, "--pid, --cpu, --comm: the kernel filters by one value of each; read what was recorded (log, or -f) to choose several");
}

static void check_args(const struct args *a)
{
	u64 formats = a->given & (BIT(OPT_FOLDED) | BIT(OPT_JSON) | BIT(OPT_PERF) |
					      BIT(OPT_PPROF) | BIT(OPT_FLAME));
	const u64 sums = BIT(OPT_FOLDED) | BIT(OPT_PPROF) | BIT(OPT_FLAME);
	unsigned int i;

	for (i = OPT_FILE; i < OPTIONS; i++) {
		if (!(a->given & BIT(i)))
			continue;
		if (!(option_for[i] & BIT(a->command)))
			die(EXIT_USAGE, "--%s is not for \"%s\" (see stackbuf --help)",
			    option_name(i), command_name[a->command]);
		if (a->command == COUNT && !a->word && FOR_PATTERN & BIT(i))
			die(EXIT_USAGE, "count --%s: a PATTERN is missing (see stackbuf count -h)",
			    option_name(i));
		if (a->command == COUNT && a->word &&
		    BIT(i) & (BIT(OPT_PPROF) | BIT(OPT_FLAME) | BIT(OPT_LINES)))
			die(EXIT_USAGE, "--%s is not for \"count PATTERN\"", option_name(i));
		if (watches(a) && live(a) && FOR_PAST & BIT(i))
			die(EXIT_USAGE,
			    "--%s chooses among what was recorded: name a source with -f before \"%s\"",
			    option_name(i), command_name[a->command]);
		if (watches(a) && live(a) && i == OPT_TAG && a->command == COUNT)
			die(EXIT_USAGE,
			    "--tag: totals are not kept by tag: stackbuf snoop has the events");
		if (watches(a) && !live(a) && (i == OPT_INTERVAL || i == OPT_DURATION))
			die(EXIT_USAGE, "--%s: a source that was named (-f) is read once",
			    option_name(i));
	}
	if (a->command == SNOOP && !a->word)
		die(EXIT_USAGE, "snoop: a FUNCTION is missing (see stackbuf snoop -h)");
	if (formats & (formats - 1))
		die(EXIT_USAGE,
		    "only one of --folded, --json, --perf, --pprof and --flame can be had at a time");
	for (i = OPT_FILE; i < OPT_HELP; i++)
		if (a->given & BIT(OPT_FOLLOW) && a->given & BIT(i) & sums)
			die(EXIT_USAGE, "--%s adds up, so it can't --follow",
			    option_list[i - 1].longName);
	if (a->given & BIT(OPT_TOP) && formats & (BIT(OPT_PPROF) | BIT(OPT_FLAME)))
		die(EXIT_USAGE, "--top is for text, --folded and --json: a profile or graph shows all");
	if (a->given & BIT(OPT_PERCENT) && formats & ~BIT(OPT_JSON))
		die(EXIT_USAGE, "--percent is for text and --json");
	if (a->given & BIT(OPT_WALL) && a->given & BIT(OPT_PERF))
		die(EXIT_USAGE, "--perf has no times of day: its readers take seconds, without --wall");
	if (a->given & BIT(OPT_LINES) && formats & ~BIT(OPT_JSON))
		die(EXIT_USAGE, "--lines is for plain text and --json");
	if (a->command != DECODE && !(a->given & BIT(OPT_LINES)))
		for (i = OPT_VMLINUX; i <= OPT_FORCE; i++)
			if (a->given & BIT(i))
				die(EXIT_USAGE, "--%s needs --lines", option_list[i - 1].longName);
	if (a->modules && access(a->modules, X_OK))
		die(1, "-m %s: %m", a->modules);
	check_times(&a->filter);
	if (watches(a) && live(a))
		check_single(&a->filter);
}

static void read_options(struct args *a, poptContext context)
{
	int option;

	while ((option = poptGetNextOpt(context)) > 0) {
		if (option == OPT_HELP) {
			help(context, a);
			exit(0);
		}
		if (option == OPT_VERSION) {
			printf("stackbuf %s, memory format %u\n", VERSION, STACKBUF_VERSION);
			exit(0);
		}
		take_option(a, option, poptGetOptArg(context));
	}
	if (option < -1)
		die(EXIT_USAGE, "%s: %s (see stackbuf --help)",
		    poptBadOption(context, POPT_BADOPTION_NOALIAS), poptStrerror(option));
}

/*
 * What stands before the command is for all commands; what stands behind it may
 * be its own, as -f, which is the source for all but "count".
 */
static void read_args(struct args *a, int argc, const char **argv)
{
	static struct poptOption options[4];	/* the last one ends it */
	struct poptOption *next = options;
	const char *word;
	int n = 0;

	a->context = poptGetContext("stackbuf", argc, argv, option_list,
				    POPT_CONTEXT_POSIXMEHARDER);
	read_options(a, a->context);
	word = poptGetArg(a->context);
	if (!word)
		die(EXIT_USAGE,
		    "a command is missing: info, text, log, count, snoop, depth, save or decode (see stackbuf --help)");
	for (a->command = 0; a->command < COMMANDS; a->command++)
		if (!strcmp(word, command_name[a->command]))
			break;
	if (a->command == COMMANDS)
		die(EXIT_USAGE,
		    "%s: no such command; there are info, text, log, count, snoop, depth, save and decode",
		    word);

	/* The command takes the program's place in front of what follows it */
	a->rest = poptGetArgs(a->context);
	while (a->rest && a->rest[n])
		n++;
	a->behind = xcalloc(n + 2, sizeof(*a->behind));
	a->behind[0] = word;
	if (n)
		memcpy(a->behind + 1, a->rest, n * sizeof(*a->behind));
	if (a->command == COUNT)
		*next++ = (struct poptOption){ .argInfo = POPT_ARG_INCLUDE_TABLE,
					       .arg = folded_list };
	if (a->command == COUNT || a->command == SNOOP)
		*next++ = (struct poptOption){ .argInfo = POPT_ARG_INCLUDE_TABLE,
					       .arg = watch_list };
	*next++ = (struct poptOption){ .argInfo = POPT_ARG_INCLUDE_TABLE, .arg = option_list };
	a->context_behind = poptGetContext("stackbuf", n + 1, a->behind, options, 0);
	read_options(a, a->context_behind);
	if (a->command == COUNT || a->command == SNOOP)
		a->word = poptGetArgs(a->context_behind);
	if (a->command == SAVE) {
		a->save_to = poptGetArg(a->context_behind);
		if (!a->save_to || !*a->save_to)
			die(EXIT_USAGE, "save: the name of a file is missing");
	}
	if (a->command == DECODE)
		a->text = poptGetArg(a->context_behind);
	word = a->word ? NULL : poptGetArg(a->context_behind);
	if (word)
		die(EXIT_USAGE, "%s: one argument too many (see stackbuf --help)", word);
	check_args(a);
}

static void free_args(struct args *a)
{
	while (a->sources)
		free(a->source[--a->sources]);
	free(a->source);
	filter_free(&a->filter);
	free(a->flame);
	free(a->vmlinux);
	free(a->modules);
	free(a->behind);
	poptFreeContext(a->context_behind);
	poptFreeContext(a->context);
}

/* Everything that was read, and from where */
struct session {
	struct source source;
	struct page_set set;
	struct instance *instance;	/* newest first */
	size_t instances;
	const struct instance *chosen;
	struct record record;
	struct event_choice choice;		/* without @wanted: all events */
	struct symbols symbols;
};

static void choose_instance(struct session *r, u64 wanted)
{
	const struct instance *chosen = NULL;
	size_t i;

	if (!wanted)
		chosen = instance_default(r->instance, r->instances);
	for (i = 0; i < r->instances && wanted; i++)
		if (r->instance[i].id == wanted)
			chosen = &r->instance[i];
	if (!chosen)
		die(1, "%s: holds no instance %llx; \"stackbuf info\" lists those that it holds",
		    r->source.name, wanted);
	r->chosen = chosen;
}

static void load(struct session *r, struct args *a)
{
	const char *wrong;

	record_free(&r->record);
	page_set_clear(&r->set);
	free(r->instance);
	r->instance = NULL;
	if (r->source.ops->load(&r->source, &r->set))
		die(1, "%s", r->source.error);
	r->instances = page_set_instances(&r->set, &r->instance);
	choose_instance(r, a->instance);
	if (r->source.ops->fetch && r->source.ops->fetch(&r->source, &r->set, r->chosen->id))
		die(1, "%s", r->source.error);
	record_parse_chosen(&r->record, &r->set, r->chosen->id, r->choice.wanted ? &r->choice : NULL);
	duplicates_merge(&r->record);
	wrong = filter_resolve(&a->filter, &r->record);
	if (wrong)
		die(1, "%s: %s", r->source.name, wrong);
	check_times(&a->filter);
}

static bool wanted(const void *arg, const struct event *e)
{
	return filter_match(arg, e);
}

/*
 * Events that no output will show need not be kept.  What --stack and times that depend on
 * the record choose is known only afterwards, and --last counts events that match a PATTERN:
 * these are left to the commands.
 */
static void choose_events(struct session *r, const struct args *a)
{
	if (!filter_events(&a->filter) || filter_needs_record(&a->filter) ||
	    a->given & BIT(OPT_FOLLOW))
		return;
	r->choice.wanted = wanted;
	r->choice.arg = &a->filter;
	r->choice.last = a->filter.has_last && !a->word ? a->filter.last : 0;
}

static void note(u64 n, const char *one, const char *many)
{
	if (n)
		fprintf(stderr, "stackbuf: %llu %s\n", n, n == 1 ? one : many);
}

/* What is wrong with the dump as a whole, and which of its recordings this is */
static void report_source(const struct session *r)
{
	if (r->set.cut)
		fprintf(stderr, "stackbuf: %s is cut: %llu bytes or more are missing at its end\n",
			r->source.name, r->set.cut);
	note(r->set.unreadable, "page of it cannot be read", "pages of it cannot be read");
	note(r->set.left_out, "page is one too many and was not looked at",
	     "pages are too many and were not looked at");
	if (r->instances > 1)
		fprintf(stderr,
			"stackbuf: this is instance %016llx%s; %zu more in %s: see info and --instance\n",
			r->chosen->id, r->chosen == r->instance ? ", the newest" : "",
			r->instances - 1, r->source.name);
}

/* What is not in the output, and why */
static void report_missing(const struct session *r)
{
	const struct record *rec = &r->record;

	report_source(r);
	note((u64)rec->missing[ARRAY_INFO] + rec->missing[ARRAY_EVENTS] +
		     rec->missing[ARRAY_STACKS] + rec->missing[ARRAY_TEXT],
	     "page is missing", "pages are missing");
	note(rec->outlived, "page of these is there as an old copy, and is left out",
	     "pages of these are there as old copies, and are left out");
	note(r->set.changed, "page of events was overwritten while it was read and is left out",
	     "pages of events were overwritten while they were read and are left out");
	note(r->set.changed_text, "page of text was overwritten while it was read and is left out",
	     "pages of text were overwritten while they were read and are left out");
	note(rec->rebuilt, "page was about to be reused: its events are only counted",
	     "pages were about to be reused: their events are only counted");
	note(rec->damaged, "page of events is damaged: what follows the damage is left out",
	     "pages of events are damaged: what follows the damage is left out");
	note(rec->half, "event was half written and is left out",
	     "events were half written and are left out");
	if (!rec->have_info)
		fputs("stackbuf: the page of stackbuf_info is missing or damaged\n", stderr);
}

/* Formats that are a file of their own.  @event is NULL for totals.  False: another format */
static bool other_file(const struct output *o, const struct args *a, const struct event *event,
		       size_t nr)
{
	char error[512];

	if (o->format == FORMAT_PPROF && pprof_write(o, &a->filter, event, nr))
		die(1, "cannot write: %m");
	if (o->format == FORMAT_FLAME &&
	    flame_write(o, &a->filter, event, nr, a->flame, error, sizeof(error)))
		die(1, "%s", error);
	return o->format == FORMAT_PPROF || o->format == FORMAT_FLAME;
}

/* Totals are what the table counted and what is in the ring, if nothing moved from here to there */
static void count(struct session *r, const struct output *o, struct args *a)
{
	struct record *rec = &r->record;
	bool events = filter_events(&a->filter);
	struct stack *stack;
	unsigned int tries;
	u64 unsure, lacking;
	size_t nr, i;

	for (tries = 1;
	     tries < COUNT_TRIES && r->source.ops->read && (r->set.changed || rec->rebuilt);
	     tries++)
		load(r, a);
	report_missing(r);
	if (events) {
		fputs("stackbuf: only events that are still in the ring are counted, as the filter needs to see them\n",
		      stderr);
		nr = filter_apply(&a->filter, rec->event, rec->events);
		if (other_file(o, a, rec->event ?: &(struct event){ 0 }, nr))
			return;
		/* An array even if it is empty: NULL would mean all that was ever counted */
		output_count(o, &a->filter, nr ? rec->event : &(struct event){ 0 }, nr);
		return;
	}
	unsure = (u64)(r->set.changed + rec->rebuilt) * PAGE_EVENTS_MAX + rec->half;
	if (unsure)
		fprintf(stderr,
			"stackbuf: totals may be too small, all together by at most %llu events\n",
			unsure);
	/* What was overwritten was added to the counts of stacks */
	lacking = rec->info.overwritten - rec->info.evicted_events;
	for (i = 0; (stack = stacks_next(&rec->stacks, &i)) && lacking; )
		lacking -= stack->count < lacking ? stack->count : lacking;
	if (rec->have_info && !r->source.ops->read && lacking && lacking <= rec->info.overwritten)
		fprintf(stderr,
			"stackbuf: totals are too small, all together by %llu events: pages of stacks are missing, or there as old copies\n",
			lacking);
	if (rec->info.evicted_events)
		fprintf(stderr,
			"stackbuf: %llu events are in no total: their %llu stacks had to make room\n",
			rec->info.evicted_events, rec->info.evicted);
	if (!other_file(o, a, NULL, 0))
		output_count(o, &a->filter, NULL, 0);
}

static void show_log(struct session *r, struct output *o, const struct args *a)
{
	struct record *rec = &r->record;
	size_t i, nr;

	if (a->given & BIT(OPT_FOLLOW)) {
		/* Of a copy of the arrays no event ever comes */
		if (!r->source.ops->read || !(r->source.live || live(a)))
			die(1, "%s: does not grow, so there is nothing to follow", r->source.name);
		if (!rec->have_info)
			die(1, "%s: the page of stackbuf_info is missing or damaged",
			    r->source.name);
		if (follow_events(&r->source, o, &a->filter, NULL))
			die(1, "%s", r->source.error);
		return;
	}
	report_missing(r);
	nr = filter_apply(&a->filter, rec->event, rec->events);
	if (other_file(o, a, rec->event ?: &(struct event){ 0 }, nr))
		return;
	if (o->format == FORMAT_FOLDED) {
		output_folded(o, rec->event, nr);
		return;
	}
	output_head(o);
	for (i = 0; i < nr; i++)
		output_event(o, &rec->event[i]);
}

/* What is to be watched; ends the program if that makes no sense */
static void prepare_watch(struct watch *w, const struct args *a)
{
	size_t i;

	for (i = 0; a->word[i]; i++)
		if (patterns_add(&w->patterns, a->word[i], a->given & BIT(OPT_REGEXP), w->error,
				 sizeof(w->error)))
			die(EXIT_USAGE, "%s", w->error);
	w->filter = &a->filter;
	w->live = live(a);
	w->number = a->number;
	w->interval = a->interval;
	w->duration = a->duration;
	w->offsets = a->given & BIT(OPT_OFFSET);
	w->verbose = a->given & BIT(OPT_VERBOSE);
	w->per_process = a->given & BIT(OPT_PERPID);
	w->folded = a->given & BIT(OPT_FOLDED);
	w->timestamp = a->given & BIT(OPT_TIMESTAMP);
	if (w->live && probes_load_module(&w->probes))
		die(1, "%s", w->probes.error);
}

static void run(struct session *r, struct output *o, struct args *a, struct watch *w)
{
	char error[512];

	if (watches(a)) {
		w->source = &r->source;
		w->o = o;
		if (w->live && !r->record.have_info)
			die(1, "%s: the page of stackbuf_info is missing or damaged",
			    r->source.name);
		if (!w->live)
			report_missing(r);
		if (a->command == SNOOP ? snoop_run(w) : stackcount_run(w))
			die(1, "%s", w->error);
		patterns_free(&w->patterns);
		return;
	}

	switch (a->command) {
	case INFO:
		if (!r->record.have_info)
			die(1, "%s: the page of stackbuf_info is missing or damaged",
			    r->source.name);
		output_info(o, r->source.name, &r->set, r->instance, r->instances);
		break;
	case TEXT:
		report_source(r);
		note(r->set.changed_text,
		     "page of text was overwritten while it was read and is left out",
		     "pages of text were overwritten while they were read and are left out");
		note(r->record.half_texts, "record was half written and is left out",
		     "records were half written and are left out");
		output_text(o, &a->filter);
		break;
	case LOG:
		show_log(r, o, a);
		break;
	case COUNT:
		count(r, o, a);
		break;
	case DEPTH:
		if (!r->record.have_info)
			die(1, "%s: the page of stackbuf_info is missing or damaged",
			    r->source.name);
		output_depth(o);
		break;
	case SAVE:
		report_missing(r);
		if (snapshot_write(a->save_to, &r->set, &r->record, &r->symbols, error, sizeof(error)))
			die(1, "%s", error);
		break;
	case SNOOP:
	case DECODE:
	case COMMANDS:
		break;
	}
}

/* Build ids that the source tells, besides those in the record itself */
static void add_build_ids(struct session *r)
{
	struct build_ids *ids = &r->symbols.ids;

	if (r->source.live)
		build_ids_running(ids);
	/* A dump's is that of its own kernel, not of one before */
	else if (!r->record.have_info || !strcmp(r->source.linux_release, r->record.info.release))
		build_ids_add(ids, "", r->source.linux_build_id);
}

/* Source lines for the frames of a record, which says of which kernel they are */
static struct srcline *open_lines(const struct session *r, const struct args *a)
{
	const struct stackbuf_info *info = &r->record.info;
	struct debug_config where = { .vmlinux = a->vmlinux, .modules = a->modules,
				     .ids = &r->symbols.ids,
				     .force = a->given & BIT(OPT_FORCE) };
	struct srcline *lines;

	if (r->record.have_info) {
		where.release = info->release;
		where.version = info->kernel_version;
		where.srcversion = info->module_srcversion;
		where.base_symbol = info->base_symbol;
		where.base_addr = info->base_addr;
	}
	if (!r->record.have_info && *r->source.linux_release)
		where.release = r->source.linux_release;
	lines = srcline_open(&where);
	/* Before anything is printed */
	if (r->record.stacks.nr && srcline_ready(lines))
		die(1, "%s", srcline_error(lines));
	return lines;
}

static bool at_end(FILE *f)
{
	int c = getc(f);

	if (c != EOF)
		ungetc(c, f);
	return c == EOF;
}

/* "decode": text in, text out; no record is read */
static void decode(const struct args *a)
{
	struct debug_config where = { .vmlinux = a->vmlinux, .modules = a->modules,
				     .force = a->given & BIT(OPT_FORCE) };
	struct decoder d = { .srcline = srcline_open(&where), .compat = a->given & BIT(OPT_COMPAT) };
	FILE *in = stdin;
	struct stat st;

	if (a->text && strcmp(a->text, "-"))
		in = fopen(a->text, "re");
	if (!in)
		die(1, "%s: %m", a->text);
	/* Of "dmesg -w" every line as it comes */
	if (!fstat(fileno(in), &st) && !S_ISREG(st.st_mode))
		setvbuf(stdout, NULL, _IOLBF, 0);
	/* A file that was named and is none is a mistake in the command, not in the text */
	if (a->vmlinux && !at_end(in) && srcline_ready(d.srcline))
		die(1, "%s", srcline_error(d.srcline));
	decode_file(&d, in, stdout);
	if (fflush(stdout) || ferror(stdout))
		die(1, "cannot write: %m");
	if (ferror(in))
		die(1, "%s: cannot be read", a->text ?: "standard input");
	if (srcline_report_missing(d.srcline) && !where.force)
		die(1, "most frames do not fit: the files are of another build than this text, and lines are not to be believed");
	if (d.left)
		exit(1);
	if (d.frames && !d.decoded)
		die(1, "none of %llu frames could be decoded", d.frames);
	if (in != stdin)
		fclose(in);
	srcline_close(d.srcline);
}

/* Where the probes are that the record says are set */
static void learn_probed(const struct record *r, struct output *o)
{
	struct probe probe;
	size_t i, room = 0;

	for (i = 0; i < STACKBUF_PROBES_MAX; i++) {
		if (!record_probe(r, i, &probe))
			continue;
		if (probe.addr) {
			GROW(o->probed, o->nr_probed, room);
			o->probed[o->nr_probed++] = probe.addr;
		}
		free(probe.name);
	}
}

int main(int argc, const char **argv)
{
	struct args args = { 0 };
	struct session r = { 0 };
	struct output output = { .file = stdout, .record = &r.record, .symbols = &r.symbols };
	struct watch watch = { 0 };

	read_args(&args, argc, argv);
	if (args.given & BIT(OPT_FOLDED))
		output.format = FORMAT_FOLDED;
	if (args.given & BIT(OPT_JSON))
		output.format = FORMAT_JSON;
	if (args.given & BIT(OPT_PERF))
		output.format = FORMAT_PERF;
	if (args.given & BIT(OPT_PPROF))
		output.format = FORMAT_PPROF;
	if (args.given & BIT(OPT_FLAME))
		output.format = FORMAT_FLAME;
	if (output.format == FORMAT_PPROF && isatty(STDOUT_FILENO))
		die(EXIT_USAGE, "--pprof writes no text: send it to a file");
	output.wall = args.given & BIT(OPT_WALL);
	output.percent = args.given & BIT(OPT_PERCENT);
	output.top = args.top;
	setvbuf(stdout, NULL, _IOFBF, 1 << 20);
	if (args.command == DECODE) {
		decode(&args);
		goto out;
	}

	if (watches(&args))
		prepare_watch(&watch, &args);
	if (source_open(&r.source, args.source, args.sources))
		die(1, "%s", r.source.error);
	/* For a start without delay: of the record only what is known before any event */
	choose_events(&r, &args);
	if (!watch.live)
		load(&r, &args);
	else if (source_read_info(&r.source, &r.record))
		die(1, "%s", r.source.error);
	if (output.wall && !r.record.have_info)
		die(1, "%s: --wall needs the page of stackbuf_info, which is missing",
		    r.source.name);
	symbols_init(&r.symbols, &r.record, r.source.kallsyms);
	if (args.given & BIT(OPT_LINES) || args.command == SAVE)
		add_build_ids(&r);
	learn_probed(&r.record, &output);
	if (r.source.live)
		output.probes_off = probes_off(output.probed, output.nr_probed);
	if (args.given & BIT(OPT_LINES))
		output.srcline = open_lines(&r, &args);
	run(&r, &output, &args, &watch);
	if (output.srcline) {
		srcline_report_missing(output.srcline);
		srcline_close(output.srcline);
	}
	free(output.probed);
	if (fflush(stdout) || ferror(stdout))
		die(1, "cannot write: %m");

	symbols_free(&r.symbols);
	record_free(&r.record);
	page_set_clear(&r.set);
	source_close(&r.source);
	free(r.instance);
out:
	free_args(&args);
	return 0;
}
