// SPDX-License-Identifier: GPL-2.0
/*
 * evict.c - eviction: make room for new stacks in a table that fills up
 *
 * A stack must stay as long as an event in the ring refers to it.  The path of an event does not
 * count references.  Instead, when the table is three quarters full, a worker searches the ring
 * for them:
 *
 *  1. Mark the stacks that the ring refers to.  Unlink those of the others from their chains
 *     that were seen least recently.
 *  2. Wait until every CPU has taken an interrupt.  A save that found one of them before had
 *     interrupts off until its event was in the ring; an NMI completes before the interrupt is
 *     taken.  No save can find them from here on.
 *  3. Mark again.  Relink the stacks that the ring refers to now.
 *  4. Free the others.
 *
 * A CPU that reuses a page of the ring concurrently adds its events to their stacks' counts before
 * it clears the page.  So if step 3 no longer finds an event, no CPU will use its stack for it.
 *
 * If that frees little, the oldest pages of the ring are closed and cleared, and all starts again.
 *
 * cpus_read_lock() keeps CPUs from going on- or offline.
 */
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/cpu.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/string.h>

#include "recall.h"

/* Held while stacks are unlinked from their chains or marked stale */
static DEFINE_MUTEX(sb_table_mutex);

static DECLARE_BITMAP(sb_marked, SB_GRANULES);
/* Unlinked by step 1.  Stacks are marked in both by their first granule */
static DECLARE_BITMAP(sb_unlinked, SB_GRANULES);

/* Above this, old pages of the ring are retired as well */
#define SB_MUCH_USED	(SB_GRANULES / 8 * 7)

/* Eviction does not run again before this ring head or this time, in jiffies */
static u64 sb_evict_head;
static unsigned long sb_evict_time;

static void sb_mark_referenced(void)
{
	u32 i;

	bitmap_zero(sb_marked, SB_GRANULES);
	for (i = 0; i < SB_EVENT_PAGES; i++) {
		const struct stackbuf_events_page *page = &stackbuf_events[i];
		unsigned int pos = 0;
		u64 word;

		/*
		 * Racy: a page that is cleared concurrently may yield words that are no ids.
		 * Marking too many stacks is harmless.
		 */
		while (pos < STACKBUF_EVENT_WORDS && (word = READ_ONCE(page->word[pos]))) {
			u32 granule = sb_id_granule(word);

			if (granule < SB_GRANULES)
				__set_bit(granule, sb_marked);
			pos += stackbuf_event_words(word);
		}
		cond_resched();
	}
	/* Pairs with the smp_wmb() in sb_take_page(): events that are gone have been counted */
	smp_rmb();
}

/*
 * Return the next stack after granule *@from, or NULL.  It need not be one: granules that are being
 * written may look like a stack, and so may frames in a stack's further granules, as the low bits
 * of a number equal its granule now and then.  sb_unlink() and sb_expire_stacks() check it.
 *
 * A size that no stack can have is rejected here: if it counted, it alone could exceed all
 * granules that are wanted, and nothing would be freed any more.
 */
static struct stackbuf_stack *sb_next_stack(u32 *from)
{
	u32 granule;

	for (granule = *from + 1; granule < SB_GRANULES; granule++) {
		struct stackbuf_stack *stack = sb_stack_at(granule);
		u64 used = READ_ONCE(stackbuf_stacks[granule / SB_PAGE_GRANULES].used);

		if (granule % SB_PAGE_GRANULES && used & BIT_ULL(granule % SB_PAGE_GRANULES) &&
		    sb_id_granule(READ_ONCE(stack->id)) == granule) {
			unsigned int nr = READ_ONCE(stack->nr), words = READ_ONCE(stack->words);

			if (!nr || nr > STACKBUF_DEPTH_MAX || words < nr || words > 3 * nr)
				continue;
			*from = granule;
			return stack;
		}
	}
	return NULL;
}

/* Granules of unreferenced stacks that were last seen before page @seq */
static u32 sb_room_before(u64 seq)
{
	struct stackbuf_stack *stack;
	u32 granule = 0, room = 0;

	while ((stack = sb_next_stack(&granule)))
		if (!test_bit(granule, sb_marked) && READ_ONCE(stack->seen) < seq)
			room += sb_stack_granules(stack->words);
	cond_resched();
	return room;
}

/* The lowest page number for which that is @wanted granules; or one above the head's */
static u64 sb_find_age(u32 wanted)
{
	u64 low = 0, high = atomic64_read(&sb_ring_head) + 1;

	if (sb_room_before(high) <= wanted)
		return high;
	while (high - low > 1) {
		u64 middle = low + (high - low) / 2;

		if (sb_room_before(middle) >= wanted)
			high = middle;
		else
			low = middle;
	}
	return high;
}

/* Recall does not search chains, but compares the flags */
static void sb_set_flag(struct stackbuf_stack *stack, u8 flag, bool on)
{
	u8 was = READ_ONCE(stack->flags), old;

	do {
		old = was;
		was = cmpxchg(&stack->flags, old, on ? old | flag : old & ~flag);
	} while (was != old);
}

static u32 *sb_stack_bucket(const struct stackbuf_stack *stack)
{
	return &sb_bucket[stack->hash & (SB_BUCKETS - 1)];
}

/*
 * Return the link to the stack with @id in its chain, or NULL if it is in none: it is not yet
 * inserted, its inserter gave up, or it is no stack.
 */
static u32 *sb_find_link(const struct stackbuf_stack *stack, u32 id)
{
	u32 *link, next;

	for (link = sb_stack_bucket(stack); (next = READ_ONCE(*link)); link = &sb_stack(next)->next)
		if (next == id)
			return link;
	return NULL;
}

static void sb_unlink(struct stackbuf_stack *stack)
{
	u32 *bucket = sb_stack_bucket(stack);
	u32 id = READ_ONCE(stack->id), *link;

	/* Saves put new stacks in front at any time; only eviction writes the links after that */
	do {
		link = sb_find_link(stack, id);
		if (!link)
			return;
	} while (link == bucket && cmpxchg(bucket, id, stack->next) != id);
	if (link != bucket)
		WRITE_ONCE(*link, stack->next);
	/* Found in its chain, so this is a real stack */
	sb_set_flag(stack, STACKBUF_STACK_EVICTING, true);
	__set_bit(sb_id_granule(id), sb_unlinked);
}

static void sb_relink(struct stackbuf_stack *stack)
{
	u32 *bucket = sb_stack_bucket(stack), head;

	do {
		head = READ_ONCE(*bucket);
		WRITE_ONCE(stack->next, head);
	} while (cmpxchg(bucket, head, stack->id) != head);
	sb_set_flag(stack, STACKBUF_STACK_EVICTING, false);
}

/*
 * If the ring refers to all stacks and all events are of new stacks, no event could be recorded
 * any more; the ring would stand still, and that would not change.  The newest events matter most:
 * clear the oldest pages, up to the page before @seq.
 */
static void sb_retire_pages(u64 seq)
{
	u32 i;

	for (i = 0; i < SB_EVENT_PAGES; i++) {
		struct stackbuf_events_page *page = &stackbuf_events[i];
		u64 old = READ_ONCE(page->page.seq);

		if (!old || old >= seq || cmpxchg(&page->owner, 0, U32_MAX))
			continue;
		/* Another CPU may have claimed and closed it since */
		old = page->page.seq;
		if (old && old < seq) {
			WRITE_ONCE(page->page.seq, 0);
			smp_wmb();	/* as in sb_take_page() */
			sb_count_page(page, old);
			smp_wmb();	/* as in sb_take_page() */
			memset(page->word, 0, sizeof(page->word));
		}
		sb_close_page(page);
		cond_resched();
	}
}

/* One round: free the stacks seen least recently that the ring does not refer to */
static void sb_evict_unreferenced(u32 wanted)
{
	struct stackbuf_stack *stack;
	u32 granule = 0;
	u64 age;

	bitmap_zero(sb_unlinked, SB_GRANULES);
	sb_mark_referenced();
	age = sb_find_age(wanted);
	while ((stack = sb_next_stack(&granule)))
		if (!test_bit(granule, sb_marked) && READ_ONCE(stack->seen) < age)
			sb_unlink(stack);

	sb_synchronize_saves();

	sb_mark_referenced();
	/* Before granules are freed, so that the next stack there gets another id */
	WRITE_ONCE(sb_epoch, sb_epoch + 1);
	/* When ids wrap, no layout may hold one from the previous lap */
	if (!(u32)(sb_epoch << SB_ID_BITS))
		sb_invalidate_recall();
	for_each_set_bit(granule, sb_unlinked, SB_GRANULES) {
		stack = sb_stack_at(granule);
		if (test_bit(granule, sb_marked)) {
			sb_relink(stack);
			continue;
		}
		sb_add(&stackbuf_info.evicted, 1);
		sb_add(&stackbuf_info.evicted_events, stack->count);
		WRITE_ONCE(stack->id, 0);
		sb_free_granules(granule, sb_stack_granules(stack->words));
	}
}

static void sb_evict(struct work_struct *work)
{
	static u64 last;
	u64 head = atomic64_read(&sb_ring_head), oldest = head - min_t(u64, head, SB_EVENT_PAGES);
	/* Keep the newest half of the ring, unless it stands still: all events are of new stacks */
	int rounds = sb_ring_stalled && head == last ? 8 : 4, round;
	unsigned long started;
	bool starved = atomic_read(&sb_alloc_misses) >= SB_STACK_PAGES;
	u32 used, wanted;

	mutex_lock(&sb_table_mutex);
	cpus_read_lock();
	/* Not before: to wait for a CPU that goes offline, or for a suspend, is not work */
	started = jiffies;
	for (round = 1; ; round++) {
		used = atomic_read(&sb_granules_used);
		wanted = used > SB_GRANULES / 2 ? used - SB_GRANULES / 2 : 0;
		/* Many granules may be free, but not enough of them in a row */
		if (starved && !wanted)
			wanted = SB_GRANULES / 8 + 1;
		if (!wanted)
			break;
		sb_evict_unreferenced(wanted);
		if (atomic_read(&sb_granules_used) <= SB_MUCH_USED || round > rounds)
			break;
		sb_retire_pages(oldest + 1 + DIV_ROUND_UP(SB_EVENT_PAGES * round, 8));
	}
	cpus_read_unlock();
	mutex_unlock(&sb_table_mutex);
	/* Saves may search for granules again */
	atomic_set(&sb_alloc_misses, 0);

	last = atomic64_read(&sb_ring_head);
	WRITE_ONCE(sb_ring_stalled, last == head && atomic_read(&sb_granules_used) > SB_MUCH_USED);
	WRITE_ONCE(sb_evict_head, atomic64_read(&sb_ring_head) + 1 + SB_EVENT_PAGES / 8);
	/* Use at most a fifth of a CPU's time */
	WRITE_ONCE(sb_evict_time, jiffies + 1 + 4 * (jiffies - started));
}

/*
 * Requested early, at three quarters.  While there are free granules, it is not requested again
 * before the ring has advanced, as only that drops references.
 */
void sb_request_eviction(void)
{
	u32 used = atomic_read(&sb_granules_used);

	if ((used > SB_GRANULES / 4 * 3 &&
	     atomic64_read(&sb_ring_head) >= READ_ONCE(sb_evict_head)) ||
	    ((used > SB_MUCH_USED || atomic_read(&sb_alloc_misses) >= SB_STACK_PAGES) &&
	     time_after_eq(jiffies, READ_ONCE(sb_evict_time))))
		sb_request(SB_REQUEST_EVICTION);
}

/*
 * Another module may be loaded at @text later.  Its stacks may have equal frames and are others, so
 * the stacks of this one must not be found again.  No CPU runs this code or returns to it any
 * more, so no save in progress is about to find one of them.
 */
void sb_expire_stacks(unsigned long text, unsigned long size)
{
	static unsigned long pc[STACKBUF_DEPTH_MAX];
	struct stackbuf_stack *stack;
	unsigned int nr, i;
	u32 granule = 0;

	if (!size)
		return;
	mutex_lock(&sb_table_mutex);
	while ((stack = sb_next_stack(&granule))) {
		/* Racy: what is no stack may change concurrently; sb_find_link() rejects it */
		nr = data_race(sb_decode(pc, stack->frames, READ_ONCE(stack->words)));
		/* A call may end the code: its return address is the byte after that */
		for (i = 0; i < nr && pc[i] - text > size; i++)
			;
		if (i < nr && sb_find_link(stack, READ_ONCE(stack->id)))
			sb_set_flag(stack, STACKBUF_STACK_STALE, true);
		cond_resched();
	}
	mutex_unlock(&sb_table_mutex);
}

void __init sb_init_evict(void)
{
	INIT_WORK(&sb_work[SB_REQUEST_EVICTION], sb_evict);
	sb_evict_time = jiffies;
}
