/* SPDX-License-Identifier: GPL-2.0 */
/*
 * metrics.h - the record's counters as Prometheus reads them
 */
#ifndef METRICS_H
#define METRICS_H

#include "output/output.h"

/*
 * Write the counters, and those of the @o->top largest stacks, in Prometheus's text format into
 * @o->file.  What @before, the text of an earlier call, has of the same load of the module is a
 * lower bound for each counter of events; NULL: there is none.
 */
void metrics_write(const struct output *o, const char *before);

/* The text that the file @name has, to be freed; NULL if it has none */
char *metrics_read(const char *name);

#endif
