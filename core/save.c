// SPDX-License-Identifier: GPL-2.0
/*
 * save.c - the calls that record, and what a save does that walks
 *
 * save.h decides.  A save of a stack that recall does not know goes through these: walk the
 * stack (unwind.c), find or insert it in the table (table.c), append the event (ring.c),
 * let recall learn it, render the stack if it is new (text.c).
 *
 * Nothing here takes a lock, allocates, sleeps or prints.  Saves may interrupt each other on a
 * CPU; each has its own struct sb_scratch, so that nothing large lies on the stack under study.
 */
#include <linux/minmax.h>
#include <linux/string.h>

#include "depth.h"
#include "save.h"

/*
 * After a walk, whose frames are in @scratch: the stack, the event, the text.  @recalled is the id
 * of the stack that recall returned, if the walk verifies that, or 0.
 *
 * Interrupts are off for each step separately, so that they wait for one step at most.  They
 * may come in between, as they may while the stack is walked.
 */
static u32 sb_store(struct sb_cpu *cpu, struct sb_scratch *scratch, const struct sb_save *save,
		    u32 recalled)
{
	const struct sb_trace *trace = &scratch->trace;
	enum stackbuf_counter why = STACKBUF_WALKED_ELSEWHERE, verified;
	struct sb_event event = { .save = save };
	struct stackbuf_stack *stack;
	struct sb_draft *draft;
	unsigned long flags;
	bool is_new;

	sb_take_page_ahead(cpu);

	raw_local_irq_save(flags);
	stack = sb_find_or_insert(trace, &is_new);
	if (unlikely(!stack)) {
		/* Then the stacks of this page can be evicted: sb_retire_pages() needs it closed */
		sb_close_page_early(cpu, false);
		why = STACKBUF_LOST_TABLE;
		goto lost;
	}
	event.id = stack->id;
	if (unlikely(!sb_append(cpu, &event))) {
		why = STACKBUF_LOST_PAGE;
		goto lost;
	}

	if (recalled)
		verified = sb_verify_recall(recalled, stack);
	draft = sb_claim_text(stack);
	raw_local_irq_restore(flags);

	/* The stack may be evicted from here on: use its id and the trace only */
	if (save->from != SB_TASK && sb_stack_of(scratch->walk.sp[0])) {
		bool cacheable;

		raw_local_irq_save(flags);
		cacheable = scratch->walk.cacheable && READ_ONCE(sb_recall_epoch) &&
			sb_learn(event.id, trace, &scratch->walk, scratch->pc);
		if (SB_HAVE_RECALL)
			sb_note_depth(&scratch->walk, scratch->pc, trace->nr, trace->cut,
				      event.id);
		raw_local_irq_restore(flags);
		why = cacheable ? STACKBUF_WALKED_AGAIN : STACKBUF_WALKED_UNCACHEABLE;
	}
	if (is_new)
		why = STACKBUF_WALKED_NEW;
	if (recalled)
		why = verified;
	sb_count_event(why);
	if (unlikely(is_new))
		sb_request_eviction();
	sb_pass_late_requests();
	if (unlikely(draft)) {
		sb_render(draft, &event, scratch->pc, trace->nr, trace->cut, scratch->walk.name);
		sb_publish(draft);
	}
	return event.id;

lost:
	raw_local_irq_restore(flags);
	sb_count_event(why);
	if (why == STACKBUF_LOST_PAGE)
		sb_request_page();
	else
		sb_request_eviction();
	return 0;
}

/* The stack's frames, into @scratch; what the unwinder returned */
static __always_inline int sb_walk_stack(struct sb_scratch *scratch, const struct sb_save *save)
{
	switch (save->from) {
	case SB_FRAME:
		return sb_walk_caller(scratch, save->frame);
	case SB_REGS:
		return sb_walk_regs(scratch, save->regs, sb_likely_caller(save->regs, save->flags),
				    save->flags);
	case SB_TASK:
		break;
	}
	return sb_walk_task(scratch->pc, ARRAY_SIZE(scratch->pc), save->task);
}

noinline s64 sb_save_walked(struct sb_save save, u32 recalled)
{
	struct sb_scratch *scratch;
	struct sb_cpu *cpu;
	s64 result = 0;
	int nest, nr;

	preempt_disable_notrace();
	cpu = this_cpu_ptr(sb_cpu);
	nest = this_cpu_inc_return(sb_cpu->nest);
	if (unlikely(nest > SB_NESTING)) {
		sb_count_event(STACKBUF_LOST_NESTED);
		goto out;
	}
	scratch = &cpu->scratch[nest - 1];

	nr = sb_walk_stack(scratch, &save);
	if (unlikely(nr <= 0)) {
		result = nr;
		if (!nr)
			sb_count_event(STACKBUF_LOST_EMPTY);
		goto out;
	}
	if (unlikely(nr > STACKBUF_DEPTH_MAX))
		sb_encode(&scratch->trace, scratch->pc, STACKBUF_DEPTH_MAX, true);
	else
		sb_encode(&scratch->trace, scratch->pc, nr, false);

	result = sb_store(cpu, scratch, &save, recalled);
	if (unlikely(nr > STACKBUF_DEPTH_MAX && result))
		sb_count_event(STACKBUF_CUT);
out:
	/*
	 * The next save on this CPU reuses the scratch.  That is ordered: it runs on the same CPU,
	 * and a task that migrates passes the scheduler's barriers first.  Where KCSAN watches
	 * modules only, it does not see those, and would take these writes for outstanding until
	 * this function returns.
	 */
	kcsan_release();
	this_cpu_dec(sb_cpu->nest);
	preempt_enable_notrace();
	return result;
}

NOKPROBE_SYMBOL(sb_save_walked);

noinline u32 sb_save_recalled_apart(struct sb_save save, u32 *recalled)
{
	return sb_save_recalled(&save, recalled);
}

NOKPROBE_SYMBOL(sb_save_recalled_apart);

noinline bool sb_append_apart(struct sb_cpu *cpu, struct sb_save save, u32 id)
{
	struct sb_event event = { .save = &save, .id = id };

	return sb_append(cpu, &event);
}

NOKPROBE_SYMBOL(sb_append_apart);

noinline s64 sb_save_filtered(struct sb_save save)
{
	s64 result = 0;

	/* On the CPU that the filter looks at */
	preempt_disable_notrace();
	if (sb_admit(sb_saved_task(&save), save.context)) {
		result = sb_recall_or_walk(&save, true);
		if (result <= 0)
			sb_undo_admit();
	}
	preempt_enable_notrace();
	return result;
}

NOKPROBE_SYMBOL(sb_save_filtered);

/* The documentation of these is in stackbuf.h */

/* The stack of the caller of the exported function that this stands in */
#define SAVE_CALLER(...)							\
	sb_save(&(const struct sb_save) {					\
		.from = SB_FRAME, .frame = __builtin_frame_address(0),		\
		.context = sb_context_of(preempt_count()), __VA_ARGS__		\
	})

noinline __no_stack_protector u32 stackbuf_save(void)
{
	return SAVE_CALLER();
}
EXPORT_SYMBOL_GPL(stackbuf_save);
NOKPROBE_SYMBOL(stackbuf_save);

noinline __no_stack_protector u32 stackbuf_save_tag(unsigned long tag)
{
	return SAVE_CALLER(.flags = SB_TAGGED, .tag = tag);
}
EXPORT_SYMBOL_GPL(stackbuf_save_tag);
NOKPROBE_SYMBOL(stackbuf_save_tag);

noinline __no_stack_protector u32 stackbuf_save_regs(struct pt_regs *regs, unsigned long tag)
{
	return sb_save(&(const struct sb_save) {
		.from = SB_REGS, .regs = regs, .flags = SB_TAGGED, .tag = tag,
		.context = sb_context_of(preempt_count()),
	});
}
EXPORT_SYMBOL_GPL(stackbuf_save_regs);
NOKPROBE_SYMBOL(stackbuf_save_regs);

noinline int stackbuf_save_task(struct task_struct *task, unsigned long tag, u32 *id)
{
	s64 result;

	if (task == current)
		result = SAVE_CALLER(.flags = SB_TAGGED, .tag = tag);
	else
		result = sb_save(&(const struct sb_save) {
			.from = SB_TASK, .task = task, .flags = SB_TAGGED, .tag = tag,
			.context = sb_context_of(preempt_count()),
		});
	if (id)
		*id = max(result, 0LL);
	return min(result, 0LL);
}
EXPORT_SYMBOL_GPL(stackbuf_save_task);
