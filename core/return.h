/* SPDX-License-Identifier: GPL-2.0 */
/*
 * return.h - probes where functions return
 */
#ifndef STACKBUF_RETURN_H
#define STACKBUF_RETURN_H

#ifdef SBUF_RETURNS_fprobe
#include <linux/fprobe.h>
#endif

#include "clock.h"
#include "types.h"

struct stackbuf_probe;

/**
 * struct sbuf_return - a probe on returns
 * @probe:	its entry
 * @hooks:	its functions
 * @missed:	returns that were not recorded, except those that the kernel counts in @hooks
 */
struct sbuf_return {
	struct stackbuf_probe *probe;
	struct sbuf_hooks *hooks;
	u64 missed;
};

/**
 * struct sbuf_hooks - functions of a probe that were hooked at the same time
 * @next:	the probe's functions that were hooked earlier
 * @probe:	the probe
 * @nr:		number of functions that are still hooked
 * @room:	number of functions at first
 * @stuck:	the kernel failed to unhook, as when ftrace has died: it still refers to this
 * @lost:	some could not be unhooked alone, so all were
 * @least:	with STACKBUF_PROBE_TOOK, duration in ns of the shortest call to record
 * @fprobe:	hooks all the functions
 * @hook:	without @fprobe: hooks of one function each; @room elements
 * @site:	where the functions' traces begin: where ftrace attaches to them; 0: unhooked
 */
struct sbuf_hooks {
	struct sbuf_hooks *next;
	struct stackbuf_probe *probe;
	unsigned int nr, room;
	bool stuck, lost;
	u64 least;
#ifdef SBUF_RETURNS_fprobe
	struct fprobe fprobe;
#endif
	struct sbuf_hook *hook;
	unsigned long site[];
};

/*
 * These are in the file that Kbuild chose for this kernel, return_fprobe.c or return_kretprobe.c.
 * Process context, under sbuf_probe_mutex, except sbuf_hooks_missed()
 */

/* How many functions may be hooked at one time */
extern const unsigned int sbuf_hooks_most;

/* Hook the @own->room functions at @own->site.  Return 0 or a negative error */
int sbuf_hooks_set(struct sbuf_hooks *own);

/*
 * Unhook the functions in @module, which is being unloaded, or all if that is NULL.  Calls in
 * progress return normally; no handler runs afterwards.
 */
void sbuf_hooks_remove(struct sbuf_hooks *own, const struct module *module);

/* Return the number of returns that the kernel missed.  Any context */
unsigned long sbuf_hooks_missed(const struct sbuf_hooks *own);

/* Less than the distance from a node to the next one: an fprobe's handler gets the node's data */
#ifdef SBUF_RETURNS_fprobe
#define SBUF_NODE_MAX	96
#else
#define SBUF_NODE_MAX	1
#endif

/* Record a return for sbuf_return_hit(); @value is its tag, except with STACKBUF_PROBE_SP */
void sbuf_return_record(const struct sbuf_hooks *own, unsigned long site, unsigned long ret,
			const struct pt_regs *regs, const void *node, unsigned long value);

/*
 * Return true if the probe records this return, with its tag in *@value, which was the return
 * value.  The upper half of an int is undefined: compilers leave 0 there, or the sign.  Sign-extend
 * errors.
 * @began: with STACKBUF_PROBE_TOOK, sbuf_pair_now() at the function's beginning
 */
static __always_inline bool sbuf_return_is_wanted(const struct sbuf_hooks *own, const u64 *began,
						  unsigned long *value)
{
	unsigned long error = *value >> 32 ? *value : (unsigned long)(int)*value;
	u8 tag = own->probe->tag;

	if (tag == STACKBUF_PROBE_ERROR || tag == STACKBUF_PROBE_NULL) {
		if (!IS_ERR_VALUE(error))
			return tag == STACKBUF_PROBE_NULL && !*value;
		*value = error;
	} else if (tag == STACKBUF_PROBE_TOOK) {
		/* Clocks of two CPUs may differ a little */
		*value = max_t(s64, sbuf_pair_now() - *began, 0);
		return *value >= own->least;
	}
	return true;
}

/*
 * Called by the handlers: the function at @site has returned to @ret, where @regs are its caller's,
 * except for the return value.  @node lies in the kernel's data for the call: less than
 * SBUF_NODE_MAX after one of SBUF_RETURN_NODES().
 */
static __always_inline void sbuf_return_hit(const struct sbuf_hooks *own, unsigned long site,
					    unsigned long ret, struct pt_regs *regs,
					    const void *node, const u64 *began)
{
	unsigned long value = regs_return_value(regs);

	if (unlikely(sbuf_return_is_wanted(own, began, &value)))
		sbuf_return_record(own, site, ret, regs, node, value);
}

#endif /* STACKBUF_RETURN_H */
