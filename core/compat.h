/* SPDX-License-Identifier: GPL-2.0 */
/*
 * compat.h - all that differs between kernel versions
 */
#ifndef STACKBUF_COMPAT_H
#define STACKBUF_COMPAT_H

#if !defined(CONFIG_X86_64) && !defined(CONFIG_ARM64)
#error "stackbuf knows x86-64 and arm64: it has not been made for this architecture"
#endif

#ifndef CONFIG_KALLSYMS
#error "stackbuf needs CONFIG_KALLSYMS: without it the kernel has no names for its functions"
#endif

#include <linux/kcsan-checks.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/stacktrace.h>
#include <linux/version.h>

/*
 * In linux/kernel.h before 6.4 ("kernel.h: split the hexadecimal related helpers to hex.h"), which
 * does not include it any more from 7.0 on ("kernel.h: drop hex.h and update all hex.h users").
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
#include <linux/hex.h>
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 15, 0)
#error "stackbuf needs Linux 5.15 or later"
#endif

#ifdef CONFIG_CPU_BIG_ENDIAN
#error "stackbuf's memory format is little-endian, as are the machines that it supports"
#endif

/*
 * The lock that keeps lines of other CPUs out got its present name in 5.19: faebd693c593
 * ("printk: rename cpulock functions").  Where a stable kernel carries that, the new name
 * is a macro as well.
 */
#ifndef printk_cpu_sync_get_irqsave
#ifdef CONFIG_SMP
#define __printk_cpu_sync_try_get()	__printk_cpu_trylock()
#define __printk_cpu_sync_put()		__printk_cpu_unlock()
#else
#define __printk_cpu_sync_try_get()	true
#define __printk_cpu_sync_put()
#endif
#endif

/*
 * KCSAN models reordering from 5.17 on: 0b8b0830ac14 ("kcsan: Add core memory barrier
 * instrumentation functions").  Before, it needs no hint.
 */
#ifndef kcsan_release
#define kcsan_release()		do { } while (0)
#endif

/*
 * stack_trace_save_tsk() is exported from 6.7 on: 7d672f40941a ("stacktrace: Export
 * stack_trace_save_tsk").  Without it a module has no way to keep another task's stack from
 * going away while it walks it, as put_task_stack() is not exported either.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
#define SBUF_HAVE_SAVE_TASK	1
#else
#define SBUF_HAVE_SAVE_TASK	0
#define stack_trace_save_tsk(task, store, size, skipnr)	0U
#endif

/*
 * Where a module's functions are, and those of its init code: ac3b43283923 ("module:
 * replace module_layout with module_memory"), 6.4.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
#define SBUF_MODULE_TEXT(module)		((unsigned long)(module)->mem[MOD_TEXT].base)
#define SBUF_MODULE_TEXT_SIZE(module)	((module)->mem[MOD_TEXT].size)
#define SBUF_MODULE_INIT_TEXT(module)	((unsigned long)(module)->mem[MOD_INIT_TEXT].base)
#define SBUF_MODULE_INIT_TEXT_SIZE(module) ((module)->mem[MOD_INIT_TEXT].size)
#else
#define SBUF_MODULE_TEXT(module)		((unsigned long)(module)->core_layout.base)
#define SBUF_MODULE_TEXT_SIZE(module)	((module)->core_layout.text_size)
#define SBUF_MODULE_INIT_TEXT(module)	((unsigned long)(module)->init_layout.base)
#define SBUF_MODULE_INIT_TEXT_SIZE(module) ((module)->init_layout.text_size)
#endif

/* Where a module's read-only data begins; *@end is set to its end */
static inline unsigned long sbuf_module_rodata(const struct module *module, unsigned long *end)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
	unsigned long start = (unsigned long)module->mem[MOD_RODATA].base;

	*end = start + module->mem[MOD_RODATA].size;
	return start;
#else
	*end = SBUF_MODULE_TEXT(module) + module->core_layout.ro_size;
	return SBUF_MODULE_TEXT(module) + SBUF_MODULE_TEXT_SIZE(module);
#endif
}

/* Whether a task is on a CPU, or still leaving it; on one CPU only current is */
#ifdef CONFIG_SMP
/* Acquires, so that what is read next is not older */
#define SBUF_TASK_RUNS(task)	smp_load_acquire(&(task)->on_cpu)
#else
#define SBUF_TASK_RUNS(task)	false
#endif

/* The unwinder's calls that start from registers are exported on x86-64 only. */
#ifdef CONFIG_X86_64
#define SBUF_HAVE_UNWIND	1
#else
#define SBUF_HAVE_UNWIND	0
#endif

/* Registers made up of a frame are enough for the ORC unwinder. */
#if defined(CONFIG_X86_64) && defined(CONFIG_UNWINDER_ORC)
#define SBUF_HAVE_ORC	1
#else
#define SBUF_HAVE_ORC	0
#endif

/*
 * Where ORC_REG_AX exists, ax, dx and di may hold the caller's stack pointer in any code, see
 * unwind_next_frame().  Before, di and dx did so in entry code only; compilers use r10 and r13.
 */
#if SBUF_HAVE_ORC
#include <asm/orc_types.h>
#endif
#ifdef ORC_REG_AX
#define SBUF_ORC_ANY_REG	1
#else
#define SBUF_ORC_ANY_REG	0
#endif

/* These unwinders follow frame records, which takes nothing that is not exported. */
#if defined(CONFIG_ARM64) || defined(CONFIG_X86_64) && defined(CONFIG_UNWINDER_FRAME_POINTER)
#define SBUF_HAVE_RECORDS	1
#else
#define SBUF_HAVE_RECORDS	0
#endif

#ifdef CONFIG_ARM64
/* A return address without its signature, as ptrauth_strip_insn_pac() has it */
#define SBUF_STRIP(address)	sbuf_arch_strip(address)
static inline unsigned long sbuf_arch_strip(unsigned long address)
{
	return address & BIT_ULL(55) ? address | GENMASK_ULL(63, vabits_actual) : address;
}
#else
#define SBUF_STRIP(address)	(address)
#endif

/*
 * On arm64 the registers that an exception saves include a frame record.  From 6.13 on,
 * c2c6b27b5aa1 ("arm64: stacktrace: unwind exception boundaries"), that record is two zeros
 * and a type; before, it was a copy of the interrupted fp and pc.
 * sbuf_arch_interrupted_regs() returns the registers that hold the record of zeros at @record, NULL
 * if there are none on the stack that begins at @stack.
 */
#ifdef FRAME_META_TYPE_PT_REGS
static inline const struct pt_regs *sbuf_arch_interrupted_regs(unsigned long record,
							       unsigned long stack)
{
	const struct frame_record_meta *meta = (void *)record;

	if (record - stack > THREAD_SIZE - sizeof(*meta) ||
	    record - stack < offsetof(struct pt_regs, stackframe) ||
	    READ_ONCE_NOCHECK(meta->type) != FRAME_META_TYPE_PT_REGS)
		return NULL;
	return container_of(meta, struct pt_regs, stackframe);
}
#else
static inline const struct pt_regs *sbuf_arch_interrupted_regs(unsigned long record,
							       unsigned long stack)
{
	return NULL;
}
#endif

/* docs/recall.md has a proof for these two. */
#define SBUF_HAVE_RECALL	(SBUF_HAVE_ORC || SBUF_HAVE_RECORDS)

/* Arguments in registers, and where a called function finds its return address. */
#ifdef CONFIG_X86_64
#define SBUF_ARGUMENTS		6
#else
#define SBUF_ARGUMENTS		8
#endif

static __always_inline unsigned long sbuf_arch_return_address(struct pt_regs *regs)
{
#ifdef CONFIG_X86_64
	return regs_get_kernel_stack_nth(regs, 0);
#else
	return regs->regs[30];
#endif
}

/* Where registers hold the frame pointer register */
static __always_inline const unsigned long *sbuf_arch_saved_bp(const struct pt_regs *regs)
{
#ifdef CONFIG_X86_64
	return &regs->bp;
#else
	return (const unsigned long *)&regs->regs[29];
#endif
}

/*
 * bf7a87f1075f ("kprobes: Add new KPROBE_FLAG_ON_FUNC_ENTRY kprobe flag"), 6.1; before, a
 * probe by ftrace is known to be at an entry.
 */
#ifndef KPROBE_FLAG_ON_FUNC_ENTRY
#define KPROBE_FLAG_ON_FUNC_ENTRY	0
#endif

/*
 * 514ca14ed544 ("start_kernel: Add __no_stack_protector function attribute"), 6.5; stable
 * kernels carry it as well.
 */
#ifndef __no_stack_protector
#define __no_stack_protector __attribute__((__no_stack_protector__))
#endif

/* What is written before it is read need not be cleared, as INIT_STACK_ALL_ZERO has it */
#if __has_attribute(__uninitialized__)
#define SBUF_UNINITIALIZED __attribute__((__uninitialized__))
#else
#define SBUF_UNINITIALIZED
#endif

#endif /* STACKBUF_COMPAT_H */
