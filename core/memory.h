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

/* The arrays, in their order in kept memory */
enum sbuf_array { SBUF_INFO, SBUF_EVENTS, SBUF_STACKS, SBUF_TEXT, SBUF_ARRAYS };

extern struct debugfs_blob_wrapper sbuf_arrays[SBUF_ARRAYS];

/* Fill in the arrays' page headers and stackbuf_info, before anything is recorded */
void __init sbuf_memory_init(void);

/* Fill in the time of day of the load, once it is known.  Process context */
void __init sbuf_memory_note_time(void);

/*
 * If built in on a machine whose clock cannot be read early, make the load's time of day its
 * instance, as for a module.  Process context.
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

/* A memory image may hold older copies of a page in its page cache: the highest seq is current */
static inline void sbuf_page_bump_seq(struct stackbuf_page *page)
{
	atomic64_inc((atomic64_t *)&page->seq);
}

/* Return true if recording is on and no filter is in force: the one test that every event takes */
static inline bool sbuf_recording_unfiltered(void)
{
	return READ_ONCE(stackbuf_info.state) == STACKBUF_ENABLED;
}

/* Return true if recording is on, with or without filters */
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
