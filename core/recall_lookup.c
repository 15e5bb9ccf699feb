// SPDX-License-Identifier: GPL-2.0
/*
 * recall_lookup.c - the index of recall's cache, but for the first slot that sb_recall() tries
 */
#include "recall.h"

u32 sb_cache_index[SB_INDEX_SLOTS];

/* The two hashes that an entry is indexed by: with the depth, and without */
static void sb_index_hashes(const struct sb_start *start, unsigned long stack, u32 *hash)
{
	/* An interrupt may hit any system call */
	unsigned long call = stack == sb_task_stack() ? sb_system_call() : -1;

	hash[0] = sb_index_hash(start, start->sp - stack, call);
	hash[1] = sb_index_hash(start, 0, call);
}

static const struct sb_cache_entry *sb_try_set(u32 hash, const struct sb_start *start,
					       unsigned long stack)
{
	const u32 *slot = sb_index_set(hash);
	const struct sb_cache_entry *entry = NULL;
	unsigned int i;

	for (i = 0; i < SB_WAYS && !entry; i++)
		entry = sb_try_slot(READ_ONCE(slot[i]), hash, start, stack);
	return entry;
}

NOKPROBE_SYMBOL(sb_try_set);

/* @slot, or 0 if it leads to the half that is being recycled: it must not be copied back */
static inline u32 sb_lasting_slot(u32 slot)
{
	return (u32)((slot & (BIT(SB_UNIT_BITS) - 1)) - READ_ONCE(sb_recycling_first)) <
		SB_HALF_UNITS ? 0 : slot;
}

/* Put an entry first in its set, where sb_recall() finds it */
static void sb_index_add(u32 hash, u32 unit)
{
	u32 *slot = sb_index_set(hash), value = sb_lasting_slot(unit ^ hash << SB_UNIT_BITS);
	unsigned int i;

	if (!value)
		return;
	/* Move up those before it; if it is not there, the last one drops out */
	for (i = 0; i < SB_WAYS - 1 && READ_ONCE(slot[i]) != value; i++)
		;
	for (; i > 0; i--)
		WRITE_ONCE(slot[i], sb_lasting_slot(READ_ONCE(slot[i - 1])));
	/* The entry is complete before it can be found. Pairs with sb_try_slot() */
	smp_store_release(slot, value);
}

void sb_index_entry(u32 unit, const struct sb_start *start, unsigned long stack)
{
	u32 hash[2];

	sb_index_hashes(start, stack, hash);
	sb_index_add(hash[0], unit);
	sb_index_add(hash[1], unit);
}

/*
 * All slots for this start, those of other depths included: a system call's random offset
 * changes the depth each time.
 */
noinline struct stackbuf_stack *sb_recall_elsewhere(struct sb_start start)
{
	unsigned long stack = sb_stack_of(start.sp);
	const struct sb_cache_entry *entry;
	u32 hash[2];

	if (!stack)
		return NULL;
	sb_index_hashes(&start, stack, hash);
	entry = sb_try_set(hash[0], &start, stack);
	if (!entry)
		entry = sb_try_set(hash[1], &start, stack);
	/* Not each time: entries of one set that are as frequent would displace each other */
	else if (local_read(&this_cpu_ptr(sb_cpu)->verify_in) % 16)
		return entry->stack;
	if (!entry)
		return NULL;
	sb_index_add(hash[0], (struct sb_unit *)entry - sb_cache);
	return entry->stack;
}

NOKPROBE_SYMBOL(sb_recall_elsewhere);
