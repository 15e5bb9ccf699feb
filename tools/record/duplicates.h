/* SPDX-License-Identifier: GPL-2.0 */
/*
 * duplicates.h - one identity for stacks that the table holds twice
 *
 * Two CPUs that record a new stack at the same time may both enter it.  It then has two ids, and
 * each of them has a part of the events.  One of the equal stacks, the canonical one, represents
 * the others.
 */
#ifndef DUPLICATES_H
#define DUPLICATES_H

#include "record/parse.h"

/*
 * Let the stack with the lowest id represent all that equal it: move their totals and events to
 * it, and set their stack->canonical.
 */
void duplicates_merge(struct record *r);

/* The stack that represents this one, which may be itself */
struct stack *stack_canonical(struct stack *stack);

/*
 * For stacks that are found one by one: the first that is entered into @tree represents those
 * that equal it.  @tree is NULL at the beginning.
 */
void duplicates_enter(void **tree, struct stack *stack);
void duplicates_free(void **tree);

#endif
