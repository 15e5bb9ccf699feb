// SPDX-License-Identifier: GPL-2.0
/*
 * stackbuf_many - saves from a module with 20,000 symbols
 *
 *	echo "KIND ROUNDS" >/sys/module/stackbuf_many/parameters/run
 *
 * Kinds:
 *
 *	save	ROUNDS saves below seventeen frames of this module, alternating between
 *		two call sites
 *	probe	ROUNDS calls of many_probed() at that depth, for a probe
 *	full	2^ROUNDS distinct stacks with preemption off, so that no worker can evict
 *	stack	one save below ROUNDS frames; "stack" then holds the bytes of the stack
 *		that it used
 *
 * Reading "walk" gives the cost of stack_trace_save() at the same depth.
 *
 * With the parameter naps a thread of the highest priority sleeps again and again; "late_ns", which
 * may be set to 0, is the latest that it woke.
 */
#include <linux/hrtimer.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/stacktrace.h>
#include <linux/stringify.h>
#include <linux/timex.h>
#include "../stackbuf.h"

/* stackbuf_few.c sets this to 1 */
#ifndef MANY_SYMBOLS
#define MANY_SYMBOLS	20000
#endif

/* One byte each, before all functions; kallsyms searches them one by one */
asm(".pushsection .text\n"
	".macro many_symbol\n"
	"many_symbol_\\@: nop\n"
	".endm\n"
	".rept " __stringify(MANY_SYMBOLS) "\n"
	"many_symbol\n"
	".endr\n"
	".popsection\n");

static unsigned long frames[STACKBUF_DEPTH_MAX];
static unsigned long walk;
module_param(walk, ulong, 0400);
static unsigned long stack;
module_param(stack, ulong, 0400);
static unsigned long stack_most = STACKBUF_STACK_BYTES;
module_param(stack_most, ulong, 0400);

static noinline void many_walk(void)
{
	cycles_t start = get_cycles();

	stack_trace_save(frames, ARRAY_SIZE(frames), 0);
	walk = get_cycles() - start;
}

static noinline void many_save(int n)
{
	many_walk();
	for (; n > 0; n--) {
		stackbuf_save();
		barrier();
		if (--n > 0)
			stackbuf_save();
		barrier();
	}
}

static noinline void many_probed(int n)
{
	/* An unused argument would get the function another name, as many_probed.isra.0 */
	asm volatile("" : : "r" (n));
}

/* Puts a stack address into r13, where functions often keep the address of a local variable */
static noinline void many_probe(int n)
{
	many_walk();
	for (; n > 0; n--) {
#ifdef CONFIG_X86_64
		asm volatile("mov %%rsp, %%r13" : : : "r13", "memory");
#endif
		many_probed(n);
	}
}

#define MANY_PATTERN	0xa5a5a5a5a5a5a5a5UL
/* More than a save may use */
#define MANY_BELOW	(THREAD_SIZE / 2)

/* With interrupts off, only the save uses the stack below the stack pointer */
static noinline __no_sanitize_address __no_kcsan void many_stack(int n)
{
	unsigned long flags, sp = current_stack_pointer, low = sp - MANY_BELOW, at;

	if (low < (unsigned long)task_stack_page(current) + 512)
		return;
	raw_local_irq_save(flags);
	for (at = low; at < sp; at += sizeof(long))
		WRITE_ONCE(*(unsigned long *)at, MANY_PATTERN);
	stackbuf_save();
	for (at = low; at < sp && READ_ONCE(*(unsigned long *)at) == MANY_PATTERN;)
		at += sizeof(long);
	raw_local_irq_restore(flags);
	stack = sp - at;
}

/* The barrier() prevents a tail call, so each level has a frame */
static noinline void many_deeper(int more, void (*run)(int n), int n)
{
	if (more > 0)
		many_deeper(more - 1, run, n);
	else
		run(n);
	barrier();
}

static noinline void many_full(int n)
{
	if (n > 0) {
		many_full(n - 1);
		barrier();
		many_full(n - 1);
	} else {
		if (!walk)
			many_walk();
		stackbuf_save();
	}
	barrier();
}

static int many_set(const char *value, const struct kernel_param *param)
{
	char kind[8];
	int n;

	if (sscanf(value, "%7s %d", kind, &n) != 2)
		return -EINVAL;
	if (!strcmp(kind, "save")) {
		many_deeper(15, many_save, n);
	} else if (!strcmp(kind, "probe")) {
		many_deeper(15, many_probe, n);
	} else if (!strcmp(kind, "stack")) {
		many_deeper(n, many_stack, 0);
	} else if (!strcmp(kind, "full")) {
		walk = 0;
		preempt_disable();
		many_full(n);
		preempt_enable();
	} else {
		return -EINVAL;
	}
	return 0;
}

static const struct kernel_param_ops many_ops = {
	.set = many_set,
};
module_param_cb(run, &many_ops, NULL, 0200);

static bool naps;
module_param(naps, bool, 0400);
static ulong late_ns;
module_param(late_ns, ulong, 0600);
static struct task_struct *sleeper;

static int take_naps(void *unused)
{
	sched_set_fifo(current);
	while (!kthread_should_stop()) {
		ktime_t until = ktime_add_ns(ktime_get(), 50 * NSEC_PER_USEC);
		s64 late;

		set_current_state(TASK_UNINTERRUPTIBLE);
		schedule_hrtimeout(&until, HRTIMER_MODE_ABS);
		late = ktime_sub(ktime_get(), until);
		if (late > (s64)READ_ONCE(late_ns))
			WRITE_ONCE(late_ns, late);
	}
	return 0;
}

static int __init many_init(void)
{
	if (naps)
		sleeper = kthread_run(take_naps, NULL, "sbtest/sleeper");
	return PTR_ERR_OR_ZERO(sleeper);
}
module_init(many_init);

static void __exit many_exit(void)
{
	if (sleeper)
		kthread_stop(sleeper);
}
module_exit(many_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Saves from a module with many symbols");
