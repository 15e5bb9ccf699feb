/* SPDX-License-Identifier: GPL-2.0 */
/*
 * hit.h - what the hit of a probe does: record an event, open or close an object, stop recording
 */
#ifndef STACKBUF_HIT_H
#define STACKBUF_HIT_H

#include "filter.h"
#include "pair.h"
#include "probe.h"
#include "save.h"

/* Return true if a hit of @probe is an event.  A close records none, unless it is by @here */
static inline bool sbuf_hit_is_event(const struct stackbuf_probe *probe)
{
	return probe->role != STACKBUF_PAIR_CLOSES || probe->value & SBUF_VALUE_HERE;
}

/* The argument that a probe has as its value, from the registers at a function's beginning, or 0 */
static inline unsigned long sbuf_hit_value(const struct stackbuf_probe *probe,
					   struct pt_regs *regs)
{
	unsigned int n = probe->value & SBUF_VALUE_ARGUMENT;

	return n ? regs_get_kernel_argument(regs, n - 1) : 0;
}

/* Do what a probe with a role does after its event; @id is what sbuf_save() returned, or 0 */
static inline void sbuf_hit_role(const struct stackbuf_probe *probe, unsigned long key,
				 unsigned long value, s64 id)
{
	if (probe->role == STACKBUF_TRIGGERS)
		sbuf_filter_trigger(sbuf_probe_number(probe));
	else if (probe->role == STACKBUF_PAIR_OPENS)
		sbuf_pair_open(probe, key, value, id);
	else
		sbuf_pair_close(probe, key, value, id);
}

/* All that a hit does.  To be inlined, as sbuf_save() */
static __always_inline void sbuf_hit(const struct stackbuf_probe *probe,
				     const struct sbuf_save *save, unsigned long value)
{
	s64 id = 0;

	if (likely(sbuf_hit_is_event(probe)))
		id = sbuf_save(save);
	if (unlikely(probe->role))
		sbuf_hit_role(probe, save->tag, value, id);
}

#endif /* STACKBUF_HIT_H */
