// SPDX-License-Identifier: GPL-2.0
/*
 * recall_fp.c - recall where the unwinder follows frame records: arm64, and x86-64 with frame
 * pointers
 *
 * A known stack is recalled if the records lead through its return addresses to the end, so all
 * that is cached is ids.  "Frame records" in docs/recall.md has the proof.
 *
 * The epoch matters here too: freed code's addresses may become another function's, and @caller of
 * struct sbuf_start, the caller where a function has no record yet, is taken for a frame.
 */
#include <linux/hash.h>

#include "depth.h"
#include "frame_record.h"
#include "recall.h"

/* Ids of stacks in the low half, the epoch in the high half: sets of ID_WAYS slots */
#define ID_SLOTS	8192
#define ID_WAYS		4
static u64 id_index[ID_SLOTS];

/* @own: the walk starts on the task's stack, at @depth, or 0 for any */
static inline u64 *id_set(const struct sbuf_start *start, bool own, unsigned long depth)
{
	/* An interrupt may hit any system call */
	u64 call = own ? sbuf_system_call() : -1;
	u64 key = start->ip ^ start->caller << 20 ^ depth << 44 ^ call << 32;

	return &id_index[key * GOLDEN_RATIO_64 >> (64 - ilog2(ID_SLOTS)) &
			 ~(ID_WAYS - 1UL)];
}

/* Do records from @fp on hold the frames from @frame to @end, and lead to the end of the stack? */
static noinline bool all_match(const s32 *frame, const s32 *end, unsigned long fp,
			       unsigned long low, unsigned long kstack)
{
	const unsigned long text = (unsigned long)stack_trace_save, signature = SBUF_SIGNATURE;
	unsigned long last = sbuf_record_stack_end(kstack) - 16, bits = 0, below, pc;

	/* As sbuf_record_next(); whether all are aligned is found at the end */
	while (frame < end) {
		if (unlikely(fp < low || fp > last)) {
			/* From the stack for interrupts to the task's */
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
		sbuf_kstack_load_pair(fp, &fp, &pc);
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

/*
 * A step of task_matches(): from the record at *@fp, if it holds @frame, to the next one, if that
 * lies above it, to @last
 */
static __always_inline bool next_matches(unsigned long *fp, unsigned long last, s32 frame,
					 unsigned long signature, unsigned long *bits)
{
	unsigned long at = *fp, pc;

	*bits |= at;
	sbuf_kstack_load_pair(at, fp, &pc);
	/* By one branch: & */
	return ((pc | signature) - (unsigned long)stack_trace_save == frame) & (*fp >= at + 16) &
		(*fp <= last);
}

/*
 * all_match() for nearly all stacks of arm64, which lie on the task's and end with the record in
 * its saved registers.  Unless it is true, *@fp is 0 after the record of an exception
 */
static __always_inline bool task_matches(const s32 *frame, const s32 *end, unsigned long *fp,
					 unsigned long low, unsigned long stack)
{
	unsigned long last = stack + THREAD_SIZE - 16, signature = SBUF_SIGNATURE, bits = 0;

	if (*fp < low || *fp > last)
		return false;
	for (; frame < end - 3; frame += 4)
		if (!next_matches(fp, last, frame[0], signature, &bits) ||
		    !next_matches(fp, last, frame[1], signature, &bits) ||
		    !next_matches(fp, last, frame[2], signature, &bits) ||
		    !next_matches(fp, last, frame[3], signature, &bits))
			return false;
	for (; frame < end; frame++)
		if (!next_matches(fp, last, *frame, signature, &bits))
			return false;
	return !(bits & 7) && sbuf_record_is_last(0, *fp);
}

/* @kstack: the machine's stack that the walk starts on; @own: it is the task's */
static __always_inline bool records_match(const struct stackbuf_stack *stack,
					  const struct sbuf_start *start, unsigned long kstack,
					  bool own)
{
	const s32 *frame = (const s32 *)stack->frames, *end = frame + stack->nr;
	const unsigned long text = (unsigned long)stack_trace_save;
	unsigned long fp = *start->bp;

	if (stack->words != stack->nr || text + *frame++ != start->ip)
		return false;
	if (start->caller && (frame >= end || text + *frame++ != start->caller))
		return false;
	if (IS_ENABLED(CONFIG_ARM64) && own) {
		if (task_matches(frame, end, &fp, start->sp, kstack))
			return true;
		if (fp)
			return false;
	}
	return all_match(frame, end, *start->bp, start->sp, kstack);
}

static __always_inline struct stackbuf_stack *try_ids(const u64 *slot,
						      const struct sbuf_start *start,
						      unsigned long kstack, bool own, u64 epoch)
{
	int i;

	for (i = 0; i < ID_WAYS; i++) {
		u64 has = READ_ONCE(slot[i]);
		struct stackbuf_stack *stack = sbuf_table_stack((u32)has);

		/* evict.c may have unlinked it.  E1, C4 */
		if (has && has >> 32 == epoch &&
		    sbuf_table_has(stack, has, STACKBUF_STACK_EVICTING | STACKBUF_STACK_STALE |
					       STACKBUF_STACK_CUT) &&
		    records_match(stack, start, kstack, own))
			return stack;
	}
	return NULL;
}

static void add_id(u64 *slot, u64 value)
{
	int i;

	for (i = 0; i < ID_WAYS; i++)
		if (READ_ONCE(slot[i]) == value)
			return;
	for (i = ID_WAYS - 1; i > 0; i--)
		WRITE_ONCE(slot[i], READ_ONCE(slot[i - 1]));
	WRITE_ONCE(slot[0], value);
}

/* The same path at another depth: a system call's random offset changes it */
static noinline struct stackbuf_stack *recall_elsewhere(u64 *slot, const struct sbuf_start *start,
							unsigned long kstack, bool own, u64 epoch)
{
	struct stackbuf_stack *stack = try_ids(id_set(start, own, 0), start, kstack, own, epoch);

	if (stack)
		add_id(slot, stack->id | epoch << 32);
	return stack;
}

NOKPROBE_SYMBOL(recall_elsewhere);

noinline struct stackbuf_stack *sbuf_recall(const struct sbuf_start *start)
{
	unsigned long kstack = sbuf_kstack_of(start->sp);
	u64 epoch = READ_ONCE(sbuf_recall_epoch), *slot;
	bool own = kstack == sbuf_kstack_task();
	struct stackbuf_stack *stack;

	/*
	 * Where an idle task is, and on arm64 where a guest is entered, RCU watches at times only:
	 * see sbuf_synchronize_saves()
	 */
	if (!kstack || !epoch || (current->flags & (PF_IDLE | PF_VCPU) && !sbuf_rcu_waits()))
		return NULL;
	slot = id_set(start, own, start->sp - kstack);
	stack = try_ids(slot, start, kstack, own, epoch) ?:
		recall_elsewhere(slot, start, kstack, own, epoch);
	return stack && !sbuf_depth_exceeds(start->ip, start->sp) ? stack : NULL;
}

NOKPROBE_SYMBOL(sbuf_recall);

bool sbuf_recall_learn(u32 id, const struct sbuf_trace *trace, struct sbuf_walk *walk,
		       const unsigned long *pc)
{
	const struct sbuf_start start = { pc[0], walk->sp[0], walk->bp, walk->caller };
	const unsigned long kstack = sbuf_kstack_of(start.sp);
	const u64 value = id | (u64)walk->epoch << 32;
	const bool own = kstack == sbuf_kstack_task();

	if (trace->cut || !records_match(sbuf_table_stack(id), &start, kstack, own))
		return false;
	/* The unwinder may report only one of the last two: is_last_ftrace_frame() */
	if (SBUF_HAVE_UNWIND && trace->nr > 1 && pc[trace->nr - 1] == pc[trace->nr - 2])
		return false;
	add_id(id_set(&start, own, start.sp - kstack), value);
	add_id(id_set(&start, own, 0), value);
	return true;
}
