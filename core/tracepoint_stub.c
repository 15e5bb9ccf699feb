// SPDX-License-Identifier: GPL-2.0
/*
 * tracepoint_stub.c - tracepoints in kernels that check indirect calls, from 6.5 on,
 * with ftrace
 *
 * Each tracepoint has an empty function of its type, probestub.  That is registered with our data
 * as its first argument, and ftrace is attached to it.
 */
#include <linux/ftrace.h>
#include <linux/tracepoint.h>

#include "function.h"
#include "probe_list.h"
#include "tracepoint_regs.h"

static void handle_stub(unsigned long site, unsigned long parent, struct ftrace_ops *ops,
			struct ftrace_regs *fregs)
{
	struct sbuf_tracepoint *of = (void *)ftrace_regs_get_argument(fregs, 0);
	struct sbuf_recursion handler;
	struct pt_regs *at;

	/* The kernel's own probes register stubs, too */
	if (unlikely((void *)of - (void *)sbuf_places >= sizeof(sbuf_places) ||
		     !sbuf_probe_records(of->probe)))
		return;
	if (unlikely(!sbuf_recursion_trylock(&handler, NULL))) {
		sbuf_hit_missed(of->probe, &of->probe->missed);
		return;
	}
	at = &handler.cpu->call_regs[handler.level];
	/* Until here preemption may have been enabled: see handle() in function.c */
	if (!SBUF_TRACEPOINTS_PREEMPTIBLE || likely(sbuf_probe_records(of->probe)))
		sbuf_tracepoint_hit(of, SBUF_REGS_AT_CALL(fregs, at), at, handler.cpu,
				    handler.context);
	sbuf_recursion_unlock(&handler);
}

NOKPROBE_SYMBOL(handle_stub);

static struct ftrace_ops stub_ops = { .func = handle_stub, .flags = FTRACE_OPS_FL_PERMANENT };
/* Probes that are attached, in no order */
static struct sbuf_tracepoint *attached;

static bool is_attached(unsigned long site)
{
	struct sbuf_tracepoint *of = attached;

	while (of && of->site != site)
		of = of->next;
	return of;
}

static void leave_stub(struct sbuf_tracepoint *of)
{
	struct sbuf_tracepoint **at = &attached;

	while (*at != of)
		at = &(*at)->next;
	*at = of->next;
	/* An empty filter would mean all functions */
	if (!attached) {
		if (unregister_ftrace_function(&stub_ops))
			sbuf_probe_note_stuck();
		sbuf_ops_forget(&stub_ops);
	} else if (!is_attached(of->site)) {
		ftrace_set_filter_ip(&stub_ops, of->site, 1, 0);
	}
}

void sbuf_tracepoint_detach(struct sbuf_tracepoint *of)
{
	lockdep_assert_held(&sbuf_probe_mutex);
	tracepoint_probe_unregister(of->tracepoint, of->tracepoint->probestub, of);
	leave_stub(of);
}

int sbuf_tracepoint_attach(struct sbuf_tracepoint *of, const struct trace_event_file *file)
{
	int err = 0;

	lockdep_assert_held(&sbuf_probe_mutex);
	of->site = sbuf_arch_call_site((unsigned long)of->tracepoint->probestub);
	if (!of->site)
		return -EPERM;
	if (!is_attached(of->site))
		err = ftrace_set_filter_ip(&stub_ops, of->site, 0, 0);
	if (!err && !attached)
		err = register_ftrace_function(&stub_ops);
	if (err) {
		if (!attached)
			sbuf_ops_forget(&stub_ops);
		return err == -EINVAL ? -EPERM : err;
	}
	of->next = attached;
	attached = of;
	err = tracepoint_probe_register(of->tracepoint, of->tracepoint->probestub, of);
	if (err)
		leave_stub(of);
	return err;
}
