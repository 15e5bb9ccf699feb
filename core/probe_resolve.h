/* SPDX-License-Identifier: GPL-2.0 */
/*
 * probe_resolve.h - resolve the names of probes to the addresses of functions
 */
#ifndef STACKBUF_PROBE_RESOLVE_H
#define STACKBUF_PROBE_RESOLVE_H

#include <linux/hashtable.h>

#include "probe.h"

#define SBUF_PATTERNS_MAX	64	/* in a list */

/* A probe that is being resolved */
struct sbuf_probe_request {
	const char *name;		/* as given, not terminated */
	unsigned int len;		/* of @name */
	char text[STACKBUF_PROBE_NAME];	/* a copy of @name, split by sbuf_resolve_parse() */
	const char *function;		/* "": a bare address */
	bool returns;			/* %return: where it returns */
	bool pattern;			/* @function is a glob that names must match */
	const char *event;		/* NULL: not a tracepoint */
	const char *group;		/* of the event, or NULL */
	struct trace_event_file *event_file; /* found by sbuf_tracepoint_find() */
	int event_err;			/* its return value */
	const char *module;		/* NULL: the kernel or, if not found there, any module */
	unsigned int offset;		/* from the function's beginning */
	unsigned long addr;		/* of the function, or the bare address; 0: not found */
	unsigned int matches;		/* functions of that name */
	bool module_loaded;
	unsigned long site;		/* from call_site(); 0: it takes a kprobe */
	u8 tag;				/* as in struct stackbuf_probe */
	u64 least;			/* with STACKBUF_PROBE_TOOK: ns */
	u8 pair, role, value;		/* as in struct stackbuf_probe */
	const char *pair_name;		/* of the pair, not terminated */
	unsigned int pair_len;		/* of @pair_name */
	bool preset;			/* the pair is one of the presets */
	struct stackbuf_probe *probe;	/* its entry in stackbuf_info, if it has one */
	bool fresh;			/* the entry is new: the probe has to be set */
	u32 functions, left_out;	/* of the entry, before a module was loaded */
	struct hlist_node node;		/* in struct sbuf_resolver */
};

/* A function that a pattern matches */
struct sbuf_match {
	struct sbuf_probe_request *request;
	unsigned long site;		/* where ftrace may attach; 0: it is left out */
};

/* Requests that are resolved together.  Allocated zeroed, with room for all of them */
struct sbuf_resolver {
	DECLARE_HASHTABLE(functions, 8);	/* requests to look for, by @function */
	struct hlist_head patterns;	/* requests to look for that are patterns */
	bool add;			/* keep the probes of the list that records */
	enum sbuf_probe_list of;	/* the parameter whose probes the new list replaces */
	u32 events;			/* of triggers: events to record after a hit */
	u8 list;			/* the new list; functions that patterns match are added */
	int err;			/* why adding one failed, or 0 */
	unsigned int matches;
	struct sbuf_match match[256 + SBUF_PATTERNS_MAX];
	unsigned int nr;
	struct sbuf_probe_request request[];
};

static inline struct sbuf_probe_request *sbuf_resolver_end(struct sbuf_resolver *resolver)
{
	return resolver->request + resolver->nr;
}

/* One more than a parameter may list: the first request that is too many needs room, too */
#define SBUF_REQUESTS_MAX	(STACKBUF_PROBES_MAX + 1)

/**
 * sbuf_resolver_split() - add the requests that a parameter lists
 * @resolver: has no requests yet, has room for SBUF_REQUESTS_MAX, and @of is set
 * @text: the text that was written.  Names are not copied
 *
 * Also sets add and events.
 *
 * Return: 0, or a negative error after logging the reason.
 */
int sbuf_resolver_split(struct sbuf_resolver *resolver, const char *text);

/* Split a request's name.  Return 0, or -EINVAL after logging the reason */
int sbuf_resolve_parse(struct sbuf_probe_request *request);

/* Add a request to those to look for.  It has been parsed, and names functions */
void sbuf_resolver_add(struct sbuf_resolver *resolver, struct sbuf_probe_request *request);

/**
 * sbuf_resolve() - find the functions of all requests that are @fresh
 * @resolver: requests that are parsed, have an entry and were not added; and @list
 *
 * Sets addr, matches and module_loaded of each, or adds the functions of a pattern to @list.
 *
 * Context: Process context, under sbuf_probe_mutex.  Takes some 100 ms.
 * Return: 0 or -ENOMEM.
 */
int sbuf_resolve(struct sbuf_resolver *resolver);

/*
 * Return true if probes may be set in a module: it is loaded, or is being loaded and was reported.
 * Under sbuf_probe_mutex
 */
bool sbuf_probe_may_be_in(const struct module *module);

/* As sbuf_resolve(), for requests that were added, in one module that is being loaded */
int sbuf_resolve_in_module(struct sbuf_resolver *resolver, const struct module *module);

/* Log why a request is refused, in one line that begins with "probe: NAME".  Return -EINVAL */
__printf(2, 3) int sbuf_refuse(const struct sbuf_probe_request *request, const char *fmt, ...);

#endif /* STACKBUF_PROBE_RESOLVE_H */
