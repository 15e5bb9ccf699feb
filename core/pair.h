/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pair.h - probes that open something and probes that close it: outstanding objects, and how
 * long others were open
 */
#ifndef STACKBUF_PAIR_H
#define STACKBUF_PAIR_H

#include <linux/atomic.h>

#include "save.h"

/* In stackbuf_probe.value: the number of an argument, and what is to be made of it */
#define SBUF_VALUE_ARGUMENT	0x0f
#define SBUF_VALUE_CACHE	0x10	/* a struct kmem_cache: the size of its objects */
#define SBUF_VALUE_MOVED	0x10	/* of a close: objects go where none was opened */
#define SBUF_VALUE_ORDER	0x20	/* an order of pages: bytes; of a close, too */
#define SBUF_VALUE_PREEMPTED	0x40	/* true for a task that is preempted: it is runnable */
#define SBUF_VALUE_AWAKE	0x40	/* of a close: a task that runs, and no time */
#define SBUF_VALUE_HERE		0x80	/* of a close, no argument: times are those of its stack */
#define SBUF_VALUE_LARGE	0x80	/* of an open: large kmalloc()s open twice */
#define SBUF_VALUE_WAIT		0x30	/* both ends of a task's wait for a lock; the flags */

/* An object's number of a stack, and above it how often its place was used: they change as one */
static inline u64 *sbuf_pair_word(struct stackbuf_pair_object *object)
{
	BUILD_BUG_ON(offsetof(struct stackbuf_pair_object, uses) !=
		     offsetof(struct stackbuf_pair_object, stack) + sizeof(u32));
	return (u64 *)&object->stack;
}

#if STACKBUF_PAIR_PAGES

/**
 * sbuf_pair_open() - what a probe that opens has hit
 * @probe: the probe
 * @key: which object; 0: none, as a NULL pointer
 * @value: the argument that @probe names, or 0
 * @id: what sbuf_save() returned
 *
 * Context: Any context with preemption disabled, in a handler from before the save.
 */
void sbuf_pair_open(const struct stackbuf_probe *probe, unsigned long key, unsigned long value,
		    s64 id);

/* How many objects are in doubt, in all pairs; while there is none, a switch in looks for none */
extern atomic_t sbuf_pairs_in_doubt;

/* A task is switched in: if it still is in doubt, its wakeup came before what it ends */
void sbuf_pair_settle(const struct stackbuf_probe *probe, unsigned long key);

/* sbuf_pair_close() where something may be open */
void sbuf_pair_close_known(const struct stackbuf_probe *probe, unsigned long key,
			   unsigned long value, s64 id);

/**
 * sbuf_pair_close() - what a probe that closes has hit
 * @probe: the probe
 * @key: which object, as for sbuf_pair_open(); if @probe names a value that is no order, an array
 *	of such
 * @value: the argument that @probe names: how many keys the array has, or the order
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

/* Set the bits of the granules of all stacks that have opened something */
void sbuf_pair_mark(unsigned long *granules);

/* Hits of a probe that were not passed on, and are counted nowhere else: for its pair, if any */
void sbuf_pair_lost(const struct stackbuf_probe *probe, u64 hits);

/* Recording was off, and goes on: what was opened and closed meanwhile is not known */
void sbuf_pair_resume(void);

/*
 * The number of the pair of this name, of @len bytes, a new one perhaps; 0: STACKBUF_PAIRS_MAX are
 * set.  Under sbuf_probe_mutex, as the rest.
 */
unsigned int sbuf_pair_get(const char *name, unsigned int len);
/* The text of a preset, places that open before "|" and those that close after it; or NULL */
const char *sbuf_pair_preset(const char *name, unsigned int len);
/* Note that @probes are set; 0: none is, and no handler runs: forget outstanding objects */
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
