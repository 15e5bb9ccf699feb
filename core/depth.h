/* SPDX-License-Identifier: GPL-2.0 */
/*
 * depth.h - the deepest stack seen from each place that records
 */
#ifndef STACKBUF_DEPTH_H
#define STACKBUF_DEPTH_H

#include "types.h"

#if STACKBUF_WITH_DEEPEST

/**
 * sbuf_depth_exceeds() - compare the depth of a recalled stack with the deepest from its origin
 * @origin: its innermost address
 * @sp: stack pointer there, on the task's own stack
 *
 * Context: Any context, interrupts off.
 * Return: true if the stack is deeper: then walk it, for sbuf_depth_note().
 */
bool sbuf_depth_exceeds(unsigned long origin, unsigned long sp);

/**
 * sbuf_depth_note() - keep a walk if it is the deepest one seen from its origin
 * @walk: the walk; one that does not begin on the current task's own stack is ignored
 * @pc: its addresses
 * @nr: how many, 1 to STACKBUF_DEPTH_MAX
 * @cut: the stack had more
 * @id: id of the stack
 *
 * Context: Any context, interrupts off.
 */
void sbuf_depth_note(struct sbuf_walk *walk, const unsigned long *pc, unsigned int nr, bool cut,
		     u32 id);

#else

static inline bool sbuf_depth_exceeds(unsigned long origin, unsigned long sp) { return false; }
static inline void sbuf_depth_note(struct sbuf_walk *walk, const unsigned long *pc, unsigned int nr,
				   bool cut, u32 id) { }

#endif

#endif /* STACKBUF_DEPTH_H */
