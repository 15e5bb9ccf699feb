/* SPDX-License-Identifier: GPL-2.0 */
/*
 * clock.h - the time of an event: printk's clock, extrapolated by the cycle counter
 */
#ifndef STACKBUF_CLOCK_H
#define STACKBUF_CLOCK_H

#include <linux/irqflags.h>
#include <linux/timex.h>

#include "memory.h"

static __always_inline u64 sbuf_cycles(void)
{
#ifdef CONFIG_ARM64
	/* As arch_timer_read_counter() for steady counters, but unordered with later code */
	isb();
	return read_sysreg(cntvct_el0);
#else
	return get_cycles();
#endif
}

/* Slow path of sbuf_event_now(): read local_clock().  @before is what sbuf_cycles() returned */
u64 sbuf_clock_read(struct sbuf_clock *clock, u64 before);

/*
 * Return the time of an event in ns.  @cpu is this CPU; interrupts are off.  It takes a third of
 * local_clock()'s instructions and differs from it by a few ns, at most 300; by up to 1 ms while an
 * arm64 machine suspends, where local_clock() stands still and cycles do not.  It never goes back
 * by more than that, unless local_clock() does.
 */
static __always_inline u64 sbuf_event_now(struct sbuf_cpu *cpu)
{
	struct sbuf_clock *clock = &cpu->clock;
	u64 cycles = sbuf_cycles(), passed = cycles - READ_ONCE(clock->cycles);

	/* An NMI in between changes nothing */
	if (likely(passed < READ_ONCE(clock->span)))
		return READ_ONCE(clock->ns) + (passed * READ_ONCE(clock->rate) >> 32);
	return sbuf_clock_read(clock, cycles);
}

/* sbuf_event_now() of this CPU; preemption is disabled */
static inline u64 sbuf_pair_now(void)
{
	unsigned long flags;
	u64 now;

	raw_local_irq_save(flags);
	now = sbuf_event_now(this_cpu_ptr(sbuf_cpu));
	raw_local_irq_restore(flags);
	return now;
}

#endif /* STACKBUF_CLOCK_H */
