// SPDX-License-Identifier: GPL-2.0
/*
 * ring.c - the event ring
 *
 * A CPU claims a page by one atomic operation on the ring's head and one on the page's owner field,
 * and then is the only CPU that appends to it.  Pages are reused oldest first.  A page that another
 * CPU still has open is skipped: it may hold the last events of an idle CPU.
 *
 * An append runs with interrupts off, so that only an NMI (or an exception that behaves like one)
 * can interrupt it, on the same CPU.  It claims the place of its event by a local cmpxchg() of the
 * event's first word from 0.  That word holds the event's length, so a page can be parsed at any
 * instant, and an append and an NMI that interrupts it cannot both claim the same place.
 *
 * An NMI inside an append does not know whether the append has already updated sbuf_cpu.  So it
 * appends a FULL event, which does not depend on the previous event, and clears sbuf_cpu.chain_end,
 * so that the next event is FULL, too.  It never claims a page: the end of each page is reserved
 * for NMIs, and events that do not fit there are refused and counted.
 *
 * A page's state follows from its seq (its number, as it was claimed) and its owner:
 *
 *	state	seq	owner	read or written by
 *	EMPTY	0	0	-
 *	CLAIMED	n, 0	a CPU	take_page() counts its old events and clears it; then NMIs append
 *	OPEN	n	a CPU	that CPU appends, and its NMIs; readers
 *	CLOSED	n	0	readers
 *	RETIRED	n, 0	~0	retire_pages() counts its events and clears it
 *
 *	EMPTY, CLOSED -> CLAIMED	claim_page(), R5
 *	CLAIMED -> OPEN			take_page(), R3
 *	CLAIMED -> CLOSED		claim_page(): the page had become one of the newest
 *	OPEN -> CLOSED			sbuf_ring_close_page(), R5: it is full, wanted by another
 *					CPU or by eviction, or its CPU is offline
 *	CLOSED -> RETIRED -> EMPTY	retire_pages(), R2; or CLOSED if a CPU was faster
 *
 * A CPU has one page OPEN, and a second one while it changes pages.  If all pages are OPEN, the
 * ring is starved: claims fail at once until a page is closed, and a worker shares the pages out,
 * first to CPUs that were refused one (sbuf_cpu.waiting).
 */
#include <linux/cpu.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/time64.h>

#include "ring.h"
#include "table.h"
#include "worker.h"

#define FULL_WORDS		5
#define NMI_WORDS		(2 * FULL_WORDS)
#define FULL_TIME_MAX	BIT_ULL(STACKBUF_EVENT_TIME_BITS + STACKBUF_TASK_TIME_BITS)

/* Events must begin before this position, which leaves room for any event and for NMIs */
#define CHAIN_END		(STACKBUF_EVENT_WORDS - FULL_WORDS - NMI_WORDS + 1)

static_assert(FULL_WORDS + NMI_WORDS <= STACKBUF_EVENT_WORDS);

atomic64_t sbuf_ring_head;

struct sbuf_cpu __percpu *sbuf_cpu __read_mostly;

/* Write the words after the first, then clear STACKBUF_EVENT_WRITING */
static inline void complete_event(u64 *at, const struct sbuf_event *event, u64 first, u64 dt)
{
	if (first & STACKBUF_EVENT_WRITING) {
		/* WRITE_ONCE(): evict.c may read these as first words of a cleared page */
		WRITE_ONCE(at[1], event->save->tag);
		if (stackbuf_event_form(first) == STACKBUF_FULL) {
			WRITE_ONCE(at[2], (u32)event->task |
				   event->task >> 32 << STACKBUF_TASK_TGID_SHIFT |
				   dt >> STACKBUF_EVENT_TIME_BITS << STACKBUF_TASK_TIME_SHIFT |
				   (event->save->flags & SBUF_TAGGED ? STACKBUF_TASK_TAGGED : 0));
			WRITE_ONCE(at[3], event->comm[0]);
			/* The task may have been renamed during the copy: terminate the name */
			WRITE_ONCE(at[4], event->comm[1] & (~0ULL >> 8));
		}
		/* R1: readers on other CPUs see a complete event or one that is being written */
		smp_store_release(at, first & ~STACKBUF_EVENT_WRITING);
	}
	sbuf_keep_event(at, first & ~STACKBUF_EVENT_WRITING);
}

static inline void count_events(u32 id, u64 n, u64 seq)
{
	/* An id is out of range only if a stray write corrupted the ring; do not follow it */
	if (sbuf_id_granule(id) < SBUF_GRANULES) {
		struct stackbuf_stack *stack = sbuf_table_stack(id);

		sbuf_add(&stack->count, n);
		WRITE_ONCE(stack->seen, seq);
		/* And @seen, which follows it */
		sbuf_keep_shared(SBUF_STACKS, &stack->count, 2);
	}
}

void sbuf_ring_clear_page(struct stackbuf_events_page *page)
{
	const u64 *at = page->word, *end = at + STACKBUF_EVENT_WORDS;
	u64 seq = page->page.seq, all = 0;

	/* A reader that copies the page concurrently sees that the number has changed */
	WRITE_ONCE(page->page.seq, 0);
	sbuf_keep(SBUF_EVENTS, &page->page.seq, sizeof(page->page.seq));
	smp_wmb();	/* R2: the number changes before the counts and the words */
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
		count_events(id, run, seq);
		all += run;
	}
	sbuf_add(&stackbuf_info.overwritten, all);
	/* R2; R4, with the smp_rmb() in mark_referenced(): cleared events are counted */
	smp_wmb();
	memset64(page->word, 0, STACKBUF_EVENT_WORDS);
}

/* Return the number of events in a page that is being filled */
static unsigned int count_in_page(const struct stackbuf_events_page *page)
{
	unsigned int pos = 0, n;
	u64 word;

	for (n = 0; pos < STACKBUF_EVENT_WORDS && (word = READ_ONCE(page->word[pos])); n++)
		pos += stackbuf_event_words(word);
	return n;
}

/*
 * CLAIMABLE: a page may be closed, and a claim searches for it.  STARVED: all pages are open, so a
 * search would fail until one is closed.  SHARING: sbuf_ring_share_pages() runs, and only CPUs that
 * were refused a page may claim one.
 *
 *	CLAIMABLE -> STARVED	claim_page()
 *	STARVED -> CLAIMABLE	sbuf_ring_close_page()
 *	any -> SHARING -> CLAIMABLE	sbuf_ring_share_pages()
 */
static enum { CLAIMABLE, STARVED, SHARING } claims;

void sbuf_ring_close_page(struct stackbuf_events_page *page)
{
	/* R5, pairs with the cmpxchg() in claim_page(): the next owner sees all writes to it */
	smp_store_release(&page->owner, 0);
	if (unlikely(READ_ONCE(claims) == STARVED))
		cmpxchg(&claims, STARVED, CLAIMABLE);
}

static struct stackbuf_events_page *claim_page(const struct sbuf_cpu *cpu, u64 *seq)
{
	/* At least one of these is closed: a CPU has at most two open, and evict.c one */
	unsigned int tries = min_t(unsigned int, SBUF_EVENT_PAGES, 2 * nr_cpu_ids + 1), i;
	u64 head = atomic64_read(&sbuf_ring_head);

	/* A claim that cannot succeed must not advance the head, which ages all pages */
	if (READ_ONCE(claims) == STARVED || (READ_ONCE(claims) == SHARING && !cpu->waiting))
		return NULL;
	for (i = 1; READ_ONCE(stackbuf_events[(head + i) % SBUF_EVENT_PAGES].owner); i++)
		if (i == tries) {
			/* A page closed concurrently is found after sbuf_ring_share_pages() */
			cmpxchg(&claims, CLAIMABLE, STARVED);
			return NULL;
		}
	while (tries--) {
		struct stackbuf_events_page *page;

		*seq = atomic64_inc_return(&sbuf_ring_head);
		page = &stackbuf_events[*seq % SBUF_EVENT_PAGES];
		/* R5, pairs with the smp_store_release() in sbuf_ring_close_page() */
		if (READ_ONCE(page->owner) || cmpxchg(&page->owner, 0, smp_processor_id() + 1))
			continue;
		/* The page is newer if a hypervisor stopped this CPU for a whole lap of the ring */
		if (likely(page->page.seq < *seq))
			return page;
		sbuf_ring_close_page(page);
	}
	return NULL;
}

/*
 * Close @cpu's page, if it has one.  The caller has set @cpu->appending, so an NMI may append to
 * the page while @cpu owns it, but neither claims a page nor sets @cpu->chain_end.  chain_end is
 * cleared first, so it is 0 whenever there is no page.
 */
static void close_current_page(struct sbuf_cpu *cpu)
{
	struct stackbuf_events_page *page = cpu->page;

	WARN_ON_ONCE(!cpu->appending);
	WRITE_ONCE(cpu->chain_end, 0);
	barrier();	/* L5 */
	WRITE_ONCE(cpu->page, NULL);
	barrier();	/* L5 */
	if (page)
		sbuf_ring_close_page(page);
}

/*
 * If the table is full, eviction may want old pages, or all pages if no events are recorded.
 * Never close the page during an append, which owns it.
 */
void sbuf_ring_close_page_early(struct sbuf_cpu *cpu, bool always)
{
	if (!sbuf_ring_begin_append(cpu))
		return;
	if (cpu->page && (always || READ_ONCE(sbuf_evict_stalled) ||
			  READ_ONCE(cpu->page->page.seq) + SBUF_EVENT_PAGES / 2 <=
			  atomic64_read(&sbuf_ring_head)))
		close_current_page(cpu);
	sbuf_ring_end_append(cpu);
}

static u64 recorded_by(const struct sbuf_cpu *cpu)
{
	return READ_ONCE(cpu->recorded) + READ_ONCE(cpu->nested);
}

/* Claim a new page for @cpu and close the old one; false if none is free.  Interrupts are off */
static bool take_page(struct sbuf_cpu *cpu)
{
	struct stackbuf_events_page *page, *old = cpu->page;
	u64 seq, recorded;

	WARN_ON_ONCE(!cpu->appending);
	page = claim_page(cpu, &seq);
	if (!page && old) {
		/* In a ring of few pages, the only page to claim may be this CPU's own */
		close_current_page(cpu);
		old = NULL;
		page = claim_page(cpu, &seq);
	}
	/* A CPU refused during sharing is not marked: sharing serves CPUs refused earlier */
	if (page || READ_ONCE(claims) != SHARING)
		cpu->waiting = !page;
	if (!page)
		return false;

	sbuf_ring_clear_page(page);
	page->time = sbuf_event_now(cpu);
	/* The next event may have the time of the last one */
	if (page->time - cpu->time < SBUF_SHORT_TIME_MAX)
		page->time = cpu->time;
	page->cpu = smp_processor_id();
	/* Copy it before an NMI can append to it */
	sbuf_keep(SBUF_EVENTS, page, sizeof(*page));

	/* L4: an NMI may append at any point to either page, whose end it finds from position 0 */
	WRITE_ONCE(cpu->chain_end, 0);
	WRITE_ONCE(cpu->pos, 0);
	barrier();
	WRITE_ONCE(cpu->page, page);
	barrier();
	do {
		recorded = recorded_by(cpu);
		page->first = recorded - count_in_page(page);
		barrier();
	} while (recorded_by(cpu) != recorded);

	/* R3: readers see the new number only when the page is ready */
	smp_store_release(&page->page.seq, seq);
	sbuf_keep(SBUF_EVENTS, &page->first, sizeof(page->first));
	sbuf_keep(SBUF_EVENTS, &page->page.seq, sizeof(page->page.seq));
	if (old)
		sbuf_ring_close_page(old);
	return true;
}

/* Pages are not shared out again before this time, in jiffies */
static unsigned long share_time = INITIAL_JIFFIES;

/* These two run in an IPI.  It cannot interrupt an append, which runs with interrupts off */
static void close_this_page(void *unused)
{
	sbuf_ring_close_page_early(this_cpu_ptr(sbuf_cpu), true);
}

static void take_page_if_waiting(void *unused)
{
	struct sbuf_cpu *cpu = this_cpu_ptr(sbuf_cpu);

	/* take_page() must run as an append does.  This cannot fail, as the IPI interrupted none */
	if (!sbuf_ring_begin_append(cpu))
		return;
	if (cpu->waiting && !cpu->page)
		take_page(cpu);
	sbuf_ring_end_append(cpu);
}

/*
 * All pages are open, and a CPU that records nothing would keep its page.  So close all pages, then
 * assign one to each CPU that was refused one; after that any CPU may claim one.  With fewer pages
 * than CPUs, all CPUs can thus record in turn.
 *
 * cpus_read_lock() keeps CPUs from becoming online or offline.  An offline CPU records nothing:
 * Linux counts a CPU as offline once it has reported that it is dead, and x86 ignores NMIs once
 * the CPU is no longer in cpu_online_mask.  The little code that runs between the report and the
 * halt may be probed; it has a second to finish.
 */
void sbuf_ring_share_pages(struct work_struct *work)
{
	unsigned long started;
	int i;

	cpus_read_lock();
	started = jiffies;	/* as in sbuf_evict_stacks() */
	/* Other CPUs get no page until this ends, so it must not be preempted */
	preempt_disable();
	WRITE_ONCE(claims, SHARING);
	on_each_cpu(close_this_page, NULL, 1);	/* R6 */
	for_each_possible_cpu(i) {
		struct sbuf_cpu *cpu = per_cpu_ptr(sbuf_cpu, i);

		if (!cpu_online(i) && (s64)(sbuf_now() - READ_ONCE(cpu->time)) > NSEC_PER_SEC)
			sbuf_ring_close_page_early(cpu, true);
	}
	on_each_cpu(take_page_if_waiting, NULL, 1);	/* R6 */
	WRITE_ONCE(claims, CLAIMABLE);
	preempt_enable();
	cpus_read_unlock();
	/* About 50 times a second, and at most a fifth of a CPU's time */
	WRITE_ONCE(share_time, jiffies + 1 + HZ / 50 + 4 * (jiffies - started));
}

void sbuf_ring_request_page(void)
{
	if (READ_ONCE(claims) == STARVED && time_after_eq(jiffies, READ_ONCE(share_time)))
		sbuf_worker_request(SBUF_WORKER_SHARE);
}

/* An append in an NMI that interrupted an append: see the top of the file */
static bool append_nested(struct sbuf_cpu *cpu, struct sbuf_event *event)
{
	struct stackbuf_events_page *page = READ_ONCE(cpu->page);
	unsigned int pos = READ_ONCE(cpu->pos);
	u64 word, old, dt;

	if (!page)
		return false;
	event->time = sbuf_event_now(cpu);
	dt = event->time - page->time;
	if (dt >= FULL_TIME_MAX)
		return false;
	word = sbuf_event_word(event->id, event->save->context, STACKBUF_FULL, dt);

	for (; pos + FULL_WORDS <= STACKBUF_EVENT_WORDS; pos += stackbuf_event_words(old)) {
		old = READ_ONCE(page->word[pos]) ?: cmpxchg64_local(&page->word[pos], 0, word);
		if (!old) {
			WRITE_ONCE(cpu->chain_end, 0);
			complete_event(&page->word[pos], event, word, dt);
			this_cpu_inc(sbuf_cpu->nested);
			return true;
		}
	}
	return false;
}

/* Return false if the event needs a new page */
static bool append_outer(struct sbuf_cpu *cpu, struct sbuf_event *event)
{
	struct stackbuf_events_page *page;
	enum stackbuf_form form;
	u64 now, dt, word, old;
	unsigned int pos;

	/*
	 * Use the caller's time, unless an NMI has appended or claimed a page since the caller read
	 * the clock; an NMI inside an append clears chain_end
	 */
	now = (READ_ONCE(cpu->chain_end) || event->save->at_once == SBUF_AT_ONCE) &&
	      event->time >= cpu->time ? event->time : 0;
	for (;;) {
		page = cpu->page;
		pos = cpu->pos;
		if (!page || pos >= CHAIN_END)
			return false;

		/* Only once: if a function that it calls is probed, the claim below always fails */
		if (!now)
			now = sbuf_ring_now(cpu, event->save->at_once);
		event->time = now;
		/* If the clock went backwards, dt is huge, and the event becomes FULL */
		dt = now - cpu->time;
		if (READ_ONCE(cpu->chain_end) && dt < SBUF_SHORT_TIME_MAX &&
		    sbuf_same_task(cpu, event->task, event->comm)) {
			form = event->save->flags & SBUF_TAGGED ? STACKBUF_TAGGED : STACKBUF_SHORT;
		} else {
			form = STACKBUF_FULL;
			/* The page was taken long after the event that this one has the time of */
			if (unlikely(event->save->at_once == SBUF_AT_ONCE &&
				     (s64)(now - page->time) < 0)) {
				now = page->time;
				event->time = now;
			}
			dt = now - page->time;
			if (dt >= FULL_TIME_MAX)
				return false;
		}

		/*
		 * L2: set before the claim.  An NMI that appends before the claim makes it fail; an
		 * NMI that appends after it clears this again.
		 */
		WRITE_ONCE(cpu->chain_end, CHAIN_END);
		barrier();
		word = sbuf_event_word(event->id, event->save->context, form, dt);
		old = cmpxchg64_local(&page->word[pos], 0, word);
		if (likely(!old))
			break;
		WRITE_ONCE(cpu->chain_end, 0);
		WRITE_ONCE(cpu->pos, pos + stackbuf_event_words(old));
	}

	/* Other CPUs only read it; a nested append has a separate counter */
	data_race(cpu->recorded++);
	complete_event(&page->word[pos], event, word, dt);
	cpu->time = now;
	cpu->task = event->task;
	cpu->comm[0] = event->comm[0];
	cpu->comm[1] = event->comm[1];
	barrier();	/* L3 */
	WRITE_ONCE(cpu->pos, pos + stackbuf_event_words(word));
	return true;
}

bool sbuf_ring_append(struct sbuf_cpu *cpu, struct sbuf_event *event)
{
	const struct task_struct *task = sbuf_saved_task(event->save);
	bool done;

	event->task = sbuf_task_word(task);
	BUILD_BUG_ON(sizeof(event->comm) != sizeof(task->comm));
	/*
	 * Racy copy: the task may be renamed concurrently.  The copy may mix both names;
	 * complete_event() terminates it.
	 */
	data_race(memcpy(event->comm, task->comm, sizeof(event->comm)));
	if (unlikely(!sbuf_ring_begin_append(cpu)))
		return append_nested(cpu, event);
	do {
		done = append_outer(cpu, event);
	} while (unlikely(!done) && take_page(cpu));
	sbuf_ring_end_append(cpu);
	return done;
}

/*
 * Counting the old events of the next page takes as long as the rest of a save with interrupts off.
 * Count them separately, so that an interrupt waits for only one of the two.
 */
void sbuf_ring_take_page_ahead(struct sbuf_cpu *cpu)
{
	unsigned long flags;

	raw_local_irq_save(flags);
	/* As in an append, an NMI then changes neither the page nor the position */
	if (sbuf_ring_begin_append(cpu)) {
		if (cpu->page && cpu->pos >= CHAIN_END)
			take_page(cpu);
		sbuf_ring_end_append(cpu);
	}
	raw_local_irq_restore(flags);
}

u64 sbuf_ring_recorded(void)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += recorded_by(per_cpu_ptr(sbuf_cpu, cpu));
	return sum;
}
