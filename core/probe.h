/* SPDX-License-Identifier: GPL-2.0 */
/*
 * probe.h - probes by name
 */
#ifndef STACKBUF_PROBE_H
#define STACKBUF_PROBE_H

#include <linux/mutex.h>

#include "types.h"

#if STACKBUF_WITH_PROBES

/*
 * Protects the probes and, until sbuf_probe_init() opens their parameters, what insmod was given.
 * Held while a list is set, which takes seconds.  Nests inside the locks of module loading.
 */
extern struct mutex sbuf_probe_mutex;

/**
 * sbuf_probe_init() - set the probes that insmod was given, and accept writes of the parameter
 *
 * Context: Module init, after all that saves need.
 * Return: 0, or a negative error as a write of the parameter would.
 */
int __init sbuf_probe_init(void);

/* Remove all probes and refuse writes.  No handler of a probe runs afterwards */
void sbuf_probe_exit(void);

/* The bits of stackbuf_probe.lists */
#define SBUF_LISTS	2
#define SBUF_BOTH_LISTS	(BIT(SBUF_LISTS) - 1)
/* That of the list that records, and above the two how often that has changed */
extern u32 sbuf_probe_live;

static inline u8 sbuf_live_list(void)
{
	return sbuf_probe_live & SBUF_BOTH_LISTS;
}

/* The parameters that are lists of probes: the entries of each are its own */
enum sbuf_probe_list { SBUF_PROBES, SBUF_PAIRS, SBUF_TRIGGERS };

struct sbuf_probe_param {
	enum sbuf_probe_list list;
	char *insmod;		/* what insmod was given: written before init, set by it */
};

extern struct sbuf_probe_param sbuf_probe_param, sbuf_pair_param, sbuf_trigger_param;
extern const struct kernel_param_ops sbuf_probe_ops;

/* Return true if a probe is in the list that records */
static inline bool sbuf_probe_records(const struct stackbuf_probe *probe)
{
	u32 live = READ_ONCE(sbuf_probe_live);

	if (likely(READ_ONCE(probe->lists) & live))
		return true;
	/* The list may have changed in between, and the probe be in both */
	do {
		live = READ_ONCE(sbuf_probe_live);
		smp_rmb();	/* P1: its bit is set before that */
		if (READ_ONCE(probe->lists) & live)
			return true;
		smp_rmb();	/* P1: it is cleared after another list records */
	} while (READ_ONCE(sbuf_probe_live) != live);
	return false;
}

/* Its number in stackbuf_info.probe, counted from 1 over all pages */
u32 sbuf_probe_number(const struct stackbuf_probe *probe);

/* Take over what the kernel has counted since a probe was last hit.  Any context */
void sbuf_probe_update_missed(void);

/* @module is in the state MODULE_STATE_COMING etc., as its notifiers are told.  Process context */
void sbuf_probe_module(const struct module *module, unsigned long state);

#else

static inline int sbuf_probe_init(void) { return 0; }
static inline void sbuf_probe_exit(void) { }
static inline void sbuf_probe_update_missed(void) { }
static inline void sbuf_probe_module(const struct module *module, unsigned long state) { }

#endif

#endif /* STACKBUF_PROBE_H */
