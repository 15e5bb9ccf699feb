/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tracepoint.h - probes on tracepoints
 */
#ifndef STACKBUF_TRACEPOINT_H
#define STACKBUF_TRACEPOINT_H

#include <linux/kprobes.h>
#include <linux/trace_events.h>

#include "types.h"

/**
 * struct sbuf_tracepoint - a probe on a tracepoint
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
struct sbuf_tracepoint {
	struct stackbuf_probe *probe;
	struct tracepoint *tracepoint;
	unsigned long iterator, size;
	union {
		struct {
			struct sbuf_tracepoint *opener, *closer;
		};
		struct {
			unsigned long site;
			struct sbuf_tracepoint *next;
		};
#ifdef SBUF_TRACEPOINTS_own
		struct {
			struct kprobe kprobe;
			struct trace_event_file file;
		};
#endif
	};
};

#ifdef SBUF_TRACEPOINTS

/**
 * sbuf_tracepoint_find() - look for an event in its group
 * @group: the group
 * @event: its name, which is its tracepoint's
 * @file: takes the event, which holds its module until sbuf_tracepoint_put()
 *
 * Context: Process context, not under sbuf_probe_mutex: the kernel's event_mutex, which this takes,
 *	is taken outside of the lock under which modules' tracepoints are announced to us.
 * Return: 0; -ENOENT if there is no such event; -ENOTTY if it is one without a tracepoint of its
 *	own.
 */
int sbuf_tracepoint_find(const char *group, const char *event, struct trace_event_file **file);

static inline void sbuf_tracepoint_put(struct trace_event_file *file)
{
	if (file)
		trace_put_event_file(file);
}

/* Follow modules, also those that are loaded already */
int __init sbuf_tracepoint_init(void);
void sbuf_tracepoint_exit(void);

/*
 * Of the file that Kbuild has chosen for this kernel, tracepoint_direct.c, tracepoint_stub.c or
 * tracepoint_own.c.  Under sbuf_probe_mutex
 */

/**
 * sbuf_tracepoint_attach() - have the handler called from now on
 * @of: what is set but for what the file has for itself
 * @file: what sbuf_tracepoint_find() gave, or NULL
 *
 * Return: 0; -EPERM if the kernel would stop at a call of ours, -EDESTADDRREQ if @file is needed,
 *	or an error of the kernel's.
 */
int sbuf_tracepoint_attach(struct sbuf_tracepoint *of, const struct trace_event_file *file);

/* Undo that.  The handler may run until tracepoint_synchronize_unregister() returns */
void sbuf_tracepoint_detach(struct sbuf_tracepoint *of);

#else

static inline int sbuf_tracepoint_find(const char *group, const char *event,
				       struct trace_event_file **file) { return 0; }
static inline void sbuf_tracepoint_put(struct trace_event_file *file) { }
static inline int sbuf_tracepoint_init(void) { return 0; }
static inline void sbuf_tracepoint_exit(void) { }

#endif

#endif /* STACKBUF_TRACEPOINT_H */
