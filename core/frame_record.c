// SPDX-License-Identifier: GPL-2.0
/*
 * frame_record.c - follow frame records: to place a walk's frames and, on arm64, to walk
 */
#include <linux/kernel.h>

#include "frame_record.h"

/*
 * As sbuf_record_next(), but if an exception interrupted the code on the stack that begins at
 * @stack, return the address that it interrupted
 */
static unsigned long next_address(unsigned long *fp, unsigned long *low, unsigned long end,
				  unsigned long stack)
{
	unsigned long at = *fp, below = *low, pc = sbuf_record_next(fp, low, end);
	const struct pt_regs *regs;

	if (pc || (*fp && !(IS_ENABLED(CONFIG_X86_64) && *fp & 1)))
		return pc;
	regs = sbuf_arch_interrupted_regs(at, stack);
	if (!regs || (unsigned long)regs < below)
		return 0;
	*fp = *sbuf_arch_saved_bp(regs);
	*low = (unsigned long)(regs + 1);
	return instruction_pointer((struct pt_regs *)regs);
}

/* A frame lies above the record that holds its address, unless SBUF_RECORD_IS_LOWEST */
void sbuf_record_place_frames(struct sbuf_walk *walk, const unsigned long *pc, unsigned int nr)
{
	unsigned long fp = walk->bp[0], low = walk->sp[0], at;
	const unsigned long end = sbuf_record_end();
	unsigned long i = 1;

	/* The caller, which no record holds yet; on x86-64 its address is on the stack */
	if (walk->caller)
		walk->sp[i++] = SBUF_RECORD_IS_LOWEST ? fp :
				low + (IS_ENABLED(CONFIG_X86_64) ? sizeof(long) : 0);
	for (; i < nr; i++) {
		at = next_address(&fp, &low, end, sbuf_kstack_task()) | SBUF_SIGNATURE;
		/* The walk has found what a tracer replaced */
		if (at != pc[i] && !sbuf_is_trampoline(at) && !sbuf_is_graph_trampoline(at))
			break;
		walk->sp[i] = SBUF_RECORD_IS_LOWEST ? fp : low;
	}
	for (; i < nr; i++)
		walk->sp[i] = 0;
}

#if !SBUF_HAVE_UNWIND
/* Return true if a tracer whose trampoline is unknown has replaced return addresses of this task */
static bool returns_replaced(void)
{
#ifdef CONFIG_FUNCTION_GRAPH_TRACER
	if (!(SBUF_HAVE_TRAMPOLINE && sbuf_graph_trampoline) &&
	    current->ret_stack && current->curr_ret_stack > SBUF_RET_STACK_EMPTY)
		return true;
#endif
#if defined(CONFIG_RETHOOK) || defined(CONFIG_KRETPROBES)
	return !(SBUF_HAVE_TRAMPOLINE && sbuf_trampoline) && SBUF_RETURN_NODES(current);
#else
	return false;
#endif
}

/*
 * sbuf_original_return() of @pc in the record at @at, which names the caller's record @fp.  @at is
 * on a stack that ends at @end, @fp may be on another one
 */
static unsigned long original_return(unsigned long pc, unsigned long at, unsigned long fp,
				     unsigned long end)
{
	if (!sbuf_is_trampoline(pc))
		return pc;
	if (!SBUF_CALLS_BY_SP)
		return sbuf_replaced_return(fp, fp);
	return sbuf_replaced_return(at + 16, fp - at < end - at ? fp : end);
}

/*
 * Replace the function graph tracer's trampoline in frames @first to @nr - 1 of @scratch by the
 * addresses that stack_trace_save() reports there.  Both walks end with the same frames: that one
 * begins here.  Nothing is replaced if they differ.  The records of these frames are in walk.bp.
 */
static void resolve_graph(struct sbuf_scratch *scratch, int first, int nr)
{
	/* Recall does not learn this stack, so this array is free */
	unsigned long *all = scratch->walk.regs, *pc = scratch->pc, at;
	int all_nr = stack_trace_save(all, ARRAY_SIZE(scratch->walk.regs), 0), i;

	/* Cut: nothing is known of its end */
	if (nr == SBUF_WALK_MAX || all_nr == SBUF_WALK_MAX || all_nr < nr - first)
		return;
	all += all_nr - nr;
	for (i = first; i < nr; i++)
		if (sbuf_is_graph_trampoline(pc[i]) ? !all[i] || pc[i] == all[i] :
		    pc[i] != all[i] && !sbuf_is_trampoline(all[i]))
			return;
	for (i = first; i < nr; i++) {
		if (!sbuf_is_graph_trampoline(pc[i]))
			continue;
		/* A kretprobe may have replaced it before */
		at = scratch->walk.bp[i];
		pc[i] = original_return(all[i], at, sbuf_kstack_load(at),
					(at | (THREAD_SIZE - 1)) + 1);
	}
}

int sbuf_record_walk(struct sbuf_scratch *scratch, const struct pt_regs *regs, unsigned long caller)
{
	bool graph = false;
	unsigned long fp = regs->regs[29], stack, next, low, pc, at;
	int nr = 0;

	scratch->walk.sp[0] = regs->sp;
	scratch->walk.bp[0] = fp;
	scratch->walk.caller = caller;
	/* stack_trace_save() would report the original addresses */
	if (returns_replaced())
		scratch->walk.cacheable = false;
	scratch->pc[nr++] = regs->pc;
	if (caller)
		scratch->pc[nr++] = caller;
	/*
	 * A CPU's stacks, if they are mapped, are aligned like a task's.  If not, where they end is
	 * not known
	 */
	stack = sbuf_kstack_of(regs->sp);
	if (!stack)
		stack = IS_ENABLED(CONFIG_VMAP_STACK) ? (regs->sp - 1) & ~(THREAD_SIZE - 1UL) :
							regs->sp;
	low = stack;
	while (nr < ARRAY_SIZE(scratch->pc) && !sbuf_record_is_last(low, fp)) {
		/* From SDEI's to the one for interrupts, and from there to the task's */
		next = stack == sbuf_kstack_task() ? 0 : sbuf_kstack_of(fp);
		if (next && next != stack) {
			stack = next;
			low = stack;
		}
		at = fp;
		pc = SBUF_STRIP(next_address(&fp, &low, stack + THREAD_SIZE, stack));
		if (!pc)
			break;
		if (sbuf_is_graph_trampoline(pc)) {
			scratch->walk.bp[nr] = at;
			graph = true;
		}
		/* The record does not match what is found */
		if (graph || sbuf_is_trampoline(pc))
			scratch->walk.cacheable = false;
		scratch->pc[nr++] = original_return(pc, at, fp, stack + THREAD_SIZE);
	}
	if (graph)
		resolve_graph(scratch, caller ? 2 : 1, nr);
	return nr;
}
#endif
