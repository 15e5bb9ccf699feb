/* SPDX-License-Identifier: GPL-2.0 */
/*
 * folded.h - stacks as text, "outermost;...;innermost count", of whatever program
 */
#ifndef FOLDED_H
#define FOLDED_H

#include "record/parse.h"

/* Is it a text file whose first line is such a stack, or "-", standard input? */
bool folded_is(const char *path);

/* Add up all stacks of these files.  Return 0, or -1 with a line in @error */
int folded_read(char *const *path, unsigned int paths, struct record *r, char *error, size_t size);

#endif
