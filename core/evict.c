// SPDX-License-Identifier: GPL-2.0
/*
 * evict.c - eviction: make room for new stacks in a table that fills up
 *
 * A stack must stay as long as an event in the ring refers to it.  The path of an event does not
 * count references.  Instead, when the table is three quarters full, a worker searches the ring
 * for them:
 *
 *  1. Mark the stacks that the ring refers to.  Of the other stacks, unlink those that were seen
 *     least recently from their chains.
 *  2. Wait for saves in progress: sbuf_synchronize_saves().  A save that found a stack before it
 *     was unlinked then has its event in the ring, and no later save can find the stack.
 *  3. Mark again.  Relink the stacks that the ring refers to now.
 *  4. Free the others.
 *
 * A CPU that reuses a page of the ring concurrently adds its events to their stacks' counts before
 * it clears the page.  So if step 3 no longer finds an event, no CPU will use its stack for it.
 *
 * If that frees little, close and clear the oldest pages of the ring, and start again.
 */
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/mutex.h>

#include "depth.h"
#include "pair.h"
#include "recall.h"
#include "ring.h"
#include "worker.h"

/* Protects the links of chains, flags of stacks, and the text log */
DEFINE_MUTEX(sbuf_table_mutex);

bool sbuf_saves_tasks __read_mostly;

static DECLARE_BITMAP(marked, SBUF_GRANULES);
/* Stacks unlinked by step 1.  Both bitmaps identify a stack by its first granule */
static DECLARE_BITMAP(unlinked, SBUF_GRANULES);

/* Above this, old pages of the ring are retired as well */
#define MUCH_USED	(SBUF_GRANULES / 8 * 7)

/* Eviction does not run again before this ring head or this time, in jiffies */
static u64 evict_head;
static unsigned long evict_time = INITIAL_JIFFIES;

static void mark_referenced(void)
{
	u32 i;

	bitmap_zero(marked, SBUF_GRANULES);
	for (i = 0; i < SBUF_EVENT_PAGES; i++) {
		const struct stackbuf_events_page *page = &stackbuf_events[i];
		unsigned int pos = 0;
		u64 word;

		/*
		 * Racy: a page that is cleared concurrently may yield words that are not ids.
		 * Marking too many stacks is harmless.
		 */
		while (pos < STACKBUF_EVENT_WORDS && (word = READ_ONCE(page->word[pos]))) {
			u32 granule = sbuf_id_granule(word);

			if (granule < SBUF_GRANULES)
				__set_bit(granule, marked);
			pos += stackbuf_event_words(word);
		}
		cond_resched();
	}
	sbuf_pair_mark(marked);
	/* R4, pairs with the smp_wmb() in sbuf_ring_clear_page(): cleared events are counted */
	smp_rmb();
}

/*
 * Return the next stack after granule *@from, and its size in *@words; or NULL.  It may not be one:
 * granules that are being written may look like a stack, and so may frames in a stack's later
 * granules, when the low bits of a word happen to equal its granule.  unlink_stack() and
 * sbuf_evict_expire() check it.
 *
 * Reject a size that no stack can have: it alone could exceed all granules that are wanted, and
 * nothing would be freed.
 */
static struct stackbuf_stack *next_stack(u32 *from, unsigned int *words)
{
	u32 granule;

	for (granule = *from + 1; granule < SBUF_GRANULES; granule++) {
		struct stackbuf_stack *stack = sbuf_table_at(granule);
		u64 used = READ_ONCE(stackbuf_stacks[granule / SBUF_PAGE_GRANULES].used);

		if (!(granule % SBUF_PAGE_GRANULES))
			cond_resched();
		if (granule % SBUF_PAGE_GRANULES && used & BIT_ULL(granule % SBUF_PAGE_GRANULES) &&
		    sbuf_id_granule(READ_ONCE(stack->id)) == granule) {
			unsigned int nr = READ_ONCE(stack->nr);

			*words = READ_ONCE(stack->words);
			if (!nr || nr > SBUF_FRAMES || *words < nr || *words > 3 * nr)
				continue;
			*from = granule;
			return stack;
		}
	}
	return NULL;
}

/* Return the granules of unreferenced stacks that were last seen before page @seq */
static u32 room_before(u64 seq)
{
	struct stackbuf_stack *stack;
	u32 granule = 0, room = 0;
	unsigned int words;

	while ((stack = next_stack(&granule, &words)))
		if (!test_bit(granule, marked) && READ_ONCE(stack->seen) < seq)
			room += sbuf_table_granules(words);
	return room;
}

/* Return the lowest seq before which @wanted granules can be freed, or the ring's head + 1 */
static u64 find_age(u32 wanted)
{
	u64 low = 0, high = atomic64_read(&sbuf_ring_head) + 1;

	if (room_before(high) <= wanted)
		return high;
	while (high - low > 1) {
		u64 middle = low + (high - low) / 2;

		if (room_before(middle) >= wanted)
			high = middle;
		else
			low = middle;
	}
	return high;
}

static u32 *stack_bucket(const struct stackbuf_stack *stack)
{
	return &sbuf_table_bucket[stack->hash & (SBUF_BUCKETS - 1)];
}

/*
 * Return the link to the stack with @id in its chain, or NULL if it is in none: it is not yet
 * inserted, its inserter gave up, or it is not a stack.
 */
static u32 *find_link(const struct stackbuf_stack *stack, u32 id)
{
	u32 *link = stack_bucket(stack), next;

	while ((next = READ_ONCE(*link)) && next != id)
		link = &sbuf_table_stack(next)->next;
	/* T2: only a comparison led to the stack, so nothing else orders what is read of it next */
	smp_rmb();
	return next ? link : NULL;
}

static void unlink_stack(struct stackbuf_stack *stack)
{
	u32 *bucket = stack_bucket(stack), id = READ_ONCE(stack->id), *link, next;

	lockdep_assert_held(&sbuf_table_mutex);
	/* Saves put new stacks in front at any time; only eviction writes the links after that */
	do {
		link = find_link(stack, id);
		if (!link)
			return;
		next = READ_ONCE(stack->next);
	} while (link == bucket && cmpxchg(bucket, id, next) != id);
	if (link != bucket)
		WRITE_ONCE(*link, next);
	/*
	 * Found in its chain, so this is a real stack.  Recall does not search chains, but compares
	 * the flags.  E1: before sbuf_synchronize_saves()
	 */
	sbuf_table_set_flag(stack, STACKBUF_STACK_EVICTING, true);
	__set_bit(sbuf_id_granule(id), unlinked);
}

static void relink_stack(struct stackbuf_stack *stack)
{
	u32 *bucket = stack_bucket(stack), head = READ_ONCE(*bucket);

	lockdep_assert_held(&sbuf_table_mutex);
	do {
		WRITE_ONCE(stack->next, head);
	} while (!try_cmpxchg(bucket, &head, stack->id));
	sbuf_table_set_flag(stack, STACKBUF_STACK_EVICTING, false);
}

/*
 * If the ring refers to all stacks and every event has a new stack, none can be recorded: the ring
 * stops advancing, and never drops a reference.  The newest events matter most, so clear the oldest
 * pages, up to the page before @seq.
 */
static void retire_pages(u64 seq)
{
	u32 i;

	for (i = 0; i < SBUF_EVENT_PAGES; i++) {
		struct stackbuf_events_page *page = &stackbuf_events[i];
		u64 old = READ_ONCE(page->page.seq);

		/* R5, as in claim_page() */
		if (!old || old >= seq || cmpxchg(&page->owner, 0, U32_MAX))
			continue;
		/* Another CPU may have claimed and closed it in between */
		old = page->page.seq;
		if (old && old < seq) {
			sbuf_ring_clear_page(page);
			sbuf_keep(SBUF_EVENTS, page->word, sizeof(page->word));
		}
		sbuf_ring_close_page(page);
		cond_resched();
	}
}

/* If the text of a stack was not rendered in time, count it, and do not render it any more */
static void give_up_text(u32 granule)
{
	if (sbuf_table_next_pending(granule) != granule)
		return;
	sbuf_add(&stackbuf_info.text_given_up, 1);
	sbuf_table_end_pending(granule);
}

/*
 * One round: free the stacks seen least recently that the ring does not refer to.  Return the
 * number of jiffies spent waiting.
 */
static unsigned long evict_unreferenced(u32 wanted, bool soon)
{
	struct stackbuf_stack *stack;
	u32 granule = 0, first_id;
	unsigned long waited;
	unsigned int words;
	u64 age;

	bitmap_zero(unlinked, SBUF_GRANULES);
	mark_referenced();
	age = find_age(wanted);
	while ((stack = next_stack(&granule, &words)))
		if (!test_bit(granule, marked) && READ_ONCE(stack->seen) < age)
			unlink_stack(stack);

	waited = jiffies;
	sbuf_synchronize_saves(soon);
	waited = jiffies - waited;

	mark_referenced();
	/* When ids wrap, no layout may hold that of a stack evicted in the previous lap */
	first_id = (sbuf_table_generation + 1) << SBUF_ID_BITS;
	if (!first_id)
		sbuf_recall_invalidate();
	/* T4: before granules are freed, so that the next stack there gets another id */
	WRITE_ONCE(sbuf_table_generation, sbuf_table_generation + 1);
	for_each_set_bit(granule, unlinked, SBUF_GRANULES) {
		cond_resched();
		stack = sbuf_table_at(granule);
		if (test_bit(granule, marked)) {
			relink_stack(stack);
			continue;
		}
		sbuf_add(&stackbuf_info.evicted, 1);
		sbuf_add(&stackbuf_info.evicted_events, stack->count);
		WARN_ON_ONCE(!(READ_ONCE(stack->flags) & STACKBUF_STACK_EVICTING));
		give_up_text(granule);
		/* Of the previous lap: its place may get this id again before ids wrap */
		if (stack->id >= first_id) {
			sbuf_recall_invalidate();
			first_id = U32_MAX;
		}
		sbuf_table_free(granule, sbuf_table_granules(stack->words));
	}
	return waited;
}

bool sbuf_evict_stalled;

void sbuf_evict_stacks(struct work_struct *work)
{
	static u64 last;
	u64 head = atomic64_read(&sbuf_ring_head);
	u64 oldest = head - min_t(u64, head, SBUF_EVENT_PAGES);
	/* Keep the newest half of the ring, unless it has stalled: all events have new stacks */
	int rounds = sbuf_evict_stalled && head == last ? 8 : 4, round;
	unsigned long started;
	bool starved = atomic_read(&sbuf_table_misses) >= SBUF_STACK_PAGES, freed;
	u32 used, wanted;

	mutex_lock(&sbuf_table_mutex);
	/* Waiting does not count as work */
	started = jiffies;
	for (round = 1; ; round++) {
		used = atomic_read(&sbuf_table_used);
		wanted = used > SBUF_GRANULES / 2 ? used - SBUF_GRANULES / 2 : 0;
		/* Many granules may be free, but not enough of them in a row */
		if (starved && !wanted)
			wanted = SBUF_GRANULES / 8 + 1;
		if (!wanted)
			break;
		started += evict_unreferenced(wanted, starved || used > MUCH_USED);
		/* Large stacks leave granules at the end of each page, so less may be all */
		freed = atomic_read(&sbuf_table_used) < used;
		if ((atomic_read(&sbuf_table_used) <= MUCH_USED && (freed || !starved)) ||
		    round > rounds)
			break;
		retire_pages(oldest + 1 + DIV_ROUND_UP(SBUF_EVENT_PAGES * round, 8));
	}
	mutex_unlock(&sbuf_table_mutex);
	/* Saves may search for granules again */
	atomic_set(&sbuf_table_misses, 0);

	last = atomic64_read(&sbuf_ring_head);
	WRITE_ONCE(sbuf_evict_stalled, last == head &&
		   (starved || atomic_read(&sbuf_table_used) > MUCH_USED));
	WRITE_ONCE(evict_head, atomic64_read(&sbuf_ring_head) + 1 + SBUF_EVENT_PAGES / 8);
	/* Use at most a fifth of a CPU's time */
	WRITE_ONCE(evict_time, jiffies + 1 + 4 * (jiffies - started));
}

/*
 * Request eviction early, at three quarters.  While there are free granules, do not request it
 * again until the ring has advanced, as only that drops references.
 */
void sbuf_evict_request(void)
{
	u32 used = atomic_read(&sbuf_table_used);

	if ((used > SBUF_GRANULES / 4 * 3 &&
	     atomic64_read(&sbuf_ring_head) >= READ_ONCE(evict_head)) ||
	    ((used > MUCH_USED || atomic_read(&sbuf_table_misses) >= SBUF_STACK_PAGES) &&
	     time_after_eq(jiffies, READ_ONCE(evict_time))))
		sbuf_worker_request(SBUF_WORKER_EVICT);
}

/*
 * Another module may be loaded at @text later.  Its stacks may have equal frames but are different
 * stacks, so no save may find the stacks of this module again.  Render them now, while its symbols
 * exist.  No CPU runs this code or returns to it any more, so no save in progress can find one of
 * these stacks, except a save that walked another task's stack before that task left the code; and
 * except for a module's parameters, which free_module() removes after its notifiers: stacks of
 * theirs that are recorded later expire when the next module comes (@coming), with its own symbols.
 */
void sbuf_evict_expire(unsigned long text, unsigned long size, bool coming)
{
	static unsigned long pc[SBUF_FRAMES];
	struct stackbuf_stack *stack;
	unsigned int words, nr, i;
	u32 granule = 0;

	if (!size)
		return;
	smp_mb();	/* E3: all tasks have left the code */
	if (READ_ONCE(sbuf_saves_tasks))
		sbuf_synchronize_saves(false);
	mutex_lock(&sbuf_table_mutex);
	while ((stack = next_stack(&granule, &words))) {
		/* Racy: what is not a stack may change concurrently; find_link() rejects it */
		nr = data_race(sbuf_trace_decode(pc, stack->frames, words));
		/* If a call is the last instruction, its return address is the byte after it */
		for (i = 0; i < nr && pc[i] - text > size; i++)
			;
		if (i < nr && find_link(stack, READ_ONCE(stack->id))) {
			if (coming)
				give_up_text(granule);
			else
				sbuf_text_render(granule);
			sbuf_table_set_flag(stack, STACKBUF_STACK_STALE, true);
		}
		cond_resched();
	}
	sbuf_depth_expire(text, size, coming);
	mutex_unlock(&sbuf_table_mutex);
}
