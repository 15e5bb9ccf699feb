// SPDX-License-Identifier: GPL-2.0
/*
 * main.c - stackbuf: read the flight recorder of kernel call stacks
 */
#include <popt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "filter.h"
#include "follow.h"
#include "output.h"
#include "save.h"
#include "source.h"
#include "symbols.h"

#ifndef VERSION
#define VERSION "unknown"
#endif

#define EXIT_USAGE	2

/* How often to read again when totals were spoilt by what was overwritten */
#define COUNT_TRIES	5

enum command { INFO, TEXT, LOG, COUNT, SAVE, COMMANDS };

#define BIT(n)	(1U << (n))

static const char *const command_name[COMMANDS] = { "info", "text", "log", "count", "save" };

/* Options, in the order of option_list[] */
enum option {
	OPT_NONE, OPT_FILE, OPT_PID, OPT_COMM, OPT_CPU, OPT_TAG, OPT_SINCE, OPT_UNTIL, OPT_STACK,
	OPT_LAST, OPT_FOLDED, OPT_JSON, OPT_PERF, OPT_WALL, OPT_FOLLOW, OPT_HELP, OPT_VERSION,
	OPTIONS
};

/* Which commands an option is for */
static const unsigned int option_for[OPTIONS] = {
	[OPT_FILE]	= ~0U,
	[OPT_PID]	= BIT(LOG) | BIT(COUNT),
	[OPT_COMM]	= BIT(LOG) | BIT(COUNT),
	[OPT_CPU]	= BIT(LOG) | BIT(COUNT),
	[OPT_TAG]	= BIT(LOG) | BIT(COUNT),
	[OPT_SINCE]	= BIT(LOG) | BIT(COUNT),
	[OPT_UNTIL]	= BIT(LOG) | BIT(COUNT),
	[OPT_STACK]	= BIT(LOG) | BIT(COUNT) | BIT(TEXT),
	[OPT_LAST]	= BIT(LOG) | BIT(COUNT),
	[OPT_FOLDED]	= BIT(LOG) | BIT(COUNT),
	[OPT_JSON]	= BIT(LOG) | BIT(COUNT) | BIT(INFO),
	[OPT_PERF]	= BIT(LOG),
	[OPT_WALL]	= BIT(LOG),
	[OPT_FOLLOW]	= BIT(LOG),
};

static struct poptOption option_list[] = {
	{ "file", 'f', POPT_ARG_STRING, NULL, OPT_FILE,
	  "read SOURCE, not the running kernel: a directory with the files text, info, events and stacks, or a snapshot",
	  "SOURCE" },
	{ "pid", '\0', POPT_ARG_STRING, NULL, OPT_PID, "only events of this thread or process",
	  "ID" },
	{ "comm", '\0', POPT_ARG_STRING, NULL, OPT_COMM,
	  "only events of this command; *, ? and [] match", "NAME" },
	{ "cpu", '\0', POPT_ARG_STRING, NULL, OPT_CPU, "only events of this CPU", "N" },
	{ "tag", '\0', POPT_ARG_STRING, NULL, OPT_TAG, "only events with this tag", "NUMBER" },
	{ "since", '\0', POPT_ARG_STRING, NULL, OPT_SINCE,
	  "only events at or after this time since boot", "SECONDS" },
	{ "until", '\0', POPT_ARG_STRING, NULL, OPT_UNTIL,
	  "only events at or before this time since boot", "SECONDS" },
	{ "stack", '\0', POPT_ARG_STRING, NULL, OPT_STACK, "only this stack", "ID" },
	{ "last", '\0', POPT_ARG_STRING, NULL, OPT_LAST, "only the newest N of the events chosen",
	  "N" },
	{ "folded", '\0', POPT_ARG_NONE, NULL, OPT_FOLDED, "one line a stack, for flame graphs",
	  NULL },
	{ "json", '\0', POPT_ARG_NONE, NULL, OPT_JSON, "one JSON object a line", NULL },
	{ "perf", '\0', POPT_ARG_NONE, NULL, OPT_PERF, "as \"perf script\" prints", NULL },
	{ "wall", '\0', POPT_ARG_NONE, NULL, OPT_WALL, "times of day instead of seconds since boot",
	  NULL },
	{ "follow", '\0', POPT_ARG_NONE, NULL, OPT_FOLLOW, "go on with events as they are recorded",
	  NULL },
	{ "help", 'h', POPT_ARG_NONE, NULL, OPT_HELP, "show this help", NULL },
	{ "version", '\0', POPT_ARG_NONE, NULL, OPT_VERSION, "show the version", NULL },
	POPT_TABLEEND
};

static void __attribute__((noreturn, format(printf, 2, 3))) die(int code, const char *format, ...)
{
	va_list args;

	fputs("stackbuf: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	putc('\n', stderr);
	exit(code);
}

static void help(poptContext context)
{
	poptSetOtherOptionHelp(context, "[OPTION...] info | text | log | count | save FILE");
	poptPrintHelp(context, stdout, 0);
	puts("\n"
	     "Commands:\n"
	     "  info       state, sizes and counters of the recorder\n"
	     "  text       the text log: every stack once, when it was first seen\n"
	     "  log        every event in the ring, in order of time\n"
	     "  count      every distinct stack with its total, least frequent first\n"
	     "  save FILE  write all of it into a snapshot, to be read with -f FILE\n"
	     "\n"
	     "See stackbuf(8).");
}

struct args {
	enum command command;
	char *source, *comm;
	const char *save_to;
	unsigned int given;	/* bits of enum option */
	struct filter filter;
};

static void take_option(struct args *a, int option, char *value)
{
	const char *must;

	if (a->given & BIT(option))
		die(EXIT_USAGE, "--%s is given twice", option_list[option - 1].longName);
	a->given |= BIT(option);
	if (option == OPT_FILE)
		a->source = value;
	if (!value || option == OPT_FILE)
		return;
	if (option == OPT_COMM)
		a->comm = value;
	must = filter_set(&a->filter, option_list[option - 1].longName, value);
	if (must)
		die(EXIT_USAGE, "--%s %s: must be %s", option_list[option - 1].longName, value,
		    must);
	if (option != OPT_COMM)
		free(value);
}

static void check_args(const struct args *a)
{
	unsigned int i, formats = a->given & (BIT(OPT_FOLDED) | BIT(OPT_JSON) | BIT(OPT_PERF));

	for (i = OPT_FILE; i < OPT_HELP; i++)
		if (a->given & BIT(i) && !(option_for[i] & BIT(a->command)))
			die(EXIT_USAGE, "--%s is not for \"%s\" (see stackbuf --help)",
			    option_list[i - 1].longName, command_name[a->command]);
	if (formats & (formats - 1))
		die(EXIT_USAGE, "only one of --folded, --json and --perf can be had at a time");
	if (a->given & BIT(OPT_FOLLOW) && a->given & BIT(OPT_FOLDED))
		die(EXIT_USAGE, "--folded adds up, so it can't --follow");
	if (a->filter.has_since && a->filter.has_until && a->filter.since > a->filter.until)
		die(EXIT_USAGE, "--since is later than --until: no event can be both");
}

static poptContext read_args(struct args *a, int argc, const char **argv)
{
	poptContext context = poptGetContext("stackbuf", argc, argv, option_list, 0);
	const char *word;
	int option;

	while ((option = poptGetNextOpt(context)) > 0) {
		if (option == OPT_HELP) {
			help(context);
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

	word = poptGetArg(context);
	if (!word)
		die(EXIT_USAGE,
		    "a command is missing: info, text, log, count or save (see stackbuf --help)");
	for (a->command = 0; a->command < COMMANDS; a->command++)
		if (!strcmp(word, command_name[a->command]))
			break;
	if (a->command == COMMANDS)
		die(EXIT_USAGE, "%s: no such command; there are info, text, log, count and save",
		    word);
	if (a->command == SAVE) {
		a->save_to = poptGetArg(context);
		if (!a->save_to || !*a->save_to)
			die(EXIT_USAGE, "save: the name of a file is missing");
	}
	word = poptGetArg(context);
	if (word)
		die(EXIT_USAGE, "%s: one argument too many (see stackbuf --help)", word);
	check_args(a);
	return context;
}

/* Everything that was read, and from where */
struct reading {
	struct source source;
	struct bag bag;
	struct record record;
	struct symbols symbols;
};

static void load(struct reading *r)
{
	u64 instance;

	record_free(&r->record);
	bag_empty(&r->bag);
	if (r->source.ops->load(&r->source, &r->bag))
		die(1, "%s", r->source.error);
	instance = bag_newest(&r->bag);
	record_parse(&r->record, &r->bag, instance);
}

static void note(u64 n, const char *one, const char *many)
{
	if (n)
		fprintf(stderr, "stackbuf: %llu %s\n", n, n == 1 ? one : many);
}

/* What is not in the output, and why */
static void say_missing(const struct reading *r)
{
	const struct record *rec = &r->record;

	note((u64)rec->missing[ARRAY_INFO] + rec->missing[ARRAY_EVENTS] +
		     rec->missing[ARRAY_STACKS],
	     "page is missing", "pages are missing");
	note(r->bag.changed, "page of events was overwritten while it was read and is left out",
	     "pages of events were overwritten while they were read and are left out");
	note(r->bag.changed_text, "page of text was overwritten while it was read and is left out",
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

/* Totals are what the table counted and what is in the ring, if nothing moved from here to there */
static void count(struct reading *r, const struct output *o, const struct args *a)
{
	struct record *rec = &r->record;
	bool events = filter_events(&a->filter);
	unsigned int tries;
	u64 unsure;
	size_t nr;

	for (tries = 1;
	     tries < COUNT_TRIES && r->source.ops->read && (r->bag.changed || rec->rebuilt);
	     tries++)
		load(r);
	say_missing(r);
	if (events) {
		fputs("stackbuf: only events that are still in the ring are counted, as the filter needs to see them\n",
		      stderr);
		nr = filter_apply(&a->filter, rec->event, rec->events);
		/* An array even if it is empty: NULL would mean all that was ever counted */
		output_count(o, &a->filter, nr ? rec->event : &(struct event){ 0 }, nr);
		return;
	}
	unsure = (u64)(r->bag.changed + rec->rebuilt) * PAGE_EVENTS_MAX + rec->half;
	if (unsure)
		fprintf(stderr,
			"stackbuf: totals may be too small, all together by at most %llu events\n",
			unsure);
	if (rec->info.evicted_events)
		fprintf(stderr,
			"stackbuf: %llu events are in no total: their %llu stacks had to make room\n",
			rec->info.evicted_events, rec->info.evicted);
	output_count(o, &a->filter, NULL, 0);
}

static void show_log(struct reading *r, struct output *o, const struct args *a)
{
	struct record *rec = &r->record;
	size_t i, nr;

	if (a->given & BIT(OPT_FOLLOW)) {
		if (!r->source.ops->read)
			die(1, "%s: does not grow, so there is nothing to follow", r->source.name);
		if (!rec->have_info)
			die(1, "%s: the page of stackbuf_info is missing or damaged",
			    r->source.name);
		if (follow(&r->source, o, &a->filter))
			die(1, "%s", r->source.error);
		return;
	}
	say_missing(r);
	nr = filter_apply(&a->filter, rec->event, rec->events);
	if (o->format == FORMAT_FOLDED) {
		output_folded(o, rec->event, nr);
		return;
	}
	output_head(o);
	for (i = 0; i < nr; i++)
		output_event(o, &rec->event[i]);
}

static void run(struct reading *r, struct output *o, const struct args *a)
{
	char error[512];

	switch (a->command) {
	case INFO:
		if (!r->record.have_info)
			die(1, "%s: the page of stackbuf_info is missing or damaged",
			    r->source.name);
		output_info(o, r->source.name, r->bag.changed);
		break;
	case TEXT:
		note(r->bag.changed_text,
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
	case SAVE:
		say_missing(r);
		if (save(a->save_to, &r->bag, &r->record, &r->symbols, error, sizeof(error)))
			die(1, "%s", error);
		break;
	case COMMANDS:
		break;
	}
}

int main(int argc, const char **argv)
{
	struct args args = { 0 };
	struct reading r = { 0 };
	struct output output = { .file = stdout, .record = &r.record, .symbols = &r.symbols };
	poptContext context = read_args(&args, argc, argv);

	if (args.given & BIT(OPT_FOLDED))
		output.format = FORMAT_FOLDED;
	if (args.given & BIT(OPT_JSON))
		output.format = FORMAT_JSON;
	if (args.given & BIT(OPT_PERF))
		output.format = FORMAT_PERF;
	output.wall = args.given & BIT(OPT_WALL);

	if (source_open(&r.source, args.source))
		die(1, "%s", r.source.error);
	load(&r);
	if (output.wall && !r.record.have_info)
		die(1, "%s: --wall needs the page of stackbuf_info, which is missing",
		    r.source.name);
	symbols_init(&r.symbols, &r.record, r.source.kallsyms);
	setvbuf(stdout, NULL, _IOFBF, 1 << 20);
	run(&r, &output, &args);
	if (fflush(stdout) || ferror(stdout))
		die(1, "cannot write: %m");

	symbols_free(&r.symbols);
	record_free(&r.record);
	bag_empty(&r.bag);
	source_close(&r.source);
	free(args.source);
	free(args.comm);
	poptFreeContext(context);
	return 0;
}
