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

/* Stacks that are added up */
struct folded {
	struct record *record;	/* where they are */
	void *tree;	/* by their text */
	u64 total;	/* events of all */
	u64 lines;	/* stacks read */
	u64 differences;	/* of these, how many had two counts */
	u64 left_out;	/* lines that are none */
	char error[512];
};

/* Add @count events of a stack; @text is changed.  Return -1 if the total of all exceeds 64 bits */
int folded_add(struct folded *f, char *text, u64 count);
void folded_end(struct folded *f);

/*
 * Add up all stacks of these files.  Lines that are none are reported and left out.  Return 0, or
 * -1 with a line in @error.
 */
int folded_read(char *const *path, unsigned int paths, struct record *r, char *error, size_t size);

#endif
