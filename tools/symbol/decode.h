/* SPDX-License-Identifier: GPL-2.0 */
/*
 * decode.h - source lines for text that holds stack traces
 */
#ifndef DECODE_H
#define DECODE_H

#include <stdio.h>
#include "symbol/srcline.h"

/* --------------------------------------------------------------- trace.c --- */

/* Traces that are printed at once; shapes longer than that are of no log */
#define TRACES_MAX	64
#define TRACE_SHAPE	256

/* What a line begins with */
struct line_start {
	char text[TRACE_SHAPE];	/* without what differs between lines of a trace */
	size_t len;
};

/* A trace that may go on */
struct trace {
	struct line_start shape;	/* of what stands before its frames */
	u64 used;	/* when it had its last line */
	bool sized;	/* its frames have sizes */
	u64 frames;	/* frames so far, guesses left out; 0: the next one is its first */
	bool entry;	/* the last of these is an entry for exceptions or interrupts */
	bool irq;	/* that one is common_interrupt() */
	bool whole;	/* its outermost frame was there: what follows is another trace */
	bool doubt;	/* it may be of another, whose last frame is an entry */
	bool registers;	/* of a report: those that follow without a line "CPU:" are the same */
	unsigned int paused;	/* so many lines may follow before its next frame: of registers */
	char *folded;	/* its frames as folded text, outermost first, if that is kept */
};

/* Those that may go on */
struct traces {
	struct trace trace[TRACES_MAX];
	u64 lines;	/* lines so far */
	struct line_start other;	/* of the last line without a frame */
	bool place;	/* that leads to a frame of no trace, as "Preemption disabled at:" */
	/* Is given each trace with @folded that has ended, and @arg */
	void (*ended)(void *arg, const struct trace *t);
	/* Is given @arg and each line that ends traces, after those */
	void (*line)(void *arg, const char *line, size_t len);
	void *arg;
};

/* Length of an escape that begins here, as of a terminal's colour or in a JSON string, else 0 */
size_t text_escape(const char *text, size_t len);

/* Length of what ends a line of the log within a line of the file, else 0 */
size_t text_newline(const char *text, size_t len);

/* The shape of what stands before a frame; in a line of JSON, of the string that it is in */
void traces_line_start(struct line_start *s, const char *before, size_t len);

/* The trace that has this before its frames, or NULL */
struct trace *traces_known(struct traces *t, const struct line_start *before);

/* The trace of a line, by what stands before its frame */
struct trace *traces_find(struct traces *t, const struct line_start *before);

/* It ends here */
void traces_end_one(struct traces *t, struct trace *one);

/*
 * Do words of a sentence lead to the frame, as "BUG: KASAN: use-after-free in"?  A log's prefix may
 * end in a word, too: then a line before has it.
 */
bool traces_sentence(const struct traces *t, const struct line_start *before);

/* Does the line before say that this frame is a place, and of no trace? */
bool traces_place(struct traces *t, const struct line_start *before);

/*
 * A line without a frame, or with one within other text, ends the traces that it could be of.
 * Lines of JSON have them in strings: what stands before a string's quotation mark is ignored.
 */
void traces_end(struct traces *t, const char *line, size_t len, const struct trace *but);

/* Tell @line of a line that may have ended traces */
void traces_line(struct traces *t, const char *line, size_t len);

/* All that for a line without a frame */
void traces_other(struct traces *t, const char *line, size_t len);

/* All end */
void traces_close(struct traces *t);

/* -------------------------------------------------------------- decode.c --- */

/* Reasons why kernels cannot be decoded that are reported; further ones are not */
#define DECODE_REPORTED_MAX	8

/* What is known from the lines before */
struct decoder {
	struct srcline *srcline;	/* where source lines come from */
	bool record;	/* the text is a record of the text log, whose kernel is known */
	u64 time;	/* when the record was made, ns since boot; 0 if unknown */
	/* Those that the lines are of.  With its @ended nothing is decoded: they are folded */
	struct traces traces;
	u64 last_register;	/* frame_place() that the last "RIP:" named */
	u64 begins;	/* frame_place() that the next trace may begin with */
	u32 last_line;	/* hash of the line before; 0: there is none */
	bool again;	/* it repeats the one before it */
	bool pairs;	/* the line before it was printed twice, or there is none */
	enum frame_kind last_kind;	/* of its first frame */
	u64 frames;	/* frames found */
	/*
	 * Frames without a size, as vfs_read+0x12, that are not decoded: no function has this
	 * name, or several have
	 */
	u64 sizeless;
	u64 lined;	/* frames that have their line in the text */
	u64 decoded;	/* frames with a source line */
	u64 left;	/* frames of kernels that cannot be decoded */
	bool sized;	/* a frame had its size: one that ends its line without it may be cut */
	bool was_cut;	/* in the line before */
	bool question;	/* the line before ends in the "?" of a guess */
	u64 cut;	/* frames that are cut, or broken over two lines */
	/* First frames of traces with @doubt, whose lines are those of return addresses */
	u64 doubtful;
	u64 beyond;	/* frames of traces that are too long to be folded */
	u64 number;	/* that the line before begins with */
	unsigned int numbered;	/* lines that had the number after that of the line before them */
	bool numbers;	/* so many had that these are numbers of lines */
	u64 beside;	/* frames that share a line with others, and are of no trace */
	/* Hashes of the reasons that standard error has given */
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

/* ---------------------------------------------------------- log_kernel.c --- */

/* Take from a line, if it says so, which kernel the lines that follow are of */
void learn_kernel(struct srcline *l, const char *line, size_t len);

/* -------------------------------------------------------------- marker.c --- */

/* Words before a frame that say what its address is */
struct marker {
	const char *at;	/* where they begin; NULL if there are none */
	enum frame_kind kind;	/* what they make of its address */
	bool registers;	/* they are of registers: the place is where the machine was */
	bool begins;	/* the trace that is printed with these registers begins with this place */
	bool whole;	/* no more is printed of it: a CPU that is idle */
	const char *place;	/* its line, as "fs/x.c:12", if the text names it; not terminated */
	size_t place_len;
};

/* The marker that leads to a frame; @before is the line up to it, @after what follows it */
struct marker marker_find(const char *before, size_t len, const char *after, size_t after_len);

#endif
