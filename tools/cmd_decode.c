// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_decode.c - "decode": copy text that holds stack traces, with source lines
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "cmd.h"
#include "symbol/decode.h"

static bool at_end(FILE *f)
{
	int c = getc(f);

	if (c != EOF)
		ungetc(c, f);
	return c == EOF;
}

/* The text; what is no text is refused, if it is a file */
static FILE *open_text(const char *name)
{
	FILE *in = name && strcmp(name, "-") ? fopen(name, "re") : stdin;
	const char *why;

	if (!in)
		die(1, "%s: %m", name);
	why = dump_explain(fileno(in));
	if (why)
		die(1, "%s: %s", in == stdin ? "standard input" : name, why);
	return in;
}

static void add_trace(void *folded, struct trace *t)
{
	folded_add(folded, t->folded, 1);
}

/* The text's traces as folded text, or as a flame graph */
static void fold(struct args *a, struct decoder *d, FILE *in)
{
	struct record r = { 0 };
	struct folded all = { .record = &r };
	struct output *o = &a->output;
	struct symbols symbols;
	FILE *none = fopen("/dev/null", "we");

	if (!none)
		die(1, "/dev/null: %m");
	d->traces.ended = add_trace;
	d->traces.arg = &all;
	decode_file(d, in, none);
	fclose(none);
	folded_end(&all);
	symbols_init(&symbols, &r, NULL);
	o->record = &r;
	o->symbols = &symbols;
	if (!r.stacks.nr)
		report("the text holds no trace of frames as vfs_read+0x12/0x80");
	if (!cmd_profile(o, a, NULL, 0))
		output_count(o, &a->wanted.filter, NULL, 0);
	symbols_free(&symbols);
	record_free(&r);
}

void cmd_decode(struct args *a)
{
	const char *text = a->word ? a->word[0] : NULL;
	struct decoder d = { .srcline = srcline_open(&a->debug) };
	FILE *in = open_text(text);
	struct stat st;
	bool any;

	if (a->output.format) {
		fold(a, &d, in);
		srcline_close(d.srcline);
		return;
	}
	/* Write line by line, for "dmesg -w" */
	if (!fstat(fileno(in), &st) && !S_ISREG(st.st_mode))
		setvbuf(stdout, NULL, _IOLBF, 0);
	/* If the image that was named cannot be used, fail before anything is printed */
	any = !at_end(in);
	if (a->debug.vmlinux && any && srcline_ready(d.srcline))
		die(1, "%s", srcline_error(d.srcline));
	decode_file(&d, in, stdout);
	end_output();
	if (ferror(in))
		die(1, "%s: cannot be read", text ?: "standard input");
	if (srcline_report_missing(d.srcline) && !a->debug.force)
		die(1, "most frames do not fit: the files are of another build than this text; do not trust the lines");
	if (d.left)
		exit(1);
	if (d.frames && !d.decoded)
		die(1, "none of %llu frames could be decoded", d.frames);
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
