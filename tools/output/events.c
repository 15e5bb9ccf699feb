// SPDX-License-Identifier: GPL-2.0
/*
 * events.c - events and totals, each with its stack: plain text, folded, JSON, perf; the text log
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include "output/output.h"
#include "symbol/decode.h"

/* ----------------------------------------------------- a stack, as text --- */

static void block_perf(const struct stack *stack, unsigned int i, FILE *f)
{
	const struct frame *one = &stack->frame[i];
	int n = strcspn(one->text, "/ ");

	if (!one->name_len)
		fprintf(f, "\t%16llx [unknown] ([kernel.kallsyms])\n", one->addr);
	else if (one->module_len)
		fprintf(f, "\t%16llx %.*s ([%.*s])\n", one->addr, n, one->text,
			(int)one->module_len, one->module);
	else
		fprintf(f, "\t%16llx %.*s ([kernel.kallsyms])\n", one->addr, n, one->text);
}

const char *output_stack_text(const struct output *o, struct stack *stack, size_t *length)
{
	unsigned int i;
	FILE *f;

	if (stack->block) {
		*length = stack->block_len;
		return stack->block;
	}
	symbols_name(o->symbols, stack);
	f = text_open(&stack->block, &stack->block_len);
	switch (o->format) {
	case FORMAT_TEXT:
		for (i = 0; i < stack->named; i++)
			fprintf(f, "\t%s%s\n", stack->frame[i].text, output_line(o, stack, i));
		if (stack->cut)
			fputs("\t" FRAMES_CUT "\n", f);
		if (stack->gone)
			fprintf(f, "\tstack %u is gone\n", stack->id);
		break;
	case FORMAT_PERF:
		for (i = 0; i < stack->named; i++)
			block_perf(stack, i, f);
		if (stack->cut)
			fprintf(f, "\t%16x [more_frames_were_not_kept] ([stackbuf])\n", 0);
		if (stack->gone)
			fprintf(f, "\t%16x [stack_%u_is_gone] ([stackbuf])\n", 0, stack->id);
		break;
	case FORMAT_FOLDED:
		if (stack->cut)
			fputs(FRAMES_CUT ";", f);
		for (i = stack->named; i--; )
			fprintf(f, FRAME_SHORT "%s", FRAME_IN_SHORT(&stack->frame[i], FRAME_FOLDED),
				i ? ";" : "");
		if (stack->gone)
			fprintf(f, "stack %u is gone", stack->id);
		break;
	case FORMAT_PPROF:
	case FORMAT_FLAME:
		break;
	case FORMAT_JSON:
		json_stack_keys(o, stack, f);
		break;
	}
	text_close(f);
	*length = stack->block_len;
	return stack->block;
}

static const char *names_mark(const struct stack *stack)
{
	switch (stack->name_origin) {
	case NAMES_SNAPSHOT:
		return "names from snapshot";
	case NAMES_KALLSYMS:
		return "names from kallsyms";
	case NAMES_NONE:
		return "names missing";
	default:
		return "";
	}
}

/* ---------------------------------------------------------------- events --- */

void output_json(const struct output *o, json_t *object, struct stack *stack)
{
	size_t len;
	const char *keys = output_stack_text(o, stack, &len);

	json_print(o, object, keys, len);
}

json_t *json_event(const struct output *o, const struct stackbuf_event *e)
{
	json_t *j = json_object();
	char when[64], comm[STACKBUF_COMM_LEN];

	json_object_set_new(j, "time_ns", json_ns(e->time));
	if (o->record->have_info)
		json_object_set_new(j, "wall_ns", json_ns(output_realtime(o, e->time)));
	if (o->wall)
		json_object_set_new(j, "wall",
				    json_string(output_time(o, e->time, when, sizeof(when))));
	json_object_set_new(j, "cpu", json_integer(e->cpu));
	json_object_set_new(j, "pid", json_integer(e->pid));
	json_object_set_new(j, "tgid", json_integer(e->tgid));
	json_object_set_new(j, "comm", json_string(output_comm(e->comm, comm)));
	json_object_set_new(j, "context", json_string(output_context(e)));
	if (e->tagged)
		json_object_set_new(j, "tag", json_hex(e->tag));
	json_machine(o, j);
	return j;
}

void output_head(const struct output *o)
{
	if (o->format == FORMAT_TEXT)
		fprintf(o->file, "%-*s %-15s %-7s %-3s %-10s %-7s %-7s %s\n", o->wall ? 35 : 18,
			"TIME(s)", "COMM", "PID", "CPU", "STACK", "TGID", "CONTEXT", "TAG");
}

void output_event(const struct output *o, const struct stackbuf_event *e)
{
	struct stack *stack = output_stack(o, e->id);
	const char *block, *mark;
	char when[64], tag[32] = "", comm[STACKBUF_COMM_LEN];
	size_t len;

	if (o->format == FORMAT_JSON) {
		output_json(o, json_event(o, e), stack);
		return;
	}
	block = output_stack_text(o, stack, &len);
	output_time(o, e->time, when, sizeof(when));
	output_comm(e->comm, comm);
	if (o->format == FORMAT_PERF) {
		/* As in output_folded_comm(): "#" begins a comment, and a blank a frame */
		if (!*comm)
			strcpy(comm, "?");
		else if (strchr("# ", *comm))
			*comm = '_';
		fprintf(o->file, "%s %u/%u [%03u] %s: 1 stackbuf:\n", comm, e->tgid, e->pid,
			e->cpu, when);
	} else {
		mark = names_mark(stack);
		if (e->tagged)
			snprintf(tag, sizeof(tag), "%#llx", e->tag);
		fprintf(o->file, "%-18s %-15s %-7u %-3u %-10u %-7u %s", when, comm,
			e->pid, e->cpu, e->id, e->tgid, output_context(e));
		if (*tag || *mark)
			fprintf(o->file, "%*s%s%s%s%s",
				(int)(8 - strlen(output_context(e))), "", tag,
				*mark ? *tag ? "  (" : "(" : "", mark, *mark ? ")" : "");
		putc('\n', o->file);
	}
	fwrite(block, 1, len, o->file);
	putc('\n', o->file);
}

void output_folded(const struct output *o, const struct stackbuf_event *event, size_t nr)
{
	struct stack_total *total;
	size_t i, len;

	nr = output_event_totals(o, NULL, event, nr, output_command_order, &total);
	for (i = 0; i < nr; i++) {
		const char *block = output_stack_text(o, total[i].stack, &len);

		output_folded_comm(o, total[i].label->comm);
		fprintf(o->file, ";%.*s %llu\n", (int)len, block, total[i].events);
	}
	free(total);
}

/* ---------------------------------------------------------------- totals --- */

static int by_events(const void *a, const void *b)
{
	const struct stack_total *x = a, *y = b;

	return compare_u64(x->events, y->events) ?: compare_u64(x->stack->id, y->stack->id);
}

void output_total(const struct output *o, struct stack *stack, u64 count, u64 sum,
		  const char *comm, u32 tgid, u64 now)
{
	json_t *j = json_object();
	char text[64];

	json_object_set_new(j, "count", json_number(count));
	if (o->percent)
		json_object_set_new(j, "percent", json_real(output_percent(count, sum)));
	if (now)
		json_object_set_new(j, "wall", json_string(output_day(now, text, sizeof(text))));
	if (comm) {
		json_object_set_new(j, "comm", json_string(output_comm(comm, text)));
		json_object_set_new(j, "tgid", json_integer(tgid));
	}
	json_machine(o, j);
	output_json(o, j, stack);
}

size_t output_totals(const struct output *o, const struct filter *f)
{
	struct stack *stack;
	size_t i, n = 0;

	for (i = 0; (stack = stacks_next(&o->record->stacks, &i)); )
		n += stack_events(stack) && filter_stack(f, stack->id);
	return n;
}

void output_count(const struct output *o, const struct filter *f,
		  const struct stackbuf_event *event, size_t nr)
{
	struct record *r = o->record;
	struct stack_total *total;
	struct stack *stack;
	size_t i, n = 0;
	u64 sum = 0;

	if (event) {
		for (i = 0; (stack = stacks_next(&r->stacks, &i)); ) {
			stack->in_ring = 0;
			stack->count = 0;
		}
		for (i = 0; i < nr; i++)
			output_stack(o, event[i].id)->in_ring++;
	}
	total = xcalloc(r->stacks.nr + 1, sizeof(*total));
	for (i = 0; (stack = stacks_next(&r->stacks, &i)); )
		if (stack_events(stack) && filter_stack(f, stack->id))
			total[n++] = (struct stack_total){
				.stack = stack, .events = stack_events(stack),
			};
	sort(total, n, sizeof(*total), by_events);

	for (i = 0; i < n; i++)
		sum += total[i].events;
	for (i = o->top && n > o->top ? n - o->top : 0; i < n; i++) {
		const char *block;
		size_t len;

		stack = total[i].stack;
		if (o->format == FORMAT_JSON) {
			output_total(o, stack, total[i].events, sum, NULL, 0, 0);
			continue;
		}
		block = output_stack_text(o, stack, &len);
		if (o->format == FORMAT_FOLDED) {
			output_prefix(o);
			fprintf(o->file, "%.*s %llu\n", (int)len, block, total[i].events);
			continue;
		}
		/* Format of stackcount: two blanks before a frame, four before the count */
		for (; len; len -= strcspn(block, "\n") + 1, block += strcspn(block, "\n") + 1)
			fprintf(o->file, "  %.*s\n", (int)strcspn(block + 1, "\n"), block + 1);
		fprintf(o->file, "    %llu", total[i].events);
		if (o->percent)
			fprintf(o->file, "  %.2f %%", output_percent(total[i].events, sum));
		if (*names_mark(stack))
			fprintf(o->file, "  (%s)", names_mark(stack));
		fputs("\n\n", o->file);
	}
	free(total);
}

/* ------------------------------------------------------ the text log --- */

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

