/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kstack.h - the stacks that the kernel runs on
 */
#ifndef STACKBUF_KSTACK_H
#define STACKBUF_KSTACK_H

#include <linux/sched/task_stack.h>

#include "types.h"

/* Read a word of a stack.  KASAN may have poisoned it, as it may not belong to a variable */
static inline unsigned long sbuf_kstack_load(unsigned long address)
{
	return READ_ONCE_NOCHECK(*(unsigned long *)address);
}

static inline unsigned long sbuf_kstack_task(void)
{
	return (unsigned long)task_stack_page(current);
}

static inline bool sbuf_kstack_has(unsigned long stack, unsigned long address)
{
	return address - stack <= THREAD_SIZE - sizeof(long);
}

#if SBUF_HAVE_ORC
/*
 * Return where this CPU's NMI stack would begin if it had THREAD_SIZE and the same end, or 0 if it
 * is not known.  Memory below the actual stack is not mapped: read only from a stack pointer on it
 * upwards.
 */
static inline unsigned long sbuf_kstack_nmi(void)
{
	unsigned long stack = this_cpu_read(sbuf_cpu->nmi_stack);

	return stack ? stack + EXCEPTION_STKSZ - THREAD_SIZE : 0;
}
#endif

/*
 * Return the beginning of the stack that @sp lies on: the task's, or this CPU's for interrupts or
 * NMIs, on which a task does not migrate; 0 if recall does not know that stack
 */
static __always_inline unsigned long sbuf_kstack_of(unsigned long sp)
{
	unsigned long stack = sbuf_kstack_task();

	if (!SBUF_HAVE_RECALL)
		return 0;
	if (likely(sbuf_kstack_has(stack, sp)))
		return stack;
	stack = SBUF_HAVE_ORC || IS_ENABLED(CONFIG_ARM64) ? this_cpu_read(sbuf_cpu->irq_stack) : 0;
	if (stack && sbuf_kstack_has(stack, sp))
		return stack;
#if SBUF_HAVE_ORC
	stack = this_cpu_read(sbuf_cpu->nmi_stack);
	if (stack && sp - stack <= EXCEPTION_STKSZ - sizeof(long))
		return sbuf_kstack_nmi();
#endif
	return 0;
}

/*
 * Note this CPU's interrupt stack, which @sp lies on if it is not on the task's.  Where stacks are
 * mapped, arm64 allocates and aligns it like a task's: arch_alloc_vmap_stack().  NMIs may have a
 * stack of their own, as with SDEI.
 */
static inline void sbuf_kstack_note_irq(unsigned long sp)
{
	if (IS_ENABLED(CONFIG_ARM64) && IS_ENABLED(CONFIG_VMAP_STACK) && !in_nmi() &&
	    (in_hardirq() || in_serving_softirq()) && !sbuf_kstack_has(sbuf_kstack_task(), sp))
		/* Its first function is called with sp at its end */
		this_cpu_write(sbuf_cpu->irq_stack, (sp - 1) & ~(THREAD_SIZE - 1UL));
}

#ifdef CONFIG_ARM64
/* task_pt_regs() of the task whose stack begins at @stack */
static inline struct pt_regs *sbuf_task_regs(unsigned long stack)
{
	return (struct pt_regs *)(stack + THREAD_SIZE) - 1;
}
#endif

/* Number of the system call that the task is in, if any; the task's stack begins at @stack */
static __always_inline unsigned long sbuf_system_call(unsigned long stack)
{
#ifdef CONFIG_X86_64
	return task_pt_regs(current)->orig_ax;
#else
	return sbuf_task_regs(stack)->syscallno;
#endif
}

#endif /* STACKBUF_KSTACK_H */
