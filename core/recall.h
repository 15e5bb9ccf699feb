/* SPDX-License-Identifier: GPL-2.0 */
/*
 * recall.h - recall: a cache of unwound stacks, validated against stack memory
 *
 * Unwinding is nearly all that a save costs, and the same path through the code leaves the same
 * return addresses in the same slots of the stack.  So a walk is cached by where its return
 * addresses lay; the next save loads these slots and compares.  A match is the stack that the
 * unwinder would find, exactly: docs/recall.md has the proof.
 *
 *	recall.c	epoch and verification, for all unwinders
 *	recall_cache.h	x86-64 with ORC: the cache entry and the lookup on the fast path
 *	recall_cache.c	the rest of the lookup, and the memory of the entries
 *	recall_learn.c	learning an entry from a walk
 *	recall_code.c	which code keeps its ORC entries
 *	recall_fp.c	unwinders that follow frame records (frame_record.h): arm64, x86-64
 *			with frame pointers
 *
 * With another unwinder every save walks, by the stubs in this file.
 */
#ifndef STACKBUF_RECALL_H
#define STACKBUF_RECALL_H

#include "table.h"
#include "unwind.h"

/*
 * Walks and cache entries carry its value, of 32 bits: void once it has changed.  0: recall is off
 */
extern unsigned long sbuf_recall_epoch;

/* Parameter verify: each CPU verifies one recall in this many by a walk; 0: none */
extern unsigned int sbuf_verify;

#define SBUF_VERIFY_MAX	1000000

/*
 * Restart the countdown to the next verified recall: on this CPU, with interrupts off; or on all
 * CPUs, in process context, under the parameters' lock.
 */
void sbuf_recall_restart_verify(void *unused);
void sbuf_recall_apply_verify(void);

/**
 * sbuf_recall_verify() - compare a recalled stack with the walked one of the same event
 * @recalled: id of the recalled stack
 * @walked: the other one
 *
 * Context: Any context, interrupts off since sbuf_table_get() returned @walked.
 * Return: STACKBUF_VERIFIED; STACKBUF_DIFFERED, after which recall is off for good; or
 *	STACKBUF_WALKED_AGAIN if @recalled was dropped from the table in between.
 */
enum stackbuf_counter sbuf_recall_verify(u32 recalled, const struct stackbuf_stack *walked);

/* Invalidate all that was learnt, and what walks in progress will learn.  Any context */
void sbuf_recall_invalidate(void);

/*
 * What the unwinders' variants of recall define, or a stub:
 *
 * sbuf_recall(): set *@id to that of the stack that a walk from @start would find; false: only a
 *	walk can find it.  An sp of 0, for registers of user mode, is on no stack.
 *	Context: Any context, interrupts off, and off until the event is appended.
 *
 * sbuf_recall_learn(): cache the stack @id with the frames @trace, which @walk found at the
 *	addresses @pc.  Uses @walk->builder and @walk->name.  If the stack was dropped since, the
 *	entry never matches.
 *	Context: Any context, interrupts off; on the CPU and in the context of the walk.
 *	Return: false if the stack is not cacheable: every event of it takes a walk.
 *
 * sbuf_recall_mark_module(): @module is in the state MODULE_STATE_COMING etc., as its notifiers are
 *	told.
 *	Context: Process context, before sbuf_recall_invalidate().
 *
 * sbuf_recall_mark_trampoline(): ftrace has registered a handler of ours, whose trampoline is in
 *	pages of its own; or, unless @is, is about to free that.
 *	Context: Process context.
 *
 * sbuf_recall_mark_modules(): look at the modules that were loaded before stackbuf.
 *	Context: Process context, after our module notifier is registered.
 */
#if SBUF_HAVE_RECALL
bool sbuf_recall_learn(u32 id, const struct sbuf_trace *trace, struct sbuf_walk *walk,
		       const unsigned long *pc);

/* What sbuf_recall() leaves out: another place in the cache */
u32 sbuf_recall_elsewhere(unsigned long ip, unsigned long sp, const unsigned long *bp,
			  unsigned long caller);
#else
static inline bool sbuf_recall(struct sbuf_start start, u32 *id) { return false; }

static inline bool sbuf_recall_learn(u32 id, const struct sbuf_trace *trace, struct sbuf_walk *walk,
				     const unsigned long *pc) { return false; }
#endif

#if SBUF_HAVE_ORC
void sbuf_recall_mark_module(const struct module *module, unsigned long state);
void sbuf_recall_mark_modules(void);
void sbuf_recall_mark_trampoline(unsigned long start, unsigned long size, bool is);
#else
static inline void sbuf_recall_mark_module(const struct module *module, unsigned long state) { }
static inline void sbuf_recall_mark_modules(void) { }
static inline void sbuf_recall_mark_trampoline(unsigned long start, unsigned long size, bool is) { }
#endif

#if SBUF_HAVE_RECORDS
/* What it leaves to sbuf_recall_elsewhere() is little on arm64 */
u32 sbuf_recall_task(unsigned long ip, unsigned long sp, const unsigned long *bp,
		     unsigned long caller);

static __always_inline bool sbuf_recall(struct sbuf_start start, u32 *id)
{
	*id = (IS_ENABLED(CONFIG_ARM64) ? sbuf_recall_task : sbuf_recall_elsewhere)
		(start.ip, start.sp, start.bp, start.caller);
	return *id;
}
#endif

#endif /* STACKBUF_RECALL_H */
