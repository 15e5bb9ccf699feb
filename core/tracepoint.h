/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tracepoint.h - probes on tracepoints
 */
#ifndef STACKBUF_TRACEPOINT_H
#define STACKBUF_TRACEPOINT_H

#include <linux/kprobes.h>
#include <linux/trace_events.h>

#include "types.h"

struct sbuf_probe_request;

/**
 * struct sbuf_tracepoint - a probe on a tracepoint
 * @probe:	its entry
 * @tracepoint:	the tracepoint
 * @module:	hash of the name of the module that it is in; 0: the kernel
 * @iterator:	where its iterator begins
 * @size:	size of the iterator, bytes
 * @opener:	for a probe that closes: the probe whose handler also closes for it, or NULL
 * @closer:	the probe that has this one as its @opener, or NULL
 * @site:	where ftrace is attached to its stub
 * @next:	next in the list of probes that are attached to stubs
 * @kprobe:	at the event's own function, used instead of a stub
 * @file:	the argument of that function
 */
struct sbuf_tracepoint {
	struct stackbuf_probe *probe;
	struct tracepoint *tracepoint;
	u32 module;
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
 * @event: its name, which is also its tracepoint's
 * @file: set to the event, which holds its module until sbuf_tracepoint_put()
 *
 * Context: Process context, not under sbuf_probe_mutex: this acquires the kernel's event_mutex,
 *	which nests outside the lock under which the kernel reports modules' tracepoints to us.
 * Return: 0; -ENOENT if there is no such event; -ENOTTY if it has no tracepoint of its own.
 */
int sbuf_tracepoint_find(const char *group, const char *event, struct trace_event_file **file);

static inline void sbuf_tracepoint_put(struct trace_event_file *file)
{
	if (file)
		trace_put_event_file(file);
}

/**
 * sbuf_tracepoint_set_in() - set a pending probe again, if its tracepoint is in a module
 * @request: its request
 * @module: the module, which is being loaded
 *
 * Context: Process context, under sbuf_probe_mutex.
 * Return: 0, also if the tracepoint is in another module; or a negative error after logging it.
 */
int sbuf_tracepoint_set_in(const struct sbuf_probe_request *request, const struct module *module);

/*
 * These are in the file that Kbuild chose for this kernel, tracepoint_direct.c, tracepoint_stub.c
 * or tracepoint_own.c.  Under sbuf_probe_mutex
 */

/**
 * sbuf_tracepoint_attach() - have the handler called from now on
 * @of: the probe; all fields before the union are set
 * @file: from sbuf_tracepoint_find(), or NULL
 *
 * Return: 0; -EPERM if the kernel would stop at a call of ours; -EDESTADDRREQ if @file is needed;
 *	or a kernel error.
 */
int sbuf_tracepoint_attach(struct sbuf_tracepoint *of, const struct trace_event_file *file);

/* Undo sbuf_tracepoint_attach().  The handler may run until tracepoint_synchronize_unregister() */
void sbuf_tracepoint_detach(struct sbuf_tracepoint *of);

#else

static inline int sbuf_tracepoint_find(const char *group, const char *event,
				       struct trace_event_file **file) { return 0; }
static inline void sbuf_tracepoint_put(struct trace_event_file *file) { }
static inline int sbuf_tracepoint_set_in(const struct sbuf_probe_request *request,
					 const struct module *module) { return 0; }

#endif

#endif /* STACKBUF_TRACEPOINT_H */
