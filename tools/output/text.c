// SPDX-License-Identifier: GPL-2.0
/*
 * text.c - the text log
 */
#include <string.h>
#include "output/output.h"
#include "symbol/decode.h"

/* Print a record with source lines, found by name: the text log has no addresses */
static void text_lines(const struct output *o, const struct text *t)
{
	struct decoder d = { .srcline = o->srcline, .record = true, .time = text_time(t->record) };
	const char *p = t->record, *end = p + t->len, *nl;
	char line[1024];
	size_t i, len;

	for (; p < end; p += len + 1) {
		nl = memchr(p, '\n', end - p);
		len = nl ? nl - p : end - p;
		for (i = 0; i < len && i < sizeof(line); i++)
			line[i] = printable_ascii(p[i]);
		decode_line(&d, line, i, o->file);
		if (d.left)
			die(1, "%s", srcline_error(o->srcline));
		putc('\n', o->file);
	}
}

void output_text(struct output *o, const struct filter *f)
{
	size_t i, nr = 0;
	u32 n;

	for (i = 0; i < o->record->texts; i++) {
		const struct text *t = &o->record->text[i];

		if (!filter_stack(f, stack_canonical(stacks_find(&o->record->stacks, t->id))->id))
			continue;
		nr++;
		if (o->srcline) {
			text_lines(o, t);
			continue;
		}
		for (n = 0; n < t->len; n++) {
			char c = t->record[n];

			putc(c == '\n' ? c : printable_ascii(c), o->file);
		}
	}
	if (!nr)
		output_no_stack(o, "the text log", o->record->texts);
}

