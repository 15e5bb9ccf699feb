/* SPDX-License-Identifier: GPL-2.0 */
/*
 * keep.h - mirror the record into memory that survives a reset
 */
#ifndef STACKBUF_KEEP_H
#define STACKBUF_KEEP_H

#include "memory.h"

#if STACKBUF_WITH_KEEP

/*
 * Distance from each array to its copy; that of SBUF_INFO is 0 if nothing is kept.  No barrier:
 * they are set before anything is recorded, or while the machine is stopped.  keep_info() clears
 * that of SBUF_INFO at any time, which only the copies of pages add to an address
 */
extern long sbuf_keep_distance[SBUF_ARRAYS];

static inline bool sbuf_is_kept(void)
{
	/* It is set last; and as the first element, it takes the fewest instructions */
	return unlikely(READ_ONCE(sbuf_keep_distance[SBUF_INFO]));
}

void sbuf_keep_copy(enum sbuf_array array, const void *from, size_t size);
void sbuf_keep_words(enum sbuf_array array, const u64 *word, unsigned int nr);
void sbuf_keep_appended(const u64 *event, u64 word);

/*
 * Copy what was stored in an array, ordered after earlier copies.  No other CPU stores there
 * concurrently
 */
static inline void sbuf_keep(enum sbuf_array array, const void *from, size_t size)
{
	if (sbuf_is_kept())
		sbuf_keep_copy(array, from, size);
}

/* Copy one word or two, which other CPUs may change concurrently */
static inline void sbuf_keep_shared(enum sbuf_array array, const u64 *word, unsigned int nr)
{
	if (sbuf_is_kept())
		sbuf_keep_words(array, word, nr);
}

/* Copy a complete event, whose first word is @word */
static __always_inline void sbuf_keep_event(const u64 *event, u64 word)
{
	if (sbuf_is_kept())
		sbuf_keep_appended(event, word);
}

/*
 * Map the memory, copy the current record there, and start mirroring it.  Unless built in, call
 * this before anything is recorded
 */
int __init sbuf_keep_init(void);
/* An oops or a panic has stopped recording: copy now what only the worker copies */
void sbuf_keep_stopped(bool panic);
/* Clear the record, which is no longer needed after unloading, and unmap the memory */
void sbuf_keep_exit(void);

/* Return record @n, counted from 1, of those that earlier loads left, or NULL */
struct debugfs_blob_wrapper *sbuf_keep_record(unsigned int n);
/* Clear the memory of such a record, and set its size to 0 */
void sbuf_keep_forget(struct debugfs_blob_wrapper *record);

#else

static inline void sbuf_keep(enum sbuf_array array, const void *from, size_t size) { }
static inline void sbuf_keep_shared(enum sbuf_array array, const u64 *word,
				    unsigned int nr) { }
static inline void sbuf_keep_event(const u64 *event, u64 word) { }
static inline int sbuf_keep_init(void) { return 0; }
static inline void sbuf_keep_stopped(bool panic) { }
static inline void sbuf_keep_exit(void) { }
static inline struct debugfs_blob_wrapper *sbuf_keep_record(unsigned int n) { return NULL; }
static inline void sbuf_keep_forget(struct debugfs_blob_wrapper *record) { }

#endif

#endif /* STACKBUF_KEEP_H */
