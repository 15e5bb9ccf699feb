/* SPDX-License-Identifier: GPL-2.0 */
/*
 * recall.h - recall: a cache of unwound stacks, validated against stack memory
 *
 * Unwinding accounts for nearly all of a save's cost, and the same path through the code leaves the
 * same return addresses in the same slots of the stack.  So a cached walk records where its return
 * addresses were; the next save loads these slots and compares.  A match is exactly the stack that
 * the unwinder would find: docs/recall.md has the proof.
 *
 *	recall.c	epoch and verification, for all unwinders
 *	recall_cache.h	x86-64 with ORC: the cache entry and the lookup on the fast path
 *	recall_cache.c	the rest of the lookup, and the entries' memory
 *	recall_learn.c	learning an entry from a walk
 *	recall_code.c	code that stays, and its ORC entries
 *	recall_fp.c	unwinders that follow frame records (frame_record.h): arm64, x86-64
 *			with frame pointers
 *
 * With any other unwinder the stubs in this file make every save walk.
 */
#ifndef STACKBUF_RECALL_H
#define STACKBUF_RECALL_H

#include <linux/pgtable.h>

#include "table.h"
#include "unwind.h"

/*
 * Walks and cache entries carry its 32-bit value, and are void once it has changed.  0: recall is
 * off
 */
extern unsigned long sbuf_recall_epoch;

/* Parameter verify: each CPU verifies one in this many recalls by a walk; 0: none */
extern unsigned int sbuf_verify;

#define SBUF_VERIFY_MAX	1000000

/*
 * Restart the countdown to the next verified recall.  The first function does so on this CPU, with
 * interrupts off; the second on all CPUs, in process context, under the parameters' lock.
 */
void sbuf_recall_restart_verify(void *unused);
void sbuf_recall_apply_verify(void);

/**
 * sbuf_recall_verify() - compare an event's recalled stack with its walked one
 * @recalled: id of the recalled stack
 * @walked: the walked stack
 *
 * Context: Any context, interrupts off since sbuf_table_get() returned @walked.
 * Return: STACKBUF_VERIFIED; STACKBUF_DIFFERED, after which recall stays off; or
 *	STACKBUF_WALKED_AGAIN if @recalled was dropped from the table in between.
 */
enum stackbuf_counter sbuf_recall_verify(u32 recalled, const struct stackbuf_stack *walked);

/* Invalidate all learnt entries, and those that walks in progress will learn.  Any context */
void sbuf_recall_invalidate(void);

/*
 * Each unwinder's variant of recall defines these functions, or they are stubs:
 *
 * sbuf_recall(): set *@id to the id of the stack that a walk from @start would find.  Return false
 *	if only a walk can find it.  An sp of 0, for user-mode registers, is on no stack.
 *	Context: Any context, interrupts off, and off until the event is appended.
 *
 * sbuf_recall_learn(): cache the stack @id with the frames @trace, which @walk found at the
 *	addresses @pc.  Uses @walk->builder and @walk->name.  If the stack has been dropped in
 *	between, the entry never matches.
 *	Context: Any context, interrupts off; on the CPU and in the context of the walk.
 *	Return: false if the stack is not cacheable, so that each of its events takes a walk.
 *
 * sbuf_recall_mark_module(): a module notifier reports the state MODULE_STATE_COMING etc. of
 *	@module.
 *	Context: Process context, before sbuf_recall_invalidate().
 *
 * sbuf_recall_mark_trampoline(): if @is, ftrace has registered a handler of ours, whose trampoline
 *	has pages of its own.  Otherwise ftrace is about to free that trampoline.
 *	Context: Process context.
 *
 * sbuf_recall_mark_modules(): look at the modules that were loaded before stackbuf.
 *	Context: Process context, after our module notifier is registered.
 */
#if SBUF_HAVE_RECALL
bool sbuf_recall_learn(u32 id, const struct sbuf_trace *trace, struct sbuf_walk *walk,
		       const unsigned long *pc);

/* The part of sbuf_recall() off the fast path: look in other places of the cache */
u32 sbuf_recall_elsewhere(unsigned long ip, unsigned long sp, const unsigned long *bp,
			  unsigned long caller);
#else
static inline bool sbuf_recall(struct sbuf_start start, u32 *id) { return false; }

static inline bool sbuf_recall_learn(u32 id, const struct sbuf_trace *trace, struct sbuf_walk *walk,
				     const unsigned long *pc) { return false; }
#endif

#if SBUF_HAVE_RECALL && defined(CONFIG_X86_64)
/* Pages of the modules' area whose code stays the same for the whole epoch */
extern unsigned long sbuf_code_pages[BITS_TO_LONGS(MODULES_LEN >> PAGE_SHIFT)];

/* Return true if the code at @ip, and its ORC entry, stays the same for the whole epoch */
static inline bool sbuf_recall_is_stable(unsigned long ip)
{
	return ip < MODULES_VADDR ? ip >= __START_KERNEL_map :
	       ip < MODULES_END && test_bit((ip - MODULES_VADDR) >> PAGE_SHIFT, sbuf_code_pages);
}

void sbuf_recall_mark_module(const struct module *module, unsigned long state);
void sbuf_recall_mark_modules(void);
void sbuf_recall_mark_trampoline(unsigned long start, unsigned long size, bool is);
#else
static inline bool sbuf_recall_is_stable(unsigned long ip) { return true; }
static inline void sbuf_recall_mark_module(const struct module *module, unsigned long state) { }
static inline void sbuf_recall_mark_modules(void) { }
static inline void sbuf_recall_mark_trampoline(unsigned long start, unsigned long size, bool is) { }
#endif

#if SBUF_HAVE_RECORDS
/* On arm64, sbuf_recall_task() leaves little to sbuf_recall_elsewhere() */
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
