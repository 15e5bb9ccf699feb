/* SPDX-License-Identifier: GPL-2.0 */
/*
 * keep.h - the record once more in memory that outlives a reset
 */
#ifndef STACKBUF_KEEP_H
#define STACKBUF_KEEP_H

#include "memory.h"

#if STACKBUF_WITH_KEEP

/*
 * For each array, how far its copy is from it; 0: nothing is kept.  No barrier: they are set before
 * anything is recorded, or while the machine is stopped
 */
extern long sbuf_keep_distance[SBUF_ARRAYS];

static inline bool sbuf_is_kept(void)
{
	/* That which is set last; the first one, which takes the fewest instructions */
	return unlikely(READ_ONCE(sbuf_keep_distance[SBUF_INFO]));
}

void sbuf_keep_copy(enum sbuf_array array, const void *from, size_t size);
void sbuf_keep_word(enum sbuf_array array, const u64 *word);
void sbuf_keep_appended(const u64 *event, u64 word);

/*
 * Copy what was stored in an array, after what was kept before.  No other CPU stores there at the
 * same time
 */
static inline void sbuf_keep(enum sbuf_array array, const void *from, size_t size)
{
	if (sbuf_is_kept())
		sbuf_keep_copy(array, from, size);
}

/* The same of one word, which other CPUs may change at the same time */
static inline void sbuf_keep_shared(enum sbuf_array array, const u64 *word)
{
	if (sbuf_is_kept())
		sbuf_keep_word(array, word);
}

/* The same of a complete event, whose first word is @word */
static __always_inline void sbuf_keep_event(const u64 *event, u64 word)
{
	if (sbuf_is_kept())
		sbuf_keep_appended(event, word);
}

/* Map the memory and put the record there, as it is now.  Before anything is recorded */
int __init sbuf_keep_init(void);
/* Recording has stopped, by an oops or a panic: copy at once what is not on the path of an event */
void sbuf_keep_stopped(bool panic);
/* The record is no longer needed: it was unloaded */
void sbuf_keep_exit(void);

/* Number @n, counted from 1, of the records that earlier loads have left, or NULL */
struct debugfs_blob_wrapper *sbuf_keep_record(unsigned int n);
/* Clear the memory of such a record, which then is empty */
void sbuf_keep_forget(struct debugfs_blob_wrapper *record);

#else

static inline void sbuf_keep(enum sbuf_array array, const void *from, size_t size) { }
static inline void sbuf_keep_shared(enum sbuf_array array, const u64 *word) { }
static inline void sbuf_keep_event(const u64 *event, u64 word) { }
static inline int sbuf_keep_init(void) { return 0; }
static inline void sbuf_keep_stopped(bool panic) { }
static inline void sbuf_keep_exit(void) { }
static inline struct debugfs_blob_wrapper *sbuf_keep_record(unsigned int n) { return NULL; }
static inline void sbuf_keep_forget(struct debugfs_blob_wrapper *record) { }

#endif

#endif /* STACKBUF_KEEP_H */
