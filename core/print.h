/* SPDX-License-Identifier: GPL-2.0 */
/*
 * print.h - stacks in the kernel log
 */
#ifndef STACKBUF_PRINT_H
#define STACKBUF_PRINT_H

#include "unwind.h"

/* Print a line to the kernel log.  The caller may hold any lock, but must not be in an NMI */
__printf(1, 2) void sbuf_printk(const char *fmt, ...);

/* Return true if this context may print; count the lost print if not */
bool sbuf_may_print(void);
/* Print a trace; if @headed, after a line that gives the length of its text */
void sbuf_print_trace(const struct stackbuf_trace *trace, bool headed);
/*
 * Keep other CPUs' lines out and disable interrupts.  Return false if that took too long; if it
 * returns true, call sbuf_unlock_lines() afterwards.
 */
bool sbuf_lock_lines(unsigned long *flags);
void sbuf_unlock_lines(unsigned long flags);

/* Inlined into exported functions: it has to leave out only the exported function's frame */
static __always_inline void sbuf_take_trace(struct stackbuf_trace *trace)
{
	unsigned long pc[1];

	trace->depth = stack_trace_save(trace->pc, ARRAY_SIZE(trace->pc), 1);
	trace->cut = trace->depth == ARRAY_SIZE(trace->pc) &&
		stack_trace_save(pc, 1, 1 + trace->depth);
	/* Before 5.16 ORC finds no frame beyond the trampoline of a kretprobe */
	if (!SBUF_HAVE_RESOLVED_WALKS && trace->depth &&
	    sbuf_is_trampoline(trace->pc[trace->depth - 1]))
		trace->cut = true;
}

#endif /* STACKBUF_PRINT_H */
