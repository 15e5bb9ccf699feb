/* SPDX-License-Identifier: GPL-2.0 */
/*
 * hit.h - a hit of a probe, in whatever way it was set: guarded against recursion, and what it does
 *
 * A save calls functions of the kernel, which may have a probe.  A hit inside of a handler's save
 * in the same context is not recorded but counted, as missed by the probe.  An interrupt's entry
 * and exit are not yet, or no longer, another context by the preemption count; they are told from
 * a save by interrupts, which are off there: irqentry_enter() to irq_enter_rcu(), and
 * irq_exit_rcu() to __do_softirq(), on x86-64 and arm64.
 */
#ifndef STACKBUF_HIT_H
#define STACKBUF_HIT_H

#include <linux/ftrace.h>

#include "filter.h"
#include "pair.h"
#include "probe.h"
#include "save.h"

/*
 * The registers as they were at the call: those that a function may have arguments in, the stack
 * pointer and the frame pointer; the others are not saved.  arm64 from 6.2 on, 26299b3f6ba2
 * ("ftrace: arm64: move from REGS to ARGS"), has a structure of its own for them.
 */
#ifndef arch_ftrace_regs
#define arch_ftrace_regs(fregs)		(fregs)
#endif
#if !IS_ENABLED(CONFIG_ARM64)
#define SBUF_REGS_AT_CALL(fregs, copy)	(&arch_ftrace_regs(fregs)->regs)
#elif IS_ENABLED(CONFIG_DYNAMIC_FTRACE_WITH_ARGS)
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

#define SBUF_REGS_AT_CALL(fregs, copy)	sbuf_regs_at_call(&arch_ftrace_regs(fregs)->regs)
#endif

/* Bits of sbuf_cpu.recursion, for each context: a handler runs; interrupts were on when it began */
#define SBUF_RECURSION_RUNS(context)	BIT(context)
#define SBUF_RECURSION_IRQS_ON(context)	BIT((context) + 8)
/* Beyond the last context: on the way into an interrupt, or out of it */
#define SBUF_TRANSITION			(STACKBUF_NMI + 1)

/**
 * struct sbuf_recursion - a handler that runs, as ftrace_test_recursion_trylock() notes one
 * @cpu:	its CPU
 * @context:	what the function was called in
 * @level:	that, or SBUF_TRANSITION
 * @was:	sbuf_cpu.recursion before
 */
struct sbuf_recursion {
	struct sbuf_cpu *cpu;
	enum stackbuf_context context;
	unsigned int level;
	u32 was;
};

static __always_inline void sbuf_recursion_unlock(const struct sbuf_recursion *handler)
{
	WRITE_ONCE(handler->cpu->recursion, handler->was);
	preempt_enable_notrace();
}

/* Return false if it is a save's own call, and nothing is to be recorded or ended */
static __always_inline bool sbuf_recursion_trylock(struct sbuf_recursion *handler)
{
	bool off;

	preempt_disable_notrace();
	handler->cpu = this_cpu_ptr(sbuf_cpu);
	handler->context = sbuf_context_of(preempt_count());
	handler->level = handler->context;
	off = raw_irqs_disabled();
	handler->was = READ_ONCE(handler->cpu->recursion);
	if (unlikely(handler->was & SBUF_RECURSION_RUNS(handler->level))) {
		if (!off || !(handler->was & SBUF_RECURSION_IRQS_ON(handler->level)) ||
		    handler->was & SBUF_RECURSION_RUNS(SBUF_TRANSITION)) {
			preempt_enable_notrace();
			return false;
		}
		handler->level = SBUF_TRANSITION;
	}
	/* An interrupt leaves it as it was */
	WRITE_ONCE(handler->cpu->recursion, handler->was | SBUF_RECURSION_RUNS(handler->level) |
					    (off ? 0 : SBUF_RECURSION_IRQS_ON(handler->level)));
	return true;
}

/* The argument that a probe has as its value, from the registers at a function's beginning, or 0 */
static inline unsigned long sbuf_hit_value(const struct stackbuf_probe *probe, struct pt_regs *regs)
{
	unsigned int n = probe->value & SBUF_VALUE_ARGUMENT;

	return n ? regs_get_kernel_argument(regs, n - 1) : 0;
}

/* Inside of a walk of ours, as lock_acquire may be: each would come by there again */
static __always_inline bool sbuf_hit_is_in_walk(const struct sbuf_cpu *cpu,
						enum stackbuf_context context)
{
	int nest = READ_ONCE(cpu->nest);

	return unlikely(nest > 0 && nest <= SBUF_NESTING &&
			READ_ONCE(cpu->scratch[nest - 1].walks_in) == 1 + context);
}

/* Is the hit an event?  A close is none, unless it is by @here */
static __always_inline bool sbuf_hit_is_event(const struct stackbuf_probe *probe, unsigned int role)
{
	return role != STACKBUF_PAIR_CLOSES || unlikely(probe->value & SBUF_VALUE_HERE);
}

/**
 * sbuf_hit() - record an event, open or close an object, stop recording: what a hit does
 * @probe: the probe, unless its handler knows @role to be 0
 * @role: the probe's, a constant where its handler has that role only
 * @save: its tag is the key of the object that is opened or closed; the rest is the event
 * @value: for sbuf_pair_open() or sbuf_pair_close()
 * @cpu: this CPU, where a walk may come by here: its event is lost, and counted; else NULL
 *
 * To be inlined, as sbuf_save().
 *
 * Context: Any context with preemption disabled; without @cpu not inside of another hit's save.
 * Return: as sbuf_save(); 0 if there is no event.
 */
static __always_inline s64 sbuf_hit(const struct stackbuf_probe *probe, unsigned int role,
				    const struct sbuf_save *save, unsigned long value,
				    const struct sbuf_cpu *cpu)
{
	s64 id = 0;

	if (sbuf_hit_is_event(probe, role)) {
		if (cpu && sbuf_hit_is_in_walk(cpu, save->context))
			sbuf_count(STACKBUF_LOST_NESTED);
		else
			id = sbuf_save(save);
	}
	if (role == STACKBUF_PAIR_OPENS)
		sbuf_pair_open(probe, save->tag, value, id);
	else if (role == STACKBUF_PAIR_CLOSES)
		sbuf_pair_close(probe, save->tag, value, id);
	else if (unlikely(role))
		sbuf_filter_trigger(sbuf_probe_number(probe));
	return id;
}

#endif /* STACKBUF_HIT_H */
