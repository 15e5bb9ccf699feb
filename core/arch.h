/* SPDX-License-Identifier: GPL-2.0 */
/*
 * arch.h - differences between architectures, and between the unwinders of one architecture
 */
#ifndef STACKBUF_ARCH_H
#define STACKBUF_ARCH_H

#if !defined(CONFIG_X86_64) && !defined(CONFIG_ARM64)
#error "stackbuf knows x86-64 and arm64: it has not been made for this architecture"
#endif

#ifdef CONFIG_CPU_BIG_ENDIAN
#error "stackbuf's memory format is little-endian, as are the machines that it supports"
#endif

#include <linux/ptrace.h>
#include <linux/stacktrace.h>

#include "stackbuf_features.h"

/* Only x86-64 exports the unwinder's calls that start from registers. */
#define SBUF_HAVE_UNWIND	IS_ENABLED(CONFIG_X86_64)

/* Recall supports this unwinder: docs/recall.md has a proof. */
#define SBUF_HAVE_ORC		(IS_ENABLED(CONFIG_X86_64) && IS_ENABLED(CONFIG_UNWINDER_ORC))

/*
 * Where ORC_REG_AX exists, ax, dx and di may hold the caller's stack pointer in any code, see
 * unwind_next_frame().  Before, only entry code used di and dx for it; compilers use r10 and r13.
 */
#if SBUF_HAVE_ORC
#include <asm/orc_types.h>
#endif
#ifdef ORC_REG_AX
#define SBUF_ORC_ANY_REG	1
#else
#define SBUF_ORC_ANY_REG	0
#endif

/* These unwinders follow frame records, which needs no unexported function. */
#define SBUF_HAVE_RECORDS	(IS_ENABLED(CONFIG_ARM64) || \
				 IS_ENABLED(CONFIG_UNWINDER_FRAME_POINTER))

#ifdef CONFIG_ARM64
/*
 * The bits that SBUF_STRIP() sets in a kernel address, except bit 55, which must already be set.
 * A variable, as computing it takes several instructions and a system register read
 */
extern unsigned long sbuf_signature;
#define SBUF_SIGNATURE		sbuf_signature

/* Strip the signature from a return address, as ptrauth_strip_insn_pac() does */
#define SBUF_STRIP(address)	sbuf_arch_strip(address)
static inline unsigned long sbuf_arch_strip(unsigned long address)
{
	return address & BIT_ULL(55) ? address | sbuf_signature : address;
}
#else
#define SBUF_STRIP(address)	(address)
#define SBUF_SIGNATURE		0UL
#endif

/*
 * On arm64 the registers that an exception saves include a frame record.  From 6.13 on,
 * c2c6b27b5aa1 ("arm64: stacktrace: unwind exception boundaries"), that record is two zeros
 * and a type; before, it was a copy of the interrupted fp and pc.  On x86-64 with frame pointers,
 * an odd address leads to the registers (ENCODE_FRAME_POINTER).
 * Return the registers that contain the record of zeros at @record, or to which that address leads,
 * or NULL if there are none on the stack that begins at @stack.
 */
static inline const struct pt_regs *sbuf_arch_interrupted_regs(unsigned long record,
							       unsigned long stack)
{
#ifdef FRAME_META_TYPE_PT_REGS
	const struct frame_record_meta *meta = (void *)record;

	if (record - stack <= THREAD_SIZE - sizeof(*meta) &&
	    record - stack >= offsetof(struct pt_regs, stackframe) &&
	    READ_ONCE_NOCHECK(meta->type) == FRAME_META_TYPE_PT_REGS)
		return container_of(meta, struct pt_regs, stackframe);
#elif defined(CONFIG_X86_64)
	if (record & 1 && record - 1 - stack <= THREAD_SIZE - sizeof(struct pt_regs))
		return (const struct pt_regs *)(record - 1);
#endif
	return NULL;
}

/* From 5.16 on the kernel's own walks resolve what kretprobes have replaced */
#define SBUF_HAVE_RESOLVED_WALKS							\
	(IS_ENABLED(CONFIG_ARCH_CORRECT_STACKTRACE_ON_KRETPROBE) || SBUF_HAS_OBJPOOL)

/*
 * The kernel notes which return addresses kretprobes have replaced, by the address of the slot or,
 * on arm64, by the caller's frame pointer.  There 5.15 notes the stack pointer at the function's
 * beginning: an address above the function's own frame record, up to the caller's.
 */
#ifdef CONFIG_ARM64
#define SBUF_HAVE_TRAMPOLINE	(IS_ENABLED(CONFIG_KRETPROBES) && !IS_ENABLED(CONFIG_RETHOOK))
#define SBUF_CALLS_BY_SP	(!SBUF_HAVE_RESOLVED_WALKS)
#else
#define SBUF_HAVE_TRAMPOLINE	(IS_ENABLED(CONFIG_KRETPROBES) || IS_ENABLED(CONFIG_RETHOOK))
#endif

/* docs/recall.md has a proof for these two. */
#define SBUF_HAVE_RECALL	(SBUF_HAVE_ORC || SBUF_HAVE_RECORDS)

/* Arguments in registers; a tracepoint's function has them after the pointer to its data */
#define SBUF_ARGUMENTS		(IS_ENABLED(CONFIG_X86_64) ? 6 : 8)
#define SBUF_TRACEPOINT_ARGUMENTS	5

/* The return address at a function's beginning */
static __always_inline unsigned long sbuf_arch_return_address(struct pt_regs *regs)
{
#ifdef CONFIG_X86_64
	return regs_get_kernel_stack_nth(regs, 0);
#else
	return regs->regs[30];
#endif
}

/* Return where the kernel puts a kprobe on the function at @start: on x86 after the landing pad */
static inline unsigned long sbuf_arch_after_pad(unsigned long start)
{
#ifdef CONFIG_X86_64
	u32 code = READ_ONCE(*(const u32 *)start);

	return code == 0xfa1e0ff3 || code == 0x001f0f66 || code == 0xd6401f0f ? start + 4 : start;
#else
	return start;
#endif
}

/*
 * Return the address of ftrace's call in the function that begins at @start, or 0 if it has none.
 * On x86 the call follows the landing pad, endbr64 or gen_endbr_poison(); on arm64 it follows the
 * instruction that saves the return address.  Nops may replace them; from 6.19 on, x86 may have a
 * jump to a BPF program's trampoline there.
 */
#ifdef CONFIG_X86_64
static inline unsigned long sbuf_arch_call_site(unsigned long start)
{
	unsigned long site = sbuf_arch_after_pad(start);
	u32 code = READ_ONCE(*(const u32 *)site);

	/* A call, the nop in its place, or int3 while one is patched into the other */
	return (u8)code == 0xe8 || code == 0x00441f0f || (u8)code == 0xcc ||
	       (IS_ENABLED(CONFIG_DYNAMIC_FTRACE_WITH_JMP) && (u8)code == 0xe9) ? site : 0;
}
#else
static inline unsigned long sbuf_arch_call_site(unsigned long start)
{
	/* "bti c" */
	unsigned long site = start + (READ_ONCE(*(const u32 *)start) == 0xd503245f ? 8 : 4);
	u32 code = READ_ONCE(*(const u32 *)site);

	return code == 0xd503201f || (code & 0xfc000000) == 0x94000000 ? site : 0;
}
#endif

/* Return what identifies a call with a replaced return address, at the function's beginning */
static __always_inline unsigned long sbuf_arch_call_key(const struct pt_regs *regs)
{
#ifdef CONFIG_X86_64
	return regs->sp;
#else
	return SBUF_CALLS_BY_SP ? regs->sp : regs->regs[29];
#endif
}

/*
 * Set the return address at a function's beginning, where no frame record has it.  Return the old
 * one.  x86-64's ORC unwinder finds it by its slot
 */
static __always_inline unsigned long sbuf_arch_exchange_return(struct pt_regs *regs,
							       unsigned long ret)
{
#ifdef CONFIG_ARM64
	swap(regs->regs[30], ret);
#elif SBUF_HAVE_RECORDS
	unsigned long *slot = (unsigned long *)regs->sp;

	if (unlikely(*slot != ret))
		swap(*slot, ret);
#endif
	return ret;
}

/*
 * Set the registers of kernel code at @pc.  After a call and where a function begins, the unwinders
 * use no others
 */
static __always_inline void sbuf_arch_set_regs(struct pt_regs *at, unsigned long pc,
					       unsigned long sp, unsigned long bp)
{
	instruction_pointer_set(at, pc);
	at->sp = sp;
	/* cs and pstate are for user_mode() */
#ifdef CONFIG_X86_64
	at->bp = bp;
	at->cs = __KERNEL_CS;
#else
	at->regs[29] = bp;
	at->pstate = PSR_MODE_EL1h;
#endif
}

#ifdef CONFIG_X86_64
/*
 * After a function has returned to @ret with @regs, set @at to the registers at its beginning,
 * @site, and store @ret in the slot of its return address.  Return the slot's old value, for
 * sbuf_arch_leave().
 */
static __always_inline unsigned long sbuf_arch_enter(struct pt_regs *at, const struct pt_regs *regs,
						     unsigned long site, unsigned long ret)
{
	unsigned long *slot = (unsigned long *)regs->sp - 1, was = READ_ONCE(*slot);

	sbuf_arch_set_regs(at, site, (unsigned long)slot, regs->bp);
	WRITE_ONCE(*slot, ret);
	return was;
}

static __always_inline void sbuf_arch_leave(const struct pt_regs *at, unsigned long was)
{
	WRITE_ONCE(*(unsigned long *)at->sp, was);
}
#else
/* The return address is in the link register: no slot of the stack changes */
static __always_inline unsigned long sbuf_arch_enter(struct pt_regs *at, const struct pt_regs *regs,
						     unsigned long site, unsigned long ret)
{
	sbuf_arch_set_regs(at, site, regs->sp, regs->regs[29]);
	at->regs[30] = ret;
	return 0;
}

static __always_inline void sbuf_arch_leave(const struct pt_regs *at, unsigned long was) { }
#endif

/* Convert registers at a function's beginning to its caller's after the call; @at may be @regs */
static inline void sbuf_arch_regs_of_caller(struct pt_regs *at, const struct pt_regs *regs)
{
#ifdef CONFIG_X86_64
	sbuf_arch_set_regs(at, regs_get_kernel_stack_nth((struct pt_regs *)regs, 0),
			   regs->sp + sizeof(long), regs->bp);
#else
	sbuf_arch_set_regs(at, SBUF_STRIP(regs->regs[30]), regs->sp, regs->regs[29]);
#endif
}

/* Return where @regs holds the frame pointer register */
static __always_inline const unsigned long *sbuf_arch_saved_bp(const struct pt_regs *regs)
{
#ifdef CONFIG_X86_64
	return &regs->bp;
#else
	return (const unsigned long *)&regs->regs[29];
#endif
}

/*
 * cmpxchg64_local() from 0 to @value.  Return false if *@word is not 0; on arm64 it may also fail
 * spuriously, and takes half the instructions of the kernel's own
 */
static __always_inline bool sbuf_arch_claim(u64 *word, u64 value)
{
#ifdef CONFIG_ARM64
	u64 failed;

	/* An exception in between makes the store fail */
	asm volatile("ldxr	%[failed], %[word]\n"
		     "cbnz	%[failed], 1f\n"
		     "stxr	%w[failed], %[value], %[word]\n1:"
		     : [failed] "=&r" (failed), [word] "+Q" (*word) : [value] "r" (value) : "memory");
	return !failed;
#else
	return !cmpxchg64_local(word, 0, value);
#endif
}

#endif /* STACKBUF_ARCH_H */
