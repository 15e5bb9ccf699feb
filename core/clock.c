// SPDX-License-Identifier: GPL-2.0
/*
 * clock.c - the time of an event: reads local_clock() and measures the rate of cycles
 *
 * Where cycles are steady, local_clock() is a linear function of them, see native_sched_clock() and
 * the generic sched_clock().  Its coefficients are not exported, and a hypervisor's clock has
 * others, so each CPU measures the rate between two readings at least SPAN apart.  A CPU uses the
 * rate while each measurement agrees with the previous one; if the clock jumps, they disagree.
 */
#include <linux/bitops.h>
#include <linux/minmax.h>
#include <linux/preempt.h>
#include <linux/time64.h>

#include "clock.h"

/* ns for which cycles replace the clock after a reading */
#define SPAN	NSEC_PER_MSEC
/* Two rates agree if they differ by less than 1 / AGREE of the rate */
#define AGREE	8192

/* Return true if the kernel, too, uses cycles as a clock */
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

	/* Too soon to measure.  Just after the span, do not return less than the cycles gave */
	if (ns < SPAN)
		return before - clock->cycles - clock->span < clock->span / AGREE ?
			clock->ns + SPAN : now;
	/* Read again here, not for each event: it traps in some virtual machines */
	cycles = sbuf_cycles();
	/* An NMI, or a breakpoint on x86, may have interrupted this function: change nothing */
	if (in_nmi())
		return now;
	if ((s64)(cycles - clock->cycles) >> shift > 0)
		rate = (ns >> shift << 32) / ((cycles - clock->cycles) >> shift);
	/* A rate of 0 never agrees.  The last term: nothing interrupted the two readings */
	agree = cycles_are_steady() && rate - clock->rate + rate / AGREE < rate / AGREE * 2 &&
		(cycles - before) * rate >> 32 <= SPAN / AGREE;
	/* L7: an NMI in between reads the clock itself */
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
