/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pair.h - probes that open objects and probes that close them: the outstanding objects, and how
 * long closed ones were open
 */
#ifndef STACKBUF_PAIR_H
#define STACKBUF_PAIR_H

#include <linux/atomic.h>

#include "save.h"

/* In stackbuf_probe.value: the number of an argument, and how it is used */
#define SBUF_VALUE_ARGUMENT	0x0f
#define SBUF_VALUE_CACHE	0x10	/* a struct kmem_cache; the value is its object size */
#define SBUF_VALUE_MOVED	0x10	/* close: objects move to where none was opened */
#define SBUF_VALUE_ORDER	0x20	/* an order of pages, converted to bytes; also of a close */
#define SBUF_VALUE_PREEMPTED	0x40	/* true if a task is preempted, and so runnable */
#define SBUF_VALUE_AWAKE	0x40	/* close: a task that runs; adds no time */
#define SBUF_VALUE_HERE		0x80	/* close, no argument: adds times to the closing stack */
#define SBUF_VALUE_LARGE	0x80	/* open: large kmalloc()s open twice */
#define SBUF_VALUE_WAIT		0x30	/* both ends of a task's wait for a lock; its flags */

/* An object's number of a stack, and its place's use count above it: they change together */
static inline u64 *sbuf_pair_word(struct stackbuf_pair_object *object)
{
	BUILD_BUG_ON(offsetof(struct stackbuf_pair_object, uses) !=
		     offsetof(struct stackbuf_pair_object, stack) + sizeof(u32));
	return (u64 *)&object->stack;
}

#if STACKBUF_PAIR_PAGES

/**
 * sbuf_pair_open() - handle a hit of a probe that opens
 * @probe: the probe
 * @key: identifies the object; 0: none, as for a NULL pointer
 * @value: the argument that @probe names, or 0
 * @id: what sbuf_save() returned
 *
 * Context: Any context with preemption disabled since before the save.
 */
void sbuf_pair_open(const struct stackbuf_probe *probe, unsigned long key, unsigned long value,
		    s64 id);

/* Number of objects in doubt, in all pairs; while it is 0, a switch in does not look for any */
extern atomic_t sbuf_pairs_in_doubt;

/* A task is switched in: remove its object if it is still in doubt, as its wakeup came first */
void sbuf_pair_settle(const struct stackbuf_probe *probe, unsigned long key);

/* sbuf_pair_close() if an object may be open */
void sbuf_pair_close_known(const struct stackbuf_probe *probe, unsigned long key,
			   unsigned long value, s64 id);

/**
 * sbuf_pair_close() - handle a hit of a probe that closes
 * @probe: the probe
 * @key: identifies the object, as for sbuf_pair_open(); if @probe names a value that is not an
 *	order, the address of an array of keys
 * @value: the argument that @probe names: the number of keys in the array, or the order
 * @id: for SBUF_VALUE_HERE, what sbuf_save() returned
 *
 * Context: Any context with preemption disabled; for SBUF_VALUE_HERE, as sbuf_pair_open().
 */
static __always_inline void sbuf_pair_close(const struct stackbuf_probe *probe, unsigned long key,
					    unsigned long value, s64 id)
{
	if (likely(!(probe->value & SBUF_VALUE_AWAKE)))
		sbuf_pair_close_known(probe, key, value, id);
	else if (unlikely(atomic_read(&sbuf_pairs_in_doubt)))
		sbuf_pair_settle(probe, key);
}

/* Set the bits of the granules of all stacks that have an entry in a pair */
void sbuf_pair_mark(unsigned long *granules);

/* Count hits of a probe that were not handled, and are counted nowhere else, in its pair, if any */
void sbuf_pair_lost(const struct stackbuf_probe *probe, u64 hits);

/* Recording resumes: objects opened or closed while it was off were missed */
void sbuf_pair_resume(void);

/*
 * Return the number of the pair with this name of @len bytes, adding it if it is new; 0 if
 * STACKBUF_PAIRS_MAX pairs are set.  Call this and the functions below under sbuf_probe_mutex.
 */
unsigned int sbuf_pair_get(const char *name, unsigned int len);
/* Return the text of a preset, places that open, "|", and places that close; or NULL */
const char *sbuf_pair_preset(const char *name, unsigned int len);
/* Note the number of @probes set.  If 0, no handler runs: forget outstanding objects */
void sbuf_pair_set(unsigned int number, unsigned int probes);

#else

static inline void sbuf_pair_mark(unsigned long *granules) { }
static inline void sbuf_pair_resume(void) { }
static inline void sbuf_pair_lost(const struct stackbuf_probe *probe, u64 hits) { }
static inline void sbuf_pair_open(const struct stackbuf_probe *probe, unsigned long key,
				  unsigned long value, s64 id) { }
static inline void sbuf_pair_close(const struct stackbuf_probe *probe, unsigned long key,
				   unsigned long value, s64 id) { }

#endif

#endif /* STACKBUF_PAIR_H */
