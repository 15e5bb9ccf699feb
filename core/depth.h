/* SPDX-License-Identifier: GPL-2.0 */
/*
 * depth.h - the deepest stack seen from each place that records
 */
#ifndef STACKBUF_DEPTH_H
#define STACKBUF_DEPTH_H

#include "types.h"

#if STACKBUF_WITH_DEEPEST

/*
 * Indexed by low bits of the origin.  An element is the origin's address, shifted left by 16 bits
 * (the upper 16 are ones in all kernel code), plus the most bytes seen from there, less THREAD_SIZE
 */
#define SBUF_DEPTH_SEEN_SHIFT	16
extern u64 sbuf_depth_seen[256];

static inline u64 *sbuf_depth_seen_from(unsigned long origin)
{
	return &sbuf_depth_seen[origin / 4 % ARRAY_SIZE(sbuf_depth_seen)];
}

/*
 * Return true if @sp is certainly no deeper than the deepest stack seen from @origin.  @sp is on
 * the task's stack, which begins at @stack
 */
static __always_inline bool sbuf_depth_known(unsigned long origin, unsigned long sp,
					     unsigned long stack)
{
	unsigned long more = READ_ONCE(*sbuf_depth_seen_from(origin)) -
			     (origin << SBUF_DEPTH_SEEN_SHIFT) + (sp - stack);

	/* The element of another origin differs by more than the depth can */
	BUILD_BUG_ON(2 * THREAD_SIZE >
		     (IS_ENABLED(CONFIG_ARM64) ? 4UL : 1UL) << SBUF_DEPTH_SEEN_SHIFT);
	return likely(more <= THREAD_SIZE);
}

/**
 * sbuf_depth_exceeds() - compare the depth of a recalled stack with the deepest from its origin
 * @origin: its innermost address
 * @sp: stack pointer there, on the task's own stack
 *
 * Context: Any context, interrupts off.
 * Return: true if the stack is deeper, and must be walked for sbuf_depth_note().
 */
bool sbuf_depth_exceeds(unsigned long origin, unsigned long sp);

/**
 * sbuf_depth_note() - keep a walk if it is the deepest one seen from its origin
 * @scratch: the walk and its trace; one that does not begin on the current task's stack is ignored
 * @id: id of the stack
 *
 * Context: Any context, interrupts off.
 */
void sbuf_depth_note(struct sbuf_scratch *scratch, u32 id);

/*
 * Code has gone, or other code is @coming where it was: mark the stacks with frames there, and then
 * forget those that begin there.  Process context
 */
void sbuf_depth_expire(unsigned long text, unsigned long size, bool coming);

#else

static inline bool sbuf_depth_known(unsigned long origin, unsigned long sp, unsigned long stack)
{
	return true;
}

static inline bool sbuf_depth_exceeds(unsigned long origin, unsigned long sp) { return false; }
static inline void sbuf_depth_note(struct sbuf_scratch *scratch, u32 id) { }
static inline void sbuf_depth_expire(unsigned long text, unsigned long size, bool coming) { }

#endif

#endif /* STACKBUF_DEPTH_H */
