// SPDX-License-Identifier: GPL-2.0
/*
 * print.c - stacks in the kernel log
 *
 * Each line is a separate printk record, because a record holds only about 1,000 bytes.  printk's
 * CPU lock keeps the lines of a stack together, unless it cannot be acquired in time.
 *
 * Lines are printed with LOGLEVEL_SCHED, like printk_deferred(): they are stored at once and reach
 * the consoles later.  So printing takes no scheduler or console lock, which the caller may hold,
 * and does not keep interrupts off for as long as a serial console takes.
 */
#include <linux/delay.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/preempt.h>

#include "memory.h"
#include "print.h"
#include "table.h"

__printf(1, 2) void sbuf_printk(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vprintk_emit(0, LOGLEVEL_SCHED, NULL, fmt, args);
	va_end(args);
}

/*
 * How long to wait while another CPU prints: enough for a dump_stack() to a slow serial console.
 * Tests on a host that may stop that CPU wait longer.
 */
#ifndef LINES_WAIT_US
#define LINES_WAIT_US	100000
#endif

/*
 * Acquire printk's CPU lock and disable interrupts.  Give up after LINES_WAIT_US: the owner may be
 * waiting for a lock that our caller holds (a runqueue lock, if one of the owner's consoles wakes a
 * task), or may be a CPU that an oops or a panic has stopped.  Interleaved lines are then the
 * lesser evil; lib/dump_stack.c does not take the lock in a panic either.  While this waits,
 * interrupts stay as the caller left them.
 */
bool sbuf_lock_lines(unsigned long *flags)
{
	unsigned int us;

	for (us = 0; us < LINES_WAIT_US && !READ_ONCE(oops_in_progress); us++) {
		local_irq_save(*flags);
		if (__printk_cpu_sync_try_get())
			return true;
		local_irq_restore(*flags);
		udelay(1);
	}
	return false;
}

void sbuf_unlock_lines(unsigned long flags)
{
	__printk_cpu_sync_put();
	local_irq_restore(flags);
}

bool sbuf_may_print(void)
{
	if (likely(!in_nmi()))
		return true;
	sbuf_count(STACKBUF_LOST_PRINT);
	return false;
}

void sbuf_print_trace(const struct stackbuf_trace *trace, bool headed)
{
	unsigned int bytes = 0, i;
	unsigned long flags;
	bool locked;

	/*
	 * Not yet with interrupts off: looking up symbols of large modules takes long.  Each line
	 * does so once more, as in dump_stack()
	 */
	if (headed)
		bytes = stackbuf_trace_snprint(NULL, 0, trace, STACKBUF_TRACE_LONG);
	locked = sbuf_lock_lines(&flags);
	if (headed)
		sbuf_printk(KERN_INFO "Stack trace(%u):\n", bytes);
	for (i = 0; i < trace->depth; i++)
		sbuf_printk(KERN_INFO " %pS\n", (void *)trace->pc[i]);
	if (trace->cut)
		sbuf_printk(KERN_INFO " (cut at %u frames)\n", trace->depth);
	if (locked)
		sbuf_unlock_lines(flags);
}

noinline void stackbuf_print(void)
{
	struct stackbuf_trace trace;

	if (!sbuf_may_print())
		return;
	sbuf_take_trace(&trace);
	sbuf_print_trace(&trace, true);
}
EXPORT_SYMBOL_GPL(stackbuf_print);

void stackbuf_print_id(u32 id)
{
	struct stackbuf_trace trace;
	u8 flags;

	if (!sbuf_may_print())
		return;
	if (!sbuf_table_trace(&trace, id, &flags)) {
		sbuf_printk(KERN_INFO "stackbuf: stack %u is not in the table\n", id);
	} else if (flags & STACKBUF_STACK_AGAIN) {
		sbuf_count(STACKBUF_LOST_PRINT);
		sbuf_printk(KERN_INFO "stackbuf: stack %u is not printed: an older stack may have had this id\n",
			    id);
	} else {
		sbuf_print_trace(&trace, true);
	}
}
EXPORT_SYMBOL_GPL(stackbuf_print_id);
