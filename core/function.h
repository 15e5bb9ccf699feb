/* SPDX-License-Identifier: GPL-2.0 */
/*
 * function.h - probes at the beginnings of functions, any number of them, by ftrace
 */
#ifndef STACKBUF_FUNCTION_H
#define STACKBUF_FUNCTION_H

#include "probe.h"

struct ftrace_ops;

#if SBUF_HAVE_FUNCTIONS
/*
 * All below are for process context, under sbuf_probe_mutex.  @list is a bit of
 * stackbuf_probe.lists.
 */

/* Can ftrace attach there?  @addr is from sbuf_arch_call_site() */
bool sbuf_function_is_site(unsigned long addr);

/* Is this one of the functions that a save calls?  A pattern leaves those out */
bool sbuf_function_is_ours(const char *name);

/* Note that the functions of @list are to have @probe at @site.  Return 0 or -ENOMEM */
int sbuf_function_add(u8 list, unsigned long site, struct stackbuf_probe *probe);

/* How many are noted */
unsigned int sbuf_functions(u8 list);

/* Note all that the other list has for the probes that are in both */
int sbuf_functions_copy(u8 list);

/*
 * Attach to what was noted; the handler records once @list is the one that does.  Return 0 or a
 * negative error: then nothing is attached.
 */
int sbuf_functions_attach(u8 list);

/* Undo that, and forget all.  No handler runs afterwards.  Waits for a grace period of RCU tasks */
void sbuf_functions_detach(u8 list);

/* How many functions are noted for @probe; and where, unless @site is NULL */
unsigned int sbuf_functions_of(u8 list, const struct stackbuf_probe *probe, unsigned long *site);

/* Forget those that are noted for @probe: of a list that is not attached */
void sbuf_functions_drop(u8 list, const struct stackbuf_probe *probe);

/* Detach @ops from some of its places.  Return 0 or a negative error */
int sbuf_ops_remove(struct ftrace_ops *ops, unsigned long *site, unsigned int nr);

/* Forget the places of @ops, which is not registered */
void sbuf_ops_forget(struct ftrace_ops *ops);

#else

static inline bool sbuf_function_is_site(unsigned long addr) { return false; }
static inline bool sbuf_function_is_ours(const char *name) { return false; }
static inline int sbuf_function_add(u8 list, unsigned long site,
				    struct stackbuf_probe *probe) { return -EOPNOTSUPP; }
static inline unsigned int sbuf_functions(u8 list) { return 0; }
static inline int sbuf_functions_copy(u8 list) { return 0; }
static inline void sbuf_functions_drop(u8 list, const struct stackbuf_probe *probe) { }
static inline int sbuf_functions_attach(u8 list) { return 0; }
static inline void sbuf_functions_detach(u8 list) { }
#endif

#endif /* STACKBUF_FUNCTION_H */
