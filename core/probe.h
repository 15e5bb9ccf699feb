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
 * Protects the probes and, until sbuf_probe_init() opens their parameters, the values given to
 * insmod.  Held while a list is set, which takes seconds.  Nests inside the locks of module
 * loading.
 */
extern struct mutex sbuf_probe_mutex;

/**
 * sbuf_probe_init() - set the probes given to insmod, then accept writes of the parameters
 *
 * Context: Module init, after everything that saves need.
 * Return: 0, or the negative error that a write of the parameter would return.
 */
int __init sbuf_probe_init(void);

/* Remove all probes and refuse writes.  No handler of a probe runs afterwards */
void sbuf_probe_exit(void);

/* The bits of stackbuf_probe.lists */
#define SBUF_LISTS	2
#define SBUF_BOTH_LISTS	(BIT(SBUF_LISTS) - 1)
/* The bit of the list that records; the bits above SBUF_BOTH_LISTS count its changes */
extern u32 sbuf_probe_live;

static inline u8 sbuf_live_list(void)
{
	return sbuf_probe_live & SBUF_BOTH_LISTS;
}

/* The parameters that list probes; no entry belongs to two of them */
enum sbuf_probe_list { SBUF_PROBES, SBUF_PAIRS, SBUF_TRIGGERS };

struct sbuf_probe_param {
	enum sbuf_probe_list list;
	char *insmod;		/* the value given to insmod: noted before init, which sets it */
};

extern struct sbuf_probe_param sbuf_probe_param, sbuf_pair_param, sbuf_trigger_param;
extern const struct kernel_param_ops sbuf_probe_ops;

/* Return true if a probe is in the list that records */
static inline bool sbuf_probe_records(const struct stackbuf_probe *probe)
{
	u32 live = READ_ONCE(sbuf_probe_live);

	if (likely(READ_ONCE(probe->lists) & live))
		return true;
	/* The list may have changed between the two reads, and the probe be in both lists */
	do {
		live = READ_ONCE(sbuf_probe_live);
		smp_rmb();	/* P1: the probe's bit is set before its list is live */
		if (READ_ONCE(probe->lists) & live)
			return true;
		smp_rmb();	/* P1: its bit is cleared after another list is live */
	} while (READ_ONCE(sbuf_probe_live) != live);
	return false;
}

/* Return a probe's number in stackbuf_info.probe, counted from 1 across all pages */
u32 sbuf_probe_number(const struct stackbuf_probe *probe);

/* Copy the kernel's counts of missed hits into the probes' entries.  Any context */
void sbuf_probe_update_missed(void);

/*
 * Only on arm64: return the instruction that a kprobe of ours at @at has replaced, or 0.  The
 * caller has sbuf_probe_mutex, or preemption is off
 */
u32 sbuf_kprobe_replaced(const u32 *at);

/* A module notifier reports @state, MODULE_STATE_COMING etc., of @module.  Process context */
void sbuf_probe_module(const struct module *module, unsigned long state);

#else

static inline int sbuf_probe_init(void) { return 0; }
static inline void sbuf_probe_exit(void) { }
static inline void sbuf_probe_update_missed(void) { }
static inline u32 sbuf_kprobe_replaced(const u32 *at) { return 0; }
static inline void sbuf_probe_module(const struct module *module, unsigned long state) { }

#endif

#endif /* STACKBUF_PROBE_H */
