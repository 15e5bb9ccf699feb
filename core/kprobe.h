/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kprobe.h - probes at any instruction
 */
#ifndef STACKBUF_KPROBE_H
#define STACKBUF_KPROBE_H

#include <linux/kprobes.h>

#include "save.h"

/**
 * struct sbuf_kprobe - a probe that is set by a kprobe
 * @probe:	its entry
 * @kprobe:	registered with the kernel
 */
struct sbuf_kprobe {
	struct stackbuf_probe *probe;
	struct kprobe kprobe;
};

/* Find the trampolines of tracers of returns */
#if SBUF_HAVE_TRAMPOLINE
void __init sbuf_kprobe_init(void);
#else
static inline void sbuf_kprobe_init(void) { }
#endif

/*
 * Return the context of the probed code, in a kprobe's handler.  A breakpoint's handler runs like
 * an NMI's, one level above the code; handlers called by ftrace or by a jump (an optimised probe)
 * run in the code's context.  A jump saves registers right below the stack pointer (in 5.15 without
 * ss, in 6.1 with it), where the CPU leaves a gap at a breakpoint.
 */
static inline enum stackbuf_context sbuf_kprobe_context(const struct kprobe *kprobe,
							const struct pt_regs *regs)
{
	unsigned int count = preempt_count();

#ifdef CONFIG_X86_64
	/* Else a breakpoint in an NMI would look like one in an interrupt */
	static_assert(NMI_MASK & NMI_OFFSET << 1);
	/* The optimiser changes flags concurrently, but never this one */
	if (!(data_race(kprobe->flags) & KPROBE_FLAG_FTRACE) &&
	    (unsigned long)(regs + 1) != regs->sp && (unsigned long)&regs->ss != regs->sp)
		count -= NMI_OFFSET + HARDIRQ_OFFSET;
#endif
	return sbuf_context_of(count);
}

#endif /* STACKBUF_KPROBE_H */
