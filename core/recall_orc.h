/* SPDX-License-Identifier: GPL-2.0 */
/*
 * recall_orc.h - recall with the ORC unwinder: the cache entry and the lookup on the fast path
 *
 * recall.h includes this.  Names in capitals such as CFA_BP are cases of the proof in
 * docs/recall.md.
 */
#ifndef STACKBUF_RECALL_ORC_H
#define STACKBUF_RECALL_ORC_H

#include <linux/hash.h>

#include "recall.h"

#define SB_SEGMENTS	6	/* of an entry */

/* What offsets and values are relative to: a segment's base, or one of these */
enum {
	SB_BASE_BP = SB_SEGMENTS,	/* where the register bp was saved: offset 0 only */
	SB_BASE_TEXT,			/* stack_trace_save(), as frames in the table */
	SB_BASE_ZERO,
	SB_BASE_STACK,			/* where the stack begins that the walk starts on */
	SB_BASE_TASK,			/* where the task's stack begins */
	SB_BASES
};

/* Frames whose slots are found from one base, which is not sp: that is the first segment's */
struct sb_segment {
	long gap;	/* the base lies further than this, bytes, from the one before */
	s32 offset;	/* of the slot that the base is loaded from, from the base @from */
	s32 ret_offset;	/* of the slot of the first return address here, from this base */
	s32 ret_value;	/* that address, from SB_BASE_TEXT */
	u16 low;	/* bytes from the lowest slot to the base */
	u16 span;	/* THREAD_SIZE less the bytes from the lowest to the highest slot's end */
	u8 from;
	u8 stack;	/* the stack that it lies on: SB_BASE_STACK or SB_BASE_TASK */
	u8 has_ret;	/* @ret_offset is set; used while the entry is built */
	u8 reserved[5];
};

/* The slot at @offset from its run's slot_base must hold @value + its run's value_base */
struct sb_check {
	s32 offset;
	s32 value;
};

/* Heads @checks checks that have their bases in common */
struct sb_run {
	u32 checks;
	u8 slot_base;
	u8 value_base;
	u16 reserved;
};

static_assert(sizeof(struct sb_run) == sizeof(struct sb_check));

/* An unwound stack.  Of what is published, only @least is still written */
struct sb_cache_entry {
	struct stackbuf_stack *stack;
	u64 head;	/* first word of @stack while it may be recalled */
	unsigned long ip;	/* where the walk starts */
	u32 epoch;	/* when the walk began that it was learnt from */
	u16 span;	/* as in struct sb_segment, for the first segment */
	u8 frames;	/* number of checks of return addresses in the first segment */
	u8 segments;	/* number of elements of @segment */
	s32 end;	/* of the saved cs from the last base, if the stack ends in user mode */
	u8 runs;	/* number of runs of checks */
	u8 user_cs;	/* value of that cs, or 0 if the stack ends elsewhere */
	u16 least;	/* bytes from the stack's beginning to the deepest start of a walk */
	struct sb_segment segment[];	/* then @frames checks, then the runs */
};

/* The memory of all entries is two halves of units, see recall_cache.c.  Unit 0 is not used */
#define SB_UNIT			16UL
#define SB_CACHE_KB		(STACKBUF_STACKS_KB < 16384 ? STACKBUF_STACKS_KB : 16384)
#define SB_HALF_UNITS		(SB_CACHE_KB * 1024 / SB_UNIT / 2)

extern struct sb_unit { u64 word[SB_UNIT / 8]; } __aligned(16) sb_cache[2 * SB_HALF_UNITS];

/*
 * Index of the cache by the walk's start, its depth in the stack, and the system call: sets of
 * SB_WAYS slots.  A slot holds an entry's unit, xored with bits of the hash that it was indexed
 * by.  A slot may be stale: the entry that it leads to is checked in full.
 */
#define SB_INDEX_SLOTS		16384
#define SB_WAYS			4
#define SB_UNIT_BITS		20

extern u32 sb_cache_index[SB_INDEX_SLOTS];

static_assert(2 * SB_HALF_UNITS <= BIT(SB_UNIT_BITS));

static inline struct sb_cache_entry *sb_entry_at(u32 unit)
{
	return (struct sb_cache_entry *)&sb_cache[unit];
}

static __always_inline u32 sb_index_hash(const struct sb_start *start, unsigned long depth,
					 unsigned long call)
{
	unsigned long key = start->ip ^ start->caller << 20 ^ depth << 44 ^ call << 32;

	return key * GOLDEN_RATIO_64 >> 32;
}

static inline u32 *sb_index_set(u32 hash)
{
	return &sb_cache_index[hash >> (32 - ilog2(SB_INDEX_SLOTS)) & ~(SB_WAYS - 1U)];
}

/* The unit in a slot; 0 or more than there are if it was indexed by another hash */
static inline u32 sb_slot_unit(u32 slot, u32 hash)
{
	return slot ^ hash << SB_UNIT_BITS;
}

/* Whether the word at @base + @offset is @value: one instruction, unseen by sanitizers */
static __always_inline bool sb_holds(unsigned long base, long offset, unsigned long value)
{
	bool equal;

	asm volatile("cmpq %[value], (%[base], %[offset])"
		     : "=@cce" (equal)
		     : [value] "r" (value), [base] "r" (base), [offset] "r" (offset));
	return equal;
}

static __always_inline bool sb_check_holds(const struct sb_check *check, unsigned long slot_base,
					   unsigned long value_base)
{
	return sb_holds(slot_base, check->offset, value_base + check->value);
}

static __always_inline bool sb_checks_hold(const struct sb_check *check, unsigned int n,
					   unsigned long slot_base, unsigned long value_base)
{
	for (; n >= 4; n -= 4, check += 4)
		if (!sb_check_holds(check, slot_base, value_base) ||
		    !sb_check_holds(check + 1, slot_base, value_base) ||
		    !sb_check_holds(check + 2, slot_base, value_base) ||
		    !sb_check_holds(check + 3, slot_base, value_base))
			return false;
	for (; n > 0; n--, check++)
		if (!sb_check_holds(check, slot_base, value_base))
			return false;
	return true;
}

/* Compare the stack with an entry: the comparisons that the theorem names */
static __always_inline bool sb_entry_matches(const struct sb_cache_entry *entry,
					     const struct sb_start *start, unsigned long stack)
{
	const unsigned long text = (unsigned long)stack_trace_save;
	unsigned long base[SB_BASES] SB_UNINITIALIZED;
	const struct sb_segment *segment = entry->segment;
	const struct sb_check *check;
	unsigned long last;
	unsigned int i;

	/* depth.c must see a walk that starts deeper than those before */
	if (unlikely(entry->ip != start->ip || start->sp - stack > entry->span ||
		     start->sp - stack < READ_ONCE(entry->least)))
		return false;

	last = start->sp;
	base[0] = last;
	base[SB_BASE_BP] = (unsigned long)start->bp;
	base[SB_BASE_STACK] = stack;
	base[SB_BASE_TASK] = sb_task_stack();
	for (i = 0; i < entry->segments; i++, segment++) {
		unsigned long is = sb_load(base[segment->from] + segment->offset);

		if (unlikely(is - base[segment->stack] - segment->low > segment->span ||
			     (long)(is - last) <= segment->gap ||
			     !sb_holds(is, segment->ret_offset, text + segment->ret_value)))
			return false;
		base[i + 1] = is;
		last = is;
	}

	check = (const struct sb_check *)segment;
	if (!sb_checks_hold(check, entry->frames, start->sp, text))
		return false;
	if (entry->runs) {
		check += entry->frames;
		base[SB_BASE_TEXT] = text;
		base[SB_BASE_ZERO] = 0;
		for (i = entry->runs; i > 0; i--) {
			const struct sb_run *run = (const struct sb_run *)check++;

			if (!sb_checks_hold(check, run->checks, base[run->slot_base],
					    base[run->value_base]))
				return false;
			check += run->checks;
		}
	}
	return !entry->user_cs || sb_holds(last, entry->end, entry->user_cs);
}

/* The entry that a slot leads to, if it was indexed by @hash and matches; else NULL */
static __always_inline const struct sb_cache_entry *sb_try_slot(u32 slot, u32 hash,
								const struct sb_start *start,
								unsigned long stack)
{
	/* Pairs with sb_index_add(): the dependency orders the loads of the entry after the slot */
	u32 unit = sb_slot_unit(slot, hash);
	const struct sb_cache_entry *entry;

	/* Another hash: the number is no unit's */
	if (unlikely(unit - 1 >= BIT(SB_UNIT_BITS) - 1))
		return NULL;
	entry = sb_entry_at(unit);
	/*
	 * A stack whose text is outstanding takes the walk, which renders it; one that evict.c has
	 * unlinked must not be found, whatever is put in its place now.  All change the first word.
	 */
	if (likely(READ_ONCE(*(u64 *)entry->stack) == entry->head &&
		   entry->epoch == READ_ONCE(sb_recall_epoch) &&
		   sb_entry_matches(entry, start, stack)))
		return entry;
	return NULL;
}

/* recall_lookup.c: try the slots that sb_recall() does not */
struct stackbuf_stack *sb_recall_elsewhere(struct sb_start start);

static __always_inline struct stackbuf_stack *sb_recall(const struct sb_start *start)
{
	unsigned long stack = sb_task_stack();

	if (likely(sb_on_stack(stack, start->sp))) {
		u32 hash = sb_index_hash(start, start->sp - stack, sb_system_call());
		const struct sb_cache_entry *entry;

		entry = sb_try_slot(READ_ONCE(*sb_index_set(hash)), hash, start, stack);
		if (likely(entry))
			return entry->stack;
	}
	return sb_recall_elsewhere(*start);
}

/* recall_lookup.c: index an entry under its start and depth, and under its start alone */
void sb_index_entry(u32 unit, const struct sb_start *start, unsigned long stack);

/* recall_code.c: whether the ORC entry of @ip stays the same for the whole epoch */
bool sb_orc_is_stable(unsigned long ip);

/* recall_cache.c: first unit of the half that is being recycled, or beyond all units */
extern u32 sb_recycling_first;

/* How often a half was recycled */
extern u32 sb_cache_generation;

/* By a stack's granule: the unit of its newest entry, and how often it was learnt */
extern struct sb_newest {
	u32 unit;
	u32 tries;	/* in the low byte; the rest identifies stack, epoch and generation */
} sb_newest[SB_GRANULES];

void __init sb_init_cache(void);

/**
 * sb_alloc_units() - allocate memory for an entry
 * @n: number of units
 *
 * Context: Any context, interrupts off, and off until the entry is published.
 * Return: the first unit; 0 if the half in use is full, after requesting sb_recycle_half().
 */
u32 sb_alloc_units(unsigned int n);

/* Keep @used of the @n units that sb_alloc_units() returned, in its context */
void sb_trim_units(u32 first, unsigned int n, unsigned int used);

#endif /* STACKBUF_RECALL_ORC_H */
