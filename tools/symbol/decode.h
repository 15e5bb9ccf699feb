/* SPDX-License-Identifier: GPL-2.0 */
/*
 * decode.h - source lines for text that holds stack traces
 */
#ifndef DECODE_H
#define DECODE_H

#include <stdio.h>
#include "symbol/srcline.h"

/* Kernels that cannot be decoded, told one by one; more are not told */
#define DECODE_REPORTED_MAX	8

/**
 * struct decoder - what is known from the lines before
 * @srcline: where source lines come from
 * @compat: write what decode_stacktrace.sh would
 * @record: the text is a record's, which has said already of which kernel it is, ...
 * @time: ... and when it was, ns since boot, 0 if unknown
 * @before: what the line before was, see decode.c
 * @frames: frames met
 * @decoded: of these, with a source line
 * @left: of these, of kernels that cannot be decoded, ...
 * @reported: hashes of the reasons that standard error has given
 * @nr_reported: how many
 */
struct decoder {
	struct srcline *srcline;
	bool compat, record;
	u64 time;
	int before;
	u64 frames, decoded, left;
	u32 reported[DECODE_REPORTED_MAX];
	unsigned int nr_reported;
};

/*
 * One line, without its end.  What cannot be decoded is copied as it is; if that is
 * as nothing of its kernel can, standard error says why, once.
 */
void decode_line(struct decoder *d, const char *line, size_t len, FILE *out);

/* All of a file.  As decode_line() */
void decode_file(struct decoder *d, FILE *in, FILE *out);

#endif
