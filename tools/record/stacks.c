// SPDX-License-Identifier: GPL-2.0
/*
 * stacks.c - the table of stacks by id, and the stacks of a page
 */
#include <search.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include "record/parse.h"

/* Multiply-shift hash: the upper bits of the product */
static u32 *stacks_slot(const struct stacks *s, u32 id)
{
	size_t i = (id * s->seed >> 32) & (s->room - 1);

	while (s->slot[i] && s->stack[s->slot[i] - 1]->id != id)
		i = (i + 1) & (s->room - 1);
	return &s->slot[i];
}

struct stack *stacks_find(const struct stacks *s, u32 id)
{
	u32 at = s->room ? *stacks_slot(s, id) : 0;

	return at ? s->stack[at - 1] : NULL;
}

struct stack *stacks_get(struct stacks *s, u32 id)
{
	u32 *slot;
	size_t i;

	if (2 * s->nr >= s->room) {
		s->room = s->room ? 2 * s->room : 1024;
		free(s->slot);
		s->slot = xcalloc(s->room, sizeof(*s->slot));
		if (!s->seed && getrandom(&s->seed, sizeof(s->seed), GRND_NONBLOCK) < 0)
			s->seed = (uintptr_t)s->slot * 0x9e3779b97f4a7c15ULL;
		s->seed |= 1;
		for (i = 0; i < s->nr; i++)
			*stacks_slot(s, s->stack[i]->id) = i + 1;
	}
	slot = stacks_slot(s, id);
	if (!*slot) {
		GROW(s->stack, s->nr);
		s->stack[s->nr] = xcalloc(1, sizeof(struct stack));
		s->stack[s->nr]->id = id;
		s->stack[s->nr]->place = s->nr;
		*slot = ++s->nr;
	}
	return s->stack[*slot - 1];
}

struct stack *stacks_next(const struct stacks *s, size_t *i)
{
	return *i < s->nr ? s->stack[(*i)++] : NULL;
}

struct stack *stack_keep(struct stacks *s, const struct stack *stack)
{
	struct stack *kept = stacks_get(s, stack->id);
	unsigned int i;

	if (kept->named)
		return kept;
	kept->nr = stack->nr;
	kept->named = stack->named;
	kept->cut = stack->cut;
	kept->gone = stack->gone;
	kept->origin = stack->origin;
	kept->first = stack->first;
	kept->name_origin = stack->name_origin;
	kept->addr = xrealloc(kept->addr, stack->nr + 1, sizeof(u64));
	if (stack->nr)
		memcpy(kept->addr, stack->addr, stack->nr * sizeof(u64));
	free(kept->frame);
	kept->frame = xcalloc(stack->named + 1, sizeof(*kept->frame));
	for (i = 0; i < stack->named; i++)
		kept->frame[i] = frame_take(xstrdup(stack->frame[i].text), stack->frame[i].addr,
					    false);
	return kept;
}

void stacks_empty(struct stacks *s)
{
	struct stack *stack;
	unsigned int n;
	size_t i;

	for (i = 0; (stack = stacks_next(s, &i)); ) {
		for (n = 0; n < stack->named; n++)
			free(stack->frame[n].text);
		free(stack->frame);
		free(stack->addr);
		free(stack->block);
		free(stack);
	}
	free(s->stack);
	free(s->slot);
	memset(s, 0, sizeof(*s));
}

/* Return true if the id has the low bits that its place requires */
static bool id_fits(u32 id, const struct stackbuf_stacks_page *page, unsigned int granule)
{
	return page->id_bits >= 6 && page->id_bits <= 32 &&
	       (id & ((1ULL << page->id_bits) - 1)) == page->page.index * 64ULL + granule;
}

static unsigned int granules_of(const struct stackbuf_stack *raw)
{
	return (stackbuf_stack_bytes(raw->words, raw->flags) + STACKBUF_GRANULE - 1) /
		STACKBUF_GRANULE;
}

struct stack *stack_parse(struct stacks *s, const struct stackbuf_stacks_page *page,
			  unsigned int granule, unsigned int *granules)
{
	const struct stackbuf_stack *raw;
	unsigned int i, n = 0, words;
	u64 addr[STACKBUF_DEPTH_MAX], bits;
	struct stack *stack;
	bool stale;

	/* Granule 0 is the page's header */
	if (!granule || granule > 63)
		return NULL;
	raw = (const void *)page->granule[granule - 1];
	*granules = granules_of(raw);
	if (!raw->id || granule + *granules > 64 || raw->nr < 1 || raw->nr > STACKBUF_DEPTH_MAX)
		return NULL;
	if (!id_fits(raw->id, page, granule))
		return NULL;
	bits = ((1ULL << *granules) - 1) << granule;
	if ((page->used & bits) != bits)
		return NULL;
	if (stackbuf_hash(raw->frames, raw->words, raw->flags & STACKBUF_STACK_CUT) != raw->hash)
		return NULL;
	for (i = 0; i < raw->words && n < raw->nr; i += words) {
		words = stackbuf_decode_frame(&raw->frames[i], raw->words - i, page->base_addr,
					      &addr[n++]);
		if (!words)
			return NULL;
	}
	if (i < raw->words || n < raw->nr)
		return NULL;

	stack = stacks_get(s, raw->id);
	/*
	 * Another copy of this page had the stack, too.  Counts only grow, so the copy with the
	 * larger count is the later one; and a stack that is stale stays so.
	 */
	stale = raw->flags & STACKBUF_STACK_STALE || stack->stale;
	if (stack->nr && raw->count < stack->count) {
		stack->stale = stale;
		return stack;
	}
	free(stack->addr);
	stack->addr = xrealloc(NULL, n, sizeof(u64));
	memcpy(stack->addr, addr, n * sizeof(u64));
	stack->nr = n;
	stack->cut = raw->flags & STACKBUF_STACK_CUT;
	stack->rendered = raw->flags & STACKBUF_STACK_TEXT;
	stack->stale = stale;
	stack->count = raw->count;
	stack->seen = raw->seen;
	if (raw->flags & STACKBUF_STACK_FIRST) {
		stack->first = stackbuf_first(raw)->time;
		stack->uncacheable = stack->first && stackbuf_first(raw)->uncacheable;
		stack->origin = stack->first ? stackbuf_first(raw)->origin :
					       STACKBUF_AT_CALL;
	}
	return stack;
}

void stacks_drop_torn(struct stackbuf_stacks_page *page, const struct stackbuf_stacks_page *before,
		      const struct stackbuf_stacks_page *after)
{
	unsigned int granule, granules;

	for (granule = 1; granule < 64; granule += granules) {
		struct stackbuf_stack *raw = (void *)page->granule[granule - 1];
		const struct stackbuf_stack *was = (const void *)before->granule[granule - 1];
		const struct stackbuf_stack *is = (const void *)after->granule[granule - 1];

		granules = 1;
		if (!(page->used >> granule & 1) || !id_fits(raw->id, page, granule))
			continue;
		if (was->id != raw->id || is->id != raw->id) {
			raw->id = 0;
			continue;
		}
		granules = granules_of(raw);
		/* The time of the first event is written last: a later copy has the whole stack */
		if (granule + granules <= 64 && raw->flags & STACKBUF_STACK_FIRST &&
		    (was->words != raw->words || !stackbuf_first(was)->time))
			stackbuf_first(raw)->time = 0;
	}
}

void stack_settle(struct stack *stack)
{
	if (!stack->first) {
		stack->first = stack->text_time;
	} else if (stack->text && stack->first / 1000 != stack->text_time / 1000) {
		stack->text = NULL;
		stack->lines = 0;
	}
	stack->gone = !stack->nr && !stack->text;
}

int stack_order(const void *a, const void *b)
{
	const struct stack *x = a, *y = b;

	return compare_u64(x->nr, y->nr) ?: x->cut - y->cut ?:
		memcmp(x->addr, y->addr, x->nr * sizeof(u64));
}

struct stack *stack_canonical(struct stack *stack)
{
	return stack->canonical ?: stack;
}

void duplicates_enter(void **tree, struct stack *stack)
{
	struct stack **found;

	if (!stack->nr || stack->stale || stack->canonical)
		return;
	found = tsearch(stack, tree, stack_order);
	if (found && *found != stack)
		stack->canonical = *found;
}

/* The trees do not own the stacks */
static void not_owned(void *stack)
{
	(void)stack;
}

void duplicates_free(void **tree)
{
	tdestroy(*tree, not_owned);
	*tree = NULL;
}

unsigned int stacks_parse(struct stacks *s, const struct stackbuf_stacks_page *page)
{
	unsigned int granule = 1, granules, half = 0;

	while (granule < 64) {
		const struct stackbuf_stack *raw = (const void *)page->granule[granule - 1];

		if (!(page->used >> granule & 1)) {
			granule++;
		} else if (stack_parse(s, page, granule, &granules)) {
			granule += granules;
		} else {
			/* Skip invalid granules, up to the next stack */
			if (raw->id && id_fits(raw->id, page, granule))
				half++;
			for (granule++; granule < 64; granule++)
				if (stack_parse(s, page, granule, &granules))
					break;
		}
	}
	return half;
}
