/* SPDX-License-Identifier: GPL-2.0 */
/*
 * folded.h - stacks as text, "outermost;...;innermost count", of whatever program
 */
#ifndef FOLDED_H
#define FOLDED_H

#include "record/parse.h"

/*
 * Is it text that begins with such a stack, perhaps after comments, or what can be read only once,
 * as a pipe or "-", standard input?  @empty: text without a stack is, too, if all is comments.
 */
bool folded_is(const char *path, bool empty);

/* What a file is that is almost folded stacks, or holds traces: a sentence without "it", or NULL */
const char *folded_explain(int fd);

/* Stacks that are added up */
struct folded {
	struct record *record;	/* where they are */
	void *tree;	/* by their text */
	u64 total;	/* events of all */
};

/* Add @count events of a stack; @text is changed.  Return -1 if the total of all exceeds 64 bits */
int folded_add(struct folded *f, char *text, u64 count);
void folded_end(struct folded *f);

/*
 * Add up all stacks of these files.  Lines that are none are reported and left out.  Ends the
 * program if a file cannot be read or holds none.
 */
void folded_read(char *const *path, unsigned int paths, struct record *r);

#endif
