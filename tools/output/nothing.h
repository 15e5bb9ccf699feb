/* SPDX-License-Identifier: GPL-2.0 */
/*
 * nothing.h - why there is nothing to print
 */
#ifndef NOTHING_H
#define NOTHING_H

#include "output/output.h"

/*
 * Report in one line on standard error that no event is printed: how many were searched, from when
 * to when, and which filters exclude them.  @functions: the events of some functions were wanted.
 */
void output_no_event(struct output *o, const struct filter *f, bool functions);

/* The same if --stack chooses none of the @nr stacks of @where: "the record", "the text log" */
void output_no_stack(struct output *o, const char *where, size_t nr);

#endif
