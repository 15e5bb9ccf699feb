/* SPDX-License-Identifier: GPL-2.0 */
/*
 * same.h - one identity for stacks that the table holds twice
 *
 * Two CPUs that meet a new stack at the same time may both enter it.  It then has two
 * ids, and each of them has a part of the events.
 */
#ifndef SAME_H
#define SAME_H

#include "record/parse.h"

/*
 * Of equal stacks of a record, let the one with the lowest id stand for all: give it the
 * totals of the others and their events, and set their stack->same.
 */
void duplicates_merge(struct record *r);

/* The stack that stands for this one */
struct stack *stack_canonical(struct stack *stack);

/*
 * For stacks that become known one by one: the first that was entered into @tree, which
 * is NULL at the beginning, stands for its equals.
 */
void duplicates_enter(void **tree, struct stack *stack);
void duplicates_free(void **tree);

#endif
