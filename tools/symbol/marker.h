/* SPDX-License-Identifier: GPL-2.0 */
/*
 * marker.h - what the text before a frame says of its address
 */
#ifndef MARKER_H
#define MARKER_H

#include "symbol/frame.h"

/**
 * struct marker - words before a frame
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

#endif
