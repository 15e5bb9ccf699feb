// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_decode.c - "decode": copy text that contains stack traces, with source lines
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "cmd.h"
#include "input/explain.h"
#include "input/folded.h"
#include "symbol/decode.h"

static bool at_end(FILE *f)
{
	int c = getc(f);

	if (c != EOF)
		ungetc(c, f);
	return c == EOF;
}

/* Open the text; refuse a file that is not text */
static FILE *open_text(const char *name)
{
	FILE *in = name && strcmp(name, "-") ? fopen(name, "re") : stdin;
	const char *why;

	if (!in)
		die(1, "%s: %m", name);
	why = explain_file(fileno(in));
	if (why)
		die(1, "%s: %s", in == stdin ? "standard input" : name, why);
	return in;
}

/* ---------------------------------------------- traces as folded stacks --- */

/* A count is in one of this many lines after its trace */
#define COUNT_LINES	4

/* Traces whose count is not known yet, and totals of those counted by the lines around them */
struct tally {
	struct folded all;
	struct record record;
	char **waiting;
	size_t nr;
	unsigned int lines;	/* lines without a frame since the last trace */
	bool sized;	/* the last trace's frames have sizes */
	u64 next;	/* count before a trace, as in "12 times, 48 pages"; 0: none */
	unsigned int before;	/* lines that may be in between */
	bool map;	/* inside a map of bpftrace, "@[" to "]: 5" */
	u64 unread;	/* numbers after traces that may be other counts */
};

static void add_waiting(struct tally *t, u64 count)
{
	size_t i;

	for (i = 0; i < t->nr; i++) {
		if (folded_add(&t->all, t->waiting[i], count))
			die(1, "the total is beyond 64 bits");
		free(t->waiting[i]);
	}
	free(t->waiting);
	t->waiting = NULL;
	t->nr = 0;
}

static void add_trace(void *tally, const struct trace *trace)
{
	struct tally *t = tally;
	char *kernel = t->map && t->nr ? t->waiting[0] : NULL;

	if (kernel) {
		/* In one map the program's stack follows the kernel's */
		t->waiting[0] = xasprintf("%s;%s", trace->folded, kernel);
		free(kernel);
		return;
	}
	add_waiting(t, 1);
	GROW(t->waiting, t->nr);
	t->waiting[t->nr++] = xstrdup(trace->folded);
	t->sized = trace->sized;
	t->lines = 0;
	if (t->next)
		add_waiting(t, t->next);
	t->next = 0;
}

/* The number at @at if nothing follows it in its line but what count prints there, else 0 */
static u64 whole_number(const char *at)
{
	char *end;
	u64 number = strtoull(at, &end, 10);

	return isdigit((unsigned char)*at) && number != ~0ULL &&
	       text_matches(end, strlen(end), "^( +[0-9.]+ %)?( +\\(names [a-z ]+\\))?$", NULL) ?
		number : 0;
}

/* "sum 12", "bytes = 4096", "]: (5, 10)", from programs that count something else */
static const char some_number[] = "^([[:alpha:]_ ]+[:=[:space:]]+[1-9][0-9]{0,8}$|([],].*)?]:)";

/* The end of a stack that had more frames, in our own output and in the text log */
static const char cut[] = "^\\((more frames were not kept|cut at [0-9]+ frames)\\)$";

/* Lines before traces with counts: page_owner_sort's, slab's, memleak's */
static const char counted[] =
	"^[0-9]+ (times, [0-9]+ pages|[[:alnum:]_.]+[+]0x.* age=|bytes in [0-9]+ allocations)";

/* Read the number in a line before a trace */
static bool take_before(struct tally *t, const char *p)
{
	const char *in = strstr(p, " bytes in ");

	if (!text_matches(p, strlen(p), counted, NULL))
		return false;
	add_waiting(t, 1);
	t->next = strtoull(in ? in + 10 : p, NULL, 10);
	t->before = strstr(p, " times, ") ? 1 : 0;
	return true;
}

/*
 * Read counts in the format of bpftrace ("]: 5", ", cat]: 5"), bcc ("    5"; after frames with
 * sizes, as stackbuf has them, in the next line only) and hist triggers ("} hitcount:   5")
 */
static void take_count(void *tally, const char *line, size_t len)
{
	struct tally *t = tally;
	char *text = xasprintf("%.*s", (int)text_trim(line, len), line), *p = text, *trace;
	const char *hits = strstr(p, "hitcount:"), *map;
	u64 count = 0;

	p += strspn(p, " \t");
	map = strchr("],", *p) && *p ? strstr(p, "]: ") : NULL;
	if (t->next && !t->before--)
		t->next = 0;
	if (take_before(t, p)) {
		t->lines = COUNT_LINES;
	} else if (t->nr && !t->lines && text_matches(p, strlen(p), cut, NULL)) {
		trace = t->waiting[t->nr - 1];
		t->waiting[t->nr - 1] = xasprintf("%s;%s", FRAMES_CUT, trace);
		free(trace);
	} else if (*p == '@' && strchr(p, '[') && !strstr(p, "]:")) {
		add_waiting(t, 1);
		t->map = true;
	} else if (*p && t->nr && (t->lines++ < COUNT_LINES || t->map)) {
		if (hits)
			count = strtoull(hits + 9, NULL, 10);
		else if (map)
			count = whole_number(map + 3);
		else if ((!t->sized || t->lines == 1) && p > text)
			count = whole_number(p);
		if (!count && (t->lines == 1 || t->map) &&
		    text_matches(p, strlen(p), some_number, NULL)) {
			t->unread++;
			t->map = false;
		}
	} else if (!*p && !t->map) {
		t->lines = COUNT_LINES;
	}
	if (count) {
		add_waiting(t, count);
		t->map = false;
	}
	free(text);
}

/* Print the text's traces as folded text, or as a flame graph */
static void fold(struct args *a, struct decoder *d, FILE *in, const char *name)
{
	struct tally t = { .all.record = &t.record };
	struct output *o = &a->output;
	struct symbols symbols;
	FILE *none = fopen("/dev/null", "we");

	if (!none)
		die(1, "/dev/null: %m");
	d->traces.ended = add_trace;
	d->traces.line = take_count;
	d->traces.arg = &t;
	decode_file(d, in, none);
	fclose(none);
	if (ferror(in))
		die(1, "%s: cannot be read", name);
	add_waiting(&t, 1);
	folded_end(&t.all);
	symbols_init(&symbols, &t.record, NULL);
	o->record = &t.record;
	o->symbols = &symbols;
	if (!t.record.stacks.nr)
		report("the text holds no trace of frames as vfs_read+0x12/0x80");
	report_count(t.unread, "trace has a number after it that is not known to be its count: the trace counts once",
		     "traces have a number after them that is not known to be their count: each counts once");
	report_count(d->doubtful, "trace may be the rest of another one, which differs from it in a number before its frames",
		     "traces may be the rest of others, which differ from them in a number before their frames");
	report_count(d->cut, "frame is cut: only its name is known", "frames are cut: only their names are known");
	report_count(d->json, "line of JSON is left out: --folded in place of --json has its stack",
		     "lines of JSON are left out: --folded in place of --json has their stacks");
	report_count(d->beside, "frame is left out: it shares its line with others, and with other text",
		     "frames are left out: they share their lines with others, and with other text");
	report_count(d->beyond, "frame is left out: its trace has more than 1024",
		     "frames are left out: their traces have more than 1024");
	if (!cmd_profile(o, a, NULL, 0))
		output_count(o, &a->wanted.filter, NULL, 0);
	symbols_free(&symbols);
	record_free(&t.record);
}

void cmd_decode(struct args *a)
{
	const char *text = a->word ? a->word[0] : NULL, *name = text ?: "standard input";
	struct decoder d = { .srcline = srcline_open(&a->debug) };
	FILE *in = open_text(text);
	struct stat st;
	bool any;

	if (a->output.format) {
		fold(a, &d, in, name);
		srcline_close(d.srcline);
		return;
	}
	/* Write line by line, for "dmesg -w" */
	if (!fstat(fileno(in), &st) && !S_ISREG(st.st_mode))
		setvbuf(stdout, NULL, _IOLBF, 0);
	/* If the given image cannot be used, fail before printing anything */
	any = !at_end(in);
	if (a->debug.vmlinux && any && srcline_ready(d.srcline))
		die(1, "%s", srcline_error(d.srcline));
	decode_file(&d, in, stdout);
	end_output();
	if (ferror(in))
		die(1, "%s: cannot be read", name);
	if (srcline_report_missing(d.srcline) && !a->debug.force)
		die(1, "most frames do not fit: the files are of another build than this text; do not trust the lines");
	if (d.left)
		exit(1);
	if (d.frames && !d.decoded)
		die(1, "none of %llu frames could be decoded", d.frames);
	report_count(d.cut, "frame is cut and stays as it is: other frames have their size",
		     "frames are cut and stay as they are: other frames have their size");
	report_count(d.doubtful, "frame is taken for a return address: the text does not tell whether the entry before it is of the same trace",
		     "frames are taken for return addresses: the text does not tell whether the entries before them are of the same traces");
	report_count(d.sizeless, "frame stays as it is: it lacks the function's size, and not exactly one function has its name",
		     "frames stay as they are: they lack the function's size, and not exactly one function has their name");
	if (!d.frames && d.sizeless)
		exit(1);
	if (!d.frames && !d.lined && any)
		report("the text holds no frame as vfs_read+0x12/0x80 (snoop and count PATTERN print names alone)");
	if (in != stdin)
		fclose(in);
	srcline_close(d.srcline);
}
