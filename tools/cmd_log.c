// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_log.c - "log": every event in the ring, or events as they are recorded
 */
#include "cmd.h"
#include "live/watch.h"

void cmd_log(struct session *s, struct output *o, struct args *a)
{
	struct record *rec = &s->record;
	size_t i, nr;

	if (a->given & BIT(OPT_FOLLOW)) {
		/* A copy of the arrays does not change */
		if (!s->source.ops->read || !(s->source.live || args_live(a)))
			die(1, "%s: does not grow, so there is nothing to follow", s->source.name);
		session_need_info(s);
		report("following: events from now on%s; Ctrl-C ends it",
		       a->wanted.filter.has_last || a->wanted.filter.has_since ?
		       ", after the selected ones" : " (--last 10 shows that many before)");
		follow_events(&s->source, o, &a->wanted.filter, NULL);
		return;
	}
	session_report_missing(s);
	session_choose_functions(s);
	nr = filter_apply(&a->wanted.filter, rec->event, rec->events);
	if (!nr)
		output_no_event(o);
	if (cmd_profile(o, a, rec->event ?: &(struct stackbuf_event){ 0 }, nr))
		return;
	if (o->format == FORMAT_FOLDED) {
		output_folded(o, rec->event, nr);
		return;
	}
	output_head(o);
	for (i = 0; i < nr; i++)
		output_event(o, &rec->event[i]);
}
