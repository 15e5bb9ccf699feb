// SPDX-License-Identifier: GPL-2.0
/*
 * snoop.c - each call of a function with its stack, as bcc's stacksnoop prints it
 */
#include <string.h>
#include "ending.h"
#include "live/watch.h"

/* Limit of events printed after an interrupt: the ring may have many */
#define REST_MAX	1000

struct snooper {
	struct watch *w;
	u64 printed, rest, hidden;
};

static void print_head(const struct watch *w)
{
	int width = w->o->wall ? 35 : 18;

	if (w->o->format != FORMAT_TEXT)
		return;
	if (w->verbose)
		fprintf(w->o->file, "%-*s %-15s %-7s %-3s %s\n", width, "TIME(s)", "COMM", "PID",
			"CPU", "STACK");
	else
		fprintf(w->o->file, "%-*s %s\n", width, "TIME(s)", "STACK");
}

static void print_event(const struct watch *w, const struct stackbuf_event *e,
			const struct stack *stack)
{
	FILE *f = w->o->file;
	unsigned int i;
	char when[64], comm[STACKBUF_COMM_LEN];

	if (w->o->format != FORMAT_TEXT) {
		output_event(w->o, e);
		return;
	}
	fprintf(f, "%-18s ", output_time(w->o, e->time, when, sizeof(when)));
	if (w->verbose)
		fprintf(f, "%-15s %-7u %-3u ", output_comm(e->comm, comm), e->tgid, e->cpu);
	fprintf(f, "%.*s", (int)strcspn(stack->frame[0].text, "+ "), stack->frame[0].text);
	if (e->tagged)
		fprintf(f, " tag=%#llx", e->tag);
	putc('\n', f);
	for (i = 0; i < stack->named; i++) {
		putc('\t', f);
		watch_frame(w, &stack->frame[i]);
		fputs(output_line(w->o, stack, i), f);
		putc('\n', f);
	}
	if (stack->cut)
		fputs("\t" FRAMES_CUT "\n", f);
	putc('\n', f);
}

static bool take_event(void *arg, const struct stackbuf_event *e)
{
	struct snooper *ctx = arg;
	struct watch *w = ctx->w;
	struct stack *stack = stacks_find(&w->o->record->stacks, e->id);

	if (w->number && ctx->printed == w->number)
		return false;
	if (!stack || watch_own(e) || !watch_wants(w, stack))
		return true;
	if (interrupted && ctx->rest++ >= REST_MAX) {
		ctx->hidden++;
		return true;
	}
	symbols_name(w->o->symbols, stack);
	print_event(w, e, stack);
	ctx->printed++;
	return !w->number || ctx->printed < w->number;
}

static void begin(void *arg)
{
	struct snooper *ctx = arg;

	watch_begin(ctx->w);
	print_head(ctx->w);
	fflush(ctx->w->o->file);
}

static bool enough(void *arg, u64 lost)
{
	(void)lost;
	return watch_over(((struct snooper *)arg)->w);
}

static void end(void *arg)
{
	watch_end(((struct snooper *)arg)->w);
}

static void rest(void *arg, u64 lost, u64 evicted)
{
	const struct snooper *ctx = arg;

	(void)lost;
	watch_report_evicted(evicted);
	if (ctx->hidden)
		report("%llu more events had been recorded when it was interrupted: stackbuf log shows them",
		       ctx->hidden);
}

void snoop_run(struct watch *w)
{
	struct snooper ctx = { .w = w };
	const struct follow_hooks hooks = {
		.arg = &ctx, .begin = begin, .event = take_event, .enough = enough, .end = end,
		.rest = rest,
	};

	watch_prepare(w);
	follow_events(w->source, w->o, w->filter, &hooks);
	watch_finish(w);
}
