/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tracepoint.h - probes on tracepoints
 */
#ifndef STACKBUF_TRACEPOINT_H
#define STACKBUF_TRACEPOINT_H

#include "types.h"

struct module;

#define SBUF_EVENT_ARGUMENTS	5	/* in registers, after the pointer to data */

/**
 * struct sbuf_event_probe - a probe on a tracepoint
 * @probe:	its entry
 * @tracepoint:	the tracepoint
 * @iterator:	where its iterator begins
 * @size:	of that, bytes
 * @site:	where ftrace is attached to its stub
 * @next:	in the list of those that are reached by their stubs
 */
struct sbuf_event_probe {
	struct stackbuf_probe *probe;
	struct tracepoint *tracepoint;
	unsigned long iterator;
	unsigned long size;
	unsigned long site;
	struct sbuf_event_probe *next;
};

#if IS_ENABLED(CONFIG_TRACEPOINTS) && IS_ENABLED(CONFIG_EVENT_TRACING)

/**
 * sbuf_tracepoint_check() - look for an event in its group
 * @group: the group
 * @event: its name, which is its tracepoint's
 *
 * Context: Process context, not under probe_mutex: the kernel's event_mutex, which this takes, is
 *	taken outside of the lock under which modules' tracepoints are announced to us.
 * Return: 0; -ENOENT if there is no such event; -ENOTTY if it is one without a tracepoint of its
 *	own.
 */
int sbuf_tracepoint_check(const char *group, const char *event);

/**
 * sbuf_tracepoint_set() - record at an event from now on
 * @of: what is set here, with @probe, whose @tag and @how are set
 * @event: the event's name
 * @coming: the module that is announced as it is being loaded: only that is searched; or NULL
 *
 * Context: Process context, under probe_mutex; takes tracepoints_mutex.
 * Return: 0; -ENOENT if there is no such event, -EPERM if the kernel checks indirect calls, or
 *	another error of tracepoint_probe_register().
 */
int sbuf_tracepoint_set(struct sbuf_event_probe *of, const char *event,
			const struct module *coming);

/* Undo that.  The handler may run until sbuf_tracepoint_wait() returns */
void sbuf_tracepoint_remove(struct sbuf_event_probe *of);
void sbuf_tracepoint_wait(void);

/* Return true if a probe that is set is on a tracepoint of @module */
bool sbuf_tracepoint_is_in(const struct sbuf_event_probe *of, const struct module *module);

/* Follow modules: calls sbuf_probe_events(), also for those that are loaded already */
int __init sbuf_tracepoint_init(void);
void sbuf_tracepoint_exit(void);

#else

static inline int sbuf_tracepoint_check(const char *group, const char *event) { return 0; }
static inline int sbuf_tracepoint_set(struct sbuf_event_probe *of, const char *event,
				      const struct module *coming)
{
	return -EOPNOTSUPP;
}

static inline void sbuf_tracepoint_remove(struct sbuf_event_probe *of) { }
static inline void sbuf_tracepoint_wait(void) { }
static inline bool sbuf_tracepoint_is_in(const struct sbuf_event_probe *of,
					 const struct module *module)
{
	return false;
}

static inline int sbuf_tracepoint_init(void) { return 0; }
static inline void sbuf_tracepoint_exit(void) { }

#endif

#endif /* STACKBUF_TRACEPOINT_H */
