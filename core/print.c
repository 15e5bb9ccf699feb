// SPDX-License-Identifier: GPL-2.0
/*
 * print.c - stacks in the kernel log, and traces that the caller owns
 *
 * Each line is a printk record of its own, as a record holds about 1,000 bytes.  printk's CPU
 * lock keeps the lines of a stack together, unless it cannot be acquired in time.
 *
 * Lines are printed with LOGLEVEL_SCHED, like printk_deferred(): stored at once, brought to the
 * consoles later.  So printing takes no lock of the scheduler or of a console, whatever the
 * caller holds, and does not keep interrupts off for as long as a serial line takes.
 */
#include <linux/delay.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/preempt.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "unwind.h"

__printf(1, 2) void sbuf_printk(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vprintk_emit(0, LOGLEVEL_SCHED, NULL, fmt, args);
	va_end(args);
}

/* How long to wait for lines of another CPU: enough for a dump_stack() to a slow serial console */
#define LINES_WAIT_US	100000

/*
 * Acquire printk's CPU lock and disable interrupts.  Give up after a while: the lock's owner may
 * wait for a lock that our caller holds (a runqueue's, if one of the owner's consoles wakes a
 * task), or be a CPU that an oops or a panic has stopped.  Then other CPUs' lines between ours
 * are the lesser evil; lib/dump_stack.c, too, does without the lock in a panic.  Interrupts stay
 * as the caller has them while this waits.
 */
static bool lock_lines(unsigned long *flags)
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

static void unlock_lines(unsigned long flags)
{
	__printk_cpu_sync_put();
	local_irq_restore(flags);
}

static bool may_print(void)
{
	if (likely(!in_nmi()))
		return true;
	sbuf_count(STACKBUF_LOST_PRINT);
	return false;
}

/* Print a trace, below a line with the length of its text if @headed */
static void print_trace(const struct stackbuf_trace *trace, bool headed)
{
	unsigned int bytes = 0, i;
	unsigned long flags;
	bool locked;

	/* Before interrupts are disabled: looking up symbols of large modules is slow */
	if (headed)
		bytes = stackbuf_trace_snprint(NULL, 0, trace, STACKBUF_TRACE_LONG);
	locked = lock_lines(&flags);
	if (headed)
		sbuf_printk(KERN_INFO "Stack trace(%u):\n", bytes);
	for (i = 0; i < trace->depth; i++)
		sbuf_printk(KERN_INFO " %pS\n", (void *)trace->pc[i]);
	if (trace->cut)
		sbuf_printk(KERN_INFO " (cut at %u frames)\n", trace->depth);
	if (locked)
		unlock_lines(flags);
}

/* Inlined into exported functions, each of which is the one frame that is left out */
static __always_inline void take_trace(struct stackbuf_trace *trace)
{
	unsigned long pc[1];

	trace->depth = stack_trace_save(trace->pc, ARRAY_SIZE(trace->pc), 1);
	trace->cut = trace->depth == ARRAY_SIZE(trace->pc) &&
		stack_trace_save(pc, 1, 1 + trace->depth);
}

noinline void stackbuf_print(void)
{
	struct stackbuf_trace trace;

	if (!may_print())
		return;
	take_trace(&trace);
	print_trace(&trace, true);
}
EXPORT_SYMBOL_GPL(stackbuf_print);

/*
 * A place in the table has each id only once, until the ids have come round, and its id is cleared
 * before it is freed.  So if the id is there before and after reading, what was read is the stack
 * of this id.  The hash rules out data in the middle of another stack that looks like the id.
 */
bool sbuf_table_trace(struct stackbuf_trace *trace, u32 id, u8 *flags)
{
	u32 granule = sbuf_id_granule(id);
	struct stackbuf_stack *stack;
	unsigned int words;

	if (!id || granule >= SBUF_GRANULES || granule % SBUF_PAGE_GRANULES == 0)
		return false;

	stack = sbuf_table_at(granule);
	/* Pairs with the smp_wmb() in sbuf_table_get(): with its id the stack is complete */
	if (smp_load_acquire(&stack->id) != id)
		return false;
	words = min_t(unsigned int, READ_ONCE(stack->words), 3 * STACKBUF_DEPTH_MAX);
	*flags = READ_ONCE(stack->flags);
	trace->cut = *flags & STACKBUF_STACK_CUT;
	/* Racy: the place may have been reused.  The id is checked again below */
	trace->depth = data_race(sbuf_trace_decode(trace->pc, stack->frames, words));
	/* Racy, see above */
	if (data_race(stackbuf_hash(stack->frames, words, trace->cut) != stack->hash))
		return false;
	/* The stack is read before the id is read again */
	smp_rmb();
	return READ_ONCE(stack->id) == id;
}

void stackbuf_print_id(u32 id)
{
	struct stackbuf_trace trace;
	u8 flags;

	if (!may_print())
		return;
	if (!sbuf_table_trace(&trace, id, &flags)) {
		sbuf_printk(KERN_INFO "stackbuf: stack %u is not in the table\n", id);
	} else if (flags & STACKBUF_STACK_AGAIN) {
		sbuf_count(STACKBUF_LOST_PRINT);
		sbuf_printk(KERN_INFO "stackbuf: stack %u is not printed: an older stack may have had this id\n",
			    id);
	} else {
		print_trace(&trace, true);
	}
}
EXPORT_SYMBOL_GPL(stackbuf_print_id);

/* ----------------- traces that the caller owns, after FreeBSD's stack(9) --- */

struct stackbuf_trace *stackbuf_trace_create(gfp_t gfp)
{
	return kzalloc(sizeof(struct stackbuf_trace), gfp);
}
EXPORT_SYMBOL_GPL(stackbuf_trace_create);

void stackbuf_trace_destroy(struct stackbuf_trace *trace)
{
	kfree(trace);
}
EXPORT_SYMBOL_GPL(stackbuf_trace_destroy);

noinline void stackbuf_trace_save(struct stackbuf_trace *trace)
{
	take_trace(trace);
}
EXPORT_SYMBOL_GPL(stackbuf_trace_save);

noinline int stackbuf_trace_save_task(struct stackbuf_trace *trace, struct task_struct *task)
{
	unsigned long pc[STACKBUF_DEPTH_MAX + 1];
	int nr;

	stackbuf_trace_zero(trace);
	if (task == current) {
		take_trace(trace);
		return 0;
	}
	nr = sbuf_unwind_task(pc, ARRAY_SIZE(pc), task);
	if (nr < 0)
		return nr;
	trace->cut = nr > STACKBUF_DEPTH_MAX;
	trace->depth = min(nr, STACKBUF_DEPTH_MAX);
	memcpy(trace->pc, pc, trace->depth * sizeof(pc[0]));
	return 0;
}
EXPORT_SYMBOL_GPL(stackbuf_trace_save_task);

void stackbuf_trace_print(const struct stackbuf_trace *trace)
{
	if (may_print())
		print_trace(trace, false);
}
EXPORT_SYMBOL_GPL(stackbuf_trace_print);

void stackbuf_trace_print_short(const struct stackbuf_trace *trace)
{
	/* The limit of a printk record, less its time stamp and the like */
	const int room = 900;
	unsigned long flags;
	unsigned int i;
	int len = 0;
	bool locked;

	if (!may_print())
		return;
	locked = lock_lines(&flags);
	for (i = 0; i < trace->depth; i++) {
		int n = snprintf(NULL, 0, "%pS ", (void *)trace->pc[i]);

		if (len && len + n > room)
			len = 0;
		sbuf_printk("%s%pS", len ? KERN_CONT " " : KERN_INFO, (void *)trace->pc[i]);
		len += n;
	}
	if (len)
		sbuf_printk(KERN_CONT "\n");
	if (locked)
		unlock_lines(flags);
}
EXPORT_SYMBOL_GPL(stackbuf_trace_print_short);

int stackbuf_trace_snprint(char *buf, size_t size, const struct stackbuf_trace *trace,
			   enum stackbuf_trace_style style)
{
	size_t len = 0;
	unsigned int i;

	if (size)
		buf[0] = '\0';
	for (i = 0; i < trace->depth; i++) {
		size_t room = len < size ? size - len : 0;

		if (style == STACKBUF_TRACE_COMPACT)
			len += snprintf(room ? buf + len : NULL, room, "%s%pS", i ? " " : "",
					(void *)trace->pc[i]);
		else
			len += snprintf(room ? buf + len : NULL, room, "%pS\n",
					(void *)trace->pc[i]);
	}
	return len;
}
EXPORT_SYMBOL_GPL(stackbuf_trace_snprint);
