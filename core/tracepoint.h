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
 * sbuf_tracepoint_set() - record at an event from now on
 * @probe: an entry with @tag and @how
 * @group: the event's group, or NULL: any
 * @event: its name
 *
 * Context: Process context, under probe_mutex; takes event_mutex and tracepoints_mutex.
 * Return: 0; -ENOENT if there is no such event, -ENOTTY if it is one without a tracepoint of its
 *	own, -EPERM if the kernel checks indirect calls, or another error of
 *	tracepoint_probe_register().
 */
int sbuf_tracepoint_set(struct stackbuf_probe *probe, const char *group, const char *event);

/* Undo that.  The handler may run until sbuf_tracepoint_wait() returns */
void sbuf_tracepoint_remove(struct stackbuf_probe *probe);
void sbuf_tracepoint_wait(void);

/* Return true if a probe that is set is on a tracepoint of @module */
bool sbuf_tracepoint_is_in(const struct stackbuf_probe *probe, const struct module *module);

/* Follow modules: calls sbuf_probe_events(), also for those that are loaded already */
int __init sbuf_tracepoint_init(void);
void sbuf_tracepoint_exit(void);

#endif /* STACKBUF_TRACEPOINT_H */
