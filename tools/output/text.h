/* SPDX-License-Identifier: GPL-2.0 */
/*
 * text.h - the text log
 */
#ifndef TEXT_H
#define TEXT_H

#include "output/output.h"

/* Print the records of the stacks that the filter chooses, with source lines if wanted */
void output_text(struct output *o, const struct filter *f);

#endif
