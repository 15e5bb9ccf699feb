/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pprof.h - a profile as pprof, Parca, Pyroscope and speedscope read it
 */
#ifndef PPROF_H
#define PPROF_H

#include "output/output.h"

/*
 * Write the profile of @event; with NULL that of all events since loading, of which those that the
 * ring no longer holds have the label event=overwritten and no others.  Return 0, or -1 if it
 * cannot be written.
 */
int pprof_write(const struct output *o, const struct filter *f, const struct stackbuf_event *event,
		size_t nr);

/*
 * The same of totals, each with its labels; without a label they count as overwritten.  They were
 * recorded from @from to @to, ns since boot; 0: unknown.
 */
int pprof_write_totals(const struct output *o, const struct stack_total *total, size_t nr,
		       u64 from, u64 to);

/*
 * The difference of two records as "pprof -diff_base" makes it: the events of @before are negative
 * and have the label pprof::base=true.
 */
int pprof_write_diff(const struct output *before, const struct output *after);

#endif
