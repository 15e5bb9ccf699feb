/* SPDX-License-Identifier: GPL-2.0 */
/*
 * stackbuf.h - the calls, for kernel code that records or prints stacks
 *
 * stackbuf_format.h describes the memory that they write.
 */
#ifndef STACKBUF_H
#define STACKBUF_H

#include "stackbuf_format.h"

#ifdef __KERNEL__

/**
 * DOC: overview
 *
 * stackbuf_save() records the stack of its caller.  It stores an event, with time, CPU and task, in
 * a ring in static memory, and the stack itself once, in a table and as text.  Readers need no help
 * from the module: the command "stackbuf" reads the record live and from dumps.
 *
 *	#include "stackbuf.h"
 *
 *	stackbuf_save_tag((unsigned long)skb);
 *
 * The calls that record or print work in any context, with any lock held.  They take no lock
 * that another context may hold, allocate nothing and never sleep.
 *
 * Code that defines STACKBUF_DISABLED before it includes this file compiles without stackbuf: the
 * calls then do nothing.
 */

#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/types.h>

struct pt_regs;
struct task_struct;

/* Most bytes of kernel stack that a save uses */
#ifdef CONFIG_KASAN
#define STACKBUF_STACK_BYTES	4096
#else
#define STACKBUF_STACK_BYTES	1280
#endif

/**
 * struct stackbuf_trace - a trace that the caller owns; it is not recorded
 * @depth: number of frames in @pc, 0 to STACKBUF_DEPTH_MAX
 * @cut: the stack had more frames
 * @pc: return addresses, innermost first
 */
struct stackbuf_trace {
	unsigned int depth;
	bool cut;
	unsigned long pc[STACKBUF_DEPTH_MAX];
};

/**
 * enum stackbuf_trace_style - how stackbuf_trace_snprint() renders a trace
 * @STACKBUF_TRACE_LONG: one line per frame, as %pS prints it
 * @STACKBUF_TRACE_COMPACT: all frames on one line
 */
enum stackbuf_trace_style {
	STACKBUF_TRACE_LONG,
	STACKBUF_TRACE_COMPACT,
};

/*
 * stackbuf_trace_*() work on traces that the caller owns, and follow FreeBSD's stack(9); see
 * docs/stack9.md.  The caller must keep other contexts from using the trace concurrently.
 */

/**
 * stackbuf_trace_zero() - empty a trace
 * @trace: the trace
 *
 * Context: Any context.
 */
static inline void stackbuf_trace_zero(struct stackbuf_trace *trace)
{
	trace->depth = 0;
	trace->cut = false;
}

/**
 * stackbuf_trace_put() - append an address
 * @trace: the trace
 * @pc: the address
 *
 * Context: Any context.
 * Return: 0, or -ENOSPC if the trace is full.
 */
static inline int stackbuf_trace_put(struct stackbuf_trace *trace, unsigned long pc)
{
	if (trace->depth >= STACKBUF_DEPTH_MAX)
		return -ENOSPC;
	trace->pc[trace->depth++] = pc;
	return 0;
}

/**
 * stackbuf_trace_copy() - copy a trace
 * @src: the trace to copy
 * @dst: overwritten by the copy
 *
 * Context: Any context.
 */
static inline void stackbuf_trace_copy(const struct stackbuf_trace *src,
				       struct stackbuf_trace *dst)
{
	*dst = *src;
}

#ifndef STACKBUF_DISABLED

/**
 * stackbuf_save() - record the caller's stack
 *
 * Records the return addresses, starting with the caller, and the time, CPU and task.  A new stack
 * is also rendered into the text log.
 *
 * Context: Any context.  STACKBUF_STACK_BYTES of the stack must be left.
 * Return: the stack's id, never 0; or 0 if the event was not recorded.  stackbuf_info counts such
 *	events by reason (enum stackbuf_counter).
 */
u32 stackbuf_save(void);

/**
 * stackbuf_save_tag() - record the caller's stack and a tag
 * @tag: any word to keep in the event: an object's address, a length, ...
 *
 * Context: Any context.  STACKBUF_STACK_BYTES of the stack must be left.
 * Return: as stackbuf_save().
 */
u32 stackbuf_save_tag(unsigned long tag);

/**
 * stackbuf_save_regs() - record the stack that saved registers describe
 * @regs: registers of the current task, saved on this CPU, as passed to a kprobe or an exception
 *	handler; the trace begins at their instruction pointer
 * @tag: as for stackbuf_save_tag()
 *
 * On x86 a kprobe's handler gets an instruction pointer after the breakpoint, where the stack may
 * look different.  Set it to the probe's address with instruction_pointer_set() during the call.
 *
 * On arm64, in code without a frame record (prologue, epilogue, leaf), the caller is taken from the
 * link register.  After a jump past the code that creates the record, the caller is missing, as in
 * the kernel's own traces.
 *
 * Context: Any context, on the CPU and in the task of @regs.  STACKBUF_STACK_BYTES of the stack
 *	must be left.
 * Return: as stackbuf_save().
 */
u32 stackbuf_save_regs(struct pt_regs *regs, unsigned long tag);

/**
 * stackbuf_save_task() - record another task's stack
 * @task: the task; the caller holds a reference.  The current task is allowed
 * @tag: as for stackbuf_save_tag()
 * @id: set to what stackbuf_save() would return; or NULL
 *
 * The event names @task, and the CPU that records it.
 *
 * Context: Any context except NMI.  STACKBUF_STACK_BYTES of the stack must be left.
 * Return: 0, even if the event was not recorded (*@id is 0 then); -EBUSY if @task is running on a
 *	CPU; -ESRCH if it has exited and has no stack; -EOPNOTSUPP if the kernel exports no way to
 *	walk another task's stack.
 */
int stackbuf_save_task(struct task_struct *task, unsigned long tag, u32 *id);

/**
 * stackbuf_print() - print the caller's stack to the kernel log
 *
 * Like dump_stack(), it prints a line "Stack trace(BYTES):", then one line per frame.  BYTES is the
 * length of the frames' text in the text log.  No other CPU prints in between, unless one holds
 * printk's lock for more than 100 ms.  Nothing is recorded.
 *
 * Context: Any context; in NMI it prints nothing and counts STACKBUF_LOST_PRINT.  It waits for
 *	other CPUs for at most 100 ms, with interrupts in the caller's state.  It uses 1.2 KiB of
 *	the stack besides what printk() needs.
 */
void stackbuf_print(void);

/**
 * stackbuf_print_id() - print a stack that was saved before
 * @id: from stackbuf_save()
 *
 * If the stack is no longer in the table, or never was, it prints one line that says so.  It also
 * does so if an older stack may have had the id (STACKBUF_STACK_AGAIN), and counts that as
 * STACKBUF_LOST_PRINT.  An id is reused after 2^(32 - id_bits) rounds of eviction: 262,144 with the
 * table's default size, 1,024 with the largest.
 *
 * Context: Any context; as stackbuf_print().
 */
void stackbuf_print_id(u32 id);

/**
 * stackbuf_trace_create() - allocate an empty trace
 * @gfp: as for kmalloc()
 *
 * A struct stackbuf_trace may also be embedded or static: empty it with stackbuf_trace_zero().
 *
 * Context: As kmalloc() with @gfp.
 * Return: the trace, or NULL if the allocation failed.
 */
struct stackbuf_trace *stackbuf_trace_create(gfp_t gfp);

/**
 * stackbuf_trace_destroy() - free a trace
 * @trace: from stackbuf_trace_create(), or NULL
 *
 * Context: As kfree().
 */
void stackbuf_trace_destroy(struct stackbuf_trace *trace);

/**
 * stackbuf_trace_save() - store the caller's stack in a trace
 * @trace: overwritten by the result
 *
 * Context: Any context.
 */
void stackbuf_trace_save(struct stackbuf_trace *trace);

/**
 * stackbuf_trace_save_task() - store another task's stack in a trace
 * @trace: overwritten by the result; empty after an error
 * @task: the task; the caller holds a reference.  The current task is allowed
 *
 * Context: Any context except NMI.
 * Return: 0, -EBUSY, -ESRCH or -EOPNOTSUPP as stackbuf_save_task().
 */
int stackbuf_trace_save_task(struct stackbuf_trace *trace, struct task_struct *task);

/**
 * stackbuf_trace_print() - print a trace to the kernel log, one line per frame
 * @trace: the trace
 *
 * Context: Any context; as stackbuf_print().
 */
void stackbuf_trace_print(const struct stackbuf_trace *trace);

/**
 * stackbuf_trace_print_short() - print all frames on one line
 * @trace: the trace
 *
 * A record of the kernel log holds about 1,000 bytes; a longer line continues in the next record.
 *
 * Context: Any context; as stackbuf_print().
 */
void stackbuf_trace_print_short(const struct stackbuf_trace *trace);

/**
 * stackbuf_trace_snprint() - render a trace into memory
 * @buf: the result, terminated if @size is not 0
 * @size: bytes at @buf
 * @trace: the trace
 * @style: one line per frame, or all on one
 *
 * Context: Any context.
 * Return: length of the whole text without the terminating NUL, as snprintf(); @size or more means
 *	that the text was cut.
 */
int stackbuf_trace_snprint(char *buf, size_t size, const struct stackbuf_trace *trace,
			   enum stackbuf_trace_style style);

/*
 * The barrier after the call prevents a tail call: the compiler would turn it into a jump, and the
 * calling function would be missing from the trace.
 */
#ifndef STACKBUF_RECORDER
#define STACKBUF_CALL(call)		({ __auto_type __saved = (call); barrier(); __saved; })
#define stackbuf_save()			STACKBUF_CALL(stackbuf_save())
#define stackbuf_save_tag(tag)		STACKBUF_CALL(stackbuf_save_tag(tag))
#define stackbuf_save_task(task, tag, id) STACKBUF_CALL(stackbuf_save_task(task, tag, id))
#define stackbuf_trace_save_task(trace, task) STACKBUF_CALL(stackbuf_trace_save_task(trace, task))
#define stackbuf_print()		({ stackbuf_print(); barrier(); })
#define stackbuf_trace_save(trace)	({ stackbuf_trace_save(trace); barrier(); })
#endif

#else /* STACKBUF_DISABLED: nothing is recorded or printed, all stacks are empty */

static inline u32 stackbuf_save(void) { return 0; }
static inline u32 stackbuf_save_tag(unsigned long tag) { return 0; }
static inline u32 stackbuf_save_regs(struct pt_regs *regs, unsigned long tag) { return 0; }

static inline int stackbuf_save_task(struct task_struct *task, unsigned long tag, u32 *id)
{
	if (id)
		*id = 0;
	return 0;
}

static inline void stackbuf_print(void) {}
static inline void stackbuf_print_id(u32 id) {}
static inline struct stackbuf_trace *stackbuf_trace_create(gfp_t gfp) { return NULL; }
static inline void stackbuf_trace_destroy(struct stackbuf_trace *trace) {}
static inline void stackbuf_trace_save(struct stackbuf_trace *trace) { stackbuf_trace_zero(trace); }

static inline int stackbuf_trace_save_task(struct stackbuf_trace *trace, struct task_struct *task)
{
	stackbuf_trace_zero(trace);
	return 0;
}

static inline void stackbuf_trace_print(const struct stackbuf_trace *trace) {}
static inline void stackbuf_trace_print_short(const struct stackbuf_trace *trace) {}

static inline int stackbuf_trace_snprint(char *buf, size_t size,
					 const struct stackbuf_trace *trace,
					 enum stackbuf_trace_style style)
{
	if (size)
		buf[0] = '\0';
	return 0;
}

#endif /* STACKBUF_DISABLED */
#endif /* __KERNEL__ */
#endif /* STACKBUF_H */
