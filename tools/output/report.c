// SPDX-License-Identifier: GPL-2.0
/*
 * report.c - one page to pass on: what was recorded and lost, flame graph, events over time, stacks
 *
 * The page holds the record as JSON, every string once and events in columns, so that a browser
 * reads 250,000 of them in a fraction of a second; report.js shows it.  The record is not trusted:
 * its text cannot end the element that holds it, the script never takes it for HTML, and the
 * page's policy forbids a browser to load anything.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include "output/outfile.h"
#include "output/files.h"
#include "record/pairs.h"

static const char script[] =
#include "search_js.h"
#include "report_js.h"
;

static const char style[] =
#include "report_css.h"
;

/**
 * struct page - what is put into the page
 * @stack: all stacks, by id
 * @frames: frames of each, as text
 * @stacks: how many
 * @text: each distinct text of a frame, in order
 * @texts: how many
 */
struct page {
	struct stack **stack;
	char ***frames;
	size_t stacks;
	const char **text;
	size_t texts;
};

/* Write JSON in which no "<" ends a script element */
static void put_safe(FILE *f, const char *json)
{
	for (; *json; json++) {
		if (*json == '<')
			fputs("\\u003c", f);
		else
			putc(*json, f);
	}
}

static void put_string(FILE *f, const char *text)
{
	json_t *string = json_string(text);
	char *json = string ? json_dumps(string, JSON_ENCODE_ANY | JSON_ENSURE_ASCII) : NULL;

	put_safe(f, json ?: "\"?\"");
	free(json);
	json_decref(string);
}

static int by_id(const void *a, const void *b)
{
	const struct stack *const *x = a, *const *y = b;

	return compare_u64((*x)->id, (*y)->id);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The frames of a stack, innermost first, with their source lines if these are wanted */
static char **stack_frames(const struct output *o, struct stack *stack)
{
	char **frame;
	unsigned int i;

	symbols_name(o->symbols, stack);
	frame = xcalloc(stack->named + 1, sizeof(*frame));
	for (i = 0; i < stack->named; i++)
		frame[i] = xasprintf("%s%s", stack->name[i], output_line(o, stack, i));
	return frame;
}

static void collect(struct page *p, const struct output *o, const struct stackbuf_event *event,
		    size_t nr)
{
	struct stack *stack;
	size_t i, n;

	for (i = 0; i < nr; i++)
		output_stack(o, event[i].id);
	p->stack = xcalloc(o->record->stacks.nr + 1, sizeof(*p->stack));
	p->frames = xcalloc(o->record->stacks.nr + 1, sizeof(*p->frames));
	for (i = 0; (stack = stacks_next(&o->record->stacks, &i)); )
		p->stack[p->stacks++] = stack;
	sort(p->stack, p->stacks, sizeof(*p->stack), by_id);
	for (i = 0; i < p->stacks; i++) {
		p->frames[i] = stack_frames(o, p->stack[i]);
		for (n = 0; p->frames[i][n]; n++) {
			GROW(p->text, p->texts);
			p->text[p->texts++] = p->frames[i][n];
		}
	}
	sort(p->text, p->texts, sizeof(*p->text), by_text);
	for (i = n = 0; i < p->texts; i++)
		if (!n || strcmp(p->text[n - 1], p->text[i]))
			p->text[n++] = p->text[i];
	p->texts = n;
}

static void release(struct page *p)
{
	size_t i, n;

	for (i = 0; i < p->stacks; i++) {
		for (n = 0; p->frames[i][n]; n++)
			free(p->frames[i][n]);
		free(p->frames[i]);
	}
	free(p->frames);
	free(p->stack);
	free(p->text);
}

/* "stack": of each its id, total, whether it is cut or gone, places of its frames in "frame" */
static void put_stacks(FILE *f, const struct page *p)
{
	size_t i, n;

	fputs(",\n\"frame\":[", f);
	for (i = 0; i < p->texts; i++) {
		fputs(i ? ",\n" : "\n", f);
		put_string(f, p->text[i]);
	}
	fputs("],\n\"stack\":[", f);
	for (i = 0; i < p->stacks; i++) {
		const struct stack *stack = p->stack[i];

		fprintf(f, "%s\n[%u,%llu,%d,[", i ? "," : "", stack->id,
			stack->count + stack->in_ring, stack->gone ? 2 : stack->cut ? 1 : 0);
		for (n = 0; p->frames[i][n]; n++)
			fprintf(f, "%s%td", n ? "," : "",
				(const char **)bsearch(&p->frames[i][n], p->text, p->texts,
						       sizeof(*p->text), by_text) - p->text);
		fputs("]]", f);
	}
	putc(']', f);
}

/* "pair": of each its name, whether it is exact, and by stack what is open and what was closed */
static void put_pairs(FILE *f, const struct page *p, const struct output *o)
{
	struct stackbuf_pair pair;
	unsigned int number = 0;
	bool first = true;
	size_t i;

	fputs(",\n\"pair\":[", f);
	while (pairs_next(o->record, &number, &pair)) {
		struct pair_totals t;

		pairs_read(o->record, number, ~0ULL, &t);
		fputs(first ? "\n[" : ",\n[", f);
		first = false;
		put_string(f, t.name);
		fprintf(f, ",%d,[", pairs_exact(&t));
		for (i = 0; i < t.nr; i++) {
			const struct pair_total *one = &t.total[i];
			struct stack **place = bsearch(&one->stack, p->stack, p->stacks,
						       sizeof(*p->stack), by_id);

			fprintf(f, "%s\n[%td,%llu,%llu,%llu,%llu,%llu]", i ? "," : "",
				place - p->stack, one->open, one->value, one->closed, one->sum,
				one->longest);
		}
		fputs("]]", f);
		pairs_free(&t);
	}
	putc(']', f);
}

static int by_comm(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Names of commands are of a fixed size, so each distinct one is found by bsearch() */
static void put_commands(FILE *f, const struct stackbuf_event *event, size_t nr)
{
	char (*comm)[STACKBUF_COMM_LEN] = xcalloc(nr + 1, sizeof(*comm));
	char text[STACKBUF_COMM_LEN], (*at)[STACKBUF_COMM_LEN];
	size_t i, n = 0;

	for (i = 0; i < nr; i++)
		strcpy(comm[i], output_comm(event[i].comm, text));
	sort(comm, nr, sizeof(*comm), by_comm);
	for (i = 0; i < nr; i++)
		if (!n || strcmp(comm[n - 1], comm[i]))
			memmove(comm[n++], comm[i], sizeof(*comm));
	fputs(",\n\"comm\":[", f);
	for (i = 0; i < n; i++) {
		fputs(i ? "," : "", f);
		put_string(f, comm[i]);
	}
	fputs("],\n\"comm_of\":[", f);
	for (i = 0; i < nr; i++) {
		at = bsearch(output_comm(event[i].comm, text), comm, n, sizeof(*comm), by_comm);
		fprintf(f, "%s%td", i ? "," : "", at - comm);
	}
	putc(']', f);
	free(comm);
}

enum column { AFTER, CPU, PID, TGID, CONTEXT, TAG, STACK_OF, COLUMNS };

static const char *const column_name[COLUMNS] = {
	"after", "cpu", "pid", "tgid", "context", "tag", "stack_of"
};

/* Write event @i of a column; a time is the distance from the event before */
static void put_value(FILE *f, const struct page *p, const struct output *o, enum column c,
		      const struct stackbuf_event *event, size_t i)
{
	const struct stackbuf_event *e = &event[i];
	const struct stack *stack;
	struct stack **place;

	switch (c) {
	case AFTER:
		fprintf(f, "%llu", e->time - event[i ? i - 1 : 0].time);
		break;
	case CPU:
		fprintf(f, "%u", e->cpu);
		break;
	case PID:
		fprintf(f, "%u", e->pid);
		break;
	case TGID:
		fprintf(f, "%u", e->tgid);
		break;
	case CONTEXT:
		fprintf(f, "%u", e->context & 3);
		break;
	case TAG:
		fprintf(f, e->tagged ? "\"%#llx\"" : "%llu", e->tagged ? e->tag : 0);
		break;
	default:
		stack = output_stack(o, e->id);
		place = bsearch(&stack, p->stack, p->stacks, sizeof(*p->stack), by_id);
		fprintf(f, "%td", place - p->stack);
	}
}

static void put_events(FILE *f, const struct page *p, const struct output *o,
		       const struct stackbuf_event *event, size_t nr)
{
	enum column column;
	size_t i;

	fprintf(f, ",\n\"start\":\"%llu\"", nr ? event->time : 0);
	for (column = 0; column < COLUMNS; column++) {
		fprintf(f, ",\n\"%s\":[", column_name[column]);
		for (i = 0; i < nr; i++) {
			if (i)
				putc(',', f);
			put_value(f, p, o, column, event, i);
		}
		putc(']', f);
	}
	put_commands(f, event, nr);
}

static void put_page(FILE *f, const struct output *o, const char *info,
		     const struct stackbuf_event *event, size_t nr, size_t left_out)
{
	struct page p = { 0 };

	collect(&p, o, event, nr);
	fprintf(f, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
		"<meta name=\"viewport\" content=\"width=device-width\">\n"
		"<meta name=\"generator\" content=\"stackbuf " VERSION "\">\n"
		"<title>stackbuf: report</title>\n<style>\n%s</style>\n</head>\n<body>\n"
		"<noscript>This page shows the record by a script, which this browser does not run.</noscript>\n"
		"<script type=\"application/json\" id=\"record\">\n{\"info\":", style);
	put_safe(f, info);
	fprintf(f, ",\n\"left_out\":%zu", left_out);
	put_stacks(f, &p);
	put_pairs(f, &p, o);
	put_events(f, &p, o, event, nr);
	fprintf(f, "}\n</script>\n<script>\n%s</script>\n</body>\n</html>\n", script);
	release(&p);
}

void report_write(const struct output *o, const char *info, const struct stackbuf_event *event,
		  size_t nr, const char *name)
{
	size_t left_out = nr > REPORT_EVENTS_MAX ? nr - REPORT_EVENTS_MAX : 0, len = 0;
	char *text;
	FILE *f = text_open(&text, &len);

	put_page(f, o, info, event + left_out, nr - left_out, left_out);
	text_close(f);
	/* Addresses of the kernel are its owner's only, as in a snapshot */
	outfile_write(name, 0600, text, len);
	free(text);
}
