// SPDX-License-Identifier: GPL-2.0
/*
 * recall_fp.c - recall with unwinders that follow frame records: arm64, and x86-64 with frame
 * pointers
 *
 * A known stack is recalled if the frame records lead through its return addresses to the end, so
 * the cache holds only ids.  "Frame records" in docs/recall.md has the proof.
 *
 * The epoch matters here too: another function may reuse the addresses of freed code, and @caller
 * of struct sbuf_start, the caller of a function that has no record yet, is used as a frame.
 */
#include <linux/hash.h>

#include "depth.h"
#include "frame_record.h"
#include "recall.h"

/*
 * Sets of ID_WAYS slots, each with a stack's id in the low half and the epoch in the high half.
 * Each start has a home in its set, the slot that is looked at first
 */
#define ID_SLOTS	8192
#define ID_WAYS		4
static u64 id_index[ID_SLOTS] __aligned(ID_WAYS * sizeof(u64));

/* Return true if a slot's stack is of this epoch and evict.c has not unlinked it.  E1, C4 */
static __always_inline bool is_usable(u64 has, const struct stackbuf_stack *stack)
{
	/* While recall is off, an empty slot has its epoch, 0, but no stack has the id 0 */
	return has >> 32 == READ_ONCE(sbuf_recall_epoch) &&
		sbuf_table_has(stack, has, STACKBUF_STACK_EVICTING | STACKBUF_STACK_STALE |
					   STACKBUF_STACK_CUT);
}

/* Return the home of walks that start @depth above the stack's beginning; 0 means any depth */
static __always_inline u32 id_home(const struct sbuf_start *start, unsigned long depth, u64 call)
{
	/* Loaded from memory, as arm64 needs four instructions to build it */
	static const u64 golden_ratio = GOLDEN_RATIO_64;
	u64 key = start->ip ^ start->caller << 20 ^ depth << 44 ^ call << 32;

	return key * READ_ONCE(golden_ratio) >> (64 - ilog2(ID_SLOTS));
}

/* Return true if the records from @fp on hold the frames @frame to @end, and lead to the end */
static noinline bool all_match(const s32 *frame, const s32 *end, unsigned long fp,
			       unsigned long low, unsigned long kstack)
{
	const unsigned long text = (unsigned long)stack_trace_save, signature = SBUF_SIGNATURE;
	/* The end of the task's stack, or of the stack for interrupts */
	unsigned long stop = kstack == sbuf_kstack_task() ? sbuf_record_end() :
							    kstack + THREAD_SIZE;
	unsigned long last = stop - 16, bits = 0, below, pc;

	/* As sbuf_record_next(), except that alignment is checked once, at the end */
	while (frame < end) {
		if (unlikely(fp < low || fp > last)) {
			/* Continue from the stack for interrupts to the task's */
			if (kstack == sbuf_kstack_task())
				return false;
			kstack = sbuf_kstack_task();
			low = kstack;
			last = sbuf_record_end() - 16;
			if (fp < low || fp > last)
				return false;
		}
		bits |= fp;
		below = low;
		low = fp + 16;
		pc = sbuf_kstack_load(fp + 8);
		fp = sbuf_kstack_load(fp);
		if (unlikely((pc | signature) - text != *frame++)) {
			const struct pt_regs *regs = pc || fp || low & 7 ? NULL :
				sbuf_arch_interrupted_regs(low - 16, kstack);

			if (!regs || (unsigned long)regs < below ||
			    instruction_pointer((struct pt_regs *)regs) - text != frame[-1])
				return false;
			fp = *sbuf_arch_saved_bp(regs);
			low = (unsigned long)(regs + 1);
		}
	}
	return !(bits & 7) && sbuf_record_is_last(low, fp);
}

NOKPROBE_SYMBOL(all_match);

#ifdef CONFIG_ARM64
/*
 * A faster all_match() for nearly all stacks: those that lie on the task's, which begins at @stack,
 * and end with the record in its saved registers, at last.  If this returns false, *@exception is
 * set if there was a record of zeros, so that all_match() may still return true
 */
static __always_inline bool task_matches(const s32 *frame, unsigned long nr, unsigned long fp,
					 unsigned long low, unsigned long stack, bool *exception)
{
	const unsigned long record = sbuf_record_of_task(0), last = stack + record;
	unsigned long bits = fp - stack, next, pc, two, more;

	*exception = false;
	/* Unsigned, so this also fails if either lies below the stack */
	if (bits < low - stack || bits > record)
		return false;
	/*
	 * The macro record checks that the record at the register at holds the frame and leads to
	 * one above it, not above last, which it puts into next; at is moved past the record.  On a
	 * mismatch it branches to 1, with flags for "lower".  First one, two, four and eight
	 * records are checked, then sixteen at a time.  At 1, bits become odd unless the last
	 * record leads to last.
	 */
	asm volatile(".macro	record	at, next, frame:vararg\n"
		     "	ldp	\\next, %[pc], [\\at], #16\n"
		     "	orr	%[bits], %[bits], \\next\n"
		     "	orr	%[pc], %[pc], %[signature]\n"
		     "	sub	%[pc], %[pc], %[text]\n"
		     "	cmp	%[pc], \\frame\n"
		     "	ccmp	\\next, \\at, #0, eq\n"
		     "	ccmp	%[last], \\next, #0, hs\n"
		     "	b.lo	1f\n"
		     ".endm\n"
		     ".macro	four\n"
		     "	ldp	%[two], %[more], [%[frame]], #16\n"
		     "	record	%[fp], %[next], %w[two], sxtw\n"
		     "	record	%[next], %[fp], %[two], asr #32\n"
		     "	record	%[fp], %[next], %w[more], sxtw\n"
		     "	record	%[next], %[fp], %[more], asr #32\n"
		     ".endm\n"
		     "	tbz	%w[nr], #0, 2f\n"
		     "	ldrsw	%[two], [%[frame]], #4\n"
		     "	record	%[fp], %[next], %[two]\n"
		     "	mov	%[fp], %[next]\n"
		     "2:	tbz	%w[nr], #1, 3f\n"
		     "	ldr	%[two], [%[frame]], #8\n"
		     "	record	%[fp], %[next], %w[two], sxtw\n"
		     "	record	%[next], %[fp], %[two], asr #32\n"
		     "3:	tbz	%w[nr], #2, 4f\n"
		     "	four\n"
		     "4:	tbz	%w[nr], #3, 5f\n"
		     "	.rept	2\n	four\n	.endr\n"
		     "5:	cmp	%[frame], %[end]\n"
		     "	b.hs	1f\n"
		     "6:	.rept	4\n	four\n	.endr\n"
		     "	cmp	%[end], %[frame]\n"
		     "	b.hi	6b\n"
		     "1:	ccmp	%[fp], %[last], #0, hs\n"
		     "	csinc	%[bits], %[bits], xzr, eq\n"
		     ".purgem	record\n.purgem four\n"
		     : [fp] "+&r" (fp), [frame] "+&r" (frame), [bits] "+&r" (bits),
		       [next] "=&r" (next), [pc] "=&r" (pc), [two] "=&r" (two), [more] "=&r" (more)
		     : [last] "r" (last), [nr] "r" (nr), [end] "r" (frame + nr),
		       [signature] "r" (SBUF_SIGNATURE), [text] "r" (stack_trace_save)
		     : "cc");
	*exception = pc == SBUF_SIGNATURE - (unsigned long)stack_trace_save;
	return !(bits & 7);
}
#else
static inline bool task_matches(const s32 *frame, unsigned long nr, unsigned long fp,
				unsigned long low, unsigned long stack, bool *exception)
{
	*exception = true;
	return false;
}
#endif

/*
 * Return the frames of @stack that records must hold, and their number in *@nr, if @stack starts as
 * a walk from @start does; otherwise NULL
 */
static __always_inline const s32 *recorded_frames(const struct stackbuf_stack *stack,
						  const struct sbuf_start *start, unsigned long *nr)
{
	const unsigned long text = (unsigned long)stack_trace_save;
	const s32 *frame = (const s32 *)stack->frames;

	*nr = stack->nr - 1UL;
	if (text + *frame++ != start->ip)
		return NULL;
	return !start->caller || ((*nr)-- && text + *frame++ == start->caller) ? frame : NULL;
}

#ifdef CONFIG_ARM64
/* A leaf with few variables, so that it saves no registers; it tries only the first slot */
noinline u32 sbuf_recall_task(unsigned long ip, unsigned long sp, const unsigned long *bp,
			      unsigned long caller)
{
	const struct sbuf_start start = { ip, sp, bp, caller };
	const struct task_struct *task = current;
	unsigned long stack = (unsigned long)task_stack_page(task), nr;
	u64 has = READ_ONCE(id_index[id_home(&start, sp - stack, sbuf_system_call(stack))]);
	const struct stackbuf_stack *known = sbuf_table_stack((u32)has);
	bool exception;
	const s32 *frame;

	if (likely(!(task->flags & (PF_IDLE | PF_VCPU)) && is_usable(has, known))) {
		frame = recorded_frames(known, &start, &nr);
		if (likely(frame && task_matches(frame, nr, *bp, sp, stack, &exception) &&
			   sbuf_depth_known(ip, sp, stack)))
			return has;
	}
	return sbuf_recall_elsewhere(ip, sp, bp, caller);
}

NOKPROBE_SYMBOL(sbuf_recall_task);
#endif

/* @kstack: beginning of the machine's stack on which the walk starts */
static __always_inline bool records_match(const struct stackbuf_stack *stack,
					  const struct sbuf_start *start, unsigned long kstack)
{
	unsigned long nr;
	const s32 *frame = recorded_frames(stack, start, &nr);
	bool exception = true;

	if (!frame)
		return false;
	if (kstack == sbuf_kstack_task() &&
	    task_matches(frame, nr, *start->bp, start->sp, kstack, &exception))
		return true;
	return exception && all_match(frame, frame + nr, *start->bp, start->sp, kstack);
}

static __always_inline u64 try_ids(u32 home, const struct sbuf_start *start, unsigned long kstack)
{
	u32 i;

	for (i = 0; i < ID_WAYS; i++) {
		u64 has = READ_ONCE(id_index[home ^ i]);
		const struct stackbuf_stack *stack = sbuf_table_stack((u32)has);

		if (is_usable(has, stack) && records_match(stack, start, kstack))
			return has;
	}
	return 0;
}

/* Put a value into its home, where sbuf_recall_task() finds it */
static void add_id(u32 home, u64 value)
{
	u64 has = READ_ONCE(id_index[home]);
	u32 i = 0;

	if (value == has)
		return;
	while (++i < ID_WAYS - 1 && READ_ONCE(id_index[home ^ i]) &&
	       READ_ONCE(id_index[home ^ i]) != value)
		;
	WRITE_ONCE(id_index[home ^ i], has);
	WRITE_ONCE(id_index[home], value);
}

/*
 * Return id_home() of a start on @kstack.  @depth is its depth there, or 0 to find the same path at
 * other depths, which a system call's random offset changes.  Depth and system call are ignored for
 * interrupts, which begin at few depths and in any system call
 */
static inline u32 home_of(const struct sbuf_start *start, unsigned long kstack, unsigned long depth)
{
	return kstack == sbuf_kstack_task() ? id_home(start, depth, sbuf_system_call(kstack)) :
					      id_home(start, 0, -1UL);
}

noinline u32 sbuf_recall_elsewhere(unsigned long ip, unsigned long sp, const unsigned long *bp,
				   unsigned long caller)
{
	const struct sbuf_start start = { ip, sp, bp, caller };
	unsigned long kstack = sbuf_kstack_of(sp);
	u32 home;
	bool add;
	u64 id;

	/*
	 * RCU does not always watch an idle task, nor, on arm64, the code that enters a guest: see
	 * sbuf_synchronize_saves()
	 */
	if (!kstack || (current->flags & (PF_IDLE | PF_VCPU) && !sbuf_rcu_waits()))
		return 0;
	home = home_of(&start, kstack, sp - kstack);
	id = try_ids(home, &start, kstack);
	/* Not each time: equally frequent stacks with one home would displace each other */
	add = !id || !(this_cpu_read(sbuf_cpu->verify_in) % 16);
	if (!id && kstack == sbuf_kstack_task())
		id = try_ids(home_of(&start, kstack, 0), &start, kstack);
	if (id && add)
		add_id(home, id);
	return id && !sbuf_depth_exceeds(ip, sp) ? id : 0;
}

NOKPROBE_SYMBOL(sbuf_recall_elsewhere);

bool sbuf_recall_learn(u32 id, const struct sbuf_trace *trace, struct sbuf_walk *walk,
		       const unsigned long *pc)
{
	const struct sbuf_start start = { pc[0], walk->sp[0], walk->bp, walk->caller };
	const unsigned long kstack = sbuf_kstack_of(start.sp);
	const u64 value = id | (u64)walk->epoch << 32;
	unsigned int i;

	if (trace->cut || trace->words != trace->nr ||
	    !records_match(sbuf_table_stack(id), &start, kstack))
		return false;
	for (i = 0; i < trace->nr; i++)
		if (!sbuf_recall_is_stable(pc[i]))
			return false;
	/* The unwinder may report only one of the last two: is_last_ftrace_frame() */
	if (SBUF_HAVE_UNWIND && trace->nr > 1 && pc[trace->nr - 1] == pc[trace->nr - 2])
		return false;
	add_id(home_of(&start, kstack, start.sp - kstack), value);
	add_id(home_of(&start, kstack, 0), value);
	return true;
}
