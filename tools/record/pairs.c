// SPDX-License-Identifier: GPL-2.0
/*
 * pairs.c - pairs of probes: outstanding objects, and the lifetimes of closed ones, by stack
 *
 * It trusts no byte: an object with an invalid stack number counts as half-written.
 */
#include <search.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "record/parse.h"

bool pairs_next(const struct record *r, unsigned int *number, struct stackbuf_pair *pair)
{
	u64 first = r->info.info_size / STACKBUF_PAGE_SIZE - r->info.pair_pages;
	size_t i;

	if (!r->have_info || !r->info.pair_pages)
		return false;
	for (i = 0; i < r->pairs; i++)
		if (r->pair[i].kind == STACKBUF_PAIRS && r->pair[i].index == first)
			break;
	for (; i < r->pairs && *number < STACKBUF_PAIRS_MAX; ) {
		*pair = ((const struct stackbuf_pairs_page *)r->pair[i].data)->pair[(*number)++];
		if (pair->name[0] && pair->probes)
			return true;
	}
	return false;
}

static int by_index(const void *a, const void *b)
{
	const struct found_page *x = a, *y = b;
	int c = compare_u64(x->kind, y->kind);

	return c ? c : compare_u64(x->index, y->index);
}

/* Find the page with this index among the sorted pages of pairs, or NULL */
static const void *page_at(const struct record *r, u16 kind, u64 index, unsigned int *copies)
{
	u64 first = r->info.info_size / STACKBUF_PAGE_SIZE - r->info.pair_pages;
	const struct found_page key = { .kind = kind, .index = first + index };
	const struct found_page *page, *other;

	page = bsearch(&key, r->pair, r->pairs, sizeof(key), by_index);
	/* A memory image may have copies of a page; pages of pairs have no growing sequence */
	for (other = page; page && other > r->pair && !by_index(other - 1, page); other--)
		;
	for (; page && other < r->pair + r->pairs && !by_index(other, page); other++)
		*copies += !!memcmp(other->data, page->data, STACKBUF_PAGE_SIZE);
	return page ? page->data : NULL;
}

static void take_probes(const struct record *r, unsigned int number, struct pair_totals *t)
{
	unsigned int i, found = 0;
	struct stackbuf_probe probe;

	for (i = 0; probe_next(r, &i, &probe); )
		if (probe.pair == number) {
			found++;
			t->missed += probe.missed;
			t->absent += (probe.state != STACKBUF_PROBE_SET) + probe.left_out;
		}
	if (found < t->pair.probes)
		t->lost += t->pair.probes - found;
}

static int by_stack(const void *a, const void *b)
{
	const struct pair_total *x = a, *y = b;

	return compare_u64((uintptr_t)x->stack, (uintptr_t)y->stack);
}

/* The total of a stack; stacks with equal frames share one.  In a tree next to @t->total */
static struct pair_total *total_of(struct pair_totals *t, void **tree, const struct record *r,
				   u64 id)
{
	struct stack *stack = stacks_find((struct stacks *)&r->stacks, (u32)id);
	struct pair_total *total = &t->total[t->nr], **found;

	if (!stack)
		return NULL;
	*total = (struct pair_total){
		.stack = (struct stack *)stack_canonical(stack), .oldest = ~0ULL
	};
	found = tsearch(total, tree, by_stack);
	if (!found)
		die(1, "out of memory");
	t->nr += *found == total;
	return *found;
}

/* Entries of stacks */
struct entries {
	u64 nr;
	bool *known;
	struct pair_total **of;	/* NULL: belongs to another pair */
	u64 doubted;	/* tasks in doubt count if they went to sleep until then */
};

/* Times at which objects were opened */
struct opened {
	u64 *time;
	size_t nr;
};

/*
 * When the newest event was recorded, less the time that a wakeup may take: in a live copy, a task
 * that went to sleep since then may be in doubt for a moment
 */
static u64 doubted_until(const struct record *r)
{
	u64 newest = r->events ? r->event[r->events - 1].time : 0;

	return !r->live ? ~0ULL : newest > NSEC_PER_SEC ? newest - NSEC_PER_SEC : 0;
}

/* Add up open objects; with @opened only note their times */
static void take_open(struct pair_totals *t, const struct entries *e, u64 from, u64 until,
		      const struct stackbuf_pair_bucket *bucket, struct opened *opened)
{
	unsigned int i;

	for (i = 0; i < STACKBUF_PAIR_BUCKET; i++) {
		const struct stackbuf_pair_object *object = &bucket->object[i];
		u32 stack = object->stack & ~STACKBUF_PAIR_IN_DOUBT;
		bool valid = stack && stack <= e->nr && e->known[stack - 1];
		struct pair_total *total = valid ? e->of[stack - 1] : NULL;

		if (!bucket->key[i])
			continue;
		if (!opened && !valid)
			t->half++;
		if (!total || object->time < from || object->time > until)
			continue;
		if (stack != object->stack) {
			t->doubt += !opened && object->time <= e->doubted;
			continue;
		}
		if (opened) {
			GROW(opened->time, opened->nr);
			opened->time[opened->nr++] = object->time;
			continue;
		}
		total->open++;
		total->value += object->value;
		if (object->time < total->oldest)
			total->oldest = object->time;
		if (object->time > total->newest)
			total->newest = object->time;
	}
}

static void take_opens(const struct record *r, struct pair_totals *t, const struct entries *e,
		       u64 from, u64 until, struct opened *opened)
{
	u64 stacks = e->nr / STACKBUF_PAGE_PAIR_STACKS, i, n;

	for (i = 1 + stacks; i < r->info.pair_pages; i++) {
		const struct stackbuf_pair_open_page *page =
			page_at(r, STACKBUF_PAIR_OPEN, i, &t->copies);

		t->lost += !page && !opened;
		for (n = 0; page && n < STACKBUF_PAGE_PAIR_BUCKETS; n++)
			take_open(t, e, from, until, &page->bucket[n], opened);
	}
}

static int by_time(const void *a, const void *b)
{
	return compare_u64(*(const u64 *)a, *(const u64 *)b);
}

/* Time when the first of the newest was opened */
static u64 newest_from(const struct record *r, struct pair_totals *t, const struct entries *e,
		       const struct pair_span *span)
{
	struct opened opened = { 0 };
	unsigned int copies = t->copies;
	u64 from = 0;

	if (!span->newest)
		return 0;
	take_opens(r, t, e, 0, span->until, &opened);
	t->copies = copies;
	sort(opened.time, opened.nr, sizeof(*opened.time), by_time);
	if (opened.nr > span->newest)
		from = opened.time[opened.nr - span->newest];
	free(opened.time);
	return from;
}

/* The least that the times of a stack add up to */
static unsigned __int128 least_sum(const struct pair_total *t)
{
	unsigned __int128 sum = 0;
	unsigned int i;

	for (i = 0; i < STACKBUF_PAIR_TIMES; i++)
		sum += (unsigned __int128)t->times[i] * pairs_time(i);
	return sum > t->longest ? sum : t->longest;
}

void pairs_read(const struct record *r, unsigned int number, const struct pair_span *span,
		struct pair_totals *t)
{
	u64 stacks = STACKBUF_PAIR_STACK_PAGES((u64)r->info.pair_pages), i, n, k;
	struct entries e = {
		.nr = stacks * STACKBUF_PAGE_PAIR_STACKS, .doubted = doubted_until(r),
	};
	unsigned int at = number - 1;
	void *tree = NULL;

	memset(t, 0, sizeof(*t));
	if (!pairs_next(r, &at, &t->pair) || at != number)
		return;
	memcpy(t->name, t->pair.name, sizeof(t->pair.name));
	make_printable(t->name, sizeof(t->name));
	take_probes(r, number, t);
	/* pairs_next() took the first copy */
	page_at(r, STACKBUF_PAIRS, 0, &t->copies);
	/* Only pages copied across a reset have this number */
	t->kept = !r->info.page.seq;
	t->off = r->probes_off;
	t->stopped = r->info.stop_ns;
	/* Limit by the pages found: a claimed number of pages allocates nothing */
	if (stacks > r->pairs) {
		t->lost++;
		return;
	}
	e.of = xcalloc(e.nr + 1, sizeof(*e.of));
	e.known = xcalloc(e.nr + 1, sizeof(*e.known));
	t->total = xcalloc(e.nr + 1, sizeof(*t->total));
	for (i = 0; i < stacks; i++) {
		const struct stackbuf_pair_stacks_page *page =
			page_at(r, STACKBUF_PAIR_STACKS, 1 + i, &t->copies);

		t->lost += !page;
		for (n = 0; page && n < STACKBUF_PAGE_PAIR_STACKS; n++) {
			const struct stackbuf_pair_stack *stack = &page->stack[n];
			struct pair_total *total;

			e.known[i * STACKBUF_PAGE_PAIR_STACKS + n] = stack->stack;
			if (stack->stack >> 32 != number)
				continue;
			total = total_of(t, &tree, r, stack->stack);
			if (!total) {
				t->half++;
				continue;
			}
			e.of[i * STACKBUF_PAGE_PAIR_STACKS + n] = total;
			total->sum += stack->sum;
			if (stack->longest > total->longest)
				total->longest = stack->longest;
			for (k = 0; k < STACKBUF_PAIR_TIMES; k++) {
				total->times[k] += stack->closed[k];
				total->closed += stack->closed[k];
			}
		}
	}
	take_opens(r, t, &e, newest_from(r, t, &e, span), span->until, NULL);
	for (i = 0; i < t->nr; i++) {
		t->beyond += t->total[i].sum < least_sum(&t->total[i]) ||
			     t->all.sum + t->total[i].sum < t->all.sum;
		t->all.open += t->total[i].open;
		t->all.value += t->total[i].value;
		t->all.closed += t->total[i].closed;
		t->all.sum += t->total[i].sum;
	}
	if (r->live)
		t->half = 0;
	duplicates_free(&tree);
	free(e.known);
	free(e.of);
}

void pairs_free(struct pair_totals *t)
{
	free(t->total);
	memset(t, 0, sizeof(*t));
}

bool pairs_exact(const struct pair_totals *t)
{
	return !(t->pair.refused | t->pair.reopened | t->pair.parts | t->missed | t->absent |
		 t->half | t->doubt | t->lost | t->copies | t->kept | t->beyond | !!t->off);
}

u64 pairs_time(unsigned int i)
{
	return i ? 1ULL << (STACKBUF_PAIR_TIME_BITS + i) : 0;
}
