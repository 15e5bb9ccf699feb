/* SPDX-License-Identifier: GPL-2.0 */
/*
 * no_match.h - why nothing matches
 */
#ifndef NO_MATCH_H
#define NO_MATCH_H

#include "output/output.h"

/*
 * Report in one line on standard error that no event is printed: how many were searched, from when
 * to when, and which filters exclude them.  @functions: the events of some functions were wanted.
 */
void output_no_event(struct output *o, bool functions);

/* The same if --stack chooses none of the @nr stacks of @where: "the record", "the text log" */
void output_no_stack(struct output *o, const char *where, size_t nr);

#endif
