// SPDX-License-Identifier: GPL-2.0
/*
 * output.c - events, counts, texts and the state, printed
 */
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "symbol/decode.h"
#include "output/output.h"
#include "record/duplicates.h"

static const char *const context_name[] = { "task", "softirq", "hardirq", "nmi" };

/* ---------------------------------------------------------------- pieces --- */

/* Seconds since boot or the time of day */
static const char *day_text(u64 ns, char *buf, size_t size)
{
	time_t sec = ns / NSEC_PER_SEC;
	struct tm tm;
	char day[32];

	localtime_r(&sec, &tm);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(buf, size, "%s.%09llu%c%02ld:%02ld", day, ns % NSEC_PER_SEC, tm.tm_gmtoff < 0 ? '-' : '+',
		 labs(tm.tm_gmtoff) / 3600, labs(tm.tm_gmtoff) / 60 % 60);
	return buf;
}

static const char *time_text(const struct output *o, u64 ns, char *buf, size_t size)
{
	u64 wall = o->record->info.load_realtime_ns + ns - o->record->info.load_ns;

	if (o->wall)
		return day_text(wall, buf, size);
	snprintf(buf, size, "%llu.%09llu", ns / NSEC_PER_SEC, ns % NSEC_PER_SEC);
	return buf;
}

/* What is printed below an event or a count; made once for each stack */
static void add(char **p, size_t *len, size_t *room, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

static void add(char **p, size_t *len, size_t *room, const char *format, ...)
{
	va_list args;
	int n;

	for (;;) {
		va_start(args, format);
		n = vsnprintf(*p + *len, *room - *len, format, args);
		va_end(args);
		if (n < 0)
			return;
		if (*len + n < *room)
			break;
		*room = 2 * (*room + n);
		*p = xrealloc(*p, *room, 1);
	}
	*len += n;
}

static void block_perf(const struct stack *stack, unsigned int i, char **p, size_t *len,
		       size_t *room)
{
	const char *name = stack->name[i], *slash = strchr(name, '/'), *module = strchr(name, '[');
	u64 addr = i < stack->nr ? stack->addr[i] : 0;
	int n = slash ? (int)(slash - name) : (int)strcspn(name, " ");

	if (!strncmp(name, "0x", 2) || *name == '?')
		add(p, len, room, "\t%16llx [unknown] ([kernel.kallsyms])\n", addr);
	else if (module)
		add(p, len, room, "\t%16llx %.*s (%s)\n", addr, n, name, module);
	else
		add(p, len, room, "\t%16llx %.*s ([kernel.kallsyms])\n", addr, n, name);
}

/* What goes behind frame @i of a stack, "" if nothing is known; ends the program on errors */
static const char *line_of(const struct output *o, const struct stack *stack, unsigned int i)
{
	const char *name = stack->name[i], *before = i ? stack->name[i - 1] : NULL, *text = NULL;
	enum frame_kind kind = FRAME_OPEN;
	struct frame f;
	size_t n;

	if (!o->srcline)
		return "";
	for (n = 0; !before && stack->nr && n < o->nr_probed; n++)
		if (o->probed[n] == stack->addr[0])
			kind = FRAME_EXACT;
	if (before && !strncmp(before, "0x", 2) && i <= stack->nr)
		before = srcline_function(o->srcline, stack->addr[i - 1]);
	if (before)
		kind = frame_is_entry(before, frame_function_len(before)) ? FRAME_EXACT : FRAME_RETURN;
	if (!frame_parse(&f, name, strlen(name)) && i >= stack->nr)
		return "";
	f.addr = i < stack->nr ? stack->addr[i] : 0;
	f.time = stack->first;
	if (srcline_frame(o->srcline, &f, kind, &text)) {
		fflush(o->file);
		fprintf(stderr, "stackbuf: %s\n", srcline_error(o->srcline));
		exit(1);
	}
	return text ? text : "";
}

/* Beyond 2^53 most readers of JSON round numbers */
static json_t *json_number(u64 value)
{
	return value <= 1ULL << 53 ? json_integer(value) : json_sprintf("%llu", value);
}

/* What may be beyond that: always a string, as a key has one type */
static json_t *json_ns(u64 ns)
{
	return json_sprintf("%llu", ns);
}

static json_t *json_hex(u64 value)
{
	return json_sprintf("0x%llx", value);
}

/* Keys that tell the stack, for events and counts */
static char *json_stack(const struct output *o, const struct stack *stack)
{
	json_t *j = json_object(), *frames = json_array(), *addresses = json_array();
	json_t *lines = o->srcline ? json_array() : NULL;
	unsigned int i;
	char *text;

	for (i = 0; i < stack->named; i++)
		json_array_append_new(frames, json_string(stack->name[i]));
	for (i = 0; lines && i < stack->named; i++)
		json_array_append_new(lines, json_string(line_of(o, stack, i) +
							 !!*line_of(o, stack, i)));
	for (i = 0; i < stack->nr; i++)
		json_array_append_new(addresses, json_hex(stack->addr[i]));
	json_object_set_new(j, "stack", json_integer(stack->id));
	json_object_set_new(j, "symbols",
			    json_string(stack->gone ? "none" : name_origins[stack->name_origin]));
	json_object_set_new(j, "gone", json_boolean(stack->gone));
	json_object_set_new(j, "cut", json_boolean(stack->cut));
	json_object_set_new(j, "frames", frames);
	json_object_set_new(j, "addresses", addresses);
	if (lines)
		json_object_set_new(j, "lines", lines);
	text = json_dumps(j, JSON_COMPACT | JSON_EMBED);
	json_decref(j);
	return text;
}

static const char *stack_block(const struct output *o, struct stack *stack, size_t *length)
{
	size_t len = 0, room = 4096;
	char module[FRAME_MODULE_MAX], *p;
	unsigned int i;

	if (stack->block) {
		*length = stack->block_len;
		return stack->block;
	}
	symbols_name(o->symbols, stack);
	p = xcalloc(room, 1);
	switch (o->format) {
	case FORMAT_TEXT:
		for (i = 0; i < stack->named; i++)
			add(&p, &len, &room, "\t%s%s\n", stack->name[i], line_of(o, stack, i));
		if (stack->cut)
			add(&p, &len, &room, "\t(more frames were not kept)\n");
		if (stack->gone)
			add(&p, &len, &room, "\tstack %u is gone\n", stack->id);
		break;
	case FORMAT_PERF:
		for (i = 0; i < stack->named; i++)
			block_perf(stack, i, &p, &len, &room);
		if (stack->gone)
			add(&p, &len, &room, "\t%16x [stack_%u_is_gone] ([stackbuf])\n", 0,
			    stack->id);
		break;
	case FORMAT_FOLDED:
		if (stack->cut)
			add(&p, &len, &room, "(more frames were not kept);");
		for (i = stack->named; i--; )
			add(&p, &len, &room, "%.*s%s%s", (int)frame_function_len(stack->name[i]),
			    stack->name[i], frame_module(stack->name[i], module), i ? ";" : "");
		if (stack->gone)
			add(&p, &len, &room, "stack %u is gone", stack->id);
		break;
	case FORMAT_PPROF:
	case FORMAT_FLAME:
		break;
	case FORMAT_JSON:
		free(p);
		p = json_stack(o, stack);
		len = strlen(p);
		break;
	}
	/* There may be millions of stacks */
	stack->block = xrealloc(p, len + 1, 1);
	stack->block_len = len;
	*length = len;
	return stack->block;
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

const char *output_context(const struct event *e)
{
	return context_name[e->context & 3];
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

/* ------------------------------------------------------------------ JSON --- */

/* An object and behind its keys, if given, those of a stack (which are made once only) */
static void json_line(const struct output *o, json_t *object, struct stack *stack)
{
	const char *block;
	size_t len;

	putc('{', o->file);
	json_dumpf(object, o->file, JSON_COMPACT | JSON_EMBED | JSON_REAL_PRECISION(6));
	if (stack) {
		block = stack_block(o, stack, &len);
		putc(',', o->file);
		fwrite(block, 1, len, o->file);
	}
	fputs("}\n", o->file);
	json_decref(object);
}

static void json_event(const struct output *o, const struct event *e, struct stack *stack)
{
	json_t *j = json_object();
	char when[64], comm[STACKBUF_COMM_LEN];

	json_object_set_new(j, "time_ns", json_ns(e->time));
	if (o->wall)
		json_object_set_new(j, "wall",
				    json_string(time_text(o, e->time, when, sizeof(when))));
	json_object_set_new(j, "cpu", json_integer(e->cpu));
	json_object_set_new(j, "pid", json_integer(e->pid));
	json_object_set_new(j, "tgid", json_integer(e->tgid));
	json_object_set_new(j, "comm", json_string(output_comm(e->comm, comm)));
	json_object_set_new(j, "context", json_string(context_name[e->context & 3]));
	if (e->tagged)
		json_object_set_new(j, "tag", json_hex(e->tag));
	json_line(o, j, stack);
}

/* ---------------------------------------------------------------- events --- */

void output_head(const struct output *o)
{
	if (o->format == FORMAT_TEXT)
		fprintf(o->file, "%-*s %-15s %-7s %-3s %-10s %-7s %-7s %s\n", o->wall ? 35 : 18,
			"TIME(s)", "COMM", "PID", "CPU", "STACK", "TGID", "CONTEXT", "TAG");
}

void output_event(const struct output *o, const struct event *e)
{
	struct stack *stack = output_stack(o, e->stack);
	const char *block, *mark;
	char when[64], tag[32] = "", comm[STACKBUF_COMM_LEN];
	size_t len;

	if (o->format == FORMAT_JSON) {
		json_event(o, e, stack);
		return;
	}
	block = stack_block(o, stack, &len);
	time_text(o, e->time, when, sizeof(when));
	output_comm(e->comm, comm);
	if (o->format == FORMAT_PERF) {
		fprintf(o->file, "%s %u/%u [%03u] %s: 1 stackbuf:\n", *comm ? comm : "?",
			e->tgid, e->pid, e->cpu, when);
	} else {
		mark = names_mark(stack);
		if (e->tagged)
			snprintf(tag, sizeof(tag), "%#llx", e->tag);
		fprintf(o->file, "%-18s %-15s %-7u %-3u %-10u %-7u %s", when, comm, e->pid,
			e->cpu, e->stack, e->tgid, context_name[e->context & 3]);
		if (*tag || *mark)
			fprintf(o->file, "%*s%s%s%s%s",
				(int)(8 - strlen(context_name[e->context & 3])), "", tag,
				*mark ? *tag ? "  (" : "(" : "", mark, *mark ? ")" : "");
		putc('\n', o->file);
	}
	fwrite(block, 1, len, o->file);
	putc('\n', o->file);
}

static int folded_order(const void *a, const void *b)
{
	const struct event *x = a, *y = b;
	int c = strcmp(x->comm, y->comm);

	if (c)
		return c;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

void output_folded(const struct output *o, const struct event *event, size_t nr)
{
	struct event *sorted = xcalloc(nr + 1, sizeof(*sorted));
	size_t i, n, len;

	memcpy(sorted, event, nr * sizeof(*event));
	qsort(sorted, nr, sizeof(*sorted), folded_order);
	for (i = 0; i < nr; i += n) {
		char comm[STACKBUF_COMM_LEN];
		const char *block, *p;

		for (n = 1; i + n < nr && !folded_order(&sorted[i], &sorted[i + n]); n++)
			;
		block = stack_block(o, output_stack(o, sorted[i].stack), &len);
		output_comm(sorted[i].comm, comm);
		for (p = *comm ? comm : "?"; *p; p++)
			putc(*p == ';' ? '_' : *p, o->file);
		fprintf(o->file, ";%.*s %zu\n", (int)len, block, n);
	}
	free(sorted);
}

/* ---------------------------------------------------------------- counts --- */

struct total {
	struct stack *stack;
	u64 events;
};

static int by_events(const void *a, const void *b)
{
	const struct total *x = a, *y = b;

	if (x->events != y->events)
		return x->events < y->events ? -1 : 1;
	return x->stack->id < y->stack->id ? -1 : x->stack->id > y->stack->id;
}

double output_percent(u64 count, u64 sum)
{
	return sum ? 100.0 * count / sum : 0;
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
		json_object_set_new(j, "wall", json_string(day_text(now, text, sizeof(text))));
	if (comm) {
		json_object_set_new(j, "comm", json_string(output_comm(comm, text)));
		json_object_set_new(j, "tgid", json_integer(tgid));
	}
	json_line(o, j, stack);
}

void output_count(const struct output *o, const struct filter *f,
		  const struct event *event, size_t nr)
{
	struct record *r = o->record;
	struct total *total;
	struct stack *stack;
	size_t i, n = 0;
	u64 sum = 0;

	if (event) {
		for (i = 0; (stack = stacks_next(&r->stacks, &i)); ) {
			stack->in_ring = 0;
			stack->count = 0;
		}
		for (i = 0; i < nr; i++)
			output_stack(o, event[i].stack)->in_ring++;
	}
	total = xcalloc(r->stacks.nr + 1, sizeof(*total));
	for (i = 0; (stack = stacks_next(&r->stacks, &i)); )
		if (stack->count + stack->in_ring && filter_stack(f, stack->id))
			total[n++] = (struct total){ stack, stack->count + stack->in_ring };
	qsort(total, n, sizeof(*total), by_events);

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
		block = stack_block(o, stack, &len);
		if (o->format == FORMAT_FOLDED) {
			fprintf(o->file, "%.*s %llu\n", (int)len, block, total[i].events);
			continue;
		}
		/* As stackcount: two blanks before a frame, four before the count */
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

/* ------------------------------------------------------------------ text --- */

/* A record with source lines; in the text log there are no addresses */
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
		if (d.left) {
			fflush(o->file);
			fprintf(stderr, "stackbuf: %s\n", srcline_error(o->srcline));
			exit(1);
		}
		putc('\n', o->file);
	}
}

void output_text(const struct output *o, const struct filter *f)
{
	size_t i;
	u32 n;

	for (i = 0; i < o->record->texts; i++) {
		const struct text *t = &o->record->text[i];

		if (!filter_stack(f, stack_canonical(stacks_find(&o->record->stacks, t->id))->id))
			continue;
		if (o->srcline) {
			text_lines(o, t);
			continue;
		}
		for (n = 0; n < t->len; n++) {
			char c = t->record[n];

			putc(c == '\n' ? c : printable_ascii(c), o->file);
		}
	}
}

/* ------------------------------------------------------------------ info --- */

/* Each fact once: as a line for people, or as a key */
static void __attribute__((format(printf, 5, 6)))
info_field(const struct output *o, json_t *j, const char *key, const char *label, const char *format, ...)
{
	va_list args;
	char *text;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0)
		return;
	if (j)
		json_object_set_new(j, key, json_string(text));
	else
		fprintf(o->file, "%-28s %s\n", label, text);
	free(text);
}

static void info_number(const struct output *o, json_t *j, const char *key, const char *label,
			u64 n)
{
	if (j)
		json_object_set_new(j, key, json_number(n));
	else
		fprintf(o->file, "%-28s %llu\n", label, n);
}

static void info_time(const struct output *o, json_t *j, const char *key, const char *label, u64 ns)
{
	struct output seconds = *o, wall = *o;
	char a[64], b[64];

	seconds.wall = false;
	wall.wall = true;
	if (j)
		json_object_set_new(j, key, json_ns(ns));
	else
		fprintf(o->file, "%-28s %s  (%s)\n", label, time_text(&seconds, ns, a, sizeof(a)),
			time_text(&wall, ns, b, sizeof(b)));
}

static void output_filter(const struct output *o, json_t *j, const struct stackbuf_info *info)
{
	const struct stackbuf_filter *f = &info->filter;

	if (f->pid)
		info_number(o, j, "filter_pid", "only process", f->pid);
	if (f->cpu)
		info_number(o, j, "filter_cpu", "only CPU", f->cpu - 1);
	if (f->comm[0])
		info_field(o, j, "filter_comm", "only command", "%s", f->comm);
	if (f->every)
		info_number(o, j, "every", "on each CPU one event in", f->every);
	if (!f->limit)
		return;
	if (j) {
		info_number(o, j, "limit", NULL, f->limit);
		info_number(o, j, "limit_left", NULL, f->left);
	} else {
		fprintf(o->file, "%-28s %u%s\n", "limit", f->limit,
			f->left ? "" : ", reached");
	}
}

static void output_probes(const struct output *o, json_t *j, const struct record *r)
{
	static const char *const state[] = {
		[STACKBUF_PROBE_SET] = "set",
		[STACKBUF_PROBE_PENDING] = "pending: its module is not loaded",
		[STACKBUF_PROBE_REFUSED] = "refused when its module came",
	};
	json_t *all = j ? json_array() : NULL;
	u64 missed = r->info.missed_before;
	unsigned int i, nr = 0;
	struct probe probe;

	if (!j && !info_has_probes(&r->info)) {
		fact(o, j, "probes", "probes", "none: the module was built without (PROBES=n)");
		return;
	}
	for (i = 0; i < STACKBUF_PROBES_MAX; i++) {
		const char *is;

		if (!record_probe(r, i, &probe))
			continue;
		is = probe.state <= STACKBUF_PROBE_REFUSED ? state[probe.state] : "unknown";
		missed += probe.missed;
		nr++;
		if (j)
			json_array_append_new(all,
					      json_pack("{s:s,s:s,s:o,s:o}", "name", probe.name,
							"state", is, "address",
							json_hex(probe.addr), "missed",
							json_number(probe.missed)));
		free(probe.name);
	}
	if (j)
		json_object_set_new(j, "probes", all);
	else
		info_number(o, j, "probes", "probes", nr);
	if (o->probes_off)
		info_field(o, j, "probes_off", "probes are not hit", "%s", o->probes_off);
	info_number(o, j, "probes_missed", "hits that probes missed", missed);
	for (i = 0; !j && i < STACKBUF_PROBES_MAX; i++) {
		if (!record_probe(r, i, &probe))
			continue;
		fprintf(o->file, "  %-26s 0x%llx %s", probe.name, probe.addr,
			probe.state <= STACKBUF_PROBE_REFUSED ? state[probe.state] : "unknown");
		if (probe.missed)
			fprintf(o->file, ", missed %llu", probe.missed);
		fputc('\n', o->file);
		free(probe.name);
	}
}

static void info_instances(const struct output *o, json_t *j, const struct instance *in, size_t nr)
{
	json_t *list = j ? json_array() : NULL;
	u64 stray = 0;
	char when[64], state[64];
	size_t i;

	for (i = 0; i < nr; i++) {
		bool chosen = in[i].id == o->record->instance;

		/* Damage makes instances of a page or so: only their pages are counted */
		if (!in[i].have_info && !chosen) {
			stray += in[i].pages;
			continue;
		}
		if (in[i].have_info && in[i].missing)
			snprintf(state, sizeof(state), "%llu pages missing", in[i].missing);
		else
			strcpy(state, in[i].have_info ? "complete" : "without stackbuf_info");
		day_text(in[i].loaded, when, sizeof(when));
		if (j) {
			json_t *one = json_object();

			json_object_set_new(one, "instance", json_sprintf("%016llx", in[i].id));
			json_object_set_new(one, "chosen", json_boolean(chosen));
			json_object_set_new(one, "load_realtime_ns", json_ns(in[i].loaded));
			json_object_set_new(one, "release", json_string(in[i].release));
			json_object_set_new(one, "state", json_string(state));
			json_array_append_new(list, one);
		} else {
			fprintf(o->file, "%-28s %016llx, loaded %s, %s, %s\n",
				chosen ? "found here: this" : "found here as well", in[i].id, when,
				*in[i].release ? in[i].release : "unknown kernel", state);
		}
	}
	if (j)
		json_object_set_new(j, "instances", list);
	info_number(o, j, "stray_pages", "pages of no known instance", stray);
}

void output_info(const struct output *o, const char *source, const struct page_set *set,
		 const struct instance *instance, size_t instances)
{
	static const struct {
		const char *key, *label;
	} loss[STACKBUF_LOSSES] = {
		[STACKBUF_LOST_OFF] = { "lost_off", "  recording was off" },
		[STACKBUF_LOST_NESTED] = { "lost_nested", "  nested too deep" },
		[STACKBUF_LOST_TABLE] = { "lost_table", "  stack table full" },
		[STACKBUF_LOST_PAGE] = { "lost_page", "  no room in the ring" },
		[STACKBUF_LOST_EMPTY] = { "lost_empty", "  no frame found" },
		[STACKBUF_CUT] = { "cut", "traces cut at 64 frames" },
		[STACKBUF_LOST_PRINT] = { "lost_print", "prints refused" },
		[STACKBUF_WALKED_NEW] = { "walked_new", "walked: new stack" },
		[STACKBUF_WALKED_ELSEWHERE] = { "walked_elsewhere",
						"walked: not the task's stack" },
		[STACKBUF_WALKED_UNFIT] = { "walked_unfit", "walked: unfit for recall" },
		[STACKBUF_WALKED_AGAIN] = { "walked_again", "walked: another layout" },
		[STACKBUF_VERIFIED] = { "verified", "recalled and verified" },
		[STACKBUF_DIFFERED] = { "differed", "  recalled wrongly" },
		[STACKBUF_KEPT_OUT] = { "kept_out", "events kept out by a filter" },
		[STACKBUF_NOT_SAMPLED] = { "not_sampled", "  not sampled" },
		[STACKBUF_OVER_LIMIT] = { "over_limit", "  over the limit" },
	};
	const struct record *r = o->record;
	const struct stackbuf_info *info = &r->info;
	json_t *j = o->format == FORMAT_JSON ? json_object() : NULL;
	u64 from[NAMES_NONE + 1] = { 0 }, refused = 0;
	u64 recorded = info->overwritten + r->events, walked = 0;
	struct stack *stack;
	unsigned int i;
	size_t n;

	for (n = 0; (stack = stacks_next(&r->stacks, &n)); ) {
		if (!stack->nr)
			continue;
		symbols_name(o->symbols, stack);
		from[stack->name_origin]++;
	}
	for (i = 0; i <= STACKBUF_LOST_EMPTY; i++)
		refused += r->lost[i];
	for (i = STACKBUF_WALKED_NEW; i <= STACKBUF_WALKED_AGAIN; i++)
		walked += r->lost[i];
	walked += r->lost[STACKBUF_DIFFERED];

	info_field(o, j, "source", "source", "%s", source);
	info_number(o, j, "version", "format version", STACKBUF_VERSION);
	info_field(o, j, "instance", "instance", "%016llx", r->instance);
	info_field(o, j, "state", "state", "%s%s%s%s",
	     info->state & STACKBUF_ENABLED ? "enabled" : "disabled",
	     info->state & STACKBUF_FROZEN_OOPS ? ", frozen by an oops" : "",
	     info->state & STACKBUF_FROZEN_PANIC ? ", frozen by a panic" : "",
	     info->state & STACKBUF_UNLOADED ? ", unloaded" : "");
	output_filter(o, j, info);
	info_field(o, j, "release", "kernel", "%s", info->release);
	info_field(o, j, "kernel_version", "kernel version", "%s", info->kernel_version);
	info_field(o, j, "machine", "machine", "%s", info->elf_machine == 62 ? "x86-64" :
	     info->elf_machine == 183 ? "arm64" : "unknown");
	info_number(o, j, "cpus", "CPUs", info->nr_cpus);
	info_field(o, j, "srcversion", "module's srcversion", "%s",
	     *info->module_srcversion ? info->module_srcversion : "unknown");
	info_field(o, j, "build_id", "module's build id", "%s",
	     build_ids_find(&o->symbols->ids, "stackbuf", 0) ?: "unknown");
	info_field(o, j, "base_symbol", "base symbol", "%s", info->base_symbol);
	info_field(o, j, "base_address", "base address", "0x%llx", info->base_addr);
	info_time(o, j, "load_ns", "loaded", info->load_ns);
	if (j)
		json_object_set_new(j, "load_realtime_ns", json_ns(info->load_realtime_ns));
	if (info->stop_ns)
		info_time(o, j, "stop_ns", "stopped", info->stop_ns);
	info_number(o, j, "events_bytes", "event ring, bytes", info->events_size);
	info_number(o, j, "stacks_bytes", "stack table, bytes", info->stacks_size);
	info_number(o, j, "text_bytes", "text log, bytes", info->text_size);

	info_number(o, j, "events_recorded", "events recorded", recorded);
	info_number(o, j, "events_recalled", "  of them recalled",
		    recorded > walked ? recorded - walked : 0);
	info_number(o, j, "events_in_ring", "events in the ring", r->events);
	info_number(o, j, "events_overwritten", "events overwritten", info->overwritten);
	info_number(o, j, "events_per_mib", "events in a MiB of ring",
		    r->used_pages ? r->events * 256 / r->used_pages : 0);
	if (r->events) {
		info_time(o, j, "oldest_ns", "oldest event", r->event[0].time);
		info_time(o, j, "newest_ns", "newest event", r->event[r->events - 1].time);
	}
	info_number(o, j, "events_refused", "events refused", refused);
	for (i = 0; i < STACKBUF_LOSSES; i++)
		if (loss[i].key)
			info_number(o, j, loss[i].key, loss[i].label, r->lost[i]);

	output_probes(o, j, r);

	info_number(o, j, "stacks", "stacks in the table", r->in_table);
	info_number(o, j, "stacks_evicted", "stacks evicted", info->evicted);
	info_number(o, j, "evicted_events", "  events they had counted", info->evicted_events);
	info_number(o, j, "names_text", "  named by the text log", from[NAMES_TEXT]);
	info_number(o, j, "names_snapshot", "  named by the snapshot", from[NAMES_SNAPSHOT]);
	info_number(o, j, "names_kallsyms", "  named by kallsyms", from[NAMES_KALLSYMS]);
	info_number(o, j, "names_none", "  without some names", from[NAMES_NONE]);
	info_number(o, j, "texts", "records in the text log", r->texts);
	info_number(o, j, "texts_overwritten", "records overwritten", info->text_overwritten);
	info_number(o, j, "texts_missing", "stacks not yet rendered", r->not_rendered);

	info_number(o, j, "half_events", "half-written events", r->half);
	info_number(o, j, "half_stacks", "half-written stacks", r->half_stacks);
	info_number(o, j, "half_texts", "half-written texts", r->half_texts);
	info_number(o, j, "pages_rebuilt", "pages being rebuilt", r->rebuilt);
	info_number(o, j, "pages_changed", "pages changed while read", set->changed);
	info_number(o, j, "pages_damaged", "damaged pages", r->damaged);
	info_number(o, j, "pages_missing", "missing pages",
		    (u64)r->missing[ARRAY_INFO] + r->missing[ARRAY_EVENTS] +
			    r->missing[ARRAY_STACKS] + r->missing[ARRAY_TEXT]);
	info_number(o, j, "unreadable_pages", "unreadable pages", set->unreadable);
	info_number(o, j, "cut_bytes", "bytes cut off", set->cut);
	info_instances(o, j, instance, instances);
	if (j)
		json_line(o, j, NULL);
}
