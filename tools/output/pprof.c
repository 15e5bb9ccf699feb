// SPDX-License-Identifier: GPL-2.0
/*
 * pprof.c - a profile in the format of pprof, Parca, Pyroscope and speedscope: the protocol buffer
 * "perftools.profiles.Profile", gzipped
 *
 * The encoder is written by hand: the format needs numbers and byte strings, 40 lines.  A generator
 * would need the schema, whose license is not compatible with this one.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include "output/files.h"

/* Field numbers, from pprof's proto/profile.proto */
enum {
	PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE, PROFILE_MAPPING, PROFILE_LOCATION,
	PROFILE_FUNCTION, PROFILE_STRING_TABLE, PROFILE_TIME_NANOS = 9, PROFILE_DURATION_NANOS,
	PROFILE_COMMENT = 13
};

enum { VALUE_TYPE = 1, VALUE_UNIT };
enum { SAMPLE_LOCATION_ID = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_STR };
enum { MAPPING_ID = 1, MAPPING_FILENAME = 5, MAPPING_HAS_FUNCTIONS = 7 };
enum { LOCATION_ID = 1, LOCATION_MAPPING_ID, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION_ID = 1 };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME };

struct message {
	u8 *data;
	size_t len;
};

/* Strings of the table, mappings, functions or locations, by their text */
struct name_list {
	void *tree;
	u64 nr;
};

struct pprof {
	const struct output *o;
	struct message message;
	struct name_list strings, mappings, functions, locations;
};

static void put_byte(struct message *m, u8 byte)
{
	GROW(m->data, m->len);
	m->data[m->len++] = byte;
}

static void put_varint(struct message *m, u64 value)
{
	for (; value >= 0x80; value >>= 7)
		put_byte(m, value | 0x80);
	put_byte(m, value);
}

/* A missing field has the value 0 */
static void put_number(struct message *m, unsigned int field, u64 value)
{
	if (!value)
		return;
	put_varint(m, field << 3);
	put_varint(m, value);
}

static void put_bytes(struct message *m, unsigned int field, const void *data, size_t len)
{
	const u8 *p = data;

	put_varint(m, field << 3 | 2);
	put_varint(m, len);
	while (len--)
		put_byte(m, *p++);
}

/* Put an inner message, and free it for reuse */
static void put_message(struct message *m, unsigned int field, struct message *inner)
{
	put_bytes(m, field, inner->data, inner->len);
	free(inner->data);
	*inner = (struct message){ 0 };
}

/* Return the id of a text, from 1; set *@is_new if it was added */
static u64 name_id(struct name_list *names, const char *text, bool *is_new)
{
	struct named *n = named_get(&names->tree, text, is_new);

	if (*is_new)
		n->id = ++names->nr;
	return n->id;
}

/* Return the index in the table of strings, whose first string is "" */
static u64 string(struct pprof *p, const char *text)
{
	bool is_new;
	u64 id = name_id(&p->strings, text, &is_new) - 1;

	if (is_new)
		put_bytes(&p->message, PROFILE_STRING_TABLE, text, strlen(text));
	return id;
}

static u64 mapping(struct pprof *p, const char *name)
{
	struct message m = { 0 };
	bool is_new;
	u64 id = name_id(&p->mappings, name, &is_new);

	if (is_new) {
		put_number(&m, MAPPING_ID, id);
		put_number(&m, MAPPING_FILENAME, string(p, name));
		put_number(&m, MAPPING_HAS_FUNCTIONS, 1);
		put_message(&p->message, PROFILE_MAPPING, &m);
	}
	return id;
}

static u64 function(struct pprof *p, const char *name)
{
	struct message m = { 0 };
	bool is_new;
	u64 id = name_id(&p->functions, name, &is_new);

	if (is_new) {
		put_number(&m, FUNCTION_ID, id);
		put_number(&m, FUNCTION_NAME, string(p, name));
		put_number(&m, FUNCTION_SYSTEM_NAME, string(p, name));
		put_message(&p->message, PROFILE_FUNCTION, &m);
	}
	return id;
}

static u64 location(struct pprof *p, const struct frame *f)
{
	struct message m = { 0 }, line = { 0 };
	char *key = xasprintf("%llx %s", f->addr, f->text), *name, *module;
	bool is_new;
	u64 id;

	id = name_id(&p->locations, key, &is_new);
	if (is_new) {
		name = xasprintf("%.*s", (int)(f->name_len ?: strlen(f->text)), f->text);
		module = f->module_len ? xasprintf("[%.*s]", (int)f->module_len, f->module) :
					 xstrdup("[kernel.kallsyms]");
		put_number(&line, LINE_FUNCTION_ID, function(p, name));
		put_number(&m, LOCATION_ID, id);
		put_number(&m, LOCATION_MAPPING_ID, mapping(p, module));
		put_number(&m, LOCATION_ADDRESS, f->addr);
		put_message(&m, LOCATION_LINE, &line);
		put_message(&p->message, PROFILE_LOCATION, &m);
		free(name);
		free(module);
	}
	free(key);
	return id;
}

static void label_text(struct pprof *p, struct message *sample, const char *key, const char *text)
{
	struct message m = { 0 };

	put_number(&m, LABEL_KEY, string(p, key));
	put_number(&m, LABEL_STR, string(p, text));
	put_message(sample, SAMPLE_LABEL, &m);
}

/*
 * Put a number as text: a field of 0 is not written, so pprof would drop a numeric label of 0.
 * With text -tagfocus cpu=0 works, too.
 */
static void label_number(struct pprof *p, struct message *sample, const char *key, u32 number)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", number);
	label_text(p, sample, key, text);
}

/* Put one sample, with its labels */
static void put_sample(struct pprof *p, const struct stack_total *total, bool diff)
{
	struct message sample = { 0 }, packed = { 0 };
	const struct stackbuf_event *e = total->label;
	struct stack *stack = total->stack;
	struct frame other;
	char text[64];
	unsigned int i;
	u64 events;

	symbols_name(p->o->symbols, stack);
	for (i = 0; i < stack->named; i++)
		put_varint(&packed, location(p, &stack->frame[i]));
	snprintf(text, sizeof(text), stack->cut ? FRAMES_CUT :
		 "stack %u is gone", stack->id);
	other = frame_take(text, 0, true);
	if (stack->cut || stack->gone)
		put_varint(&packed, location(p, &other));
	put_message(&sample, SAMPLE_LOCATION_ID, &packed);
	/* The format has signed numbers */
	events = total->events < INT64_MAX ? total->events : INT64_MAX;
	put_varint(&packed, total->before ? -events : events);
	put_message(&sample, SAMPLE_VALUE, &packed);
	if (total->error) {
		label_text(p, &sample, "error", total->error);
	} else if (e) {
		label_text(p, &sample, "comm", *e->comm ? output_comm(e->comm, text) : "?");
		label_text(p, &sample, "context", output_context(e));
		label_number(p, &sample, "pid", e->pid);
		label_number(p, &sample, "tgid", e->tgid);
		label_number(p, &sample, "cpu", e->cpu);
		if (e->tagged) {
			snprintf(text, sizeof(text), "%#llx", e->tag);
			label_text(p, &sample, "tag", text);
		}
	} else if (!diff && !stack->given) {
		label_text(p, &sample, "event", "overwritten");
	} else if (total->before) {
		label_text(p, &sample, "pprof::base", "true");
	}
	put_message(&p->message, PROFILE_SAMPLE, &sample);
}

/* The events are from @from to @to, ns since boot; 0: unknown */
static void put_head(struct pprof *p, u64 from, u64 to)
{
	const struct stackbuf_info *info = &p->o->record->info;
	struct message m = { 0 };
	char text[256];

	string(p, "");
	put_number(&m, VALUE_TYPE, string(p, "events"));
	put_number(&m, VALUE_UNIT, string(p, "count"));
	put_message(&p->message, PROFILE_SAMPLE_TYPE, &m);
	/* pprof takes the first mapping for the main binary */
	mapping(p, "[kernel.kallsyms]");
	if (p->o->record->have_info) {
		snprintf(text, sizeof(text), "Linux %s %s", info->release, info->kernel_version);
		put_number(&p->message, PROFILE_COMMENT, string(p, text));
		if (from)
			put_number(&p->message, PROFILE_TIME_NANOS,
				   info->load_realtime_ns + from - info->load_ns);
	}
	/* Without an event there is no end */
	if (to > from)
		put_number(&p->message, PROFILE_DURATION_NANOS, to - from);
}

static bool write_gzip(FILE *file, const struct message *m)
{
	gzFile gz = gzdopen(dup(fileno(file)), "wb");
	bool whole = gz && gzfwrite(m->data, 1, m->len, gz) == m->len;

	return gz && gzclose(gz) == Z_OK && whole;
}

void pprof_write(const struct output *o, const struct profile *profile)
{
	struct pprof p = { .o = o };
	size_t i;

	put_head(&p, profile->from, profile->to);
	for (i = 0; i < profile->nr; i++)
		put_sample(&p, &profile->total[i], profile->diff);
	fflush(o->file);
	if (!write_gzip(o->file, &p.message))
		die(1, "cannot write: %m");
	named_free(&p.strings.tree);
	named_free(&p.mappings.tree);
	named_free(&p.functions.tree);
	named_free(&p.locations.tree);
	free(p.message.data);
}

/* Events with the same stack and labels become one sample */
static int by_labels(const struct stackbuf_event *a, const struct stackbuf_event *b)
{
	return compare_u64(a->id, b->id) ?: output_label_order(a, b);
}

void profile_events(struct profile *p, const struct output *o, const struct filter *f,
		    const struct stackbuf_event *event, size_t nr)
{
	const struct record *r = o->record;
	const struct stackbuf_event *all = event ?: r->event;
	bool graph = o->format == FORMAT_FLAME;
	struct stack *stack;
	size_t i;

	/* A graph's labels are only commands: one total for each event would need much memory */
	if (!event)
		nr = graph ? 0 : r->events;
	p->nr = output_event_totals(o, event ? NULL : f, all, nr,
				    graph ? output_command_order : by_labels, &p->total);
	p->commands = event;
	p->from = nr ? all[0].time : 0;
	p->to = nr ? all[nr - 1].time : 0;
	if (event)
		return;
	/* The totals began before the ring does */
	if (r->have_info && r->info.overwritten)
		p->from = r->info.load_ns;
	p->total = xrealloc(p->total, p->nr + r->stacks.nr + 1, sizeof(*p->total));
	for (i = 0; (stack = stacks_next(&r->stacks, &i)); ) {
		u64 events = stack->count + (graph ? stack->in_ring : 0);

		if (events && filter_stack(f, stack->id))
			p->total[p->nr++] = (struct stack_total){
				.stack = stack, .events = events,
			};
	}
}

void profile_write(const struct output *o, struct profile *p, const char *graph)
{
	if (o->format == FORMAT_FLAME)
		flame_write(o, p, graph);
	else
		pprof_write(o, p);
	free(p->total);
	p->total = NULL;
}
