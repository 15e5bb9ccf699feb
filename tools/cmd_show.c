// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_show.c - "info", "text", "depth", "report", "metrics" and "count": the record, or a part
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cmd.h"
#include "output/files.h"
#include "live/watch.h"

/* Default of --top: each series of a stack costs the server memory */
#define METRICS_TOP	10

void cmd_info(struct session *s, struct output *o, struct args *a)
{
	(void)a;
	session_need_info(s);
	if (s->source.live)
		o->left = override_left(override_dir(), s->record.info.page.instance);
	output_info(o, s->source.name, &s->set, s->instance, s->instances);
}

void cmd_text(struct session *s, struct output *o, struct args *a)
{
	session_report_missing_of(s, ARRAY_TEXT);
	report_count(s->record.half_texts, "record was half written and is left out",
		     "records were half written and are left out");
	report_count(s->record.info.text_overwritten, "older record was overwritten (TEXT_KB=)",
		     "older records were overwritten (TEXT_KB=)");
	report_count(s->record.info.text_given_up,
		     "stack was evicted, or its code was freed, before its record was written",
		     "stacks were evicted, or their code was freed, before their records were written");
	output_text(o, &a->wanted.filter);
}

void cmd_depth(struct session *s, struct output *o, struct args *a)
{
	(void)a;
	session_need_info(s);
	session_report_missing_of(s, ARRAY_INFO);
	output_depth(o);
}

/* Return the output of "info"; the caller frees it */
static char *info_text(struct session *s, const struct output *o, enum output_format format)
{
	struct output info = *o;
	size_t len;
	char *text;

	info.format = format;
	info.file = text_open(&text, &len);
	output_info(&info, s->source.name, &s->set, s->instance, s->instances);
	text_close(info.file);
	return text;
}

void cmd_report(struct session *s, struct output *o, struct args *a)
{
	struct record *rec = &s->record;
	/* These count the events of the ring, so call them before the filter is applied */
	char *json = info_text(s, o, FORMAT_JSON), *text = info_text(s, o, FORMAT_TEXT), state[256];
	struct report page = {
		.info = json, .info_text = text, .state = output_state(o, state, sizeof(state)),
		.source = s->source.name, .set = &s->set,
		.now = session_now(s),
		/* NULL stands for all totals */
		.event = rec->event ?: &(struct stackbuf_event){ 0 },
	};

	session_report_missing(s);
	session_choose_functions(s);
	page.error = cmd_error_paths(s, a, &page.errors);
	page.nr = filter_apply(&a->wanted.filter, rec->event, rec->events);
	if (!page.nr)
		output_no_event(o);
	if (page.nr > REPORT_EVENTS_MAX) {
		report("the page has the newest %u events of %zu: choose others with --until or --around",
		       REPORT_EVENTS_MAX, page.nr);
		page.left_out = page.nr - REPORT_EVENTS_MAX;
		page.event += page.left_out;
		page.nr -= page.left_out;
	}
	report_write(o, &page, a->word[0]);
	free(json);
	free(text);
}

void cmd_metrics(struct session *s, struct output *o, struct args *a)
{
	const char *name = a->to ?: "-";
	struct outfile out;
	char *before;

	session_load_steady(s);
	session_report_missing(s);
	session_need_info(s);
	if (!o->top)
		o->top = METRICS_TOP;
	/* Another user reads it */
	if (outfile_open(&out, name, 0644, true))
		die(1, "%s: cannot be written: %s%s", name, strerror(errno), errno == EACCES ?
		    " (also where another user owns the directory, or a link to it)" : "");
	before = metrics_read(name);
	o->file = out.file;
	metrics_write(o, before);
	if (outfile_close(&out, ferror(out.file)))
		die(1, "%s: cannot be written: %m", name);
	o->file = stdout;
	free(before);
}

/* ---------------------- "count": every distinct stack with its total --- */

/* A total is the count in the table plus the events in the ring, if no page moved in between */
void cmd_count(struct session *s, struct output *o, struct args *a)
{
	struct record *rec = &s->record;
	bool events = filter_events(&a->wanted.filter);
	struct stack *stack;
	u64 lacking;
	size_t nr, i;

	session_load_steady(s);
	session_report_missing(s);
	session_report_sampled(s);
	session_choose_functions(s);
	if (events) {
		report("only events still in the ring are counted: the filter must see each event");
		nr = filter_apply(&a->wanted.filter, rec->event, rec->events);
		if (!nr)
			output_no_event(o);
		if (cmd_profile(o, a, rec->event ?: &(struct stackbuf_event){ 0 }, nr))
			return;
		/* Pass an array even if it is empty: NULL means all events since loading */
		output_count(o, &a->wanted.filter,
			     nr ? rec->event : &(struct stackbuf_event){ 0 }, nr);
		return;
	}
	session_report_unsure(s);
	/*
	 * Overwritten events were added to the counts of their stacks: check if each was.  On a
	 * running system, and in its snapshots, some were counted after the table was read.
	 */
	lacking = rec->info.overwritten - rec->info.evicted_events;
	for (i = 0; (stack = stacks_next(&rec->stacks, &i)) && lacking; )
		lacking -= stack->count < lacking ? stack->count : lacking;
	if (rec->have_info && s->source.ops && !s->source.ops->read && !s->set.live &&
	    lacking && lacking <= rec->info.overwritten)
		report("totals are too small, by %llu events in all: pages of stacks are missing, damaged, or were found only as old copies",
		       lacking);
	session_report_evicted(s);
	if (!output_totals(o, &a->wanted.filter))
		output_no_stack(o, "the record", output_totals(o, &(struct filter){ 0 }));
	if (!cmd_profile(o, a, NULL, 0))
		output_count(o, &a->wanted.filter, NULL, 0);
}
