// SPDX-License-Identifier: GPL-2.0
/*
 * unwind.c - walk the stack that registers describe, or another task's
 *
 * Walking takes no lock, allocates nothing and does not sleep.
 */
#ifdef CONFIG_RETHOOK
/* It includes linux/freelist.h, which before 6.7 uses linux/bug.h without including it */
#include <linux/bug.h>
#include <linux/rethook.h>
#endif

#include "frame_record.h"

#if SBUF_HAVE_TRAMPOLINE
unsigned long sbuf_trampoline __ro_after_init, sbuf_graph_trampoline __ro_after_init;

/* Of a node in SBUF_RETURN_NODES(): what identifies the call, and the return address */
#ifdef CONFIG_RETHOOK
#define CALL(node)		llist_entry(node, struct rethook_node, llist)
#define CALL_KEY(node)		(CALL(node)->frame)
#else
#define CALL(node)		llist_entry(node, struct kretprobe_instance, llist)
#define CALL_KEY(node)		((unsigned long)CALL(node)->fp)
#endif
#define CALL_RETURN(node)	((unsigned long)CALL(node)->ret_addr)

/*
 * As kretprobe_find_ret_addr(), which is not exported.  A function that ends in a jump to another
 * one shares its caller: the oldest of their calls has the address that is no trampoline.  Calls
 * that never return are older still.
 */
unsigned long sbuf_replaced_return(unsigned long first, unsigned long last)
{
	const struct llist_node *node;

	for (node = SBUF_RETURN_NODES(current); node; node = node->next)
		if (CALL_KEY(node) - first <= last - first &&
		    CALL_RETURN(node) != sbuf_trampoline)
			return SBUF_STRIP(CALL_RETURN(node));
	return sbuf_trampoline;
}

NOKPROBE_SYMBOL(sbuf_replaced_return);
#endif

#if SBUF_HAVE_UNWIND
#include <asm/cpu_entry_area.h>
#include <asm/unwind.h>

#if SBUF_HAVE_ORC
/* Note what recall compares where the walk begins, and this CPU's stacks for interrupts and NMIs */
static inline void note_start(struct sbuf_walk *walk, const struct pt_regs *regs,
			      const struct unwind_state *state)
{
	walk->regs[0] = 0;
	walk->start_regs = regs;
	if (state->stack_info.type == STACK_TYPE_IRQ)
		this_cpu_write(sbuf_cpu->irq_stack, (unsigned long)state->stack_info.begin);
	else if (state->stack_info.type == STACK_TYPE_EXCEPTION + ESTACK_NMI)
		this_cpu_write(sbuf_cpu->nmi_stack, (unsigned long)state->stack_info.begin);
}

/* Note what recall compares in frame @nr; @address is 0 at the end of the walk */
static inline void note_frame(struct sbuf_walk *walk, unsigned int nr,
			      const struct unwind_state *state, unsigned long address)
{
	walk->sp[nr] = address ? state->sp : (unsigned long)state->regs;
	walk->bp[nr] = state->bp;
	walk->regs[nr] = address ? (unsigned long)state->regs : 0;
	if (state->regs) {
		walk->user_regs = !address && user_mode(state->regs);
		walk->cacheable &= state->full_regs;
	}
	if (!address)
		walk->cacheable &= walk->user_regs;
}
#else
#define note_start(walk, regs, state)		do { } while (0)
#define note_frame(walk, nr, state, address)	do { } while (0)
#endif

/* The address of the return address that @state is at */
#if SBUF_HAVE_ORC
#define SLOT(state)		((state)->sp - sizeof(long))
#elif SBUF_HAVE_RECORDS
#define SLOT(state)		((unsigned long)((state)->bp + 1))
#else
#define SLOT(state)		((unsigned long)(state)->sp)
#endif

/*
 * As unwind_get_return_address(), with the return address that a kretprobe has replaced.  The ORC
 * unwinder also needs it to find the next frame.
 */
static unsigned long return_address(struct unwind_state *state, struct sbuf_walk *walk)
{
	unsigned long address = unwind_get_return_address(state);

	if (SBUF_HAVE_RESOLVED_WALKS || !sbuf_is_trampoline(address))
		return address;
	address = sbuf_original_return(address, SLOT(state));
#if SBUF_HAVE_RECALL
	state->ip = address;
#endif
	walk->cacheable = false;
	return address;
}

/*
 * stack_trace_save_regs() is not exported, but the unwinder that it uses is.  The loop is copied
 * from arch_stack_walk() in arch/x86/kernel/stacktrace.c.
 */
static int walk_frames(struct sbuf_scratch *scratch, struct pt_regs *regs, unsigned long caller)
{
	struct sbuf_walk *walk = &scratch->walk;
	struct unwind_state state;
	unsigned long *first = NULL;
	int nr = 0;

	walk->user_regs = false;
	walk->sp[0] = regs->sp;
	walk->bp[0] = regs->bp;
	scratch->pc[nr++] = instruction_pointer(regs);
	/* No frame record holds the caller yet, so the unwinder would omit it */
	if (SBUF_HAVE_RECORDS && caller)
		scratch->pc[nr++] = caller;
	/*
	 * Entry code calls on the stack for interrupts: there, a function that has no record yet
	 * has the bp of the task's stack.  From sp, the unwinder would skip all frames
	 */
	if (SBUF_HAVE_RECORDS && !sbuf_kstack_has(sbuf_kstack_task(), regs->sp) &&
	    sbuf_kstack_has(sbuf_kstack_task(), regs->bp))
		first = (unsigned long *)regs->bp;
	unwind_start(&state, current, regs, first);
	note_start(walk, regs, &state);
	for (; nr < ARRAY_SIZE(scratch->pc) && !unwind_done(&state); unwind_next_frame(&state)) {
		const struct pt_regs *entry = unwind_get_entry_regs(&state, NULL);
		unsigned long address = 0;

		/* A user-mode ip is not a frame, even if the task jumped to a kernel address */
		if (!entry || !user_mode((struct pt_regs *)entry))
			address = return_address(&state, walk);
		note_frame(walk, nr, &state, address);
		if (!address)
			break;
		scratch->pc[nr++] = address;
	}
	if (unwind_error(&state))
		walk->cacheable = false;
	return nr;
}
#else
#define walk_frames	sbuf_record_walk
#endif

int sbuf_unwind_regs(struct sbuf_scratch *scratch, struct pt_regs *regs, unsigned long caller,
		     enum sbuf_flags flags)
{
	struct sbuf_walk *walk = &scratch->walk;

	/* User-mode registers describe no kernel stack */
	if (user_mode(regs))
		return 0;
	walk->caller = caller;
	walk->flags = flags;
	/* Not found: another walk may find it */
	if (SBUF_HAVE_RECORDS && (sbuf_is_trampoline(caller) || sbuf_is_graph_trampoline(caller)))
		walk->cacheable = false;
	return walk_frames(scratch, regs, caller);
}

/* True if a task runs on a CPU, or is still leaving it.  Without SMP only current runs */
#ifdef CONFIG_SMP
/* Acquire: later reads do not see older values */
#define TASK_RUNS(task)	smp_load_acquire(&(task)->on_cpu)
#else
#define TASK_RUNS(task)	false
#endif

/*
 * The stack must not change during the walk.  If the task ran during the walk, the scheduler has
 * also counted a switch.
 */
int sbuf_unwind_task(unsigned long *pc, unsigned int size, struct task_struct *task)
{
	unsigned long switches;
	unsigned int nr;

	if (!SBUF_HAVE_SAVE_TASK)
		return -EOPNOTSUPP;
	switches = READ_ONCE(task->nvcsw) + READ_ONCE(task->nivcsw);
	/* W1, pairs with the scheduler's barriers: it counts a switch before it switches */
	smp_rmb();
	if (TASK_RUNS(task))
		return -EBUSY;
	nr = stack_trace_save_tsk(task, pc, size, 0);
	/* The frames are read before the counts are read again */
	smp_rmb();
	if (TASK_RUNS(task) || switches != READ_ONCE(task->nvcsw) + READ_ONCE(task->nivcsw))
		return -EBUSY;
	return nr ? nr : -ESRCH;
}
