/* SPDX-License-Identifier: GPL-2.0 */
/*
 * clock.h - the time of an event: printk's clock, by the counter of cycles since it was last read
 */
#ifndef STACKBUF_CLOCK_H
#define STACKBUF_CLOCK_H

#include <linux/irqflags.h>
#include <linux/timex.h>

#include "memory.h"

static __always_inline u64 sbuf_cycles(void)
{
#ifdef CONFIG_ARM64
	/* As arch_timer_read_counter() for steady counters; what follows may be done before */
	isb();
	return read_sysreg(cntvct_el0);
#else
	return get_cycles();
#endif
}

/* sbuf_event_now() where local_clock() is to be read, after @before by sbuf_cycles() */
u64 sbuf_clock_read(struct sbuf_clock *clock, u64 before);

/*
 * Time of an event on @cpu, which is this CPU, with interrupts off; in ns.  It takes a third of
 * local_clock()'s instructions and differs from it by some ns, at most 300; it never goes back
 * where that does not.
 */
static __always_inline u64 sbuf_event_now(struct sbuf_cpu *cpu)
{
	struct sbuf_clock *clock = &cpu->clock;
	u64 cycles = sbuf_cycles(), passed = cycles - READ_ONCE(clock->cycles);

	/* An NMI may come in between, but changes nothing */
	if (likely(passed < READ_ONCE(clock->span)))
		return READ_ONCE(clock->ns) + (passed * READ_ONCE(clock->rate) >> 32);
	return sbuf_clock_read(clock, cycles);
}

/* The same on this CPU, with preemption disabled */
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
