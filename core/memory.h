/* SPDX-License-Identifier: GPL-2.0 */
/*
 * memory.h - the arrays, and the counters in them
 */
#ifndef STACKBUF_MEMORY_H
#define STACKBUF_MEMORY_H

#include <linux/atomic.h>
#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/sched/clock.h>

#include "types.h"

/* The arrays, in the order that they have in kept memory */
enum sbuf_array { SBUF_INFO, SBUF_EVENTS, SBUF_STACKS, SBUF_TEXT, SBUF_ARRAYS };

extern struct debugfs_blob_wrapper sbuf_arrays[SBUF_ARRAYS];

/* Fill in the arrays' page headers and stackbuf_info, before anything is recorded */
void __init sbuf_memory_init(void);

/* Fill in when that was by the time of day, once that is known.  Process context */
void __init sbuf_memory_note_time(void);

/*
 * Built in, on a machine without a clock that can be read from the beginning: make that time the
 * name of this load, as it is with a module.  Process context.
 */
void __init sbuf_memory_note_instance(void);

/* Count an event in this CPU's slot */
void sbuf_count(enum stackbuf_counter why);
/* Return the sum of a counter over all CPUs */
u64 sbuf_counter(enum stackbuf_counter why);

/* Set or clear bits of stackbuf_info.state */
void sbuf_state_change(u32 bits, bool on);

/* Counters in the arrays are plain u64 to readers, atomic to the module */
static_assert(sizeof(atomic64_t) == sizeof(u64));

static inline void sbuf_add(u64 *counter, s64 n)
{
	atomic64_add(n, (atomic64_t *)counter);
}

/* A memory image may hold older copies of a page in its page cache: the highest seq counts */
static inline void sbuf_page_bump_seq(struct stackbuf_page *page)
{
	atomic64_inc((atomic64_t *)&page->seq);
}

/* Recording is on and no filter is in force: the one test that every event takes */
static inline bool sbuf_recording_unfiltered(void)
{
	return READ_ONCE(stackbuf_info.state) == STACKBUF_ENABLED;
}

/* Recording is on, with filters or without */
static inline bool sbuf_recording(void)
{
	return (READ_ONCE(stackbuf_info.state) & ~STACKBUF_FILTERED) == STACKBUF_ENABLED;
}

/* printk's clock; that of events is sbuf_event_now() */
static inline u64 sbuf_now(void)
{
	return local_clock();
}

/* debugfs.c: the arrays as files */

void __init sbuf_debugfs_init(void);
void sbuf_debugfs_exit(void);

#endif /* STACKBUF_MEMORY_H */
