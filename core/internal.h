/* SPDX-License-Identifier: GPL-2.0 */
/*
 * internal.h - what the files of core/ offer each other
 *
 * A section for each file.  recall.h, probe.h and depth.h do it for the parts that can be left
 * out, unwind.h for what depends on the unwinder, ring.h and capture.h for what is inlined into
 * the path of an event.
 */
#ifndef STACKBUF_INTERNAL_H
#define STACKBUF_INTERNAL_H

#include <linux/atomic.h>
#include <linux/init.h>
#include <linux/kallsyms.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <asm/local.h>

#include "compat.h"

/* The calls themselves, not the macros that keep a call out of tail position */
#define STACKBUF_RECORDER
#include "../stackbuf.h"

/* Sizes of the arrays: the Makefile checks STACKBUF_EVENTS_KB and the others */
#define SB_KB_PER_PAGE		(STACKBUF_PAGE_SIZE / 1024)
#define SB_EVENT_PAGES		(STACKBUF_EVENTS_KB / SB_KB_PER_PAGE)
#define SB_STACK_PAGES		(STACKBUF_STACKS_KB / SB_KB_PER_PAGE)
#define SB_TEXT_PAGES		(STACKBUF_TEXT_KB / SB_KB_PER_PAGE)

/* The low bits of an id are the stack's first granule */
#define SB_PAGE_GRANULES	(STACKBUF_PAGE_SIZE / STACKBUF_GRANULE)
#define SB_GRANULES		(SB_STACK_PAGES * SB_PAGE_GRANULES)
#define SB_ID_BITS		order_base_2(SB_GRANULES)

/* --------------------------------------------------- what a save works on --- */

/* What is known of a save, bits */
#define SB_TAGGED	0x1	/* there is a tag */
#define SB_PROBED	0x2	/* a probe set by the parameter probe hit, ... */
#define SB_ENTRY	0x4	/* ... at a place for which sb_is_entry() returned true */

/**
 * struct sb_start - where a walk starts: the unwinder's three values
 * @ip:		instruction pointer; 0: this walk cannot be replaced by recall
 * @sp:		stack pointer
 * @bp:		where the frame pointer register was saved
 * @hint:	distinguishes paths to this place, or 0; see sb_start_hint()
 */
struct sb_start {
	unsigned long ip;
	unsigned long sp;
	const unsigned long *bp;
	unsigned long hint;
};

/**
 * struct sb_walk - what the unwinder had in each frame, for recall
 * @epoch:	sb_recall_epoch when the walk began
 * @fit:	nothing that recall.c keeps out was met, and the end was reached
 * @user_regs:	the walk ended at registers of user mode
 * @hint:	as in struct sb_start
 * @how:	SB_TAGGED etc.
 * @r10:	register where the walk began
 * @r13:	register where the walk began
 * @sp:		stack pointer in each frame, and where @user_regs lie
 * @bp:		frame pointer register in each frame, and in @user_regs
 * @regs:	where the registers lie that were saved where each frame was
 *		interrupted, or 0
 * @stack:	where the stack begins that the walk began on
 * @switches:	frames that change the stack, a bit each: see sb_switches()
 * @draft:	for struct sb_draft_layout
 * @name:	for the name of a frame's symbol
 */
struct sb_walk {
	u32 epoch;
	bool fit;
	bool user_regs;
	u8 how;
	unsigned long hint;
	unsigned long r10;
	unsigned long r13;
	unsigned long sp[STACKBUF_DEPTH_MAX + 1];
	unsigned long bp[STACKBUF_DEPTH_MAX + 1];
	unsigned long regs[STACKBUF_DEPTH_MAX + 1];
	unsigned long stack;
	u64 switches;
	u64 draft[34];
	char name[KSYM_SYMBOL_LEN];
};

/**
 * struct sb_trace - a trace as the stack table keeps it
 * @nr:		number of frames, 1 to STACKBUF_DEPTH_MAX
 * @words:	number of words in @frames
 * @hash:	stackbuf_hash() over these
 * @cut:	the stack had more frames
 * @frames:	encoded as in struct stackbuf_stack
 */
struct sb_trace {
	unsigned int nr;
	unsigned int words;
	u32 hash;
	bool cut;
	u32 frames[STACKBUF_DEPTH_MAX * 3];
};

#define SB_LEVELS	4	/* saves that can interrupt each other on a CPU */

/* Memory of one of the saves that interrupted each other on a CPU */
struct sb_level {
	struct pt_regs regs;
	unsigned long pc[STACKBUF_DEPTH_MAX + 1];	/* one more shows that a trace is cut */
	struct sb_walk walk;
	struct sb_trace trace;
};

/**
 * struct sb_cpu - what a CPU records with
 * @page:	the page that this CPU appends to, or NULL
 * @pos:	word of @page where the next event goes, or one before that
 * @chain_end:	if the event before @pos is of @task and @comm, at @time: the bound that
 *		@pos must be below for the next; else 0
 * @appending:	an append is in progress on this CPU
 * @waiting:	the ring refused this CPU a page, so it gets one before CPUs that it
 *		did not refuse
 * @time:	time of the last event, ns
 * @task:	its PID, and TGID in the upper half
 * @comm:	the task's command, as in an event
 * @recorded:	events recorded by this CPU
 * @verify_in:	recalls until the one that is verified
 * @irq_stack:	where this CPU's stack for interrupts begins, once a walk has been there
 * @nest:	saves that have not ended on this CPU
 * @level:	one for each of them
 */
struct sb_cpu {
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
	struct sb_level level[SB_LEVELS];
};

/* NULL before init and after exit, when parameters can still be written */
extern struct sb_cpu __percpu *sb_cpu;

/**
 * struct sb_event - an event to append
 * @id:		id of its stack
 * @context:	what the code ran in
 * @tagged:	@tag is valid
 * @tag:	the tag
 * @task:	sb_task_word() of the task
 * @comm:	the task's command
 * @time:	ns; set when the event is appended
 */
struct sb_event {
	u32 id;
	enum stackbuf_context context;
	bool tagged;
	unsigned long tag;
	u64 task;
	u64 comm[2];
	u64 time;
};

/* --------------------------------------------------------------- memory.c --- */

/**
 * sb_init_memory() - fill in the arrays' page headers and stackbuf_info
 *
 * Context: Module init, before anything is recorded.
 */
void __init sb_init_memory(void);

/**
 * sb_lost() - count a loss, or what else enum stackbuf_loss lists
 * @why: which counter
 *
 * Context: Any context.
 */
void sb_lost(enum stackbuf_loss why);

/**
 * sb_losses() - the sum of a counter over all CPUs
 * @why: which counter
 *
 * Context: Any context.
 * Return: the sum; saves that run concurrently may be in it or not.
 */
u64 sb_losses(enum stackbuf_loss why);

/**
 * sb_change_state() - set or clear bits of stackbuf_info.state
 * @bits: STACKBUF_ENABLED etc.
 * @on: set them
 *
 * Context: Any context.
 */
void sb_change_state(u32 bits, bool on);

/**
 * sb_note_module() - record that a module is loaded
 * @module: the module
 *
 * Context: Process context, before the module's code runs.
 */
void sb_note_module(const struct module *module);

/* Counters in the arrays are plain u64 to readers, atomic to the module */
static_assert(sizeof(atomic64_t) == sizeof(u64));

static inline void sb_add(u64 *counter, s64 n)
{
	atomic64_add(n, (atomic64_t *)counter);
}

/* In a memory image copies of a page may lie in the page cache: the newest one counts */
static inline void sb_page_changed(struct stackbuf_page *page)
{
	atomic64_inc((atomic64_t *)&page->seq);
}

/* Recording is on and no filter is in force: the one test that every event takes */
static inline bool sb_recording(void)
{
	return READ_ONCE(stackbuf_info.state) == STACKBUF_ENABLED;
}

/* Recording is on, with filters or without */
static inline bool sb_running(void)
{
	return (READ_ONCE(stackbuf_info.state) & ~STACKBUF_FILTERED) == STACKBUF_ENABLED;
}

/* printk's clock: monotonic on one CPU, without a lock, good in any context */
static inline u64 sb_now(void)
{
	return local_clock();
}

/* -------------------------------------------------------------- request.c --- */

enum sb_worker {
	SB_REQUEST_ROOM,	/* evict.c: the stack table fills up */
	SB_REQUEST_PAGES,	/* ring.c: all pages are open */
	SB_REQUEST_TURN,	/* recall.c: half of the layouts' memory is full */
	SB_REQUEST_REPORT,	/* recall.c: recall was wrong */
	SB_REQUESTS
};

/* A file that offers a worker initialises its element at init; others have no function */
extern struct work_struct sb_work[SB_REQUESTS];

/**
 * sb_request() - have a worker started
 * @what: which
 *
 * Context: Any context.
 */
void sb_request(enum sb_worker what);

/**
 * sb_pass_late_requests() - pass on requests of a CPU that was going offline
 *
 * Context: Any context.
 */
void sb_pass_late_requests(void);

/**
 * sb_exit_requests() - wait until no worker runs and none is requested
 *
 * Context: Process context, after the last save.
 */
void sb_exit_requests(void);

/* ---------------------------------------------------------------- table.c --- */

/* Heads of the chains: ids, or 0 */
#define SB_BUCKETS	roundup_pow_of_two(SB_GRANULES / 2)
extern u32 sb_bucket[SB_BUCKETS];

extern atomic_t sb_granules_used;

/* Pages searched without success since granules were last allocated or freed */
extern atomic_t sb_room_misses;

/* See evict.c: it goes up before evict.c frees granules */
extern u64 sb_epoch;

/**
 * sb_encode() - encode a trace and hash it
 * @trace: the result
 * @pc: its addresses
 * @nr: how many, 1 to STACKBUF_DEPTH_MAX
 * @cut: the stack had more
 *
 * Context: Any context.
 */
void sb_encode(struct sb_trace *trace, const unsigned long *pc, unsigned int nr, bool cut);

/**
 * sb_decode() - the addresses of encoded frames
 * @pc: the result, STACKBUF_DEPTH_MAX elements
 * @frames: encoded frames; any values are accepted
 * @words: how many words there are
 *
 * Context: Any context.
 * Return: number of addresses.
 */
unsigned int sb_decode(unsigned long *pc, const u32 *frames, unsigned int words);

/**
 * sb_find_or_insert() - the stack of a trace
 * @trace: the trace
 * @is_new: set if this call inserted it
 *
 * Context: Any context, interrupts off, and off until the event is appended: evict.c waits
 *	for that before it frees a stack.
 * Return: the stack, or NULL when the table has no room.
 */
struct stackbuf_stack *sb_find_or_insert(const struct sb_trace *trace, bool *is_new);

/**
 * sb_give_room() - free granules
 * @granule: the first one
 * @n: how many
 *
 * Context: Any context; no CPU finds a stack there any more.
 */
void sb_give_room(u32 granule, unsigned int n);

/**
 * sb_wait_for_saves() - wait until saves in progress are in the ring or refused
 *
 * Context: Process context, under cpus_read_lock().
 */
void sb_wait_for_saves(void);

static inline unsigned int sb_stack_granules(unsigned int words)
{
	return DIV_ROUND_UP(sizeof(struct stackbuf_stack) + words * sizeof(u32), STACKBUF_GRANULE);
}

static inline struct stackbuf_stack *sb_stack_at(u32 granule)
{
	return (void *)((char *)stackbuf_stacks + (size_t)granule * STACKBUF_GRANULE);
}

static inline u32 sb_id_granule(u32 id)
{
	return id & ((1U << SB_ID_BITS) - 1);
}

/* The stack of an id that is known to be valid: it comes from a chain or from the ring */
static inline struct stackbuf_stack *sb_stack(u32 id)
{
	return sb_stack_at(sb_id_granule(id));
}

/* ----------------------------------------------------------------- ring.c --- */

/* Number of the page that was taken last, counted from 1 over the whole ring */
extern atomic64_t sb_ring_head;

/* Set by evict.c: no events came into the ring for a while, as the table is full */
extern bool sb_ring_stands;

void __init sb_init_ring(void);

/**
 * sb_append() - append an event
 * @cpu: this CPU's
 * @event: the event
 *
 * Context: Any context, interrupts off.
 * Return: false if there was no page for it.
 */
bool sb_append(struct sb_cpu *cpu, struct sb_event *event);

/**
 * sb_take_page_ahead() - take the next page now if the current one is full
 * @cpu: this CPU's
 *
 * Context: Any context.
 */
void sb_take_page_ahead(struct sb_cpu *cpu);

/**
 * sb_leave_page() - close a CPU's page before it is full
 * @cpu: the CPU
 * @always: close it; else only if evict.c may want it
 *
 * Context: @cpu is this CPU, with interrupts off, or is offline.
 */
void sb_leave_page(struct sb_cpu *cpu, bool always);

/**
 * sb_close_page() - let any CPU claim a page
 * @page: the page, which the caller owns
 *
 * Context: Any context.
 */
void sb_close_page(struct stackbuf_events_page *page);

/**
 * sb_count_page() - add a page's events to their stacks' counts
 * @page: the page, which the caller owns and is about to clear
 * @seq: its sequence number
 *
 * Context: Any context.
 */
void sb_count_page(const struct stackbuf_events_page *page, u64 seq);

/**
 * sb_want_page() - request pages, after an event was refused one
 *
 * Context: Any context.
 */
void sb_want_page(void);

/* Events that all CPUs recorded */
u64 sb_recorded(void);

/* ----------------------------------------------------------------- text.c --- */

struct sb_draft;

/**
 * sb_claim_text() - claim the text of a stack that has none yet
 * @stack: the stack
 *
 * Context: Any context, interrupts off.
 * Return: where to render it, for sb_render(); NULL if the stack has a text, another context
 *	renders it, or no draft is free.
 */
struct sb_draft *sb_claim_text(struct stackbuf_stack *stack);

/**
 * sb_render() - render a stack into a draft
 * @draft: from sb_claim_text()
 * @event: its first event
 * @task: the task whose stack it is
 * @pc: its addresses
 * @nr: how many
 * @cut: the stack had more
 * @name: memory for a symbol's name, KSYM_SYMBOL_LEN bytes
 *
 * Context: Any context.
 */
void sb_render(struct sb_draft *draft, const struct sb_event *event, struct task_struct *task,
	       const unsigned long *pc, unsigned int nr, bool cut, char *name);

/**
 * sb_publish() - copy a rendered draft, and others that are ready, into the text log
 * @ready: the draft
 *
 * Context: Any context.
 */
void sb_publish(struct sb_draft *ready);

/**
 * sb_printable() - copy a command, with '?' for what is not printable
 * @out: TASK_COMM_LEN bytes
 * @comm: the command, TASK_COMM_LEN bytes, need not be terminated
 *
 * Context: Any context.
 */
void sb_printable(char *out, const char *comm);

/* ---------------------------------------------------------------- evict.c --- */

void __init sb_init_evict(void);

/**
 * sb_want_room() - request eviction if the table fills up
 *
 * Context: Any context; after a stack was inserted or was refused.
 */
void sb_want_room(void);

/**
 * sb_expire_stacks() - mark stacks stale whose code is about to be freed
 * @text: where the code begins
 * @size: its size, bytes; may be 0
 *
 * Context: Process context.
 */
void sb_expire_stacks(unsigned long text, unsigned long size);

/* --------------------------------------------------------------- module.c --- */

int __init sb_init_modules(void);
void sb_exit_modules(void);

/* ----------------------------------------- recall.c: its owner moves it to recall.h --- */

#define SB_VERIFY_MAX	1000000

extern u32 sb_recall_epoch;
extern unsigned int sb_verify;

void __init sb_init_recall(void);
void sb_restart_verify(void *unused);
void sb_apply_verify(void);
bool sb_learn(u32 id, const struct sb_trace *trace, struct sb_walk *walk,
	      const unsigned long *pc);
enum stackbuf_loss sb_verify_recall(u32 recalled, const struct stackbuf_stack *walked);
void sb_forget_layouts(void);
void sb_mark_module(const struct module *module, unsigned long state);
void sb_mark_modules(void);
int sb_walk_records(struct sb_level *level, const struct pt_regs *regs, unsigned long caller);
void sb_place_frames(struct sb_walk *walk, const unsigned long *pc, unsigned int nr);

/* --------------------------------------------------------------- symbol.c --- */

/**
 * struct sb_symbol - the function that an address is in
 * @start:	its first address
 * @size:	its bytes
 * @len:	length of @name
 * @of_module:	it is a module's
 * @name:	its name, NUL-terminated
 */
struct sb_symbol {
	unsigned long start;
	unsigned long size;
	unsigned int len;
	bool of_module;
	char name[KSYM_SYMBOL_LEN];
};

/**
 * sb_symbol_at() - look up the symbol at an address
 * @symbol: where to put it; undefined on failure
 * @addr: any address
 *
 * Context: Any.
 * Return: Whether kallsyms has a symbol there.
 */
bool sb_symbol_at(struct sb_symbol *symbol, unsigned long addr);

/**
 * sb_is_bare() - whether a function has no frame record at an address
 * @pc: address in a function
 *
 * Then its caller is in the link register (arm64) or on top of the stack (x86) only.  Caches
 * its answers.  With frame records only (SB_HAVE_RECORDS).
 *
 * Context: Any.
 * Return: true if there is no record; false if there is one, or if that is not known.
 */
bool sb_is_bare(unsigned long pc);

/**
 * sb_is_entry() - what sb_start_hint() and recall must know of the place of a probe
 * @pc: address of the probe
 *
 * Context: Process; looks up symbols, which may take milliseconds.
 * Return: With frame records, what sb_is_bare() returns.  Else, whether @pc is in a function's
 *	first instructions.
 */
bool sb_is_entry(unsigned long pc);

/* --------------------------------------------------------------- filter.c --- */

/**
 * struct sb_filter_settings - the parameters of filters
 * @pid:	record this thread group; 0: all
 * @cpu:	record on this CPU; -1: all
 * @every:	of these, record on each CPU the first one and then one in @every
 * @limit:	of these, record at most @limit; 0: all
 * @comm:	record tasks of this name, NUL-terminated; "": all
 */
struct sb_filter_settings {
	u32 pid;
	int cpu;
	u32 every;
	u32 limit;
	char comm[TASK_COMM_LEN];
};

/* Written under the lock of parameters; in force after sb_apply_filter() */
extern struct sb_filter_settings sb_filter;

/**
 * sb_admit() - whether to record an event, where sb_recording() is false
 * @task: the task whose stack it is
 *
 * Context: Any context, preemption disabled until the event is recorded.
 * Return: true if it is to be recorded: if it is lost nevertheless, the caller calls
 *	sb_readmit().  false if not; then it has been counted.
 */
bool sb_admit(const struct task_struct *task);

/* An event that was admitted was lost, so that another may take its place within the limit */
void sb_readmit(void);

/*
 * Put what was written to sb_filter into force, and restart the count of events up to the limit
 * (also if the same limit was written again) or to the next sample.
 *
 * Context: Process context, under the lock of parameters.
 */
void sb_apply_filter(void);
void sb_apply_limit(void);
void sb_apply_every(void);

/* ---------------------------------------------------------------- print.c --- */

/* Print a line to the kernel log, from any context but NMI and with any lock held */
__printf(1, 2) void sb_printk(const char *fmt, ...);

/**
 * sb_trace_of_id() - copy a stack of the table
 * @trace: the copy; undefined on failure
 * @id: any number
 * @flags: STACKBUF_STACK_CUT etc. of the stack
 *
 * Context: Any context.
 * Return: Whether there is a stack with this id.  If it has STACKBUF_STACK_AGAIN, an older stack
 *	may have had the id; only one that was in use all the time, like that of an event in the
 *	ring, is certain to stand for this stack.
 */
bool sb_trace_of_id(struct stackbuf_trace *trace, u32 id, u8 *flags);

/* ---------------------------------------------------------------- panic.c --- */

/* Parameter panic_dump */
#define SB_PANIC_DUMP_MAX	1000
extern unsigned int sb_panic_dump;

/**
 * sb_freeze() - stop recording
 * @why: STACKBUF_FROZEN_OOPS, STACKBUF_FROZEN_PANIC or STACKBUF_UNLOADED
 *
 * Context: Any context.
 */
void sb_freeze(u32 why);

int __init sb_init_freeze(void);
void sb_exit_freeze(void);

/* --------------------------------------------------------------- params.c --- */

/* Parameter enable, as last written */
extern bool sb_enable;

void __init sb_init_debugfs(void);
void sb_exit_debugfs(void);

#endif /* STACKBUF_INTERNAL_H */
