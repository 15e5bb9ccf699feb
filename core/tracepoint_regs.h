/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tracepoint_regs.h - a hit at the beginning of a function of a tracepoint's type
 */
#ifndef STACKBUF_TRACEPOINT_REGS_H
#define STACKBUF_TRACEPOINT_REGS_H

#include "hit.h"
#include "tracepoint.h"

/* Set @at to the registers at the tracepoint's place, from @regs at the function's beginning */
static __always_inline unsigned int sbuf_tracepoint_caller(const struct sbuf_tracepoint *of,
							   const struct pt_regs *regs,
							   struct pt_regs *at)
{
	sbuf_arch_regs_of_caller(at, regs);
	if (instruction_pointer(at) - of->iterator <= of->size) {
#if SBUF_HAVE_RECORDS
		const unsigned long *record = (const unsigned long *)*sbuf_arch_saved_bp(at);

		*(unsigned long *)sbuf_arch_saved_bp(at) = record[0];
		at->sp = sbuf_caller_sp(record);
		instruction_pointer_set(at, SBUF_STRIP(record[1]));
#else
		return SBUF_SKIP;
#endif
	}
	return 0;
}

/* @regs: at the function's beginning; @at, for the tracepoint's place, may be the same */
static __always_inline void sbuf_tracepoint_hit(const struct sbuf_tracepoint *of,
						struct pt_regs *regs, struct pt_regs *at,
						const struct sbuf_cpu *cpu,
						enum stackbuf_context context)
{
	const struct stackbuf_probe *probe = of->probe;
	unsigned int n = probe->value & SBUF_VALUE_ARGUMENT;
	/* The first argument is the pointer to our data */
	unsigned long value = n ? regs_get_kernel_argument(regs, n) : 0;
	struct sbuf_save save = {
		.from = SBUF_REGS, .regs = at, .context = context, .flags = READ_ONCE(probe->how),
		.tag = probe->tag ? regs_get_kernel_argument(regs, probe->tag) : 0,
	};

	/* Otherwise a walk may be using @at */
	if (sbuf_hit_is_event(probe, probe->role) && !sbuf_hit_is_in_walk(cpu, context))
		save.flags |= sbuf_tracepoint_caller(of, regs, at);
	sbuf_hit(probe, probe->role, &save, value, cpu);
}

#endif /* STACKBUF_TRACEPOINT_REGS_H */
