/* SPDX-License-Identifier: GPL-2.0 */
/*
 * trace.h - which lines of a log are of one stack trace
 *
 * Lines of a trace have the same before their frames: nothing, what printk, dmesg, syslog, a vendor
 * or another program puts there.  What it is need not be known: two lines are of one trace if it
 * differs in numbers alone, and not in a number that names who printed them, as "[ T12]" and
 * "(2)" do.  So traces that two CPUs print at once stay apart.
 */
#ifndef TRACE_H
#define TRACE_H

#include "util.h"

/* Traces that are printed at once; shapes longer than that are of no log */
#define TRACES_MAX	16
#define TRACE_SHAPE	256
#define TRACE_NUMBERS	16

/**
 * struct trace - a trace that may go on
 * @shape: what its lines begin with, without what differs between them
 * @number: hashes of the numbers of its last line: of several traces, that with more equal ones
 * @numbers: how many
 * @used: when it had its last line
 * @frames: frames so far, guesses left out; 0: the next one is its first
 * @entry: the last of these is an entry for exceptions or interrupts
 * @irq: that one is common_interrupt()
 * @guessed_entry: a guess after it is one
 * @fault: its first frame is where memory was accessed
 * @paused: so many lines may follow before its next frame: of registers
 * @folded: its frames as folded text, outermost first, if that is kept
 */
struct trace {
	char shape[TRACE_SHAPE];
	u32 number[TRACE_NUMBERS];
	unsigned int numbers;
	u64 used, frames;
	bool entry, irq, guessed_entry, fault;
	unsigned int paused;
	char *folded;
};

/* Those that may go on */
struct traces {
	struct trace trace[TRACES_MAX];
	u64 lines;	/* lines so far */
	/* Is given each trace with @folded that has ended, and @arg */
	void (*ended)(void *arg, struct trace *t);
	void *arg;
};

/* Length of an escape that begins here, as of a terminal's colour or in a JSON string, else 0 */
size_t text_escape(const char *text, size_t len);

/* Length of a mark of another stack that begins here, as "<IRQ>" and "</IRQ>", else 0 */
size_t text_stack_mark(const char *text, size_t len);

/* Length of what ends a line of the log within a line of the file, else 0 */
size_t text_newline(const char *text, size_t len);

/* The trace of a line, by what stands before its frame */
struct trace *traces_find(struct traces *t, const char *before, size_t len);

/*
 * A line without a frame, or with one within other text, ends the traces that it could be of.
 * Lines of JSON have them in strings: what stands before a string's quotation mark is ignored.
 */
void traces_end(struct traces *t, const char *line, size_t len, const struct trace *but);

/* The next trace with the same before its frames begins where memory was accessed */
void traces_fault(struct traces *t, const char *line, size_t len);

/* All end */
void traces_close(struct traces *t);

#endif
