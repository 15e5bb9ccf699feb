// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_life.c - "life": the history of an object: events with tags inside it
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cmd.h"

/* Report why events may be missing */
static void report_lack(const struct output *o, const struct search *found)
{
	const struct record *r = o->record;
	u64 refused = record_refused(r), missed = probes_missed(r);
	u64 left_out = record_left_out(r);
	char when[64];

	if (refused || missed)
		report("%llu events were refused and %llu hits missed since the module was loaded: some may be of this address",
		       refused, missed);
	if (left_out)
		report("%llu events were not recorded because of a filter, a sample or a limit: some may be of this address",
		       left_out);
	if (r->info.overwritten && found->searched)
		report("the ring goes back to %s: earlier events are not known",
		       output_time(o, r->whole_since ?: found->oldest, when, sizeof(when)));
}

/* An interrupt is not part of its task, and each CPU has an idle task of its own, with PID 0 */
static const char *task_after(const struct stackbuf_event *e, const struct stackbuf_event *before)
{
	if (e->context || before->context)
		return "";
	if (e->pid != before->pid || (!e->pid && e->cpu != before->cpu))
		return ", another task";
	return e->cpu != before->cpu ? ", the same task on another CPU" : ", the same task";
}

/* "2. kfree [ext4], at +16, 0.001203456 s later, another task" */
static void print_step(const struct output *o, const struct args *a, size_t n,
		       const struct stackbuf_event *e, const struct stackbuf_event *before)
{
	struct stack *stack = output_stack(o, e->id);
	u64 start = a->wanted.filter.tag.range->first, after = before ? e->time - before->time : 0;

	symbols_name(o->symbols, stack);
	if (stack->named)
		fprintf(o->file, "%zu. " FRAME_SHORT, n,
			FRAME_IN_SHORT(&stack->frame[0], FRAME_FOR_PEOPLE));
	else
		fprintf(o->file, "%zu. stack that is gone", n);
	if (e->tag != start)
		fprintf(o->file, ", at +%llu", e->tag - start);
	if (before)
		fprintf(o->file, ", %llu.%09llu s later%s", after / NSEC_PER_SEC,
			after % NSEC_PER_SEC, task_after(e, before));
	putc('\n', o->file);
}

void cmd_life(struct session *s, struct output *o, struct args *a)
{
	struct record *rec = &s->record;
	const struct stackbuf_event *before = NULL;
	size_t i, nr;

	o->by_address = true;
	session_report_missing(s);
	report_lack(o, o->search);
	nr = filter_apply(&a->wanted.filter, rec->event, rec->events);
	if (!nr)
		output_no_event(o);
	for (i = 0; i < nr; before = &rec->event[i++]) {
		if (o->format == FORMAT_TEXT)
			print_step(o, a, i + 1, &rec->event[i], before);
		output_event(o, &rec->event[i]);
	}
}
