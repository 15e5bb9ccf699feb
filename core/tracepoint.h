/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tracepoint.h - probes on tracepoints
 */
#ifndef STACKBUF_TRACEPOINT_H
#define STACKBUF_TRACEPOINT_H

#include <linux/kprobes.h>
#include <linux/trace_events.h>

#include "types.h"

struct module;
struct trace_event_file;

#define SBUF_EVENT_ARGUMENTS	5	/* in registers, after the pointer to data */

/**
 * struct sbuf_event_probe - a probe on a tracepoint
 * @probe:	its entry
 * @tracepoint:	the tracepoint
 * @iterator:	where its iterator begins
 * @size:	of that, bytes
 * @opener:	of one that closes: whose handler does it, or NULL
 * @closer:	the other way round
 * @site:	where ftrace is attached to its stub
 * @next:	in the list of those that are reached by their stubs
 * @kprobe:	at the event's own function, in place of the stub
 * @file:	what that function is called with
 */
struct sbuf_event_probe {
	struct stackbuf_probe *probe;
	struct tracepoint *tracepoint;
	unsigned long iterator, size;
#if !SBUF_CHECKED_CALLS
	struct sbuf_event_probe *opener, *closer;
#elif SBUF_EVENTS_BY_STUB
	unsigned long site;
	struct sbuf_event_probe *next;
#elif SBUF_EVENTS_BY_OWN
	struct kprobe kprobe;
	struct trace_event_file file;
#endif
};

#if IS_ENABLED(CONFIG_TRACEPOINTS) && IS_ENABLED(CONFIG_EVENT_TRACING)

/**
 * sbuf_tracepoint_find() - look for an event in its group
 * @group: the group
 * @event: its name, which is its tracepoint's
 * @file: takes the event if sbuf_tracepoint_set() needs it, until sbuf_tracepoint_put()
 *
 * Context: Process context, not under probe_mutex: the kernel's event_mutex, which this takes, is
 *	taken outside of the lock under which modules' tracepoints are announced to us.
 * Return: 0; -ENOENT if there is no such event; -ENOTTY if it is one without a tracepoint of its
 *	own.
 */
int sbuf_tracepoint_find(const char *group, const char *event, struct trace_event_file **file);

static inline void sbuf_tracepoint_put(struct trace_event_file *file)
{
	if (file)
		trace_put_event_file(file);
}

/**
 * sbuf_tracepoint_set() - record at an event from now on
 * @of: what is set here, with @probe, whose @tag and @how are set
 * @event: the event's name
 * @file: what sbuf_tracepoint_find() gave, or NULL
 * @coming: the module that is announced as it is being loaded: only that is searched; or NULL
 *
 * Context: Process context, under probe_mutex; takes tracepoints_mutex.
 * Return: 0; -ENOENT if there is no such event, -EPERM if the kernel checks indirect calls,
 *	-EDESTADDRREQ if it does and @file is needed, or another error of register_kprobe() or
 *	tracepoint_probe_register().
 */
int sbuf_tracepoint_set(struct sbuf_event_probe *of, const char *event,
			struct trace_event_file *file, const struct module *coming);

/* Undo that.  The handler may run until tracepoint_synchronize_unregister() returns */
void sbuf_tracepoint_remove(struct sbuf_event_probe *of);

/* Return true if a probe that is set is on a tracepoint of @module */
bool sbuf_tracepoint_is_in(const struct sbuf_event_probe *of, const struct module *module);

/* Follow modules: calls sbuf_probe_events(), also for those that are loaded already */
int __init sbuf_tracepoint_init(void);
void sbuf_tracepoint_exit(void);

#else

static inline int sbuf_tracepoint_find(const char *group, const char *event,
				       struct trace_event_file **file) { return 0; }
static inline void sbuf_tracepoint_put(struct trace_event_file *file) { }
static inline int sbuf_tracepoint_set(struct sbuf_event_probe *of, const char *event,
				      struct trace_event_file *file,
				      const struct module *coming) { return -EOPNOTSUPP; }
static inline void sbuf_tracepoint_remove(struct sbuf_event_probe *of) { }
static inline bool sbuf_tracepoint_is_in(const struct sbuf_event_probe *of,
					 const struct module *module) { return false; }
static inline int sbuf_tracepoint_init(void) { return 0; }
static inline void sbuf_tracepoint_exit(void) { }

#endif

#endif /* STACKBUF_TRACEPOINT_H */
