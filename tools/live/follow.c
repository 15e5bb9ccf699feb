// SPDX-License-Identifier: GPL-2.0
/*
 * follow.c - print events as they are recorded
 *
 * Every few milliseconds the follower reads the heads of all pages of the ring, then the pages that
 * are new or still growing.  Each page has the number of events that its CPU had recorded before it
 * (stackbuf_events_page.first): this shows how many were overwritten before they were read, which
 * is counted and reported.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "ending.h"
#include "input/steady.h"
#include "live/watch.h"

#define POLL_MIN_US	1000
#define POLL_MAX_US	50000

/* Stacks kept in memory: ids are not reused, so old stacks must be forgotten eventually */
#define STACKS_KEPT	100000

struct ring_page {
	u64 seq;
	struct cursor cursor;
	bool done;
};

struct cpu {
	bool known;
	u64 next;	/* number of its next event, counted as in stackbuf_events_page.first */
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
	void *frames;		/* tree of known stacks, see duplicates_enter() */
	struct stackbuf_event *event;	/* events read but not printed yet */
	size_t events;
	u64 watermark;		/* time of the newest event of the previous round */
	u64 begun;		/* sequence of the newest page of the first round */
	u64 newest;		/* sequence of the newest page of this round */
	u64 seen;		/* pages since the first round that were read */
	u64 printed, lost, reported, skipped, evicted;
	unsigned int taken;	/* new pages in this round */
	bool first_round;
};

/* Read a part of an array, or end the program */
static void get(struct follower *ctx, enum array a, u64 offset, void *buf, size_t size)
{
	if (ctx->source->ops->read(ctx->source, a, offset, buf, size))
		die(1, "%s", ctx->source->error);
}

/* Read a page, as far as it is valid */
static void get_page(struct follower *ctx, enum array a, size_t index, void *page)
{
	if (steady_read_pages(ctx->source, a, index, page, 1))
		die(1, "%s", ctx->source->error);
}

static struct cpu *cpu_of(struct follower *ctx, u32 cpu)
{
	if (cpu >= 65536)
		return NULL;
	if (cpu >= ctx->cpus) {
		ctx->cpu = xrealloc(ctx->cpu, cpu + 1, sizeof(*ctx->cpu));
		memset(ctx->cpu + ctx->cpus, 0, (cpu + 1 - ctx->cpus) * sizeof(*ctx->cpu));
		ctx->cpus = cpu + 1;
	}
	return &ctx->cpu[cpu];
}

static int oldest_first(const void *a, const void *b, void *arg)
{
	const struct follower *ctx = arg;
	u64 x = ctx->page[*(const size_t *)a].seq, y = ctx->page[*(const size_t *)b].seq;

	return compare_u64(x, y);
}

/* Add the new events of a page's copy */
static void take_events(struct follower *ctx, size_t i, struct cpu *cpu)
{
	const struct stackbuf_events_page *copy = &ctx->memory[i];
	struct ring_page *p = &ctx->page[i];
	struct cursor *c = &p->cursor;
	enum step step;

	for (;;) {
		step = cursor_next(c);
		if (step == STEP_EVENT) {
			GROW(ctx->event, ctx->events);
			ctx->event[ctx->events++] = c->event;
		} else if (step == STEP_HALF && p->done) {
			/* Its CPU has moved to another page: the event will never be completed */
			cursor_skip(c);
			ctx->skipped++;
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

static void read_page(struct follower *ctx, size_t i)
{
	struct stackbuf_events_page *copy = &ctx->memory[i];
	struct ring_page *p = &ctx->page[i];
	struct stackbuf_page after;
	struct cpu *cpu;
	u64 offset = i * STACKBUF_PAGE_SIZE;

	get_page(ctx, ARRAY_EVENTS, i, copy);
	get(ctx, ARRAY_EVENTS, offset, &after, sizeof(after));
	if (copy->page.seq != p->seq || after.seq != p->seq) {
		/* Overwritten in between.  The CPU's next page gives the number of lost events */
		ctx->seen -= !p->cursor.page && !ctx->first_round;
		p->seq = 0;
		return;
	}
	cpu = cpu_of(ctx, copy->cpu);
	if (!p->cursor.page) {
		cursor_start(&p->cursor, copy);
		/*
		 * A CPU without pages in the first round had lost them all, or had recorded
		 * nothing.  If all pages used since then still exist, or were read, this is its
		 * first.
		 */
		if (cpu && !ctx->first_round && copy->first > cpu->next &&
		    (cpu->known || (p->seq > ctx->begun + ctx->pages &&
				    ctx->seen < ctx->newest - ctx->begun)))
			ctx->lost += copy->first - cpu->next;
	}
	p->done = !copy->owner;
	take_events(ctx, i, cpu);
}

static struct stackbuf_page head_of(struct follower *ctx, size_t i)
{
	struct stackbuf_page head;

	get(ctx, ARRAY_EVENTS, i * STACKBUF_PAGE_SIZE, &head, sizeof(head));
	if (head.instance != ctx->o->record->instance)
		die(1, "%s: the module was reloaded", ctx->source->name);
	return head;
}

/*
 * Read all that was recorded since the previous round.  Heads are read one by one: a CPU may start
 * a page after its head was read, and a newer one before that one's head is read; the events of the
 * older page would seem lost.  So a first pass finds the newest page, and the second pass reads
 * only pages up to that one, which all exist by then.  Newer pages wait for the next round.
 */
static void read_ring(struct follower *ctx)
{
	u64 newest = 0, seq;
	size_t i, n = 0;

	ctx->taken = 0;
	for (i = 0; i < ctx->pages; i++) {
		seq = head_of(ctx, i).seq;
		newest = seq > newest ? seq : newest;
	}
	ctx->newest = newest;
	if (ctx->first_round)
		ctx->begun = newest;
	for (i = 0; i < ctx->pages; i++) {
		struct ring_page *p = &ctx->page[i];
		struct stackbuf_page head = head_of(ctx, i);

		if (!head.seq || head.seq > newest || (head.seq == p->seq && p->done))
			continue;
		if (head.seq != p->seq) {
			memset(p, 0, sizeof(*p));
			p->seq = head.seq;
			ctx->taken++;
			ctx->seen += !ctx->first_round;
		}
		ctx->fresh[n++] = i;
	}
	/* Oldest first, to keep each CPU's events in order */
	sort_with(ctx->fresh, n, sizeof(*ctx->fresh), oldest_first, ctx);
	for (i = 0; i < n; i++)
		read_page(ctx, ctx->fresh[i]);
}

/*
 * Read a stack from its place, which may have been reused since.  A CPU that finds a stack in the
 * table may record it before the CPU that stored it has noted its first event.
 */
static void read_stack(struct follower *ctx, u32 id)
{
	struct record *r = ctx->o->record;
	u64 place = id & ((1ULL << r->info.id_bits) - 1);
	struct timespec pause = { .tv_nsec = POLL_MIN_US * 1000 };
	const struct stackbuf_stack *raw;
	struct stackbuf_stacks_page page;
	unsigned int granules, tries;
	struct stack *stack;

	if (!(place % 64) || place / 64 * STACKBUF_PAGE_SIZE >= r->info.stacks_size)
		return;
	for (tries = 0; tries < 5; tries++) {
		if (tries)
			nanosleep(&pause, NULL);
		get_page(ctx, ARRAY_STACKS, place / 64, &page);
		raw = (void *)page.granule[place % 64 - 1];
		if (raw->id != id)
			return;
		stack = stack_parse(&r->stacks, &page, place % 64, &granules);
		if (stack && (stack->first || !(raw->flags & STACKBUF_STACK_FIRST)))
			return;
	}
}

/* Read the records of the text log on which two copies of it agree */
static void read_text(struct follower *ctx, struct record *text)
{
	char again[STACKBUF_PAGE_SIZE];
	u64 at, size = ctx->o->record->info.text_size;

	get(ctx, ARRAY_TEXT, 0, ctx->text, size);
	for (at = 0; at < size; at += STACKBUF_PAGE_SIZE) {
		if (!ctx->text[at])
			continue;
		get(ctx, ARRAY_TEXT, at, again, sizeof(again));
		if (text_drop_torn(ctx->text + at, again))
			record_parse_text(text, ctx->text + at);
	}
}

/* Read frames and names of new stacks */
static void learn_stacks(struct follower *ctx)
{
	struct record *r = ctx->o->record;
	bool text_read = false;
	struct record text = { 0 };
	u32 loaded;
	size_t i;

	if (r->stacks.nr > STACKS_KEPT) {
		duplicates_free(&ctx->frames);
		stacks_empty(&r->stacks);
	}
	for (i = 0; i < ctx->events; i++) {
		u32 id = ctx->event[i].id;
		struct stack *stack, *found;

		if (stacks_find(&r->stacks, id))
			continue;
		stack = stacks_get(&r->stacks, id);
		read_stack(ctx, id);
		if (!text_read) {
			text_read = true;
			/* kallsyms names only modules that are loaded now */
			loaded = r->info.modules_loaded;
			get(ctx, ARRAY_INFO, offsetof(struct stackbuf_info, modules_loaded),
			    &r->info.modules_loaded, sizeof(r->info.modules_loaded));
			/* Known stacks may be of code that was unloaded */
			if (r->info.modules_loaded != loaded)
				duplicates_free(&ctx->frames);
			read_text(ctx, &text);
		}
		found = stacks_find(&text.stacks, id);
		if (found) {
			stack->text = found->text;
			stack->text_len = found->text_len;
			stack->lines = found->lines;
			stack->text_time = found->text_time;
			stack->cut |= !stack->nr && found->cut;
		}
		stack_settle(stack);
		duplicates_enter(&ctx->frames, stack);
		/* The text's memory is reused in the next round: take its names now */
		symbols_name(ctx->o->symbols, stack);
		stack->text = NULL;
	}
	record_free(&text);
}

static void report_lost(struct follower *ctx)
{
	if (ctx->lost == ctx->reported || (ctx->hooks && ctx->hooks->quiet))
		return;
	report("%llu events were lost: overwritten before they were read",
	       ctx->lost - ctx->reported);
	ctx->reported = ctx->lost;
}

static struct stack *use_first(const struct follower *ctx, struct stackbuf_event *e)
{
	struct stack *stack = stacks_find(&ctx->o->record->stacks, e->id);

	if (stack && !(ctx->hooks && ctx->hooks->own_ids))
		e->id = stack_canonical(stack)->id;
	return stack;
}

/* Return false if @file is a pipe or a socket whose reader has ended */
static bool has_reader(FILE *file)
{
	struct pollfd p = { .fd = fileno(file) };

	return poll(&p, 1, 0) <= 0 || !(p.revents & NO_READER);
}

/*
 * Print the events that no later event can precede.  An event is in the ring as soon as it is
 * recorded, so all events older than the newest one of the previous round have been read.
 */
static void print_events(struct follower *ctx, bool all)
{
	struct stackbuf_event *e = ctx->event;
	u64 newest = ctx->watermark;
	size_t i, n = 0;
	bool wanted = true;
	int error = 0;

	events_sort(e, ctx->events);
	if (ctx->events && e[ctx->events - 1].time > newest)
		newest = e[ctx->events - 1].time;
	while (n < ctx->events && (all || e[n].time <= ctx->watermark))
		n++;
	learn_stacks(ctx);
	/* The ring may be full of events: an interrupt must not wait until all are printed */
	for (i = 0; i < n && wanted && (all || !interrupted); i++) {
		struct stack *stack = use_first(ctx, &e[i]);

		if (ctx->filter->has_until && e[i].time > ctx->filter->until)
			interrupted = 1;
		if (!filter_match(ctx->filter, &e[i]))
			continue;
		ctx->evicted += stack && !stack->nr;
		if (ctx->hooks)
			wanted = ctx->hooks->event(ctx->hooks->arg, &e[i]);
		else
			output_event(ctx->o, &e[i]);
		ctx->printed++;
		if (!error && ferror(ctx->o->file))
			error = errno;
	}
	ctx->events -= i;
	memmove(e, e + i, ctx->events * sizeof(*e));
	ctx->watermark = newest;
	if (!wanted)
		interrupted = 1;
	if (fflush(ctx->o->file) || ferror(ctx->o->file)) {
		error = error ?: errno;
		/* Keep the error: watch_finish() ends by SIGPIPE */
		if (ctx->hooks && !has_reader(ctx->o->file)) {
			interrupted = 1;
			return;
		}
		/* Another error is one of writing, as with a full disk */
		if (ctx->hooks && interrupted && error == EINTR) {
			/* Continue: the probes must be removed, even if the reader is slow */
			report("interrupted while printing: the output is incomplete");
			/*
			 * Messages must not wait for it either: die() would first write the
			 * buffered output
			 */
			__fpurge(ctx->o->file);
			clearerr(ctx->o->file);
			report_lost(ctx);
			return;
		}
		die(1, "cannot write: %s", strerror(error));
	}
	report_lost(ctx);
}

/* At the end, count the events that were overwritten on CPUs of which no later page was read */
static void count_unread(struct follower *ctx)
{
	u64 *first = xcalloc(ctx->cpus, sizeof(*first));
	size_t i;

	memset(first, 0xff, ctx->cpus * sizeof(*first));
	for (i = 0; i < ctx->pages; i++) {
		/* If the first and third head have the same number, so does the second */
		struct stackbuf_events_page head[3];
		unsigned int n;

		for (n = 0; n < 3; n++)
			get(ctx, ARRAY_EVENTS, i * STACKBUF_PAGE_SIZE, &head[n],
			    offsetof(struct stackbuf_events_page, word));
		if (head[0].page.seq && head[0].page.seq == head[2].page.seq &&
		    head[1].cpu < ctx->cpus && head[1].first < first[head[1].cpu])
			first[head[1].cpu] = head[1].first;
	}
	for (i = 0; i < ctx->cpus; i++)
		if (ctx->cpu[i].known && first[i] != ~0ULL && first[i] > ctx->cpu[i].next)
			ctx->lost += first[i] - ctx->cpu[i].next;
	free(first);
}

/* Keep the old events that --last and --since select, else none */
static void choose_old_events(struct follower *ctx)
{
	size_t i;

	for (i = 0; i < ctx->events; i++)
		use_first(ctx, &ctx->event[i]);
	events_sort(ctx->event, ctx->events);
	if (ctx->filter->has_last || ctx->filter->has_since)
		ctx->events = filter_apply(ctx->filter, ctx->event, ctx->events);
	else
		ctx->events = 0;
}

void follow_events(struct source *s, struct output *o, const struct filter *f,
		   const struct follow_hooks *hooks)
{
	struct follower ctx = {
		.source = s, .o = o, .filter = f, .hooks = hooks, .first_round = true
	};
	struct timespec pause = { 0 };
	unsigned int us = POLL_MIN_US;
	struct stack *stack;
	size_t i;

	ctx.pages = o->record->info.events_size / STACKBUF_PAGE_SIZE;
	ctx.page = xcalloc(ctx.pages, sizeof(*ctx.page));
	ctx.memory = xcalloc(ctx.pages, sizeof(*ctx.memory));
	ctx.fresh = xcalloc(ctx.pages, sizeof(*ctx.fresh));
	ctx.text = xcalloc(o->record->info.text_size, 1);
	if (!hooks) {
		/* SA_RESTART: print all events that were read, even after an interrupt */
		interrupt_catch(SA_RESTART);
		output_head(o);
	}
	read_ring(&ctx);
	choose_old_events(&ctx);
	ctx.first_round = false;
	if (hooks)
		hooks->begin(hooks->arg);
	for (i = 0; (stack = stacks_next(&o->record->stacks, &i)); )
		duplicates_enter(&ctx.frames, stack);
	while (!interrupted && !(hooks && hooks->enough(hooks->arg, ctx.lost))) {
		print_events(&ctx, false);
		if (interrupted)
			break;
		pause.tv_nsec = us * 1000L;
		nanosleep(&pause, NULL);
		read_ring(&ctx);
		/* The faster the ring wraps, the shorter the pause */
		if (ctx.taken > ctx.pages / 16)
			us = us / 2 < POLL_MIN_US ? POLL_MIN_US : us / 2;
		else
			us = us * 2 > POLL_MAX_US ? POLL_MAX_US : us * 2;
	}
	if (hooks) {
		hooks->end(hooks->arg);
		read_ring(&ctx);
	}
	count_unread(&ctx);
	print_events(&ctx, true);
	if (hooks)
		hooks->rest(hooks->arg, ctx.lost, ctx.evicted);
	else
		report("%llu events printed, %llu lost, %llu half-written", ctx.printed, ctx.lost,
		       ctx.skipped);
	duplicates_free(&ctx.frames);
	free(ctx.page);
	free(ctx.memory);
	free(ctx.fresh);
	free(ctx.text);
	free(ctx.event);
	free(ctx.cpu);
}
