// SPDX-License-Identifier: GPL-2.0
/*
 * request.c - what an event needs done, but cannot do itself
 *
 * An event may be recorded in any context, so it asks an irq_work, which starts a
 * worker.
 *
 * An irq_work stays pending until its CPU runs it, and irq_work_sync() waits for
 * that.  A CPU that goes offline clears its bit in cpu_online_mask (__cpu_disable())
 * and then runs its irq_works a last time (smpcfd_dying_cpu()), both with interrupts
 * off in take_cpu_down().  So an irq_work that is queued with preemption disabled on
 * a CPU whose bit is set does run: also one that an NMI queues.  One queued later
 * would stay pending until the CPU returns; probes are hit that late.  There the
 * request is only noted, and the next request or walk on an online CPU passes it on.
 *
 * The irq_work is a hard one: PREEMPT_RT runs others in a thread of each CPU, which
 * is parked before the CPU goes offline.
 */

static atomic_t sb_requested;
struct work_struct sb_work[SB_REQUESTS];

static void sb_start_work(struct irq_work *work)
{
	/* Not pending any more: a bit that is set from here on comes with another call */
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
	 * Not while it is queued and has yet to start: with a probe on what sb_start_work()
	 * calls (queue_work_on()), or on the way out of an interrupt, each request would lead to
	 * the next, and this CPU would run nothing else, the worker included.
	 */
	if (work_pending(&sb_work[what]))
		return;
	/* A full barrier follows in irq_work_queue(), before it looks whether it is pending */
	atomic_or(BIT(what), &sb_requested);
	sb_pass_requests();
}

/* Pass on what a CPU asked for that was going offline */
void sb_pass_late_requests(void)
{
	if (unlikely(atomic_read(&sb_requested)))
		sb_pass_requests();
}

/* After the last save: nothing is requested any more */
void sb_exit_requests(void)
{
	unsigned int i;

	irq_work_sync(&sb_irq_work);
	for (i = 0; i < SB_REQUESTS; i++)
		if (sb_work[i].func)
			cancel_work_sync(&sb_work[i]);
}
