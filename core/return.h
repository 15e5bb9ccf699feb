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
 * @missed:	returns that were not recorded, but for those that the kernel counts in @hooks
 */
struct sbuf_return {
	struct stackbuf_probe *probe;
	struct sbuf_hooks *hooks;
	u64 missed;
};

/**
 * struct sbuf_hooks - functions of a probe that were hooked at one time
 * @next:	others of the probe
 * @probe:	the probe
 * @nr:		how many are hooked
 * @room:	how many there were
 * @least:	with STACKBUF_PROBE_TOOK, ns that a call took which is recorded
 * @fprobe:	hooks them all
 * @hook:	hooks of one each, of @room elements
 * @site:	where their traces begin: where ftrace attaches to them
 */
struct sbuf_hooks {
	struct sbuf_hooks *next;
	struct stackbuf_probe *probe;
	unsigned int nr, room;
	u64 least;
#ifdef SBUF_RETURNS_fprobe
	struct fprobe fprobe;
#else
	struct sbuf_hook *hook;
#endif
	unsigned long site[];
};

/*
 * Of the file that Kbuild has chosen for this kernel, return_fprobe.c or return_kretprobe.c.
 * Process context, under sbuf_probe_mutex, but for sbuf_hooks_missed()
 */

/* How many functions may be hooked at one time */
extern const unsigned int sbuf_hooks_most;

/* Hook the functions @own->site, whose number is @own->room.  Return 0 or a negative error */
int sbuf_hooks_set(struct sbuf_hooks *own);

/* Is the function at @site hooked? */
bool sbuf_hooks_have(const struct sbuf_hooks *own, unsigned long site);

/*
 * Unhook those in code of @module, which goes, or all if that is NULL.  Calls that are inside
 * return as ever; no handler runs afterwards.
 */
void sbuf_hooks_remove(struct sbuf_hooks *own, const struct module *module);

/* How many returns the kernel missed.  Any context */
unsigned long sbuf_hooks_missed(const struct sbuf_hooks *own);

/* Free it.  Nothing of it is hooked */
void sbuf_hooks_free(struct sbuf_hooks *own);

/* Less than from the first of two to the end of the second */
#define SBUF_NODE_MAX	96

/* sbuf_return_hit() of what is recorded; @value is its tag but for STACKBUF_PROBE_SP */
void sbuf_return_record(const struct sbuf_hooks *own, unsigned long site, unsigned long ret,
			const struct pt_regs *regs, const void *node, unsigned long value);

/*
 * Is it what the probe records?  The upper half of an int is not defined: compilers leave 0 there,
 * or the sign.  Of an error *@value becomes the number with its sign
 */
static __always_inline bool sbuf_return_is_wanted(u8 tag, unsigned long *value)
{
	unsigned long error = *value >> 32 ? *value : (unsigned long)(int)*value;

	if (tag != STACKBUF_PROBE_ERROR && tag != STACKBUF_PROBE_NULL)
		return true;
	if (!IS_ERR_VALUE(error))
		return tag == STACKBUF_PROBE_NULL && !*value;
	*value = error;
	return true;
}

/*
 * What the handlers in these call: the function at @site has returned to @ret, where @regs are its
 * caller's, but for what the function returned.  @node is in what the kernel knows the call by:
 * less than SBUF_NODE_MAX behind one of SBUF_RETURN_NODES().
 */
static __always_inline void sbuf_return_hit(const struct sbuf_hooks *own, unsigned long site,
					    unsigned long ret, struct pt_regs *regs,
					    const void *node)
{
	unsigned long value = regs_return_value(regs);

	if (unlikely(sbuf_return_is_wanted(own->probe->tag, &value)))
		sbuf_return_record(own, site, ret, regs, node, value);
}

/*
 * The same with STACKBUF_PROBE_TOOK, apart for the cost of the other: @began is sbuf_pair_now() at
 * the function's beginning.  Clocks of two CPUs may differ a little.
 */
static __always_inline void sbuf_return_took(const struct sbuf_hooks *own, unsigned long site,
					     unsigned long ret, struct pt_regs *regs,
					     const void *node, const u64 *began)
{
	s64 took = sbuf_pair_now() - *began;

	took = took > 0 ? took : 0;
	if ((u64)took >= own->least)
		sbuf_return_record(own, site, ret, regs, node, took);
}

#endif /* STACKBUF_RETURN_H */
