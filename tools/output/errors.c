// SPDX-License-Identifier: GPL-2.0
/*
 * errors.c - errors by the path on which they were returned: plain text, folded, JSON
 */
#include <string.h>
#include "output/output.h"

/* Print the error's name in front of each frame whose function returned it */
static void print_frames(const struct output *o, const struct error_path *p)
{
	const char *name = error_name(p->error);
	struct stack *stack = p->stack;
	unsigned int i;
	char mark[40];

	for (i = 0; i < stack->named; i++) {
		snprintf(mark, sizeof(mark), "[%s]", error_returned(p, i) ? name : "");
		fprintf(o->file, "\t%-*s %s%s\n", (int)strlen(name) + 2,
			error_returned(p, i) ? mark : "", stack->frame[i].text,
			output_line(o, stack, i));
	}
	if (stack->cut)
		fputs("\t" FRAMES_CUT "\n", o->file);
	putc('\n', o->file);
}

static void print_text(const struct output *o, const struct error_path *p, bool log)
{
	const struct stackbuf_event *e = &p->event;
	char when[64], comm[STACKBUF_COMM_LEN];

	if (log)
		fprintf(o->file, "%-18s %-15s %-7u %-3u ",
			output_time(o, e->time, when, sizeof(when)), output_comm(e->comm, comm),
			e->pid, e->cpu);
	else
		fprintf(o->file, "%llu ", p->count);
	fprintf(o->file, "%s from " FRAME_SHORT "\n", error_name(p->error),
		FRAME_IN_SHORT(&p->stack->frame[0], FRAME_FOR_PEOPLE));
	print_frames(o, p);
}

static void print_json(const struct output *o, const struct error_path *p, bool log)
{
	json_t *j = log ? json_event(o, &p->event) : json_object(), *returned = json_array();
	unsigned int i;

	if (!log) {
		json_object_set_new(j, "count", json_number(p->count));
		json_machine(o, j);
	}
	json_object_set_new(j, "error", json_string(error_name(p->error)));
	for (i = 0; i < p->stack->named; i++)
		if (error_returned(p, i))
			json_array_append_new(returned, json_integer(i));
	json_object_set_new(j, "returned", returned);
	output_json(o, j, p->stack);
}

/* Print the error as the outermost frame, like the command of events */
static void print_folded(const struct output *o, const struct error_path *p)
{
	size_t len;
	const char *block = output_stack_text(o, p->stack, &len);

	fprintf(o->file, "%s;%.*s %llu\n", error_name(p->error), (int)len, block, p->count);
}

void output_errors(const struct output *o, const struct error_path *path, size_t nr, bool log)
{
	size_t i;

	if (log && o->format == FORMAT_TEXT)
		fprintf(o->file, "%-*s %-15s %-7s %-3s %s\n", o->wall ? 35 : 18, "TIME(s)", "COMM",
			"PID", "CPU", "ERROR");
	for (i = 0; i < nr; i++)
		if (o->format == FORMAT_JSON)
			print_json(o, &path[i], log);
		else if (o->format == FORMAT_FOLDED)
			print_folded(o, &path[i]);
		else
			print_text(o, &path[i], log);
}
