/* SPDX-License-Identifier: GPL-2.0 */
/*
 * probe_list.h - the list of probes (probe.c), as the parameter that writes it (probe_param.c) and
 * the ways in which the kernel sets them have it
 */
#ifndef STACKBUF_PROBE_LIST_H
#define STACKBUF_PROBE_LIST_H

#include <linux/lockdep.h>

#include "kprobe.h"
#include "pair.h"
#include "probe.h"
#include "probe_resolve.h"
#include "return.h"
#include "tracepoint.h"

/**
 * struct sbuf_way - one of them
 * @set:	set the probe of a request that has been resolved and has an entry, or add it to the
 *		list that is being made, whose bit is given.  Return 0, or an error after logging
 *		it
 * @remove:	remove those that are in no list; or, with a module, those in code of it that is
 *		freed, as it goes or its init has ended: @state.  No handler of theirs runs
 *		afterwards, and sbuf_probe_clear() has been called for each
 * @missed:	hits of a probe that is set which the kernel counted itself.  Any context.  May
 *		be NULL
 *
 * Context: Process context under sbuf_probe_mutex, but for @missed.
 */
struct sbuf_way {
	int (*set)(struct sbuf_probe_request *request, u8 list);
	void (*remove)(const struct module *module, unsigned long state);
	unsigned long (*missed)(const struct stackbuf_probe *probe);
};

extern const struct sbuf_way sbuf_kprobe_way, sbuf_function_way, sbuf_tracepoint_way,
			     sbuf_return_way;

/* What the kernel knows of a probe, beside its entry */
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

/* Clear it for a probe that is set in this way now: it may hit at once */
union sbuf_place *sbuf_place_take(struct stackbuf_probe *probe, enum stackbuf_probe_way way);

/* The entry after @probe, the first one after NULL; or NULL after the last one */
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

/* It is set, at @addr or at several places */
void sbuf_probe_set(struct stackbuf_probe *probe, unsigned long addr, unsigned int functions);

/* After it was removed: it is pending until its module is loaded, or deleted */
void sbuf_probe_clear(struct stackbuf_probe *probe);

/* A request that names a probe which is set or pending, to be parsed again */
struct sbuf_probe_request sbuf_probe_request_again(struct stackbuf_probe *probe);

/* The flags of its saves that the request decides */
static inline unsigned int sbuf_request_flags(const struct sbuf_probe_request *request)
{
	return (request->tag ? SBUF_TAGGED : 0) |
	       (request->role == STACKBUF_PAIR_OPENS || request->value & SBUF_VALUE_HERE ?
		SBUF_REFERS : 0);
}

#define SBUF_WOULD_STOP								\
	"this kernel checks indirect calls, and would stop at ours: probe a function that is called there"

/* What an error of the kernel's means; an array of them ends with err 0 */
struct sbuf_reason {
	int err;
	const char *text;
};

/* Log why the kernel refused a request with @err, and return what the writer gets */
int sbuf_refuse_error(const struct sbuf_probe_request *request, const struct sbuf_reason *reason,
		      int err);

/**
 * sbuf_probe_write() - make a list the one that records
 * @resolver: with requests that are parsed
 *
 * Context: Process context, under sbuf_probe_mutex.
 * Return: 0, or a negative error after logging it: then the old list was not interrupted.
 */
int sbuf_probe_write(struct sbuf_resolver *resolver);

/* Remove all probes.  Not by an empty list, which needs memory and could fail */
void sbuf_probe_remove_all(void);

/* The parameter whose list a probe is in */
static inline enum sbuf_probe_list sbuf_probe_param_of(const struct stackbuf_probe *probe)
{
	return probe->role == STACKBUF_TRIGGERS ? SBUF_TRIGGERS :
	       probe->role ? SBUF_PAIRS : SBUF_PROBES;
}

/* Mark the pages changed: an older copy of them in a memory image lacks the change */
void sbuf_probes_changed(void);

#endif /* STACKBUF_PROBE_LIST_H */
