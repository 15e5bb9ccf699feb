/* SPDX-License-Identifier: GPL-2.0 */
/*
 * probe_list.h - the list of probes (probe.c), for the parameters that write it (probe_param.c) and
 * the ways to set a probe
 */
#ifndef STACKBUF_PROBE_LIST_H
#define STACKBUF_PROBE_LIST_H

#include <linux/lockdep.h>
#include <linux/spinlock.h>

#include "kprobe.h"
#include "pair.h"
#include "probe.h"
#include "probe_resolve.h"
#include "return.h"
#include "tracepoint.h"

/* Held around @missed of a struct sbuf_way; in any context only by a trylock */
extern raw_spinlock_t sbuf_missed_lock;

/**
 * struct sbuf_way - a way to set probes: a kprobe, ftrace, a tracepoint or a return probe
 * @set:	set the probe of a request that has been resolved and has an entry, or add it to the
 *		new list, whose bit is given.  Return 0, or an error after logging it
 * @remove:	remove probes that are in no list; or, given a module, probes in code of it that is
 *		about to be freed: its @state shows that it is unloaded or, asked of kprobes alone,
 *		that its init has ended.  No handler of theirs runs afterwards, and
 *		sbuf_probe_clear() has been called for each
 * @missed:	return the missed hits of a set probe that the kernel itself counted.  Any context.
 *		May be NULL
 *
 * Context: Process context under sbuf_probe_mutex, except @missed.
 */
struct sbuf_way {
	int (*set)(struct sbuf_probe_request *request, u8 list);
	void (*remove)(const struct module *module, unsigned long state);
	unsigned long (*missed)(const struct stackbuf_probe *probe);
};

extern const struct sbuf_way sbuf_kprobe_way, sbuf_function_way, sbuf_tracepoint_way,
			     sbuf_return_way;

/* The state of a probe that is set, private to its way */
union sbuf_place {
	struct stackbuf_probe *probe;
	struct sbuf_kprobe kprobe;
	struct sbuf_tracepoint tracepoint;
	struct sbuf_return returns;
};

extern union sbuf_place sbuf_places[STACKBUF_PROBES_MAX];

static inline union sbuf_place *sbuf_place_of(const struct stackbuf_probe *probe)
{
	return &sbuf_places[sbuf_probe_number(probe) - 1];
}

/* Clear the place of a probe and set its way, before the probe is set: it may hit at once */
union sbuf_place *sbuf_place_take(struct stackbuf_probe *probe, enum stackbuf_probe_way way);

/* Return the entry after @probe, the first one if @probe is NULL, or NULL after the last one */
struct stackbuf_probe *sbuf_probe_next(const struct stackbuf_probe *probe);

static inline bool sbuf_probe_is_set(const struct stackbuf_probe *probe,
				     enum stackbuf_probe_way way)
{
	return probe->state == STACKBUF_PROBE_SET && probe->way == way;
}

static inline bool sbuf_probe_is_pending(const struct stackbuf_probe *probe)
{
	return probe->state == STACKBUF_PROBE_PENDING || probe->state == STACKBUF_PROBE_REFUSED;
}

/* Mark @probe as set, at @addr or at several functions */
void sbuf_probe_set(struct stackbuf_probe *probe, unsigned long addr, unsigned int functions);

/* Mark @probe, which was removed, as pending until its module is loaded or its entry freed */
void sbuf_probe_clear(struct stackbuf_probe *probe);

/* Return a request, still to be parsed, for a probe that is already set or pending */
struct sbuf_probe_request sbuf_probe_request_again(struct stackbuf_probe *probe);

/* Return the flags that a request adds to the saves of its probe */
static inline unsigned int sbuf_request_flags(const struct sbuf_probe_request *request)
{
	return (request->tag ? SBUF_TAGGED : 0) |
	       (request->role == STACKBUF_PAIR_OPENS || request->value & SBUF_VALUE_HERE ?
		SBUF_REFERS : 0);
}

#define SBUF_WOULD_STOP								\
	"this kernel checks indirect calls, and would stop at ours: probe a function that is called there"

/* The meaning of a kernel error; an array of these ends with err 0 */
struct sbuf_reason {
	int err;
	const char *text;
};

/* Log why the kernel refused a request with @err, and return the error for the writer */
int sbuf_refuse_error(const struct sbuf_probe_request *request, const struct sbuf_reason *reason,
		      int err);

/**
 * sbuf_probe_write() - make a new list and have it record
 * @resolver: the parsed requests, or an ERR_PTR()
 *
 * Context: Process context, under sbuf_probe_mutex.
 * Return: 0, or a negative error after logging it; the old list was then not interrupted.
 */
int sbuf_probe_write(struct sbuf_resolver *resolver);

/*
 * Note that the kernel failed to unregister a handler, as when ftrace has died: it may still call
 * it, so this module's code must stay
 */
extern bool sbuf_probes_stuck;
void sbuf_probe_note_stuck(void);

/* Remove all probes.  Does not use an empty list, which needs memory and could fail */
void sbuf_probe_remove_all(void);

/* Return the parameter that lists a probe */
static inline enum sbuf_probe_list sbuf_probe_param_of(const struct stackbuf_probe *probe)
{
	return probe->role == STACKBUF_TRIGGERS ? SBUF_TRIGGERS :
	       probe->role ? SBUF_PAIRS : SBUF_PROBES;
}

/* Mark the probes' pages as changed, so that a reader prefers them to older copies */
void sbuf_probes_changed(void);

#endif /* STACKBUF_PROBE_LIST_H */
