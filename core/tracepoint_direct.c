// SPDX-License-Identifier: GPL-2.0
/*
 * tracepoint_direct.c - tracepoints that call functions of ours directly
 *
 * The same functions are registered for all tracepoints, although the types of tracepoints differ:
 * the calling conventions of x86-64 and arm64 pass integers and pointers in registers, in order,
 * whatever their types, and the caller removes what it pushed on the stack.  A kernel that checks
 * indirect calls (CONFIG_CFI_CLANG, since 6.18 CONFIG_CFI) stops at a call of a function of another
 * type; there tracepoint_stub.c or tracepoint_own.c is built.
 */
#include <linux/preempt.h>
#include <linux/tracepoint.h>

#include "hit.h"
#include "probe_list.h"

/* @key, @value: the arguments that the probe names, or 0 */
static __always_inline void hit(const struct sbuf_tracepoint *of, unsigned int role,
				unsigned long key, unsigned long value, const unsigned long *frame)
{
	struct sbuf_save save = { .from = SBUF_FRAME, .tag = key };

	if (sbuf_hit_is_event(of->probe, role)) {
		save.flags = READ_ONCE(of->probe->how);
		save.context = sbuf_context_of(preempt_count());
		if (SBUF_STRIP(frame[1]) - of->iterator <= of->size) {
			/* With frame records, a walk can begin one frame further out */
			if (SBUF_HAVE_RECORDS)
				frame = (const unsigned long *)frame[0];
			else
				save.flags |= SBUF_SKIP;
		}
		save.frame = frame;
	}
	sbuf_hit(of->probe, role, &save, value, raw_cpu_ptr(sbuf_cpu));
}

/* Not inlined, so that a walk leaves out this frame */
static noinline void hit_alone(const struct sbuf_tracepoint *of, unsigned long tag,
			       const unsigned long *frame)
{
	if (SBUF_TRACEPOINTS_PREEMPTIBLE)
		preempt_disable_notrace();
	if (likely(sbuf_probe_records(of->probe)))
		hit(of, 0, tag, 0, frame);
	if (SBUF_TRACEPOINTS_PREEMPTIBLE)
		preempt_enable_notrace();
}

NOKPROBE_SYMBOL(hit_alone);

/* @arg: the arguments, counted from 1; element 0 is 0 and means no argument */
static noinline void hit_for_role(const struct sbuf_tracepoint *of, const unsigned long *frame,
				  const unsigned long *arg)
{
	const struct stackbuf_probe *probe = of->probe;
	const struct sbuf_tracepoint *closer;

	if (SBUF_TRACEPOINTS_PREEMPTIBLE)
		preempt_disable_notrace();
	if (likely(sbuf_probe_records(probe))) {
		hit(of, probe->role, arg[probe->tag], arg[probe->value & SBUF_VALUE_ARGUMENT],
		    frame);
		closer = READ_ONCE(of->closer);
		if (closer)
			sbuf_pair_close(closer->probe, arg[closer->probe->tag],
					arg[closer->probe->value & SBUF_VALUE_ARGUMENT], 0);
	}
	if (SBUF_TRACEPOINTS_PREEMPTIBLE)
		preempt_enable_notrace();
}

NOKPROBE_SYMBOL(hit_for_role);

static noinline __no_stack_protector void handle_role(void *of, unsigned long arg1,
						      unsigned long arg2, unsigned long arg3,
						      unsigned long arg4, unsigned long arg5)
{
	const unsigned long arg[] = { 0, arg1, arg2, arg3, arg4, arg5 };

	hit_for_role(of, __builtin_frame_address(0), arg);
}

NOKPROBE_SYMBOL(handle_role);

/* Functions to register, one for each argument that may be the tag */
#define HANDLER(name, tag)								\
static noinline __no_stack_protector void name(void *of, unsigned long arg1,	\
					       unsigned long arg2, unsigned long arg3,	\
					       unsigned long arg4, unsigned long arg5)	\
{											\
	hit_alone(of, tag, __builtin_frame_address(0));				\
}

HANDLER(handle_event, 0)
HANDLER(handle_arg1, arg1)
HANDLER(handle_arg2, arg2)
HANDLER(handle_arg3, arg3)
HANDLER(handle_arg4, arg4)
HANDLER(handle_arg5, arg5)

NOKPROBE_SYMBOL(handle_event);
NOKPROBE_SYMBOL(handle_arg1);
NOKPROBE_SYMBOL(handle_arg2);
NOKPROBE_SYMBOL(handle_arg3);
NOKPROBE_SYMBOL(handle_arg4);
NOKPROBE_SYMBOL(handle_arg5);

static void *const handler[SBUF_TRACEPOINT_ARGUMENTS + 1] = {
	handle_event, handle_arg1, handle_arg2, handle_arg3, handle_arg4, handle_arg5,
};

static inline void *handler_of(const struct sbuf_tracepoint *of)
{
	return of->probe->role ? (void *)handle_role : handler[of->probe->tag];
}

/*
 * The opening probe that was attached last.  If its tracepoint also closes, as sched_switch for
 * times off CPU, its handler does both: one handler less, and no iterator, saves 90 instructions.
 * The probes of a pair are set and removed together.
 */
static struct sbuf_tracepoint *opener;

int sbuf_tracepoint_attach(struct sbuf_tracepoint *of, const struct trace_event_file *file)
{
	const struct stackbuf_probe *probe = of->probe;
	int err;

	lockdep_assert_held(&sbuf_probe_mutex);
	/* When a module is loaded again, its pair's probes may be attached in another order */
	of->opener = NULL;
	of->closer = NULL;
	if (opener && opener->tracepoint == of->tracepoint && !opener->closer &&
	    opener->probe->pair == probe->pair && probe->role == STACKBUF_PAIR_CLOSES &&
	    !(probe->value & SBUF_VALUE_HERE)) {
		of->opener = opener;
		/* P2: all fields that the handler reads are set before */
		smp_store_release(&opener->closer, of);
		return 0;
	}
	err = tracepoint_probe_register(of->tracepoint, handler_of(of), of);
	if (!err && probe->role == STACKBUF_PAIR_OPENS)
		opener = of;
	return err;
}

void sbuf_tracepoint_detach(struct sbuf_tracepoint *of)
{
	lockdep_assert_held(&sbuf_probe_mutex);
	if (of->opener) {
		/* Unless the opener was removed first */
		if (of->opener->closer == of)
			WRITE_ONCE(of->opener->closer, NULL);
		return;
	}
	if (opener == of)
		opener = NULL;
	tracepoint_probe_unregister(of->tracepoint, handler_of(of), of);
}
