/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ring.h - the event ring, and the part of an append that is inlined into a save
 */
#ifndef STACKBUF_RING_H
#define STACKBUF_RING_H

#include <linux/bits.h>

#include "clock.h"
#include "keep.h"

/* Number of the page that was claimed last; pages are numbered from 1 as they are claimed */
extern atomic64_t sbuf_ring_head;

/* Append an event on @cpu, this CPU, with interrupts off.  Return false if there is no page */
bool sbuf_ring_append(struct sbuf_cpu *cpu, struct sbuf_event *event);
/* Claim the next page now if the page of @cpu, which is this CPU, is full */
void sbuf_ring_take_page_ahead(struct sbuf_cpu *cpu);
/*
 * Close a CPU's page before it is full, if @always is set or eviction may want the page.  @cpu is
 * this CPU, with interrupts off, or is offline.
 */
void sbuf_ring_close_page_early(struct sbuf_cpu *cpu, bool always);
/* Give up a page that the caller owns, so that any CPU may claim it */
void sbuf_ring_close_page(struct stackbuf_events_page *page);
/* Clear a page that the caller owns, after its events are added to their stacks' counts */
void sbuf_ring_clear_page(struct stackbuf_events_page *page);
/* Request pages, after an event was lost for lack of one */
void sbuf_ring_request_page(void);
/* Return the number of events that all CPUs recorded */
u64 sbuf_ring_recorded(void);

/* Inlined into a save */

#define SBUF_SHORT_TIME_MAX	BIT_ULL(STACKBUF_EVENT_TIME_BITS)

/* Return the first word of an event, which holds the low bits of the time @dt, in ns */
static __always_inline u64 sbuf_event_word(u32 id, enum stackbuf_context context,
					   enum stackbuf_form form, u64 dt)
{
	return id | (dt & (SBUF_SHORT_TIME_MAX - 1)) << STACKBUF_EVENT_TIME_SHIFT |
	       (u64)context << STACKBUF_EVENT_CONTEXT_SHIFT |
	       (u64)form << STACKBUF_EVENT_FORM_SHIFT |
	       (form == STACKBUF_SHORT ? 0 : STACKBUF_EVENT_WRITING);
}

/*
 * Return the time of this CPU's next event: sbuf_event_now(), except for what @at_once demands.
 * Where the clock stands still, an event that must be later than the last one is later by 1 ns, and
 * no following event is earlier than it.
 */
static __always_inline u64 sbuf_ring_now(struct sbuf_cpu *cpu, u8 at_once)
{
	u64 now = sbuf_event_now(cpu);

	if (unlikely(at_once == SBUF_AT_ONCE || cpu->time - now < NSEC_PER_MSEC))
		now = cpu->time + (at_once == SBUF_LATER);
	return now;
}

/* Return a task's PID in the lower half and its TGID in the upper half */
static inline u64 sbuf_task_word(const struct task_struct *task)
{
	/* Load both in one 64-bit read, unless CONFIG_RANDSTRUCT moved them apart */
	if (offsetof(struct task_struct, tgid) ==
	    offsetof(struct task_struct, pid) + sizeof(task->pid))
		return *(const u64 *)&task->pid;
	return (u32)task->pid | (u64)task->tgid << 32;
}

/* Begin an append, or work that must not run inside one; false if this interrupted one.  L1 */
static __always_inline bool sbuf_ring_begin_append(struct sbuf_cpu *cpu)
{
	barrier();
	/* Races with an NMI that appends, harmlessly: the NMI restores the value that it found */
	if (unlikely(data_race(cpu->appending)))
		return false;
	WRITE_ONCE(cpu->appending, true);
	barrier();
	return true;
}

static __always_inline void sbuf_ring_end_append(struct sbuf_cpu *cpu)
{
	barrier();
	WRITE_ONCE(cpu->appending, false);
}

/* Return true if the last event of @cpu is of this task and command */
static inline bool sbuf_same_task(const struct sbuf_cpu *cpu, u64 task, const u64 *comm)
{
	/* Races with a rename, harmlessly: a mismatch emits a FULL event, a match the old name */
	return !data_race((cpu->task ^ task) | (cpu->comm[0] ^ comm[0]) | (cpu->comm[1] ^ comm[1]));
}

/*
 * The inlined fast path of sbuf_ring_append(): append an event of current's stack @id, at time
 * @now in ns, with interrupts off.  Return false if sbuf_ring_append() must be called: the previous
 * event is of another task or too old, the page is full or closed, this interrupted an append, or
 * an NMI appended after @now.
 */
static __always_inline bool sbuf_ring_append_chained(struct sbuf_cpu *cpu,
						     const struct sbuf_save *save, u32 id, u64 now)
{
	const bool tagged = save->flags & SBUF_TAGGED;
	const struct task_struct *task = current;
	struct stackbuf_events_page *page;
	unsigned long pos;
	bool done = false;
	u64 dt, word;

	BUILD_BUG_ON(sizeof(task->comm) != sizeof(cpu->comm));
	if (!sbuf_ring_begin_append(cpu))
		return false;
	pos = cpu->pos;
	if (unlikely((u32)pos >= READ_ONCE(cpu->chain_end) ||
		     !sbuf_same_task(cpu, sbuf_task_word(task), (const u64 *)task->comm)))
		goto out;
	dt = now - cpu->time;
	if (unlikely(dt >> STACKBUF_EVENT_TIME_BITS))
		goto out;
	/* Never NULL, but without the check a mistake in close_current_page() would panic */
	page = cpu->page;
	if (unlikely(!page))
		goto out;

	word = sbuf_event_word(id, save->context, tagged ? STACKBUF_TAGGED : STACKBUF_SHORT, dt);
	/* Fails if an NMI appended since cpu->chain_end was read */
	if (unlikely(!sbuf_arch_claim(&page->word[pos], word)))
		goto out;
	/* Other CPUs only read it; a nested append has a separate counter */
	data_race(cpu->recorded++);
	if (tagged) {
		WRITE_ONCE(page->word[pos + 1], save->tag);
		/* R1, as in complete_event() */
		smp_store_release(&page->word[pos], word & ~STACKBUF_EVENT_WRITING);
	}
	sbuf_keep_event(&page->word[pos], word & ~STACKBUF_EVENT_WRITING);
	cpu->time = now;
	barrier();	/* L3 */
	/* Still @pos; read again, so that it needs no callee-saved register */
	WRITE_ONCE(cpu->pos, cpu->pos + (tagged ? 2 : 1));
	done = true;
out:
	sbuf_ring_end_append(cpu);
	return done;
}

#endif /* STACKBUF_RING_H */
