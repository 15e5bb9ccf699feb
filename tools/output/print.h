/* SPDX-License-Identifier: GPL-2.0 */
/*
 * print.h - parts of the record as text or JSON, and why nothing is printed
 */
#ifndef PRINT_H
#define PRINT_H

#include "output/output.h"

/*
 * Print the state of the recorder: sizes, counters, probes.  @source is the source's name, @set all
 * pages found there, @instance all loads of the module.
 */
void output_info(const struct output *o, const char *source, const struct page_set *set,
		 const struct instance *instance, size_t instances);

/* Print the text log: records of stacks that the filter chooses, with source lines if wanted */
void output_text(struct output *o, const struct filter *f);

/* Print the deepest stack seen from each place, the deepest first, as text or JSON */
void output_depth(const struct output *o);

/*
 * Report in one line on standard error that no event is printed: how many were searched, from when
 * to when, and which filters exclude them.  @functions: the events of some functions were wanted.
 */
void output_no_event(struct output *o, bool functions);

/* The same if --stack chooses none of the @nr stacks of @where: "the record", "the text log" */
void output_no_stack(struct output *o, const char *where, size_t nr);

#endif
