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

#include "internal.h"
#include "ring.h"
#include "unwind.h"

/**
 * struct sb_source - whose stack a save walks; one of @frame, @regs and @task is set
 * @frame:	frame of the exported function, for its caller's stack
 * @own:	with @frame: stackbuf's frames from the exported function's to sb_save_walked()'s
 * @regs:	registers to start from
 * @hint:	sb_start_hint() of @regs
 * @task:	a task other than current
 */
struct sb_source {
	const unsigned long *frame;
	unsigned int own;
	struct pt_regs *regs;
	unsigned long hint;
	struct task_struct *task;
};

/**
 * sb_save_walked() - one save, by walking
 * @source: whose stack
 * @tag: the tag, if there is one
 * @how: SB_TAGGED etc.
 * @context: what the code ran in
 * @recalled: id of the stack that recall returned, to be verified, or 0
 *
 * Context: Any context.
 * Return: the stack's id; 0 when the event was lost, and counted as such; or
 *	what sb_walk_task() returned.
 */
s64 sb_save_walked(const struct sb_source *source, unsigned long tag, unsigned int how,
		   enum stackbuf_context context, u32 recalled);

/**
 * sb_save_filtered() - one save while filters are in force or recording is off
 * @source: whose stack; with a frame, @source->own counts this function's frame, too
 * @tag: the tag, if there is one
 * @how: SB_TAGGED etc.
 * @context: what the code ran in
 *
 * Context: Any context.
 * Return: as sb_save_walked(); 0 also when a filter kept the event out.
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

/**
 * sb_save_recalled() - one save without a walk
 * @start: where a walk would start
 * @tag: the tag, if there is one
 * @tagged: there is one
 * @context: what the code ran in
 * @recalled: set to the id of the stack that recall returned, if a walk is to verify it
 *
 * Interrupts are off for all of it, so it needs no struct sb_level.
 *
 * Context: Any context.
 * Return: the stack's id; 0 if the stack is not known, is to be verified, or there was no page
 *	for the event: then sb_save_walked() is to be called.
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

/**
 * sb_save_regs() - record the stack that registers describe
 * @regs: registers of the current task, saved on this CPU
 * @tag: the tag, if there is one
 * @how: SB_TAGGED etc.
 * @context: what the code ran in
 *
 * Context: Any context.
 * Return: the stack's id, or 0 when the event was not recorded, and counted as such.
 */
static __always_inline u32 sb_save_regs(struct pt_regs *regs, unsigned long tag,
					unsigned int how, enum stackbuf_context context)
{
	unsigned long hint = sb_start_hint(regs, how);
	struct sb_start start = sb_start_regs(regs, hint);
	u32 recalled = 0, id;

	if (unlikely(!sb_recording()))
		return sb_save_filtered(&(struct sb_source){ .regs = regs, .hint = hint },
					tag, how, context);
	if (likely(start.ip)) {
		id = sb_save_recalled(&start, tag, how & SB_TAGGED, context, &recalled);
		if (likely(id))
			return id;
	}
	return sb_save_walked(&(struct sb_source){ .regs = regs, .hint = hint },
			      tag, how, context, recalled);
}

#endif /* STACKBUF_CAPTURE_H */
