/* SPDX-License-Identifier: GPL-2.0 */
/*
 * call.h - inside of a handler of a probe, and what its hit does
 *
 * A save calls functions of the kernel, which may have a probe.  A hit inside of a handler's save
 * in the same context is not recorded but counted, as missed by the probe.  An interrupt's entry
 * and exit are not yet, or no longer, another context by the preemption count; they are told from
 * a save by interrupts, which are off there: irqentry_enter() to irq_enter_rcu(), and
 * irq_exit_rcu() to __do_softirq(), on x86-64 and arm64.
 */
#ifndef STACKBUF_CALL_H
#define STACKBUF_CALL_H

#include <linux/ftrace.h>
#include <linux/kprobes.h>

#include "filter.h"
#include "pair.h"
#include "probe.h"
#include "save.h"

/*
 * The registers as they were at the call: those that a function may have arguments in, the stack
 * pointer and the frame pointer; the others are not saved.  arm64 from 6.2 on, 26299b3f6ba2
 * ("ftrace: arm64: move from REGS to ARGS"), has a structure of its own for them.
 */
#if !IS_ENABLED(CONFIG_ARM64)
#ifdef arch_ftrace_regs
#define SBUF_REGS_AT_CALL(fregs, copy)	(&arch_ftrace_regs(fregs)->regs)
#else
#define SBUF_REGS_AT_CALL(fregs, copy)	(&(fregs)->regs)
#endif
#elif IS_ENABLED(CONFIG_DYNAMIC_FTRACE_WITH_ARGS)
#ifndef arch_ftrace_regs
#define arch_ftrace_regs(fregs)		(fregs)
#endif
static __always_inline struct pt_regs *sbuf_regs_at_call(const struct ftrace_regs *fregs,
							 struct pt_regs *copy)
{
	int i;

	for (i = 0; i < SBUF_ARGUMENTS; i++)
		copy->regs[i] = arch_ftrace_regs(fregs)->regs[i];
	copy->regs[29] = arch_ftrace_regs(fregs)->fp;
	copy->regs[30] = arch_ftrace_regs(fregs)->lr;
	copy->sp = arch_ftrace_regs(fregs)->sp;
	copy->pstate = PSR_MODE_EL1h;
	return copy;
}

#define SBUF_REGS_AT_CALL(fregs, copy)	sbuf_regs_at_call(fregs, copy)
#else
static __always_inline struct pt_regs *sbuf_regs_at_call(struct pt_regs *regs)
{
	/* It is not saved, and nothing else uses it */
	regs->pstate = PSR_MODE_EL1h;
	return regs;
}

#define SBUF_REGS_AT_CALL(fregs, copy)	sbuf_regs_at_call(&(fregs)->regs)
#endif

/*
 * What the code runs in that a kprobe, whose handler this is, is on.  A breakpoint's handler runs
 * like an NMI's: one level above the code; those of ftrace and of a jump (an optimised probe) run
 * like the code.  A jump saves registers right below the stack pointer (in 5.15 all but ss, in 6.1
 * with ss), where the processor leaves a gap at a breakpoint.
 */
static inline enum stackbuf_context sbuf_kprobe_context(const struct kprobe *kprobe,
							const struct pt_regs *regs)
{
	unsigned int count = preempt_count();

#ifdef CONFIG_X86_64
	/* The optimiser changes flags concurrently, but never this one */
	if (!(data_race(kprobe->flags) & KPROBE_FLAG_FTRACE) &&
	    (unsigned long)(regs + 1) != regs->sp && (unsigned long)&regs->ss != regs->sp)
		count -= NMI_OFFSET + HARDIRQ_OFFSET;
#endif
	return sbuf_context_of(count);
}

/* Bits of sbuf_cpu.in_call, for each context: a handler runs; interrupts were on when it began */
#define SBUF_CALL_RUNS(context)		BIT(context)
#define SBUF_CALL_IRQS_ON(context)	BIT((context) + 8)
/* Beyond the last context: on the way into an interrupt, or out of it */
#define SBUF_CALL_TRANSITION		(STACKBUF_NMI + 1)

/**
 * struct sbuf_call - a handler that runs
 * @cpu:	its CPU
 * @context:	what the function was called in
 * @level:	that, or SBUF_CALL_TRANSITION
 * @was:	sbuf_cpu.in_call before
 */
struct sbuf_call {
	struct sbuf_cpu *cpu;
	enum stackbuf_context context;
	unsigned int level;
	u32 was;
};

static __always_inline void sbuf_call_end(const struct sbuf_call *call)
{
	WRITE_ONCE(call->cpu->in_call, call->was);
	preempt_enable_notrace();
}

/* Return false if it is a save's own call, and nothing is to be recorded or ended */
static __always_inline bool sbuf_call_begin(struct sbuf_call *call)
{
	bool off;

	preempt_disable_notrace();
	call->cpu = this_cpu_ptr(sbuf_cpu);
	call->context = sbuf_context_of(preempt_count());
	call->level = call->context;
	off = raw_irqs_disabled();
	call->was = READ_ONCE(call->cpu->in_call);
	if (unlikely(call->was & SBUF_CALL_RUNS(call->level))) {
		if (!off || !(call->was & SBUF_CALL_IRQS_ON(call->level)) ||
		    call->was & SBUF_CALL_RUNS(SBUF_CALL_TRANSITION)) {
			preempt_enable_notrace();
			return false;
		}
		call->level = SBUF_CALL_TRANSITION;
	}
	/* An interrupt leaves it as it was */
	WRITE_ONCE(call->cpu->in_call, call->was | SBUF_CALL_RUNS(call->level) |
				       (off ? 0 : SBUF_CALL_IRQS_ON(call->level)));
	return true;
}

/* What the hit of a probe does: record an event, open or close an object, stop recording */

/* Return true if a hit of @probe is an event.  A close records none, unless it is by @here */
static inline bool sbuf_hit_is_event(const struct stackbuf_probe *probe)
{
	return probe->role != STACKBUF_PAIR_CLOSES || probe->value & SBUF_VALUE_HERE;
}

/* The argument that a probe has as its value, from the registers at a function's beginning, or 0 */
static inline unsigned long sbuf_hit_value(const struct stackbuf_probe *probe, struct pt_regs *regs)
{
	unsigned int n = probe->value & SBUF_VALUE_ARGUMENT;

	return n ? regs_get_kernel_argument(regs, n - 1) : 0;
}

/* Do what a probe with a role does after its event; @id is what sbuf_save() returned, or 0 */
static inline void sbuf_hit_role(const struct stackbuf_probe *probe, unsigned long key,
				 unsigned long value, s64 id)
{
	if (probe->role == STACKBUF_PAIR_OPENS)
		sbuf_pair_open(probe, key, value, id);
	else if (probe->role == STACKBUF_PAIR_CLOSES)
		sbuf_pair_close(probe, key, value, id);
	else
		sbuf_filter_trigger(sbuf_probe_number(probe));
}

/* All that a hit does.  To be inlined, as sbuf_save() */
static __always_inline void sbuf_hit(const struct stackbuf_probe *probe,
				     const struct sbuf_save *save, unsigned long value)
{
	s64 id = 0;

	if (likely(sbuf_hit_is_event(probe)))
		id = sbuf_save(save);
	if (unlikely(probe->role))
		sbuf_hit_role(probe, save->tag, value, id);
}

#endif /* STACKBUF_CALL_H */
