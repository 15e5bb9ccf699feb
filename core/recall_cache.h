/* SPDX-License-Identifier: GPL-2.0 */
/*
 * recall_cache.h - recall with the ORC unwinder: the cache entry and the lookup on the fast path
 *
 * Names in capitals such as CFA_BP are cases of the proof in docs/recall.md.
 */
#ifndef STACKBUF_RECALL_CACHE_H
#define STACKBUF_RECALL_CACHE_H

#include <linux/hash.h>

#include "recall.h"

#define SBUF_SEGMENTS	6	/* of an entry */

/* A base is a segment's or this one: where the register bp was saved, with offset 0 only */
#define SBUF_BASE_BP	SBUF_SEGMENTS

/* Frames addressed from one loaded base.  The first segment, relative to sp, is implicit */
struct sbuf_segment {
	long gap;	/* the base must lie more than this many bytes above the one before */
	u64 low;	/* bytes from the lowest slot to the base */
	u64 span;	/* THREAD_SIZE less the bytes from the lowest to the highest slot's end */
	s32 offset;	/* of the slot that the base is loaded from, relative to the base @from */
	s32 ret_offset;	/* of the slot of the first return address here, from this base */
	s32 ret_value;	/* the first return address */
	u8 from;
	u8 checks;	/* number of checks here, of words that are not addresses of a stack */
	bool on_task;	/* it lies on the task's stack, not on another that the walk starts on */
	bool any_not_on_task;	/* in the first element */
};

/* The slot at @offset from its segment's base must hold @value: code lies in the top 2 GB */
struct sbuf_check {
	s32 offset, value;
};

/*
 * The slot at @offset from the base @slot_base must hold the base @value_base + @value, an address
 * on a stack.  @more checks with these bases follow
 */
struct sbuf_pointer {
	s32 offset, value;
	u32 more;
	u16 slot_base, value_base;
};

enum sbuf_bases { SBUF_NO_BASE, SBUF_FROM_SP, SBUF_FROM_BP };

/* An unwound stack.  Once published, only @least is still written */
struct sbuf_entry {
	struct stackbuf_stack *stack;
	/* @stack's first word, with its id, while it may be recalled; less STACKBUF_STACK_TEXT */
	u64 head;
	unsigned long ip;	/* where the walk starts */
	u32 epoch;	/* at the beginning of the walk that it was learnt from */
	u16 span;	/* as in struct sbuf_segment, for the first segment */
	u8 checks;	/* as in struct sbuf_segment, for the first segment */
	u8 segments;	/* number of elements of @segment */
	u8 pointers;	/* number of struct sbuf_pointer */
	u16 least;	/* bytes from the stack's beginning to the deepest start known to depth.c */
	u16 end;	/* of the saved cs, from the last base, if the stack ends in user mode */
	u8 user_cs;	/* value of that cs, or 0 if the stack ends elsewhere */
	u8 first;	/* enum sbuf_bases: where the first base is loaded from */
	bool more;	/* than that base and @checks: also segments, their checks, or @pointers */
	u8 checks_at;	/* the first check's index, with @segment seen as an array of checks */
	struct sbuf_segment segment[];	/* then @checks, then each segment's, then @pointers */
};

static_assert(sizeof(struct sbuf_segment) % sizeof(struct sbuf_check) == 0);

static __always_inline const struct sbuf_check *sbuf_entry_checks(const struct sbuf_entry *entry)
{
	return (const struct sbuf_check *)entry->segment + entry->checks_at;
}

/* All entries are in two halves of units, see recall_cache.c.  Unit 0 is not used */
#define SBUF_UNIT			16UL
#define SBUF_CACHE_KB		(STACKBUF_STACKS_KB < 16384 ? STACKBUF_STACKS_KB : 16384)
#define SBUF_HALF_UNITS		(SBUF_CACHE_KB * 1024 / SBUF_UNIT / 2)

extern struct sbuf_unit { u64 word[SBUF_UNIT / 8]; } __aligned(16) sbuf_cache[2 * SBUF_HALF_UNITS];

/*
 * Two indexes of the cache by the walk's start and the system call.  The first, in which
 * sbuf_recall() looks, also uses the start's depth in the stack, and has one slot for each hash.
 * The second follows it and serves all depths, as a system call's random offset changes the depth
 * each time; it has sets of SBUF_WAYS slots.  A slot holds an entry's unit, xored with bits of the
 * hash that indexed it.  A slot may be stale, so its entry is checked in full.
 */
#define SBUF_INDEX_SLOTS		16384
#define SBUF_SET_SLOTS			8192
#define SBUF_WAYS			8
#define SBUF_UNIT_BITS			20

extern u32 sbuf_cache_index[SBUF_INDEX_SLOTS + SBUF_SET_SLOTS];

static_assert(2 * SBUF_HALF_UNITS <= BIT(SBUF_UNIT_BITS));

static inline struct sbuf_entry *sbuf_entry_at(u32 unit)
{
	return (struct sbuf_entry *)&sbuf_cache[unit];
}

static __always_inline u32 sbuf_cache_hash(const struct sbuf_start *start, unsigned long depth,
					   unsigned long call)
{
	unsigned long key = start->ip ^ start->caller << 20 ^ depth << 44 ^ call << 32;

	return key * GOLDEN_RATIO_64 >> 32;
}

static inline u32 *sbuf_cache_slot(u32 hash)
{
	return &sbuf_cache_index[hash >> (32 - ilog2(SBUF_INDEX_SLOTS))];
}

/* Set *@unit to a slot's unit.  Return false if it has none, or another hash indexed it */
static __always_inline bool sbuf_slot_unit(u32 slot, u32 hash, u32 *unit)
{
	*unit = slot ^ hash << SBUF_UNIT_BITS;
	return likely(*unit - 1 < BIT(SBUF_UNIT_BITS) - 1);
}

/* Return true if the word at @base + @offset is @value: one instruction, hidden from sanitizers */
static __always_inline bool sbuf_holds(unsigned long base, long offset, unsigned long value)
{
	bool equal;

	asm volatile("cmpq %[value], (%[base], %[offset])"
		     : "=@cce" (equal)
		     : [value] "r" (value), [base] "r" (base), [offset] "r" (offset));
	return equal;
}

/* Compare @n checks.  @n is constant, so that the loop is unrolled.  Move *@check past them */
static __always_inline bool sbuf_run_holds(const struct sbuf_check **check, const int n,
					   unsigned long base, unsigned long add)
{
	const struct sbuf_check *at = *check;
	int i;

#pragma GCC unroll 16
	for (i = 0; i < n; i++)
		if (!sbuf_holds(base, at[i].offset, at[i].value + add))
			return false;
	*check += n;
	return true;
}

/* Return true if @n checks hold, whose values are relative to @add */
static __always_inline bool sbuf_checks_hold(const struct sbuf_check *check, int n,
					     unsigned long base, unsigned long add)
{
	/* Subtracting 16 leaves the lower bits of n alone */
	for (n -= 16; n >= 0; n -= 16)
		if (!sbuf_run_holds(&check, 16, base, add))
			return false;
	return (!(n & 8) || sbuf_run_holds(&check, 8, base, add)) &&
		(!(n & 4) || sbuf_run_holds(&check, 4, base, add)) &&
		(!(n & 2) || sbuf_run_holds(&check, 2, base, add)) &&
		(!(n & 1) || sbuf_run_holds(&check, 1, base, add));
}

/* For variables that are written before they are read: INIT_STACK_ALL_ZERO need not clear them */
#if __has_attribute(__uninitialized__)
#define SBUF_UNINITIALIZED __attribute__((__uninitialized__))
#else
#define SBUF_UNINITIALIZED
#endif

/* Return true if the entry has a loaded base on the stack that the walk starts on */
static __always_inline bool sbuf_entry_follows(const struct sbuf_entry *entry)
{
	return entry->segments && entry->segment[0].any_not_on_task;
}

/*
 * Load a segment's base into *@base, which was the base before it.  Return true if it is in bounds
 * and the first return address matches.  @from: the base that the loaded slot is relative to
 */
static __always_inline bool sbuf_segment_matches(const struct sbuf_segment *segment,
						 unsigned long from, unsigned long stack,
						 unsigned long *base)
{
	unsigned long last = *base;

	*base = sbuf_kstack_load(from + segment->offset);
	return *base - stack - segment->low <= segment->span &&
		(long)(*base - last) > segment->gap &&
		sbuf_holds(*base, segment->ret_offset, segment->ret_value);
}

/*
 * The rest of sbuf_entry_matches(), once the start's ip and depth have matched: all comparisons
 * with SBUF_FROM_BP, otherwise those that entry->more announces.  @sp, @bp: the start's; @first:
 * the first base, or any value
 */
bool sbuf_entry_more_matches(const struct sbuf_entry *entry, unsigned long sp,
			     const unsigned long *bp, unsigned long stack, unsigned long task,
			     unsigned long first);

/*
 * Compare the stack with an entry, by the comparisons that the theorem names.  @task: where the
 * task's stack begins
 */
static __always_inline bool sbuf_entry_matches(const struct sbuf_entry *entry,
					       const struct sbuf_start *start, unsigned long stack,
					       unsigned long task)
{
	const struct sbuf_segment *first = entry->segment;
	unsigned long base = start->sp;

	if (unlikely(entry->ip != start->ip || start->sp - stack > entry->span))
		return false;
	if (entry->first != SBUF_NO_BASE) {
		if (unlikely(entry->first == SBUF_FROM_BP))
			return sbuf_entry_more_matches(entry, base, start->bp, stack, task, base);
		if (!sbuf_segment_matches(first, base, first->on_task ? task : stack, &base))
			return false;
	}
	if (!sbuf_checks_hold(sbuf_entry_checks(entry), entry->checks, start->sp, 0))
		return false;
	if (entry->more)
		return sbuf_entry_more_matches(entry, start->sp, start->bp, stack, task, base);
	return !entry->user_cs || sbuf_holds(base, entry->end, entry->user_cs);
}

/*
 * Return true if the entry at a slot's unit is valid and matches.  @task: where the task's stack
 * begins; @nmi: @stack is sbuf_kstack_nmi(), where no loaded address is followed
 */
static __always_inline bool sbuf_unit_matches(u32 unit, const struct sbuf_start *start,
					      unsigned long stack, unsigned long task, bool nmi)
{
	/* C1, with set_slot(): the dependency orders the loads of the entry after the slot */
	const struct sbuf_entry *entry = sbuf_entry_at(unit);

	/*
	 * A stack that evict.c has unlinked must not be found, nor one that has taken its place.
	 * Both events change the first word.
	 */
	return likely((READ_ONCE(*(u64 *)entry->stack) & ~((u64)STACKBUF_STACK_TEXT << 40)) ==
		      entry->head &&
		      entry->epoch == (u32)READ_ONCE(sbuf_recall_epoch) &&
		      !(nmi && sbuf_entry_follows(entry)) &&
		      sbuf_entry_matches(entry, start, stack, task));
}

static __always_inline bool sbuf_recall(struct sbuf_start start, u32 *id)
{
	unsigned long stack = sbuf_kstack_task();

	if (likely(sbuf_kstack_has(stack, start.sp) && !is_idle_task(current))) {
		u32 hash = sbuf_cache_hash(&start, start.sp - stack, sbuf_system_call(stack)), unit;

		/* A start deeper than all earlier ones may concern depth.c */
		if (sbuf_slot_unit(READ_ONCE(*sbuf_cache_slot(hash)), hash, &unit) &&
		    start.sp - stack >= READ_ONCE(sbuf_entry_at(unit)->least) &&
		    sbuf_unit_matches(unit, &start, stack, stack, false)) {
			*id = sbuf_entry_at(unit)->head;
			return true;
		}
	}
	*id = sbuf_recall_elsewhere(start.ip, start.sp, start.bp, start.caller);
	return *id;
}

/* Index an entry under its start and depth, and under its start alone */
void sbuf_index_entry(u32 unit, const struct sbuf_start *start, unsigned long stack);

/* First unit of the half that is being recycled, or beyond all units */
extern u32 sbuf_cache_recycling;

/* How often a half was recycled */
extern u32 sbuf_cache_generation;

/* Indexed by a stack's granule: the unit of its newest entry, and how often it was learnt */
extern struct sbuf_newest {
	u32 unit;
	u32 tries;	/* in the low byte; the rest identifies stack, epoch and generation */
} sbuf_newest[SBUF_GRANULES];

/**
 * sbuf_cache_alloc() - allocate memory for an entry
 * @n: number of units
 *
 * Context: Any context, interrupts off, and off until the entry is published.
 * Return: the first unit; 0 if the half in use is full, after requesting sbuf_cache_recycle_half().
 */
u32 sbuf_cache_alloc(unsigned int n);

/* Keep @used of the @n units that sbuf_cache_alloc() returned, in its context */
void sbuf_cache_trim(u32 first, unsigned int n, unsigned int used);

#endif /* STACKBUF_RECALL_CACHE_H */
