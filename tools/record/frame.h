/* SPDX-License-Identifier: GPL-2.0 */
/*
 * frame.h - one frame of a trace, as the kernel prints it
 */
#ifndef FRAME_H
#define FRAME_H

#include <string.h>
#include "util.h"

/* What an address in a trace is */
enum frame_kind {
	/* A return address: the call before it may be in another line or even another function */
	FRAME_RETURN,
	FRAME_EXACT,	/* the place itself, from registers or a probe */
	FRAME_OPEN,	/* one of the two: a return address if there is a call right before it */
};

/* One frame, "name+0xoffset/0xsize [module build-id]", or an address */
struct frame {
	char *text;	/* all of it, of a stack; it is shown so, and the rest points into it */
	const char *name;	/* function; not terminated */
	size_t name_len;	/* bytes of it; 0 if only @addr is known */
	u64 offset;	/* distance from the function's start */
	u64 size;	/* the function's size as the kernel sees it: up to the next symbol */
	const char *module;	/* not terminated */
	size_t module_len;	/* bytes of it, 0 for the kernel itself */
	const char *build_id;	/* hexadecimal digits, not terminated */
	size_t build_id_len;	/* how many, 0 if unknown */
	bool sizeless;	/* @size is unknown */
	bool decimal;	/* @offset was in decimal digits */
	u64 addr;	/* address in the running kernel, 0 if unknown */
	u64 time;	/* when its stack was recorded, ns since boot; 0 if unknown */
};

/*
 * Parse "name+0xoffset/0xsize", with or without " [module]" or " [module build-id]" after it.
 * With @sizeless also "name+0xoffset", or "name+18" in decimal digits, with nothing more to the
 * number; not for a shared library's name.  @f then refers to @text.  Return the length of the
 * frame, 0 if @text does not begin with one.
 */
size_t frame_parse(struct frame *f, const char *text, size_t len, bool sizeless);

/* Does an exception or interrupt enter the kernel here, so that the caller's frame is exact? */
bool frame_is_entry(const char *name, size_t len);

/* Is it the outermost frame of its trace? */
bool frame_is_outermost(const char *name, size_t len);

/* Is it what common_interrupt() is called by since 5.8, when that ceased to be an entry? */
bool frame_is_stub(const char *name, size_t len);

/* Function and offset, hashed */
u64 frame_place(const struct frame *f);

/*
 * Take @text, which a stack owns from then on: a frame as the kernel prints it, or an address.  If
 * it is @given by folded text, all of it is the function's name.
 */
struct frame frame_take(char *text, u64 addr, bool given);

/* What printf() shows a frame by: its function, and its module in brackets, after @before */
#define FRAME_SHORT		"%.*s%s%.*s%s"
#define FRAME_IN_SHORT(f, before)	(int)((f)->name_len ?: strlen((f)->text)),		\
	(f)->name_len ? (f)->name : (f)->text, (f)->module_len ? (before) : "",			\
	(int)(f)->module_len, (f)->module, (f)->module_len ? "]" : ""
#define FRAME_FOLDED		"_["
#define FRAME_FOR_PEOPLE	" ["

#endif
