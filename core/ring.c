// SPDX-License-Identifier: GPL-2.0
/*
 * ring.c - the event ring
 *
 * A CPU takes a page by one atomic step on the ring's head and one on the
 * page's owner field, and appends to it alone.  Pages come round oldest first;
 * one that another CPU still has open is passed over, it may hold what an idle
 * CPU did last.
 *
 * Appending runs with interrupts off, so that only an NMI (or what runs like
 * one) can interrupt it, on the same CPU.  Who appends claims the place by a
 * local cmpxchg() of the event's first word from 0, which tells the event's
 * length at once: a page can be parsed at every instant, and a claim of both
 * an append and the NMI that interrupts it can't succeed at the same place.
 *
 * An NMI inside an append uses the form that does not depend on the event
 * before it and says so (sb_cpu.chain_end), as it can't know whether the
 * interrupted one has updated sb_cpu yet.  It never takes a page: some room at
 * a page's end is kept for it.  What is left over is refused and counted.
 */

#include "internal.h"
#include "ring.h"

#define SB_FULL_WORDS		5
#define SB_NMI_WORDS		(2 * SB_FULL_WORDS)
#define SB_FULL_TIME_MAX	BIT_ULL(STACKBUF_EVENT_TIME_BITS + STACKBUF_TASK_TIME_BITS)

/* First position where no event can begin, as there is no room for any and for NMIs */
#define SB_CHAIN_END		(STACKBUF_EVENT_WORDS - SB_FULL_WORDS - SB_NMI_WORDS + 1)

static_assert(SB_FULL_WORDS + SB_NMI_WORDS <= STACKBUF_EVENT_WORDS);

atomic64_t sb_ring_head;

struct sb_cpu __percpu *sb_cpu __read_mostly;

/* Fill in what follows the first word, then show that it is complete */
static inline void sb_complete_event(u64 *at, const struct sb_event *event, u64 first, u64 dt)
{
	if (first & STACKBUF_EVENT_WRITING) {
		/* Once each: evict.c may take them for first words of a page just cleared */
		WRITE_ONCE(at[1], event->tag);
		if (stackbuf_event_form(first) == STACKBUF_FULL) {
			WRITE_ONCE(at[2], (u32)event->task |
				   event->task >> 32 << STACKBUF_TASK_TGID_SHIFT |
				   dt >> STACKBUF_EVENT_TIME_BITS << STACKBUF_TASK_TIME_SHIFT |
				   (event->tagged ? STACKBUF_TASK_TAGGED : 0));
			WRITE_ONCE(at[3], event->comm[0]);
			/* Somebody may have been changing the name: end it */
			WRITE_ONCE(at[4], event->comm[1] & (~0ULL >> 8));
		}
		/* Readers on other CPUs see a complete event or one being written */
		smp_store_release(at, first & ~STACKBUF_EVENT_WRITING);
	}
}

static inline void sb_count(u32 id, u64 n, u64 seq)
{
	/* False only if somebody else's wild write hit the ring: stay away then */
	if (sb_id_granule(id) < SB_GRANULES) {
		sb_add(&sb_stack(id)->count, n);
		WRITE_ONCE(sb_stack(id)->seen, seq);
	}
}

/* Add what a page held to its stacks' counts, as the page is about to be reused */
void sb_count_page(const struct stackbuf_events_page *page, u64 seq)
{
	const u64 *at = page->word, *end = at + STACKBUF_EVENT_WORDS;
	u64 all = 0;

	while (at < end && *at) {
		u32 id = *at;
		u64 run = 0;

		/* Events of one stack often follow each other */
		do {
			run++;
			/* Most are short */
			at += likely(!(*at & (u64)STACKBUF_TAGGED << STACKBUF_EVENT_FORM_SHIFT)) ?
				1 : stackbuf_event_words(*at);
		} while (at < end && (u32)*at == id);
		sb_count(id, run, seq);
		all += run;
	}
	sb_add(&stackbuf_info.overwritten, all);
}

/* Number of events in a page that is being filled */
static unsigned int sb_page_events(const struct stackbuf_events_page *page)
{
	unsigned int pos = 0, n = 0;
	u64 word;

	while (pos < STACKBUF_EVENT_WORDS && (word = READ_ONCE(page->word[pos]))) {
		n++;
		pos += stackbuf_event_words(word);
	}
	return n;
}

/* Every page is open: until one is closed there is no use in looking again */
static bool sb_ring_starved;

/* sb_share_pages() is at work */
static bool sb_ring_sharing;

static struct stackbuf_events_page *sb_claim_page(const struct sb_cpu *cpu, u64 *seq)
{
	/* One of these is closed: each CPU has at most one open, and so has evict.c */
	unsigned int tries = min_t(unsigned int, SB_EVENT_PAGES, nr_cpu_ids + 2), i;
	u64 head = atomic64_read(&sb_ring_head);

	/* A claim that cannot succeed takes no number: each one ages the ring */
	if (READ_ONCE(sb_ring_starved) || (READ_ONCE(sb_ring_sharing) && !cpu->waiting))
		return NULL;
	for (i = 1; READ_ONCE(stackbuf_events[(head + i) % SB_EVENT_PAGES].owner); i++) {
		if (i < tries)
			continue;
		/* A page that is closed meanwhile is found when sb_share_pages() has run */
		WRITE_ONCE(sb_ring_starved, true);
		return NULL;
	}
	while (tries--) {
		struct stackbuf_events_page *page;

		*seq = atomic64_inc_return(&sb_ring_head);
		page = &stackbuf_events[*seq % SB_EVENT_PAGES];
		/* Acquires what its owner wrote before he closed it */
		if (!READ_ONCE(page->owner) && !cmpxchg(&page->owner, 0, smp_processor_id() + 1))
			return page;
	}
	return NULL;
}

void sb_close_page(struct stackbuf_events_page *page)
{
	/* Whoever claims it finds all that we wrote */
	smp_store_release(&page->owner, 0);
	if (unlikely(READ_ONCE(sb_ring_starved)))
		WRITE_ONCE(sb_ring_starved, false);
}

/* Nothing came into the ring for a while, as the table is full: evict.c says so */
bool sb_ring_stands;

/*
 * Close @cpu's page, if it has one.  With @cpu->appending set: an NMI meanwhile may
 * append to the page as long as it is @cpu's, but neither takes a page nor sets
 * @cpu->chain_end.  So chain_end, cleared first, is 0 whenever there is no page.
 */
static void sb_drop_page(struct sb_cpu *cpu)
{
	struct stackbuf_events_page *page = cpu->page;

	WRITE_ONCE(cpu->chain_end, 0);
	barrier();
	WRITE_ONCE(cpu->page, NULL);
	barrier();
	if (page)
		sb_close_page(page);
}

/*
 * Close @cpu's page before it is full: @always; or if the table is full and the page is
 * so old that evict.c may want it, or evict.c may want all pages.  Not in the middle of
 * an append, whose page it is.  @cpu is this CPU, with interrupts off, or is offline.
 */
void sb_leave_page(struct sb_cpu *cpu, bool always)
{
	if (READ_ONCE(cpu->appending))
		return;
	WRITE_ONCE(cpu->appending, true);
	barrier();
	if (cpu->page && (always || READ_ONCE(sb_ring_stands) ||
			  READ_ONCE(cpu->page->page.seq) + SB_EVENT_PAGES / 2 <=
			  atomic64_read(&sb_ring_head)))
		sb_drop_page(cpu);
	barrier();
	WRITE_ONCE(cpu->appending, false);
}

/* Get @cpu a new page; false if no page is free.  Interrupts are off */
static bool sb_take_page(struct sb_cpu *cpu)
{
	struct stackbuf_events_page *page, *old = cpu->page;
	u64 seq, old_seq, recorded;

	page = sb_claim_page(cpu, &seq);
	if (!page && old) {
		/* A ring of few pages: ours may be the only one to be had */
		sb_drop_page(cpu);
		old = NULL;
		page = sb_claim_page(cpu, &seq);
	}
	cpu->waiting = !page;
	if (!page)
		return false;

	/* A reader who copies meanwhile finds the number changed afterwards */
	old_seq = page->page.seq;
	WRITE_ONCE(page->page.seq, 0);
	smp_wmb();	/* the same, in readers' order */
	if (old_seq)
		sb_count_page(page, old_seq);
	/* Who sees the page cleared (evict.c) sees its events counted */
	smp_wmb();
	memset64(page->word, 0, STACKBUF_EVENT_WORDS);
	page->time = sb_now();
	page->cpu = smp_processor_id();

	/*
	 * An NMI may append at any point from here on: to the old page or, after
	 * the switch, to the new one.  From position 0 it finds the end of both.
	 */
	WRITE_ONCE(cpu->chain_end, 0);
	WRITE_ONCE(cpu->pos, 0);
	barrier();
	WRITE_ONCE(cpu->page, page);
	barrier();
	do {
		recorded = READ_ONCE(cpu->recorded);
		page->first = recorded - sb_page_events(page);
		barrier();
	} while (READ_ONCE(cpu->recorded) != recorded);

	/* Readers see the number only when the page is ready */
	smp_store_release(&page->page.seq, seq);
	if (old)
		sb_close_page(old);
	return true;
}

/* The jiffies from which on sharing the pages out again makes sense */
static unsigned long sb_share_time;

/* Appends run with interrupts off, so these two interrupt none */
static void sb_leave_this_page(void *unused)
{
	sb_leave_page(this_cpu_ptr(sb_cpu), true);
}

static void sb_take_if_waiting(void *unused)
{
	struct sb_cpu *cpu = this_cpu_ptr(sb_cpu);

	/* As an append, see sb_take_page() */
	WRITE_ONCE(cpu->appending, true);
	barrier();
	if (cpu->waiting && !cpu->page)
		sb_take_page(cpu);
	barrier();
	WRITE_ONCE(cpu->appending, false);
}

/*
 * All pages are open, and a CPU that records nothing would keep its page: close them all,
 * and give one to each CPU that waits; then any CPU may take one.  So with fewer pages
 * than CPUs all of them record by turns.
 *
 * CPUs neither come nor go meanwhile.  One that is offline records nothing: Linux
 * counts it as offline when it has reported to be dead; x86 ignores NMIs from when the
 * CPU is not in cpu_online_mask; and what little runs from the report to the halt has a
 * second, should it be probed.
 */
static void sb_share_pages(struct work_struct *work)
{
	unsigned long started = jiffies;
	int i;

	cpus_read_lock();
	/* Other CPUs get no page until this is through, so it must not wait to run */
	preempt_disable();
	WRITE_ONCE(sb_ring_sharing, true);
	on_each_cpu(sb_leave_this_page, NULL, 1);
	for_each_possible_cpu(i) {
		struct sb_cpu *cpu = per_cpu_ptr(sb_cpu, i);

		if (!cpu_online(i) && (s64)(sb_now() - READ_ONCE(cpu->time)) > NSEC_PER_SEC)
			sb_leave_page(cpu, true);
	}
	WRITE_ONCE(sb_ring_starved, false);
	on_each_cpu(sb_take_if_waiting, NULL, 1);
	WRITE_ONCE(sb_ring_sharing, false);
	preempt_enable();
	cpus_read_unlock();
	/* Some 50 times a second, and at most a fifth of a CPU's time */
	WRITE_ONCE(sb_share_time, jiffies + 1 + HZ / 50 + 4 * (jiffies - started));
}

/* Called when an event was refused because it got no page */
void sb_want_page(void)
{
	if (READ_ONCE(sb_ring_starved) && time_after_eq(jiffies, READ_ONCE(sb_share_time)))
		sb_request(SB_REQUEST_PAGES);
}

void __init sb_init_ring(void)
{
	INIT_WORK(&sb_work[SB_REQUEST_PAGES], sb_share_pages);
	sb_share_time = jiffies;
}

/* An append inside an append: see the top of the file */
static bool sb_append_nested(struct sb_cpu *cpu, struct sb_event *event)
{
	struct stackbuf_events_page *page = READ_ONCE(cpu->page);
	unsigned int pos = READ_ONCE(cpu->pos);
	u64 word, old, dt;

	if (!page)
		return false;
	event->time = sb_now();
	dt = event->time - page->time;
	if (dt >= SB_FULL_TIME_MAX)
		return false;
	word = sb_event_word(event->id, event->context, STACKBUF_FULL, dt);

	for (; pos + SB_FULL_WORDS <= STACKBUF_EVENT_WORDS; pos += stackbuf_event_words(old)) {
		old = READ_ONCE(page->word[pos]);
		if (old)
			continue;
		old = cmpxchg64_local(&page->word[pos], 0, word);
		if (!old) {
			WRITE_ONCE(cpu->chain_end, 0);
			sb_complete_event(&page->word[pos], event, word, dt);
			this_cpu_inc(sb_cpu->recorded);
			return true;
		}
	}
	return false;
}

static bool sb_append_outer(struct sb_cpu *cpu, struct sb_event *event)
{
	struct stackbuf_events_page *page;
	enum stackbuf_form form;
	u64 now = 0, dt, word, old;
	unsigned int pos;

	for (;;) {
		page = cpu->page;
		pos = cpu->pos;
		if (!page || pos >= SB_CHAIN_END) {
			if (!sb_take_page(cpu))
				return false;
			now = 0;
			continue;
		}

		/*
		 * Once: if a probe lies in what this calls, it appends an event each
		 * time, and the claim below would fail for ever.
		 */
		if (!now)
			now = sb_now();
		event->time = now;
		/* Also true for a clock that went backwards: dt is huge then */
		dt = now - cpu->time;
		if (READ_ONCE(cpu->chain_end) && dt < SB_SHORT_TIME_MAX &&
		    sb_same_task(cpu, event->task, event->comm)) {
			form = event->tagged ? STACKBUF_TAGGED : STACKBUF_SHORT;
		} else {
			form = STACKBUF_FULL;
			dt = now - page->time;
			if (dt >= SB_FULL_TIME_MAX) {
				if (!sb_take_page(cpu))
					return false;
				now = 0;
				continue;
			}
		}

		/*
		 * Set before the claim: an NMI that appends before it makes the
		 * claim fail, one that appends after it clears this again.
		 */
		WRITE_ONCE(cpu->chain_end, SB_CHAIN_END);
		barrier();
		word = sb_event_word(event->id, event->context, form, dt);
		old = cmpxchg64_local(&page->word[pos], 0, word);
		if (likely(!old))
			break;
		WRITE_ONCE(cpu->chain_end, 0);
		WRITE_ONCE(cpu->pos, pos + stackbuf_event_words(old));
	}

	this_cpu_inc(sb_cpu->recorded);
	sb_complete_event(&page->word[pos], event, word, dt);
	cpu->time = now;
	cpu->task = event->task;
	cpu->comm[0] = event->comm[0];
	cpu->comm[1] = event->comm[1];
	barrier();
	WRITE_ONCE(cpu->pos, pos + stackbuf_event_words(word));
	return true;
}

bool sb_append(struct sb_cpu *cpu, struct sb_event *event)
{
	bool done;

	if (unlikely(READ_ONCE(cpu->appending)))
		return sb_append_nested(cpu, event);
	WRITE_ONCE(cpu->appending, true);
	barrier();
	done = sb_append_outer(cpu, event);
	barrier();
	WRITE_ONCE(cpu->appending, false);
	return done;
}

/*
 * Take the next page ahead, if the one at hand is full: to count what it held takes as long
 * as all else in a save, which keeps interrupts off by itself.
 */
void sb_take_page_ahead(struct sb_cpu *cpu)
{
	unsigned long flags;

	raw_local_irq_save(flags);
	if (READ_ONCE(cpu->page) && cpu->pos >= SB_CHAIN_END && !READ_ONCE(cpu->appending)) {
		WRITE_ONCE(cpu->appending, true);
		barrier();
		sb_take_page(cpu);
		barrier();
		WRITE_ONCE(cpu->appending, false);
	}
	raw_local_irq_restore(flags);
}

u64 sb_recorded(void)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(sb_cpu, cpu)->recorded);
	return sum;
}
