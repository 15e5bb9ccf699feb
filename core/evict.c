// SPDX-License-Identifier: GPL-2.0
/*
 * evict.c - room for new stacks in a table that fills up
 *
 * A stack must stay as long as an event in the ring refers to it.  Nothing on
 * the way of an event counts references; the ring is searched for them, in a
 * worker, when the table is three quarters full:
 *
 *  1. Mark what the ring refers to.  Of the rest, the stacks that were seen
 *     least recently are taken out of their chains.
 *  2. Wait until every CPU has taken an interrupt.  Whoever found one of them
 *     before had interrupts off until his event was in the ring, and an NMI
 *     ends before the interrupt is taken.  Now nobody can find them any more.
 *  3. Mark again.  What the ring refers to now goes back into its chain.
 *  4. The rest is freed.
 *
 * A CPU that reuses a page of the ring meanwhile adds its events to their
 * stacks' counts before it clears the page; so where step 3 finds an event
 * gone, nothing uses its stack any more.
 *
 * If that leaves little room, the oldest pages of the ring are given up, and all
 * starts again.
 *
 * CPUs do not come or go meanwhile: cpus_read_lock().
 */

/* Held while stacks are taken out of their chains or become stale */
static DEFINE_MUTEX(sb_table_mutex);

static DECLARE_BITMAP(sb_marked, SB_GRANULES);
/* Taken out of their chains by step 1; by their first granule, as sb_marked */
static DECLARE_BITMAP(sb_unlinked, SB_GRANULES);

/* When only this much is left, events must make room as well */
#define SB_MUCH_USED	(SB_GRANULES / 8 * 7)

/* The ring's head, and the jiffies, from which on searching again makes sense */
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
		 * A page that is cleared while it is read may give numbers that
		 * are no ids: marking too much does no harm.
		 */
		while (pos < STACKBUF_EVENT_WORDS && (word = READ_ONCE(page->word[pos]))) {
			u32 granule = sb_id_granule(word);

			if (granule < SB_GRANULES)
				__set_bit(granule, sb_marked);
			pos += stackbuf_event_words(word);
		}
		cond_resched();
	}
	/* Events that were gone had been counted, see sb_take_page() */
	smp_rmb();
}

/*
 * The next stack after granule *@from, or NULL.  What is only just being written
 * may look like one, and so may frames in a stack's further granules, as the low
 * bits of any number name their own granule now and then; sb_unlink() makes sure.
 * But no stack has a size that none can have: taken at its word, it alone would
 * be all the room that is wanted, and nothing would ever be freed again.
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

/* Granules to be had from unreferenced stacks last seen before page @seq */
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

/* The lowest page number that gives @wanted granules, or the present head's */
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

/* Recall does not go by the chains, but looks at the flags */
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
 * What leads to the stack with @id in its chain.  NULL if it is in none: its inserter has not
 * got that far, or gave up, or it is no stack at all.
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

	/* New ones come in front at any time; further back only we write */
	do {
		link = sb_find_link(stack, id);
		if (!link)
			return;
	} while (link == bucket && cmpxchg(bucket, id, stack->next) != id);
	if (link != bucket)
		WRITE_ONCE(*link, stack->next);
	/* Now that it is certain that this is a stack */
	sb_set_flag(stack, STACKBUF_STACK_LEAVING, true);
	__set_bit(sb_id_granule(id), sb_unlinked);
}

static void sb_relink(struct stackbuf_stack *stack)
{
	u32 *bucket = sb_stack_bucket(stack), head;

	do {
		head = READ_ONCE(*bucket);
		WRITE_ONCE(stack->next, head);
	} while (cmpxchg(bucket, head, stack->id) != head);
	sb_set_flag(stack, STACKBUF_STACK_LEAVING, false);
}

/*
 * When all stacks are referred to and all that comes is new, nothing would be
 * recorded any more, and as the ring stood still, never again.  The newest
 * events matter most: end the oldest pages' time, up to the page before @seq.
 */
static void sb_retire_pages(u64 seq)
{
	u32 i;

	for (i = 0; i < SB_EVENT_PAGES; i++) {
		struct stackbuf_events_page *page = &stackbuf_events[i];
		u64 old = READ_ONCE(page->page.seq);

		if (!old || old >= seq || cmpxchg(&page->owner, 0, U32_MAX))
			continue;
		/* It may have been taken and closed meanwhile */
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

/* One round: free what is least recent of what the ring does not refer to */
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

	sb_wait_for_saves();

	sb_mark_referenced();
	/* Before any room is freed: what takes it gets an id never used there */
	WRITE_ONCE(sb_epoch, sb_epoch + 1);
	/* Ids come round one day: no layout may know one from the last time */
	if (!(u32)(sb_epoch << SB_ID_BITS))
		sb_forget_layouts();
	for_each_set_bit(granule, sb_unlinked, SB_GRANULES) {
		stack = sb_stack_at(granule);
		if (test_bit(granule, sb_marked)) {
			sb_relink(stack);
			continue;
		}
		sb_add(&stackbuf_info.evicted, 1);
		sb_add(&stackbuf_info.evicted_events, stack->count);
		WRITE_ONCE(stack->id, 0);
		sb_give_room(granule, sb_stack_granules(stack->words));
	}
}

static void sb_evict(struct work_struct *work)
{
	static u64 last;
	u64 head = atomic64_read(&sb_ring_head), oldest = head - min_t(u64, head, SB_EVENT_PAGES);
	/* The newest half of the ring stays, unless it stands still: all that comes is new */
	int rounds = sb_ring_stands && head == last ? 8 : 4;
	unsigned long started = jiffies;
	bool starved = atomic_read(&sb_room_misses) >= SB_STACK_PAGES;
	u32 used, wanted;
	int round;

	mutex_lock(&sb_table_mutex);
	cpus_read_lock();
	for (round = 1; ; round++) {
		used = atomic_read(&sb_granules_used);
		wanted = used > SB_GRANULES / 2 ? used - SB_GRANULES / 2 : 0;
		/* There may be much room, but none of it large enough */
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
	/* Let them look for room again */
	atomic_set(&sb_room_misses, 0);

	last = atomic64_read(&sb_ring_head);
	WRITE_ONCE(sb_ring_stands, last == head && atomic_read(&sb_granules_used) > SB_MUCH_USED);
	WRITE_ONCE(sb_evict_head, atomic64_read(&sb_ring_head) + 1 + SB_EVENT_PAGES / 8);
	/* At most a fifth of a CPU's time, whatever comes */
	WRITE_ONCE(sb_evict_time, jiffies + 1 + 4 * (jiffies - started));
}

/*
 * Called when a stack was inserted or could not be: ask for room in time.  As
 * long as there is some, not again before the ring has moved on, as only that
 * takes references away.
 */
void sb_want_room(void)
{
	u32 used = atomic_read(&sb_granules_used);

	if ((used > SB_GRANULES / 4 * 3 &&
	     atomic64_read(&sb_ring_head) >= READ_ONCE(sb_evict_head)) ||
	    ((used > SB_MUCH_USED || atomic_read(&sb_room_misses) >= SB_STACK_PAGES) &&
	     time_after_eq(jiffies, READ_ONCE(sb_evict_time))))
		sb_request(SB_REQUEST_ROOM);
}

/*
 * The code at @text is about to be freed, and another module may be loaded there.  Its stacks
 * may have equal frames and are others: see that these are not found again.  Nothing runs or
 * returns to this code any more, so no save in progress is on its way to one of them.
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
		/* What is no stack may change meanwhile, which sb_find_link() sees */
		nr = data_race(sb_decode(pc, stack->frames, READ_ONCE(stack->words)));
		/* A call may be a function's last instruction */
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
	INIT_WORK(&sb_work[SB_REQUEST_ROOM], sb_evict);
	sb_evict_time = jiffies;
}
