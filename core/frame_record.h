/* SPDX-License-Identifier: GPL-2.0 */
/*
 * frame_record.h - frame records, which arm64's unwinder and x86-64's with frame pointers follow
 *
 * A record is two words: the address of the caller's record, and the return address.
 */
#ifndef STACKBUF_FRAME_RECORD_H
#define STACKBUF_FRAME_RECORD_H

#include "unwind.h"

#if SBUF_HAVE_RECORDS

/*
 * Read the record at *@fp, which must lie between *@low and @end.  Advance *@fp to the caller's
 * record and *@low to the end of this one.  Return its return address, which may have a signature,
 * or 0 if there is no record.
 */
static __always_inline unsigned long sbuf_record_next(unsigned long *fp, unsigned long *low,
						      unsigned long end)
{
	unsigned long at = *fp, pc;

	if (unlikely(at & 7 || at < *low || at > end - 16))
		return 0;
	pc = sbuf_kstack_load(at + 8);
	*low = at + 16;
	*fp = sbuf_kstack_load(at);
	return pc;
}

#ifdef CONFIG_X86_64
/* All records lie below the task's saved registers */
static inline unsigned long sbuf_record_end(void)
{
	return (unsigned long)task_pt_regs(current);
}

/*
 * Return true if the unwinder stops after a record that ends at @low and holds @fp.  It also stops
 * at a copy of the last record, which ftrace makes below it: sbuf_recall_learn() excludes such
 * stacks.
 */
static inline bool sbuf_record_is_last(unsigned long low, unsigned long fp)
{
	struct pt_regs *regs = task_pt_regs(current);

	return low == (unsigned long)regs ||
	       (fp == ((unsigned long)regs | 1) && (user_mode(regs) || !regs->ip));
}
#else
static inline unsigned long sbuf_record_end(void)
{
	return sbuf_kstack_task() + THREAD_SIZE;
}

/* The record in the saved registers of the task whose stack begins at @stack */
static inline unsigned long sbuf_record_of_task(unsigned long stack)
{
	return (unsigned long)&sbuf_task_regs(stack)->stackframe;
}

static inline bool sbuf_record_is_last(unsigned long low, unsigned long fp)
{
	return fp == sbuf_record_of_task(sbuf_kstack_task());
}
#endif

/*
 * Fill in @walk->sp, which the walk left unset, for the @nr frames in @pc; 0 where it is unknown.
 * Interrupts are off, on the CPU and in the context of the walk.
 */
void sbuf_record_place_frames(struct sbuf_walk *walk, const unsigned long *pc, unsigned int nr);

/*
 * Walk from the kernel-mode registers @regs, where the kernel exports no function for it.  @caller
 * is the return address that is still in the link register, or 0.  Addresses that tracers have
 * replaced are resolved.  Return the number of addresses, at least 1.  Preemption is disabled.
 */
int sbuf_record_walk(struct sbuf_scratch *scratch, const struct pt_regs *regs,
		     unsigned long caller);

#else

static inline void sbuf_record_place_frames(struct sbuf_walk *walk, const unsigned long *pc,
					    unsigned int nr) { }

#endif

#endif /* STACKBUF_FRAME_RECORD_H */
