/* SPDX-License-Identifier: GPL-2.0 */
/*
 * function.h - probes at the beginnings of any number of functions, by ftrace
 */
#ifndef STACKBUF_FUNCTION_H
#define STACKBUF_FUNCTION_H

#include "probe.h"

struct ftrace_ops;

/* Return the number of @probe's functions in @list; store their sites in @site unless it is NULL */
unsigned int sbuf_functions_of(u8 list, const struct stackbuf_probe *probe, unsigned long *site);

#if SBUF_HAVE_FUNCTIONS
/*
 * Call all of these in process context, under sbuf_probe_mutex.  @list is a bit of
 * stackbuf_probe.lists.
 */

/* Return true if ftrace can attach to @addr, which is from sbuf_arch_call_site() */
bool sbuf_function_is_site(unsigned long addr);

/* Return true if a save calls the function of this name: patterns do not match these */
bool sbuf_function_is_ours(const char *name);

/* Add @site with @probe to the functions of @list.  Return 0 or -ENOMEM */
int sbuf_function_add(u8 list, unsigned long site, struct stackbuf_probe *probe);

/* Return the number of functions in @list */
unsigned int sbuf_functions(u8 list);

/* Add the other list's functions of probes that are in both lists.  Return 0 or -ENOMEM */
int sbuf_functions_copy(u8 list);

/*
 * Attach to the functions of @list; the handler records once @list is live.  Return 0 or a negative
 * error; then call sbuf_functions_detach().
 */
int sbuf_functions_attach(u8 list);

/* Detach and empty @list.  Waits for an RCU-tasks grace period: no handler runs afterwards */
void sbuf_functions_detach(u8 list);

/* Remove @probe's functions from @list, which is not attached */
void sbuf_functions_drop(u8 list, const struct stackbuf_probe *probe);

/* Detach @ops from @nr of its sites.  Return 0 or a negative error */
int sbuf_ops_remove(struct ftrace_ops *ops, unsigned long *site, unsigned int nr);

/* Clear the filter of @ops, which is not registered */
void sbuf_ops_forget(struct ftrace_ops *ops);

#else

static inline bool sbuf_function_is_site(unsigned long addr) { return false; }
static inline bool sbuf_function_is_ours(const char *name) { return false; }
static inline int sbuf_function_add(u8 list, unsigned long site,
				    struct stackbuf_probe *probe) { return 0; }
static inline unsigned int sbuf_functions(u8 list) { return 0; }
static inline int sbuf_functions_copy(u8 list) { return 0; }
static inline void sbuf_functions_drop(u8 list, const struct stackbuf_probe *probe) { }
static inline int sbuf_functions_attach(u8 list) { return 0; }
static inline void sbuf_functions_detach(u8 list) { }
#endif

#endif /* STACKBUF_FUNCTION_H */
