// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_count.c - "count": every distinct stack with its total
 */
#include "cmd.h"

/* A total is what the table counted plus what is in the ring, if no page moved in between */
void cmd_count(struct session *s, struct output *o, struct args *a)
{
	struct record *rec = &s->record;
	bool events = filter_events(&a->wanted.filter);
	struct stack *stack;
	u64 unsure, lacking;
	size_t nr, i;

	session_load_steady(s);
	session_report_missing(s);
	session_report_sampled(s);
	if (events) {
		report("only events still in the ring are counted: the filter must see each event");
		nr = filter_apply(&a->wanted.filter, rec->event, rec->events);
		if (!nr)
			output_no_event(o, false);
		if (cmd_profile(o, a, rec->event ?: &(struct stackbuf_event){ 0 }, nr))
			return;
		/* Pass an array even if it is empty: NULL means all events since loading */
		output_count(o, &a->wanted.filter,
			     nr ? rec->event : &(struct stackbuf_event){ 0 }, nr);
		return;
	}
	unsure = (u64)(s->set.changed + rec->rebuilt) * PAGE_EVENTS_MAX + rec->half;
	if (unsure)
		report("totals may be too small, by at most %llu events in all", unsure);
	/*
	 * Overwritten events were added to the counts of their stacks: is each of them here?  Of a
	 * running system, as a snapshot is, some were counted after the table was read.
	 */
	lacking = rec->info.overwritten - rec->info.evicted_events;
	for (i = 0; (stack = stacks_next(&rec->stacks, &i)) && lacking; )
		lacking -= stack->count < lacking ? stack->count : lacking;
	if (rec->have_info && s->source.ops && !s->source.ops->read && !s->set.live &&
	    lacking && lacking <= rec->info.overwritten)
		report("totals are too small, by %llu events in all: pages of stacks are missing, or were found only as old copies",
		       lacking);
	session_report_evicted(s);
	if (!output_totals(o, &a->wanted.filter))
		output_no_stack(o, "the record", output_totals(o, &(struct filter){ 0 }));
	if (!cmd_profile(o, a, NULL, 0))
		output_count(o, &a->wanted.filter, NULL, 0);
}
