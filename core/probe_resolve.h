/* SPDX-License-Identifier: GPL-2.0 */
/*
 * probe_resolve.h - from the names of probes to the addresses of their functions
 */
#ifndef STACKBUF_PROBE_RESOLVE_H
#define STACKBUF_PROBE_RESOLVE_H

#include "probe.h"

#define SBUF_PATTERNS_MAX	64	/* in a list */

/* A probe that is being resolved */
struct sbuf_probe_request {
	const char *name;		/* as given, not terminated */
	unsigned int len;		/* of @name */
	char text[STACKBUF_PROBE_NAME];	/* a copy of @name, split by sbuf_resolve_parse() */
	const char *function;		/* "": a bare address */
	bool returns;			/* %return: where it returns */
	bool pattern;			/* of a glob: @function is what names must match */
	const char *event;		/* NULL: it is no tracepoint */
	const char *group;		/* of the event, or NULL */
	struct trace_event_file *event_file; /* what sbuf_tracepoint_find() gave for these */
	int event_err;			/* what it returned */
	const char *module;		/* NULL: the kernel or, if not found there, any module */
	unsigned int offset;		/* from the function's beginning */
	unsigned long addr;		/* of the function, or the bare address; 0: not found */
	unsigned int matches;		/* functions of that name */
	bool module_loaded;
	unsigned long site;		/* where ftrace may attach, or 0: then it takes a kprobe */
	u8 tag;				/* as in struct stackbuf_probe */
	u64 least;			/* with STACKBUF_PROBE_TOOK: ns */
	u8 pair, role, value;		/* likewise */
	const char *pair_name;		/* of the pair, not terminated */
	unsigned int pair_len;		/* of that */
	bool preset;			/* of a pair that has a name */
	struct stackbuf_probe *probe;	/* its entry in stackbuf_info, if it has one */
	bool fresh;			/* it is to be set: the entry is new */
	u32 functions, left_out;	/* of the entry, before a module came */
	struct hlist_node node;		/* in struct sbuf_resolver */
};

/* A function that a pattern matches */
struct sbuf_match {
	struct sbuf_probe_request *request;
	unsigned long site;		/* likewise; 0: it is left out */
};

/* Requests that are resolved together.  Allocated as zero bytes, with room for them */
struct sbuf_resolver {
	struct hlist_head head[256];	/* those to look for, by @function */
	struct hlist_head patterns;	/* likewise, those that are patterns */
	bool add;			/* what is in the list that records stays */
	enum sbuf_probe_list of;	/* it replaces the entries of this one only */
	u32 events;			/* of triggers: how many come after a hit */
	u8 list;			/* that is made: what patterns match is added to it */
	int err;			/* why that failed, or 0 */
	unsigned int matches;
	struct sbuf_match match[256 + SBUF_PATTERNS_MAX];
	unsigned int nr;
	struct sbuf_probe_request request[];
};

static inline struct sbuf_probe_request *sbuf_resolver_end(struct sbuf_resolver *resolver)
{
	return resolver->request + resolver->nr;
}

/* Of what a parameter is written, and one more: the first that is too many */
#define SBUF_REQUESTS_MAX	(STACKBUF_PROBES_MAX + 1)

/**
 * sbuf_resolver_split() - add the requests that a parameter lists
 * @resolver: without requests, with room for SBUF_REQUESTS_MAX; and @of
 * @text: what was written.  Names are not copied
 *
 * Sets add and events, too.
 *
 * Return: 0, or a negative error after logging the reason.
 */
int sbuf_resolver_split(struct sbuf_resolver *resolver, const char *text);

/* Split a request's name.  Return 0, or -EINVAL after logging the reason */
int sbuf_resolve_parse(struct sbuf_probe_request *request);

/* Look for a request's functions from now on.  It has been parsed and has some */
void sbuf_resolver_add(struct sbuf_resolver *resolver, struct sbuf_probe_request *request);

/**
 * sbuf_resolve() - find the functions of all requests that are @fresh
 * @resolver: requests, parsed and not added, those with an entry; and @list
 *
 * Sets addr, matches and module_loaded of each, or adds the functions of a pattern to @list.
 *
 * Context: Process context, under sbuf_probe_mutex.  Takes some 100 ms.
 * Return: 0 or -ENOMEM.
 */
int sbuf_resolve(struct sbuf_resolver *resolver);

/* The same for the requests that were added, in one module that is being loaded */
int sbuf_resolve_in_module(struct sbuf_resolver *resolver, const struct module *module);

/* Log why a request is refused, in one line that begins with its name.  Return -EINVAL */
__printf(2, 3) int sbuf_refuse(const struct sbuf_probe_request *request, const char *fmt, ...);

#endif /* STACKBUF_PROBE_RESOLVE_H */
