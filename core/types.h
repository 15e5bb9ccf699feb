/* SPDX-License-Identifier: GPL-2.0 */
/*
 * types.h - sizes, and the data of a save
 *
 * In these headers, any context may call a function whose comment names no context.
 */
#ifndef STACKBUF_TYPES_H
#define STACKBUF_TYPES_H

#include <linux/bitops.h>
#include <linux/kallsyms.h>
#include <linux/log2.h>
#include <linux/percpu.h>

#include "arch.h"
#include "compat.h"

/* Declares the calls themselves, not the macros that keep a call out of tail position */
#define STACKBUF_RECORDER
#include "../stackbuf.h"

/* Sizes of the arrays.  The Makefile checks STACKBUF_EVENTS_KB etc. */
#define SBUF_KB_PER_PAGE		(STACKBUF_PAGE_SIZE / 1024)
#define SBUF_EVENT_PAGES		(STACKBUF_EVENTS_KB / SBUF_KB_PER_PAGE)
#define SBUF_STACK_PAGES		(STACKBUF_STACKS_KB / SBUF_KB_PER_PAGE)
#define SBUF_TEXT_PAGES		(STACKBUF_TEXT_KB / SBUF_KB_PER_PAGE)

/* The low SBUF_ID_BITS of an id are the number of the stack's first granule */
#define SBUF_PAGE_GRANULES	(STACKBUF_PAGE_SIZE / STACKBUF_GRANULE)
#define SBUF_GRANULES		(SBUF_STACK_PAGES * SBUF_PAGE_GRANULES)
#define SBUF_ID_BITS		order_base_2(SBUF_GRANULES)

/* Flags of a save, bits */
enum sbuf_flags {
	SBUF_TAGGED = 0x1,	/* there is a tag */
	SBUF_PROBED = 0x2,	/* a probe set by the parameter probe was hit, ... */
	SBUF_ENTRY = 0x4,	/* ... where sbuf_symbol_is_entry() returned true */
	SBUF_SKIP = 0x8,	/* leave out the innermost frame */
	SBUF_TRACEPOINT = 0x10,	/* the probe is on a tracepoint */
	SBUF_REFERS = 0x20,	/* a pair will refer to the stack that the probe saves */
};

/*
 * What filters decide about an event.  sbuf_save() with SBUF_REFERS returns the negative ones, as
 * filters name what they exclude, but a sample or a limit does not name what it leaves out
 */
enum sbuf_admission {
	SBUF_NOT_SAMPLED = -3,	/* not in the sample, over the limit, after the countdown */
	SBUF_NOT_ADMITTED = -1,	/* as other filters name, or recording is off */
	SBUF_ADMITTED = 1,
	SBUF_COUNTED_DOWN,	/* admitted as one of the last events, after a trigger's hit */
};

/*
 * Returned, too: recorded where RCU does not watch, so nothing waits for what a pair does with the
 * stack.  No error of sbuf_unwind_task() has this value
 */
#define SBUF_NOT_WAITED_FOR	(-2)

/* The stack to save */
enum sbuf_from {
	SBUF_FRAME,		/* the stack of an exported function's caller */
	SBUF_REGS,		/* the current task's or CPU's, starting from registers */
	SBUF_TASK,		/* the stack of a task other than current */
};

/*
 * When this CPU's last event occurred, for returns: see return.c.  Where local_clock() is clamped
 * until the next tick, as with an unstable TSC, it has one time for many events
 */
enum sbuf_at_once {
	SBUF_ANY_TIME,		/* as the clock reads */
	SBUF_LATER,		/* before this event: their times differ */
	SBUF_AT_ONCE,		/* at the same time */
};

/**
 * struct sbuf_save - one save, as an entry point describes it
 * @frame:	__builtin_frame_address(0) of the exported function
 * @regs:	registers to start from
 * @task:	the task
 * @tag:	with SBUF_TAGGED: stored with the event
 * @context:	the context that the code under study ran in
 * @from:	enum sbuf_from: which of the first three fields is set
 * @at_once:	enum sbuf_at_once
 * @flags:	enum sbuf_flags
 *
 * Small, as it is passed by value on the stack under study.  It has no padding, which the compiler
 * would clear on the path of a known stack.
 */
struct sbuf_save {
	union {
		const unsigned long *frame;
		struct pt_regs *regs;
		struct task_struct *task;
	};
	unsigned long tag;
	enum stackbuf_context context;
	u8 from, at_once;
	u16 flags;
};

static inline struct task_struct *sbuf_saved_task(const struct sbuf_save *save)
{
	return save->from == SBUF_TASK ? save->task : current;
}

/**
 * struct sbuf_start - where a walk starts: the unwinder's three values
 * @ip:		instruction pointer; 0: this walk cannot be replaced by recall
 * @sp:		stack pointer
 * @bp:		where the frame pointer register was saved
 * @caller:	distinguishes paths to this place, or 0; see sbuf_likely_caller()
 */
struct sbuf_start {
	unsigned long ip, sp;
	const unsigned long *bp;
	unsigned long caller;
};

/*
 * Return the instruction pointer of a start, for recall.  A walk that leaves out its first frame
 * gets one that no other walk has
 */
static __always_inline unsigned long sbuf_start_ip(unsigned long ip, bool skip)
{
	return skip ? ip ^ 1UL << 63 : ip;
}

/* Return true if the trace from a start at @ip includes the first frame */
static inline bool sbuf_start_has_first(unsigned long ip)
{
	return (long)ip < 0;
}

/* Most frames kept of a trace */
#define SBUF_FRAMES		STACKBUF_FRAMES
/* Frames of a walk: one more shows that a trace is cut, and one may be skipped */
#define SBUF_WALK_MAX		(SBUF_FRAMES + 2)

static_assert(SBUF_FRAMES <= STACKBUF_DEPTH_MAX);

/**
 * struct sbuf_walk - the unwinder's registers in each frame, for recall
 * @epoch:	sbuf_recall_epoch when the walk began
 * @cacheable:	the walk reached the end and met nothing that recall keeps out
 * @user_regs:	the walk ended at user-mode registers
 * @caller:	as in struct sbuf_start
 * @flags:	SBUF_PROBED etc.
 * @start_regs:	the registers that the walk began with
 * @sp:		stack pointer in each frame, and where @user_regs lie
 * @bp:		frame pointer register in each frame, and in @user_regs
 * @regs:	where the registers lie that were saved when each frame was interrupted, or 0
 * @stack:	beginning of the stack that the walk began on
 * @frame:	flags of each frame, see recall_learn.c
 * @skip:	number of innermost frames that are left out of the trace: 0 or 1
 * @builder:	memory for struct builder
 * @known:	constraints of each frame's ip, or NULL, once @name is no longer needed
 * @name:	for the name of a frame's symbol
 */
struct sbuf_walk {
	u32 epoch;
	bool cacheable, user_regs;
	enum sbuf_flags flags;
	unsigned long caller;
	const struct pt_regs *start_regs;
	unsigned long sp[SBUF_WALK_MAX], bp[SBUF_WALK_MAX], regs[SBUF_WALK_MAX];
	unsigned long stack;
	u8 frame[SBUF_WALK_MAX];
	unsigned int skip;
	u64 builder[40];
	union {
		struct sbuf_constraint *known[SBUF_FRAMES];
		char name[KSYM_SYMBOL_LEN];
	};
};

/**
 * struct sbuf_trace - a trace as the stack table stores it
 * @nr:		number of frames, 1 to SBUF_FRAMES
 * @words:	number of words in @frames
 * @hash:	stackbuf_hash() of @frames
 * @cut:	the stack had more frames
 * @frames:	encoded as in struct stackbuf_stack
 */
struct sbuf_trace {
	unsigned int nr, words;
	u32 hash;
	bool cut;
	u32 frames[SBUF_FRAMES * 3];
};

#define SBUF_NESTING	4	/* saves that can interrupt each other on a CPU */

/* Memory of one save, of those that may interrupt each other on a CPU */
struct sbuf_scratch {
	u8 walks_in;		/* 1 + the context of a save that walks; 0: none */
	struct pt_regs regs;
	unsigned long pc[SBUF_WALK_MAX];
	struct sbuf_walk walk;
	struct sbuf_trace trace;
};

/**
 * struct sbuf_clock - converts one CPU's cycles to printk's clock, see clock.c
 * @cycles:	sbuf_cycles() when the clock was last read
 * @ns:		the clock's value at that time
 * @rate:	ns * 2^32 per cycle; 0: not known
 * @span:	number of cycles after @cycles that replace the clock; 0: none, or an update is in
 *		progress
 */
struct sbuf_clock {
	u64 cycles, ns, rate, span;
};

/**
 * struct sbuf_cpu - the recorder's data of one CPU
 * @clock:	see clock.h
 * @page:	the page that this CPU appends to, or NULL
 * @pos:	word of @page where the next event begins, or an earlier event
 * @chain_end:	a compact event may be appended while @pos < @chain_end; 0: the next event must be
 *		FULL
 * @appending:	an append is in progress on this CPU
 * @waiting:	the ring refused this CPU a page, so it gets one before CPUs that it did not refuse
 * @time:	time of the last event, ns
 * @task:	PID of the last event's task, and TGID in the upper half
 * @comm:	the task's command, as in an event
 * @recorded:	events recorded by this CPU, except by NMIs that interrupted an append
 * @nested:	events recorded by NMIs that interrupted an append
 * @verify_in:	recalls up to the next one that is verified
 * @irq_stack:	beginning of this CPU's stack for interrupts, once a walk has been there
 * @nmi_stack:	beginning of this CPU's stack for NMIs, once a walk has been there
 * @nest:	walks in progress on this CPU
 * @rcu_idle:	those of them that began while RCU did not watch the CPU
 * @return_node: the kernel's node of the call whose return was recorded last
 * @return_value: its return value
 * @return_time: the time of its event
 * @recursion:	contexts in which a handler runs on this CPU, see hit.h
 * @call_regs:	for each context, registers at the call, or its caller's, if the handler gets none
 * @scratch:	memory for each walk in progress
 */
struct sbuf_cpu {
	struct sbuf_clock clock;
	struct stackbuf_events_page *page;
	u32 pos, chain_end;
	bool appending, waiting;
	u64 time, task, comm[2], recorded, nested;
	unsigned long verify_in;
	int nest, rcu_idle;
	unsigned long irq_stack, nmi_stack;
	const struct llist_node *return_node;
	unsigned long return_value;
	u64 return_time;
	u32 recursion;
	struct pt_regs call_regs[STACKBUF_NMI + 2];
	struct sbuf_scratch scratch[SBUF_NESTING];
};

/* NULL before init and after exit, when parameters can still be written */
extern struct sbuf_cpu __percpu *sbuf_cpu;

/**
 * struct sbuf_event - an event to append
 * @save:	the save
 * @id:		id of its stack
 * @task:	sbuf_task_word() of the task; this and @comm are set when the event is appended
 * @comm:	the task's command
 * @time:	in: the time that the caller read, ns, or 0; out: the event's time
 */
struct sbuf_event {
	const struct sbuf_save *save;
	u32 id;
	u64 task, comm[2], time;
};

#endif /* STACKBUF_TYPES_H */
