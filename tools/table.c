// SPDX-License-Identifier: GPL-2.0
/*
 * table.c - commands and options: one row each, from which everything else follows
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cmd.h"

#define NO_FILE	"the name of a file is missing"

const struct command command_table[COMMANDS] = {
	[INFO] = {
		.name = "info", .show = cmd_info,
		.offset = true,
		.text = "state, sizes and counters of the recorder",
	},
	[TEXT] = {
		.name = "text", .show = cmd_text,
		.text = "the text log: every stack once, when it was first seen",
	},
	[LOG] = {
		.name = "log", .show = cmd_log,
		.origin = ORIGIN_IN_JSON,
		.text = "every event in the ring, in order of time",
	},
	[REPORT] = {
		.name = "report", .words = "FILE.html", .min = 1, .max = 1, .missing = NO_FILE,
		.show = cmd_report,
		.origin = ORIGIN_ALWAYS, .offset = true, .all = true,
		.text = "one HTML page: flame graph, events over time, losses",
	},
	[LIFE] = {
		.name = "life", .words = "ADDRESS[+SIZE]", .min = 1, .max = 1, .show = cmd_life,
		.missing = "the ADDRESS is missing, or ADDRESS+SIZE (see stackbuf life -h)",
		.origin = ORIGIN_IN_JSON,
		.text = "the history of an object: events with its tags",
		.example =
		"  stackbuf life 0xffff888003a1c000+192\n"
		"                                    allocated, used, freed, used again, if the probes\n"
		"                                    or the calls record its address as their tag",
	},
	[LEAKS] = {
		.name = "leaks", .words = "[FUNCTION | OPEN CLOSE]", .max = 2, .run = cmd_pairs,
		.origin = ORIGIN_IN_JSON,
		.text = "objects opened and not closed, by stack, as memory not freed",
		.example =
		"Prints outstanding objects where pairs are set (parameter pair); else sets one, until Ctrl-C:\n"
		"  stackbuf leaks -D 60              slab objects of one minute that were not freed\n"
		"  stackbuf leaks page               pages; --older 10: only those older than 10 s\n"
		"  stackbuf leaks t:kmem:mm_page_alloc@page t:kmem:mm_page_free@page\n"
		"                                    OPEN@KEY[@VALUE] and CLOSE@KEY: see stackbuf(4)\n"
		"  stackbuf leaks vfs_read           its calls that have not returned\n"
		"  stackbuf -f FILE leaks            of a machine that stopped with pairs set",
	},
	[LATENCY] = {
		.name = "latency", .words = "[FUNCTION | OPEN CLOSE]", .max = 2, .run = cmd_pairs,
		.origin = ORIGIN_IN_JSON,
		.text = "how long calls took, or closed objects were open, by stack",
		.example =
		"  stackbuf latency -D 10 vfs_read   its calls, from entry to return\n"
		"  stackbuf latency -L 10ms 'ext4_*' 'vfs_*'  only calls of 10 ms and more, until Ctrl-C\n"
		"  stackbuf latency -D 10 mutex_lock@arg1 mutex_unlock@arg1\n"
		"  stackbuf latency -v t:block:block_rq_issue@arg1 t:block:block_rq_complete@arg1\n"
		"                                    -v: with a histogram\n"
		"  stackbuf latency -D 10 contention  how long tasks waited for locks (Linux 5.19)",
	},
	[OFFCPU] = {
		.name = "offcpu", .run = cmd_pairs,
		.origin = ORIGIN_IN_JSON,
		.text = "time off CPU, by the stack that went to sleep or was preempted",
		.example =
		"  stackbuf offcpu -D 10             ten seconds\n"
		"  stackbuf offcpu -D 10 --flame offcpu.svg\n"
		"  stackbuf offcpu -D 10 --wakers    by the stacks that woke them",
	},
	[ERRORS] = {
		.name = "errors", .words = "[PATTERN...]", .max = ~0U, .run = cmd_errors,
		.lack = "it probes functions now: give a PATTERN, and no -f",
		.origin = ORIGIN_IN_JSON, .all = true,
		.text = "which function returned an error first, and how far it went",
		.example =
		"Probes functions until Ctrl-C; without a PATTERN, or with -f, it reads recorded errors:\n"
		"  stackbuf errors 'ext4_*'          which path returns errors, and how often\n"
		"  stackbuf errors --log -e EINVAL 'ext4_*' vfs_get_tree\n"
		"                                    each -EINVAL, with its time and task\n"
		"  stackbuf -f FILE errors           of a machine that ran with probe='ext4_*%return@error'",
	},
	[ERRORS_PATTERN] = {
		.name = "errors", .words = "PATTERN...", .min = 1, .max = ~0U, .run = cmd_errors,
		.missing = "a PATTERN is empty", .origin = ORIGIN_IN_JSON,
		.lack = "a PATTERN is for new errors; for recorded ones: stackbuf errors, without a PATTERN",
	},
	[COUNT] = {
		.name = "count", .show = cmd_count,
		.lack = "a PATTERN is missing (see stackbuf count -h)",
		.origin = ORIGIN_IN_JSON, .totals = true,
		.text = "every distinct stack with its total, least frequent first",
	},
	[COUNT_PATTERN] = {
		.name = "count", .words = "PATTERN...", .min = 1, .max = ~0U, .run = cmd_watch,
		.missing = "a PATTERN is empty", .origin = ORIGIN_IN_JSON, .of_record = "count",
		.lack = "a PATTERN sets probes, for new events; for recorded ones: count --function PATTERN",
		.text = "probe functions, and print their stacks' totals at the end",
		.example =
		"Without a PATTERN: totals of all recorded events.  With one, as bcc's stackcount:\n"
		"  stackbuf count submit_bio         its callers, and how often, until Ctrl-C\n"
		"  stackbuf count -i 5 -T 'tcp_*'    functions that match, every 5 seconds\n"
		"  stackbuf count --folded -D 10 dput  10 seconds, for a flame graph\n"
		"  stackbuf count -l 'vfs_*'         functions that match, and their parameters\n"
		"  stackbuf -f FILE count --function dput  of a record: no probe is set",
	},
	[COUNT_LIST] = {
		.name = "count", .max = ~0U, .run = cmd_list,
		.lack = "--list shows the running kernel's functions, not events",
	},
	[DEPTH] = {
		.name = "depth", .show = cmd_depth,
		.text = "the deepest stack seen from each place, frame by frame",
	},
	[SNOOP] = {
		.name = "snoop", .words = "FUNCTION...", .min = 1, .max = ~0U, .run = cmd_watch,
		.missing = "a FUNCTION is missing (see stackbuf snoop -h)",
		.origin = ORIGIN_IN_JSON, .of_record = "log",
		.text = "probe functions, and print each call with its stack",
		.example =
		"As bcc's stacksnoop:\n"
		"  stackbuf snoop submit_bio         each call with its stack, until Ctrl-C\n"
		"  stackbuf snoop -v -n 5 -p 1234 vfs_read\n"
		"  stackbuf snoop kfree@arg1         its first argument, too\n"
		"  stackbuf -f FILE log --function vfs_read  of a record: no probe is set",
	},
	[SAVE] = {
		.name = "save", .words = "FILE", .min = 1, .max = 1, .missing = NO_FILE,
		.run = cmd_save,
		.origin = ORIGIN_ALWAYS, .offset = true,
		.text = "write the whole record into a snapshot, to be read with -f FILE",
	},
	[DIFF] = {
		.name = "diff", .words = "BEFORE [AFTER]", .min = 1, .max = 2, .run = cmd_diff,
		.missing = "a file is missing: name one record, or two (see stackbuf diff -h)",
		.totals = true,
		.text = "the differences between two sources; AFTER: by default the running kernel",
		.example =
		"  stackbuf save yesterday           a snapshot of the running kernel's record\n"
		"  stackbuf diff yesterday           what has changed since\n"
		"  stackbuf diff --flame diff.svg good.snapshot bad.vmcore",
	},
	[METRICS] = {
		.name = "metrics", .show = cmd_metrics,
		.text = "counters for Prometheus, as node_exporter reads them",
		.example =
		"  stackbuf metrics -o /var/lib/prometheus/node-exporter/stackbuf.prom",
	},
	[DECODE] = {
		.name = "decode", .words = "[FILE]", .max = 1, .run = cmd_decode,
		.text = "add source lines to stack traces in text, as dmesg's",
	},
};

/* ------------------------------------------------------ values of options --- */

static const char *set_flag(void *field, const char *value)
{
	(void)value;
	*(bool *)field = true;
	return NULL;
}

static const char *set_text(void *field, const char *value)
{
	*(char **)field = xstrdup(value);
	return NULL;
}

static const char *add_word(void *field, const char *value)
{
	struct words *w = field;

	w->word = xrealloc(w->word, w->nr + 1, sizeof(*w->word));
	w->word[w->nr++] = xstrdup(value);
	return NULL;
}

static const char *add_directory(void *field, const char *value)
{
	struct stat st;

	if (!stat(value, &st) && !S_ISDIR(st.st_mode))
		die(1, "-m %s: is no directory", value);
	if (access(value, X_OK))
		die(1, "-m %s: %m", value);
	return add_word(field, value);
}

static const char *set_instance(void *field, const char *value)
{
	u64 *id = field;
	char *end;

	*id = strtoull(value, &end, 16);
	return *id && !*end && *value != '-' ? NULL :
	       "the hexadecimal number that \"info\" shows";
}

static const char *set_prefix(void *field, const char *value)
{
	if (!*value || *value == '#' || strpbrk(value, ";\n"))
		return "the name of one frame: text without \";\" that does not begin with \"#\"";
	return set_text(field, value);
}

/* Refuse names that a viewer would take for another format */
static const char *set_flame(void *field, const char *value)
{
	static const char *const other[] = {
		".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf", ".html"
	};
	const char *dot = strrchr(value, '.');
	unsigned int i;

	for (i = 0; dot && i < ARRAY_SIZE(other); i++)
		if (!strcasecmp(dot, other[i]))
			return "a name for SVG, as FILE.svg";
	return set_text(field, value);
}

static const char *set_top(void *field, const char *value)
{
	return value_count(field, value) ? "a number of stacks, at least 1" : NULL;
}

/* ---------------------------------------------------------------- options --- */

#define SETS(how, what)	.set = (how), .field = offsetof(struct args, what)

#define COUNTS		(BIT(COUNT) | BIT(COUNT_PATTERN))
#define WATCHES		(BIT(COUNT_PATTERN) | BIT(SNOOP))
#define SETS_PROBES	(WATCHES | BIT(ERRORS_PATTERN))
#define OF_ERRORS	(BIT(ERRORS) | BIT(ERRORS_PATTERN))
#define PAIRS		(BIT(LEAKS) | BIT(LATENCY) | BIT(OFFCPU))
#define OF_CALLS	(PAIRS | OF_ERRORS)
/* Commands that select events, and name their frames */
#define OF_EVENTS	(BIT(LOG) | BIT(REPORT) | BIT(LIFE) | COUNTS | BIT(SNOOP))
/* Commands that select recorded events */
#define OF_PAST		(OF_EVENTS & ~WATCHES)
#define OF_FRAMES	(OF_EVENTS | BIT(TEXT))
#define SUMS		(BIT(LOG) | COUNTS | BIT(SNOOP) | BIT(DIFF))
/* bcc's letters, only after these commands */
#define OWN(c)		.own_letter = (c), .own_for = COUNTS | OF_CALLS | BIT(SNOOP)
#define ALL		(BIT(COMMANDS) - 1)
#define OF_SOURCE	(ALL & ~(BIT(DECODE) | BIT(DIFF) | BIT(COUNT_LIST) | SETS_PROBES))

const struct option option_table[OPTIONS] = {
	[OPT_FILE] = { .name = "file", .letter = 'f', .value = "SOURCE", .commands = OF_SOURCE,
		.several = true, SETS(add_word, wanted.file),
		.text = "read SOURCE, not the running kernel: a dump, a RAM image (several: -f FILE[@ADDRESS] -f ...), a snapshot, folded stacks (count), or a directory with the files text, info, events and stacks",
	},
	[OPT_KEPT] = { .name = "kept", .commands = OF_SOURCE, SETS(set_flag, wanted.kept),
		.text = "read the record kept from before the last reset (parameter keep)",
	},
	[OPT_SCAN] = { .name = "scan", .commands = OF_SOURCE | BIT(DIFF),
		SETS(set_flag, wanted.scan),
		.text = "look at every page of a dump, also where the kernel's page tables lead to the record: finds loads and boots before, too",
	},
	[OPT_INSTANCE] = { .name = "instance", .value = "ID", .commands = OF_SOURCE,
		SETS(set_instance, wanted.instance),
		.text = "the load of the module that \"info\" lists as ID, if there are several" },
	[OPT_PID] = { .name = "pid", OWN('p'), .value = "ID", .commands = OF_EVENTS | OF_CALLS,
		.several = true, .filters = true,
		.text = "only events of these threads or processes, as 1, 1,5-9 or '!1' (the others); leaks, latency, offcpu: one process",
	},
	[OPT_COMM] = { .name = "comm", .value = "NAME", .commands = OF_EVENTS | OF_CALLS,
		.several = true, .filters = true,
		.text = "only events of this command; *, ? and [] match; several: --comm NAME --comm ...; leaks, latency, offcpu: one NAME",
	},
	[OPT_CPU] = { .name = "cpu", OWN('c'), .value = "N", .commands = OF_EVENTS | OF_CALLS,
		.several = true, .filters = true,
		.text = "only events of these CPUs, as 1 or 0,2-3; leaks, latency, offcpu: one" },
	[OPT_TAG] = { .name = "tag", .value = "NUMBER", .commands = OF_EVENTS & ~BIT(LIFE),
		.several = true, .filters = true,
		.text = "only events with these tags, as 123, 0xff,0x200-0x2ff, ADDRESS/SIZE or '!0' (the others)",
	},
	[OPT_SINCE] = { .name = "since", .value = "TIME", .commands = OF_PAST | BIT(ERRORS),
		.filters = true,
		.text = "only events from this time on: seconds since boot, as 618.05; -500ms, -10s, -5m, -2h: before the newest event; 14:03:05 or '2026-11-22 14:03'",
	},
	[OPT_UNTIL] = { .name = "until", .value = "TIME", .commands = OF_PAST | BIT(ERRORS),
		.filters = true, .text = "only events up to this time" },
	[OPT_AROUND] = { .name = "around", .value = "TIME[,SPAN]",
		.commands = OF_PAST | BIT(ERRORS), .filters = true,
		.text = "only events from 1 s before this time to 1 s after it, or as far as SPAN says, as 618.05,200ms",
	},
	[OPT_STACK] = { .name = "stack", .value = "ID",
		.commands = (OF_PAST | BIT(TEXT)) & ~BIT(LIFE),
		.several = true, .filters = true,
		.text = "only these stacks, as 1 or 1,5-9" },
	[OPT_FUNCTION] = { .name = "function", .value = "PATTERN",
		.commands = BIT(LOG) | BIT(COUNT) | BIT(REPORT) | BIT(ERRORS),
		.several = true, .filters = true,
		.text = "only stacks that begin in these functions, as vfs_read, 'tcp_*', nvme:nvme_irq, or 't:*': at tracepoints",
	},
	[OPT_LAST] = { .name = "last", .value = "N", .commands = OF_PAST | BIT(LEAKS) | BIT(ERRORS),
		.filters = true,
		.text = "only the newest N of the events chosen; leaks: of outstanding objects" },
	[OPT_TOP] = { .name = "top", .value = "N",
		.commands = COUNTS | OF_CALLS | BIT(DIFF) | BIT(METRICS),
		SETS(set_top, output.top),
		.text = "only the N most frequent stacks; diff: the N largest changes" },
	[OPT_PERCENT] = { .name = "percent", .commands = COUNTS | BIT(DIFF),
		SETS(set_flag, output.percent),
		.text = "totals also as percentages of all events counted; diff: shares of them are compared",
	},
	[OPT_FOLDED] = { .name = "folded",
		.commands = SUMS | OF_CALLS | BIT(DECODE), .format = FORMAT_FOLDED,
		.text = "one line per stack, for flame graphs" },
	[OPT_PREFIX] = { .name = "prefix", .value = "WORD", .commands = COUNTS,
		SETS(set_prefix, output.prefix),
		.text = "--folded: a frame in front of each stack, as the machine's name" },
	[OPT_JSON] = { .name = "json", .format = FORMAT_JSON,
		.commands = SUMS | OF_CALLS | BIT(COUNT_LIST) | BIT(LIFE) | BIT(INFO) | BIT(DEPTH),
		.text = "one JSON object per line" },
	[OPT_PERF] = { .name = "perf", .commands = BIT(LOG) | BIT(SNOOP), .format = FORMAT_PERF,
		.text = "as \"perf script\" prints" },
	[OPT_PPROF] = { .name = "pprof", .commands = SUMS | OF_ERRORS, .format = FORMAT_PPROF,
		.text = "a profile for pprof, gzipped" },
	[OPT_FLAME] = { .name = "flame", .value = "FILE.svg",
		.commands = SUMS | OF_CALLS | BIT(DECODE),
		.format = FORMAT_FLAME, SETS(set_flame, flame),
		.text = "write a flame graph, to be opened in a browser" },
	[OPT_WALL] = { .name = "wall", .commands = BIT(LOG) | BIT(LIFE) | BIT(SNOOP) | OF_ERRORS,
		SETS(set_flag, output.wall), .text = "times of day instead of seconds since boot" },
	[OPT_FOLLOW] = { .name = "follow", .commands = BIT(LOG),
		.text = "keep printing events as they are recorded" },
	[OPT_LINES] = { .name = "lines", .commands = OF_FRAMES | OF_CALLS,
		.text = "source lines, from the kernel's debug information" },
	[OPT_VMLINUX] = { .name = "vmlinux", .letter = 'k', .value = "FILE",
		.commands = OF_FRAMES | OF_CALLS | BIT(DECODE) | BIT(INFO),
		SETS(set_text, debug.vmlinux),
		.text = "the kernel's image with debug information" },
	[OPT_MODULES] = { .name = "modules", .letter = 'm', .value = "DIR",
		.commands = OF_FRAMES | OF_CALLS | BIT(DECODE), .several = true,
		SETS(add_directory, modules),
		.text = "directory of the modules with debug information; several: -m DIR -m ..." },
	[OPT_FORCE] = { .name = "force", .commands = OF_FRAMES | OF_CALLS | BIT(DECODE) | BIT(INFO),
		SETS(set_flag, debug.force),
		.text = "use vmlinux and modules even if of another build" },
	[OPT_OUTPUT] = { .name = "output", .letter = 'o', .value = "FILE.prom",
		.commands = BIT(METRICS), SETS(set_text, to),
		.text = "metrics: the file to write" },
	[OPT_HELP] = { .name = "help", .letter = 'h', .commands = ALL, .text = "show this help" },
	[OPT_VERSION] = { .name = "version", .commands = ALL, .text = "show the version" },
	[OPT_NUMBER] = { .name = "number", OWN('n'), .value = "N", .commands = BIT(SNOOP),
		.own = true, SETS(value_count, number), .text = "end after N events" },
	[OPT_INTERVAL] = { .name = "interval", OWN('i'), .value = "TIME",
		.commands = BIT(COUNT_PATTERN), .own = true, .timed = true,
		SETS(value_duration, interval),
		.text = "print totals at this interval: seconds, or with a unit: 500ms, 2m, 1h" },
	[OPT_DURATION] = { .name = "duration", OWN('D'), .value = "TIME",
		.commands = SETS_PROBES | PAIRS, .own = true, .timed = true,
		SETS(value_duration, duration),
		.text = "end after this time: seconds, or with a unit: 500ms, 2m, 1h" },
	[OPT_CGROUP] = { .name = "cgroup", .value = "PATH", .commands = SETS_PROBES, .own = true,
		.timed = true, SETS(set_text, cgroup),
		.text = "only tasks in this cgroup and below, as system.slice/ssh.service" },
	[OPT_TIMESTAMP] = { .name = "timestamp", OWN('T'), .commands = BIT(COUNT_PATTERN),
		.own = true, .text = "the time of day above the totals" },
	[OPT_REGEXP] = { .name = "regexp", OWN('r'),
		.commands = BIT(COUNT_PATTERN) | BIT(COUNT_LIST), .own = true,
		.text = "patterns are extended regular expressions" },
	[OPT_OFFSET] = { .name = "offset", OWN('s'), .commands = WATCHES, .own = true,
		.text = "frames with their offset in the function" },
	[OPT_PERPID] = { .name = "perpid", OWN('P'), .commands = BIT(COUNT_PATTERN), .own = true,
		.text = "count each process separately" },
	[OPT_VERBOSE] = { .name = "verbose", OWN('v'),
		.commands = WATCHES | (PAIRS & ~BIT(LEAKS)), .own = true,
		.text = "snoop: command, process and CPU; count: addresses; latency: a histogram" },
	[OPT_LIST] = { .name = "list", OWN('l'), .commands = BIT(COUNT_LIST), .own = true,
		.text = "set no probe: list the functions that match, with their parameters (@arg1 etc.)",
	},
	[OPT_OLDER] = { .name = "older", .value = "TIME", .commands = BIT(LEAKS), .own = true,
		SETS(value_duration, older),
		.text = "only objects open for longer: seconds, or with a unit: 500ms, 2m, 1h",
	},
	[OPT_ON_TRIGGER] = { .name = "on-trigger", .value = "COMMAND", .commands = BIT(SAVE),
		SETS(set_text, on_trigger),
		.text = "wait until a trigger has stopped recording (parameter trigger); run COMMAND when FILE is written",
	},
	[OPT_IDLE] = { .name = "all", .commands = BIT(OFFCPU), .own = true,
		.text = "also kernel threads that wait for work, and the module's own" },
	[OPT_ERROR] = { .name = "error", OWN('e'), .value = "LIST", .commands = OF_ERRORS,
		.own = true, .several = true, SETS(error_set_add, errors_in),
		.text = "only these errors, as EINVAL,ENOMEM; all: also those that seldom are errors (EAGAIN, ERESTARTSYS, ...)",
	},
	[OPT_EXCLUDE] = { .name = "exclude", OWN('x'), .value = "LIST", .commands = OF_ERRORS,
		.own = true, .several = true, SETS(error_set_add, errors_out),
		.text = "not these errors" },
	[OPT_LOG] = { .name = "log", .commands = OF_ERRORS, .own = true,
		.text = "each time it happened, in order, with task and CPU" },
	[OPT_LONGER] = { .name = "longer", .own_letter = 'L', .own_for = BIT(LATENCY),
		.value = "TIME", .commands = BIT(LATENCY), .own = true,
		SETS(value_duration, longer),
		.text = "only calls that took this long or longer: seconds, or with a unit: 500us, 10ms",
	},
	[OPT_WAKERS] = { .name = "wakers", .commands = BIT(OFFCPU), .own = true,
		.text = "how long tasks slept, by the stack that woke them" },
};
