/* SPDX-License-Identifier: GPL-2.0 */
/*
 * decode.h - source lines for text that contains stack traces
 */
#ifndef DECODE_H
#define DECODE_H

#include <stdio.h>
#include "symbol/srcline.h"

/* --------------------------------------------------------------- trace.c --- */

/* Limits of concurrent traces, and of a shape's length: no log exceeds them */
#define TRACES_MAX	64
#define TRACE_SHAPE	256

/* The shape of a line's beginning */
struct line_start {
	char text[TRACE_SHAPE];	/* without the parts that differ between lines of a trace */
	size_t len;
};

/* A trace that may continue */
struct trace {
	struct line_start shape;	/* of the text before its frames */
	u64 used;	/* number of its last line */
	bool sized;	/* its frames have sizes */
	u64 frames;	/* frames so far, without guesses; 0: the next one is its first */
	enum frame_entry entry;	/* of the last frame */
	bool whole;	/* its outermost frame was found: the next frame is of another trace */
	bool doubt;	/* it may belong to another trace, whose last frame is an entry */
	bool registers;	/* its report has registers: more without a line "CPU:" repeat them */
	unsigned int paused;	/* how many lines, of registers, may precede its next frame */
	char *folded;	/* its frames as folded text, outermost first, if kept */
};

/* All traces that may continue */
struct traces {
	struct trace trace[TRACES_MAX];
	u64 lines;	/* lines so far */
	struct line_start other;	/* of the last line without a frame */
	bool place;	/* that line leads to a frame of no trace, as "Preemption disabled at:" */
	/* Called with @arg and each finished trace with @folded */
	void (*ended)(void *arg, const struct trace *t);
	/* Called with @arg and each line that ends traces, after @ended */
	void (*line)(void *arg, const char *line, size_t len);
	void *arg;
};

/* Length of an escape here, as of a terminal's colour or in a JSON string, else 0 */
size_t text_escape(const char *text, size_t len);

/* Length of the end of a log line within a line of the file, else 0 */
size_t text_newline(const char *text, size_t len);

/* The shape of the text before a frame; in a line of JSON, of the string with the frame */
void traces_line_start(struct line_start *s, const char *before, size_t len);

/* The trace with this shape before its frames, or NULL */
struct trace *traces_known(struct traces *t, const struct line_start *before);

/* Find the trace of a line by the shape before its frame, or begin one */
struct trace *traces_find(struct traces *t, const struct line_start *before);

/* End this trace */
void traces_end_one(struct traces *t, struct trace *one);

/*
 * Return true if words of a sentence lead to the frame, as "BUG: KASAN: use-after-free in".  A
 * log's prefix may end in a word, too, but then the previous line has it as well.
 */
bool traces_sentence(const struct traces *t, const struct line_start *before);

/* Return true if the previous line marks this frame as a place outside any trace */
bool traces_place(struct traces *t, const struct line_start *before);

/*
 * End the traces that a line could belong to, except @but: a line without a frame, or with one
 * within other text.  In lines of JSON they are in strings: ignore text before a quotation mark.
 */
void traces_end(struct traces *t, const char *line, size_t len, const struct trace *but);

/* Pass to @line a line that may have ended traces */
void traces_line(struct traces *t, const char *line, size_t len);

/* Process a line without a frame */
void traces_other(struct traces *t, const char *line, size_t len);

/* End all traces */
void traces_close(struct traces *t);

/* -------------------------------------------------------------- decode.c --- */

/* Limit of reported reasons why kernels cannot be decoded */
#define DECODE_REPORTED_MAX	8

/* State from the previous lines */
struct decoder {
	struct srcline *srcline;	/* finds source lines */
	bool record;	/* the text is a record of the text log, whose kernel is known */
	u64 time;	/* time of the record, ns since boot; 0 if unknown */
	/* Traces of the lines.  If its @ended is set, frames are folded, not decoded */
	struct traces traces;
	u64 last_register;	/* frame_place() of the last "RIP:" */
	u64 begins;	/* frame_place() that the next trace may begin with */
	u32 last_line;	/* hash of the previous line; 0: there is none */
	bool again;	/* it repeats the line before it */
	bool pairs;	/* the line before that was printed twice, or there is none */
	enum frame_kind last_kind;	/* of that line's first frame */
	u64 frames;	/* frames found */
	/*
	 * Frames without a size, as vfs_read+0x12, that are not decoded because no function, or
	 * more than one, has this name
	 */
	u64 sizeless;
	u64 lined;	/* frames with their line already in the text */
	u64 decoded;	/* frames with a source line */
	u64 left;	/* frames of kernels that cannot be decoded */
	bool sized;	/* a frame had a size: a frame without one at a line's end may be cut */
	bool was_cut;	/* the previous line had a cut frame */
	bool question;	/* the previous line ends in the "?" of a guess */
	u64 cut;	/* frames cut or broken over two lines */
	/* First frames of traces with @doubt, decoded as return addresses */
	u64 doubtful;
	u64 beyond;	/* frames of traces that are too long to fold */
	u64 number;	/* at the beginning of the previous line */
	unsigned int numbered;	/* lines whose number followed the previous line's */
	bool numbers;	/* lines are numbered: enough had such numbers */
	u64 beside;	/* frames within other text, outside traces */
	u64 json;	/* lines of JSON, when stacks are wanted */
	/* Hashes of the reasons reported so far */
	u32 reported[DECODE_REPORTED_MAX];
	unsigned int nr_reported;
};

/*
 * Copy one line, without its end, and add source lines.  Frames that cannot be decoded are copied
 * as they are; if no frame of a kernel can be, the reason is reported once.
 */
void decode_line(struct decoder *d, const char *line, size_t len, FILE *out);

/* Call decode_line() for all of a file */
void decode_file(struct decoder *d, FILE *in, FILE *out);

/* ---------------------------------------------------------- log_kernel.c --- */

/* If a line identifies the kernel of the lines that follow, use that */
void learn_kernel(struct srcline *l, const char *line, size_t len);

/* -------------------------------------------------------------- marker.c --- */

/* Words before a frame that describe its address */
struct marker {
	const char *at;	/* their beginning; NULL if there are none */
	enum frame_kind kind;	/* kind of the address */
	bool registers;	/* they are of registers: the machine was executing there */
	bool begins;	/* the trace printed with these registers begins there */
	bool whole;	/* no trace follows: an idle CPU */
	const char *place;	/* its line, as "fs/x.c:12", if the text names it; not terminated */
	size_t place_len;
};

/* The marker that leads to a frame; @before is the line up to it, @after the rest */
struct marker marker_find(const char *before, size_t len, const char *after, size_t after_len);

#endif
