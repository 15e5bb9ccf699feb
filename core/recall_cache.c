// SPDX-License-Identifier: GPL-2.0
/*
 * recall_cache.c - the memory of recall's cache entries: allocated one after the other from one
 * half of sb_cache; when that is full, a worker empties the other half, and allocation goes on
 * there.  Stacks that still occur are learnt again.
 */
#include <linux/cpu.h>

#include "recall.h"

struct sb_unit sb_cache[2 * SB_HALF_UNITS];
struct sb_newest sb_newest[SB_GRANULES];
u32 sb_recycling_first = 2 * SB_HALF_UNITS;
u32 sb_cache_generation;

/* Units allocated in the half in use, whose number is the topmost bit */
#define SB_HALF		0x80000000U
static atomic_t sb_units_used = ATOMIC_INIT(1);

/* SB_HALF of the half that was found full, and 1 */
static u32 sb_full_half;

u32 sb_alloc_units(unsigned int n)
{
	u32 used = atomic_read(&sb_units_used), was;

	for (;; used = was) {
		if ((used & ~SB_HALF) + n > SB_HALF_UNITS) {
			WRITE_ONCE(sb_full_half, (used & SB_HALF) | 1);
			sb_request(SB_REQUEST_RECYCLE);
			return 0;
		}
		was = atomic_cmpxchg(&sb_units_used, used, used + n);
		if (was == used)
			return (used & ~SB_HALF) + (used & SB_HALF ? SB_HALF_UNITS : 0);
	}
}

void sb_trim_units(u32 first, unsigned int n, unsigned int used)
{
	u32 end = first + n;

	if (first >= SB_HALF_UNITS)
		end = (end - SB_HALF_UNITS) | SB_HALF;
	/* If units were allocated since, this fails, and what is left over stays unused */
	atomic_cmpxchg(&sb_units_used, end, end - n + used);
}

/* Clear a slot, or a unit's number, that leads to the half that begins with the unit @first */
static void sb_clear_if_in_half(u32 *unit, u32 first)
{
	u32 has = READ_ONCE(*unit);

	if ((has & (BIT(SB_UNIT_BITS) - 1)) - first < SB_HALF_UNITS)
		cmpxchg(unit, has, 0);
}

/*
 * One half is full: empty the other one, and go on there.
 *
 * A CPU that learns has interrupts off from sb_alloc_units() until its entry is published, and
 * a CPU that recalls has them off while it uses an entry.  So the first wait ends what began
 * before sb_recycling_first was set, after which no slot is written that leads to the half; and
 * the second wait ends lookups by slots that were read before they were cleared.
 */
static void sb_recycle_half(struct work_struct *work)
{
	u32 half = atomic_read(&sb_units_used) & SB_HALF, first, i;

	/* Requested again while the half before was recycled */
	if (READ_ONCE(sb_full_half) != (half | 1))
		return;
	half ^= SB_HALF;
	first = half ? SB_HALF_UNITS : 0;
	cpus_read_lock();
	WRITE_ONCE(sb_recycling_first, first);
	sb_synchronize_saves();
	for (i = 0; i < SB_INDEX_SLOTS; i++)
		sb_clear_if_in_half(&sb_cache_index[i], first);
	for (i = 0; i < SB_GRANULES; i++)
		sb_clear_if_in_half(&sb_newest[i].unit, first);
	sb_synchronize_saves();
	cpus_read_unlock();
	WRITE_ONCE(sb_cache_generation, sb_cache_generation + 1);
	WRITE_ONCE(sb_recycling_first, 2 * SB_HALF_UNITS);
	/* Unit 0 means none */
	atomic_set_release(&sb_units_used, half ?: 1);
}

void __init sb_init_cache(void)
{
	INIT_WORK(&sb_work[SB_REQUEST_RECYCLE], sb_recycle_half);
}
