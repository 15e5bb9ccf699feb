/* SPDX-License-Identifier: GPL-2.0 */
/*
 * info.h - the state of the recorder: sizes, counters, probes, and the loads that were found
 */
#ifndef INFO_H
#define INFO_H

#include "output/output.h"

/* @source is the source's name, @set all pages found there, @instance all loads of the module */
void output_info(const struct output *o, const char *source, const struct page_set *set,
		 const struct instance *instance, size_t instances);

#endif
