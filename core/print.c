// SPDX-License-Identifier: GPL-2.0
/*
 * print.c - stacks in the kernel log, and traces that the caller owns
 *
 * Every line is a printk record of its own, as a record holds about 1,000
 * bytes, and printk's CPU lock keeps the lines together, if it can be had in time.
 *
 * Lines go out by LOGLEVEL_SCHED, which is what printk_deferred() does: stored
 * at once, brought to the consoles a little later.  So printing takes no lock
 * of the scheduler's or a console's, whatever the caller holds, and interrupts
 * do not stay off for as long as a serial line needs.
 */

/* Frames of stackbuf itself: sb_take_trace() and the exported function */
#define SB_OWN_TRACE_FRAMES	2

__printf(1, 2) void sb_printk(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vprintk_emit(0, LOGLEVEL_SCHED, NULL, fmt, args);
	va_end(args);
}

/* How long to wait for lines of another CPU: a dump_stack() to a slow serial console fits */
#define SB_LINES_WAIT_US	100000

/*
 * Get printk's CPU lock.  Its owner may wait for what our caller holds (a runqueue's lock, if
 * a console of its wakes a task), or be a CPU that was stopped in an oops or a panic.  Then
 * lines of others between ours are the lesser evil; lib/dump_stack.c does the same in a panic.
 * Interrupts are as the caller has them while this waits.
 */
static bool sb_lock_lines(unsigned long *flags)
{
	unsigned int us;

	for (us = 0; us < SB_LINES_WAIT_US && !READ_ONCE(oops_in_progress); us++) {
		local_irq_save(*flags);
		if (__printk_cpu_sync_try_get())
			return true;
		local_irq_restore(*flags);
		udelay(1);
	}
	return false;
}

static void sb_unlock_lines(unsigned long flags)
{
	__printk_cpu_sync_put();
	local_irq_restore(flags);
}

static unsigned int sb_text_bytes(const struct stackbuf_trace *trace)
{
	return stackbuf_trace_snprint(NULL, 0, trace, STACKBUF_TRACE_LONG);
}

static void sb_print_frames(const struct stackbuf_trace *trace)
{
	unsigned int i;

	for (i = 0; i < trace->depth; i++)
		sb_printk(KERN_INFO " %pS\n", (void *)trace->pc[i]);
	if (trace->cut)
		sb_printk(KERN_INFO " (cut at %u frames)\n", trace->depth);
}

static bool sb_may_print(void)
{
	if (likely(!in_nmi()))
		return true;
	sb_lost(STACKBUF_LOST_PRINT);
	return false;
}

static void sb_print_trace(const struct stackbuf_trace *trace)
{
	/* Before interrupts are off: symbols of large modules take long */
	unsigned int bytes = sb_text_bytes(trace);
	unsigned long flags;
	bool locked = sb_lock_lines(&flags);

	sb_printk(KERN_INFO "Stack trace(%u):\n", bytes);
	sb_print_frames(trace);
	if (locked)
		sb_unlock_lines(flags);
}

static noinline void sb_take_trace(struct stackbuf_trace *trace)
{
	unsigned long pc[1];

	trace->depth = stack_trace_save(trace->pc, ARRAY_SIZE(trace->pc), SB_OWN_TRACE_FRAMES);
	trace->cut = trace->depth == ARRAY_SIZE(trace->pc) &&
		stack_trace_save(pc, 1, SB_OWN_TRACE_FRAMES + trace->depth);
}

noinline void stackbuf_print(void)
{
	struct stackbuf_trace trace;

	if (!sb_may_print())
		return;
	sb_take_trace(&trace);
	sb_print_trace(&trace);
}
EXPORT_SYMBOL_GPL(stackbuf_print);

/*
 * Fetch a stack by an id that may be anything.  As an id is used once only for a
 * place and goes to 0 before the place is freed, what was read is that stack if
 * the id was there before and after; the hash tells it from data in the middle
 * of another stack.  With STACKBUF_STACK_AGAIN in *@flags the place had the id before,
 * and only an id that was in use all the time, as an event's in the ring, is sure to
 * stand for this stack.
 */
bool sb_trace_of_id(struct stackbuf_trace *trace, u32 id, u8 *flags)
{
	u32 granule = sb_id_granule(id);
	struct stackbuf_stack *stack;
	unsigned int words;

	if (!id || granule >= SB_GRANULES || granule % SB_PAGE_GRANULES == 0)
		return false;

	stack = sb_stack_at(granule);
	/* Pairs with the inserter's smp_wmb(): the stack is complete if its id is there */
	if (smp_load_acquire(&stack->id) != id)
		return false;
	words = min_t(unsigned int, READ_ONCE(stack->words), 3 * STACKBUF_DEPTH_MAX);
	*flags = READ_ONCE(stack->flags);
	trace->cut = *flags & STACKBUF_STACK_CUT;
	/* Perhaps another's by now: the id tells, below */
	trace->depth = data_race(sb_decode(trace->pc, stack->frames, words));
	/* Likewise */
	if (data_race(stackbuf_hash(stack->frames, words, trace->cut) != stack->hash))
		return false;
	/* All was read before the id is looked at again */
	smp_rmb();
	return READ_ONCE(stack->id) == id;
}

void stackbuf_print_id(u32 id)
{
	struct stackbuf_trace trace;
	u8 flags;

	if (!sb_may_print())
		return;
	if (!sb_trace_of_id(&trace, id, &flags)) {
		sb_printk(KERN_INFO "stackbuf: stack %u is not in the table\n", id);
	} else if (flags & STACKBUF_STACK_AGAIN) {
		sb_lost(STACKBUF_LOST_PRINT);
		sb_printk(KERN_INFO "stackbuf: stack %u is not printed: an older stack may have had this id\n",
			  id);
	} else {
		sb_print_trace(&trace);
	}
}
EXPORT_SYMBOL_GPL(stackbuf_print_id);

/* The caller's own traces, after FreeBSD's stack(9) */

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

int stackbuf_trace_put(struct stackbuf_trace *trace, unsigned long pc)
{
	if (trace->depth >= ARRAY_SIZE(trace->pc))
		return -ENOSPC;
	trace->pc[trace->depth++] = pc;
	return 0;
}
EXPORT_SYMBOL_GPL(stackbuf_trace_put);

void stackbuf_trace_copy(const struct stackbuf_trace *src, struct stackbuf_trace *dst)
{
	*dst = *src;
}
EXPORT_SYMBOL_GPL(stackbuf_trace_copy);

void stackbuf_trace_zero(struct stackbuf_trace *trace)
{
	memset(trace, 0, sizeof(*trace));
}
EXPORT_SYMBOL_GPL(stackbuf_trace_zero);

noinline void stackbuf_trace_save(struct stackbuf_trace *trace)
{
	sb_take_trace(trace);
}
EXPORT_SYMBOL_GPL(stackbuf_trace_save);

noinline int stackbuf_trace_save_task(struct stackbuf_trace *trace, struct task_struct *task)
{
	unsigned long pc[STACKBUF_DEPTH_MAX + 1];
	int nr;

	stackbuf_trace_zero(trace);
	if (task == current) {
		sb_take_trace(trace);
		return 0;
	}
	nr = sb_walk_task(pc, ARRAY_SIZE(pc), task);
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
	unsigned long flags;
	bool locked;

	if (!sb_may_print())
		return;
	locked = sb_lock_lines(&flags);
	sb_print_frames(trace);
	if (locked)
		sb_unlock_lines(flags);
}
EXPORT_SYMBOL_GPL(stackbuf_trace_print);

void stackbuf_trace_print_short(const struct stackbuf_trace *trace)
{
	/* A printk record's limit, less the time stamp and such */
	const int room = 900;
	unsigned long flags;
	unsigned int i;
	int len = 0;
	bool locked;

	if (!sb_may_print())
		return;
	locked = sb_lock_lines(&flags);
	for (i = 0; i < trace->depth; i++) {
		int n = snprintf(NULL, 0, "%pS ", (void *)trace->pc[i]);

		if (len && len + n > room)
			len = 0;
		sb_printk("%s%pS", len ? KERN_CONT " " : KERN_INFO, (void *)trace->pc[i]);
		len += n;
	}
	if (len)
		sb_printk(KERN_CONT "\n");
	if (locked)
		sb_unlock_lines(flags);
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
