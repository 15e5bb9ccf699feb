/* SPDX-License-Identifier: GPL-2.0 */
/*
 * table.h - the stack table, eviction from it, and the text log of its stacks
 */
#ifndef STACKBUF_TABLE_H
#define STACKBUF_TABLE_H

#include <linux/cpumask.h>
#include <linux/rcupdate.h>
#include <linux/smp.h>

#include "keep.h"
#include "memory.h"

/* Heads of the chains: ids, or 0 */
#define SBUF_BUCKETS	roundup_pow_of_two(SBUF_GRANULES / 2)
extern u32 sbuf_table_bucket[SBUF_BUCKETS];

extern atomic_t sbuf_table_used;
/* Pages searched without success since granules were last allocated or freed */
extern atomic_t sbuf_table_misses;
/* How often stacks were evicted; its low bits are the upper bits of ids.  Written by evict.c */
extern u64 sbuf_table_generation;

/* Encode and hash the @nr addresses @pc, 1 to SBUF_FRAMES; @cut: the stack had more */
void sbuf_trace_encode(struct sbuf_trace *trace, const unsigned long *pc, unsigned int nr,
		       bool cut);
/* Decode frames, which may be any data.  Return how many are in @pc, up to SBUF_FRAMES */
unsigned int sbuf_trace_decode(unsigned long *pc, const u32 *frames, unsigned int words);

/*
 * Return the stack of a trace, or NULL if the table is full.  Set *@is_new if this call inserted
 * it.  Interrupts are off, and stay off until the event is appended: eviction waits for that.
 */
struct stackbuf_stack *sbuf_table_get(const struct sbuf_trace *trace, bool *is_new);
/* Free the @n granules of the stack at @granule, which no CPU can find any more */
void sbuf_table_free(u32 granule, unsigned int n);
/*
 * Wait until saves in progress on all CPUs have appended their events or given up.  If @soon, and
 * if busy CPUs may be interrupted, this takes less than a millisecond.  Process context
 */
void sbuf_synchronize_saves(bool soon);

/* Return true if RCU makes sbuf_synchronize_saves() wait for this CPU.  Preemption is disabled */
static inline bool sbuf_rcu_waits(void)
{
	return rcu_is_watching() && cpu_online(raw_smp_processor_id());
}

/*
 * Copy the stack with @id, any number, and its flags.  Return false if there is none.  If it has
 * STACKBUF_STACK_AGAIN, an older stack may have had the id.  Then only an id that has been in use
 * throughout, such as the id of an event in the ring, certainly means this stack.
 */
bool sbuf_table_trace(struct stackbuf_trace *trace, u32 id, u8 *flags);

/* Note the first event of a stack that sbuf_table_get() inserted.  Its text is then pending */
void sbuf_table_note_first(struct stackbuf_stack *stack, const struct sbuf_event *event);
/*
 * Return the first granule of the next stack, from granule @from on, whose text is pending; 0 if
 * there is none.  Under sbuf_table_mutex, or when no other CPU runs, the stack is not freed.
 */
u32 sbuf_table_next_pending(u32 from);
/*
 * Mark that recall cannot be exact for the stack @id, or that it can.  No effect if the stack is
 * being evicted.  In the context of its event, interrupts off
 */
void sbuf_table_set_uncacheable(u32 id, bool uncacheable);
/* Mark the text of a stack as no longer pending: it was rendered, or is given up */
void sbuf_table_end_pending(u32 granule);

/* Held while stacks are unlinked from their chains, marked stale or rendered */
extern struct mutex sbuf_table_mutex;

static inline unsigned int sbuf_table_granules(unsigned int words)
{
	return DIV_ROUND_UP(stackbuf_stack_bytes(words, STACKBUF_STACK_FIRST), STACKBUF_GRANULE);
}

/* Set or clear a flag, while saves compare the flags and other CPUs change them */
static inline void sbuf_table_set_flag(struct stackbuf_stack *stack, u8 flag, bool on)
{
	u8 was = READ_ONCE(stack->flags), old;

	do {
		old = was;
		was = cmpxchg(&stack->flags, old, on ? old | flag : old & ~flag);
	} while (was != old);
	sbuf_keep(SBUF_STACKS, &stack->flags, sizeof(stack->flags));
}

static inline struct stackbuf_stack *sbuf_table_at(u32 granule)
{
	return (void *)((char *)stackbuf_stacks + (size_t)granule * STACKBUF_GRANULE);
}

static inline u32 sbuf_id_granule(u32 id)
{
	return id & ((1U << SBUF_ID_BITS) - 1);
}

/* Return the stack of an id that is known to be valid, from a chain or the ring */
static inline struct stackbuf_stack *sbuf_table_stack(u32 id)
{
	return sbuf_table_at(sbuf_id_granule(id));
}

/*
 * Return true if a place holds the stack @id, with none of these flags.  One load, so that a stack
 * that is put there concurrently is not mistaken for it.
 */
static __always_inline bool sbuf_table_has(const struct stackbuf_stack *stack, u32 id, u8 flags)
{
	u64 first = READ_ONCE(*(const u64 *)stack);

	return (u32)first == id && !(first >> 40 & flags);
}

/* evict.c */
/* Set if the ring has received no event for a while because the table is full */
extern bool sbuf_evict_stalled;

/* Request eviction if the table is filling up.  Call it after a stack was inserted or refused */
void sbuf_evict_request(void);
/*
 * Render pending stacks that have frames in code that is about to be freed, and mark all such
 * stacks stale.  @coming: that was freed, and is another module's from now on.  Process context
 */
void sbuf_evict_expire(unsigned long text, unsigned long size, bool coming);
/* Set before the first walk of another task */
extern bool sbuf_saves_tasks;

/* text.c */

/* Update the pages after the name of this load has changed.  Under sbuf_table_mutex */
void __init sbuf_text_note_instance(void);

/* Render the stack at @granule if its text is pending.  Under sbuf_table_mutex */
void sbuf_text_render(u32 granule);
/* As sbuf_text_flush(), for at most a second, after a panic has stopped the other CPUs */
void sbuf_text_flush_panic(void);
/* Copy a command of TASK_COMM_LEN bytes, terminate it and replace unprintable bytes by '?' */
void sbuf_text_printable(char *out, const char *comm);

#endif /* STACKBUF_TABLE_H */
