// SPDX-License-Identifier: GPL-2.0
/*
 * trace.c - traces in the caller's memory, modelled on FreeBSD's stack(9)
 */
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "print.h"
#include "unwind.h"

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
	sbuf_take_trace(trace);
}
EXPORT_SYMBOL_GPL(stackbuf_trace_save);

noinline int stackbuf_trace_save_task(struct stackbuf_trace *trace, struct task_struct *task)
{
	unsigned long pc[STACKBUF_DEPTH_MAX + 1];
	int nr;

	stackbuf_trace_zero(trace);
	if (task == current) {
		sbuf_take_trace(trace);
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
	if (sbuf_may_print())
		sbuf_print_trace(trace, false);
}
EXPORT_SYMBOL_GPL(stackbuf_trace_print);

void stackbuf_trace_print_short(const struct stackbuf_trace *trace)
{
	/* The limit of a printk record, less its prefix (time stamp etc.) */
	const int room = 900;
	unsigned long flags;
	unsigned int i;
	int len = 0;
	bool locked;

	if (!sbuf_may_print())
		return;
	locked = sbuf_lock_lines(&flags);
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
		sbuf_unlock_lines(flags);
}
EXPORT_SYMBOL_GPL(stackbuf_trace_print_short);

int stackbuf_trace_snprint(char *buf, size_t size, const struct stackbuf_trace *trace,
			   enum stackbuf_trace_style style)
{
	bool compact = style == STACKBUF_TRACE_COMPACT;
	size_t len = 0;
	unsigned int i;

	if (size)
		buf[0] = '\0';
	for (i = 0; i < trace->depth; i++) {
		size_t room = len < size ? size - len : 0;

		len += snprintf(room ? buf + len : NULL, room, "%s%pS%s", i && compact ? " " : "",
				(void *)trace->pc[i], compact ? "" : "\n");
	}
	return len;
}
EXPORT_SYMBOL_GPL(stackbuf_trace_snprint);
