/* SPDX-License-Identifier: GPL-2.0 */
/*
 * test_compat.h - differences between kernel versions that concern the test modules
 *
 * Those that concern stackbuf.ko itself are in core/compat.h.
 */
#ifndef STACKBUF_TEST_COMPAT_H
#define STACKBUF_TEST_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/printk.h>
#include <linux/stackdepot.h>
#include <linux/timekeeping.h>
#include <linux/timer.h>
#include <linux/timex.h>
#include <linux/version.h>

/* 9b13df3fb64e ("timers: Rename del_timer_sync() to timer_delete_sync()"), 6.2 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define timer_delete_sync del_timer_sync
#endif

/* 908a1d775422 ("hrtimers: Introduce hrtimer_setup() to replace hrtimer_init()"), 6.13 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}

static inline void hrtimer_setup_on_stack(struct hrtimer *timer,
					  enum hrtimer_restart (*function)(struct hrtimer *),
					  clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init_on_stack(timer, clock, mode);
	timer->function = function;
}
#endif

/*
 * Until 5.16 the stack depot is set up at boot and stack_depot_init() is not exported:
 * 2dba5eb1c73b ("lib/stackdepot: allow optional init and stack_table allocation by
 * kvmalloc()"), 5.17.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 17, 0)
#define stack_depot_init()	0
#endif

/* The last one: fa2c3254d7cf and 9c2136be0878 ("sched/tracing: ..."), 5.18 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 18, 0)
#define SWITCH_ARGUMENTS	bool preempt, struct task_struct *from, struct task_struct *to, \
				unsigned int state
#else
#define SWITCH_ARGUMENTS	bool preempt, struct task_struct *from, struct task_struct *to
#endif

/*
 * Whose handlers take this: cb16330d1274 ("fprobe: Pass return address to the handlers"), 6.6,
 * until 762abbc0d09f ("fprobe: Use ftrace_regs in fprobe exit handler"), 6.14
 */
#if IS_ENABLED(CONFIG_FPROBE) && LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0) && \
	LINUX_VERSION_CODE < KERNEL_VERSION(6, 14, 0)
#include <linux/fprobe.h>
#define TEST_HAVE_FPROBE	1
#else
#define TEST_HAVE_FPROBE	0
#endif

/* As in core/compat.h */
#ifndef printk_cpu_sync_get_irqsave
#define printk_cpu_sync_get_irqsave(flags)	printk_cpu_lock_irqsave(flags)
#define printk_cpu_sync_put_irqrestore(flags)	printk_cpu_unlock_irqrestore(flags)
#endif

/*
 * In a machine that counts instructions (stackbuf-vm -i) one of them is a cycle and a nanosecond.
 * arm64 has no counter of cycles for the kernel; its clock goes in steps of 16 ns.
 */
static inline u64 cost_now(void)
{
	return IS_ENABLED(CONFIG_X86) ? get_cycles() : ktime_get_mono_fast_ns();
}

/* Whether stack_trace_save_tsk() is exported: see core/compat.h */
#define OTHER_TASKS	(LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0))

#endif /* STACKBUF_TEST_COMPAT_H */
