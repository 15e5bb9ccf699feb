/* SPDX-License-Identifier: GPL-2.0 */
/*
 * save.h - one save: admit it, recall its stack, else walk; inlined into each way in
 *
 * A way in (an exported call, the handler of a probe) says in a struct sb_save what is to be
 * saved, and calls sb_save().  Nothing else decides.
 */
#ifndef STACKBUF_SAVE_H
#define STACKBUF_SAVE_H

#include <linux/irqflags.h>
#include <linux/preempt.h>

#include "recall.h"
#include "ring.h"

/* What code runs in that has the preemption count @count */
static inline enum stackbuf_context sb_context_of(unsigned int count)
{
	/* One test for the common case; PREEMPT_RT keeps its count of softirqs elsewhere */
	if (!IS_ENABLED(CONFIG_PREEMPT_RT) &&
	    likely(!(count & (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET))))
		return STACKBUF_TASK;
	if (count & NMI_MASK)
		return STACKBUF_NMI;
	if (count & HARDIRQ_MASK)
		return STACKBUF_HARDIRQ;
	if (in_serving_softirq())
		return STACKBUF_SOFTIRQ;
	return STACKBUF_TASK;
}

/* What sb_save() calls: each is apart to keep its frame off the stack that a walk needs */

/* sb_append() */
bool sb_append_apart(struct sb_cpu *cpu, struct sb_save save, u32 id);
/* sb_save_recalled() */
u32 sb_save_recalled_apart(struct sb_save save, u32 *recalled);
/* Walk.  @recalled is a stack to verify, as from sb_save_recalled().  Return as sb_save() */
s64 sb_save_walked(struct sb_save save, u32 recalled);
/* While filters are in force or recording is off: sb_save() within what sb_admit() asks for */
s64 sb_save_filtered(struct sb_save save);

/*
 * Record a stack that recall knows, in any context; needs no struct sb_scratch, as interrupts are
 * off for all of it.  Return the stack's id; 0 if sb_save_walked() is to be called: the stack is
 * not known, there was no page for the event, or a walk is to verify the stack whose id is in
 * *@recalled.
 */
static __always_inline u32 sb_save_recalled(const struct sb_save *save, u32 *recalled)
{
	struct stackbuf_stack *stack;
	struct sb_start start;
	struct sb_cpu *cpu;
	unsigned long flags;
	u32 id = 0;
	u64 now;

	if (!SB_HAVE_RECALL || save->from == SB_TASK)
		return 0;
	start = sb_start_of(save);
	/* Registers of user mode */
	if (save->from == SB_REGS && unlikely(!start.ip))
		return 0;

	raw_local_irq_save(flags);
	/* Read the clock first: it is a call, and few registers are live yet */
	now = sb_now();
	stack = sb_recall(&start);
	if (unlikely(!stack))
		goto out;
	cpu = this_cpu_ptr(sb_cpu);
	if (unlikely(local_dec_and_test(&cpu->verify_in))) {
		sb_restart_verify(NULL);
		*recalled = stack->id;
		goto out;
	}
	id = stack->id;
	if (unlikely(!sb_append_chained(cpu, save, id, now)) && !sb_append_apart(cpu, *save, id))
		id = 0;
out:
	raw_local_irq_restore(flags);
	return id;
}

/* sb_save() once the event is admitted */
static __always_inline s64 sb_recall_or_walk(const struct sb_save *save, bool apart)
{
	u32 recalled = 0, id;

	id = apart ? sb_save_recalled_apart(*save, &recalled) : sb_save_recalled(save, &recalled);
	return likely(id) ? id : sb_save_walked(*save, recalled);
}

/**
 * sb_save() - record one event
 * @save: whose stack, and what the event holds besides
 *
 * To be inlined into a function that is not: then a walk from SB_FRAME leaves out the frames from
 * sb_save_walked()'s to @save->frame.
 *
 * Context: Any context.
 * Return: the stack's id; 0 if the event was not recorded, which is counted; or for SB_TASK what
 *	sb_walk_task() returned.
 */
static __always_inline s64 sb_save(const struct sb_save *save)
{
	return likely(sb_recording_unfiltered()) ? sb_recall_or_walk(save, false) :
						   sb_save_filtered(*save);
}

#endif /* STACKBUF_SAVE_H */
