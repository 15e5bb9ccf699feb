// SPDX-License-Identifier: GPL-2.0
/*
 * stackcount.c - totals of the stacks of chosen functions, as bcc's stackcount prints them
 *
 * A stack's total is its count in the table plus its events in the ring, minus the same sum before
 * the probes were set.  It is exact, however often the ring wraps.  While events are recorded, a
 * page may be moving from ring to table; that reading leaves it out, and the next one includes it.
 * The last reading is made after the probes are removed.
 *
 * Only the events have the process.  For -P and for formats with commands, the program follows the
 * ring; events that were overwritten before they were read are in the totals, with an unknown
 * process.  Ring and totals are read at different times: the times of events show, for each CPU,
 * which events the first totals included, and which only the last reading found.
 *
 * With a filter that the kernel does not apply, and for snoop, only events that were read count.
 */
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "live/watch.h"
#include "output/files.h"

/* Rereads while a page is moving */
#define TRIES	10

/* A damaged page may name any CPU */
#define CPUS_MAX	65536
#define CPU(e)		((e)->cpu % CPUS_MAX)

/* A total */
struct tally {
	u32 id;				/* the stack */
	bool labelled;			/* count only events with this label */
	struct stackbuf_event label;	/* what its events share; its time and stack are 0 */
	u64 base, total;		/* events before the probes were set, and until now */
	u64 reported;	/* of those after @base: printed, or of a process; in a sum, the sum */
	unsigned int reading;		/* number of the last reading that found it */
	/* Its frames, kept after eviction; NULL: it begins in another function, or has no event */
	struct stack *saved;
};

struct counter {
	struct watch *w;
	bool labelled;			/* a total for each label */
	bool read_only;			/* count only events that were read */
	u64 counted;			/* events of the functions */
	u64 from, to;			/* when they were recorded, ns since boot */
	struct stacks saved_stacks;
	void *tallies;			/* a tree */
	struct tally *last;		/* of the last event: the next often has the same */
	struct tally **row;		/* those to print */
	size_t rows;
	bool any;			/* a total was printed */
	unsigned int reading;
	u64 evicted, evicted_before, evicted_known;
	u64 unsure, lost;
	u64 *base_time, *seen_time;	/* by CPU: time of newest event in @base, and followed */
	u64 next;			/* end of the interval, CLOCK_MONOTONIC, ns */
	bool ends;			/* last reading: print totals without a label, too */
};

/* --------------------------------------------------------------- tallies --- */

static int tally_order(const void *a, const void *b)
{
	const struct tally *x = a, *y = b;

	return compare_u64(x->id, y->id) ?: x->labelled - y->labelled ?:
		output_label_order(&x->label, &y->label);
}

/* Find the tally that equals @key, or enter a copy of it */
static struct tally *tally_of(struct counter *ctx, const struct tally *key)
{
	struct tally **found = tfind(key, &ctx->tallies, tally_order), *copy;

	if (found)
		return *found;
	copy = xcalloc(1, sizeof(*copy));
	*copy = *key;
	if (!tsearch(copy, &ctx->tallies, tally_order))
		die(1, "out of memory");
	return copy;
}

/* The named frames of a stack, or NULL if it begins in none of the functions */
static struct stack *saved_stack_of(struct counter *ctx, struct stack *stack)
{
	if (!watch_wants(ctx->w, stack))
		return NULL;
	symbols_name(ctx->w->o->symbols, stack);
	return stack_keep(&ctx->saved_stacks, stack);
}

/* --------------------------------------------------------------- reading --- */

/* Set the properties that events of one total share: more if the output shows more */
static void set_label(const struct counter *ctx, struct stackbuf_event *label,
		      const struct stackbuf_event *e)
{
	if (ctx->w->o->format == FORMAT_PPROF) {
		*label = *e;
		label->time = 0;
		label->id = 0;
		return;
	}
	if (ctx->w->per_process)
		label->tgid = e->tgid;
	memcpy(label->comm, e->comm, sizeof(label->comm));
}

static void count_event(struct counter *ctx, const struct stackbuf_event *e)
{
	struct tally key = { .id = e->id, .labelled = ctx->labelled }, *t = ctx->last;
	struct stack *stack;

	if (watch_own(e)) {
		key.labelled = false;
		if (!ctx->read_only)
			tally_of(ctx, &key)->reported++;
		return;
	}
	if (ctx->labelled)
		set_label(ctx, &key.label, e);
	if (!t || tally_order(t, &key)) {
		t = tally_of(ctx, &key);
		ctx->last = t;
		stack = stacks_find(&ctx->w->o->record->stacks, e->id);
		if (!t->saved && stack)
			t->saved = saved_stack_of(ctx, stack);
	}
	t->total++;
	if (!t->saved)
		return;
	ctx->counted++;
	ctx->to = e->time;
	if (!ctx->from)
		ctx->from = e->time;
}

/* Read the totals; with @base, as the totals before the probes were set */
static void read_totals(struct counter *ctx, bool base)
{
	struct source *s = ctx->w->source;
	struct record *r = ctx->w->o->record;
	struct page_set set = { 0 };
	struct stack *stack;
	unsigned int tries;
	size_t i;

	/* Read before the table: a stack evicted in between counts as evicted later */
	if (base && s->ops->read(s, ARRAY_INFO, offsetof(struct stackbuf_info, evicted_events),
				 &ctx->evicted_before, sizeof(ctx->evicted_before)))
		die(1, "%s", s->error);
	for (tries = 0; tries < TRIES; tries++) {
		record_free(r);
		page_set_clear(&set);
		if (s->ops->load(s, &set))
			die(1, "%s", s->error);
		record_parse(r, &set, page_set_newest(&set), NULL);
		/* While probes are set, a page may always be moving: do not retry */
		if (!(set.changed || r->rebuilt || r->half) || !(base || ctx->ends))
			break;
	}
	for (i = 0; i < r->events && base; i++)
		if (ctx->base_time[CPU(&r->event[i])] < r->event[i].time)
			ctx->base_time[CPU(&r->event[i])] = r->event[i].time;
	ctx->unsure = (u64)(set.changed + r->rebuilt) * PAGE_EVENTS_MAX + r->half;
	page_set_clear(&set);
	ctx->reading++;
	ctx->evicted = r->info.evicted_events;
	for (i = 0; (stack = stacks_next(&r->stacks, &i)); ) {
		const struct tally key = { .id = stack->id };
		struct tally *t;

		if (!stack->nr && !stack->in_ring)
			continue;
		t = tally_of(ctx, &key);
		t->reading = ctx->reading;
		if (t->total < stack_events(stack))
			t->total = stack_events(stack);
		if (base)
			t->base = t->total;
		else if (t->total > t->base && !t->saved)
			t->saved = saved_stack_of(ctx, stack);
	}
}

/* -------------------------------------------------------------- printing --- */

static u64 unreported(const struct tally *t)
{
	u64 n = t->total - t->base;

	return n > t->reported ? n - t->reported : 0;
}

static int by_frames(const void *a, const void *b)
{
	const struct tally *x = *(struct tally *const *)a, *y = *(struct tally *const *)b;
	const struct stack *s = x->saved, *t = y->saved;
	int c = compare_u64(s->nr, t->nr) ?: s->cut - t->cut;
	unsigned int i;

	if (!c && !s->nr)
		c = compare_u64(s->id, t->id);
	else if (!c)
		c = memcmp(s->addr, t->addr, s->nr * sizeof(u64));
	/* One may be of code that was loaded at these addresses before */
	for (i = 0; !c && i < s->nr; i++)
		c = strcmp(s->frame[i].text, t->frame[i].text);
	return c ?: x->labelled - y->labelled ?: output_label_order(&x->label, &y->label);
}

/* Order by count, the least frequent first */
static int by_number(const void *a, const void *b)
{
	const struct tally *x = *(struct tally *const *)a, *y = *(struct tally *const *)b;

	return compare_u64(x->reported, y->reported) ?: tally_order(x, y);
}

static void collect(const void *node, VISIT visit, void *arg)
{
	struct counter *ctx = arg;
	struct tally *t = *(struct tally *const *)node;

	if (visit != postorder && visit != leaf)
		return;
	if (!t->labelled && t->reading != ctx->reading)
		ctx->evicted_known += t->total;
	if (!t->saved || !unreported(t) || (ctx->labelled && !t->labelled && !ctx->ends))
		return;
	GROW(ctx->row, ctx->rows);
	ctx->row[ctx->rows++] = t;
}

static void print_folded(const struct counter *ctx, const struct tally *t, u64 n)
{
	FILE *f = ctx->w->o->file;
	const struct stack *saved = t->saved;
	unsigned int i;

	output_prefix(ctx->w->o);
	output_folded_comm(ctx->w->o, t->label.comm);
	if (ctx->w->per_process && t->labelled)
		fprintf(f, "-%u", t->label.tgid);
	if (saved->cut)
		fputs(";" FRAMES_CUT, f);
	for (i = saved->named; i--; ) {
		const struct frame *frame = &saved->frame[i];

		putc(';', f);
		watch_frame(ctx->w, frame);
		if (frame->module_len)
			fprintf(f, "_[%.*s]", (int)frame->module_len, frame->module);
	}
	fprintf(f, " %llu\n", n);
}

static void print_json(const struct counter *ctx, const struct tally *t, u64 n, u64 all, u64 now)
{
	struct stack stack = *t->saved;

	/* Show equal stacks with one id, that of the total */
	stack.id = t->id;
	stack.block = NULL;
	output_total(ctx->w->o, &stack, n, all, t->labelled ? t->label.comm : NULL, t->label.tgid,
		     ctx->w->timestamp ? now : 0);
	free(stack.block);
}

static void print_block(const struct counter *ctx, const struct tally *t, u64 n, u64 all)
{
	FILE *f = ctx->w->o->file;
	const struct stack *saved = t->saved;
	char comm[STACKBUF_COMM_LEN];
	unsigned int i;

	for (i = 0; i < saved->named; i++) {
		fputs("  ", f);
		if (ctx->w->verbose && i < saved->nr)
			fprintf(f, "%-16llx ", saved->addr[i]);
		watch_frame(ctx->w, &saved->frame[i]);
		fputs(output_line(ctx->w->o, saved, i), f);
		putc('\n', f);
	}
	if (saved->cut)
		fputs("  " FRAMES_CUT "\n", f);
	if (t->labelled)
		fprintf(f, "    %s [%u]\n", output_comm(t->label.comm, comm), t->label.tgid);
	else if (ctx->w->per_process)
		fputs("    unknown process\n", f);
	fprintf(f, "    %llu", n);
	if (ctx->w->o->percent)
		fprintf(f, "  %.2f %%", output_percent(n, all));
	fputs("\n\n", f);
}

/* Write a format that needs its own file */
static void write_profile(const struct counter *ctx, size_t nr)
{
	struct watch *w = ctx->w;
	struct profile p = {
		.total = xcalloc(nr + 1, sizeof(*p.total)), .nr = nr,
		.from = ctx->from, .to = ctx->to, .commands = true,
		.processes = w->per_process,
	};
	size_t i;

	for (i = 0; i < nr; i++)
		p.total[i] = (struct stack_total){
			.stack = ctx->row[i]->saved, .events = ctx->row[i]->reported,
			.label = ctx->row[i]->labelled ? &ctx->row[i]->label : NULL,
		};
	profile_write(w->o, &p, w->flame);
}

/* Print totals that were not printed before */
static void print_totals(struct counter *ctx)
{
	enum output_format format = ctx->w->o->format;
	struct tally *sum;
	size_t i, n = 0;
	u64 all = 0;
	char clock[16];
	time_t now = time(NULL);
	struct tm tm;

	ctx->rows = 0;
	ctx->evicted_known = 0;
	twalk_r(ctx->tallies, collect, ctx);
	sort(ctx->row, ctx->rows, sizeof(*ctx->row), by_frames);
	/* Add up stacks that two CPUs entered twice */
	sum = xcalloc(ctx->rows + 1, sizeof(*sum));
	for (i = 0; i < ctx->rows; i++) {
		if (!n || by_frames(&ctx->row[i - 1], &ctx->row[i])) {
			sum[n] = *ctx->row[i];
			sum[n++].reported = 0;
		}
		sum[n - 1].reported += unreported(ctx->row[i]);
		/* The lowest id represents equal stacks, see stack_canonical() */
		if (sum[n - 1].id > ctx->row[i]->id)
			sum[n - 1].id = ctx->row[i]->id;
		all += unreported(ctx->row[i]);
	}
	for (i = 0; i < ctx->rows; i++)
		ctx->row[i]->reported = ctx->row[i]->total - ctx->row[i]->base;
	for (i = 0; i < n; i++)
		ctx->row[i] = &sum[i];
	ctx->any |= n;
	sort(ctx->row, n, sizeof(*ctx->row), by_number);

	if (format == FORMAT_TEXT)
		putc('\n', ctx->w->o->file);
	if (ctx->w->timestamp && (format == FORMAT_TEXT || format == FORMAT_FOLDED)) {
		localtime_r(&now, &tm);
		strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
		fprintf(ctx->w->o->file, "%-8s\n", clock);
	}
	if (format == FORMAT_PPROF || format == FORMAT_FLAME) {
		write_profile(ctx, n);
		n = 0;
	}
	for (i = ctx->w->o->top && n > ctx->w->o->top ? n - ctx->w->o->top : 0; i < n; i++) {
		if (format == FORMAT_JSON)
			print_json(ctx, ctx->row[i], ctx->row[i]->reported, all,
				   now * NSEC_PER_SEC);
		else if (format == FORMAT_FOLDED)
			print_folded(ctx, ctx->row[i], ctx->row[i]->reported);
		else
			print_block(ctx, ctx->row[i], ctx->row[i]->reported, all);
	}
	fflush(ctx->w->o->file);
	free(sum);
}

/* Subtract counts with a label from the totals without one */
static void subtract(const void *node, VISIT visit, void *arg)
{
	struct counter *ctx = arg;
	const struct tally *t = *(struct tally *const *)node;
	const struct tally key = { .id = t->id };
	struct tally **of;

	if ((visit == postorder || visit == leaf) && t->labelled) {
		/* Do not add one, as the tree is being walked: it would have no total */
		of = tfind(&key, &ctx->tallies, tally_order);
		if (of)
			(*of)->reported += t->total;
	}
}

/* -------------------------------------------------------------- commands --- */

static void begin(void *arg)
{
	struct counter *ctx = arg;
	struct watch *w = ctx->w;
	size_t i, events = 0;

	if (!ctx->read_only)
		read_totals(ctx, true);
	/*
	 * Many functions have more stacks than texts: read symbols now, not when the user waits for
	 * the end
	 */
	for (i = 0; i < w->patterns.nr; i++)
		if (w->patterns.pattern[i].kind != PATTERN_NAME) {
			symbols_read(w->o->symbols);
			break;
		}
	watch_begin(w);
	if (ctx->unsure)
		report("totals may be too large, by at most %llu events: the ring fills so fast that earlier events could not be told from new ones",
		       ctx->unsure);
	if (w->o->format == FORMAT_TEXT) {
		for (i = 0; i < w->patterns.nr; i++)
			events += !!w->patterns.pattern[i].event;
		fprintf(w->o->file, "Tracing %llu %s for", w->overrides.functions,
			!events ? "functions" : events < w->patterns.nr ?
			"functions and tracepoints" : "tracepoints");
		for (i = 0; i < w->patterns.nr; i++)
			fprintf(w->o->file, " \"%s\"", w->patterns.pattern[i].text);
		fputs("... Hit Ctrl-C to end.\n", w->o->file);
		fflush(w->o->file);
	}
	ctx->next = w->started + w->interval;
}

/* Return false to end */
static bool take_event(void *arg, const struct stackbuf_event *e)
{
	struct counter *ctx = arg;

	if (ctx->w->number && ctx->counted == ctx->w->number)
		return false;
	if (!ctx->read_only && e->time <= ctx->base_time[CPU(e)])
		return true;
	ctx->seen_time[CPU(e)] = e->time;
	count_event(ctx, e);
	return !ctx->w->number || ctx->counted < ctx->w->number;
}

/* Count events that only the last reading of the totals found */
static void take_rest(struct counter *ctx)
{
	const struct record *r = ctx->w->o->record;
	size_t i;

	for (i = 0; i < r->events; i++)
		if (r->event[i].time > ctx->seen_time[CPU(&r->event[i])])
			take_event(ctx, &r->event[i]);
}

/* Print when an interval ends.  Return true when it is time to end */
static bool enough(void *arg, u64 lost)
{
	struct counter *ctx = arg;
	const struct watch *w = ctx->w;
	u64 now = watch_now();

	(void)lost;
	if (watch_over(w))
		return true;
	if (w->interval && now >= ctx->next) {
		ctx->next += w->interval * ((now - ctx->next) / w->interval + 1);
		if (!(ctx->labelled || ctx->read_only))
			read_totals(ctx, false);
		print_totals(ctx);
	}
	return false;
}

static void end(void *arg)
{
	watch_end(((struct counter *)arg)->w);
}

static void rest(void *arg, u64 lost, u64 evicted)
{
	struct counter *ctx = arg;

	ctx->lost = lost;
	/* The table's totals include them, as events of evicted stacks */
	if (ctx->read_only)
		watch_report_evicted(evicted);
}

/* Wait without following the ring: the table counts */
static void wait_for_it(struct counter *ctx)
{
	const struct watch *w = ctx->w;
	u64 until, now;

	while (!enough(ctx, 0)) {
		now = watch_now();
		until = w->interval ? ctx->next : ~0ULL;
		if (w->duration && w->started + w->duration < until)
			until = w->started + w->duration;
		if (until > now)
			watch_wait(w, until == ~0ULL ? until : until - now);
	}
}

static void count_live(struct counter *ctx)
{
	const struct follow_hooks hooks = {
		.arg = ctx, .quiet = true, .own_ids = true, .begin = begin, .event = take_event,
		.enough = enough, .end = end, .rest = rest,
	};
	struct watch *w = ctx->w;
	const struct filter none = { 0 };

	if (ctx->labelled || ctx->read_only) {
		follow_events(w->source, w->o, ctx->read_only ? w->filter : &none, &hooks);
	} else {
		begin(ctx);
		wait_for_it(ctx);
		end(ctx);
	}
	ctx->ends = true;
	if (!ctx->read_only)
		read_totals(ctx, false);
	if (!ctx->read_only && ctx->labelled) {
		take_rest(ctx);
		twalk_r(ctx->tallies, subtract, ctx);
	}
	watch_restore(w);
	print_totals(ctx);
	if (w->o->format == FORMAT_TEXT)
		fputs("Detaching...\n", w->o->file);
	else if (!ctx->any && !w->in_vain)
		report("no event: these functions were not called, or the filter chooses none of their calls");
	fflush(w->o->file);
	if (ctx->lost && ctx->read_only)
		report("%llu events were overwritten before they were read, and are in no total",
		       ctx->lost);
	else if (ctx->lost)
		report("%llu events were overwritten before they were read: their stacks are counted, but their processes are not known",
		       ctx->lost);
	if (ctx->unsure)
		report("totals may be too small, by at most %llu events in all", ctx->unsure);
	if (ctx->evicted - ctx->evicted_before > ctx->evicted_known)
		report("up to %llu events are in no total: their stacks were evicted from the table",
		       ctx->evicted - ctx->evicted_before - ctx->evicted_known);
}

void stackcount_run(struct watch *w)
{
	struct counter ctx = { .w = w };

	watch_prepare(w);
	ctx.base_time = xcalloc(CPUS_MAX, sizeof(*ctx.base_time));
	ctx.seen_time = xcalloc(CPUS_MAX, sizeof(*ctx.seen_time));
	ctx.labelled = w->per_process || watch_sums(w);
	ctx.read_only = w->events || w->filtered;
	count_live(&ctx);
	tdestroy(ctx.tallies, free);
	stacks_empty(&ctx.saved_stacks);
	free(ctx.row);
	free(ctx.base_time);
	free(ctx.seen_time);
	watch_finish(w);
}
