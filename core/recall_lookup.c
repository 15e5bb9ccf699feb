// SPDX-License-Identifier: GPL-2.0
/*
 * recall_lookup.c - the index of recall's cache, but for the first slot that sbuf_recall() tries
 */
#include "recall.h"

u32 sbuf_cache_index[SBUF_INDEX_SLOTS];

/* The two hashes that an entry is indexed by: with the depth, and without */
static void index_hashes(const struct sbuf_start *start, unsigned long stack, u32 *hash)
{
	/* An interrupt may hit any system call */
	unsigned long call = stack == sbuf_kstack_task() ? sbuf_system_call() : -1;

	hash[0] = sbuf_cache_hash(start, start->sp - stack, call);
	hash[1] = sbuf_cache_hash(start, 0, call);
}

static const struct sbuf_entry *try_set(u32 hash, const struct sbuf_start *start,
					unsigned long stack)
{
	const u32 *slot = sbuf_cache_set(hash);
	const struct sbuf_entry *entry = NULL;
	unsigned int i;

	for (i = 0; i < SBUF_WAYS && !entry; i++)
		entry = sbuf_entry_in_slot(READ_ONCE(slot[i]), hash, start, stack);
	return entry;
}

NOKPROBE_SYMBOL(try_set);

/* @slot, or 0 if it leads to the half that is being recycled: it must not be copied back */
static inline u32 lasting_slot(u32 slot)
{
	return (u32)((slot & (BIT(SBUF_UNIT_BITS) - 1)) - READ_ONCE(sbuf_cache_recycling)) <
		SBUF_HALF_UNITS ? 0 : slot;
}

/* Put an entry first in its set, where sbuf_recall() finds it */
static void add_to_index(u32 hash, u32 unit)
{
	u32 *slot = sbuf_cache_set(hash), value = lasting_slot(unit ^ hash << SBUF_UNIT_BITS);
	unsigned int i;

	if (!value)
		return;
	/* Move up those before it; if it is not there, the last one drops out */
	for (i = 0; i < SBUF_WAYS - 1 && READ_ONCE(slot[i]) != value; i++)
		;
	for (; i > 0; i--)
		WRITE_ONCE(slot[i], lasting_slot(READ_ONCE(slot[i - 1])));
	/* The entry is complete before it can be found. Pairs with sbuf_entry_in_slot() */
	smp_store_release(slot, value);
}

void sbuf_index_entry(u32 unit, const struct sbuf_start *start, unsigned long stack)
{
	u32 hash[2];

	index_hashes(start, stack, hash);
	add_to_index(hash[0], unit);
	add_to_index(hash[1], unit);
}

/*
 * All slots for this start, those of other depths included: a system call's random offset
 * changes the depth each time.
 */
noinline struct stackbuf_stack *sbuf_recall_elsewhere(struct sbuf_start start)
{
	unsigned long stack = sbuf_kstack_of(start.sp);
	const struct sbuf_entry *entry;
	u32 hash[2];

	if (!stack)
		return NULL;
	index_hashes(&start, stack, hash);
	entry = try_set(hash[0], &start, stack);
	if (!entry)
		entry = try_set(hash[1], &start, stack);
	/* Not each time: entries of one set that are as frequent would displace each other */
	else if (local_read(&this_cpu_ptr(sbuf_cpu)->verify_in) % 16)
		return entry->stack;
	if (!entry)
		return NULL;
	add_to_index(hash[0], (struct sbuf_unit *)entry - sbuf_cache);
	return entry->stack;
}

NOKPROBE_SYMBOL(sbuf_recall_elsewhere);
