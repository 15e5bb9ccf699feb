/* SPDX-License-Identifier: GPL-2.0 */
/*
 * frame.h - one frame of a trace, as the kernel prints it
 */
#ifndef FRAME_H
#define FRAME_H

#include <string.h>
#include "util.h"

/* In place of the frames that a stack had beyond those that were recorded */
#define FRAMES_CUT	"(more frames were not kept)"

/* Meaning of an address in a trace */
enum frame_kind {
	/* A return address: the call before it may be in another line or even another function */
	FRAME_RETURN,
	FRAME_EXACT,	/* the instruction itself, from registers or a probe */
	FRAME_OPEN,	/* either: a return address if a call precedes it */
};

/* One frame, "name+0xoffset/0xsize [module build-id]", or an address */
struct frame {
	char *text;	/* the whole frame, as shown; allocated, the pointers below refer to it */
	const char *name;	/* function; not terminated */
	size_t name_len;	/* bytes in @name; 0 if only @addr is known */
	u64 offset;	/* distance from the function's start */
	u64 size;	/* the function's size as the kernel sees it: up to the next symbol */
	const char *module;	/* not terminated */
	size_t module_len;	/* bytes in @module, 0 for the kernel itself */
	const char *build_id;	/* hexadecimal digits, not terminated */
	size_t build_id_len;	/* bytes in @build_id, 0 if unknown */
	bool sizeless;	/* @size is unknown */
	bool decimal;	/* @offset was decimal */
	u64 addr;	/* address in the running kernel, 0 if unknown */
	u64 time;	/* when its stack was recorded, ns since boot; 0 if unknown */
};

/*
 * Parse "name+0xoffset/0xsize", with or without " [module]" or " [module build-id]" after it.  With
 * @sizeless also "name+0xoffset", or "name+18" in decimal, if nothing follows the number; a shared
 * library's name is not accepted.  @f refers to @text.  Return the length of the frame, or 0 if
 * @text does not begin with one.
 */
size_t frame_parse(struct frame *f, const char *text, size_t len, bool sizeless);

/*
 * Whether an exception or interrupt enters the kernel in a function.  FRAME_ENTRY_OR_C: in some
 * kernels; in others a stub calls it, as common_interrupt() since 5.8, and el1_dbg() of arm64
 */
enum frame_entry { FRAME_NO_ENTRY, FRAME_ENTRY, FRAME_ENTRY_OR_C };

enum frame_entry frame_entry(const char *name, size_t len);

/* Return true if a frame was interrupted, so that its address is exact; the next inner is @entry */
bool frame_was_interrupted(enum frame_entry entry, const char *name, size_t len);

/* Return true if the frame is the outermost of its trace */
bool frame_is_outermost(const char *name, size_t len);

/* Hash of function and offset */
u64 frame_place(const struct frame *f);

/*
 * Parse @text, a frame as the kernel prints it, or an address.  The frame takes ownership of @text.
 * If it is @given by folded text, all of it is the function's name.
 */
struct frame frame_take(char *text, u64 addr, bool given);

/* Prints @before, the function, and the module in brackets */
#define FRAME_SHORT		"%.*s%s%.*s%s"
#define FRAME_IN_SHORT(f, before)	(int)((f)->name_len ?: strlen((f)->text)),		\
	(f)->name_len ? (f)->name : (f)->text, (f)->module_len ? (before) : "",			\
	(int)(f)->module_len, (f)->module, (f)->module_len ? "]" : ""
#define FRAME_FOLDED		"_["
#define FRAME_FOR_PEOPLE	" ["

#endif
