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
#include "output/files.h"

static const char script[] =
#include "search_js.h"
#include "report_js.h"
;

static const char style[] =
#include "report_css.h"
;

enum {
	SINCE, CPU, PID, TGID, CONTEXT, TAG, STACK_OF, COMM_OF, EVENT_COLUMNS,
	COMM = EVENT_COLUMNS, STACK, FRAME, PAIR, COLUMNS
};

/* Of events: SINCE is the time from the event before, STACK_OF and COMM_OF are places in arrays */
static const char *const column_name[COLUMNS] = {
	"after", "cpu", "pid", "tgid", "context", "tag", "stack_of", "comm_of",
	"comm", "stack", "frame", "pair",
};

/* One array of the page */
struct column {
	FILE *file;	/* writes @text, its elements as JSON, of @len bytes */
	char *text;
	size_t len;
	u64 nr;	/* how many */
	/* If it has every string once: struct named, with the place of each as its id */
	void *tree;
};

/* Write JSON in which no "<" ends a script element */
static int put_safe(const char *json, size_t len, void *file)
{
	for (; len--; json++) {
		if (*json == '<')
			fputs("\\u003c", file);
		else
			putc(*json, file);
	}
	return 0;
}

/* Add an element, in a line of its own, and free it */
static void put_json(struct column *c, json_t *element)
{
	fputs(c->nr++ ? ",\n" : "\n", c->file);
	json_dump_callback(element, put_safe, c->file,
			   JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
	json_decref(element);
}

/* The place of a string, which is added if it is new */
static u64 place_of(struct column *c, const char *text)
{
	bool is_new;
	struct named *known = named_get(&c->tree, text, &is_new);

	if (is_new) {
		known->id = c->nr;
		put_json(c, json_string(text) ?: json_string("?"));
	}
	return known->id;
}

static void put_events(struct column *column, const struct output *o,
		       const struct stackbuf_event *event, size_t nr)
{
	char comm[STACKBUF_COMM_LEN];
	unsigned int c;
	size_t i;

	for (i = 0; i < nr; i++) {
		const struct stackbuf_event *e = &event[i];
		const u64 value[EVENT_COLUMNS] = {
			[SINCE] = e->time - event[i ? i - 1 : 0].time,
			[CPU] = e->cpu, [PID] = e->pid, [TGID] = e->tgid,
			[CONTEXT] = e->context & 3, [TAG] = e->tagged ? e->tag : 0,
			[STACK_OF] = output_stack(o, e->id)->place,
			[COMM_OF] = place_of(&column[COMM], output_comm(e->comm, comm)),
		};

		for (c = 0; c < EVENT_COLUMNS; c++)
			fprintf(column[c].file,
				c == TAG && e->tagged ? "%s\"%#llx\"" : "%s%llu", i ? "," : "",
				value[c]);
	}
}

/* Of each its id, total, whether it is cut or gone, and its frames, with their source lines */
static void put_stacks(struct column *column, const struct output *o)
{
	struct stack *stack;
	unsigned int n;
	size_t i;

	for (i = 0; (stack = stacks_next(&o->record->stacks, &i)); ) {
		json_t *frames = json_array();

		symbols_name(o->symbols, stack);
		for (n = 0; n < stack->named; n++) {
			char *text = xasprintf("%s%s", stack->name[n], output_line(o, stack, n));

			json_array_append_new(frames, json_integer(place_of(&column[FRAME], text)));
			free(text);
		}
		put_json(&column[STACK], json_pack("[I,o,i,o]", (json_int_t)stack->id,
						   json_number(stack->count + stack->in_ring),
						   stack->gone ? 2 : stack->cut, frames));
	}
}

/* Of each its name, whether it is exact, and by stack what is open and what was closed */
static void put_pairs(struct column *column, const struct output *o)
{
	struct stackbuf_pair pair;
	unsigned int number = 0;
	size_t i;

	while (pairs_next(o->record, &number, &pair)) {
		json_t *totals = json_array();
		struct pair_totals t;

		pairs_read(o->record, number, ~0ULL, &t);
		for (i = 0; i < t.nr; i++) {
			const struct pair_total *one = &t.total[i];

			json_array_append_new(totals, json_pack("[I,o,o,o,o,o]",
				(json_int_t)one->stack->place, json_number(one->open),
				json_number(one->value), json_number(one->closed),
				json_number(one->sum), json_number(one->longest)));
		}
		put_json(&column[PAIR], json_pack("[s,b,o]", t.name, pairs_exact(&t), totals));
		pairs_free(&t);
	}
}

static void put_page(FILE *f, const struct output *o, const char *info,
		     const struct stackbuf_event *event, size_t nr, size_t left_out)
{
	struct column column[COLUMNS] = { 0 };
	unsigned int c;

	fprintf(f, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
		"<meta name=\"viewport\" content=\"width=device-width\">\n"
		"<meta name=\"generator\" content=\"stackbuf " VERSION "\">\n"
		"<title>stackbuf: report</title>\n<style>\n%s</style>\n</head>\n<body>\n"
		"<noscript>This page shows the record by a script, which this browser does not run.</noscript>\n"
		"<script type=\"application/json\" id=\"record\">\n{\"info\":", style);
	put_safe(info, strlen(info), f);
	fprintf(f, ",\n\"left_out\":%zu,\n\"start\":\"%llu\"", left_out, nr ? event->time : 0);
	for (c = 0; c < COLUMNS; c++)
		column[c].file = text_open(&column[c].text, &column[c].len);
	/* Events first: they enter stacks that are gone */
	put_events(column, o, event, nr);
	put_stacks(column, o);
	put_pairs(column, o);
	for (c = 0; c < COLUMNS; c++) {
		text_close(column[c].file);
		fprintf(f, ",\n\"%s\":[%s]", column_name[c], column[c].text);
		free(column[c].text);
		named_free(&column[c].tree);
	}
	fprintf(f, "}\n</script>\n<script>\n%s</script>\n</body>\n</html>\n", script);
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
