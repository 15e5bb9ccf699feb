/* SPDX-License-Identifier: GPL-2.0 */
/*
 * depth.h - the deepest stack seen from each place that records
 */
#ifndef STACKBUF_DEPTH_H
#define STACKBUF_DEPTH_H

#include "internal.h"

#if STACKBUF_WITH_DEEPEST

/**
 * sb_goes_deeper() - whether a recalled stack is the deepest one seen from its origin
 * @origin: its innermost address
 * @sp: stack pointer there, on the task's own stack
 *
 * Context: Any context, interrupts off.
 * Return: true if it is: then walk it, for sb_note_depth().
 */
bool sb_goes_deeper(unsigned long origin, unsigned long sp);

/**
 * sb_note_depth() - keep a walk if it is the deepest one seen from its origin
 * @walk: the walk; one that does not begin on the current task's own stack is ignored
 * @pc: its addresses
 * @nr: how many, 1 to STACKBUF_DEPTH_MAX
 * @cut: the stack had more
 * @id: id of the stack
 *
 * Context: Any context, interrupts off.
 */
void sb_note_depth(struct sb_walk *walk, const unsigned long *pc, unsigned int nr, bool cut,
		   u32 id);

#else

static inline bool sb_goes_deeper(unsigned long origin, unsigned long sp) { return false; }
static inline void sb_note_depth(struct sb_walk *walk, const unsigned long *pc, unsigned int nr,
				 bool cut, u32 id) { }

#endif

#endif /* STACKBUF_DEPTH_H */
