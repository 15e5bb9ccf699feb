// SPDX-License-Identifier: GPL-2.0
/*
 * delta.c - what was recorded since the last push, stack by stack
 *
 * A total never goes down while its stack is in the table, so a reading that finds fewer events
 * than the one before has missed some: they are in the next one.  Stacks are told apart by their
 * ids, also where the table holds equal ones: the total of the stack that represents them changes
 * when one of them is evicted.
 *
 * An evicted stack takes its total with it, and the record keeps a sum over all of them.  What that
 * sum has grown by, less what was pushed of the stacks that are gone, was never pushed.
 */
#include <stdlib.h>
#include <string.h>
#include "push/delta.h"

static char *evicted_name[] = { "(stacks that were evicted)" };
static struct stack evicted_stack = { .name = evicted_name, .named = 1 };

static int by_id(const void *a, const void *b)
{
	return compare_u64((*(struct stack *const *)a)->id, (*(struct stack *const *)b)->id);
}

static void add_total(struct delta *d, struct stack *stack, u64 events)
{
	if (!events)
		return;
	GROW(d->total, d->nr, d->room);
	d->total[d->nr++] = (struct stack_total){ .stack = stack, .events = events };
	d->events += events;
}

static void add_pushed(struct push_state *s, u32 id, u64 events)
{
	if (!events)
		return;
	GROW(s->stack, s->nr, s->room);
	s->stack[s->nr++] = (struct pushed){ .id = id, .events = events };
}

/* Stacks of the table, and those that only the ring knows, by id.  Return their number */
static size_t sort_stacks(const struct record *r, struct stack ***sorted)
{
	struct stack **list = xcalloc(r->stacks.nr + 1, sizeof(*list)), *stack;
	size_t nr = 0, i;

	for (i = 0; (stack = stacks_next(&r->stacks, &i)); )
		if (stack->nr || stack->own)
			list[nr++] = stack;
	qsort(list, nr, sizeof(*list), by_id);
	*sorted = list;
	return nr;
}

void delta_make(struct delta *d, const struct push_state *last, const struct record *r, u64 evicted,
		u64 until)
{
	/* A stack that was not read is not one that was evicted */
	bool whole = !r->half_stacks && !r->missing[ARRAY_STACKS], same;
	struct push_state none = { .sequence = last->sequence, .dropped = last->dropped,
				   .dropped_events = last->dropped_events };
	struct stack **stack;
	size_t nr = sort_stacks(r, &stack), i = 0, j = 0;
	u64 events;

	same = last->instance == r->instance;
	if (!same)
		last = &none;
	memset(d, 0, sizeof(*d));
	d->next = *last;
	d->next.stack = NULL;
	d->next.nr = 0;
	d->next.room = 0;
	d->next.instance = r->instance;
	d->next.until = until;
	d->next.sequence++;
	d->next.evicted = evicted;
	d->next.pending += evicted - last->evicted;
	while (i < nr || j < last->nr) {
		if (j == last->nr || (i < nr && stack[i]->id < last->stack[j].id)) {
			add_total(d, stack[i], stack[i]->own);
			add_pushed(&d->next, stack[i]->id, stack[i]->own);
			i++;
		} else if (i == nr || last->stack[j].id < stack[i]->id) {
			if (whole)
				d->next.pending -= last->stack[j].events;
			else
				add_pushed(&d->next, last->stack[j].id, last->stack[j].events);
			j++;
		} else {
			events = last->stack[j].events;
			if (stack[i]->own > events) {
				add_total(d, stack[i], stack[i]->own - events);
				events = stack[i]->own;
			}
			add_pushed(&d->next, stack[i]->id, events);
			i++;
			j++;
		}
	}
	free(stack);
	if (whole && d->next.pending > 0) {
		d->evicted = d->next.pending;
		add_total(d, &evicted_stack, d->evicted);
		d->next.pending = 0;
	}
}

void delta_free(struct delta *d)
{
	free(d->total);
	free(d->next.stack);
	memset(d, 0, sizeof(*d));
}
