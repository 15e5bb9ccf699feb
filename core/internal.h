/* SPDX-License-Identifier: GPL-2.0 */
/*
 * internal.h - what the files of core/ offer each other, a section a file
 *
 * recall.h, probe.h and depth.h have what the parts offer that a build may lack, unwind.h and
 * records.h what depends on the unwinder, ring.h and save.h what is inlined into the path of
 * an event.  A file relies on what these headers include.
 *
 * Any context may call a function whose comment names no context.
 */
#ifndef STACKBUF_INTERNAL_H
#define STACKBUF_INTERNAL_H

#include <linux/atomic.h>
#include <linux/init.h>
#include <linux/kallsyms.h>
#include <linux/log2.h>
#include <linux/percpu.h>
#include <linux/sched/clock.h>
#include <linux/workqueue.h>
#include <asm/local.h>

#include "compat.h"

/* The calls themselves, not the macros that keep a call out of tail position */
#define STACKBUF_RECORDER
#include "../stackbuf.h"

/* Sizes of the arrays: the Makefile checks STACKBUF_EVENTS_KB and the others */
#define SBUF_KB_PER_PAGE		(STACKBUF_PAGE_SIZE / 1024)
#define SBUF_EVENT_PAGES		(STACKBUF_EVENTS_KB / SBUF_KB_PER_PAGE)
#define SBUF_STACK_PAGES		(STACKBUF_STACKS_KB / SBUF_KB_PER_PAGE)
#define SBUF_TEXT_PAGES		(STACKBUF_TEXT_KB / SBUF_KB_PER_PAGE)

/* The low bits of an id are the stack's first granule */
#define SBUF_PAGE_GRANULES	(STACKBUF_PAGE_SIZE / STACKBUF_GRANULE)
#define SBUF_GRANULES		(SBUF_STACK_PAGES * SBUF_PAGE_GRANULES)
#define SBUF_ID_BITS		order_base_2(SBUF_GRANULES)

/* --------------------------------------------------- what a save works on --- */

/* What is known of a save, bits */
enum sbuf_flags {
	SBUF_TAGGED = 0x1,	/* there is a tag */
	SBUF_PROBED = 0x2,	/* a probe set by the parameter probe hit, ... */
	SBUF_ENTRY = 0x4,	/* ... where sbuf_symbol_is_entry() returned true */
};

/* Whose stack is saved */
enum sbuf_from {
	SBUF_FRAME,		/* that of an exported function's caller */
	SBUF_REGS,		/* the current task's or CPU's, from registers on */
	SBUF_TASK,		/* that of a task other than current */
};

/**
 * struct sbuf_save - what a way in wants saved
 * @frame:	__builtin_frame_address(0) of the exported function
 * @regs:	registers to start from
 * @task:	the task
 * @tag:	with SBUF_TAGGED: kept with the event
 * @context:	what the code under study ran in
 * @from:	enum sbuf_from: which of the first three is set
 * @flags:	enum sbuf_flags
 *
 * Small, as it is passed by value on the stack under study; without gaps, which the compiler would
 * clear on the path of a known stack.
 */
struct sbuf_save {
	union {
		const unsigned long *frame;
		struct pt_regs *regs;
		struct task_struct *task;
	};
	unsigned long tag;
	enum stackbuf_context context;
	u16 from;
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
	unsigned long ip;
	unsigned long sp;
	const unsigned long *bp;
	unsigned long caller;
};

/**
 * struct sbuf_walk - what the unwinder had in each frame, for recall
 * @epoch:	sbuf_recall_epoch when the walk began
 * @cacheable:	nothing was met that recall keeps out, and the end was reached
 * @user_regs:	the walk ended at registers of user mode
 * @caller:	as in struct sbuf_start
 * @flags:	SBUF_PROBED etc.
 * @start_regs:	the registers that the walk began with
 * @sp:		stack pointer in each frame, and where @user_regs lie
 * @bp:		frame pointer register in each frame, and in @user_regs
 * @regs:	where the registers lie that were saved where each frame was interrupted, or 0
 * @stack:	where the stack begins that the walk began on
 * @switches:	frames that change the stack, a bit each: see switches_stack()
 * @builder:	memory for struct builder
 * @name:	for the name of a frame's symbol
 */
struct sbuf_walk {
	u32 epoch;
	bool cacheable;
	bool user_regs;
	enum sbuf_flags flags;
	unsigned long caller;
	const struct pt_regs *start_regs;
	unsigned long sp[STACKBUF_DEPTH_MAX + 1];
	unsigned long bp[STACKBUF_DEPTH_MAX + 1];
	unsigned long regs[STACKBUF_DEPTH_MAX + 1];
	unsigned long stack;
	u64 switches;
	u64 builder[34];
	char name[KSYM_SYMBOL_LEN];
};

/**
 * struct sbuf_trace - a trace as the stack table keeps it
 * @nr:		number of frames, 1 to STACKBUF_DEPTH_MAX
 * @words:	number of words in @frames
 * @hash:	stackbuf_hash() over these
 * @cut:	the stack had more frames
 * @frames:	encoded as in struct stackbuf_stack
 */
struct sbuf_trace {
	unsigned int nr;
	unsigned int words;
	u32 hash;
	bool cut;
	u32 frames[STACKBUF_DEPTH_MAX * 3];
};

#define SBUF_NESTING	4	/* saves that can interrupt each other on a CPU */

/* Memory of one of the saves that interrupted each other on a CPU */
struct sbuf_scratch {
	struct pt_regs regs;
	unsigned long pc[STACKBUF_DEPTH_MAX + 1];	/* one more shows that a trace is cut */
	struct sbuf_walk walk;
	struct sbuf_trace trace;
};

/**
 * struct sbuf_cpu - what a CPU records with
 * @page:	the page that this CPU appends to, or NULL
 * @pos:	word of @page where the next event goes, or one before that
 * @chain_end:	if the event before @pos is of @task and @comm, at @time: the bound that
 *		@pos must be below for the next; else 0
 * @appending:	an append is in progress on this CPU
 * @waiting:	the ring refused this CPU a page, so it gets one before CPUs that it did not refuse
 * @time:	time of the last event, ns
 * @task:	its PID, and TGID in the upper half
 * @comm:	the task's command, as in an event
 * @recorded:	events recorded by this CPU
 * @verify_in:	recalls until the one that is verified
 * @irq_stack:	where this CPU's stack for interrupts begins, once a walk has been there
 * @nest:	saves that have not ended on this CPU
 * @scratch:	one for each of them
 */
struct sbuf_cpu {
	struct stackbuf_events_page *page;
	u32 pos;
	u32 chain_end;
	bool appending;
	bool waiting;
	u64 time;
	u64 task;
	u64 comm[2];
	u64 recorded;
	local_t verify_in;
	int nest;
	unsigned long irq_stack;
	struct sbuf_scratch scratch[SBUF_NESTING];
};

/* NULL before init and after exit, when parameters can still be written */
extern struct sbuf_cpu __percpu *sbuf_cpu;

/**
 * struct sbuf_event - an event to append
 * @save:	what is saved
 * @id:		id of its stack
 * @task:	sbuf_task_word() of the task; this and the rest is set when the event is appended
 * @comm:	the task's command
 * @time:	ns
 */
struct sbuf_event {
	const struct sbuf_save *save;
	u32 id;
	u64 task;
	u64 comm[2];
	u64 time;
};

/* ------------------------------------------------------------- memory.c --- */

/* Fill in the arrays' page headers and stackbuf_info, before anything is recorded */
void __init sbuf_memory_init(void);

/* Count an event in this CPU's slot */
void sbuf_count(enum stackbuf_counter why);
/* Return the sum of a counter over all CPUs */
u64 sbuf_counter(enum stackbuf_counter why);

/* Set or clear bits of stackbuf_info.state */
void sbuf_state_change(u32 bits, bool on);

/* Record that a module is loaded.  Process context, before the module's code runs */
void sbuf_memory_note_module(const struct module *module);

/* Counters in the arrays are plain u64 to readers, atomic to the module */
static_assert(sizeof(atomic64_t) == sizeof(u64));

static inline void sbuf_add(u64 *counter, s64 n)
{
	atomic64_add(n, (atomic64_t *)counter);
}

/* A memory image may hold older copies of a page in its page cache: the highest seq counts */
static inline void sbuf_page_changed(struct stackbuf_page *page)
{
	atomic64_inc((atomic64_t *)&page->seq);
}

/* Recording is on and no filter is in force: the one test that every event takes */
static inline bool sbuf_recording_unfiltered(void)
{
	return READ_ONCE(stackbuf_info.state) == STACKBUF_ENABLED;
}

/* Recording is on, with filters or without */
static inline bool sbuf_recording(void)
{
	return (READ_ONCE(stackbuf_info.state) & ~STACKBUF_FILTERED) == STACKBUF_ENABLED;
}

/* printk's clock: monotonic on one CPU, takes no lock */
static inline u64 sbuf_now(void)
{
	return local_clock();
}

/* ------------------------------------------------------------ request.c --- */

enum sbuf_worker {
	SBUF_WORKER_EVICT,	/* evict.c: the stack table fills up */
	SBUF_WORKER_SHARE,	/* ring.c: all pages are open */
	SBUF_WORKER_RECYCLE,	/* recall_cache.c: half of the cache is full */
	SBUF_WORKER_REPORT,	/* recall.c: a recalled stack was wrong */
	SBUF_WORKERS
};

/* The file that has a worker initialises its element; an element without function is unused */
extern struct work_struct sbuf_worker[SBUF_WORKERS];

/* Start a worker */
void sbuf_worker_request(enum sbuf_worker what);
/* Pass on requests of a CPU that was going offline */
void sbuf_worker_pass_late(void);
/* Wait until no worker runs or is requested.  Process context, after the last save */
void sbuf_worker_exit(void);

/* -------------------------------------------------------------- table.c --- */

/* Heads of the chains: ids, or 0 */
#define SBUF_BUCKETS	roundup_pow_of_two(SBUF_GRANULES / 2)
extern u32 sbuf_table_bucket[SBUF_BUCKETS];

extern atomic_t sbuf_table_used;
/* Pages searched without success since granules were last allocated or freed */
extern atomic_t sbuf_table_misses;
/* Rounds of eviction, see table.c; written by evict.c */
extern u64 sbuf_table_round;

/* Encode and hash the @nr addresses @pc, 1 to STACKBUF_DEPTH_MAX; @cut: the stack had more */
void sbuf_trace_encode(struct sbuf_trace *trace, const unsigned long *pc, unsigned int nr,
		       bool cut);
/* Decode frames, which may be any data; return how many are in @pc, up to STACKBUF_DEPTH_MAX */
unsigned int sbuf_trace_decode(unsigned long *pc, const u32 *frames, unsigned int words);

/*
 * Return the stack of a trace, NULL if the table has no room; set *@is_new if this call inserted
 * it.  Interrupts are off, and off until the event is appended: eviction waits for that.
 */
struct stackbuf_stack *sbuf_table_get(const struct sbuf_trace *trace, bool *is_new);
/* Free @n granules, where no CPU finds a stack any more */
void sbuf_table_free(u32 granule, unsigned int n);
/*
 * Wait until saves in progress on any CPU have appended their event or given up.  Process
 * context, under cpus_read_lock()
 */
void sbuf_synchronize_saves(void);

static inline unsigned int sbuf_table_granules(unsigned int words)
{
	return DIV_ROUND_UP(sizeof(struct stackbuf_stack) + words * sizeof(u32), STACKBUF_GRANULE);
}

static inline struct stackbuf_stack *sbuf_table_at(u32 granule)
{
	return (void *)((char *)stackbuf_stacks + (size_t)granule * STACKBUF_GRANULE);
}

static inline u32 sbuf_id_granule(u32 id)
{
	return id & ((1U << SBUF_ID_BITS) - 1);
}

/* The stack of an id that is known to be valid: it comes from a chain or from the ring */
static inline struct stackbuf_stack *sbuf_table_stack(u32 id)
{
	return sbuf_table_at(sbuf_id_granule(id));
}

/* --------------------------------------------------------------- ring.c --- */

/* Number of the page that was claimed last, counted from 1 over the whole ring */
extern atomic64_t sbuf_ring_head;
/* Set by evict.c if no event came into the ring for a while because the table is full */
extern bool sbuf_ring_stalled;

void __init sbuf_ring_init(void);

/* Append an event on @cpu, which is this CPU, with interrupts off; false if there is no page */
bool sbuf_ring_append(struct sbuf_cpu *cpu, struct sbuf_event *event);
/* Claim the next page now if that of @cpu, which is this CPU, is full */
void sbuf_ring_take_page_ahead(struct sbuf_cpu *cpu);
/*
 * Close a CPU's page before it is full: @always, or if eviction may want it.  @cpu is this CPU,
 * with interrupts off, or is offline.
 */
void sbuf_ring_close_page_early(struct sbuf_cpu *cpu, bool always);
/* Give up a page that the caller owns: any CPU may claim it */
void sbuf_ring_close_page(struct stackbuf_events_page *page);
/* Add the events of a page with number @seq, which the caller owns, to their stacks' counts */
void sbuf_ring_count_page(const struct stackbuf_events_page *page, u64 seq);
/* Request pages, after an event was refused one */
void sbuf_ring_request_page(void);
/* Return the number of events that all CPUs recorded */
u64 sbuf_ring_recorded(void);

/* --------------------------------------------------------------- text.c --- */

struct sbuf_draft;

/*
 * Claim the text of a stack, with interrupts off.  Return where to render it; NULL if the stack
 * has a text, another context claimed it, or no draft is free: its next event tries again.
 */
struct sbuf_draft *sbuf_text_claim(struct stackbuf_stack *stack);
/* Render a stack and its first event; @name is memory for a symbol, KSYM_SYMBOL_LEN bytes */
void sbuf_text_render(struct sbuf_draft *draft, const struct sbuf_event *event,
		      const unsigned long *pc, unsigned int nr, bool cut, char *name);
/* Copy a rendered draft, and others that are ready, into the text log */
void sbuf_text_publish(struct sbuf_draft *ready);
/* Copy a command of TASK_COMM_LEN bytes, terminate it, replace what is not printable by '?' */
void sbuf_text_printable(char *out, const char *comm);

/* -------------------------------------------------------------- evict.c --- */

void __init sbuf_evict_init(void);

/* Request eviction if the table fills up; after a stack was inserted or refused */
void sbuf_evict_request(void);
/* Mark stacks stale that have frames in code that is about to be freed.  Process context */
void sbuf_evict_expire(unsigned long text, unsigned long size);

/* ------------------------------------------------------------- module.c --- */

int __init sbuf_modules_init(void);
void sbuf_modules_exit(void);

/* --------------------------------------------------------------- recall.c --- */

/* Walks and what was learnt from them carry it: void if it was another.  0: recall is off */
extern u32 sbuf_recall_epoch;

/* ------------------------------------------------------------- symbol.c --- */

/* The function that an address is in; @len is the length of its @name */
struct sbuf_symbol {
	unsigned long start;
	unsigned long size;
	unsigned int len;
	bool of_module;
	char name[KSYM_SYMBOL_LEN];
};

/* Look up the symbol at any address; false if there is none, and @symbol is undefined */
bool sbuf_symbol_at(struct sbuf_symbol *symbol, unsigned long addr);
/*
 * With frame records only: whether a function has none at @pc, so that its caller is in the link
 * register (arm64) or on top of the stack (x86) only.  false also if that is not known.  Caches
 * its answers.
 */
bool sbuf_symbol_is_frameless(unsigned long pc);
/*
 * What sbuf_likely_caller() and recall must know of a probe's place: with frame records
 * sbuf_symbol_is_frameless(), else whether @pc is in a function's first instructions.  Process
 * context; takes milliseconds.
 */
bool sbuf_symbol_is_entry(unsigned long pc);

/* ------------------------------------------------------------- filter.c --- */

/* The parameters of filters */
struct sbuf_filter {
	u32 pid;	/* record this thread group; 0: all */
	int cpu;	/* record on this CPU; -1: all */
	u32 every;	/* of these, record on each CPU the first one and then one in @every */
	u32 limit;	/* of these, record at most @limit; 0: all */
	char comm[TASK_COMM_LEN];	/* record tasks of this name, NUL-terminated; "": all */
};

/* Written under the lock of parameters; in force after sbuf_filter_apply() */
extern struct sbuf_filter sbuf_filter;

/*
 * Whether to record an event of @task, where sbuf_recording_unfiltered() is false; if not, it is
 * counted.  Preemption is disabled until the event is recorded; if that fails, call
 * sbuf_filter_undo_admit().
 */
bool sbuf_filter_admit(const struct task_struct *task, enum stackbuf_context context);
/*
 * The current process opens an array: its own calls are kept out until sbuf_filter_remove_reader()
 * is given what this returns.  Process context.
 */
int sbuf_filter_add_reader(void);
void sbuf_filter_remove_reader(int reader);
/* An admitted event was lost: another may take its place within the limit */
void sbuf_filter_undo_admit(void);

/*
 * Put what was written to sbuf_filter into force, and restart the count of events up to the limit
 * (also if the same limit was written again) or to the next sample.  Process context, under the
 * lock of parameters.
 */
void sbuf_filter_apply(void);
void sbuf_filter_apply_limit(void);
void sbuf_filter_apply_every(void);

/* -------------------------------------------------------------- print.c --- */

/* Print a line to the kernel log, with any lock held; not in NMI */
__printf(1, 2) void sbuf_printk(const char *fmt, ...);

/*
 * Copy the stack with @id, any number, and its flags.  Return whether there is one.  If it has
 * STACKBUF_STACK_AGAIN, an older stack may have had the id; only an id that was in use all the
 * time, as that of an event in the ring, is certain to stand for this stack.
 */
bool sbuf_table_trace(struct stackbuf_trace *trace, u32 id, u8 *flags);

/* -------------------------------------------------------------- panic.c --- */

/* Parameter panic_dump, and what follows a write: a message if nothing will be printed */
#define SBUF_PANIC_DUMP_MAX	1000
extern unsigned int sbuf_panic_dump;
void sbuf_panic_apply_dump(void);

/* Stop recording; @why is STACKBUF_FROZEN_OOPS, STACKBUF_FROZEN_PANIC or STACKBUF_UNLOADED */
void sbuf_freeze(u32 why);

int __init sbuf_panic_init(void);
void sbuf_panic_exit(void);

/* ------------------------------------------------------------- params.c --- */

/* Parameter enable, as last written */
extern bool sbuf_enable;

void __init sbuf_debugfs_init(void);
void sbuf_debugfs_exit(void);

#endif /* STACKBUF_INTERNAL_H */
