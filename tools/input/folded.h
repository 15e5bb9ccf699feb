/* SPDX-License-Identifier: GPL-2.0 */
/*
 * folded.h - stacks as text, "outermost;...;innermost count", of whatever program
 */
#ifndef FOLDED_H
#define FOLDED_H

#include "record/parse.h"

/*
 * Is it text that begins with such a stack, perhaps after comments, or what can be read only once,
 * as a pipe or "-", standard input?
 */
bool folded_is(const char *path);

/**
 * struct folded - stacks that are added up
 * @record: where they are
 * @tree: by their text
 * @total: events of all
 * @lines: stacks read
 * @differences: of these, how many had two counts
 * @left_out: lines that are none
 * @error: one line that says what went wrong
 */
struct folded {
	struct record *record;
	void *tree;
	u64 total, lines, differences, left_out;
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
