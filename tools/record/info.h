/* SPDX-License-Identifier: GPL-2.0 */
/*
 * info.h - stackbuf_info: sizes, counters, probes, deepest stacks
 */
#ifndef RECORD_INFO_H
#define RECORD_INFO_H

#include "record/parse.h"

/* Why hits are missed, for messages that say how many were */
#define WHY_MISSED	"a function that a save itself calls is not recorded there, and the kernel " \
			"runs no kprobe inside another one's handler"

/* Probe @i of STACKBUF_PROBES_MAX, its name printable.  Return false if there is none */
bool record_probe(const struct record *r, unsigned int i, struct stackbuf_probe *probe);

/* Iterate: for (i = 0; probe_next(r, &i, &probe); ) */
bool probe_next(const struct record *r, unsigned int *i, struct stackbuf_probe *probe);

/* Hits that probes missed since the module was loaded */
u64 probes_missed(const struct record *r);

/*
 * Did the module that made the record keep probes, or deepest stacks?  A build may leave them out.
 * True, too, if the record lacks the page of stackbuf_info.
 */
bool info_has_probes(const struct stackbuf_info *info);
bool info_has_depths(const struct stackbuf_info *info);

/* Are the sizes in a copy of the first page possible? */
bool info_sane(const struct stackbuf_info *info);

/* Is @a the later of two copies of the first page? */
bool info_later(const struct stackbuf_info *a, const struct stackbuf_info *b);

/*
 * Of two copies of a page leave what is whole, as the words of a copy may be of different times.
 * What differs is not open: it was closed, or is as if opened a moment later.  A deepest stack that
 * differs counts as half-written.
 */
void info_drop_torn(void *page, const void *again);

/* Take a page of stackbuf_info into the record, unless it is an older copy; the first page first */
void record_parse_info(struct record *r, const struct found_page *page);

#endif
