// SPDX-License-Identifier: GPL-2.0
/*
 * follow.c - print events as they are recorded
 *
 * Every few milliseconds the heads of all pages of the ring are looked at, and
 * the pages that are new or still grow are read.  What was overwritten before
 * it was read shows in the number of events that a CPU had recorded before its
 * next page (stackbuf_events_page.first); it is counted and said.
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "live/follow.h"
#include "record/duplicates.h"

#define POLL_MIN_US	1000
#define POLL_MAX_US	50000

/* Ids never come back, so that in the long run what was known must be forgotten */
#define STACKS_KEPT	100000

volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

void catch_signals(int flags)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags };

	stop = 0;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

struct ring_page {
	u64 seq;
	struct cursor cursor;
	bool done;
};

struct cpu {
	bool known;
	u64 next;	/* number of the event that comes next, as .first counts */
};

struct follower {
	struct source *source;
	struct output *o;
	const struct filter *filter;
	const struct follow_hooks *hooks;
	size_t pages;
	struct ring_page *page;
	struct stackbuf_events_page *memory;
	char *text;
	struct cpu *cpu;
	size_t cpus;
	size_t *fresh;		/* pages to read in this round */
	void *frames;		/* known stacks by their frames */
	struct event *event;	/* read, and not printed yet */
	size_t events, room;
	u32 order;
	u64 watermark;		/* the newest event of the round before */
	u64 printed, lost, said, skipped;
	unsigned int taken;	/* new pages in this round */
	bool first_round;
};

static struct cpu *cpu_of(struct follower *me, u32 cpu)
{
	if (cpu >= 65536)
		return NULL;
	if (cpu >= me->cpus) {
		me->cpu = xrealloc(me->cpu, cpu + 1, sizeof(*me->cpu));
		memset(me->cpu + me->cpus, 0, (cpu + 1 - me->cpus) * sizeof(*me->cpu));
		me->cpus = cpu + 1;
	}
	return &me->cpu[cpu];
}

static int oldest_first(const void *a, const void *b, void *arg)
{
	const struct follower *me = arg;
	u64 x = me->page[*(const size_t *)a].seq, y = me->page[*(const size_t *)b].seq;

	return x < y ? -1 : x > y;
}

/* Take what is new in a page's copy */
static void take_events(struct follower *me, size_t i, struct cpu *cpu)
{
	const struct stackbuf_events_page *copy = &me->memory[i];
	struct ring_page *p = &me->page[i];
	struct cursor *c = &p->cursor;
	enum step step;

	for (;;) {
		step = cursor_next(c);
		if (step == STEP_EVENT) {
			GROW(me->event, me->events, me->room);
			me->event[me->events] = c->event;
			me->event[me->events++].order = me->order++;
		} else if (step == STEP_HALF && p->done) {
			/* Its CPU has gone on to another page: it will not be completed */
			cursor_skip(c);
			me->skipped++;
		} else {
			break;
		}
	}
	if (step == STEP_DAMAGED)
		p->done = true;
	if (step == STEP_DAMAGED || !cpu)
		return;
	cpu->known = true;
	cpu->next = copy->first + c->nr;
}

static int read_page(struct follower *me, size_t i)
{
	struct stackbuf_events_page *copy = &me->memory[i];
	struct ring_page *p = &me->page[i];
	struct stackbuf_page after;
	struct cpu *cpu;
	u64 offset = i * STACKBUF_PAGE_SIZE;

	if (source_read_events(me->source, i, copy) ||
	    me->source->ops->read(me->source, ARRAY_EVENTS, offset, &after, sizeof(after)))
		return -1;
	if (copy->page.seq != p->seq || after.seq != p->seq) {
		/* Overwritten meanwhile.  The CPU's next page tells how much that was */
		p->seq = 0;
		return 0;
	}
	cpu = cpu_of(me, copy->cpu);
	if (!p->cursor.page) {
		cursor_start(&p->cursor, copy);
		/*
		 * A CPU keeps its page until it has another one.  So one that shows
		 * no page at the start has recorded nothing yet.
		 */
		if (cpu && !me->first_round && copy->first > cpu->next)
			me->lost += copy->first - cpu->next;
	}
	p->done = !copy->owner;
	take_events(me, i, cpu);
	return 0;
}

/* Read all that has come since the round before */
static int read_ring(struct follower *me)
{
	size_t i, n = 0;

	me->taken = 0;
	for (i = 0; i < me->pages; i++) {
		struct ring_page *p = &me->page[i];
		struct stackbuf_page head;

		if (me->source->ops->read(me->source, ARRAY_EVENTS, i * STACKBUF_PAGE_SIZE, &head,
					  sizeof(head)))
			return -1;
		if (head.instance != me->o->record->instance) {
			snprintf(me->source->error, sizeof(me->source->error),
				 "%s: the module was loaded anew", me->source->name);
			return -1;
		}
		if (!head.seq || (head.seq == p->seq && p->done))
			continue;
		if (head.seq != p->seq) {
			memset(p, 0, sizeof(*p));
			p->seq = head.seq;
			me->taken++;
		}
		me->fresh[n++] = i;
	}
	/* Oldest first, so that each CPU's events come in their order */
	qsort_r(me->fresh, n, sizeof(*me->fresh), oldest_first, me);
	for (i = 0; i < n; i++)
		if (read_page(me, me->fresh[i]))
			return -1;
	return 0;
}

/* Frames and names of stacks that were not seen before */
static int learn_stacks(struct follower *me)
{
	struct source *s = me->source;
	struct record *r = me->o->record;
	struct stackbuf_stacks_page page;
	u64 mask = (1ULL << r->info.id_bits) - 1, size;
	bool text_read = false;
	struct record text = { 0 };
	size_t i, n;
	char head[128];

	if (r->stacks.nr > STACKS_KEPT) {
		same_free(&me->frames);
		stacks_empty(&r->stacks);
	}
	for (i = 0; i < me->events; i++) {
		u32 id = me->event[i].stack;
		u64 place = id & mask;
		struct stackbuf_stack *raw;
		struct stack *stack, *found;
		unsigned int granules;

		if (stacks_find(&r->stacks, id))
			continue;
		stack = stacks_get(&r->stacks, id);
		if (place % 64 && place / 64 * STACKBUF_PAGE_SIZE < r->info.stacks_size) {
			if (s->ops->read(s, ARRAY_STACKS, place / 64 * STACKBUF_PAGE_SIZE, &page,
					 sizeof(page)))
				return -1;
			/* By now the place may be another's */
			raw = (void *)page.granule[place % 64 - 1];
			if (raw->id == id)
				stack_parse(&r->stacks, &page, place % 64, &granules);
		}
		if (!text_read) {
			text_read = true;
			size = r->info.text_size;
			if (s->ops->read(s, ARRAY_TEXT, 0, me->text, size))
				return -1;
			for (n = 0; n < size; n += STACKBUF_PAGE_SIZE) {
				char *nl = memchr(me->text + n, '\n', sizeof(head));
				size_t len = nl ? nl - (me->text + n) : 1;

				if (s->ops->read(s, ARRAY_TEXT, n, head, len))
					return -1;
				if (me->text[n] && !memcmp(head, me->text + n, len))
					record_parse_text(&text, me->text + n);
			}
		}
		found = stacks_find(&text.stacks, id);
		if (found) {
			stack->text = found->text;
			stack->text_len = found->text_len;
			stack->lines = found->lines;
			stack->cut |= !stack->nr && found->cut;
		}
		stack->gone = !stack->nr && !stack->text;
		same_enter(&me->frames, stack);
		/* The text's memory is needed for others: take its names now */
		symbols_name(me->o->symbols, stack);
		stack->text = NULL;
	}
	record_free(&text);
	return 0;
}

static void say_lost(struct follower *me)
{
	if (me->lost == me->said || (me->hooks && me->hooks->quiet))
		return;
	fprintf(stderr, "stackbuf: %llu events were lost: overwritten before they were read\n",
		me->lost - me->said);
	me->said = me->lost;
}

static void use_first(const struct follower *me, struct event *e)
{
	struct stack *stack = stacks_find(&me->o->record->stacks, e->stack);

	if (stack && !(me->hooks && me->hooks->own_ids))
		e->stack = same_first(stack)->id;
}

/*
 * Print what can't be preceded by anything still to come: an event is in the
 * ring at once, so that all that are older than the newest of the round before
 * have been read in this one.
 */
static int print_events(struct follower *me, bool all)
{
	struct event *e = me->event;
	u64 newest = me->watermark;
	size_t i, n = 0;
	bool wanted = true;

	events_sort(e, me->events);
	if (me->events && e[me->events - 1].time > newest)
		newest = e[me->events - 1].time;
	while (n < me->events && (all || e[n].time <= me->watermark))
		n++;
	if (learn_stacks(me))
		return -1;
	/* There may be a ring full of them: whoever interrupts shall not wait for that */
	for (i = 0; i < n && wanted && (all || !stop); i++) {
		use_first(me, &e[i]);
		if (me->filter->has_until && e[i].time > me->filter->until)
			stop = 1;
		if (!filter_match(me->filter, &e[i]))
			continue;
		if (me->hooks)
			wanted = me->hooks->event(me->hooks->arg, &e[i]);
		else
			output_event(me->o, &e[i]);
		me->printed++;
	}
	me->events -= i;
	memmove(e, e + i, me->events * sizeof(*e));
	me->watermark = newest;
	if (!wanted)
		stop = 1;
	if (fflush(me->o->file) || ferror(me->o->file)) {
		if (me->hooks && stop) {
			/* Probes are to be removed, however slow the reader is */
			fputs("stackbuf: interrupted while it printed: the output is cut\n",
			      stderr);
			clearerr(me->o->file);
			return 0;
		}
		if (me->hooks && errno == EPIPE) {
			stop = 1;
			return 0;
		}
		snprintf(me->source->error, sizeof(me->source->error), "cannot write: %m");
		return -1;
	}
	say_lost(me);
	return 0;
}

/*
 * At the end: what was overwritten of CPUs none of whose pages could be read
 * after that
 */
static int count_unread(struct follower *me)
{
	struct source *s = me->source;
	u64 *first = xcalloc(me->cpus, sizeof(*first));
	size_t i;

	memset(first, 0xff, me->cpus * sizeof(*first));
	for (i = 0; i < me->pages; i++) {
		/* What lies between two readings of the same number is of that */
		struct stackbuf_events_page head[3];
		unsigned int n;

		for (n = 0; n < 3; n++)
			if (s->ops->read(s, ARRAY_EVENTS, i * STACKBUF_PAGE_SIZE, &head[n],
					 offsetof(struct stackbuf_events_page, word))) {
				free(first);
				return -1;
			}
		if (head[0].page.seq && head[0].page.seq == head[2].page.seq &&
		    head[1].cpu < me->cpus && head[1].first < first[head[1].cpu])
			first[head[1].cpu] = head[1].first;
	}
	for (i = 0; i < me->cpus; i++)
		if (me->cpu[i].known && first[i] != ~0ULL && first[i] > me->cpu[i].next)
			me->lost += first[i] - me->cpu[i].next;
	free(first);
	return 0;
}

/* What was recorded before: nothing of it, unless asked for */
static void choose_old_events(struct follower *me)
{
	size_t i;

	for (i = 0; i < me->events; i++)
		use_first(me, &me->event[i]);
	events_sort(me->event, me->events);
	if (me->filter->has_last || me->filter->has_since)
		me->events = filter_apply(me->filter, me->event, me->events);
	else
		me->events = 0;
}

int follow(struct source *s, struct output *o, const struct filter *f,
	   const struct follow_hooks *hooks)
{
	struct follower me = {
		.source = s, .o = o, .filter = f, .hooks = hooks, .first_round = true
	};
	struct timespec pause = { 0 };
	unsigned int us = POLL_MIN_US;
	struct stack *stack;
	int ret = -1;
	size_t i;

	me.pages = o->record->info.events_size / STACKBUF_PAGE_SIZE;
	me.page = xcalloc(me.pages, sizeof(*me.page));
	me.memory = xcalloc(me.pages, sizeof(*me.memory));
	me.fresh = xcalloc(me.pages, sizeof(*me.fresh));
	me.text = xcalloc(o->record->info.text_size, 1);
	if (!hooks) {
		/* What was read is printed, even if it takes a while */
		catch_signals(SA_RESTART);
		output_head(o);
	}
	if (read_ring(&me))
		goto out;
	choose_old_events(&me);
	me.first_round = false;
	if (hooks && hooks->begin(hooks->arg))
		goto out;
	for (i = 0; (stack = stacks_next(&o->record->stacks, &i)); )
		same_enter(&me.frames, stack);
	while (!stop && !(hooks && hooks->enough(hooks->arg, me.lost))) {
		if (print_events(&me, false))
			goto out;
		if (stop)
			break;
		pause.tv_nsec = us * 1000L;
		nanosleep(&pause, NULL);
		if (read_ring(&me))
			goto out;
		/* The faster the ring turns, the sooner the next look */
		if (me.taken > me.pages / 16)
			us = us / 2 < POLL_MIN_US ? POLL_MIN_US : us / 2;
		else
			us = us * 2 > POLL_MAX_US ? POLL_MAX_US : us * 2;
	}
	if (hooks && (hooks->end(hooks->arg) || read_ring(&me)))
		goto out;
	ret = count_unread(&me) ?: print_events(&me, true);
	if (hooks)
		hooks->rest(hooks->arg, me.lost);
	else if (!ret)
		fprintf(stderr, "stackbuf: %llu events printed, %llu lost, %llu half-written\n",
			me.printed, me.lost, me.skipped);
out:
	same_free(&me.frames);
	free(me.page);
	free(me.memory);
	free(me.fresh);
	free(me.text);
	free(me.event);
	free(me.cpu);
	return ret;
}
