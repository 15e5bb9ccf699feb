/* SPDX-License-Identifier: GPL-2.0 */
/*
 * hit.h - a hit of any kind of probe: the guard against recursion, and what a hit does
 *
 * A save calls functions of the kernel, which may have a probe.  A hit inside a handler's save in
 * the same context is not recorded, but counted as missed by the probe.  On interrupt entry and
 * exit preempt_count does not show the interrupt: irqentry_enter() to irq_enter_rcu(), and
 * irq_exit_rcu() to __do_softirq(), on x86-64 and arm64.  A hit there has interrupts off, while the
 * interrupted handler began with them on; this distinguishes it from a hit in the save.
 */
#ifndef STACKBUF_HIT_H
#define STACKBUF_HIT_H

#include <linux/ftrace.h>

#include "filter.h"
#include "pair.h"
#include "probe.h"
#include "save.h"

/*
 * The registers at the call: those that may hold a function's arguments, the stack pointer and the
 * frame pointer; the others are not saved.  From 6.2 on, 26299b3f6ba2 ("ftrace: arm64: move from
 * REGS to ARGS"), arm64 has a structure of its own for them.
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
	/* ftrace does not save it, and nothing else uses it */
	regs->pstate = PSR_MODE_EL1h;
	return regs;
}

#define SBUF_REGS_AT_CALL(fregs, copy)	sbuf_regs_at_call(&arch_ftrace_regs(fregs)->regs)
#endif

/* Bits of sbuf_cpu.recursion, for each context: a handler runs; interrupts were on when it began */
#define SBUF_RECURSION_RUNS(context)	BIT(context)
#define SBUF_RECURSION_IRQS_ON(context)	BIT((context) + 8)
/* One level above the contexts: on entry to an interrupt, or on exit from it */
#define SBUF_TRANSITION			(STACKBUF_NMI + 1)

/**
 * struct sbuf_recursion - a running handler, for a guard like ftrace_test_recursion_trylock()
 * @cpu:	its CPU
 * @context:	the context that the function was called in
 * @level:	@context, or SBUF_TRANSITION
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

/* Where a function returns, arm64 may run handlers as at a breakpoint, with interrupts off */
#ifdef KRETPROBES_BRK_IMM
#define SBUF_IRQS_OFF_AT(regs)	(!interrupts_enabled(regs))
#else
#define SBUF_IRQS_OFF_AT(regs)	raw_irqs_disabled()
#endif

/*
 * Return false if a save itself made the call: then record nothing, and do not unlock.  @returned
 * are the registers where a function has returned, or NULL where one begins.
 */
static __always_inline bool sbuf_recursion_trylock(struct sbuf_recursion *handler,
						   const struct pt_regs *returned)
{
	bool off;

	preempt_disable_notrace();
	handler->cpu = this_cpu_ptr(sbuf_cpu);
	handler->context = sbuf_context_of(preempt_count());
	handler->level = handler->context;
	off = raw_irqs_disabled();
	handler->was = READ_ONCE(handler->cpu->recursion);
	if (unlikely(handler->was & SBUF_RECURSION_RUNS(handler->level))) {
		if (!(returned ? SBUF_IRQS_OFF_AT(returned) : off) ||
		    !(handler->was & SBUF_RECURSION_IRQS_ON(handler->level)) ||
		    handler->was & SBUF_RECURSION_RUNS(SBUF_TRANSITION)) {
			preempt_enable_notrace();
			return false;
		}
		handler->level = SBUF_TRANSITION;
	}
	/* Not atomic: an interrupt restores the value that it found */
	WRITE_ONCE(handler->cpu->recursion, handler->was | SBUF_RECURSION_RUNS(handler->level) |
					    (off ? 0 : SBUF_RECURSION_IRQS_ON(handler->level)));
	return true;
}

/* Return the argument that is a probe's value, from registers at a function's beginning, or 0 */
static inline unsigned long sbuf_hit_value(const struct stackbuf_probe *probe, struct pt_regs *regs)
{
	unsigned int n = probe->value & SBUF_VALUE_ARGUMENT;

	return n ? regs_get_kernel_argument(regs, n - 1) : 0;
}

/* Return true inside a walk of ours, as in lock_acquire(): each save would hit the probe again */
static __always_inline bool sbuf_hit_is_in_walk(const struct sbuf_cpu *cpu,
						enum stackbuf_context context)
{
	int nest = READ_ONCE(cpu->nest);

	return unlikely(nest > 0 && nest <= SBUF_NESTING &&
			READ_ONCE(cpu->scratch[nest - 1].walks_in) == 1 + context);
}

/* Return true if the hit is an event.  A close is one only with @here */
static __always_inline bool sbuf_hit_is_event(const struct stackbuf_probe *probe, unsigned int role)
{
	return role != STACKBUF_PAIR_CLOSES || unlikely(probe->value & SBUF_VALUE_HERE);
}

/**
 * sbuf_hit() - handle a hit: record an event, open or close an object, stop recording
 * @probe: the probe; may be NULL if @role is 0
 * @role: the probe's role, a constant if its handler has only one role
 * @save: the event; its tag is the key of the object to open or close
 * @value: for sbuf_pair_open() or sbuf_pair_close()
 * @cpu: this CPU if a walk may hit the probe: such an event is lost, and counted; else NULL
 *
 * To be inlined, as sbuf_save().
 *
 * Context: Any context with preemption disabled; without @cpu, not inside another hit's save.
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

/* Count a hit inside a save in *@missed.  A trigger stops recording all the same */
static inline void sbuf_hit_missed(const struct stackbuf_probe *probe, u64 *missed)
{
	sbuf_add(missed, 1);
	if (probe->role == STACKBUF_TRIGGERS)
		sbuf_filter_trigger(sbuf_probe_number(probe));
}

#endif /* STACKBUF_HIT_H */
