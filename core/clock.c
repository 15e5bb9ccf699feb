// SPDX-License-Identifier: GPL-2.0
/*
 * clock.c - the time of an event: when local_clock() is read, and how fast the cycles pass
 *
 * local_clock() is a linear function of the cycles where they are steady, see native_sched_clock()
 * and the generic sched_clock().  Its coefficients are not exported, and a hypervisor's clock has
 * others, so they are measured, by each CPU: from one reading to the next, SPAN later at least.
 * They are used as long as each agrees with the one before, which that of a clock that jumps does
 * not.
 */
#include <linux/bitops.h>
#include <linux/minmax.h>
#include <linux/preempt.h>
#include <linux/time64.h>

#include "clock.h"

/* ns that cycles stand for the clock */
#define SPAN	NSEC_PER_MSEC
/* Two rates agree if they differ by one part in this many */
#define AGREE	8192

/* Return true if the kernel, too, takes cycles for a clock */
static inline bool cycles_are_steady(void)
{
#ifdef CONFIG_X86_64
	return !check_tsc_unstable();
#elif defined(CONFIG_ARM_ARCH_TIMER_OOL_WORKAROUND)
	return !__this_cpu_read(timer_unstable_counter_workaround);
#else
	return true;
#endif
}

noinline u64 sbuf_clock_read(struct sbuf_clock *clock, u64 before)
{
	u64 now = local_clock(), ns = now - clock->ns, cycles, rate = 0;
	unsigned int shift = max(fls64(ns), 32) - 32;
	bool agree;

	/* Time enough to measure?  Where cycles stood for the clock, it does not go back */
	if (ns < SPAN)
		return before - clock->cycles - clock->span < clock->span / AGREE ?
			clock->ns + SPAN : now;
	/* Not for each event, as it is a trap in some virtual machines */
	cycles = sbuf_cycles();
	/* An NMI, or a breakpoint, changes nothing, as it may have interrupted this */
	if (in_nmi())
		return now;
	if ((s64)(cycles - clock->cycles) >> shift > 0)
		rate = (ns >> shift << 32) / ((cycles - clock->cycles) >> shift);
	/* Never with a rate of 0.  And nothing came between the readings */
	agree = cycles_are_steady() && rate - clock->rate + rate / AGREE < rate / AGREE * 2 &&
		(cycles - before) * rate >> 32 <= SPAN / AGREE;
	/* L7: an NMI that comes in between reads the clock itself */
	WRITE_ONCE(clock->span, 0);
	barrier();
	WRITE_ONCE(clock->ns, now);
	WRITE_ONCE(clock->cycles, cycles);
	WRITE_ONCE(clock->rate, agree ? clock->rate + (s64)(rate - clock->rate) / 8 : rate);
	barrier();
	WRITE_ONCE(clock->span, agree ? (SPAN << 32) / clock->rate : 0);
	return now;
}

NOKPROBE_SYMBOL(sbuf_clock_read);
