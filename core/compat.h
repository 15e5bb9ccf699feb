/* SPDX-License-Identifier: GPL-2.0 */
/*
 * compat.h - what differs between kernels
 *
 * A version number says little about a vendor's kernel, so features.sh tests its headers and
 * defines SBUF_HAS_*.
 */
#ifndef STACKBUF_COMPAT_H
#define STACKBUF_COMPAT_H

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

#include "stackbuf_features.h"

#if SBUF_HAS_CFI_JUMP_TABLES
#error "stackbuf needs the addresses of the kernel's functions: no CONFIG_CFI_CLANG before 6.1"
#endif

/* linux/kernel.h declared its functions before */
#if SBUF_HAS_HEX_H
#include <linux/hex.h>
#endif

/* By scripts/stackbuf-graft and CONFIG_STACKBUF=y: THIS_MODULE is NULL, and we stay loaded */
#ifdef MODULE
#define SBUF_BUILT_IN	0
#else
#define SBUF_BUILT_IN	1
#endif

/*
 * Before 6.4, gcc does not inline this function, as its alternatives make it look too large.  clang
 * inlines it, and accepts no attribute after the definition.
 */
#if defined(CONFIG_ARM64) && defined(CONFIG_CC_IS_GCC)
static __always_inline unsigned long arch_local_irq_save(void);
#endif

/*
 * The lock that keeps other CPUs' lines out got its present name in 5.19: faebd693c593
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
 * Without stack_trace_save_tsk() a module cannot keep another task's stack from being freed during
 * the walk, as put_task_stack() is not exported either.
 */
#define SBUF_HAVE_SAVE_TASK	(SBUF_HAS_SAVE_TASK || SBUF_BUILT_IN)
#if !SBUF_HAVE_SAVE_TASK
#define stack_trace_save_tsk(task, store, size, skipnr)	0U
#endif

/* A module's text and the text of its init code */
#if SBUF_HAS_MODULE_MEMORY
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

#define SBUF_HAVE_FUNCTIONS	(IS_ENABLED(CONFIG_DYNAMIC_FTRACE_WITH_ARGS) || \
				 IS_ENABLED(CONFIG_DYNAMIC_FTRACE_WITH_REGS))

/* The address that a kretprobe's function has returned to; a rethook passes it in the registers */
#ifdef CONFIG_KRETPROBE_ON_RETHOOK
#define SBUF_KRETPROBE_RET(instance, regs)	instruction_pointer(regs)
#define SBUF_KRETPROBE_NODE(instance)		(&(instance)->node.llist)
#else
#define SBUF_KRETPROBE_RET(instance, regs)	((unsigned long)(instance)->ret_addr)
#define SBUF_KRETPROBE_NODE(instance)		(&(instance)->llist)
#endif

/* The calls with a replaced return address, innermost first; fprobes use rethooks, too */
#ifdef CONFIG_RETHOOK
#define SBUF_RETURN_NODES(task)		((task)->rethooks.first)
#else
#define SBUF_RETURN_NODES(task)		((task)->kretprobe_instances.first)
#endif

/*
 * Functions on tracepoints may run with preemption enabled: those of system calls where these have
 * tracepoints of their own kind, and all of them in 7.1.  Before, preemption is disabled.
 */
#define SBUF_TRACEPOINTS_PREEMPTIBLE	SBUF_HAS_SYSCALL_TRACEPOINTS

/* 1 if the handler in tracepoint_NAME.c, which Kbuild has chosen, finds registers */
#if defined(SBUF_TRACEPOINTS_stub) || defined(SBUF_TRACEPOINTS_own)
#define SBUF_TRACEPOINTS_REGS	1
#else
#define SBUF_TRACEPOINTS_REGS	0
#endif

/* A workqueue whose workers are bound to no CPU: the scheduler and the administrator choose one */
#if SBUF_HAS_DFL_WQ
#define sbuf_unbound_wq		system_dfl_wq
#else
#define sbuf_unbound_wq		system_unbound_wq
#endif

/* The kinds of kernel work that CPUs can be isolated from */
#if SBUF_HAS_HK_TYPE
#define SBUF_HK(name)		HK_TYPE_##name
#else
#define SBUF_HK(name)		HK_FLAG_##name
#endif

/*
 * task_struct.curr_ret_stack of a task without replaced return addresses: 42675b723b48
 * ("function_graph: Convert ret_stack to a series of longs"), 6.11.
 */
#define SBUF_RET_STACK_EMPTY								\
	(__builtin_types_compatible_p(typeof(current->ret_stack), unsigned long *) ? 0 : -1)

/* Where a module's read-only data begins; *@end is set to its end */
static inline unsigned long sbuf_module_rodata(const struct module *module, unsigned long *end)
{
#if SBUF_HAS_MODULE_MEMORY
	unsigned long start = (unsigned long)module->mem[MOD_RODATA].base;

	*end = start + module->mem[MOD_RODATA].size;
	return start;
#else
	*end = SBUF_MODULE_TEXT(module) + module->core_layout.ro_size;
	return SBUF_MODULE_TEXT(module) + SBUF_MODULE_TEXT_SIZE(module);
#endif
}

/* A part that a build may leave out */
#ifndef STACKBUF_WITH_KEEP
#define STACKBUF_WITH_KEEP	0
#endif

#if !SBUF_HAS_RESERVE_MEM
#define reserve_mem_find_by_name(name, start, size)	false
#endif

/*
 * bf7a87f1075f ("kprobes: Add new KPROBE_FLAG_ON_FUNC_ENTRY kprobe flag"), 6.1; before, only
 * KPROBE_FLAG_FTRACE shows that a probe is at an entry.
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

#endif /* STACKBUF_COMPAT_H */
