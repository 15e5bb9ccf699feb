// SPDX-License-Identifier: GPL-2.0
/*
 * request.c - workers that do what an event needs but cannot do itself
 *
 * An event may be recorded in any context, so it queues an irq_work, which starts a worker.
 *
 * An irq_work stays pending until its CPU runs it, and irq_work_sync() waits for that.  A CPU that
 * goes offline clears its bit in cpu_online_mask (__cpu_disable()) and then runs its irq_works a
 * last time (smpcfd_dying_cpu()), both with interrupts off in take_cpu_down().  So an irq_work
 * that is queued with preemption disabled on a CPU whose bit is set does run, even if an NMI queues
 * it.  One queued later would stay pending until the CPU is online again, and probes are hit that
 * late.  There the request is only noted; the next request or walk on an online CPU passes it on.
 *
 * The irq_work is a hard one: PREEMPT_RT runs others in a thread of each CPU, which
 * is parked before the CPU goes offline.
 */
#include <linux/bitops.h>
#include <linux/cpumask.h>
#include <linux/irq_work.h>
#include <linux/preempt.h>
#include <linux/smp.h>

#include "internal.h"

static atomic_t sb_requested;
struct work_struct sb_work[SB_REQUESTS];

static void sb_start_work(struct irq_work *work)
{
	/* It is no longer pending: for a bit that is set from here on it is queued again */
	unsigned long requested = atomic_xchg(&sb_requested, 0);
	unsigned int i;

	for_each_set_bit(i, &requested, SB_REQUESTS)
		schedule_work(&sb_work[i]);
}

static struct irq_work sb_irq_work = IRQ_WORK_INIT_HARD(sb_start_work);

static void sb_pass_requests(void)
{
	preempt_disable_notrace();
	if (likely(cpu_online(raw_smp_processor_id())))
		irq_work_queue(&sb_irq_work);
	preempt_enable_notrace();
}

void sb_request(enum sb_worker what)
{
	/*
	 * Not while the worker is queued but has not started: with a probe on a function that
	 * sb_start_work() calls (queue_work_on()), or that an interrupt calls when it ends, each
	 * request would cause the next, and this CPU would run nothing else, not even the worker.
	 */
	if (work_pending(&sb_work[what]))
		return;
	/* irq_work_queue() has a full barrier before it checks whether the work is pending */
	atomic_or(BIT(what), &sb_requested);
	sb_pass_requests();
}

void sb_pass_late_requests(void)
{
	if (unlikely(atomic_read(&sb_requested)))
		sb_pass_requests();
}

void sb_exit_requests(void)
{
	unsigned int i;

	irq_work_sync(&sb_irq_work);
	for (i = 0; i < SB_REQUESTS; i++)
		if (sb_work[i].func)
			cancel_work_sync(&sb_work[i]);
}
