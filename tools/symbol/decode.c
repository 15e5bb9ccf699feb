// SPDX-License-Identifier: GPL-2.0
/*
 * decode.c - source lines for text that holds stack traces
 *
 * A frame is "name+0xoffset/0xsize", with or without " [module]" or " [module build-id]" after it,
 * anywhere in a line; or the same without a size, as bcc, bpftrace and perf print it, if only one
 * function has that name.  Its source line is inserted after it; all other text is copied.
 *
 * Which frames are return addresses, so that the call before them counts, and which are exact:
 *
 * - Exact: a program counter ("RIP:", "pc :" and others of marker.c, and "WARNING:" where its line
 *   has the place of the warning); a guess ("?") at the same place as the last of these, and a
 *   trace's first frame if it is that place of an architecture whose traces begin with it; a frame
 *   that the kernel marks "(P)"; in a trace the frame after an entry for exceptions or interrupts,
 *   which is what was interrupted, even if it is a guess where the stack changes ("<EOI>"); and
 *   where KFENCE reports an access (mm/kfence/report.c: the trace begins at regs->ip), in its
 *   first line and in its first trace.  (The kernel's oops text for x86 prints what was interrupted
 *   as a line "RIP:" instead, and continues with its caller.)
 * - Return addresses: all other frames of a trace but its first, "lr :" and the like, and those
 *   marked with other letters.
 * - The first frame of a trace may be either: a probe, or the caller of what took the trace.  So
 *   may a guess, and a frame within other text.  These are return addresses if the instruction
 *   before them is a call, else exact; a function's first byte is exact.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "symbol/decode.h"

/* The longest path of a module or an image that is looked at */
#define ORIGIN_MAX	512

/* Length of "(P)" etc., letters for where arm64 found an address; 0 if there are none */
static size_t mark_length(const char *text, size_t len)
{
	size_t n;

	if (len < 3 || *text != '(')
		return 0;
	for (n = 1; n < len && isupper((unsigned char)text[n]); n++)
		;
	return n > 1 && n < len && text[n] == ')' ? n + 1 : 0;
}

/* --------------------------------------------------------- what surrounds --- */

/* Has the text after a frame its source line, as "file.c:12", "(file.c:12)" or "f (file.c:12)"? */
static bool has_line(const char *text, size_t len)
{
	static const char *const ending[] = { ".c", ".h", ".S", ".rs", ".s" };
	size_t word, i;

	for (word = 0; word < 2 && len && *text == ' '; word++) {
		const char *begin = ++text, *colon = NULL;

		for (len--; len && !strchr(" \t\\\"<\033", *text); text++, len--)
			if (*text == ':' && !colon)
				colon = text;
		for (i = 0; colon && i < ARRAY_SIZE(ending); i++)
			if (text_ends_with(begin, colon - begin, ending[i]) &&
			    colon + 1 < text + len &&
			    (isdigit((unsigned char)colon[1]) || colon[1] == '?'))
				return true;
	}
	return false;
}

/* Does a trace's line end after the frame, but for its source line, colours, quotes? */
static bool is_end(const char *text, size_t len)
{
	size_t n;

	if (has_line(text, len) || text_ends_with(text, len, "(inexact)"))
		return true;
	for (; len; text += n ?: 1, len -= n ?: 1) {
		n = text_escape(text, len);
		if (n > 2 || isspace((unsigned char)*text) || !*text)
			continue;
		return strchr("\"'\\),;}]", *text);
	}
	return true;
}

/*
 * Is it the kernel's, by what stands after a frame without a size?  perf prints
 * "([kernel.kallsyms])", "(/boot/vmlinux)", "([ext4])", "(/lib/modules/.../ext4.ko.xz)", and others
 * "(inexact)" and "(P)"; what else is in parentheses is a program or a library.  Set its module.
 */
static bool take_origin(struct frame *f, const char *text, size_t len)
{
	const char *name = text + 2, *end, *ko;
	size_t n;

	if (len < 4 || memcmp(text, " (", 2) || mark_length(text + 1, len - 1))
		return true;
	end = memchr(text, ')', len < ORIGIN_MAX ? len : ORIGIN_MAX);
	if (!end)
		return false;
	n = end - name;
	if ((n == 7 && !memcmp(name, "inexact", 7)) || text_begins_with(name, n, "[kernel.") ||
	    text_begins_with(name, n, "vmlinux") || text_holds(name, n, "/vmlinux") ||
	    has_line(text, len))
		return true;
	if (*name == '[' && end[-1] == ']') {
		f->module = name + 1;
		f->module_len = n - 2;
		return f->module_len && !text_holds(f->module, f->module_len, "vdso") &&
		       !text_holds(f->module, f->module_len, "unknown");
	}
	ko = memmem(name, n, ".ko", 3);
	if (!ko || *name != '/')
		return false;
	for (f->module = ko; f->module[-1] != '/'; f->module--)
		;
	f->module_len = ko - f->module;
	return f->module_len;
}

/* ----------------------------------------------------------------- frames --- */

/* Escapes end in letters, which are not the name's: "[1mvfs_read", "\tksys_read" */
static size_t skip_escape(const char *line, size_t start, size_t end)
{
	char before = start ? line[start - 1] : ' ';
	size_t n = start;

	while (n < end && (isdigit((unsigned char)line[n]) || line[n] == ';'))
		n++;
	if (n < end && (before == '[' || before == ';') && strchr("mK", line[n]))
		return n + 1;
	if (!strchr("\\#^", before) || !before)
		return start;
	n = text_escape(line + start - 1, end - start + 1);
	return n ? start + n - 1 : start;
}

/* Find the next frame at or after *@at, and set *@at to it.  Return its length, or 0 */
static size_t next_frame(struct frame *f, const char *line, size_t len, size_t *at)
{
	const char *plus = line + *at;

	while ((plus = memchr(plus, '+', line + len - plus))) {
		size_t end = plus++ - line, start = end, begin, n;

		while (start > *at && (isalnum((unsigned char)line[start - 1]) ||
				       strchr("_.$", line[start - 1])) && line[start - 1])
			start--;
		begin = start;
		start = skip_escape(line, start, end);
		/* No function's name begins with a digit */
		if (start >= end || isdigit((unsigned char)line[start]))
			continue;
		n = frame_parse(f, line + start, len - start, true);
		if (!n)
			continue;
		/* A decimal offset is one only alone in its line, or as crash prints it */
		if (f->decimal && !text_ends_with(line, start, "[exception RIP: ") &&
		    (text_trim(line, start) || !is_end(line + start + n, len - start - n)))
			continue;
		/* "/bin/cat+0x1", "a.out(main+0x2)", "libc`read+0x3" are of programs */
		if (f->sizeless && start && start == begin && strchr("/(`=<", line[start - 1]))
			continue;
		*at = start;
		return n;
	}
	return 0;
}

/* Lines of registers between what was interrupted and its caller, or the trace */
#define REGISTER_LINES	20
#define FRAMES_MAX	1024

/* Put the caller in front of the frames that it called */
static void fold(struct trace *t, const struct frame *f)
{
	char *more;

	/* More are of no trace: a stack of the table holds 64 */
	if (t->frames > FRAMES_MAX)
		return;
	more = xasprintf("%.*s%s%.*s%s%s%s", (int)f->name_len, f->name,
			       f->module_len ? "_[" : "", (int)f->module_len, f->module,
			       f->module_len ? "]" : "", t->folded ? ";" : "", t->folded ?: "");

	free(t->folded);
	t->folded = more;
}

/*
 * What was interrupted: the trace goes on with it, or begins there.  @whole: it ends there, too.
 * Kernels for x86 repeat it when an oops ends, without a line "CPU:" before it.
 */
static void take_register(struct decoder *d, const struct frame *f, const char *line, size_t len,
			  bool whole)
{
	struct shape s;
	struct trace *t;

	traces_shape(&s, line, len);
	t = traces_find(&d->traces, &s);
	if (d->traces.ended && !t->entry)
		traces_end(&d->traces, line, len, NULL);
	if (d->traces.ended && (t->entry || whole || !t->registers)) {
		fold(t, f);
		t->frames++;
		t->paused = whole ? 0 : REGISTER_LINES;
	}
	if (whole)
		traces_end(&d->traces, line, len, NULL);
	t->registers = true;
	t->entry = false;
}

/* @guess: it has a "?"; @edge: a mark of another stack, as "<EOI>", stands before it in its line */
static enum frame_kind kind_in_trace(struct decoder *d, const struct frame *f, struct trace *t,
				     bool guess, bool edge, const char *mark, size_t mark_len)
{
	bool entry = frame_is_entry(f->name, f->name_len);
	bool after = t->entry && !(t->irq && frame_is_stub(f->name, f->name_len));
	u64 begins = d->begins;
	enum frame_kind kind;

	if (guess) {
		/* An unwinder by frame pointers doubts what was interrupted itself */
		kind = t->guessed_entry || (edge && t->entry) ? FRAME_EXACT : FRAME_OPEN;
		t->entry &= !edge;
		t->guessed_entry = entry;
		return kind;
	}
	d->begins = 0;
	kind = after || (!t->frames && t->fault) || begins == frame_place(f) ? FRAME_EXACT :
	       t->frames ? FRAME_RETURN : FRAME_OPEN;
	if (mark_len) {
		if (text_holds(mark, mark_len, "P"))
			kind = FRAME_EXACT;
		else if (!text_holds(mark, mark_len, "U"))
			kind = FRAME_RETURN;
	}
	t->frames++;
	t->entry = entry;
	t->irq = entry && f->name_len == 16 && !memcmp(f->name, "common_interrupt", 16);
	t->guessed_entry = false;
	return kind;
}

/* Of the first frame in a line; @alone: nothing follows it */
static enum frame_kind kind_in_line(struct decoder *d, const struct frame *f, const char *line,
				    size_t at, const char *after, size_t after_len,
				    size_t mark_len, bool alone)
{
	struct marker marker = marker_find(line, at, after, after_len);
	bool guess = text_ends_with(line, at, "? ");
	enum frame_kind kind;
	struct shape s;
	struct trace *t;

	if (marker.at) {
		if (marker.kind == FRAME_EXACT) {
			d->begins = marker.begins ? frame_place(f) : 0;
			d->last_register = frame_place(f);
		}
		if (marker.registers)
			take_register(d, f, line, marker.at - line, marker.whole);
		return marker.kind;
	}
	if (!alone && !guess)
		return FRAME_OPEN;
	traces_shape(&s, line, guess ? at - 2 : at);
	if (!guess && (traces_place(&d->traces, &s) || traces_sentence(&d->traces, &s))) {
		traces_end(&d->traces, line, at, NULL);
		return FRAME_OPEN;
	}
	t = traces_find(&d->traces, &s);
	traces_end(&d->traces, line, at, t);
	kind = kind_in_trace(d, f, t, guess, text_holds(line, at, "<EOI>") ||
			     text_holds(line, at, "EOE>>"), after, mark_len);
	if (guess && d->last_register == frame_place(f))
		kind = FRAME_EXACT;
	/* What a trace of arm64 begins with is where the program counter is */
	if (!guess && d->traces.ended && !(t->paused && d->last_register == frame_place(f)))
		fold(t, f);
	if (!guess)
		t->paused = 0;
	return kind;
}

/* Is it a line as " <TASK>" or " </IRQ>", which does not end a trace? */
static bool is_stack_mark(const char *line, size_t len)
{
	const char *at;

	len = text_trim(line, len);
	at = memrchr(line, '<', len);
	return at && text_stack_mark(at, line + len - at) == (size_t)(line + len - at);
}

/* ----------------------------------------------------- what is not decoded --- */

/* Report on standard error why frames stay as they are, each reason once */
static void report_once(struct decoder *d, const char *why)
{
	u32 hash = hash_bytes(why, strlen(why));
	unsigned int i;

	for (i = 0; i < d->nr_reported; i++)
		if (d->reported[i] == hash)
			return;
	if (d->record || d->nr_reported == DECODE_REPORTED_MAX)
		return;
	d->reported[d->nr_reported++] = hash;
	report("frames stay as they are: %s", why);
}

/* No frame of this kernel can be decoded */
static void leave(struct decoder *d)
{
	d->left++;
	report_once(d, srcline_error(d->srcline));
}

static void report_ambiguous(struct decoder *d, const struct frame *f, int named)
{
	char *why = xasprintf("%.*s+0x%llx lacks the function's size, and %d functions have this name",
			      (int)f->name_len, f->name, f->offset, named);

	report_once(d, why);
	free(why);
}

/* ------------------------------------------------------------- the lines --- */

/* Between two frames of a trace on one line, or between a function and its caller */
static bool is_separator(const char *text, size_t len)
{
	size_t n;

	for (; len; text += n ?: 1, len -= n ?: 1) {
		n = text_escape(text, len);
		if (!n && !strchr(" \t;,|<-", *text))
			return false;
	}
	return true;
}

/*
 * Is the line the one before again, as two consoles on one port print each?  One with a @frame may
 * be of a function that calls itself: the line before must have been printed twice, too.
 */
static bool is_again(struct decoder *d, const char *line, size_t len, bool frame)
{
	u32 hash = hash_bytes(line, len);
	bool again = hash == d->last_line && !d->again && (d->pairs || !frame);

	/* A blank line may well stand twice */
	if (!text_trim(line, len) || d->record)
		return false;
	d->pairs = d->again || !d->last_line;
	d->again = again;
	d->last_line = hash ?: 1;
	return again;
}

/* The source line of a frame, or NULL */
static const char *frame_line(struct decoder *d, struct frame *f, enum frame_kind kind)
{
	const char *text = NULL;

	f->time = d->time;
	if (f->sizeless) {
		int named = srcline_named(d->srcline, f);

		if (!named || named > 1) {
			d->sizeless++;
			if (named)
				report_ambiguous(d, f, named);
			return NULL;
		}
	}
	d->frames++;
	if (srcline_frame(d->srcline, f, kind, &text))
		leave(d);
	d->decoded += !!text;
	return text;
}

/* One line of the log, which may be a part of one in the file */
static void decode_part(struct decoder *d, const char *line, size_t len, FILE *out)
{
	bool first = true, alone, entry = false;
	size_t at = 0, done = 0, n;
	struct frame f;

	while ((n = next_frame(&f, line, len, &at))) {
		size_t before = at - done, after = at + n, mark = 0;
		const char *from = line + done, *text = NULL;
		enum frame_kind kind;
		bool kernel = !f.sizeless || take_origin(&f, line + after, len - after);

		if (after < len && line[after] == ' ')
			mark = mark_length(line + after + 1, len - after - 1);
		mark += !!mark;
		alone = is_end(line + after + mark, len - after - mark) || f.sizeless;
		/* "[kernel]" is what bpf tools and SystemTap call vmlinux */
		if (f.module_len == 6 && !memcmp(f.module, "kernel", 6))
			f.module_len = 0;

		if (!first) {
			kind = !is_separator(from, before) ? FRAME_OPEN :
			       entry ? FRAME_EXACT : FRAME_RETURN;
		} else if (is_again(d, line, len, true)) {
			kind = d->last_kind;
		} else {
			if (!alone)
				traces_end(&d->traces, line, at, NULL);
			kind = kind_in_line(d, &f, line, at, line + after, len - after, mark,
					    alone);
			d->last_kind = kind;
		}
		first = false;
		entry = frame_is_entry(f.name, f.name_len);
		/* Lines that the text has already stay */
		if (has_line(line + after + mark, len - after - mark))
			d->lined++;
		else if (kernel && !d->traces.ended)
			text = frame_line(d, &f, kind);
		fwrite(from, 1, line + after - from, out);
		if (text)
			fputs(text, out);
		at = after;
		done = after;
	}
	if (first && !is_again(d, line, len, false) && !is_stack_mark(line, len)) {
		const char *fault = marker_fault_line(line, len);

		traces_other(&d->traces, line, len);
		if (fault)
			traces_fault(&d->traces, line, fault - line);
	}
	fwrite(line + done, 1, len - done, out);
}

/* A line of the file may hold several of the log, as a JSON string does */
static void decode_parts(struct decoder *d, const char *line, size_t len, FILE *out)
{
	size_t at = 0, parts = 0, n;

	while (at < len) {
		n = text_newline(line + at, len - at);
		if (!n) {
			at++;
			continue;
		}
		decode_part(d, line, at, out);
		fwrite(line + at, 1, n, out);
		line += at + n;
		len -= at + n;
		at = 0;
		parts++;
	}
	/* What follows a string with one line of the log is no line of it */
	if (parts == 1 && len && *line == '"')
		fwrite(line, 1, len, out);
	else
		decode_part(d, line, len, out);
}

void decode_line(struct decoder *d, const char *line, size_t len, FILE *out)
{
	if (!d->record)
		learn_kernel(d->srcline, line, len);
	decode_parts(d, line, len, out);
}

void decode_file(struct decoder *d, FILE *in, FILE *out)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t len;

	/* Stop at the first error of writing */
	while (!ferror(out) && (len = getline(&line, &room, in)) >= 0) {
		bool whole = len && line[len - 1] == '\n';

		decode_line(d, line, len - whole, out);
		if (whole)
			putc('\n', out);
	}
	traces_close(&d->traces);
	free(line);
}
