// SPDX-License-Identifier: GPL-2.0
/*
 * tracepoint_own.c - tracepoints in kernels that check indirect calls, before 6.5 or
 * without ftrace
 *
 * Events have a function of their tracepoint's type, class->probe, which writes them to a trace
 * file.  It is registered with a file of ours that is disabled, so that it returns at once
 * (trace_trigger_soft_disabled(), which reads only the file's flags), and has a kprobe, as it is
 * notrace.  A perf counter would also have the right type, but silently misses events nested in
 * another event's handler (perf_swevent_get_recursion_context()).
 */
#include <linux/tracepoint.h>

#include "probe_list.h"
#include "tracepoint_regs.h"

static int handle_own(struct kprobe *kprobe, struct pt_regs *regs)
{
	struct sbuf_tracepoint *of = container_of(kprobe, struct sbuf_tracepoint, kprobe);
	struct sbuf_cpu *cpu = this_cpu_ptr(sbuf_cpu);
	enum stackbuf_context context;

	/* Other events, and other files of this event, share the function */
	if (regs_get_kernel_argument(regs, 0) != (unsigned long)&of->file)
		return 0;
	WRITE_ONCE(of->probe->missed, READ_ONCE(kprobe->nmissed));
	if (unlikely(!sbuf_probe_records(of->probe)))
		return 0;
	context = sbuf_kprobe_context(kprobe, regs);
	sbuf_tracepoint_hit(of, regs, &cpu->call_regs[context], cpu, context);
	return 0;
}

NOKPROBE_SYMBOL(handle_own);

void sbuf_tracepoint_detach(struct sbuf_tracepoint *of)
{
	void *own = of->file.event_call->class->probe;

	lockdep_assert_held(&sbuf_probe_mutex);
	tracepoint_probe_unregister(of->tracepoint, own, &of->file);
	/* A call that has begun must end before the data that it reads is reused */
	tracepoint_synchronize_unregister();
	unregister_kprobe(&of->kprobe);
	WRITE_ONCE(of->probe->missed, READ_ONCE(of->kprobe.nmissed));
}

int sbuf_tracepoint_attach(struct sbuf_tracepoint *of, const struct trace_event_file *file)
{
	int err;

	lockdep_assert_held(&sbuf_probe_mutex);
	if (!file)
		return -EDESTADDRREQ;
	/* A different module with that event was loaded in the meantime */
	if (file->event_call->tp != of->tracepoint)
		return -ENOENT;
	/* An event with a reg() of its own might register another function */
	if (file->event_call->class->reg != trace_event_reg || !file->event_call->class->probe)
		return -EPERM;
	of->file.event_call = file->event_call;
	of->file.flags = EVENT_FILE_FL_SOFT_DISABLED;
	of->kprobe.addr = file->event_call->class->probe;
	of->kprobe.pre_handler = handle_own;
	err = register_kprobe(&of->kprobe);
	if (err)
		return err;
	err = tracepoint_probe_register(of->tracepoint, file->event_call->class->probe, &of->file);
	if (err)
		unregister_kprobe(&of->kprobe);
	return err;
}
