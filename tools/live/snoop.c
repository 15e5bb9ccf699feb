// SPDX-License-Identifier: GPL-2.0
/*
 * snoop.c - each call of a function with its stack, as bcc's stacksnoop prints it
 */
#include <string.h>
#include "live/watch.h"

/* So many are still printed after an interrupt; the ring may hold a lot */
#define REST_MAX	1000

struct snooper {
	struct watch *w;
	u64 started, printed, rest, hidden;
};

static void print_head(const struct watch *w)
{
	if (w->o->format == FORMAT_JSON)
		return;
	if (w->verbose)
		fprintf(w->o->file, "%-18s %-15s %-7s %-3s %s\n", "TIME(s)", "COMM", "PID", "CPU",
			"STACK");
	else
		fprintf(w->o->file, "%-18s %s\n", "TIME(s)", "STACK");
}

static void print_event(const struct watch *w, const struct event *e, const struct stack *stack)
{
	FILE *f = w->o->file;
	unsigned int i;
	char when[32], comm[STACKBUF_COMM_LEN];

	if (w->o->format == FORMAT_JSON) {
		output_event(w->o, e);
		return;
	}
	snprintf(when, sizeof(when), "%llu.%09llu", e->time / NSEC_PER_SEC, e->time % NSEC_PER_SEC);
	fprintf(f, "%-18s ", when);
	if (w->verbose)
		fprintf(f, "%-15s %-7u %-3u ", output_comm(e->comm, comm), e->tgid, e->cpu);
	fprintf(f, "%.*s", (int)strcspn(stack->name[0], "+ "), stack->name[0]);
	if (e->tagged)
		fprintf(f, " tag=%#llx", e->tag);
	putc('\n', f);
	for (i = 0; i < stack->named; i++) {
		putc('\t', f);
		watch_frame(w, stack->name[i]);
		putc('\n', f);
	}
	if (stack->cut)
		fputs("\t(more frames were not kept)\n", f);
	putc('\n', f);
}

static bool take_event(void *arg, const struct event *e)
{
	struct snooper *me = arg;
	struct watch *w = me->w;
	struct stack *stack = stacks_find(&w->o->record->stacks, e->stack);

	if (w->number && me->printed == w->number)
		return false;
	if (!stack || watch_own(w, e) || !watch_wants(w, stack))
		return true;
	if (w->live && stop && me->rest++ >= REST_MAX) {
		me->hidden++;
		return true;
	}
	symbols_name(w->o->symbols, stack);
	print_event(w, e, stack);
	me->printed++;
	return !w->number || me->printed < w->number;
}

static int begin(void *arg)
{
	struct snooper *me = arg;

	if (watch_begin(me->w)) {
		snprintf(me->w->source->error, sizeof(me->w->source->error), "%s", me->w->error);
		return -1;
	}
	me->started = now_ns();
	print_head(me->w);
	fflush(me->w->o->file);
	return 0;
}

static bool enough(void *arg, u64 lost)
{
	const struct snooper *me = arg;

	(void)lost;
	return watch_over(me->w) || (me->w->duration && now_ns() - me->started >= me->w->duration);
}

static int end(void *arg)
{
	const struct snooper *me = arg;

	if (!watch_end(me->w))
		return 0;
	snprintf(me->w->source->error, sizeof(me->w->source->error), "%s", me->w->error);
	return -1;
}

static void rest(void *arg, u64 lost)
{
	const struct snooper *me = arg;

	(void)lost;
	if (me->hidden)
		fprintf(stderr, "stackbuf: %llu events more had been recorded when it was interrupted; stackbuf log has them\n",
			me->hidden);
}

int snoop(struct watch *w)
{
	struct snooper me = { .w = w };
	const struct follow_hooks hooks = {
		.arg = &me, .begin = begin, .event = take_event, .enough = enough, .end = end,
		.rest = rest,
	};
	struct record *r = w->o->record;
	size_t i, nr;
	int ret;

	if (watch_prepare(w))
		return -1;
	if (!w->live) {
		print_head(w);
		nr = watch_choose(w);
		for (i = 0; i < nr; i++)
			if (!take_event(&me, &r->event[i]))
				break;
		return watch_finish(w);
	}
	ret = follow(w->source, w->o, w->filter, &hooks);
	if (ret)
		snprintf(w->error, sizeof(w->error), "%s", w->source->error);
	return ret ? ret : watch_finish(w);
}
