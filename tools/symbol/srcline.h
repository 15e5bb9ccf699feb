/* SPDX-License-Identifier: GPL-2.0 */
/*
 * srcline.h - source lines of frames, from the debug information of the kernel and
 * its modules
 *
 * Files are opened when a frame needs them, and of their debug information only
 * the compilation units that hold a frame are read.
 */
#ifndef SRCLINE_H
#define SRCLINE_H

#include "symbol/find_debug.h"
#include "symbol/frame.h"

struct srcline;

struct srcline *srcline_open(const struct debug_config *config);
void srcline_close(struct srcline *l);

/* Find the kernel's image now, not when a frame needs it.  Return 0, or -1: srcline_error() */
int srcline_ready(struct srcline *l);

/*
 * The frames that follow are of this kernel: its release; the line "Linux version ..." that it
 * prints when it boots, or NULL; its build id in hexadecimal digits, or NULL.  The next
 * srcline_frame() compares that with the files.
 */
void srcline_set_kernel(struct srcline *l, const char *release, const char *banner, const char *id);

/*
 * Set *@text to what is printed after a frame: " (file:line)" or, with inlined functions, " inner
 * (file:line) (inlined by) outer (file:line)".  NULL where nothing is known.  The text stays until
 * the next srcline_set_kernel() or srcline_close().  Return 0, or -1 if no frame of this kernel can
 * be decoded: srcline_error() then has the reason in one line.
 */
int srcline_frame(struct srcline *l, const struct frame *f, enum frame_kind kind,
		  const char **text);

/*
 * How many functions a frame without a size may be of: those of its name that are long enough;
 * -1 if no frame of this kernel can be decoded: srcline_error()
 */
int srcline_named(struct srcline *l, const struct frame *f);

/* Set *@offset to the offset of KASLR by the kernel's image.  Return 0, or -1: srcline_error() */
int srcline_kernel_offset(struct srcline *l, u64 *offset);

/* The kernel's function at an address, "" if unknown or if no frame was decoded before */
const char *srcline_function(const struct srcline *l, u64 addr);

const char *srcline_error(const struct srcline *l);

/*
 * Report on standard error why frames have no line, each reason once.  Return true if more
 * frames do not fit the files than were decoded: then the files are of another build.
 */
bool srcline_report_missing(const struct srcline *l);

#endif
