// SPDX-License-Identifier: GPL-2.0
/*
 * table.c - the stack table: from frames to an id
 *
 * A hash table of chains.  Lookup takes no lock.  Insertion takes one cmpxchg() on the page's
 * bitmap to allocate granules and one on the head of the chain, and works in any context, including
 * NMI.  Only eviction (evict.c) removes stacks, and only it writes the next field of a stack that
 * is in a chain.
 *
 * A save keeps interrupts off from its lookup or insertion until it has appended the event with
 * the id.  Eviction waits for that before it frees a stack's granules, see evict.c.
 *
 * No two stacks in the chains are equal.  A cmpxchg() on the head puts a new stack in front.  If it
 * fails, other stacks were put in front; as new stacks are put only there, comparing those shows
 * whether an equal stack is now in the chain.  (Exception: when evict.c relinks a stack that it
 * unlinked, an equal one may have been inserted; both stay.  Readers merge stacks with equal
 * frames.)
 *
 * The state of granules follows from their bits in the page's used, and from the stack's id:
 *
 *	state		used	id	where it can be found
 *	FREE		clear	0	nowhere
 *	NEW		set	0	nowhere: its inserter writes it
 *	READY		set	set	by its id, in raw memory
 *	LINKED		set	set	in its chain, too: saves find it
 *	EVICTING	set	set	by its id, and by saves that found it in its chain earlier
 *
 *	FREE -> NEW		alloc_granules()
 *	NEW -> READY		sbuf_table_get(), T1
 *	READY -> LINKED		sbuf_table_get(), T2; or -> FREE if an equal stack was LINKED first
 *	LINKED -> EVICTING	unlink_stack(), E1
 *	EVICTING -> LINKED	relink_stack(): an event refers to it
 *	EVICTING -> FREE	evict_unreferenced(), T3 to T5
 *
 * The id is certain to be 0 only in the first granule of the last stack there.  Frames of older
 * stacks remain in the other granules and may look like an id, which next_stack() allows for.
 *
 * LINKED stacks may be stale (STACKBUF_STACK_STALE): their code was freed, and no save finds them.
 */
#include <linux/bits.h>
#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/isolation.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "ring.h"
#include "table.h"

u32 sbuf_table_bucket[SBUF_BUCKETS];
atomic_t sbuf_table_used;

/*
 * Its low bits are the high part of new ids.  evict.c increments it before it frees granules, so
 * that the next stack there gets another id, one that the place never had, unless the low bits have
 * wrapped (STACKBUF_STACK_AGAIN).
 */
#ifndef SBUF_FIRST_GENERATION	/* a test begins where ids wrap */
#define SBUF_FIRST_GENERATION	0
#endif
u64 sbuf_table_generation = SBUF_FIRST_GENERATION;

/* Page to search first for free granules */
static u32 room_hint;
atomic_t sbuf_table_misses;

/*
 * A save has interrupts off, or is in an NMI, from its lookup until the event is appended, and such
 * regions are RCU read-side critical sections: see synchronize_rcu().
 *
 * RCU does not wait for a CPU that it does not watch: one that is idle, is about to run user mode
 * or a guest, or is offline.  There no stack is recalled, and sbuf_save_walked() increments
 * @rcu_idle before its lookup, with a full barrier between the two.  So either the save sees the
 * caller's change, or this sees @rcu_idle.
 */
void sbuf_synchronize_saves(bool soon)
{
	int cpu;

	/*
	 * Only if @soon, as this interrupts CPUs that are neither idle nor in user mode without a
	 * tick; and not if CPUs are isolated.
	 */
	if (soon && !housekeeping_enabled(SBUF_HK(DOMAIN)) && !housekeeping_enabled(SBUF_HK(RCU))) {
		sbuf_add(&stackbuf_info.expedited, 1);
		synchronize_rcu_expedited();
	} else {
		synchronize_rcu();
	}
	/* E2: a grace period is a full barrier: @rcu_idle is read after the caller's change */
	for_each_possible_cpu(cpu)
		/* E2: when it is 0, the save's event is in the ring */
		while (smp_load_acquire(&per_cpu_ptr(sbuf_cpu, cpu)->rcu_idle))
			cond_resched();
}

void sbuf_trace_encode(struct sbuf_trace *trace, const unsigned long *pc, unsigned int nr, bool cut)
{
	u32 *out = trace->frames;
	unsigned int i;

	/* Every walk runs this; unrolling halves its time */
#pragma GCC unroll 8
	for (i = 0; i < nr; i++) {
		u64 distance = pc[i] - (unsigned long)stack_trace_save;

		*out++ = distance;
		/* The lowest distance, STACKBUF_FRAME_FAR, marks the long form */
		if (unlikely(distance + S32_MAX >= U32_MAX)) {
			out[-1] = STACKBUF_FRAME_FAR;
			*out++ = lower_32_bits(pc[i]);
			*out++ = upper_32_bits(pc[i]);
		}
	}
	trace->nr = nr;
	trace->cut = cut;
	trace->words = out - trace->frames;
	trace->hash = stackbuf_hash(trace->frames, trace->words, cut);
}

unsigned int sbuf_trace_decode(unsigned long *pc, const u32 *frames, unsigned int words)
{
	unsigned int nr = 0, n;
	u64 addr;

	for (; words && nr < SBUF_FRAMES &&
	     (n = stackbuf_decode_frame(frames, words, (unsigned long)stack_trace_save, &addr));
	     frames += n, words -= n)
		pc[nr++] = addr;
	return nr;
}

/*
 * Search a chain from the id @from up to, but not including, @until.  The address dependency from
 * an id to its stack orders the loads.  T2, pairs with the try_cmpxchg() in sbuf_table_get(): a
 * stack is complete before it is in a chain.
 */
static struct stackbuf_stack *find_in_chain(u32 from, u32 until, const struct sbuf_trace *trace)
{
	while (from && from != until) {
		struct stackbuf_stack *stack = sbuf_table_stack(from);

		if (stack->hash == trace->hash && stack->words == trace->words &&
		    /* The other flags may change concurrently */
		    (READ_ONCE(stack->flags) & (STACKBUF_STACK_CUT | STACKBUF_STACK_STALE)) ==
		    (trace->cut ? STACKBUF_STACK_CUT : 0)) {
			unsigned int i;

			/* The kernel's memcmp() on x86 is slow: byte by byte */
			for (i = 0; i < trace->words && stack->frames[i] == trace->frames[i]; i++)
				;
			if (i == trace->words)
				return stack;
		}
		from = READ_ONCE(stack->next);
	}
	return NULL;
}

/* Find @n consecutive clear bits.  Return the lowest; 0 means none, as bit 0 is always set */
static unsigned int find_run(u64 used, unsigned int n)
{
	u64 start = ~used;

	/* Bit i stays set if it and the next bits, one more in each turn, are all free */
	while (--n)
		start &= start >> 1;
	return start ? __ffs64(start) : 0;
}

/*
 * Allocate @n granules.  Return the first, or 0.  When the table is full, the cost is bounded: a
 * call searches at most 256 pages, and none after the whole table was searched without success,
 * until evict.c frees granules.
 */
static u32 alloc_granules(unsigned int n)
{
	u32 page = READ_ONCE(room_hint);
	unsigned int tries;

	if (atomic_read(&sbuf_table_misses) >= SBUF_STACK_PAGES)
		return 0;

	for (tries = 0; tries < min(SBUF_STACK_PAGES, 256); tries++) {
		u64 *used = &stackbuf_stacks[page].used;
		u64 old = READ_ONCE(*used);
		unsigned int start;

		while ((start = find_run(old, n))) {
			if (!try_cmpxchg(used, &old, old | GENMASK_ULL(start + n - 1, start)))
				continue;
			WRITE_ONCE(room_hint, page);
			atomic_set(&sbuf_table_misses, 0);
			atomic_add(n, &sbuf_table_used);
			sbuf_page_bump_seq(&stackbuf_stacks[page].page);
			sbuf_keep_shared(SBUF_STACKS, used, 1);
			return page * SBUF_PAGE_GRANULES + start;
		}
		page = page + 1 < SBUF_STACK_PAGES ? page + 1 : 0;
	}
	WRITE_ONCE(room_hint, page);
	atomic_add(tries, &sbuf_table_misses);
	return 0;
}

void sbuf_table_free(u32 granule, unsigned int n)
{
	struct stackbuf_stacks_page *page = &stackbuf_stacks[granule / SBUF_PAGE_GRANULES];
	struct stackbuf_stack *stack = sbuf_table_at(granule);
	unsigned int start = granule % SBUF_PAGE_GRANULES;

	/* T3, T5: cleared before its granules are free */
	WRITE_ONCE(stack->id, 0);
	sbuf_keep(SBUF_STACKS, &stack->id, sizeof(stack->id));
	sbuf_page_bump_seq(&page->page);
	/* T3, T4, a full barrier: all writes to these granules happen before they are free */
	smp_mb__before_atomic();
	atomic64_andnot(GENMASK_ULL(start + n - 1, start), (atomic64_t *)&page->used);
	sbuf_keep_shared(SBUF_STACKS, &page->used, 1);
	atomic_sub(n, &sbuf_table_used);
	atomic_set(&sbuf_table_misses, 0);
}

struct stackbuf_stack *sbuf_table_get(const struct sbuf_trace *trace, bool *is_new)
{
	u32 *bucket = &sbuf_table_bucket[trace->hash & (SBUF_BUCKETS - 1)];
	u32 head = READ_ONCE(*bucket), seen = 0, granule = 0;
	struct stackbuf_stack *stack, *mine = NULL;
	unsigned int granules = sbuf_table_granules(trace->words);

	*is_new = false;
	while (!(stack = find_in_chain(head, seen, trace))) {
		if (!mine) {
			u64 generation;

			granule = alloc_granules(granules);
			if (!granule)
				return NULL;
			mine = sbuf_table_at(granule);
			WRITE_ONCE(mine->id, 0);
			sbuf_keep(SBUF_STACKS, &mine->id, sizeof(mine->id));
			/* T1: a reader sees no old frames of another stack as the id */
			smp_wmb();
			mine->nr = trace->nr;
			/* T4: granules used before were freed after the generation was raised */
			generation = READ_ONCE(sbuf_table_generation);
			mine->flags = (trace->cut ? STACKBUF_STACK_CUT : 0) | STACKBUF_STACK_FIRST |
				(generation >> (32 - SBUF_ID_BITS) ? STACKBUF_STACK_AGAIN : 0);
			mine->words = trace->words;
			mine->hash = trace->hash;
			mine->count = 0;
			mine->seen = atomic64_read(&sbuf_ring_head);
			/* next_stack() looks for ids in all granules, and allows for other words */
			data_race(memcpy(mine->frames, trace->frames, trace->words * sizeof(u32)));
			/* As above */
			data_race(memset(stackbuf_first(mine), 0, sizeof(struct stackbuf_first)));
			/* T1: readers of raw memory see the id only when the stack is complete */
			smp_wmb();
			WRITE_ONCE(mine->id, (u32)(generation << SBUF_ID_BITS) | granule);
			/* The id is copied last, too */
			sbuf_keep(SBUF_STACKS, &mine->nr,
				  granules * STACKBUF_GRANULE - sizeof(mine->id));
			sbuf_keep(SBUF_STACKS, &mine->id, sizeof(mine->id));
		}
		mine->next = head;
		seen = head;
		/* T2, a full barrier: the stack is complete before find_in_chain() reaches it */
		if (try_cmpxchg(bucket, &head, mine->id)) {
			*is_new = true;
			return mine;
		}
		/*
		 * Other stacks were put in front: search them, up to the previous head.  If evict.c
		 * unlinked that one, the search ends at the chain's end.
		 */
	}

	if (mine)
		sbuf_table_free(granule, granules);
	return stack;
}

static atomic64_t *pending_of(u32 granule)
{
	return (atomic64_t *)&stackbuf_stacks[granule / SBUF_PAGE_GRANULES].pending;
}

void sbuf_table_note_first(struct stackbuf_stack *stack, const struct sbuf_event *event)
{
	const struct task_struct *task = sbuf_saved_task(event->save);
	u32 granule = sbuf_id_granule(stack->id);
	struct stackbuf_first *first = stackbuf_first(stack);

	/* next_stack() may look for an id here, in a later granule of the stack */
	WRITE_ONCE(first->cpu, raw_smp_processor_id());
	WRITE_ONCE(first->origin, event->save->flags & SBUF_TRACEPOINT ? STACKBUF_AT_EVENT :
				  event->save->flags & SBUF_PROBED ? STACKBUF_AT_PROBE :
				  STACKBUF_AT_CALL);
	WRITE_ONCE(first->pid, task->pid);
	/* Racy, as in sbuf_ring_append() */
	data_race(memcpy(first->comm, task->comm, sizeof(first->comm)));
	WRITE_ONCE(first->comm[sizeof(first->comm) - 1], '\0');
	sbuf_keep(SBUF_STACKS, first, sizeof(*first));
	smp_wmb();	/* T6: readers of raw memory see the time only after the rest is written */
	/* The ring may have refused the event */
	WRITE_ONCE(first->time, event->time ?: sbuf_now() ?: 1);
	sbuf_keep(SBUF_STACKS, &first->time, sizeof(first->time));
	smp_mb__before_atomic();	/* T6: it is complete before its text is pending */
	atomic64_or(BIT_ULL(granule % SBUF_PAGE_GRANULES), pending_of(granule));
}

u32 sbuf_table_next_pending(u32 from)
{
	while (from < SBUF_GRANULES) {
		/* T6, pairs with sbuf_table_note_first(): acquires the stack and its first event */
		u64 bits = atomic64_read_acquire(pending_of(from)) >> from % SBUF_PAGE_GRANULES;

		if (bits)
			return from + __ffs64(bits);
		from = (from / SBUF_PAGE_GRANULES + 1) * SBUF_PAGE_GRANULES;
	}
	return 0;
}

void sbuf_table_end_pending(u32 granule)
{
	atomic64_andnot(BIT_ULL(granule % SBUF_PAGE_GRANULES), pending_of(granule));
}

/* E1: a stack that is not being evicted now stays until interrupts are on again */
void sbuf_table_set_uncacheable(u32 id, bool uncacheable)
{
	struct stackbuf_stack *stack = sbuf_table_stack(id);

	if (sbuf_table_has(stack, id, STACKBUF_STACK_EVICTING))
		WRITE_ONCE(stackbuf_first(stack)->uncacheable, uncacheable);
}

/*
 * A place in the table gets each id only once, until ids wrap, and the id is cleared before the
 * place is freed.  So if the id is there before and after reading, the frames belong to it.  The
 * hash rules out two cases: data in the middle of another stack that looks like the id; and a stack
 * that sbuf_table_get() gave up because another CPU was faster, whose id may be used again.
 */
bool sbuf_table_trace(struct stackbuf_trace *trace, u32 id, u8 *flags)
{
	u32 granule = sbuf_id_granule(id);
	struct stackbuf_stack *stack;
	unsigned int words;

	if (!id || granule >= SBUF_GRANULES || granule % SBUF_PAGE_GRANULES == 0)
		return false;

	stack = sbuf_table_at(granule);
	/* T1, pairs with the smp_wmb() in sbuf_table_get(): a stack that has its id is complete */
	if (smp_load_acquire(&stack->id) != id)
		return false;
	words = min_t(unsigned int, READ_ONCE(stack->words), 3 * SBUF_FRAMES);
	*flags = READ_ONCE(stack->flags);
	trace->cut = *flags & STACKBUF_STACK_CUT;
	/* Racy: the place may have been reused.  The id is checked again below */
	trace->depth = data_race(sbuf_trace_decode(trace->pc, stack->frames, words));
	/* Racy, see above */
	if (data_race(stackbuf_hash(stack->frames, words, trace->cut) != stack->hash))
		return false;
	/* T5: the stack is read before the id is read again */
	smp_rmb();
	return READ_ONCE(stack->id) == id;
}
