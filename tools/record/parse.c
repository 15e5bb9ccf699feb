// SPDX-License-Identifier: GPL-2.0
/*
 * parse.c - parses pages of memory to events, stacks and texts
 */
#include <stdlib.h>
#include <string.h>
#include "record/parse.h"

/* -------------------------------------------------------------- events --- */

/* Drop all but the newest @last events, but rarely, so that each event is sorted few times */
static void drop_old_events(struct record *r, u64 last)
{
	if (r->events < 1024 || r->events / 2 < last)
		return;
	events_sort(r->event, r->events);
	memmove(r->event, r->event + r->events - last, last * sizeof(*r->event));
	r->events = last;
}

static void keep_event(struct record *r, const struct stackbuf_event *e,
		       const struct event_choice *choice)
{
	struct stack *stack = choice ? stacks_find(&r->stacks, e->id) :
				     stacks_get(&r->stacks, e->id);

	if (stack)
		stack->in_ring++;
	r->found++;
	if (choice && !choice->matches(choice->search, e))
		return;
	GROW(r->event, r->events);
	r->event[r->events++] = *e;
	if (choice && choice->last)
		drop_old_events(r, choice->last);
}

static void parse_events(struct record *r, const struct stackbuf_events_page *page,
			 const struct event_choice *choice)
{
	struct cursor c;

	cursor_start(&c, page);
	if (page->word[0])
		r->used_pages++;
	for (;;) {
		switch (cursor_next(&c)) {
		case STEP_EVENT:
			keep_event(r, &c.event, choice);
			break;
		case STEP_HALF:
			r->half++;
			cursor_skip(&c);
			break;
		case STEP_DAMAGED:
			r->damaged++;
			return;
		case STEP_END:
			return;
		}
	}
}

/* ---------------------------------------------------------- old copies --- */

/*
 * The sequence of the newest page of a kind, whose last page is number @nr - 1: the highest, except
 * for outliers such as a sequence with a flipped bit.
 */
static u64 newest_seq(const struct found_page *page, size_t nr, u64 lap)
{
	for (; nr > 1 && page[nr - 2].kind == page[nr - 1].kind; nr--)
		if (page[nr - 1].seq - page[nr - 2].seq <= lap)
			return page[nr - 1].seq;
	return 0;
}

/* Events that the CPU had recorded when it took the next page */
static u64 recorded_until(const struct stackbuf_events_page *page)
{
	struct cursor c;
	enum step step;

	cursor_start(&c, page);
	while ((step = cursor_next(&c)) == STEP_EVENT || step == STEP_HALF)
		if (step == STEP_HALF)
			cursor_skip(&c);
	return page->first + c.nr;
}

static int by_cpu(const void *a, const void *b, void *arg)
{
	const struct found_page *page = arg;
	u32 i = *(const u32 *)a, k = *(const u32 *)b;
	const struct stackbuf_events_page *x = page[i].data, *y = page[k].data;
	int c = compare_u64(x->cpu, y->cpu);

	return c ? c : compare_u64(i, k);
}

/*
 * For each page of events return the index of its CPU's next page, with a higher sequence, or 0 if
 * there is none.  @page is sorted by kind and sequence.  A hostile file may have as many CPUs as
 * pages.
 */
static u32 *next_of_cpu(struct found_page *page, size_t nr)
{
	u32 *next = xcalloc(nr + 1, sizeof(*next)), *events = xcalloc(nr + 1, sizeof(*events));
	size_t i, n = 0;

	for (i = 0; i < nr; i++)
		if (page[i].kind == STACKBUF_EVENTS)
			events[n++] = i;
	sort_with(events, n, sizeof(*events), by_cpu, page);
	/* Go back from the newest page: pages with the same sequence share their next page */
	while (n-- > 1) {
		const struct stackbuf_events_page *p = page[events[n - 1]].data;
		const struct stackbuf_events_page *after = page[events[n]].data;

		if (p->cpu != after->cpu)
			continue;
		next[events[n - 1]] = page[events[n]].seq > page[events[n - 1]].seq ?
				      events[n] : next[events[n]];
	}
	free(events);
	return next;
}

/*
 * Return true if the page is an old copy from the page cache and the live page was not found.  The
 * events of such a copy were overwritten since, and are counted as overwritten.
 *
 * Pages of text are used in order.  The ring's head passes each page once a lap, and reuses it
 * unless it is open.  A page is open until its CPU takes the next one.  If that next page is found,
 * this page was reused if the head passed it after the next one was taken.  If the next page is not
 * found, it was overwritten, so the head passed this page as well.  Other CPUs may take pages after
 * a CPU takes a page and before it closes the previous one: @between allows for these.
 */
static bool is_outlived(const struct found_page *page, const u32 *next_page, size_t i, u64 newest,
			u64 lap, u32 cpus)
{
	const struct stackbuf_events_page *next;
	u64 seq = page[i].seq, between = cpus < lap / 8 ? cpus : lap / 8;

	if (!seq || newest <= seq || newest - seq < lap)
		return false;
	if (page[i].kind == KIND_TEXT)
		return true;
	if (!next_page[i])
		return false;
	next = page[next_page[i]].data;
	return next->first != recorded_until(page[i].data) ||
		newest - (newest - seq) % lap > page[next_page[i]].seq + between;
}

/* Note in @r->whole_since if events before this page, the first found of its CPU, are lost */
static void note_first_page(struct record *r, const struct stackbuf_events_page *page)
{
	struct cursor c;

	cursor_start(&c, page);
	if (page->first && cursor_next(&c) == STEP_EVENT && c.event.time > r->whole_since)
		r->whole_since = c.event.time;
}

/* ---------------------------------------------------------- everything --- */

void record_parse(struct record *r, const struct page_set *set, u64 instance,
		  const struct event_choice *choice)
{
	struct found_page *page = xcalloc(set->nr + 1, sizeof(*page));
	u64 size[ARRAYS], index[ARRAYS], newest[ARRAYS] = { 0 }, lap;
	struct stack *stack;
	size_t i, nr = 0;
	bool *follows;	/* by page: the one before it, of the same CPU, was found */
	u32 *next;
	int a;

	memset(r, 0, sizeof(*r));
	r->instance = instance;
	r->live = set->live;
	for (i = 0; i < set->nr; i++)
		if (set->page[i].instance == instance && set->page[i].data)
			page[nr++] = set->page[i];
	nr = pages_drop_old_copies(page, nr);
	next = next_of_cpu(page, nr);
	follows = xcalloc(nr + 1, sizeof(*follows));
	for (i = 0; i < nr; i++)
		if (page_array(page[i].kind) == ARRAY_INFO)
			record_parse_info(r, &page[i]);

	size[ARRAY_INFO] = r->info.info_size;
	size[ARRAY_EVENTS] = r->info.events_size;
	size[ARRAY_STACKS] = r->info.stacks_size;
	size[ARRAY_TEXT] = r->info.text_size;
	for (a = 0; a < ARRAYS; a++)
		index[a] = ~0ULL;
	for (i = 0; i < nr && r->have_info; i++)
		if (page_has_seq(&page[i]) && (i + 1 == nr || page[i + 1].kind != page[i].kind)) {
			a = page_array(page[i].kind);
			newest[a] = newest_seq(page, i + 1, size[a] / STACKBUF_PAGE_SIZE);
		}
	for (i = 0; i < nr; i++) {
		a = page_array(page[i].kind);
		lap = a >= 0 ? size[a] / STACKBUF_PAGE_SIZE : 0;
		if (a >= 0 && r->have_info && page[i].index >= lap)
			continue;
		if (lap && page_has_seq(&page[i]) &&
		    is_outlived(page, next, i, newest[a], lap, r->info.nr_cpus)) {
			r->outlived++;
			continue;
		}
		/* Copies of pages without a sequence are adjacent: count them once */
		if (a >= 0 && index[a] != page[i].index)
			r->pages[a]++;
		if (a >= 0)
			index[a] = page[i].index;

		switch (page[i].kind) {
		case STACKBUF_EVENTS:
			follows[next[i]] |= next[i] && page[i].seq;
			if (page[i].seq && !follows[i])
				note_first_page(r, page[i].data);
			if (page[i].seq)
				parse_events(r, page[i].data, choice);
			else if (((const struct stackbuf_events_page *)page[i].data)->word[0])
				r->rebuilt++;
			break;
		case STACKBUF_STACKS:
			r->half_stacks += stacks_parse(&r->stacks, page[i].data);
			break;
		case KIND_TEXT:
			record_parse_text(r, page[i].data);
			break;
		case STACKBUF_PAIRS:
		case STACKBUF_PAIR_STACKS:
		case STACKBUF_PAIR_OPEN:
			GROW(r->pair, r->pairs);
			r->pair[r->pairs++] = page[i];
			break;
		case STACKBUF_SNAPSHOT:
			GROW(r->snapshot, r->snapshots);
			r->snapshot[r->snapshots++] =
				(const char *)page[i].data + sizeof(struct stackbuf_page);
			break;
		}
	}
	free(follows);
	free(next);
	free(page);

	for (a = 0; a < ARRAYS && r->have_info; a++) {
		lap = size[a] / STACKBUF_PAGE_SIZE;
		/* Unused pages of text have no head, and are not missing */
		if (a == ARRAY_TEXT && newest[a] < lap)
			lap = newest[a];
		r->missing[a] = lap > r->pages[a] ? lap - r->pages[a] : 0;
	}
	for (a = 0; a < STACKBUF_COUNTERS; a++) {
		unsigned int slot;

		for (slot = 0; slot < STACKBUF_COUNTER_SLOTS; slot++)
			r->lost[a] += r->info.counter[slot / STACKBUF_COUNTER_LINES]
					      .slot[slot % STACKBUF_COUNTER_LINES][a];
	}
	for (i = 0; (stack = stacks_next(&r->stacks, &i)); ) {
		r->in_table += !!stack->nr;
		/* That of a stale stack was given up, and is counted */
		r->not_rendered += stack->nr && !stack->rendered && !stack->stale;
		stack_settle(stack);
	}
	events_sort(r->event, r->events);
}

/* ----------------------------------------------------------- duplicates --- */

static int by_frames(const void *a, const void *b)
{
	const struct stack *x = *(struct stack *const *)a, *y = *(struct stack *const *)b;

	return stack_order(x, y) ?: compare_u64(x->id, y->id);
}

static void absorb(struct stack *first, struct stack *other)
{
	other->canonical = first;
	first->count += other->count;
	first->in_ring += other->in_ring;
	other->count = 0;
	other->in_ring = 0;
	/* The text log may have the record of only one of them */
	if (!first->text && other->text) {
		first->text = other->text;
		first->text_len = other->text_len;
		first->lines = other->lines;
		first->first = other->first;
	}
}

void duplicates_merge(struct record *r)
{
	struct stack **all = xcalloc(r->stacks.nr + 1, sizeof(*all)), *stack, *first = NULL;
	size_t i, nr = 0;
	bool any = false;

	/* Stacks without frames cannot be compared; frames of stale stacks were in other code */
	for (i = 0; (stack = stacks_next(&r->stacks, &i)); ) {
		stack->own = stack_events(stack);
		if (stack->nr && !stack->stale)
			all[nr++] = stack;
	}
	sort(all, nr, sizeof(*all), by_frames);
	for (i = 0; i < nr; i++) {
		if (!first || stack_order(first, all[i])) {
			first = all[i];
			continue;
		}
		absorb(first, all[i]);
		any = true;
	}
	free(all);
	for (i = 0; any && i < r->events; i++) {
		stack = stacks_find(&r->stacks, r->event[i].id);
		if (stack)
			r->event[i].id = stack_canonical(stack)->id;
	}
}

void record_free(struct record *r)
{
	stacks_empty(&r->stacks);
	free(r->event);
	free(r->text);
	free(r->pair);
	free(r->snapshot);
	memset(r, 0, sizeof(*r));
}
