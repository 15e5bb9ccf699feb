// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_report.c - "report": one page to pass on
 */
#include <stdio.h>
#include <stdlib.h>
#include "cmd.h"
#include "output/info.h"
#include "output/no_match.h"
#include "output/report.h"

void cmd_report(struct session *s, struct output *o, struct args *a)
{
	struct record *rec = &s->record;
	struct output info = *o;
	char error[512], *text = NULL;
	size_t len = 0, nr;

	session_report_missing(s);
	info.format = FORMAT_JSON;
	info.file = open_memstream(&text, &len);
	if (!info.file)
		die(1, "out of memory");
	/* It counts the events of the ring, so before they are filtered */
	output_info(&info, s->source.name, &s->set, s->instance, s->instances);
	if (fclose(info.file))
		die(1, "out of memory");
	nr = filter_apply(&a->wanted.filter, rec->event, rec->events);
	if (!nr)
		output_no_event(o, false);
	if (nr > REPORT_EVENTS_MAX)
		report("the page has the newest %u events of %zu: choose others with --until or --around",
		       REPORT_EVENTS_MAX, nr);
	if (report_write(o, text, rec->event, nr, a->word[0], error, sizeof(error)))
		die(1, "%s", error);
	free(text);
}
