// SPDX-License-Identifier: GPL-2.0
/*
 * stackcount.c - totals of the stacks of chosen functions, as bcc's stackcount prints them
 *
 * A stack's total is what the table has counted and what is in the ring, less
 * what it was before the probes were set: exact, however often the ring turned.
 * While events come a page may be on its way from the one to the other, and is
 * left out of that reading; the next one has it.  The last one is made when the
 * probes are gone.
 *
 * Who it was only the events tell.  For -P and -f the ring is followed; what it
 * could not hold is in the totals, of a process unknown.
 */
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "live/watch.h"

/* How often to read again when something was on its way */
#define TRIES	10

/* A stack's frames, kept although the table may drop it */
struct shape {
	u32 id;
	unsigned int nr, named;
	bool cut;
	enum names names;
	u64 *addr;
	char **name;
};

/**
 * struct tally - a total
 * @id: of this stack, ...
 * @process: ... if set by this process and command only
 * @tgid: see @process
 * @comm: see @process
 * @base: events before the probes were set
 * @total: events until now
 * @said: of those after @base, what was printed, or has a process; in a sum, the sum
 * @reading: the reading that found it last
 * @shape: its frames; NULL if it is of another function, or had no event
 */
struct tally {
	u32 id;
	bool process;
	u32 tgid;
	char comm[STACKBUF_COMM_LEN];
	u64 base, total, said;
	unsigned int reading;
	const struct shape *shape;
};

struct counter {
	struct watch *w;
	void *shapes, *tallies;		/* trees */
	struct tally *last;		/* the one that was met last */
	struct tally **row;		/* all that are to be printed */
	size_t rows, room;
	unsigned int reading;
	u64 evicted, evicted_before, evicted_known;
	u64 unsure, lost;
	u64 started, next;		/* CLOCK_MONOTONIC, ns */
	bool ends;			/* no more to come: what has no process is printed, too */
};

/* --------------------------------------------------------------- tallies --- */

static int shape_order(const void *a, const void *b)
{
	const struct shape *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static int tally_order(const void *a, const void *b)
{
	const struct tally *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	if (x->process != y->process)
		return x->process ? 1 : -1;
	if (x->tgid != y->tgid)
		return x->tgid < y->tgid ? -1 : 1;
	return strcmp(x->comm, y->comm);
}

/* Find what is like @key in a tree, or enter a copy of it */
static void *entry(void **tree, const void *key, size_t size,
		   int (*order)(const void *a, const void *b))
{
	void **found = tfind(key, tree, order), *copy;

	if (found)
		return *found;
	copy = xrealloc(NULL, 1, size);
	memcpy(copy, key, size);
	if (!tsearch(copy, tree, order))
		die(1, "out of memory");
	return copy;
}

static struct tally *tally_of(struct counter *me, const struct tally *key)
{
	return entry(&me->tallies, key, sizeof(*key), tally_order);
}

/* The frames of a stack, or NULL if it is of none of the functions */
static const struct shape *shape_of(struct counter *me, struct stack *stack)
{
	const struct shape key = { .id = stack->id };
	struct shape *shape;
	unsigned int i;

	if (!watch_wants(me->w, stack))
		return NULL;
	shape = entry(&me->shapes, &key, sizeof(key), shape_order);
	if (shape->named)
		return shape;
	symbols_name(me->w->o->symbols, stack);
	shape->nr = stack->nr;
	shape->named = stack->named;
	shape->cut = stack->cut;
	shape->names = stack->names;
	shape->addr = xcalloc(stack->nr + 1, sizeof(u64));
	if (stack->nr)
		memcpy(shape->addr, stack->addr, stack->nr * sizeof(u64));
	shape->name = xcalloc(stack->named + 1, sizeof(char *));
	for (i = 0; i < stack->named; i++)
		shape->name[i] = xstrdup(stack->name[i]);
	return shape;
}

static void free_shape(void *node)
{
	struct shape *shape = node;
	unsigned int i;

	for (i = 0; i < shape->named; i++)
		free(shape->name[i]);
	free(shape->name);
	free(shape->addr);
	free(shape);
}

/* --------------------------------------------------------------- reading --- */

/* One more event of its process */
static void count_event(struct counter *me, const struct event *e)
{
	struct tally key = { .id = e->stack, .process = true }, *t = me->last;
	struct stack *stack;

	if (watch_own(me->w, e)) {
		key.process = false;
		tally_of(me, &key)->said++;
		return;
	}
	if (me->w->per_process)
		key.tgid = e->tgid;
	memcpy(key.comm, e->comm, sizeof(key.comm));
	if (!t || tally_order(t, &key)) {
		t = tally_of(me, &key);
		me->last = t;
		stack = stacks_find(&me->w->o->record->stacks, e->stack);
		if (!t->shape && stack)
			t->shape = shape_of(me, stack);
	}
	t->total++;
}

/* The totals as they are now, or with @base as they were */
static int read_totals(struct counter *me, bool base)
{
	struct source *s = me->w->source;
	struct record *r = me->w->o->record;
	struct bag bag = { 0 };
	struct stack *stack;
	unsigned int tries;
	size_t i;

	for (tries = 0; tries < TRIES; tries++) {
		record_free(r);
		bag_empty(&bag);
		if (s->ops->load(s, &bag)) {
			snprintf(me->w->error, sizeof(me->w->error), "%s", s->error);
			return -1;
		}
		record_parse(r, &bag, bag_newest(&bag));
		/* While probes are set something may well always be on its way */
		if (!(bag.changed || r->rebuilt || r->half) || !(base || me->ends))
			break;
	}
	me->unsure = (u64)(bag.changed + r->rebuilt) * PAGE_EVENTS_MAX + r->half;
	bag_empty(&bag);
	me->reading++;
	me->evicted = r->info.evicted_events;
	if (base)
		me->evicted_before = me->evicted;
	for (i = 0; (stack = stacks_next(&r->stacks, &i)); ) {
		const struct tally key = { .id = stack->id };
		struct tally *t;

		if (!stack->nr && !stack->in_ring)
			continue;
		t = tally_of(me, &key);
		t->reading = me->reading;
		if (t->total < stack->count + stack->in_ring)
			t->total = stack->count + stack->in_ring;
		if (base)
			t->base = t->total;
		else if (t->total > t->base && !t->shape)
			t->shape = shape_of(me, stack);
	}
	return 0;
}

/* -------------------------------------------------------------- printing --- */

static u64 unsaid(const struct tally *t)
{
	u64 n = t->total - t->base;

	return n > t->said ? n - t->said : 0;
}

static int by_frames(const void *a, const void *b)
{
	const struct tally *x = *(struct tally *const *)a, *y = *(struct tally *const *)b;
	const struct shape *s = x->shape, *t = y->shape;
	int c;

	if (s->nr != t->nr)
		return s->nr < t->nr ? -1 : 1;
	if (s->cut != t->cut)
		return s->cut ? 1 : -1;
	c = s->nr ? memcmp(s->addr, t->addr, s->nr * sizeof(u64)) : 0;
	if (!c && !s->nr)
		c = shape_order(s, t);
	if (!c)
		c = x->process - y->process;
	if (!c)
		c = x->tgid < y->tgid ? -1 : x->tgid > y->tgid;
	return c ? c : strcmp(x->comm, y->comm);
}

/* The least frequent first */
static int by_number(const void *a, const void *b)
{
	const struct tally *x = *(struct tally *const *)a, *y = *(struct tally *const *)b;

	if (x->said != y->said)
		return x->said < y->said ? -1 : 1;
	return tally_order(x, y);
}

static void collect(const void *node, VISIT visit, void *arg)
{
	struct counter *me = arg;
	struct tally *t = *(struct tally *const *)node;

	if (visit != postorder && visit != leaf)
		return;
	if (!t->process && t->reading != me->reading)
		me->evicted_known += t->total;
	if (!t->shape || !unsaid(t) ||
	    ((me->w->per_process || me->w->folded) && !t->process && !me->ends))
		return;
	GROW(me->row, me->rows, me->room);
	me->row[me->rows++] = t;
}

static void print_folded(const struct counter *me, const struct tally *t, u64 n)
{
	FILE *f = me->w->o->file;
	const struct shape *shape = t->shape;
	char comm[STACKBUF_COMM_LEN], module[MODULE_MAX];
	const char *p = t->process && *t->comm ? output_comm(t->comm, comm) : "?";
	unsigned int i;

	for (; *p; p++)
		putc(*p == ';' ? '_' : *p, f);
	if (shape->cut)
		fputs(";(more frames were not kept)", f);
	for (i = shape->named; i--; ) {
		putc(';', f);
		watch_frame(me->w, shape->name[i]);
		fputs(output_module(shape->name[i], module), f);
	}
	fprintf(f, " %llu\n", n);
}

static void print_json(const struct counter *me, const struct tally *t, u64 n, u64 all, u64 now)
{
	const struct shape *shape = t->shape;
	struct stack stack = {
		.id = t->id, .nr = shape->nr, .cut = shape->cut, .names = shape->names,
		.addr = shape->addr, .name = shape->name, .named = shape->named,
	};

	output_total(me->w->o, &stack, n, all, t->process ? t->comm : NULL, t->tgid,
		     me->w->timestamp ? now : 0);
	free(stack.block);
}

static void print_block(const struct counter *me, const struct tally *t, u64 n, u64 all)
{
	FILE *f = me->w->o->file;
	const struct shape *shape = t->shape;
	char comm[STACKBUF_COMM_LEN];
	unsigned int i;

	for (i = 0; i < shape->named; i++) {
		fputs("  ", f);
		if (me->w->verbose && i < shape->nr)
			fprintf(f, "%-16llx ", shape->addr[i]);
		watch_frame(me->w, shape->name[i]);
		putc('\n', f);
	}
	if (shape->cut)
		fputs("  (more frames were not kept)\n", f);
	if (t->process)
		fprintf(f, "    %s [%u]\n", output_comm(t->comm, comm), t->tgid);
	else if (me->w->per_process)
		fputs("    unknown process\n", f);
	fprintf(f, "    %llu", n);
	if (me->w->o->percent)
		fprintf(f, "  %.2f %%", output_percent(n, all));
	fputs("\n\n", f);
}

/* What was not printed before */
static void print_totals(struct counter *me)
{
	bool json = me->w->o->format == FORMAT_JSON;
	struct tally *sum;
	size_t i, n = 0;
	u64 all = 0;
	char clock[16];
	time_t now = time(NULL);
	struct tm tm;

	me->rows = 0;
	me->evicted_known = 0;
	twalk_r(me->tallies, collect, me);
	if (me->rows)
		qsort(me->row, me->rows, sizeof(*me->row), by_frames);
	/* Two CPUs may have entered one stack twice */
	sum = xcalloc(me->rows + 1, sizeof(*sum));
	for (i = 0; i < me->rows; i++) {
		if (!n || by_frames(&me->row[i - 1], &me->row[i])) {
			sum[n] = *me->row[i];
			sum[n++].said = 0;
		}
		sum[n - 1].said += unsaid(me->row[i]);
		/* The id that stands for equal stacks is the lowest, see same.h */
		if (sum[n - 1].id > me->row[i]->id)
			sum[n - 1].id = me->row[i]->id;
		all += unsaid(me->row[i]);
	}
	for (i = 0; i < me->rows; i++)
		me->row[i]->said = me->row[i]->total - me->row[i]->base;
	for (i = 0; i < n; i++)
		me->row[i] = &sum[i];
	if (n)
		qsort(me->row, n, sizeof(*me->row), by_number);

	if (me->w->live && !me->w->folded && !json)
		putc('\n', me->w->o->file);
	if (me->w->timestamp && !json) {
		localtime_r(&now, &tm);
		strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
		fprintf(me->w->o->file, "%-8s\n", clock);
	}
	for (i = me->w->o->top && n > me->w->o->top ? n - me->w->o->top : 0; i < n; i++) {
		if (json)
			print_json(me, me->row[i], me->row[i]->said, all, now * NSEC_PER_SEC);
		else if (me->w->folded)
			print_folded(me, me->row[i], me->row[i]->said);
		else
			print_block(me, me->row[i], me->row[i]->said, all);
	}
	fflush(me->w->o->file);
	free(sum);
}

/* What was counted by process needs no total of no process */
static void subtract(const void *node, VISIT visit, void *arg)
{
	struct counter *me = arg;
	const struct tally *t = *(struct tally *const *)node;
	const struct tally key = { .id = t->id };

	if ((visit == postorder || visit == leaf) && t->process)
		tally_of(me, &key)->said += t->total;
}

/* -------------------------------------------------------------- commands --- */

static int begin(void *arg)
{
	struct counter *me = arg;
	struct watch *w = me->w;
	size_t i;

	if (read_totals(me, true) || watch_begin(w))
		goto failed;
	if (me->unsure)
		fprintf(stderr,
			"stackbuf: totals may be too large: others record so fast that what was before could not be told from now, by at most %llu events\n",
			me->unsure);
	if (!w->folded && w->o->format != FORMAT_JSON) {
		fprintf(w->o->file, "Tracing %zu functions for", w->chosen.nr - w->probes.refused);
		for (i = 0; i < w->patterns.nr; i++)
			fprintf(w->o->file, " \"%s\"", w->patterns.pattern[i].text);
		fputs("... Hit Ctrl-C to end.\n", w->o->file);
		fflush(w->o->file);
	}
	me->started = now_ns();
	me->next = me->started + w->interval;
	return 0;
failed:
	snprintf(w->source->error, sizeof(w->source->error), "%s", w->error);
	return -1;
}

static bool take_event(void *arg, const struct event *e)
{
	count_event(arg, e);
	return true;
}

/* Print when it is time; true when it is time to end */
static bool enough(void *arg, u64 lost)
{
	struct counter *me = arg;
	const struct watch *w = me->w;
	u64 now = now_ns();

	(void)lost;
	if (watch_over(me->w) || (w->duration && now - me->started >= w->duration))
		return true;
	if (w->interval && now >= me->next) {
		me->next += w->interval * ((now - me->next) / w->interval + 1);
		if (!(w->per_process || w->folded) && read_totals(me, false))
			return true;
		print_totals(me);
	}
	return false;
}

static int end(void *arg)
{
	struct counter *me = arg;

	if (!watch_end(me->w))
		return 0;
	snprintf(me->w->source->error, sizeof(me->w->source->error), "%s", me->w->error);
	return -1;
}

static void rest(void *arg, u64 lost)
{
	((struct counter *)arg)->lost = lost;
}

/* Without following: the table counts, and nothing needs to be done */
static int wait_for_it(struct counter *me)
{
	const struct watch *w = me->w;
	u64 until, now;

	while (!enough(me, 0)) {
		now = now_ns();
		until = w->interval ? me->next : ~0ULL;
		if (w->duration && me->started + w->duration < until)
			until = me->started + w->duration;
		if (until > now)
			watch_wait(w, until == ~0ULL ? until : until - now);
	}
	return *w->error ? -1 : 0;
}

static int live(struct counter *me)
{
	const struct follow_hooks hooks = {
		.arg = me, .quiet = true, .own_ids = true, .begin = begin, .event = take_event,
		.enough = enough, .end = end, .rest = rest,
	};
	struct watch *w = me->w;
	const struct filter none = { 0 };

	if (w->per_process || w->folded) {
		if (follow(w->source, w->o, &none, &hooks)) {
			snprintf(w->error, sizeof(w->error), "%s", w->source->error);
			return -1;
		}
	} else if (begin(me) || wait_for_it(me) || end(me)) {
		return -1;
	}
	me->ends = true;
	if (read_totals(me, false))
		return -1;
	if (w->per_process || w->folded)
		twalk_r(me->tallies, subtract, me);
	print_totals(me);
	if (!w->folded && w->o->format != FORMAT_JSON)
		fputs("Detaching...\n", w->o->file);
	fflush(w->o->file);
	if (me->lost)
		fprintf(stderr,
			"stackbuf: %llu events were overwritten before they were read: of those of these functions only the stacks are known, not the processes\n",
			me->lost);
	if (me->unsure)
		fprintf(stderr,
			"stackbuf: totals may be too small, all together by at most %llu events\n",
			me->unsure);
	if (me->evicted - me->evicted_before > me->evicted_known)
		fprintf(stderr,
			"stackbuf: up to %llu events are in no total: their stacks had to make room in the table\n",
			me->evicted - me->evicted_before - me->evicted_known);
	return 0;
}

static void copied(struct counter *me)
{
	struct watch *w = me->w;
	struct record *r = w->o->record;
	bool events = filter_events(w->filter);
	struct stack *stack;
	size_t i, nr;

	me->ends = true;
	if (events)
		fputs("stackbuf: only events that are still in the ring are counted, as the filter needs to see them\n",
		      stderr);
	nr = events || w->per_process || w->folded ? watch_choose(w) : 0;
	for (i = 0; i < nr; i++) {
		struct tally key = { .id = r->event[i].stack };

		if (w->per_process || w->folded) {
			count_event(me, &r->event[i]);
			continue;
		}
		stack = stacks_find(&r->stacks, key.id);
		tally_of(me, &key)->shape = stack ? shape_of(me, stack) : NULL;
		tally_of(me, &key)->total++;
	}
	for (i = 0; !events && (stack = stacks_next(&r->stacks, &i)); ) {
		const struct tally key = { .id = stack->id };
		struct tally *t;

		if (!(stack->count + stack->in_ring) || !filter_stack(w->filter, stack->id))
			continue;
		t = tally_of(me, &key);
		t->total = stack->count + stack->in_ring;
		t->shape = shape_of(me, stack);
	}
	if (!events && (w->per_process || w->folded))
		twalk_r(me->tallies, subtract, me);
	print_totals(me);
	if (!events && r->info.evicted_events)
		fprintf(stderr,
			"stackbuf: %llu events are in no total: their %llu stacks had to make room\n",
			r->info.evicted_events, r->info.evicted);
}

int stackcount(struct watch *w)
{
	struct counter me = { .w = w };
	int ret = 0;

	if (watch_prepare(w))
		return -1;
	if (w->live)
		ret = live(&me);
	else
		copied(&me);
	tdestroy(me.tallies, free);
	tdestroy(me.shapes, free_shape);
	free(me.row);
	return ret ? ret : watch_finish(w);
}
