/* SPDX-License-Identifier: GPL-2.0 */
/*
 * decode.h - source lines for text that holds stack traces
 */
#ifndef DECODE_H
#define DECODE_H

#include <stdio.h>
#include "symbol/srcline.h"

/* Reasons why kernels cannot be decoded that are reported; further ones are not */
#define DECODE_REPORTED_MAX	8

/**
 * struct decoder - what is known from the lines before
 * @srcline: where source lines come from
 * @compat: write what decode_stacktrace.sh would
 * @record: the text is a record of the text log, whose kernel is known
 * @time: when the record was made, ns since boot; 0 if unknown
 * @before: what the line before was, see decode.c
 * @frames: frames found
 * @sizeless: frames without a size, which are not decoded: as vfs_read+0x12
 * @decoded: frames with a source line
 * @left: frames of kernels that cannot be decoded
 * @reported: hashes of the reasons that standard error has given
 * @nr_reported: how many
 */
struct decoder {
	struct srcline *srcline;
	bool compat, record;
	u64 time;
	int before;
	u64 frames, sizeless, decoded, left;
	u32 reported[DECODE_REPORTED_MAX];
	unsigned int nr_reported;
};

/*
 * Copy one line, without its end, with source lines.  Frames that cannot be decoded are copied as
 * they are; if that is so for all of a kernel, the reason is reported once.
 */
void decode_line(struct decoder *d, const char *line, size_t len, FILE *out);

/* Copy all of a file as decode_line() does */
void decode_file(struct decoder *d, FILE *in, FILE *out);

#endif
