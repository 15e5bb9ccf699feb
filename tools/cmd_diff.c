// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_diff.c - "diff": the differences between two records
 */
#include <stdio.h>
#include "cmd.h"
#include "output/files.h"

/* Read one of the sources; @file NULL: the running kernel's memory */
static void read_side(struct session *s, struct output *o, struct wanted *wanted, const char **file)
{
	wanted->file = (struct words){ (char **)file, !!*file };
	session_open(s, wanted);
	session_load(s);
	session_load_steady(s);
	session_report_missing(s);
	session_report_sampled(s);
	session_report_unsure(s);
	session_report_evicted(s);
	session_add_names(s);
	o->record = &s->record;
	o->symbols = &s->symbols;
}

void cmd_diff(struct args *a)
{
	struct wanted wanted[SIDES] = { a->wanted, a->wanted };
	struct output o[SIDES] = { a->output, a->output };
	struct diff d = { .side = { &o[BEFORE], &o[AFTER] } };
	struct session s[SIDES] = { 0 };
	int side;

	for (side = BEFORE; side < SIDES; side++) {
		read_side(&s[side], &o[side], &wanted[side], &a->word[side]);
		d.name[side] = s[side].source.name;
		if (!a->word[side])
			break;
	}
	diff_make(&d);
	if (!d.events[BEFORE] && !d.events[AFTER])
		report("no event: neither record holds one");
	else if (!d.same_build && !(s[BEFORE].folded && s[AFTER].folded))
		report("the records are not known to be of one build of the kernel: frames are compared by function");
	if (o[AFTER].format == FORMAT_PPROF || o[AFTER].format == FORMAT_FLAME)
		profile_write(&o[AFTER], &d.profile, a->flame);
	else
		diff_print(&d);
	diff_free(&d);
	for (side = BEFORE; side < SIDES; side++)
		session_close(&s[side]);
}
