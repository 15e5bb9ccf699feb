// SPDX-License-Identifier: GPL-2.0
/*
 * stackbuf_wide.ko - 20,000 functions for kallsyms to search, and a thread of the highest
 * priority that records how late it wakes
 */
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/sched.h>

asm(".text\n"
	".altmacro\n"
	".macro wide n\n"
	"wide_\\n:\n"
	"	nop\n"
	".endm\n"
	".set i, 0\n"
	".rept 20000\n"
	"	wide %i\n"
	"	.set i, i + 1\n"
	".endr\n"
	".noaltmacro\n");

#define NAP_NS	(50 * NSEC_PER_USEC)

static ulong late_ns;
module_param(late_ns, ulong, 0600);
MODULE_PARM_DESC(late_ns, "The latest that it woke; may be set to 0");

static struct task_struct *sleeper;

static int take_naps(void *unused)
{
	sched_set_fifo(current);
	while (!kthread_should_stop()) {
		ktime_t until = ktime_add_ns(ktime_get(), NAP_NS);
		s64 late;

		set_current_state(TASK_UNINTERRUPTIBLE);
		schedule_hrtimeout(&until, HRTIMER_MODE_ABS);
		late = ktime_sub(ktime_get(), until);
		if (late > (s64)READ_ONCE(late_ns))
			WRITE_ONCE(late_ns, late);
	}
	return 0;
}

static int __init stackbuf_wide_init(void)
{
	sleeper = kthread_run(take_naps, NULL, "sbtest/sleeper");
	return PTR_ERR_OR_ZERO(sleeper);
}
module_init(stackbuf_wide_init);

static void __exit stackbuf_wide_exit(void)
{
	kthread_stop(sleeper);
}
module_exit(stackbuf_wide_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A module of many functions, for the tests of stackbuf");
