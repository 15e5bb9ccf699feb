// SPDX-License-Identifier: GPL-2.0
/*
 * worker.c - workers for work that an event cannot do itself
 *
 * An event may be recorded in any context, so it queues an irq_work, which starts a worker.
 *
 * An irq_work stays pending until its CPU runs it, and irq_work_sync() waits for that.  A CPU that
 * is taken offline clears its bit in cpu_online_mask (__cpu_disable()) and then runs its irq_works
 * one last time (smpcfd_dying_cpu()), both with interrupts off in take_cpu_down().  So an irq_work
 * that is queued with preemption disabled on a CPU whose bit is set does run, even if an NMI queues
 * it.  If it is queued later, it stays pending until the CPU is online again, and probes can be hit
 * that late.  There the request is only noted; the next request or walk on an online CPU passes it
 * on.
 *
 * The irq_work is a hard one: PREEMPT_RT runs other irq_works in a per-CPU thread, which is parked
 * before the CPU is taken offline.  Texts are not urgent, so without PREEMPT_RT their irq_work is a
 * lazy one, unless the CPU may stop its tick: it waits for the next tick, so that the event of a
 * new stack costs no interrupt.  A CPU that is taken offline runs both kinds (irq_work_run()).
 */
#include <linux/bitops.h>
#include <linux/cpumask.h>
#include <linux/irq_work.h>
#include <linux/kernel.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/tick.h>

#include "arch.h"
#include "compat.h"
#include "worker.h"

static atomic_t requested_workers;
struct work_struct sbuf_worker[SBUF_WORKERS] = {
#define WORKER(which, function)	\
	[SBUF_WORKER_##which] = __WORK_INITIALIZER(sbuf_worker[SBUF_WORKER_##which], function)
	WORKER(TEXT, sbuf_text_flush),
	WORKER(EVICT, sbuf_evict_stacks),
	WORKER(SHARE, sbuf_ring_share_pages),
#if SBUF_HAVE_ORC
	WORKER(RECYCLE, sbuf_cache_recycle_half),
#endif
	WORKER(REPORT, sbuf_recall_report),
};

static void start_workers(struct irq_work *work)
{
	/* Q1: the irq_work is no longer pending: a bit that is set from here on queues it again */
	unsigned long requested = atomic_xchg(&requested_workers, 0);
	unsigned int i;

	for_each_set_bit(i, &requested, SBUF_WORKERS)
		queue_work(sbuf_unbound_wq, &sbuf_worker[i]);
}

static struct irq_work start_now = IRQ_WORK_INIT_HARD(start_workers);
static struct irq_work start_soon =
	__IRQ_WORK_INIT(start_workers,
			IS_ENABLED(CONFIG_PREEMPT_RT) ? IRQ_WORK_HARD_IRQ : IRQ_WORK_LAZY);

/*
 * Until init runs, interrupts and workqueues are not all available: a request is only noted, as on
 * an offline CPU.
 */
static inline bool is_booting(void)
{
	return SBUF_BUILT_IN && unlikely(READ_ONCE(system_state) == SYSTEM_BOOTING);
}

/* A CPU may stop its tick after it has looked for lazy irq_works, and then keep one for long */
static bool may_stop_tick(unsigned int cpu)
{
	return is_idle_task(current) || tick_nohz_full_cpu(cpu);
}

static void pass_requests(bool soon)
{
	unsigned int cpu;

	preempt_disable_notrace();
	cpu = raw_smp_processor_id();
	if (likely(cpu_online(cpu)) && !is_booting())
		irq_work_queue(soon && !may_stop_tick(cpu) ? &start_soon : &start_now);
	preempt_enable_notrace();
}

void sbuf_worker_request(enum sbuf_worker what)
{
	/*
	 * Make no request while the worker is queued but has not started.  With a probe on a
	 * function that start_workers() calls (queue_work_on()), or that an interrupt calls when it
	 * ends, each request would cause the next, and this CPU would run nothing else, not even
	 * the worker.
	 */
	smp_mb();	/* Q1: a worker that starts now sees the work to do */
	if (work_pending(&sbuf_worker[what]))
		return;
	/* irq_work_queue() has a full barrier before it checks whether the work is pending */
	atomic_or(BIT(what), &requested_workers);
	pass_requests(what == SBUF_WORKER_TEXT);
}

void sbuf_worker_resubmit(void)
{
	if (unlikely(atomic_read(&requested_workers)))
		pass_requests(true);
}

void sbuf_worker_exit(void)
{
	unsigned int i;

	irq_work_sync(&start_now);
	irq_work_sync(&start_soon);
	for (i = 0; i < SBUF_WORKERS; i++)
		if (sbuf_worker[i].func)
			cancel_work_sync(&sbuf_worker[i]);
}
