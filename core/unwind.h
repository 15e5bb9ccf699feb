/* SPDX-License-Identifier: GPL-2.0 */
/*
 * unwind.h - code that depends on the kernel's unwinder
 *
 *	kernel				caller's stack		stack of registers	recall
 *	x86-64, ORC			unwind_start()		unwind_start()		ORC
 *	x86-64, frame pointers		unwind_start()		unwind_start()		records
 *	x86-64, CONFIG_UNWINDER_GUESS	unwind_start()		unwind_start()		none
 *	arm64				stack_trace_save()	sbuf_record_walk()	records
 */
#ifndef STACKBUF_UNWIND_H
#define STACKBUF_UNWIND_H

#include "kstack.h"
#include "symbol.h"

/* The kernel's trampolines for kretprobes and of the function graph tracer; 0: unknown, or none */
extern unsigned long sbuf_trampoline, sbuf_graph_trampoline;

static __always_inline bool sbuf_is_trampoline(unsigned long pc)
{
	return SBUF_HAVE_TRAMPOLINE && unlikely(pc == sbuf_trampoline) && pc;
}

static __always_inline bool sbuf_is_graph_trampoline(unsigned long pc)
{
	return SBUF_HAVE_TRAMPOLINE && unlikely(pc == sbuf_graph_trampoline) && pc;
}

/* sbuf_original_return() of the trampoline; the call's key is one of @first to @last */
unsigned long sbuf_replaced_return(unsigned long first, unsigned long last);

/*
 * Return the return address of the current task's call that @key identifies, as
 * sbuf_arch_call_key(): @pc, or the address that a kretprobe has replaced by @pc
 */
static __always_inline unsigned long sbuf_original_return(unsigned long pc, unsigned long key)
{
	return sbuf_is_trampoline(pc) ? sbuf_replaced_return(key, key) : pc;
}

/* sbuf_likely_caller(): distinguishes the paths to the place that @regs describe */
#if SBUF_HAVE_RECORDS
/* The caller, if no frame record holds it yet; it is then part of the trace.  Otherwise 0 */
static __always_inline unsigned long sbuf_likely_caller(const struct pt_regs *regs,
							enum sbuf_flags flags)
{
	struct pt_regs *r = (struct pt_regs *)regs;
	bool frameless = flags & SBUF_PROBED ? flags & SBUF_ENTRY :
					     sbuf_symbol_is_frameless(instruction_pointer(r));

	return frameless ? sbuf_original_return(SBUF_STRIP(sbuf_arch_return_address(r)),
						sbuf_arch_call_key(r)) : 0;
}
#else
/* The word on top of the stack: the return address at a function's beginning, as for most probes */
static __always_inline unsigned long sbuf_likely_caller(const struct pt_regs *regs,
							enum sbuf_flags flags)
{
	unsigned long sp = kernel_stack_pointer((struct pt_regs *)regs);

	return sbuf_kstack_of(sp) ? sbuf_kstack_load(sp) : 0;
}
#endif

/*
 * True if a frame record lies at its frame's lower end, as gcc places it on arm64: the words above
 * it still belong to the frame.  clang places it above the function's variables, as on x86-64; only
 * registers that the function saves may be above it there.
 */
#define SBUF_RECORD_IS_LOWEST	(IS_ENABLED(CONFIG_ARM64) && IS_ENABLED(CONFIG_CC_IS_GCC))

/*
 * Return where the frame of an exported function's caller begins; @frame is the function's
 * __builtin_frame_address(0)
 */
static inline unsigned long sbuf_caller_sp(const unsigned long *frame)
{
	return SBUF_RECORD_IS_LOWEST ? frame[0] : (unsigned long)&frame[2];
}

/* Return where a walk starts; ip is 0 for user-mode registers and for another task */
static __always_inline struct sbuf_start sbuf_unwind_start(const struct sbuf_save *save)
{
	if (save->from == SBUF_FRAME)
		return (struct sbuf_start){
			sbuf_start_ip(save->frame[1] | SBUF_SIGNATURE, save->flags & SBUF_SKIP),
			sbuf_caller_sp(save->frame), save->frame
		};
	if (save->from == SBUF_TASK || user_mode(save->regs))
		return (struct sbuf_start){};
	return (struct sbuf_start){
		sbuf_start_ip(instruction_pointer(save->regs),
			      SBUF_TRACEPOINTS_REGS && save->flags & SBUF_SKIP),
		kernel_stack_pointer(save->regs),
		sbuf_arch_saved_bp(save->regs), sbuf_likely_caller(save->regs, save->flags),
	};
}

/*
 * Walk the stack that @regs describe: registers of the current task, saved on this CPU.  Preemption
 * is disabled; @caller is sbuf_likely_caller() of @regs; walk.epoch and walk.cacheable of @scratch
 * are set.  Return how many addresses are in @scratch, up to SBUF_WALK_MAX.
 */
int sbuf_unwind_regs(struct sbuf_scratch *scratch, struct pt_regs *regs, unsigned long caller,
		     enum sbuf_flags flags);

/*
 * Walk the stack of a task other than current.  Not in NMI; the caller holds a reference.  Return
 * how many addresses are in @pc, up to @size, or -EBUSY, -ESRCH or -EOPNOTSUPP as
 * stackbuf_save_task() does.
 */
int sbuf_unwind_task(unsigned long *pc, unsigned int size, struct task_struct *task);

/*
 * Walk the stack of an exported function's caller; @frame is as for sbuf_caller_sp(), the rest as
 * for sbuf_unwind_regs().  @frame[0] is the caller's frame pointer, @frame[1] the return address.
 */
static __always_inline int sbuf_unwind_caller(struct sbuf_scratch *scratch,
					      const unsigned long *frame)
{
	const unsigned long *own = __builtin_frame_address(0);
	unsigned int nr = 1;

	/*
	 * stack_trace_save() would first walk through its own frames, the unwinder's and ours,
	 * which costs as much as four frames.  Start at the caller instead, as if registers had
	 * been saved at the instruction after the call: there they hold the values that the
	 * unwinder would find.  The call returns, so the stack is the same before and after its
	 * return.
	 */
	if (SBUF_HAVE_UNWIND || !SBUF_HAVE_RESOLVED_WALKS) {
		sbuf_arch_set_regs(&scratch->regs, SBUF_STRIP(frame[1]), sbuf_caller_sp(frame),
				   frame[0]);
		return sbuf_unwind_regs(scratch, &scratch->regs, 0, 0);
	}
	/*
	 * It leaves out our own frames, from the function that inlines this to the exported
	 * function: count the records between the two
	 */
	for (; own != frame; own = (const unsigned long *)own[0])
		nr++;
	scratch->walk.sp[0] = sbuf_caller_sp(frame);
	scratch->walk.bp[0] = frame[0];
	scratch->walk.caller = 0;
	return stack_trace_save(scratch->pc, ARRAY_SIZE(scratch->pc), nr);
}

#endif /* STACKBUF_UNWIND_H */
