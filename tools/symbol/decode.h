/* SPDX-License-Identifier: GPL-2.0 */
/*
 * decode.h - source lines for text that holds stack traces
 */
#ifndef DECODE_H
#define DECODE_H

#include <stdio.h>
#include "symbol/srcline.h"
#include "symbol/trace.h"

/* Reasons why kernels cannot be decoded that are reported; further ones are not */
#define DECODE_REPORTED_MAX	8

/**
 * struct decoder - what is known from the lines before
 * @srcline: where source lines come from
 * @compat: write what decode_stacktrace.sh would
 * @record: the text is a record of the text log, whose kernel is known
 * @time: when the record was made, ns since boot; 0 if unknown
 * @traces: those that the lines are of.  With its @ended nothing is decoded: they are folded
 * @last_register: frame_place() that the last "RIP:" named
 * @begins: frame_place() that the next trace may begin with
 * @last_line: hash of the line before, if it had a frame
 * @last_kind: of its first frame
 * @frames: frames found
 * @sizeless: frames without a size, as vfs_read+0x12, that are not decoded: no function has this
 *	name, or several have
 * @lined: frames that have their line in the text
 * @decoded: frames with a source line
 * @left: frames of kernels that cannot be decoded
 * @reported: hashes of the reasons that standard error has given
 * @nr_reported: how many
 */
struct decoder {
	struct srcline *srcline;
	bool compat, record;
	u64 time;
	struct traces traces;
	u64 last_register, begins;
	u32 last_line;
	enum frame_kind last_kind;
	u64 frames, sizeless, lined, decoded, left;
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

/* --------------------------------------------------------------- learn.c --- */

/* Take from a line, if it says so, which kernel the lines that follow are of */
void learn_kernel(struct srcline *l, const char *line, size_t len);

/* -------------------------------------------------------------- marker.c --- */

/**
 * struct marker - words before a frame that say what its address is
 * @at: where they begin; NULL if there are none
 * @kind: what they make of its address
 * @registers: they are of registers: the place is where the machine was
 * @begins: the trace that is printed with these registers begins with this place
 */
struct marker {
	const char *at;
	enum frame_kind kind;
	bool registers, begins;
};

/* The marker that leads to a frame; @before is the line up to it, @after what follows it */
struct marker marker_find(const char *before, size_t len, const char *after, size_t after_len);

/*
 * The line "Use-after-free read at 0x... (in kfence-#52):" before its trace.  Return where it
 * begins in @line, or NULL.
 */
const char *marker_fault_line(const char *line, size_t len);

/* ------------------------------------------------- shared with compat.c --- */

/* The next frame with a size in a line; return its length and where it begins in @f->name, or 0 */
size_t decode_next_frame(struct frame *f, const char *line, size_t len);

/* Length of "(P)" etc., letters for where arm64 found an address; 0 if there are none */
size_t decode_mark(const char *text, size_t len);

/* No frame of this kernel can be decoded: report why, once */
void decode_leave(struct decoder *d);

/* One line as decode_stacktrace.sh writes it */
void compat_line(struct decoder *d, const char *line, size_t len, FILE *out);

#endif
