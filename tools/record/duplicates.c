// SPDX-License-Identifier: GPL-2.0
/*
 * duplicates.c - one identity for stacks that the table holds twice
 */
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include "record/duplicates.h"

static int by_frames(const void *a, const void *b)
{
	const struct stack *x = a, *y = b;

	return compare_u64(x->nr, y->nr) ?: x->cut - y->cut ?:
		memcmp(x->addr, y->addr, x->nr * sizeof(u64));
}

static int by_frames_and_id(const void *a, const void *b)
{
	const struct stack *x = *(struct stack *const *)a, *y = *(struct stack *const *)b;

	return by_frames(x, y) ?: compare_u64(x->id, y->id);
}

static void absorb(struct stack *first, struct stack *other)
{
	other->canonical = first;
	first->count += other->count;
	first->in_ring += other->in_ring;
	other->count = 0;
	other->in_ring = 0;
	/* The text log may hold the record of one of them only */
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

	/* Without frames nothing can be compared; frames of stale stacks were in other code */
	for (i = 0; (stack = stacks_next(&r->stacks, &i)); ) {
		stack->own = stack->count + stack->in_ring;
		if (stack->nr && !stack->stale)
			all[nr++] = stack;
	}
	sort(all, nr, sizeof(*all), by_frames_and_id);
	for (i = 0; i < nr; i++) {
		if (!first || by_frames(first, all[i])) {
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

struct stack *stack_canonical(struct stack *stack)
{
	return stack->canonical ?: stack;
}

void duplicates_enter(void **tree, struct stack *stack)
{
	struct stack **found;

	if (!stack->nr || stack->stale || stack->canonical)
		return;
	found = tsearch(stack, tree, by_frames);
	if (found && *found != stack)
		stack->canonical = *found;
}

/* The tree refers to stacks, it does not own them */
static void not_owned(void *stack)
{
	(void)stack;
}

void duplicates_free(void **tree)
{
	tdestroy(*tree, not_owned);
	*tree = NULL;
}
