/* SPDX-License-Identifier: GPL-2.0 */
/*
 * lines.h - source lines of frames, from the debug information of the kernel and
 * its modules
 *
 * Files are opened when a frame needs them, and of their debug information only
 * the compilation units that hold a frame are read.
 */
#ifndef LINES_H
#define LINES_H

#include "record/parse.h"

/*
 * What an address in a trace is.  A return address belongs to the call before
 * it, which may be of another line, even of another function; an exact one
 * (where registers stood, or a probe) is itself the place.
 */
enum frame_kind {
	FRAME_RETURN,
	FRAME_EXACT,
	FRAME_OPEN,	/* either: a return address if there is a call right before it */
};

/**
 * struct frame - one frame, as "name+0xoffset/0xsize [module build-id]" or as an address
 * @name: function; not terminated
 * @name_len: bytes of it; 0 if only @addr is known
 * @offset: distance from the function's start
 * @size: the function's size as the kernel sees it: up to the next symbol
 * @module: not terminated
 * @module_len: bytes of it, 0 for the kernel itself
 * @build_id: hexadecimal digits, not terminated
 * @build_id_len: how many, 0 if unknown
 * @addr: address in the running kernel, 0 if unknown
 * @time: when it was met, ns since boot, 0 if unknown
 */
struct frame {
	const char *name;
	size_t name_len;
	u64 offset, size;
	const char *module;
	size_t module_len;
	const char *build_id;
	size_t build_id_len;
	u64 addr, time;
};

/**
 * struct srcline_config - where to look for files, and what they must be of
 * @vmlinux: file, or NULL: that of @release in the usual places
 * @modules: directory, or NULL: beside @vmlinux and in those of @release
 * @release: uname -r, or NULL: the running kernel's if @vmlinux is NULL, too
 * @version: uname -v, or NULL if unknown
 * @srcversion: of stackbuf.ko, or NULL if unknown
 * @ids: build ids of what ran, or NULL
 * @base_symbol: a function of the kernel, or NULL, ...
 * @base_addr: ... and where it was, for frames without names
 * @force: take files also if they are of another build, which standard error then says
 */
struct srcline_config {
	const char *vmlinux, *modules, *release, *version, *srcversion, *base_symbol;
	const struct build_ids *ids;
	u64 base_addr;
	bool force;
};

struct build_ids;
struct srcline;

struct srcline *srcline_open(const struct srcline_config *where);
void srcline_close(struct srcline *l);

/* Find the kernel's image now, not when a frame needs it.  Return 0, or -1: srcline_error() */
int srcline_ready(struct srcline *l);

/*
 * What goes on from here is of this kernel: its release, and "Linux version ..." as
 * it prints it when it boots, or NULL, and its build id in hexadecimal digits, or NULL.
 * The next srcline_frame() holds that against files.
 */
void srcline_set_kernel(struct srcline *l, const char *release, const char *banner, const char *id);

/*
 * What to print behind a frame, " (file:line)" or, with inlined functions, " inner
 * (file:line) (inlined by) outer (file:line)"; NULL where nothing is known.  It
 * stays until the next srcline_set_kernel() or srcline_close().  Return 0, or -1 if no frame of
 * this kernel can be decoded: srcline_error() then says why in one line.
 */
int srcline_frame(struct srcline *l, const struct frame *f, enum frame_kind kind, const char **text);

/* The kernel's function at an address, "" if unknown or if no frame was decoded before */
const char *srcline_function(const struct srcline *l, u64 addr);

/*
 * As decode_stacktrace.sh would: what stands between the parentheses, or NULL if
 * it leaves the frame as it is.
 */
int srcline_compat(struct srcline *l, const struct frame *f, const char **text);

const char *srcline_error(const struct srcline *l);

/*
 * Frames that stay without a line, and why: each reason once, on standard error.  True
 * if so many of them do not fit the files that the rest is not to be believed either.
 */
bool srcline_report_missing(const struct srcline *l);

/* Does an exception or interrupt enter the kernel here, so that the caller's frame is exact? */
bool frame_is_entry(const char *name, size_t len);

/* "name+0xoffset/0xsize", perhaps with " [module]" or " [module build-id]".  Its length or 0 */
size_t frame_parse(struct frame *f, const char *text, size_t len);

#endif
