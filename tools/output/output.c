// SPDX-License-Identifier: GPL-2.0
/*
 * output.c - common parts of all formats: times, commands, stacks by id, source lines
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "output/output.h"

const char *output_day(u64 ns, char *buf, size_t size)
{
	time_t sec = ns / NSEC_PER_SEC;
	struct tm tm;
	char day[32];

	localtime_r(&sec, &tm);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(buf, size, "%s.%09llu%c%02ld:%02ld", day, ns % NSEC_PER_SEC,
		 tm.tm_gmtoff < 0 ? '-' : '+', labs(tm.tm_gmtoff) / 3600,
		 labs(tm.tm_gmtoff) / 60 % 60);
	return buf;
}

u64 output_realtime(const struct output *o, u64 ns)
{
	return info_to_wall(&o->record->info, ns);
}

const char *output_time(const struct output *o, u64 ns, char *buf, size_t size)
{
	if (o->wall)
		return output_day(output_realtime(o, ns), buf, size);
	snprintf(buf, size, "%llu.%09llu", ns / NSEC_PER_SEC, ns % NSEC_PER_SEC);
	return buf;
}

struct stack *output_stack(const struct output *o, u32 id)
{
	struct stack *stack = stacks_find(&o->record->stacks, id);

	if (!stack) {
		stack = stacks_get(&o->record->stacks, id);
		stack->gone = true;
	}
	return stack;
}

const char *output_comm(const char *comm, char text[STACKBUF_COMM_LEN])
{
	unsigned int i;

	for (i = 0; i < STACKBUF_COMM_LEN - 1 && comm[i]; i++)
		text[i] = printable_ascii(comm[i]);
	text[i] = '\0';
	return text;
}

void output_folded_comm(const struct output *o, const char *comm)
{
	char text[STACKBUF_COMM_LEN];
	const char *p;

	for (p = *output_comm(comm, text) ? text : "?"; *p; p++)
		putc(*p == ';' || (*p == '#' && p == text) ? '_' : *p, o->file);
}

static const char *const context_name[] = { "task", "softirq", "hardirq", "nmi" };

const char *output_context(const struct stackbuf_event *e)
{
	return context_name[e->context & 3];
}

int output_label_order(const struct stackbuf_event *a, const struct stackbuf_event *b)
{
	const u64 one[] = { a->cpu, a->pid, a->tgid, a->context, a->tagged, a->tag };
	const u64 other[] = { b->cpu, b->pid, b->tgid, b->context, b->tagged, b->tag };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(one); i++)
		if (one[i] != other[i])
			return compare_u64(one[i], other[i]);
	return strcmp(a->comm, b->comm);
}

int output_command_order(const struct stackbuf_event *a, const struct stackbuf_event *b)
{
	return strcmp(a->comm, b->comm) ?: compare_u64(a->id, b->id);
}

/* Compares pointers to events; @order points to an event_order */
static int by_order(const void *a, const void *b, void *order)
{
	return (*(event_order **)order)(*(const struct stackbuf_event *const *)a,
					*(const struct stackbuf_event *const *)b);
}

size_t output_event_totals(const struct output *o, const struct filter *f,
			   const struct stackbuf_event *event, size_t nr, event_order *order,
			   struct stack_total **total)
{
	const struct stackbuf_event **sorted = xcalloc(nr + 1, sizeof(*sorted));
	size_t i, n, chosen = 0, totals = 0;

	for (i = 0; i < nr; i++)
		if (!f || filter_stack(f, event[i].id))
			sorted[chosen++] = &event[i];
	sort_with(sorted, chosen, sizeof(*sorted), by_order, &order);
	*total = NULL;
	for (i = 0; i < chosen; i += n) {
		for (n = 1; i + n < chosen && !order(sorted[i], sorted[i + n]); n++)
			;
		GROW(*total, totals);
		(*total)[totals++] = (struct stack_total){
			.stack = output_stack(o, sorted[i]->id), .label = sorted[i], .events = n,
		};
	}
	free(sorted);
	return totals;
}

void output_prefix(const struct output *o)
{
	if (o->prefix)
		fprintf(o->file, "%s;", o->prefix);
}

double output_percent(u64 count, u64 sum)
{
	return sum ? 100.0 * count / sum : 0;
}

/* A frame's function: by its name, or else by the image of the kernel */
static const char *function_of(const struct output *o, const struct frame *f, size_t *len)
{
	const char *name = f->name;

	if (!f->name_len && f->addr)
		name = srcline_function(o->srcline, f->addr);
	*len = f->name_len ?: strlen(name);
	return name;
}

const char *output_line(const struct output *o, const struct stack *stack, unsigned int i)
{
	const struct frame *before = i ? &stack->frame[i - 1] : NULL;
	enum frame_kind kind = FRAME_OPEN;
	struct frame f = stack->frame[i];
	const char *text = NULL, *name;
	enum frame_entry entry;
	size_t len;

	if (!o->srcline || (!f.name_len && !f.addr))
		return "";
	if (!before && stack->origin == STACKBUF_AT_PROBE) {
		kind = FRAME_EXACT;
	} else if (before) {
		name = function_of(o, before, &len);
		entry = frame_entry(name, len);
		name = function_of(o, &f, &len);
		kind = frame_was_interrupted(entry, name, len) ? FRAME_EXACT : FRAME_RETURN;
	}
	f.time = stack->first;
	if (srcline_frame(o->srcline, &f, kind, &text))
		die(1, "%s", srcline_error(o->srcline));
	return text ? text : "";
}
