/* SPDX-License-Identifier: GPL-2.0 */
/*
 * capture.h - a save that needs no walk, inlined into the calls and into the probes' handler
 *
 * capture.c has the calls, and what a save does that needs a walk.
 */
#ifndef STACKBUF_CAPTURE_H
#define STACKBUF_CAPTURE_H

#include <linux/irqflags.h>
#include <linux/preempt.h>

#include "ring.h"
#include "recall.h"

/**
 * struct sb_source - whose stack a save walks; one of @frame, @regs and @task is set
 * @frame:	frame of the exported function, for its caller's stack
 * @own:	with @frame: stackbuf's frames from the exported function's to sb_save_walked()'s
 * @regs:	registers to start from
 * @caller:	sb_likely_caller() of @regs
 * @task:	a task other than current
 */
struct sb_source {
	const unsigned long *frame;
	unsigned int own;
	struct pt_regs *regs;
	unsigned long caller;
	struct task_struct *task;
};

/*
 * One save by walking, in any context.  @how is SB_TAGGED etc., @context what the code ran in,
 * @recalled the id of the stack that recall returned, for the walk to verify, or 0.  Return the
 * stack's id; 0 if the event was lost, and counted as such; or what sb_walk_task() returned.
 */
s64 sb_save_walked(const struct sb_source *source, unsigned long tag, unsigned int how,
		   enum stackbuf_context context, u32 recalled);

/*
 * One save while filters are in force or recording is off, else as sb_save_walked().  With a
 * frame, @source->own counts this function's frame as well.
 */
s64 sb_save_filtered(const struct sb_source *source, unsigned long tag, unsigned int how,
		     enum stackbuf_context context);

/* What an event holds of a task and of what the code ran in */
void sb_fill_event(struct sb_event *event, struct task_struct *task,
		   enum stackbuf_context context);

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

/*
 * One save without a walk, in any context; needs no struct sb_scratch, as interrupts are off for
 * all of it.  Return the stack's id; 0 if sb_save_walked() is to be called: the stack is not known,
 * there was no page for the event, or a walk is to verify the stack whose id is in *@recalled.
 */
static __always_inline u32 sb_save_recalled(const struct sb_start *start, unsigned long tag,
					    bool tagged, enum stackbuf_context context,
					    u32 *recalled)
{
	struct stackbuf_stack *stack;
	struct sb_cpu *cpu;
	unsigned long flags;
	u32 id = 0;
	u64 now;

	raw_local_irq_save(flags);
	/* Read the clock first: it is a call, and few registers are live yet */
	now = sb_now();
	stack = sb_recall(start);
	if (unlikely(!stack))
		goto out;
	cpu = this_cpu_ptr(sb_cpu);
	if (unlikely(local_dec_and_test(&cpu->verify_in))) {
		sb_restart_verify(NULL);
		*recalled = stack->id;
		goto out;
	}
	id = stack->id;
	if (unlikely(!sb_append_chained(cpu, now, id, context, tag, tagged))) {
		struct sb_event event = { .id = id, .tag = tag, .tagged = tagged };

		sb_fill_event(&event, current, context);
		if (!sb_append(cpu, &event))
			id = 0;
	}
out:
	raw_local_irq_restore(flags);
	return id;
}

/* stackbuf_save_regs(), for the probes' handler, which knows @how and @context */
static __always_inline u32 sb_save_regs(struct pt_regs *regs, unsigned long tag,
					unsigned int how, enum stackbuf_context context)
{
	unsigned long caller = sb_likely_caller(regs, how);
	struct sb_start start = sb_start_regs(regs, caller);
	u32 recalled = 0, id;

	if (unlikely(!sb_recording_unfiltered()))
		return sb_save_filtered(&(struct sb_source){ .regs = regs, .caller = caller },
					tag, how, context);
	if (likely(start.ip)) {
		id = sb_save_recalled(&start, tag, how & SB_TAGGED, context, &recalled);
		if (likely(id))
			return id;
	}
	return sb_save_walked(&(struct sb_source){ .regs = regs, .caller = caller },
			      tag, how, context, recalled);
}

#endif /* STACKBUF_CAPTURE_H */
