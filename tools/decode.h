/* SPDX-License-Identifier: GPL-2.0 */
/*
 * decode.h - source lines for text that holds stack traces
 */
#ifndef DECODE_H
#define DECODE_H

#include <stdio.h>
#include "lines.h"

/**
 * struct decoder - what is known from the lines before
 * @lines: where source lines come from
 * @compat: write what decode_stacktrace.sh would
 * @record: the text is a record's, which has said already of which kernel it is, ...
 * @time: ... and when it was, ns since boot, 0 if unknown
 * @before: what the line before was, see decode.c
 * @frames: frames met
 * @decoded: of these, with a source line
 */
struct decoder {
	struct lines *lines;
	bool compat, record;
	u64 time;
	int before;
	u64 frames, decoded;
};

/*
 * One line, without its end.  Return 0, or -1 if nothing can be decoded; lines_error()
 * says why.
 */
int decode_line(struct decoder *d, const char *line, size_t len, FILE *out);

/* All of a file.  As decode_line() */
int decode_file(struct decoder *d, FILE *in, FILE *out);

#endif
