// SPDX-License-Identifier: GPL-2.0
/*
 * report.c - one page to pass on: recorded and lost events, flame graph, events over time, stacks
 *
 * The page has the record as JSON, every string once and events in columns, so that a browser reads
 * 250,000 of them in a fraction of a second; report.js shows it.  The record is not trusted: its
 * text cannot end the element that contains it, the script never treats it as HTML, and the page's
 * policy forbids a browser to load anything.
 */
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "output/files.h"

static const char script[] =
#include "search_js.h"
#include "flame_js.h"
#include "report_js.h"
;

static const char style[] =
#include "report_css.h"
;

enum {
	SINCE, CPU, PID, TGID, CONTEXT, TAG, STACK_OF, COMM_OF, EVENT_COLUMNS,
	COMM = EVENT_COLUMNS, STACK, FRAME, PAIR, ERROR, COLUMNS
};

/*
 * Columns of events: SINCE is the time since the previous event, STACK_OF and COMM_OF are indices
 */
static const char *const column_name[COLUMNS] = {
	"after", "cpu", "pid", "tgid", "context", "tag", "stack_of", "comm_of",
	"comm", "stack", "frame", "pair", "error",
};

/* One array of the page */
struct column {
	FILE *file;	/* writes @text, its elements as JSON, @len bytes */
	char *text;
	size_t len;
	u64 nr;
	/* For an array without duplicates: struct named, with each string's index as its id */
	void *tree;
};

/* Write JSON so that no "<" ends a script element */
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

/* Add an element, on its own line, and free it */
static void put_json(struct column *c, json_t *element)
{
	fputs(c->nr++ ? ",\n" : "\n", c->file);
	json_dump_callback(element, put_safe, c->file,
			   JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
	json_decref(element);
}

/* The index of a string, which is added if it is new */
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

/*
 * For each stack: its id, total, whether it is cut or gone, and its frames, with their source lines
 */
static void put_stacks(struct column *column, const struct output *o)
{
	struct stack *stack;
	unsigned int n;
	size_t i;

	for (i = 0; (stack = stacks_next(&o->record->stacks, &i)); ) {
		json_t *frames = json_array();

		symbols_name(o->symbols, stack);
		for (n = 0; n < stack->named; n++) {
			char *text = xasprintf("%s%s", stack->frame[n].text,
					       output_line(o, stack, n));

			json_array_append_new(frames, json_integer(place_of(&column[FRAME], text)));
			free(text);
		}
		put_json(&column[STACK], json_pack("[I,o,i,o]", (json_int_t)stack->id,
						   json_number(stack_events(stack)),
						   stack->gone ? 2 : stack->cut, frames));
	}
}

/* Time from @time to @now, ns */
static json_t *age(u64 now, u64 time)
{
	return json_number(now > time ? now - time : 0);
}

/* For each pair: its name, whether it is exact, and outstanding and closed objects by stack */
static void put_pairs(struct column *column, const struct output *o, u64 now)
{
	struct stackbuf_pair pair;
	unsigned int number = 0;
	size_t i;

	while (pairs_next(o->record, &number, &pair)) {
		json_t *totals = json_array();
		struct pair_totals t;

		pairs_read(o->record, number, PAIR_ALWAYS, &t);
		for (i = 0; i < t.nr; i++) {
			const struct pair_total *one = &t.total[i];

			json_array_append_new(totals, json_pack("[I,o,o,o,o,o,o,o]",
				(json_int_t)one->stack->place, json_number(one->open),
				json_number(one->value), json_number(one->closed),
				json_number(one->sum), json_number(one->longest),
				age(now, one->newest), age(now, one->oldest)));
		}
		put_json(&column[PAIR], json_pack("[s,b,o]", t.name, pairs_exact(&t), totals));
		pairs_free(&t);
	}
}

/* For each path: its stack, count, error, and which frames returned it */
static void put_errors(struct column *column, const struct output *o, const struct report *page)
{
	unsigned int n;
	size_t i;

	for (i = 0; i < page->errors; i++) {
		const struct error_path *p = &page->error[i];
		json_t *returned = json_array();

		for (n = 0; n < p->stack->named; n++)
			if (error_returned(p, n))
				json_array_append_new(returned, json_integer(n));
		put_json(&column[ERROR], json_pack("[I,o,s,o]",
						   (json_int_t)output_stack(o, p->stack->id)->place,
						   json_number(p->count), error_name(p->error),
						   returned));
	}
}

/* ------------------------------------------------------------------ page --- */

/* Print text of the record as text of the page */
static void put_text(FILE *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put_text(FILE *f, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		die(1, "out of memory");
	va_end(args);
	put_escaped(f, printable(text), SIZE_MAX);
	free(text);
}

/* Names of pairs and probes in the title; the others are counted */
#define NAMES_SHOWN	4

static void put_name(FILE *f, const char *name, unsigned int *nr)
{
	if ((*nr)++ < NAMES_SHOWN)
		put_text(f, "%s%s", *nr == 1 ? ": " : ", ", name);
}

static void put_title(FILE *f, const struct output *o)
{
	const struct record *r = o->record;
	unsigned int i = 0, nr = 0;
	struct stackbuf_probe probe;
	struct stackbuf_pair pair;

	put_text(f, "%s, Linux %s", o->symbols->host ?: "stackbuf",
		 r->have_info ? r->info.release : "unknown");
	while (pairs_next(r, &i, &pair)) {
		struct pair_totals t;

		pairs_read(r, i, PAIR_ALWAYS, &t);
		put_name(f, t.name, &nr);
		pairs_free(&t);
	}
	for (i = 0; probe_next(r, &i, &probe); )
		if (!probe.pair)
			put_name(f, probe.name, &nr);
	if (nr > NAMES_SHOWN)
		fprintf(f, " and %u more", nr - NAMES_SHOWN);
	if (!nr)
		fputs(": stackbuf_save()", f);
}

/* Format with commas between thousands */
static const char *number(u64 n, char text[32])
{
	char digits[24], *to = text;
	const char *from = digits;

	for (snprintf(digits, sizeof(digits), "%llu", n); *from; ) {
		*to++ = *from++;
		if (*from && strlen(from) % 3 == 0)
			*to++ = ',';
	}
	*to = '\0';
	return text;
}

static void put_losses(FILE *f, const struct output *o, const struct page_set *set,
		       size_t left_out)
{
	const struct record *r = o->record;
	const struct {
		u64 n;
		bool bad;
		const char *text;
	} loss[] = {
		{ r->lost[STACKBUF_LOST_OFF], true, "events were refused while recording was off" },
		{ r->lost[STACKBUF_LOST_NESTED], true, "events were refused, nested too deep" },
		{ r->lost[STACKBUF_LOST_TABLE], true,
		  "events were refused, the stack table was full" },
		{ r->lost[STACKBUF_LOST_PAGE], true,
		  "events were refused, the ring had no room" },
		{ r->lost[STACKBUF_LOST_EMPTY], true, "events were refused, no frame was found" },
		{ probes_missed(r), true, "hits were missed by probes: " WHY_MISSED },
		{ r->lost[STACKBUF_EXCLUDED], false,
		  "events were filtered out, or came from a reader of the record" },
		{ r->lost[STACKBUF_NOT_SAMPLED], true,
		  "events were left out by sampling: totals and graph lack them" },
		{ r->lost[STACKBUF_OVER_LIMIT], true,
		  "events were left out, as the limit was reached" },
		{ r->info.overwritten, false,
		  "events were overwritten by newer ones: only totals of stacks have them" },
		{ r->info.evicted_events, true,
		  "events at most are in no total: their stacks were evicted from the table" },
		{ r->lost[STACKBUF_CUT], false, "traces were cut" },
		{ (u64)r->missing[ARRAY_INFO] + r->missing[ARRAY_EVENTS] +
		  r->missing[ARRAY_STACKS] + r->missing[ARRAY_TEXT], true,
		  "pages are missing in the source" },
		{ r->damaged, true, "pages are damaged" },
		{ set->changed, false, "pages changed while they were read" },
		{ set->unreadable, true, "pages could not be read" },
		{ r->half, true, "events were half written" },
		{ left_out, true, "older events do not fit into this page" },
	};
	char text[32];
	bool any = false;
	size_t i;

	fputs("<ul id=\"losses\">\n", f);
	if (!r->have_info)
		fputs("<li class=\"bad\">how many events were refused, missed, overwritten or left out is unknown: the page of stackbuf_info is missing</li>\n",
		      f);
	for (i = 0; i < ARRAY_SIZE(loss); i++) {
		if (!loss[i].n || (i <= 10 && !r->have_info))
			continue;
		fprintf(f, "<li%s>%s ", loss[i].bad ? " class=\"bad\"" : "",
			number(loss[i].n, text));
		put_text(f, "%s", loss[i].text);
		fputs("</li>\n", f);
		any = true;
	}
	if (!any && r->have_info)
		fputs("<li>no event was refused, missed, overwritten or evicted</li>\n", f);
	fputs("</ul>\n", f);
}

static void put_head(FILE *f, const struct output *o, const struct report *page)
{
	const struct stackbuf_info *info = &o->record->info;
	const struct stackbuf_event *event = page->event;
	char text[32], when[64], time[64];
	size_t nr = page->nr;

	fputs("<h1>", f);
	put_title(f, o);
	fputs("</h1>\n<p id=\"machine\">", f);
	if (o->record->have_info)
		put_text(f, "%s, %u CPUs; ", output_machine(info), info->nr_cpus);
	else
		fputs("machine unknown; ", f);
	put_text(f, "%s; recording ", page->source);
	put_text(f, "%s", page->state);
	fputs("</p>\n<p id=\"recorded\">", f);
	fprintf(f, "%s recorded, ", o->record->have_info ?
		number(info->overwritten + o->record->events, text) : "unknown how many were");
	fprintf(f, "%s in the ring, ", number(o->record->events, text));
	fprintf(f, "%s in this page", number(nr, text));
	if (nr) {
		fprintf(f, ", from %s s ", output_time(o, event[0].time, time, sizeof(time)));
		if (o->record->have_info)
			fprintf(f, "(%s) ", output_day(output_realtime(o, event[0].time), when,
						       sizeof(when)));
		fprintf(f, "to %s s after boot",
			output_time(o, event[nr - 1].time, time, sizeof(time)));
	}
	fputs("</p>\n", f);
	put_losses(f, o, page->set, page->left_out);
}

static void put_page(FILE *f, const struct output *o, const struct report *page)
{
	static const char *const tab[][2] = {
		{ "flame", "Flame graph" }, { "stacks", "Stacks" }, { "events", "Events" },
		{ "errors", "Errors" }, { "pairs", "Pairs" }, { "record", "Record" },
	};
	struct column column[COLUMNS] = { 0 };
	struct output as_graph = *o;
	struct stackbuf_pair pair;
	unsigned int c, number = 0;
	const char *line, *next;
	struct profile graph = { 0 };
	size_t i;

	fprintf(f, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
		"<meta name=\"viewport\" content=\"width=device-width\">\n"
		"<meta name=\"generator\" content=\"stackbuf " VERSION "\">\n<title>");
	put_title(f, o);
	fprintf(f, "</title>\n<style>\n%s</style>\n</head>\n<body>\n"
		"<noscript>This page shows the record by a script, which this browser does not run.</noscript>\n",
		style);
	put_head(f, o, page);
	fputs("<canvas id=\"timeline\" role=\"img\" aria-label=\"events over time, a row for each CPU\"></canvas>\n"
	      "<div id=\"axis\"><span></span><span>a row for each CPU with events: click one; drag: zoom; Esc: back</span><span></span></div>\n"
	      "<div id=\"bar\" role=\"tablist\"><span id=\"range\" aria-live=\"polite\"></span>"
	      "<input id=\"search\" type=\"search\" placeholder=\"search functions, commands\" aria-label=\"search\">\n",
	      f);
	for (i = 0; i < ARRAY_SIZE(tab); i++)
		if ((strcmp(tab[i][0], "pairs") || pairs_next(o->record, &number, &pair)) &&
		    (strcmp(tab[i][0], "errors") || page->errors))
			fprintf(f, "<button role=\"tab\" data-tab=\"%s\">%s</button>\n", tab[i][0],
				tab[i][1]);
	fputs("</div>\n<div id=\"flame\">\n<div id=\"told\" class=\"faint\"><span class=\"details\">"
	      "Click: zoom.  The width is the number of events in which a function was on the stack.</span>"
	      "<span class=\"matched\"></span><button class=\"reset hidden\">show all</button></div>\n",
	      f);
	as_graph.format = FORMAT_FLAME;
	fputs("<div id=\"graph\">\n", f);
	profile_events(&graph, &as_graph, NULL, page->event, page->nr);
	graph.commands = false;
	flame_put(o, &graph, f);
	free(graph.total);
	fputs("</div>\n</div>\n<main id=\"view\"></main>\n<pre id=\"info\" class=\"hidden\">", f);
	for (line = page->info_text; *line; line = next) {
		next = line + strcspn(line, "\n");
		put_text(f, "%.*s", (int)(next - line), line);
		fputs("\n", f);
		next += !!*next;
	}
	fputs("</pre>\n<script type=\"application/json\" id=\"record\">\n{\"info\":", f);
	put_safe(page->info, strlen(page->info), f);
	fprintf(f, ",\n\"left_out\":%zu,\n\"start\":\"%llu\"", page->left_out,
		page->nr ? page->event->time : 0);
	for (c = 0; c < COLUMNS; c++)
		column[c].file = text_open(&column[c].text, &column[c].len);
	/* Events first: they add stacks that are gone */
	put_events(column, o, page->event, page->nr);
	put_stacks(column, o);
	put_pairs(column, o, page->now);
	put_errors(column, o, page);
	for (c = 0; c < COLUMNS; c++) {
		text_close(column[c].file);
		fprintf(f, ",\n\"%s\":[%s]", column_name[c], column[c].text);
		free(column[c].text);
		named_free(&column[c].tree);
	}
	fprintf(f, "}\n</script>\n<script>\n%s</script>\n</body>\n</html>\n", script);
}

void report_write(const struct output *o, const struct report *page, const char *name)
{
	size_t len = 0;
	char *text;
	FILE *f = text_open(&text, &len);

	put_page(f, o, page);
	text_close(f);
	/* Only the owner may read the kernel's addresses, as in a snapshot */
	outfile_write(name, 0600, text, len);
	free(text);
}
