// SPDX-License-Identifier: GPL-2.0
/*
 * save.c - the calls that record, and the part of a save that walks
 *
 * The decisions are in save.h.  A save of a stack that recall does not know takes these steps: walk
 * the stack (unwind.c), find or insert it in the table (table.c), append the event (ring.c),
 * let recall learn it, and request the text of a new stack (text.c).
 *
 * Nothing here takes a lock, allocates, sleeps or prints.  Saves may interrupt each other on a
 * CPU.  Each has its own struct sbuf_scratch, so that nothing large lies on the stack under study.
 */
#include <linux/minmax.h>

#include "depth.h"
#include "save.h"
#include "worker.h"

/*
 * Each step after a walk, whose frames are in @scratch, disables interrupts separately, so that an
 * interrupt waits for at most one step.  Interrupts may arrive between the steps and in the walk.
 */

/*
 * Find or insert the stack, and append its event.  @recalled is the id of the recalled stack if the
 * walk verifies a recall, or 0.  Return the counter for this walk; learn_walk() refines
 * STACKBUF_WALKED_ELSEWHERE.
 */
static enum stackbuf_counter append_walk(struct sbuf_cpu *cpu, const struct sbuf_scratch *scratch,
					 struct sbuf_event *event, u32 recalled, bool *is_new)
{
	enum stackbuf_counter why = STACKBUF_WALKED_ELSEWHERE;
	struct stackbuf_stack *stack;
	unsigned long flags;
	bool appended;

	raw_local_irq_save(flags);
	stack = sbuf_table_get(&scratch->trace, is_new);
	if (unlikely(!stack)) {
		/* Lets the stacks of this page be evicted: retire_pages() needs it closed */
		sbuf_ring_close_page_early(cpu, false);
		why = STACKBUF_LOST_TABLE;
		goto out;
	}
	event->id = stack->id;
	event->time = event->save->at_once == SBUF_AT_ONCE ? cpu->time : 0;
	appended = sbuf_ring_append(cpu, event);
	if (unlikely(*is_new))
		sbuf_table_note_first(stack, event);
	if (unlikely(!appended))
		why = STACKBUF_LOST_PAGE;
	else if (recalled)
		why = sbuf_recall_verify(recalled, stack);
	else if (*is_new)
		why = STACKBUF_WALKED_NEW;
out:
	raw_local_irq_restore(flags);
	return why;
}

/*
 * Let recall and depth.c learn a walk whose event was appended with the stack @id.  The stack may
 * be evicted concurrently, so use only its id and the trace.  Return the counter for this walk.
 */
static enum stackbuf_counter learn_walk(struct sbuf_scratch *scratch, const struct sbuf_save *save,
					u32 id)
{
	unsigned long flags;
	bool cacheable;

	if (save->from == SBUF_TASK)
		return STACKBUF_WALKED_ELSEWHERE;
	sbuf_kstack_note_irq(scratch->walk.sp[0]);
	if (!sbuf_kstack_of(scratch->walk.sp[0]))
		return STACKBUF_WALKED_ELSEWHERE;
	raw_local_irq_save(flags);
	cacheable = scratch->walk.cacheable && READ_ONCE(sbuf_recall_epoch) &&
		sbuf_recall_learn(id, &scratch->trace, &scratch->walk, scratch->pc);
	if (SBUF_HAVE_RECALL && !scratch->walk.skip)
		sbuf_depth_note(scratch, id);
	if (READ_ONCE(sbuf_recall_epoch))
		sbuf_table_set_uncacheable(id, !cacheable);
	raw_local_irq_restore(flags);
	return cacheable ? STACKBUF_WALKED_AGAIN : STACKBUF_WALKED_UNCACHEABLE;
}

/* Request the workers that are needed after a walk that counts as @why */
static void request_work(enum stackbuf_counter why, bool is_new)
{
	if (unlikely(is_new))
		sbuf_worker_request(SBUF_WORKER_TEXT);
	if (unlikely(why == STACKBUF_LOST_PAGE)) {
		sbuf_ring_request_page();
		return;
	}
	if (unlikely(is_new || why == STACKBUF_LOST_TABLE))
		sbuf_evict_request();
	if (why != STACKBUF_LOST_TABLE)
		sbuf_worker_resubmit();
}

/* Return the id of the stack, or 0 if its event is lost */
static u32 store_walk(struct sbuf_cpu *cpu, struct sbuf_scratch *scratch,
		      const struct sbuf_save *save, u32 recalled)
{
	struct sbuf_event event = { .save = save };
	enum stackbuf_counter why, learned;
	bool is_new, lost;

	sbuf_ring_take_page_ahead(cpu);
	why = append_walk(cpu, scratch, &event, recalled, &is_new);
	lost = why == STACKBUF_LOST_TABLE || why == STACKBUF_LOST_PAGE;
	if (!lost) {
		learned = learn_walk(scratch, save, event.id);
		if (why == STACKBUF_WALKED_ELSEWHERE)
			why = learned;
	}
	sbuf_count(why);
	request_work(why, is_new);
	return lost ? 0 : event.id;
}

/* Walk into @scratch.  Return the number of frames, or a negative error */
static __always_inline int walk_stack(struct sbuf_scratch *scratch, const struct sbuf_save *save)
{
	scratch->walk.epoch = READ_ONCE(sbuf_recall_epoch);
	scratch->walk.cacheable = true;
	scratch->walk.skip = 0;
	switch (save->from) {
	case SBUF_FRAME:
		return sbuf_unwind_caller(scratch, save->frame);
	case SBUF_REGS:
		return sbuf_unwind_regs(scratch, save->regs,
					sbuf_likely_caller(save->regs, save->flags), save->flags);
	case SBUF_TASK:
		if (SBUF_HAVE_SAVE_TASK && !READ_ONCE(sbuf_saves_tasks))
			WRITE_ONCE(sbuf_saves_tasks, true);
		smp_mb();	/* E3: before the walk, even if another CPU has set it */
		break;
	}
	return sbuf_unwind_task(scratch->pc, ARRAY_SIZE(scratch->pc), save->task);
}

noinline s64 sbuf_save_walked(struct sbuf_save save, u32 recalled)
{
	struct sbuf_scratch *scratch;
	struct sbuf_cpu *cpu;
	bool rcu_idle;
	s64 result = 0;
	int nest, nr;

	preempt_disable_notrace();
	cpu = this_cpu_ptr(sbuf_cpu);
	nest = this_cpu_inc_return(sbuf_cpu->nest);
	if (unlikely(nest > SBUF_NESTING)) {
		sbuf_count(STACKBUF_LOST_NESTED);
		goto out;
	}
	scratch = &cpu->scratch[nest - 1];
	WRITE_ONCE(scratch->walks_in, 1 + save.context);
	rcu_idle = !sbuf_rcu_waits();
	if (unlikely(rcu_idle)) {
		this_cpu_inc(sbuf_cpu->rcu_idle);
		smp_mb();	/* E2: before the lookup */
	}

	nr = walk_stack(scratch, &save);
	if (save.flags & SBUF_SKIP && nr > 1) {
		scratch->walk.skip = 1;
		nr--;
	}
	/*
	 * A recall does not count in rcu_idle, so do not learn a path that RCU does not watch.  In
	 * an idle task RCU watches only at times, and recall checks; elsewhere this depends only on
	 * the path.
	 */
	if (rcu_idle)
		scratch->walk.cacheable = false;
	if (unlikely(nr <= 0)) {
		result = nr;
		if (!nr)
			sbuf_count(STACKBUF_LOST_EMPTY);
		goto out_walked;
	}
	sbuf_trace_encode(&scratch->trace, scratch->pc + scratch->walk.skip,
			  min(nr, SBUF_FRAMES), nr > SBUF_FRAMES);

	result = store_walk(cpu, scratch, &save, recalled);
	if (unlikely(nr > SBUF_FRAMES && result))
		sbuf_count(STACKBUF_CUT);
out_walked:
	if (unlikely(rcu_idle)) {
		smp_mb();	/* E2: after the append */
		this_cpu_dec(sbuf_cpu->rcu_idle);
		if (save.flags & SBUF_REFERS && result > 0)
			result = SBUF_NOT_WAITED_FOR;
	}
	WRITE_ONCE(scratch->walks_in, 0);
out:
	/*
	 * The next save on this CPU reuses the scratch.  That is ordered: the save runs on the same
	 * CPU, and a task that migrates passes the scheduler's barriers first.  If KCSAN watches
	 * only modules, it does not see those barriers, and would consider these writes outstanding
	 * until this function returns.
	 */
	kcsan_release();
	this_cpu_dec(sbuf_cpu->nest);
	preempt_enable_notrace();
	return result;
}

NOKPROBE_SYMBOL(sbuf_save_walked);

noinline bool sbuf_save_recalled_noinline(struct sbuf_save save, u32 *id, u32 *recalled)
{
	return sbuf_save_recalled(&save, id, recalled);
}

NOKPROBE_SYMBOL(sbuf_save_recalled_noinline);

noinline bool sbuf_append_noinline(struct sbuf_cpu *cpu, struct sbuf_save save, u32 id, u64 now)
{
	struct sbuf_event event = { .save = &save, .id = id, .time = now };

	return sbuf_ring_append(cpu, &event);
}

NOKPROBE_SYMBOL(sbuf_append_noinline);

noinline s64 sbuf_save_filtered(struct sbuf_save save)
{
	enum sbuf_admission as;
	s64 result = 0;

	/* Stay on the CPU that the filter checks */
	preempt_disable_notrace();
	as = sbuf_filter_admit(sbuf_saved_task(&save), save.context);
	if (as > 0) {
		result = sbuf_recall_or_walk(&save, true);
		sbuf_filter_settle(as, result > 0 || result == SBUF_NOT_WAITED_FOR);
	} else if (save.flags & SBUF_REFERS && sbuf_recording()) {
		result = as;
	}
	preempt_enable_notrace();
	return result;
}

NOKPROBE_SYMBOL(sbuf_save_filtered);

/* stackbuf.h documents these */

#define SAVE(...)								\
	sbuf_save(&(const struct sbuf_save) {					\
		  .context = sbuf_context_of(preempt_count()), __VA_ARGS__		\
	})

/* Save the stack of the caller of the exported function that contains this */
#define SAVE_CALLER(...)							\
	SAVE(.from = SBUF_FRAME, .frame = __builtin_frame_address(0), __VA_ARGS__)

noinline __no_stack_protector u32 stackbuf_save(void)
{
	return SAVE_CALLER();
}
EXPORT_SYMBOL_GPL(stackbuf_save);
NOKPROBE_SYMBOL(stackbuf_save);

noinline __no_stack_protector u32 stackbuf_save_tag(unsigned long tag)
{
	return SAVE_CALLER(.flags = SBUF_TAGGED, .tag = tag);
}
EXPORT_SYMBOL_GPL(stackbuf_save_tag);
NOKPROBE_SYMBOL(stackbuf_save_tag);

noinline __no_stack_protector u32 stackbuf_save_regs(struct pt_regs *regs, unsigned long tag)
{
	return SAVE(.from = SBUF_REGS, .regs = regs, .flags = SBUF_TAGGED, .tag = tag);
}
EXPORT_SYMBOL_GPL(stackbuf_save_regs);
NOKPROBE_SYMBOL(stackbuf_save_regs);

noinline int stackbuf_save_task(struct task_struct *task, unsigned long tag, u32 *id)
{
	s64 result;

	if (task == current)
		result = SAVE_CALLER(.flags = SBUF_TAGGED, .tag = tag);
	else
		result = SAVE(.from = SBUF_TASK, .task = task, .flags = SBUF_TAGGED, .tag = tag);
	if (id)
		*id = max(result, 0LL);
	return min(result, 0LL);
}
EXPORT_SYMBOL_GPL(stackbuf_save_task);
