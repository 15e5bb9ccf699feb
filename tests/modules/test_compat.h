/* SPDX-License-Identifier: GPL-2.0 */
/*
 * test_compat.h - differences between kernels that concern the test modules
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

#include "stackbuf_features.h"

/* A task that is not current runs on another CPU, or has not quite left it */
#ifdef CONFIG_SMP
#define TEST_IS_ON_CPU(task)	READ_ONCE((task)->on_cpu)
#else
#define TEST_IS_ON_CPU(task)	false
#endif

#if !SBUF_HAS_TIMER_DELETE_SYNC
#define timer_delete_sync del_timer_sync
#endif

#if !SBUF_HAS_HRTIMER_SETUP
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

/* The stack depot is set up at boot until something has to ask for it */
#if !SBUF_HAS_DEPOT_INIT
#define stack_depot_init()	0
#endif

#if IS_ENABLED(CONFIG_FPROBE) && SBUF_HAS_FPROBE_RET_IP
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

#endif /* STACKBUF_TEST_COMPAT_H */
