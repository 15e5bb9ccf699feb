// SPDX-License-Identifier: GPL-2.0
/*
 * recall_cache.c - the index of recall's cache, and the memory of its entries
 *
 * Entries are allocated one after the other from one half of sbuf_cache.  When that half is full, a
 * worker empties the other one, and allocation continues there.  Stacks that still occur are learnt
 * again.
 */

#include "depth.h"
#include "recall_cache.h"
#include "worker.h"

/* ----------------------------------------------------------------- lookup --- */

u32 sbuf_cache_index[SBUF_INDEX_SLOTS + SBUF_SET_SLOTS] __aligned(SBUF_WAYS * sizeof(u32));

__no_stack_protector bool sbuf_entry_more_matches(const struct sbuf_entry *entry,
						  unsigned long sp, const unsigned long *bp,
						  unsigned long stack, unsigned long task,
						  unsigned long first)
{
	const struct sbuf_check *check = sbuf_entry_checks(entry);
	unsigned long base[SBUF_BASE_BP + 1] SBUF_UNINITIALIZED;
	unsigned int i;

	base[0] = sp;
	base[1] = first;
	base[SBUF_BASE_BP] = (unsigned long)bp;
	if (entry->first == SBUF_FROM_BP && !sbuf_checks_hold(check, entry->checks, sp, 0))
		return false;
	check += entry->checks;
	for (i = 0; i < entry->segments; check += entry->segment[i++].checks) {
		const struct sbuf_segment *segment = &entry->segment[i];

		if (i || entry->first == SBUF_FROM_BP) {
			base[i + 1] = base[i];
			if (!sbuf_segment_matches(segment, base[segment->from],
						  segment->on_task ? task : stack, &base[i + 1]))
				return false;
		}
		if (segment->checks && !sbuf_checks_hold(check, segment->checks, base[i + 1], 0))
			return false;
	}
	for (i = entry->pointers; i > 0; i--) {
		const struct sbuf_pointer *pointer = (const struct sbuf_pointer *)check;
		unsigned long slots = base[pointer->slot_base], values = base[pointer->value_base];

		check = (const struct sbuf_check *)(pointer + 1);
		if (!sbuf_holds(slots, pointer->offset, values + pointer->value) ||
		    (pointer->more && !sbuf_checks_hold(check, pointer->more, slots, values)))
			return false;
		check += pointer->more;
	}
	return !entry->user_cs || sbuf_holds(base[entry->segments], entry->end, entry->user_cs);
}

NOKPROBE_SYMBOL(sbuf_entry_more_matches);

/* Return the hash of a start at @depth; a @depth of 0 means all depths */
static inline u32 index_hash(const struct sbuf_start *start, unsigned long stack,
			     unsigned long depth)
{
	/* An interrupt may arrive in any system call */
	unsigned long call = stack == sbuf_kstack_task() ? sbuf_system_call(stack) : -1;

	return sbuf_cache_hash(start, depth, call);
}

static inline u32 *set_of(u32 hash)
{
	return &sbuf_cache_index[SBUF_INDEX_SLOTS +
				 (hash >> (32 - ilog2(SBUF_SET_SLOTS)) & ~(SBUF_WAYS - 1U))];
}

static inline bool slot_matches(const u32 *slot, u32 hash, const struct sbuf_start *start,
				unsigned long stack, u32 *unit)
{
	return sbuf_slot_unit(READ_ONCE(*slot), hash, unit) &&
		sbuf_unit_matches(*unit, start, stack, sbuf_kstack_task(),
				  stack == sbuf_kstack_nmi());
}

/* Return @slot, or 0 if it leads to the half that is being recycled: do not copy such a slot */
static inline u32 lasting_slot(u32 slot)
{
	return (u32)((slot & (BIT(SBUF_UNIT_BITS) - 1)) - READ_ONCE(sbuf_cache_recycling)) <
		SBUF_HALF_UNITS ? 0 : slot;
}

static inline void set_slot(u32 *slot, u32 hash, u32 unit)
{
	/* C1, with sbuf_unit_matches(): the entry is complete before it can be found */
	smp_store_release(slot, lasting_slot(unit ^ hash << SBUF_UNIT_BITS));
}

void sbuf_index_entry(u32 unit, const struct sbuf_start *start, unsigned long stack)
{
	u32 hash = index_hash(start, stack, 0), *set = set_of(hash), i, has;

	/* Move slots before the entry's back by one; if it has none, the last slot drops out */
	for (i = 0; i < SBUF_WAYS - 1; i++)
		if (sbuf_slot_unit(READ_ONCE(set[i]), hash, &has) && has == unit)
			break;
	for (; i > 0; i--)
		WRITE_ONCE(set[i], lasting_slot(READ_ONCE(set[i - 1])));
	set_slot(set, hash, unit);
	hash = index_hash(start, stack, start->sp - stack);
	set_slot(sbuf_cache_slot(hash), hash, unit);
}

/* Try all entries for this start, most of which are in the set for all depths */
noinline u32 sbuf_recall_elsewhere(unsigned long ip, unsigned long sp, const unsigned long *bp,
				   unsigned long caller)
{
	const struct sbuf_start start = { ip, sp, bp, caller };
	unsigned long stack = sbuf_kstack_of(sp), depth = sp - stack;
	u32 any_depth, *set, hash, *slot, unit, other, i;
	struct sbuf_entry *entry;

	/* sbuf_cache_recycle_half() must wait for this; RCU does not always watch an idle task */
	if (!stack || (is_idle_task(current) && !sbuf_rcu_waits()))
		return 0;
	hash = index_hash(&start, stack, depth);
	/* sbuf_recall() looks in the slot only for starts on the task's stack */
	slot = stack == sbuf_kstack_task() ? sbuf_cache_slot(hash) : NULL;
	any_depth = index_hash(&start, stack, 0);
	set = set_of(any_depth);
	for (i = 0; i < SBUF_WAYS && !slot_matches(&set[i], any_depth, &start, stack, &unit); i++)
		;
	if (i == SBUF_WAYS && !(slot && slot_matches(slot, hash, &start, stack, &unit)))
		return 0;
	/* The next event may have this stack too: comparing entries that differ late is slow */
	if (i && i < SBUF_WAYS) {
		WRITE_ONCE(set[i], lasting_slot(READ_ONCE(set[0])));
		set_slot(set, any_depth, unit);
	}
	entry = sbuf_entry_at(unit);
	if (unlikely(depth < READ_ONCE(entry->least))) {
		/* The deepest of all stacks that begin there: depth.c must see a walk */
		if (sbuf_start_has_first(ip) && sbuf_depth_exceeds(ip, sp))
			return 0;
		WRITE_ONCE(entry->least, depth);
	}
	/* Not each time: equally frequent stacks with one hash would displace each other */
	if (slot && (!sbuf_slot_unit(READ_ONCE(*slot), hash, &other) ||
		     !(this_cpu_read(sbuf_cpu->verify_in) % 16)))
		set_slot(slot, hash, unit);
	return entry->head;
}

NOKPROBE_SYMBOL(sbuf_recall_elsewhere);

/* ----------------------------------------------------------------- memory --- */

struct sbuf_unit sbuf_cache[2 * SBUF_HALF_UNITS];
struct sbuf_newest sbuf_newest[SBUF_GRANULES];
u32 sbuf_cache_recycling = 2 * SBUF_HALF_UNITS;
u32 sbuf_cache_generation;

/* Units allocated in the half in use; the topmost bit is the number of that half */
#define HALF_BIT		0x80000000U
static atomic_t units_used = ATOMIC_INIT(1);

/* HALF_BIT of the half that was found full, ORed with 1 */
static u32 full_half;

u32 sbuf_cache_alloc(unsigned int n)
{
	int used = atomic_read(&units_used);

	do {
		if ((used & ~HALF_BIT) + n > SBUF_HALF_UNITS) {
			WRITE_ONCE(full_half, (used & HALF_BIT) | 1);
			sbuf_worker_request(SBUF_WORKER_RECYCLE);
			return 0;
		}
	} while (!atomic_try_cmpxchg(&units_used, &used, used + n));
	return (used & ~HALF_BIT) + (used & HALF_BIT ? SBUF_HALF_UNITS : 0);
}

void sbuf_cache_trim(u32 first, unsigned int n, unsigned int used)
{
	u32 end = first + n;

	if (first >= SBUF_HALF_UNITS)
		end = (end - SBUF_HALF_UNITS) | HALF_BIT;
	/* If units have been allocated since, this fails, and the rest stays unused */
	atomic_cmpxchg(&units_used, end, end - n + used);
}

/* Clear a slot or a unit's number if it leads to the half that begins with unit @first */
static void clear_if_in_half(u32 *unit, u32 first)
{
	u32 has = READ_ONCE(*unit);

	if ((has & (BIT(SBUF_UNIT_BITS) - 1)) - first < SBUF_HALF_UNITS)
		cmpxchg(unit, has, 0);
}

/*
 * One half is full: empty the other one, and continue there.
 *
 * A CPU that learns keeps interrupts off from sbuf_cache_alloc() until its entry is published, and
 * a CPU that recalls keeps them off while it uses an entry.  So the first wait lasts until all
 * saves that began before sbuf_cache_recycling was set have ended; later saves write no slot that
 * leads to the half.  The second wait lasts until all lookups have ended that read a slot before it
 * was cleared.
 */
void sbuf_cache_recycle_half(struct work_struct *work)
{
	u32 half = atomic_read(&units_used) & HALF_BIT, first, i;

	/* Ignore a request that was repeated while the previous half was being recycled */
	if (READ_ONCE(full_half) != (half | 1))
		return;
	half ^= HALF_BIT;
	first = half ? SBUF_HALF_UNITS : 0;
	WRITE_ONCE(sbuf_cache_recycling, first);
	sbuf_synchronize_saves(false);
	for (i = 0; i < ARRAY_SIZE(sbuf_cache_index); i++)
		clear_if_in_half(&sbuf_cache_index[i], first);
	for (i = 0; i < SBUF_GRANULES; i++)
		clear_if_in_half(&sbuf_newest[i].unit, first);
	sbuf_synchronize_saves(false);
	WRITE_ONCE(sbuf_cache_generation, sbuf_cache_generation + 1);
	WRITE_ONCE(sbuf_cache_recycling, 2 * SBUF_HALF_UNITS);
	/* C2: no CPU compares an entry of this half any more.  Unit 0 means none */
	atomic_set(&units_used, half ?: 1);
}
