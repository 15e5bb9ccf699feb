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

void cmd_decode(struct args *a)
{
	const char *text = a->word ? a->word[0] : NULL;
	struct decoder d = { .srcline = srcline_open(&a->debug),
			     .compat = a->given & BIT(OPT_COMPAT) };
	FILE *in = stdin;
	struct stat st;
	bool any;

	if (text && strcmp(text, "-"))
		in = fopen(text, "re");
	if (!in)
		die(1, "%s: %m", text);
	/* Write line by line, for "dmesg -w" */
	if (!fstat(fileno(in), &st) && !S_ISREG(st.st_mode))
		setvbuf(stdout, NULL, _IOLBF, 0);
	/* If the image that was named cannot be used, fail before anything is printed */
	any = !at_end(in);
	if (a->debug.vmlinux && any && srcline_ready(d.srcline))
		die(1, "%s", srcline_error(d.srcline));
	decode_file(&d, in, stdout);
	if (fflush(stdout) || ferror(stdout))
		die(1, "cannot write: %m");
	if (ferror(in))
		die(1, "%s: cannot be read", text ?: "standard input");
	if (srcline_report_missing(d.srcline) && !a->debug.force)
		die(1, "most frames do not fit: the files are of another build than this text; do not trust the lines");
	if (d.left)
		exit(1);
	if (d.frames && !d.decoded)
		die(1, "none of %llu frames could be decoded", d.frames);
	if (!d.frames && d.sizeless)
		die(1, "none of %llu frames could be decoded: they lack the function's size, as vfs_read+0x12 does; vfs_read+0x12/0x80 is complete, as log, count and text print it",
		    d.sizeless);
	report_count(d.sizeless, "frame stays as it is: it lacks the function's size",
		     "frames stay as they are: they lack the function's size");
	if (!d.frames && any)
		report("the text holds no frame as vfs_read+0x12/0x80 (snoop and count PATTERN print names alone)");
	if (in != stdin)
		fclose(in);
	srcline_close(d.srcline);
}
