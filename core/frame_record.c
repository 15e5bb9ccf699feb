// SPDX-License-Identifier: GPL-2.0
/*
 * frame_record.c - follow frame records: to place a walk's frames and, on arm64, to walk
 */
#include <linux/kernel.h>

#include "frame_record.h"

/*
 * On x86-64 a frame lies above the record that holds its address, as with ORC; on arm64 a
 * record lies at the lower end of its frame.
 */
void sbuf_record_place_frames(struct sbuf_walk *walk, const unsigned long *pc, unsigned int nr)
{
	unsigned long fp = walk->bp[0], low = walk->sp[0];
	const unsigned long end = sbuf_record_end();
	unsigned long i = 1;

	/* The caller that no record holds yet */
	if (walk->caller)
		walk->sp[i++] = IS_ENABLED(CONFIG_ARM64) ? fp : low + sizeof(long);
	for (; i < nr && (sbuf_record_next(&fp, &low, end) | SBUF_SIGNATURE) == pc[i]; i++)
		walk->sp[i] = IS_ENABLED(CONFIG_ARM64) ? fp : low;
	for (; i < nr; i++)
		walk->sp[i] = 0;
}

#if !SBUF_HAVE_UNWIND
/* Has a tracer replaced return addresses on this task's stack? */
static bool returns_replaced(void)
{
#ifdef CONFIG_FUNCTION_GRAPH_TRACER
	if (current->ret_stack && current->curr_ret_stack > SBUF_RET_STACK_EMPTY)
		return true;
#endif
#ifdef CONFIG_RETHOOK
	if (current->rethooks.first)
		return true;
#endif
#ifdef CONFIG_KRETPROBES
	return current->kretprobe_instances.first;
#else
	return false;
#endif
}

int sbuf_record_walk(struct sbuf_scratch *scratch, const struct pt_regs *regs, unsigned long caller)
{
	unsigned long fp = regs->regs[29], stack, low, below, pc, at;
	const struct pt_regs *interrupted;
	int nr = 0;

	scratch->walk.sp[0] = regs->sp;
	scratch->walk.bp[0] = fp;
	scratch->walk.caller = caller;
	/* stack_trace_save() reports the addresses that were there before */
	if (returns_replaced())
		scratch->walk.cacheable = false;
	scratch->pc[nr++] = regs->pc;
	if (caller)
		scratch->pc[nr++] = caller;
	/* If it is mapped, a CPU's stack for interrupts is aligned like a task's */
	stack = sbuf_kstack_of(regs->sp);
	if (!stack && IS_ENABLED(CONFIG_VMAP_STACK))
		stack = regs->sp & ~(THREAD_SIZE - 1UL);
	low = stack;
	while (stack && nr < ARRAY_SIZE(scratch->pc) && !sbuf_record_is_last(low, fp)) {
		if (stack != sbuf_kstack_task() && sbuf_kstack_has(sbuf_kstack_task(), fp)) {
			stack = sbuf_kstack_task();
			low = stack;
		}
		at = fp;
		below = low;
		pc = SBUF_STRIP(sbuf_record_next(&fp, &low, stack + THREAD_SIZE));
		/* A record of zeros may be that of an exception */
		interrupted = pc || fp ? NULL : sbuf_arch_interrupted_regs(at, stack);
		if (interrupted && (unsigned long)interrupted >= below) {
			pc = interrupted->pc;
			fp = interrupted->regs[29];
			low = (unsigned long)(interrupted + 1);
		}
		if (!pc)
			break;
		scratch->pc[nr++] = pc;
	}
	return nr;
}
#endif
