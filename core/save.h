/* SPDX-License-Identifier: GPL-2.0 */
/*
 * save.h - one save: admit it, then recall its stack or walk; inlined into each entry point
 *
 * An entry point (an exported call, a probe's handler) fills in a struct sbuf_save and calls
 * sbuf_save(), which makes all decisions.
 */
#ifndef STACKBUF_SAVE_H
#define STACKBUF_SAVE_H

#include <linux/irqflags.h>
#include <linux/preempt.h>

#include "filter.h"
#include "recall.h"
#include "ring.h"
#if SBUF_HAVE_ORC
#include "recall_cache.h"
#endif

/* Return the context of code that runs with the preemption count @count */
static inline enum stackbuf_context sbuf_context_of(unsigned int count)
{
	/* One test for the common case; PREEMPT_RT keeps its softirq count elsewhere */
	if (!IS_ENABLED(CONFIG_PREEMPT_RT) &&
	    likely(!(count & (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_MASK))))
		return STACKBUF_TASK;
	if (count & NMI_MASK)
		return STACKBUF_NMI;
	if (count & HARDIRQ_MASK)
		return STACKBUF_HARDIRQ;
	if (in_serving_softirq())
		return STACKBUF_SOFTIRQ;
	return STACKBUF_TASK;
}

/* Called by sbuf_save(); not inlined, which keeps their frames off the stack that a walk needs */

/* sbuf_ring_append() */
bool sbuf_append_noinline(struct sbuf_cpu *cpu, struct sbuf_save save, u32 id, u64 now);
/* sbuf_save_recalled() */
bool sbuf_save_recalled_noinline(struct sbuf_save save, u32 *id, u32 *recalled);
/* Walk.  @recalled is a stack to verify, as from sbuf_save_recalled().  Return as sbuf_save() */
s64 sbuf_save_walked(struct sbuf_save save, u32 recalled);
/*
 * sbuf_save() while filters are in force or recording is off: admits the event as
 * sbuf_filter_admit() requires
 */
s64 sbuf_save_filtered(struct sbuf_save save);

/*
 * Record a stack that recall knows and set *@id to its id.  Any context.  Needs no struct
 * sbuf_scratch, as interrupts are off throughout.  Return false if sbuf_save_walked() must be
 * called: the stack is not known, there was no page for the event, or a walk must verify the stack
 * *@recalled.
 */
static __always_inline bool sbuf_save_recalled(const struct sbuf_save *save, u32 *id, u32 *recalled)
{
	unsigned long flags, left;
	struct sbuf_cpu *cpu;
	u64 now;

	if (!SBUF_HAVE_RECALL || save->from == SBUF_TASK)
		return false;

	raw_local_irq_save(flags);
	/* Only here, or the compiler would spill the values of the start */
	if (unlikely(!sbuf_recall(sbuf_unwind_start(save), id)))
		goto out;
	/* It may be a call, so read the clock here, where few registers are live */
	cpu = this_cpu_ptr(sbuf_cpu);
	now = save->at_once ? sbuf_ring_now(cpu, save->at_once) : sbuf_event_now(cpu);
	/* An NMI's update may be lost, harmlessly */
	left = READ_ONCE(cpu->verify_in) - 1;
	WRITE_ONCE(cpu->verify_in, left);
	if (unlikely(!left)) {
		sbuf_recall_restart_verify(NULL);
		*recalled = *id;
	} else if (likely(sbuf_ring_append_chained(cpu, save, *id, now)) ||
		   sbuf_append_noinline(cpu, *save, *id, now)) {
		raw_local_irq_restore(flags);
		return true;
	}
out:
	raw_local_irq_restore(flags);
	return false;
}

/* The rest of sbuf_save(), once the event is admitted */
static __always_inline s64 sbuf_recall_or_walk(const struct sbuf_save *save, bool apart)
{
	u32 recalled = 0, id;

	if (likely(apart ? sbuf_save_recalled_noinline(*save, &id, &recalled) :
			   sbuf_save_recalled(save, &id, &recalled)))
		return id;
	return sbuf_save_walked(*save, recalled);
}

/**
 * sbuf_save() - record one event
 * @save: the stack, and the rest of the event
 *
 * Call it from a function that is not inlined: then a walk from SBUF_FRAME leaves out the frames
 * from sbuf_save_walked()'s to @save->frame.
 *
 * Context: Any context.
 * Return: the stack's id; 0 if the event was not recorded, which is counted.  With SBUF_TASK, an
 *	error of sbuf_unwind_task(); with SBUF_REFERS, a negative enum sbuf_admission or
 *	SBUF_NOT_WAITED_FOR.
 */
static __always_inline s64 sbuf_save(const struct sbuf_save *save)
{
	return likely(sbuf_recording_unfiltered()) ? sbuf_recall_or_walk(save, false) :
						     sbuf_save_filtered(*save);
}

#endif /* STACKBUF_SAVE_H */
