// SPDX-License-Identifier: GPL-2.0
/*
 * args.c - the command line: commands and options
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "args.h"
#include "stackbuf.h"

static const char *const command_name[COMMANDS] = {
	"info", "text", "log", "report", "life", "count", "snoop", "depth", "save", "diff", "metrics",
	"decode"
};

/* Commands that choose among events, and name their frames */
#define OF_EVENTS	(BIT(LOG) | BIT(REPORT) | BIT(LIFE) | BIT(COUNT) | BIT(SNOOP))

/* Which commands an option is for */
static const u64 option_for[OPTIONS] = {
	[OPT_FILE]	= ~(BIT(DECODE) | BIT(DIFF)),
	[OPT_SCAN]	= ~BIT(DECODE),
	[OPT_INSTANCE]	= ~(BIT(DECODE) | BIT(DIFF)),
	[OPT_PID]	= OF_EVENTS,
	[OPT_COMM]	= OF_EVENTS,
	[OPT_CPU]	= OF_EVENTS,
	[OPT_TAG]	= OF_EVENTS & ~BIT(LIFE),
	[OPT_SINCE]	= OF_EVENTS,
	[OPT_UNTIL]	= OF_EVENTS,
	[OPT_AROUND]	= OF_EVENTS,
	[OPT_STACK]	= (OF_EVENTS & ~BIT(LIFE)) | BIT(TEXT),
	[OPT_LAST]	= OF_EVENTS,
	[OPT_TOP]	= BIT(COUNT) | BIT(DIFF) | BIT(METRICS),
	[OPT_PERCENT]	= BIT(COUNT) | BIT(DIFF),
	[OPT_FOLDED]	= BIT(LOG) | BIT(COUNT) | BIT(SNOOP) | BIT(DIFF),
	[OPT_PREFIX]	= BIT(COUNT),
	[OPT_JSON]	= BIT(LOG) | BIT(LIFE) | BIT(COUNT) | BIT(INFO) | BIT(DEPTH) | BIT(SNOOP) |
			  BIT(DIFF),
	[OPT_PERF]	= BIT(LOG) | BIT(SNOOP),
	[OPT_PPROF]	= BIT(LOG) | BIT(COUNT) | BIT(SNOOP) | BIT(DIFF),
	[OPT_FLAME]	= BIT(LOG) | BIT(COUNT) | BIT(SNOOP) | BIT(DIFF),
	[OPT_WALL]	= BIT(LOG) | BIT(LIFE) | BIT(SNOOP),
	[OPT_FOLLOW]	= BIT(LOG),
	[OPT_LINES]	= OF_EVENTS | BIT(TEXT),
	[OPT_VMLINUX]	= OF_EVENTS | BIT(TEXT) | BIT(DECODE) | BIT(INFO),
	[OPT_MODULES]	= OF_EVENTS | BIT(TEXT) | BIT(DECODE),
	[OPT_FORCE]	= OF_EVENTS | BIT(TEXT) | BIT(DECODE) | BIT(INFO),
	[OPT_COMPAT]	= BIT(DECODE),
	[OPT_OUTPUT]	= BIT(METRICS),
	[OPT_NUMBER]	= BIT(SNOOP),
	[OPT_INTERVAL]	= BIT(COUNT),
	[OPT_DURATION]	= BIT(COUNT) | BIT(SNOOP),
	[OPT_TIMESTAMP]	= BIT(COUNT),
	[OPT_REGEXP]	= BIT(COUNT),
	[OPT_OFFSET]	= BIT(COUNT) | BIT(SNOOP),
	[OPT_PERPID]	= BIT(COUNT),
	[OPT_VERBOSE]	= BIT(COUNT) | BIT(SNOOP),
	[OPT_LIST]	= BIT(COUNT),
};

/* Those that "count" takes only with a PATTERN */
#define FOR_PATTERN	(BIT(OPT_INTERVAL) | BIT(OPT_DURATION) | BIT(OPT_TIMESTAMP) | \
			 BIT(OPT_REGEXP) | BIT(OPT_OFFSET) | BIT(OPT_PERPID) | BIT(OPT_VERBOSE))

/* Those that "count --list" takes */
#define FOR_LIST	(BIT(OPT_LIST) | BIT(OPT_REGEXP) | BIT(OPT_JSON))

/* Those that may be given several times: an event matches any of the values */
#define FOR_LISTS	(BIT(OPT_PID) | BIT(OPT_COMM) | BIT(OPT_CPU) | BIT(OPT_TAG) | \
			 BIT(OPT_STACK))

/* Those that choose among recorded events */
#define FOR_PAST	(BIT(OPT_SINCE) | BIT(OPT_UNTIL) | BIT(OPT_AROUND) | BIT(OPT_STACK) | \
			 BIT(OPT_LAST))

static struct poptOption option_list[] = {
	{ "file", 'f', POPT_ARG_STRING, NULL, OPT_FILE,
	  "read SOURCE, not the running kernel: a dump, a RAM image (several: -f FILE[@ADDRESS] -f ...), a snapshot, folded stacks, or a directory with the files text, info, events and stacks",
	  "SOURCE" },
	{ "scan", '\0', POPT_ARG_NONE, NULL, OPT_SCAN,
	  "look at every page of a dump, also where the kernel's page tables lead to the record: finds loads and boots before, too",
	  NULL },
	{ "instance", '\0', POPT_ARG_STRING, NULL, OPT_INSTANCE,
	  "of several loads of the module the one that \"info\" lists as ID", "ID" },
	{ "pid", '\0', POPT_ARG_STRING, NULL, OPT_PID,
	  "only events of these threads or processes, as 1, 1,5-9 or '!1' (the others)", "ID" },
	{ "comm", '\0', POPT_ARG_STRING, NULL, OPT_COMM,
	  "only events of this command; *, ? and [] match; several: --comm NAME --comm ...",
	  "NAME" },
	{ "cpu", '\0', POPT_ARG_STRING, NULL, OPT_CPU,
	  "only events of these CPUs, as 1 or 0,2-3", "N" },
	{ "tag", '\0', POPT_ARG_STRING, NULL, OPT_TAG,
	  "only events with these tags, as 123, 0xff,0x200-0x2ff, ADDRESS/SIZE or '!0' (the others)",
	  "NUMBER" },
	{ "since", '\0', POPT_ARG_STRING, NULL, OPT_SINCE,
	  "only events from this time on: seconds since boot, as 618.05; -500ms, -10s, -5m, -2h: before the newest event; 14:03:05 or '2026-11-22 14:03'",
	  "TIME" },
	{ "until", '\0', POPT_ARG_STRING, NULL, OPT_UNTIL, "only events up to this time", "TIME" },
	{ "around", '\0', POPT_ARG_STRING, NULL, OPT_AROUND,
	  "only events from 1 s before this time to 1 s after it, or as far as SPAN says, as 618.05,200ms",
	  "TIME[,SPAN]" },
	{ "stack", '\0', POPT_ARG_STRING, NULL, OPT_STACK, "only these stacks, as 1 or 1,5-9",
	  "ID" },
	{ "last", '\0', POPT_ARG_STRING, NULL, OPT_LAST, "only the newest N of the events chosen",
	  "N" },
	{ "top", '\0', POPT_ARG_STRING, NULL, OPT_TOP, "only the N most frequent stacks", "N" },
	{ "percent", '\0', POPT_ARG_NONE, NULL, OPT_PERCENT,
	  "totals also as percentages of all events counted", NULL },
	{ "folded", '\0', POPT_ARG_NONE, NULL, OPT_FOLDED, "one line a stack, for flame graphs",
	  NULL },
	{ "prefix", '\0', POPT_ARG_STRING, NULL, OPT_PREFIX,
	  "--folded: a frame in front of each stack, as the machine's name", "WORD" },
	{ "json", '\0', POPT_ARG_NONE, NULL, OPT_JSON, "one JSON object a line", NULL },
	{ "perf", '\0', POPT_ARG_NONE, NULL, OPT_PERF, "as \"perf script\" prints", NULL },
	{ "pprof", '\0', POPT_ARG_NONE, NULL, OPT_PPROF, "a profile for pprof, gzipped", NULL },
	{ "flame", '\0', POPT_ARG_STRING, NULL, OPT_FLAME,
	  "write a flame graph, to be opened in a browser", "FILE.svg" },
	{ "wall", '\0', POPT_ARG_NONE, NULL, OPT_WALL, "times of day instead of seconds since boot",
	  NULL },
	{ "follow", '\0', POPT_ARG_NONE, NULL, OPT_FOLLOW, "keep printing events as they are recorded",
	  NULL },
	{ "lines", '\0', POPT_ARG_NONE, NULL, OPT_LINES,
	  "source lines, from the kernel's debug information", NULL },
	{ "vmlinux", 'k', POPT_ARG_STRING, NULL, OPT_VMLINUX,
	  "the kernel's image with debug information", "FILE" },
	{ "modules", 'm', POPT_ARG_STRING, NULL, OPT_MODULES,
	  "directory of the modules with debug information; several: -m DIR -m ...", "DIR" },
	{ "force", '\0', POPT_ARG_NONE, NULL, OPT_FORCE,
	  "use vmlinux and modules even if of another build", NULL },
	{ "compat", '\0', POPT_ARG_NONE, NULL, OPT_COMPAT, "as decode_stacktrace.sh writes it",
	  NULL },
	{ "output", 'o', POPT_ARG_STRING, NULL, OPT_OUTPUT, "metrics: the file to write",
	  "FILE" },
	{ "help", 'h', POPT_ARG_NONE, NULL, OPT_HELP, "show this help", NULL },
	{ "version", '\0', POPT_ARG_NONE, NULL, OPT_VERSION, "show the version", NULL },
	POPT_TABLEEND
};

/* Options of stacksnoop and stackcount, which "snoop" and "count" take after their name */
static struct poptOption watch_list[] = {
	{ "number", 'n', POPT_ARG_STRING, NULL, OPT_NUMBER, "end after N events", "N" },
	{ "interval", 'i', POPT_ARG_STRING, NULL, OPT_INTERVAL,
	  "print totals at this interval: seconds, or with a unit: 500ms, 2m, 1h", "TIME" },
	{ "duration", 'D', POPT_ARG_STRING, NULL, OPT_DURATION,
	  "end after this time: seconds, or with a unit: 500ms, 2m, 1h", "TIME" },
	{ "timestamp", 'T', POPT_ARG_NONE, NULL, OPT_TIMESTAMP,
	  "the time of day above the totals", NULL },
	{ "regexp", 'r', POPT_ARG_NONE, NULL, OPT_REGEXP,
	  "patterns are extended regular expressions", NULL },
	{ "offset", 's', POPT_ARG_NONE, NULL, OPT_OFFSET,
	  "frames with their offset in the function", NULL },
	{ "perpid", 'P', POPT_ARG_NONE, NULL, OPT_PERPID, "count each process separately", NULL },
	{ "verbose", 'v', POPT_ARG_NONE, NULL, OPT_VERBOSE,
	  "snoop: command, process and CPU; count: addresses", NULL },
	{ "list", 'l', POPT_ARG_NONE, NULL, OPT_LIST,
	  "set no probe: list the functions that match, with their parameters (@arg1 etc.)",
	  NULL },
	{ "pid", 'p', POPT_ARG_STRING, NULL, OPT_PID, "only these processes, as 1 or 1,5-9",
	  "PID" },
	{ "cpu", 'c', POPT_ARG_STRING, NULL, OPT_CPU, "only these CPUs, as 1 or 0,2-3", "CPU" },
	POPT_TABLEEND
};

/* For "count" alone, after its name: before it, -f is the source */
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

/* Does the command take options after its name that others do not? */
static bool after_list(const struct args *a)
{
	return a->command == COUNT || a->command == SNOOP;
}

/* Print the options that the command takes, each once */
static void help_command(const struct args *a)
{
	static const char *const words[COMMANDS] = {
		[REPORT] = " FILE.html", [LIFE] = " ADDRESS[+SIZE]", [SAVE] = " FILE",
		[DIFF] = " BEFORE [AFTER]", [DECODE] = " [FILE]",
		[SNOOP] = " FUNCTION...", [COUNT] = " [PATTERN...]"
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

	for (i = a->command == COUNT ? 0 : after_list(a) ? 1 : 2; i < 3; i++)
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
		     "  stackbuf count submit_bio         its callers, and how often, until Ctrl-C\n"
		     "  stackbuf count -i 5 -T 'tcp_*'    functions that match, every 5 seconds\n"
		     "  stackbuf count -f -D 10 dput      10 seconds, for a flame graph\n"
		     "  stackbuf count -l 'vfs_*'         functions that match, and their parameters\n"
		     "  stackbuf -f FILE count dput       from the recording in FILE: no probe is set");
	if (a->command == LIFE)
		puts("\n"
		     "  stackbuf life 0xffff888003a1c000+192\n"
		     "                                    allocated, used, freed, used again, if the probes\n"
		     "                                    or the calls record its address as their tag");
	if (a->command == DIFF)
		puts("\n"
		     "  stackbuf save yesterday           a snapshot of the running kernel's record\n"
		     "  stackbuf diff yesterday           what has changed since\n"
		     "  stackbuf diff --flame diff.svg good.snapshot bad.vmcore");
	if (a->command == METRICS)
		puts("\n"
		     "  stackbuf metrics -o /var/lib/prometheus/node-exporter/stackbuf.prom");
	if (a->command == SNOOP)
		puts("\n"
		     "As bcc's stacksnoop:\n"
		     "  stackbuf snoop submit_bio         each call with its stack, until Ctrl-C\n"
		     "  stackbuf snoop -v -n 5 -p 1234 vfs_read\n"
		     "  stackbuf snoop kfree@arg1         its first argument, too\n"
		     "  stackbuf -f FILE snoop vfs_read   from the recording in FILE: no probe is set");
	puts("\nSee stackbuf(8).");
}

static void help(poptContext context, const struct args *a)
{
	if (a->context_after) {
		help_command(a);
		return;
	}
	poptSetOtherOptionHelp(context,
			       "[OPTION...] info | text | log | report FILE | life ADDRESS | count | depth | snoop FUNCTION... | count PATTERN... | save FILE | diff BEFORE [AFTER] | metrics | decode [FILE]");
	poptPrintHelp(context, stdout, 0);
	puts("\n"
	     "Commands:\n"
	     "  info                state, sizes and counters of the recorder\n"
	     "  text                the text log: every stack once, when it was first seen\n"
	     "  log                 every event in the ring, in order of time\n"
	     "  report FILE.html    a page with all that: flame graph, events over time, losses\n"
	     "  life ADDRESS[+SIZE] what happened to an object: events with tags there\n"
	     "  count               every distinct stack with its total, least frequent first\n"
	     "  depth               the deepest stack seen from each place, frame by frame\n"
	     "  snoop FUNCTION...   probe functions, and print each call with its stack\n"
	     "  count PATTERN...    probe functions, and print their stacks' totals at the end\n"
	     "  save FILE           write all of it into a snapshot, to be read with -f FILE\n"
	     "  diff BEFORE [AFTER] what changed between two sources; AFTER: or the running kernel\n"
	     "  metrics             counters for Prometheus, as node_exporter reads them\n"
	     "  decode [FILE]       add source lines to stack traces in text, as dmesg's\n"
	     "\n"
	     "stackbuf snoop -h and stackbuf count -h show the options of these two.\n"
	     "See stackbuf(8).");
}

/* Those whose value is kept as it was given */
#define KEPT	(BIT(OPT_FLAME) | BIT(OPT_VMLINUX) | BIT(OPT_OUTPUT) | BIT(OPT_PREFIX))

static void take_option(struct args *a, int option, char *value)
{
	const char *must;

	if (option == OPT_FILE) {
		a->given |= BIT(option);
		a->source = xrealloc(a->source, a->sources + 1, sizeof(*a->source));
		a->source[a->sources++] = value;
		return;
	}
	if (option == OPT_MODULES) {
		if (access(value, X_OK))
			die(1, "-m %s: %m", value);
		a->modules = xrealloc(a->modules, a->module_dirs + 1, sizeof(*a->modules));
		a->modules[a->module_dirs++] = value;
		a->given |= BIT(option);
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
	else if (option == OPT_OUTPUT)
		a->output = value;
	else if (option == OPT_PREFIX)
		a->prefix = value;
	if (!value || BIT(option) & KEPT)
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

bool args_watch(const struct args *a)
{
	return a->command == SNOOP || (a->command == COUNT && a->word);
}

bool args_live(const struct args *a)
{
	const char *parameters = getenv("STACKBUF_PARAMETERS");

	return !a->source || (parameters && *parameters);
}

void args_check_times(const struct filter *f)
{
	if (f->has_since && f->has_until && f->since > f->until)
		die(EXIT_USAGE, "--since is later than --until: no event can match both");
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
		if (a->command == COUNT && !a->word && FOR_PATTERN & BIT(i) &&
		    !(a->given & BIT(OPT_LIST)))
			die(EXIT_USAGE, "count --%s: a PATTERN is missing (see stackbuf count -h)",
			    option_name(i));
		if (args_watch(a) && args_live(a) && FOR_PAST & BIT(i))
			die(EXIT_USAGE,
			    "--%s chooses among what was recorded: name a source with -f before \"%s\"",
			    option_name(i), command_name[a->command]);
		if (args_watch(a) && !args_live(a) &&
		    (i == OPT_INTERVAL || i == OPT_DURATION))
			die(EXIT_USAGE, "--%s: a source that was named (-f) is read once",
			    option_name(i));
	}
	for (i = OPT_FILE; a->given & BIT(OPT_LIST) && i < OPTIONS; i++)
		if (a->given & BIT(i) & ~FOR_LIST)
			die(EXIT_USAGE, "--%s: --list shows the running kernel's functions, not events",
			    option_name(i));
	if (a->command == SNOOP && !a->word)
		die(EXIT_USAGE, "snoop: a FUNCTION is missing (see stackbuf snoop -h)");
	if (a->command == DIFF && !a->word)
		die(EXIT_USAGE, "diff: a file is missing: name one record, or two (see stackbuf diff -h)");
	if (a->command == DIFF && a->word[1] && a->word[2])
		die(EXIT_USAGE, "%s: one argument too many: diff takes two records", a->word[2]);
	if (formats & (formats - 1))
		die(EXIT_USAGE,
		    "use only one of --folded, --json, --perf, --pprof and --flame");
	for (i = OPT_FILE; i < OPT_HELP; i++)
		if (a->given & BIT(OPT_FOLLOW) && a->given & BIT(i) & sums)
			die(EXIT_USAGE, "--%s adds up events, so it cannot be used with --follow",
			    option_list[i - 1].longName);
	if (a->given & BIT(OPT_INTERVAL) && formats & (BIT(OPT_PPROF) | BIT(OPT_FLAME)))
		die(EXIT_USAGE, "--interval: a profile or graph is written once, at the end");
	if (a->prefix && !(a->given & BIT(OPT_FOLDED)))
		die(EXIT_USAGE, "--prefix is for --folded");
	if (a->prefix && (!*a->prefix || strpbrk(a->prefix, ";\n")))
		die(EXIT_USAGE, "--prefix: must be the name of one frame: some text without \";\"");
	if (a->given & BIT(OPT_TOP) && formats & (BIT(OPT_PPROF) | BIT(OPT_FLAME)))
		die(EXIT_USAGE, "--top is for text, --folded and --json: a profile or graph shows all");
	if (a->given & BIT(OPT_PERCENT) && formats & ~BIT(OPT_JSON))
		die(EXIT_USAGE, "--percent is for text and --json");
	if (a->given & BIT(OPT_WALL) && a->given & BIT(OPT_PERF))
		die(EXIT_USAGE, "--perf cannot be used with --wall: readers of its format expect seconds");
	if (a->given & BIT(OPT_LINES) && formats & ~BIT(OPT_JSON))
		die(EXIT_USAGE, "--lines is for plain text and --json");
	if (a->command != DECODE && a->command != INFO && !(a->given & BIT(OPT_LINES)))
		for (i = OPT_VMLINUX; i <= OPT_FORCE; i++)
			if (a->given & BIT(i))
				die(EXIT_USAGE, "--%s needs --lines", option_list[i - 1].longName);
	if (a->given & BIT(OPT_AROUND) && a->given & (BIT(OPT_SINCE) | BIT(OPT_UNTIL)))
		die(EXIT_USAGE, "--around cannot be used with --since or --until");
	args_check_times(&a->filter);
}

/* The reader's version, and that of the module that is loaded here */
static void show_version(void)
{
	char module[64] = "";
	FILE *f = fopen("/sys/module/stackbuf/version", "re");

	printf("stackbuf %s, memory format %u\n", VERSION, STACKBUF_VERSION);
	if (f && fgets(module, sizeof(module), f))
		printf("module %.*s is loaded\n", (int)strcspn(module, "\n"), module);
	else
		puts("no module is loaded");
	if (f)
		fclose(f);
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
			show_version();
			exit(0);
		}
		take_option(a, option, poptGetOptArg(context));
	}
	if (option < -1)
		die(EXIT_USAGE, "%s: %s (see stackbuf --help)",
		    poptBadOption(context, POPT_BADOPTION_NOALIAS), poptStrerror(option));
}

/* "ADDRESS+SIZE" is what "--tag ADDRESS/SIZE" chooses */
static void take_address(struct args *a, const char *word)
{
	char *tag, *plus;

	if (!word)
		die(EXIT_USAGE, "life: the ADDRESS is missing, or ADDRESS+SIZE (see stackbuf life -h)");
	tag = xstrdup(word);
	plus = strchr(tag, '+');
	if (plus)
		*plus = '/';
	if (strpbrk(word, "/,-!") || filter_set(&a->filter, "tag", tag)) {
		free(tag);
		die(EXIT_USAGE, "life %s: must be an address, as 0xffff888003a1c000, or ADDRESS+SIZE",
		    word);
	}
	free(tag);
}

/*
 * Options before the command are the same for all commands; options after it may be its own, as -f,
 * which is the source for all but "count".
 */
void args_read(struct args *a, int argc, const char **argv)
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
		    "a command is missing: info, text, log, report, life, count, snoop, depth, save, diff, metrics or decode (see stackbuf --help)");
	for (a->command = 0; a->command < COMMANDS; a->command++)
		if (!strcmp(word, command_name[a->command]))
			break;
	if (a->command == COMMANDS)
		die(EXIT_USAGE,
		    "%s: no such command; the commands are info, text, log, report, life, count, snoop, depth, save, diff, metrics and decode",
		    word);

	/* popt skips the first argument: that is now the command */
	a->rest = poptGetArgs(a->context);
	while (a->rest && a->rest[n])
		n++;
	a->after = xcalloc(n + 2, sizeof(*a->after));
	a->after[0] = word;
	if (n)
		memcpy(a->after + 1, a->rest, n * sizeof(*a->after));
	if (a->command == COUNT)
		*next++ = (struct poptOption){ .argInfo = POPT_ARG_INCLUDE_TABLE,
					       .arg = folded_list };
	if (a->command == COUNT || a->command == SNOOP)
		*next++ = (struct poptOption){ .argInfo = POPT_ARG_INCLUDE_TABLE,
					       .arg = watch_list };
	*next++ = (struct poptOption){ .argInfo = POPT_ARG_INCLUDE_TABLE, .arg = option_list };
	a->context_after = poptGetContext("stackbuf", n + 1, a->after, options, 0);
	read_options(a, a->context_after);
	if (a->command == COUNT || a->command == SNOOP || a->command == DIFF)
		a->word = poptGetArgs(a->context_after);
	if (a->command == SAVE || a->command == REPORT) {
		a->save_to = poptGetArg(a->context_after);
		if (!a->save_to || !*a->save_to)
			die(EXIT_USAGE, "%s: the name of a file is missing",
			    command_name[a->command]);
	}
	if (a->command == LIFE)
		take_address(a, poptGetArg(a->context_after));
	if (a->command == DECODE)
		a->text = poptGetArg(a->context_after);
	word = a->word ? NULL : poptGetArg(a->context_after);
	if (word)
		die(EXIT_USAGE, "%s: one argument too many (see stackbuf --help)", word);
	check_args(a);
}

void args_free(struct args *a)
{
	while (a->sources)
		free(a->source[--a->sources]);
	free(a->source);
	filter_free(&a->filter);
	free(a->flame);
	free(a->vmlinux);
	free(a->output);
	free(a->prefix);
	while (a->module_dirs)
		free(a->modules[--a->module_dirs]);
	free(a->modules);
	free(a->after);
	poptFreeContext(a->context_after);
	poptFreeContext(a->context);
}
