// SPDX-License-Identifier: GPL-2.0
/*
 * flame.c - a flame graph: an SVG, with zoom and search in it, alone or inside a report
 *
 * The width of a function is the number of events with it on the stack; its caller is below it.
 * The file has all frames, with positions in units of events; flame.js only moves them.  The kernel
 * and modules have different colours.
 */
#include <stdlib.h>
#include <string.h>
#include "output/files.h"

#define FRAME_HEIGHT	17
#define HEAD_HEIGHT	64
#define FOOT_HEIGHT	8
#define CHAR_WIDTH	7.23	/* of 12px monospace */
#define WIDTH		1200	/* assumed; flame.js uses the real one */

/* Frames narrower than 1/NARROWEST of the whole width are left out */
#define NARROWEST	1000000

static const char script[] =
#include "search_js.h"
#include "flame_js.h"
"flame_alone();\n"
;

/* In a report these rules are for the whole page */
static const char style[] =
	".stackbuf { font: 12px 'DejaVu Sans Mono', Menlo, Consolas, 'Liberation Mono', monospace; background: #fff; }\n"
	".stackbuf text { fill: #1a1a1a; pointer-events: none; }\n"
	".stackbuf .title { font-size: 16px; font-weight: bold; }\n"
	".f { cursor: pointer; }\n"
	".f rect { stroke: #fff; stroke-width: 0.6; rx: 1.5px; }\n"
	".f:hover rect { stroke: #000; stroke-width: 1; }\n"
	".f text { clip-path: inset(0); }\n"
	".up { opacity: 0.55; }\n"
	".hidden { display: none; }\n"
	".match rect { fill: #d63384 !important; }\n"
	".stackbuf .match text { fill: #fff; }\n"
	".stackbuf .reset { cursor: pointer; fill: #0b5ed7; text-decoration: underline; pointer-events: all; }\n"
	".stackbuf input { box-sizing: border-box; width: 100%; height: 24px; font: inherit; padding: 2px 6px; border: 1px solid #999; border-radius: 4px; background: #fff; color: #1a1a1a; }\n"
	"@media (prefers-color-scheme: dark) {\n"
	".stackbuf { background: #1b1b1f; }\n"
	".stackbuf text { fill: #e8e8e8; }\n"
	".stackbuf .f text { fill: #1a1a1a; }\n"
	".f rect { stroke: #1b1b1f; }\n"
	".stackbuf .reset { fill: #7db1ff; }\n"
	".stackbuf input { background: #2a2a30; color: #e8e8e8; }\n"
	"}\n";

/* A stack, outermost name first, and its events; in a difference, the record as well */
struct line {
	char **name;
	unsigned int nr;
	u64 events;
	bool before;
};

/*
 * In the graph of a difference, the width of a record's events is their share, so that records of
 * different length can be compared; the width of a frame is the sum of both.
 */
struct graph {
	FILE *file;
	bool diff;
	u64 events[SIDES];
	struct line *line;
	size_t lines;
	u64 total;
	unsigned int depth;	/* of the deepest frame */
	unsigned int head;	/* pixels above it */
	const char *unit;	/* of widths */
	u64 frames, omitted;
};

/* Bytes that continue a character of UTF-8 */
static bool continues(char c)
{
	return (c & 0xc0) == 0x80;
}

static size_t characters(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += !continues(*text);
	return n;
}

void put_escaped(FILE *f, const char *text, size_t len)
{
	for (; *text; text++) {
		if (!continues(*text) && !len--)
			return;
		if (strchr("&<>\"", *text))
			fprintf(f, "&#%d;", *text);
		else
			putc(*text, f);
	}
}

static int line_order(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	unsigned int i;

	for (i = 0; i < x->nr && i < y->nr; i++) {
		int c = strcmp(x->name[i], y->name[i]);

		if (c)
			return c;
	}
	return compare_u64(x->nr, y->nr);
}

/* The outermost frame of a total */
static char *command_of(const struct profile *p, const struct stack_total *total)
{
	const struct stackbuf_event *label = total->label;
	char text[STACKBUF_COMM_LEN];

	if (!label || !*label->comm)
		return xstrdup("?");
	output_comm(label->comm, text);
	return p->processes ? xasprintf("%s-%u", text, label->tgid) : xstrdup(text);
}

static void add_line(struct graph *g, const struct output *o, const struct profile *p,
		     const struct stack_total *total)
{
	struct stack *stack = total->stack;
	struct line *line;
	unsigned int i, n = 0;

	if (!total->events)
		return;
	symbols_name(o->symbols, stack);
	GROW(g->line, g->lines);
	line = &g->line[g->lines++];
	line->name = xcalloc(stack->named + 3, sizeof(*line->name));
	line->events = total->events;
	line->before = total->before;
	g->events[line->before ? BEFORE : AFTER] += line->events;
	if (total->error)
		line->name[n++] = xstrdup(total->error);
	else if (p->commands)
		line->name[n++] = command_of(p, total);
	if (stack->cut)
		line->name[n++] = xstrdup(FRAMES_CUT);
	if (stack->gone)
		line->name[n++] = xstrdup("(stacks that are gone)");
	for (i = stack->named; i--; )
		line->name[n++] = printable(xasprintf(FRAME_SHORT, FRAME_IN_SHORT(&stack->frame[i],
								   FRAME_FOR_PEOPLE)));
	line->nr = n;
	if (n > g->depth)
		g->depth = n;
}

/* Warm colours for the kernel, cool for modules, grey for names that are not functions */
static void put_colour(FILE *f, const char *name, unsigned int depth, bool commands)
{
	u32 hash = hash_bytes(name, strcspn(name, " "));

	hash ^= hash >> 15;
	if (!depth || *name == '(' || (depth == 1 && commands))
		fprintf(f, "hsl(220,12%%,%u%%)", 74 + hash % 9);
	else if (strchr(name, '['))
		fprintf(f, "hsl(%u,52%%,%u%%)", 165 + hash % 32, 62 + hash / 64 % 11);
	else
		fprintf(f, "hsl(%u,%u%%,%u%%)", 12 + hash % 36, 82 + hash / 64 % 12,
			62 + hash / 1024 % 9);
}

/* Width of one record */
#define DIFF_WIDTH	1e9

static u64 line_width(const struct graph *g, const struct line *line)
{
	u64 all = g->events[line->before ? BEFORE : AFTER];

	/* Not by ?:, which would make a double of the events */
	if (!g->diff)
		return line->events;
	return (double)line->events / all * DIFF_WIDTH;
}

/* Red if the share grew, blue if it shrank, deeper for larger changes; grey if equal */
static void put_diff_colour(FILE *f, const double share[SIDES])
{
	double sum = share[BEFORE] + share[AFTER];
	double change = sum > 0 ? (share[AFTER] - share[BEFORE]) / sum : 0;
	double much = change < 0 ? -change : change;

	if (much < 0.01)
		fputs("hsl(0,0%,85%)", f);
	else
		fprintf(f, "hsl(%d,85%%,%.0f%%)", change > 0 ? 10 : 220, 92 - 32 * much);
}

/* Print the shares of a frame of lines @first to @last - 1 in both records */
static void put_diff_title(struct graph *g, const struct line *first, const struct line *last,
			   double share[SIDES])
{
	u64 events[SIDES] = { 0 };
	int side;

	for (; first < last; first++)
		events[first->before ? BEFORE : AFTER] += first->events;
	for (side = BEFORE; side < SIDES; side++)
		share[side] = output_percent(events[side], g->events[side]);
	fprintf(g->file, " (before: %llu events, %.2f %%; after: %llu events, %.2f %%)",
		events[BEFORE], share[BEFORE], events[AFTER], share[AFTER]);
}

/* @first to @last - 1 are the lines with the frame */
static void put_frame(struct graph *g, const char *name, unsigned int depth, u64 from, u64 events,
		      bool commands, const struct line *first, const struct line *last)
{
	double share[SIDES] = { 0 };
	/* Without events the graph is only the frame "all" */
	double x = g->total ? 100.0 * from / g->total : 0;
	double width = g->total ? 100.0 * events / g->total : 100;
	int chars = (WIDTH * width / 100 - 6) / CHAR_WIDTH, len = characters(name);
	unsigned int y = g->head + (g->depth - depth) * FRAME_HEIGHT;

	if ((double)events * NARROWEST < g->total) {
		g->omitted++;
		return;
	}
	g->frames++;
	fprintf(g->file, "<g class=\"f\" data-x=\"%llu\" data-w=\"%llu\"><title>", from, events);
	put_escaped(g->file, name, len);
	if (g->diff)
		put_diff_title(g, first, last, share);
	else
		fprintf(g->file, " (%llu %s, %.2f %%)", events, g->unit, width);
	fprintf(g->file, "</title><rect x=\"%.4f%%\" y=\"%u\" width=\"%.4f%%\" height=\"%u\" fill=\"",
		x, y, width, FRAME_HEIGHT - 1);
	if (g->diff)
		put_diff_colour(g->file, share);
	else
		put_colour(g->file, name, depth, commands);
	fprintf(g->file, "\"/><text x=\"%.4f%%\" dx=\"4\" y=\"%u\">", x, y + 12);
	if (chars >= len) {
		put_escaped(g->file, name, len);
	} else if (chars >= 3) {
		put_escaped(g->file, name, chars - 2);
		fputs("..", g->file);
	}
	fputs("</text></g>\n", g->file);
}

/* Draw the frames of lines @first to @last - 1, which are sorted and equal below @depth */
static void put_frames(struct graph *g, size_t first, size_t last, unsigned int depth, u64 from,
		       bool commands)
{
	size_t i, end;

	/* Stacks that end at this depth are sorted first */
	for (i = first; i < last && g->line[i].nr == depth; i++)
		from += line_width(g, &g->line[i]);
	for (; i < last; i = end) {
		u64 events = 0;

		for (end = i; end < last && !strcmp(g->line[i].name[depth],
						    g->line[end].name[depth]); end++)
			events += line_width(g, &g->line[end]);
		put_frame(g, g->line[i].name[depth], depth + 1, from, events, commands,
			  &g->line[i], &g->line[end]);
		put_frames(g, i, end, depth + 1, from, commands);
		from += events;
	}
}

static void put_details(struct graph *g, const struct output *o)
{
	const struct stackbuf_info *info = &o->record->info;

	if (g->diff)
		fprintf(g->file, "%llu events before, %llu after; red: a larger share, blue: a smaller one",
			g->events[BEFORE], g->events[AFTER]);
	else
		fprintf(g->file, "%llu %s", g->total, g->unit);
	if (o->record->have_info) {
		fputs(", Linux ", g->file);
		put_escaped(g->file, info->release, sizeof(info->release));
	}
	fputs(".  Click: zoom.  Ctrl-F: search, regular expressions too.  Esc: back.", g->file);
}

static void put_graph(struct graph *g, bool commands)
{
	fprintf(g->file, "<style>\n%s</style>\n", style);
	put_frame(g, "all", 0, 0, g->total, commands, g->line, g->line + g->lines);
	put_frames(g, 0, g->lines, 0, 0, commands);
}

static void put_begin(const struct graph *g, const char *attributes)
{
	fprintf(g->file, "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"stackbuf\" width=\"100%%\" height=\"%u\" data-total=\"%llu\" data-unit=\"%s\"%s>\n",
		g->head + (g->depth + 1) * FRAME_HEIGHT + FOOT_HEIGHT, g->total, g->unit,
		attributes);
}

static void put_file(struct graph *g, const struct output *o, bool commands)
{
	FILE *f = g->file;

	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n", f);
	put_begin(g, g->diff ? " data-diff=\"1\"" : "");
	fputs("<title>stackbuf: flame graph</title>\n"
	      "<text class=\"title\" x=\"10\" y=\"24\">stackbuf: kernel call stacks</text>\n"
	      "<text class=\"details\" x=\"10\" y=\"50\">", f);
	put_details(g, o);
	fputs("</text>\n"
	      "<svg x=\"100%\" overflow=\"visible\">\n"
	      "<text class=\"matched\" x=\"-280\" y=\"25\" text-anchor=\"end\"></text>\n"
	      "<text class=\"reset hidden\" x=\"-10\" y=\"50\" text-anchor=\"end\">show all</text>\n"
	      "<foreignObject x=\"-270\" y=\"8\" width=\"260\" height=\"26\"><input xmlns=\"http://www.w3.org/1999/xhtml\" type=\"search\" placeholder=\"search\" aria-label=\"search\" spellcheck=\"false\" autocomplete=\"off\"/></foreignObject>\n"
	      "</svg>\n", f);
	put_graph(g, commands);
	if (g->omitted)
		fprintf(f, "<!-- left out: %llu frames narrower than 1/%u of the width -->\n",
			g->omitted, NARROWEST);
	fprintf(f, "<script><![CDATA[\n%s]]></script>\n</svg>\n", script);
}

static void graph_init(struct graph *g, const struct output *o, const struct profile *p, FILE *f,
		       unsigned int head)
{
	size_t i;

	*g = (struct graph){
		.diff = p->diff, .file = f, .head = head, .unit = p->unit ?: "events",
	};
	for (i = 0; i < p->nr; i++)
		add_line(g, o, p, &p->total[i]);
	for (i = 0; i < g->lines; i++)
		g->total += line_width(g, &g->line[i]);
	sort(g->line, g->lines, sizeof(*g->line), line_order);
}

static void graph_free(struct graph *g)
{
	size_t i, n;

	if (g->omitted)
		report("%llu frames are too narrow to be drawn: each of less than 1/%u of the %s",
		       g->omitted, NARROWEST, g->unit);
	for (i = 0; i < g->lines; i++) {
		for (n = 0; n < g->line[i].nr; n++)
			free(g->line[i].name[n]);
		free(g->line[i].name);
	}
	free(g->line);
}

void flame_put(const struct output *o, const struct profile *p, FILE *f)
{
	struct graph g;

	graph_init(&g, o, p, f, 0);
	put_begin(&g, "");
	put_graph(&g, p->commands);
	fputs("</svg>\n", f);
	graph_free(&g);
}

void flame_write(const struct output *o, const struct profile *p, const char *name)
{
	struct graph g;
	char *text = NULL;
	size_t len = 0;

	graph_init(&g, o, p, text_open(&text, &len), HEAD_HEIGHT);
	if (!g.lines && !o->nothing)
		report("no event was found: the graph in %s is empty", name);
	put_file(&g, o, p->commands);
	text_close(g.file);
	outfile_write(name, 0666, text, len);
	graph_free(&g);
	free(text);
}
