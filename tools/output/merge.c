// SPDX-License-Identifier: GPL-2.0
/*
 * merge.c - write records of many machines into one file
 *
 * Addresses mean nothing beyond one boot, so a frame is a name with the build of its code, and
 * stacks of equal frames are one stack, whatever machine they are of.
 */
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include "output/merge.h"

static void put_number(FILE *f, u64 value)
{
	for (; value >= 0x80; value >>= 7)
		putc_unlocked((value & 0x7f) | 0x80, f);
	putc_unlocked(value, f);
}

static void put_block(FILE *f, enum merged_kind kind, const void *data, size_t len)
{
	struct merged_block b = { .crc = crc32_z(0, data, len), .len = len };

	memcpy(b.kind, merged_kind[kind], sizeof(b.kind));
	fwrite(&b, sizeof(b), 1, f);
	fwrite(data, 1, len, f);
}

/* A block in memory */
struct block {
	FILE *file;
	char *data;
	size_t len;
};

static void begin(struct block *b)
{
	b->file = open_memstream(&b->data, &b->len);
	if (!b->file)
		die(1, "out of memory");
}

static void end(struct block *b, FILE *f, enum merged_kind kind)
{
	if (fclose(b->file))
		die(1, "out of memory");
	put_block(f, kind, b->data, b->len);
	free(b->data);
}

static void put_head(FILE *f)
{
	fprintf(f, MERGED_MAGIC "%d\n", MERGED_VERSION);
}

static void put_end(FILE *f, u64 hosts)
{
	struct block b;

	begin(&b);
	put_number(b.file, hosts);
	end(&b, f, MERGED_END);
}

/* ------------------------------------------------- what was written before --- */

/* A frame, a stack or a task, by its bytes */
struct known {
	u32 id;
	size_t len;
	const void *data;
};

static int by_data(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	if (x->len != y->len)
		return x->len < y->len ? -1 : 1;
	return memcmp(x->data, y->data, x->len);
}

/* The number of these bytes, which a copy gets as *@nr if they are new; *@nr then counts it */
static u32 known_id(void **tree, const void *data, size_t len, u32 *nr)
{
	struct known wanted = { .len = len, .data = data }, *k, **found;

	found = tfind(&wanted, tree, by_data);
	if (found)
		return (*found)->id;
	k = xcalloc(1, sizeof(*k) + len);
	*k = (struct known){ .id = (*nr)++, .len = len, .data = k + 1 };
	memcpy(k + 1, data, len);
	tsearch(k, tree, by_data);
	return k->id;
}

/* -------------------------------------------------------------- one record --- */

/* Write the build of a frame's code, a word: "BUILD ID", "linux:RELEASE,VERSION" or "load:ID" */
static void put_build(FILE *f, const struct output *o, const struct frame *frame, u64 time)
{
	const struct record *r = o->record;
	char module[64], *text, *p;
	const char *id;

	if (frame->build_id_len) {
		fwrite(frame->build_id, 1, frame->build_id_len, f);
		return;
	}
	snprintf(module, sizeof(module), "%.*s", (int)frame->module_len, frame->module);
	id = build_ids_find(&o->symbols->ids, module, time);
	if (id) {
		fputs(id, f);
	} else if (r->have_info) {
		text = xasprintf("linux:%s,%s", r->info.release, r->info.kernel_version);
		for (p = text; (p = strchr(p, ' ')); )
			*p = '_';
		fputs(text, f);
		free(text);
	} else {
		fprintf(f, MERGED_LOAD "%016llx", r->instance);
	}
}

/* "BUILD NAME": a frame without a name is equal to none of another load of the module */
static char *frame_text(const struct output *o, const struct stack *stack, unsigned int i)
{
	const char *name = stack->name[i];
	struct frame frame;
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		die(1, "out of memory");
	if (frame_parse(&frame, name, strlen(name))) {
		put_build(f, o, &frame, stack->first);
		fprintf(f, " %.*s+0x%llx/0x%llx", (int)frame.name_len, frame.name, frame.offset,
			frame.size);
		if (frame.module_len)
			fprintf(f, " [%.*s]", (int)frame.module_len, frame.module);
	} else {
		fprintf(f, MERGED_LOAD "%016llx %s", o->record->instance, name);
	}
	fclose(f);
	return text;
}

static void put_events(FILE *f, const struct output *o)
{
	const struct record *r = o->record;
	struct block tasks, events;
	u32 nr = 0, before, task;
	void *tree = NULL;
	u64 time = 0, tag = 0;
	size_t i;

	begin(&tasks);
	begin(&events);
	for (i = 0; i < r->events; i++) {
		const struct stackbuf_event *e = &r->event[i];
		struct {
			u32 pid, tgid;
			char comm[STACKBUF_COMM_LEN];
		} key = { .pid = e->pid, .tgid = e->tgid };

		memcpy(key.comm, e->comm, strnlen(e->comm, sizeof(key.comm) - 1));
		before = nr;
		task = known_id(&tree, &key, sizeof(key), &nr);
		if (nr > before) {
			put_number(tasks.file, e->pid);
			put_number(tasks.file, e->tgid);
			put_number(tasks.file, strlen(key.comm));
			fputs(key.comm, tasks.file);
		}
		put_number(events.file, (u64)output_stack(o, e->id)->number << MERGED_STACK_SHIFT |
			   (e->context & 3) << MERGED_CONTEXT_SHIFT |
			   (e->tagged ? MERGED_TAGGED : 0));
		put_number(events.file, e->time - time);
		put_number(events.file, HOST_CPU(e->cpu));
		put_number(events.file, task);
		if (e->tagged)
			put_number(events.file, e->tag ^ tag);
		tag = e->tagged ? e->tag : tag;
		time = e->time;
	}
	end(&tasks, f, MERGED_TASKS);
	end(&events, f, MERGED_EVENTS);
	tdestroy(tree, free);
}

void merge_record(FILE *f, const struct output *o, const json_t *info)
{
	struct block frames, stacks, totals;
	struct record *r = o->record;
	char *text = json_dumps(info, JSON_COMPACT);
	u32 nr = 0, number = 0, before, id;
	struct stack *stack;
	void *tree = NULL;
	unsigned int n;
	size_t i;

	/* Enter stacks that are gone, too */
	for (i = 0; i < r->events; i++)
		output_stack(o, r->event[i].id);
	put_head(f);
	begin(&frames);
	begin(&stacks);
	begin(&totals);
	for (i = 0; (stack = stacks_next(&r->stacks, &i)); ) {
		if (!(stack->count + stack->in_ring) && !stack->gone)
			continue;
		symbols_name(o->symbols, stack);
		put_number(stacks.file, (stack->cut ? MERGED_CUT : 0) |
			   (stack->gone ? MERGED_GONE : 0));
		put_number(stacks.file, stack->named);
		for (n = 0; n < stack->named; n++) {
			char *frame = frame_text(o, stack, n);

			before = nr;
			id = known_id(&tree, frame, strlen(frame), &nr);
			if (nr > before)
				fprintf(frames.file, "%s\n", frame);
			put_number(stacks.file, id);
			free(frame);
		}
		stack->number = number++;
		put_number(totals.file, stack->number);
		put_number(totals.file, stack->name_origin);
		put_number(totals.file, stack->count);
		put_number(totals.file, stack->in_ring);
	}
	end(&frames, f, MERGED_FRAMES);
	end(&stacks, f, MERGED_STACKS);
	put_block(f, MERGED_HOST, text, strlen(text));
	end(&totals, f, MERGED_TOTALS);
	put_events(f, o);
	put_end(f, 1);
	tdestroy(tree, free);
	free(text);
}

/* -------------------------------------------------------------- all records --- */

void merge_begin(struct merge *w)
{
	put_head(w->file);
}

/* Enter a stack; write it into @b if it is new */
static u32 stack_id(struct merge *w, const struct merged *m, const struct merged_stack *s,
		    const u32 *frame_id, struct block *b)
{
	u32 *key = xrealloc(NULL, s->nr + 1, sizeof(*key)), before = w->stacks, id, i;

	key[0] = s->flags;
	for (i = 0; i < s->nr; i++)
		key[i + 1] = frame_id[m->index[s->first + i]];
	id = known_id(&w->stack, key, (s->nr + 1) * sizeof(*key), &w->stacks);
	if (w->stacks > before) {
		put_number(b->file, s->flags);
		put_number(b->file, s->nr);
		for (i = 0; i < s->nr; i++)
			put_number(b->file, key[i + 1]);
	}
	free(key);
	return id;
}

/* Is no record of this load of the module there?  A second one would count its events twice */
static bool is_new_load(struct merge *w, const struct merged_host *h)
{
	const char *load = merged_info_text(h, "instance");
	u32 before = w->hosts, nr = before;

	if (!*load || (known_id(&w->load, load, strlen(load), &nr), nr > before))
		return true;
	report("%s: is of the same load of the module as a record before it: left out",
	       merged_info_text(h, "source"));
	return false;
}

static void put_totals(FILE *f, const struct merged_host *h, const u32 *stack)
{
	struct merged_part p = h->part[MERGED_TOTALS];
	struct merged_total t;
	struct block totals;

	begin(&totals);
	while (merged_total(h, &p, &t)) {
		put_number(totals.file, stack[t.stack]);
		put_number(totals.file, t.origin);
		put_number(totals.file, t.count);
		put_number(totals.file, t.in_ring);
	}
	end(&totals, f, MERGED_TOTALS);
}

static void put_part(FILE *f, const struct merged_host *h, enum merged_kind kind)
{
	put_block(f, kind, h->part[kind].data, h->part[kind].len);
}

unsigned int merge_add(struct merge *w, const struct merged *m)
{
	u32 *frame = xcalloc(m->frames + 1, sizeof(*frame)), before;
	u32 *stack = xcalloc(m->stacks + 1, sizeof(*stack));
	size_t frames = 0, stacks = 0, i;
	struct block new_frames, new_stacks;
	unsigned int left_out = 0;

	for (i = 0; i < m->hosts; i++) {
		const struct merged_host *h = &m->host[i];

		/* What only a host that is left out has is written with the next one */
		if (w->hosts == HOSTS_MAX || !is_new_load(w, h)) {
			left_out++;
			continue;
		}
		begin(&new_frames);
		begin(&new_stacks);
		for (; frames < h->frames; frames++) {
			const struct merged_part *text = &m->frame[frames];

			before = w->frames;
			frame[frames] = known_id(&w->frame, text->data, text->len, &w->frames);
			if (w->frames > before)
				fprintf(new_frames.file, "%.*s\n", (int)text->len, text->data);
		}
		for (; stacks < h->stacks; stacks++)
			stack[stacks] = stack_id(w, m, &m->stack[stacks], frame, &new_stacks);
		end(&new_frames, w->file, MERGED_FRAMES);
		end(&new_stacks, w->file, MERGED_STACKS);
		put_part(w->file, h, MERGED_HOST);
		put_totals(w->file, h, stack);
		put_part(w->file, h, MERGED_TASKS);
		put_part(w->file, h, MERGED_EVENTS);
		w->hosts++;
	}
	free(frame);
	free(stack);
	return left_out;
}

void merge_end(struct merge *w)
{
	put_end(w->file, w->hosts);
	tdestroy(w->frame, free);
	tdestroy(w->stack, free);
	tdestroy(w->load, free);
}
