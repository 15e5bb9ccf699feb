// SPDX-License-Identifier: GPL-2.0
/*
 * capture.c - the calls that record: one save, from the walk to the event
 *
 * A save that recall knows the stack of is in capture.h.  Any other goes through these: walk the
 * stack (unwind.c), find or insert it in the table (table.c), append the event (ring.c),
 * let recall learn it, render the stack if it is new (text.c).
 *
 * Nothing here takes a lock, allocates, sleeps or prints.  Saves may interrupt each other on a
 * CPU; each has its own struct sb_scratch, so that nothing large lies on the stack under study.
 */
#include <linux/minmax.h>
#include <linux/string.h>

#include "capture.h"
#include "depth.h"

void sb_fill_event(struct sb_event *event, struct task_struct *task,
		   enum stackbuf_context context)
{
	event->context = context;
	event->task = sb_task_word(task);
	BUILD_BUG_ON(sizeof(event->comm) != sizeof(task->comm));
	/*
	 * Racy copy: the task may be renamed concurrently.  The result may mix both names;
	 * sb_complete_event() terminates it.
	 */
	data_race(memcpy(event->comm, task->comm, sizeof(event->comm)));
}

/*
 * After a walk, whose frames are in @scratch: the stack, the event, the text.  @recalled is the id
 * of the stack that recall returned, if the walk verifies that, or 0.
 *
 * Interrupts are off for each step separately, so that they wait for one step at most.  They
 * may come in between, as they may while the stack is walked.
 */
static u32 sb_store(struct sb_cpu *cpu, struct sb_scratch *scratch, struct sb_event *event,
		    struct task_struct *task, bool own_stack, u32 recalled)
{
	const struct sb_trace *trace = &scratch->trace;
	enum stackbuf_counter why = STACKBUF_WALKED_ELSEWHERE, verified;
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
	event->id = stack->id;
	if (unlikely(!sb_append(cpu, event))) {
		why = STACKBUF_LOST_PAGE;
		goto lost;
	}

	if (recalled)
		verified = sb_verify_recall(recalled, stack);
	draft = sb_claim_text(stack);
	raw_local_irq_restore(flags);

	/* The stack may be evicted from here on: use its id and the trace only */
	if (own_stack) {
		bool cacheable;

		raw_local_irq_save(flags);
		cacheable = scratch->walk.cacheable && READ_ONCE(sb_recall_epoch) &&
			sb_learn(event->id, trace, &scratch->walk, scratch->pc);
		if (SB_HAVE_RECALL)
			sb_note_depth(&scratch->walk, scratch->pc, trace->nr, trace->cut,
				      event->id);
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
		sb_render(draft, event, task, scratch->pc, trace->nr, trace->cut,
			  scratch->walk.name);
		sb_publish(draft);
	}
	return event->id;

lost:
	raw_local_irq_restore(flags);
	sb_count_event(why);
	if (why == STACKBUF_LOST_PAGE)
		sb_request_page();
	else
		sb_request_eviction();
	return 0;
}

noinline s64 sb_save_walked(const struct sb_source *source, unsigned long tag, unsigned int how,
			    enum stackbuf_context context, u32 recalled)
{
	struct task_struct *task = source->task ?: current;
	struct sb_scratch *scratch;
	struct sb_event event;
	struct sb_cpu *cpu;
	unsigned long sp = 0;
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

	if (source->frame) {
		nr = sb_walk_caller(scratch, source->frame, source->own);
		sp = sb_caller_sp(source->frame);
	} else if (source->task) {
		nr = sb_walk_task(scratch->pc, ARRAY_SIZE(scratch->pc), task);
	} else {
		nr = sb_walk_regs(scratch, source->regs, source->caller, how);
		sp = kernel_stack_pointer(source->regs);
	}
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

	event.tag = tag;
	event.tagged = how & SB_TAGGED;
	sb_fill_event(&event, task, context);
	result = sb_store(cpu, scratch, &event, task, sb_stack_of(sp), recalled);
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

/* Not inlined into sb_save_filtered(): it would add to the stack that sb_save_walked() needs */
static noinline u32 sb_save_recalled_apart(const struct sb_start *start, unsigned long tag,
					   unsigned int how, enum stackbuf_context context,
					   u32 *recalled)
{
	return sb_save_recalled(start, tag, how & SB_TAGGED, context, recalled);
}

NOKPROBE_SYMBOL(sb_save_recalled_apart);

noinline s64 sb_save_filtered(const struct sb_source *source, unsigned long tag, unsigned int how,
			      enum stackbuf_context context)
{
	struct sb_start start = {};
	u32 recalled = 0;
	s64 result = 0;

	/* On the CPU that the filter looks at */
	preempt_disable_notrace();
	if (!sb_admit(source->task ?: current, context))
		goto out;
	if (source->frame)
		start = sb_start_caller(source->frame);
	else if (source->regs)
		start = sb_start_regs(source->regs, source->caller);
	if (SB_HAVE_RECALL && start.ip)
		result = sb_save_recalled_apart(&start, tag, how, context, &recalled);
	if (!result)
		result = sb_save_walked(source, tag, how, context, recalled);
	if (result <= 0)
		sb_undo_admit();
out:
	preempt_enable_notrace();
	return result;
}

NOKPROBE_SYMBOL(sb_save_filtered);

/* The stack of an exported function's caller; @frame is as for sb_walk_caller() */
static __always_inline u32 sb_save_caller(const unsigned long *frame, unsigned long tag,
					  bool tagged)
{
	enum stackbuf_context context = sb_context_of(preempt_count());
	struct sb_start start = sb_start_caller(frame);
	u32 recalled = 0, id;

	if (unlikely(!sb_recording_unfiltered()))
		return sb_save_filtered(&(struct sb_source){ .frame = frame, .own = 3 },
					tag, tagged, context);
	if (SB_HAVE_RECALL) {
		id = sb_save_recalled(&start, tag, tagged, context, &recalled);
		if (likely(id))
			return id;
	}
	return sb_save_walked(&(struct sb_source){ .frame = frame, .own = 2 },
			      tag, tagged, context, recalled);
}

/* The documentation of these is in stackbuf.h */

noinline __no_stack_protector u32 stackbuf_save(void)
{
	return sb_save_caller(__builtin_frame_address(0), 0, false);
}
EXPORT_SYMBOL_GPL(stackbuf_save);
NOKPROBE_SYMBOL(stackbuf_save);

noinline __no_stack_protector u32 stackbuf_save_tag(unsigned long tag)
{
	return sb_save_caller(__builtin_frame_address(0), tag, true);
}
EXPORT_SYMBOL_GPL(stackbuf_save_tag);
NOKPROBE_SYMBOL(stackbuf_save_tag);

noinline __no_stack_protector u32 stackbuf_save_regs(struct pt_regs *regs, unsigned long tag)
{
	return sb_save_regs(regs, tag, SB_TAGGED, sb_context_of(preempt_count()));
}
EXPORT_SYMBOL_GPL(stackbuf_save_regs);
NOKPROBE_SYMBOL(stackbuf_save_regs);

noinline int stackbuf_save_task(struct task_struct *task, unsigned long tag, u32 *id)
{
	enum stackbuf_context context = sb_context_of(preempt_count());
	const struct sb_source source = { .task = task };
	s64 result;

	if (task == current)
		result = sb_save_caller(__builtin_frame_address(0), tag, true);
	else if (sb_recording_unfiltered())
		result = sb_save_walked(&source, tag, SB_TAGGED, context, 0);
	else
		result = sb_save_filtered(&source, tag, SB_TAGGED, context);
	if (id)
		*id = max(result, 0LL);
	return min(result, 0LL);
}
EXPORT_SYMBOL_GPL(stackbuf_save_task);
