/* SPDX-License-Identifier: GPL-2.0 */
/*
 * folded.h - stacks as text, "outermost;...;innermost count", from any program
 */
#ifndef FOLDED_H
#define FOLDED_H

#include "record/parse.h"

/*
 * Return true if the file is text that begins with such a stack, perhaps after comments, or can be
 * read only once, such as a pipe or "-", standard input.  With @empty also if it has only comments.
 */
bool folded_is(const char *path, bool empty);

/* Return true if it can be read only once */
bool folded_is_pipe(const char *path);

/* Describe a file that is almost folded stacks, or has traces: a sentence without "it", or NULL */
const char *folded_explain(int fd);

/* Sums of stacks */
struct folded {
	struct record *record;	/* has the stacks */
	void *tree;	/* the stacks by their text */
	u64 total;	/* sum of all events */
};

/* Add @count events to a stack; changes @text.  Return -1 if the sum of all exceeds 64 bits */
int folded_add(struct folded *f, char *text, u64 count);
void folded_end(struct folded *f);

/*
 * Add up all stacks of these files.  Other lines are reported and left out.  Ends the program if a
 * file cannot be read or has no stacks.
 */
void folded_read(char *const *path, unsigned int paths, struct record *r);

#endif
