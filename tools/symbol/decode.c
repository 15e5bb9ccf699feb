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
 * - Exact: a program counter ("RIP:", "EIP:", "IP:", "pc :", "PC is at", "EIP is at", "NIP", and
 *   "WARNING:", whose line has the place of the warning); a guess ("?") at the same place as the
 *   last of these; a frame that the kernel marks "(P)"; in a trace the frame after an entry for
 *   exceptions or interrupts, which is what was interrupted; and where KFENCE reports an access
 *   (mm/kfence/report.c: the trace begins at regs->ip), in its first line and in its first trace.
 *   (The kernel's oops text for x86 prints what was interrupted as a line "RIP:" instead, and
 *   continues with its caller.)
 * - Return addresses: all other frames of a trace but its first, "lr :", "LR", and those
 *   marked with other letters.
 * - The first frame of a trace may be either: a probe, or the caller of what took the trace.  So
 *   may a guess, and a frame within other text.  These are return addresses if the instruction
 *   before them is a call, else exact; a function's first byte is exact.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "symbol/build_id.h"
#include "symbol/decode.h"

static bool within(const char *text, size_t len, const char *what)
{
	return memmem(text, len, what, strlen(what));
}

static bool ends_with(const char *text, size_t len, const char *what)
{
	size_t n = strlen(what);

	return len >= n && !memcmp(text + len - n, what, n);
}

static size_t trim_end(const char *text, size_t len)
{
	while (len && isspace((unsigned char)text[len - 1]))
		len--;
	return len;
}

size_t decode_mark(const char *text, size_t len)
{
	size_t n;

	if (len < 3 || *text != '(')
		return 0;
	for (n = 1; n < len && isupper((unsigned char)text[n]); n++)
		;
	return n > 1 && n < len && text[n] == ')' ? n + 1 : 0;
}

/* --------------------------------------------------------- what surrounds --- */

/* Is there no more than a selector, addresses and brackets between a marker and its frame? */
static bool is_address(const char *text, size_t len)
{
	size_t n;

	while (len) {
		n = text_escape(text, len);
		if (!n && !isxdigit((unsigned char)*text) && !strchr(" \t:x[<(>)],", *text))
			return false;
		text += n ?: 1;
		len -= n ?: 1;
	}
	return true;
}

/*
 * Does a marker of registers lead to the frame?  *@exact: not one of a return address.
 * Return where it begins, or NULL.
 */
static const char *find_register(const char *before, size_t len, bool *exact)
{
	static const struct {
		const char *text;
		bool exact;
	} marker[] = {
		{ "RIP:", true }, { "EIP:", true }, { "rIP:", true }, { "IP:", true },
		{ "pc :", true }, { "PC is at", true }, { "EIP is at", true }, { "NIP [", true },
		{ "NIP:", true }, { "lr :", false }, { "LR is at", false }, { "LR [", false },
		{ "LR:", false },
	};
	const char *at, *next;
	size_t i, n;

	for (i = 0; i < ARRAY_SIZE(marker); i++) {
		n = strlen(marker[i].text);
		for (at = NULL, next = before;
		     (next = memmem(next, before + len - next, marker[i].text, n)); next++)
			at = next;
		if (!at || !is_address(at + n, before + len - at - n))
			continue;
		*exact = marker[i].exact;
		return at;
	}
	return NULL;
}

/* "BUG: KFENCE: use-after-free read in" */
static bool is_fault(const char *before, size_t len)
{
	return within(before, len, "KFENCE: ") &&
	       (ends_with(before, len, " read in ") || ends_with(before, len, " write in "));
}

/*
 * The line "Use-after-free read at 0x... (in kfence-#52):" before its trace.  Return where it
 * begins in @line, or NULL.
 */
static const char *fault_line(const char *line, size_t len)
{
	static const char *const kind[] = { "Out-of-bounds ", "Use-after-free ", "Invalid " };
	const char *at, *end = line + len;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kind); i++) {
		at = memmem(line, len, kind[i], strlen(kind[i]));
		if (at && (within(at, end - at, " read at 0x") ||
			   within(at, end - at, " write at 0x")))
			return at;
	}
	return NULL;
}

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
			if (ends_with(begin, colon - begin, ending[i]) && colon + 1 < text + len &&
			    (isdigit((unsigned char)colon[1]) || colon[1] == '?'))
				return true;
	}
	return false;
}

/* Does a trace's line end after the frame, but for its source line, colours, quotes? */
static bool is_end(const char *text, size_t len)
{
	size_t n;

	if (has_line(text, len) || ends_with(text, len, "(inexact)"))
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
 * Is it the kernel's, by what perf prints after a frame: "([kernel.kallsyms])", "(/boot/vmlinux)",
 * "([ext4])", "(/lib/modules/.../ext4.ko.xz)"?  Then set its module.
 */
static bool take_origin(struct frame *f, const char *text, size_t len)
{
	const char *end = memchr(text, ')', len), *name = text + 2, *ko;

	if (len < 4 || memcmp(text, " (", 2) || !end)
		return true;
	if (end - name >= 8 && (!memcmp(name, "[kernel.", 8) ||
				within(name, end - name, "/vmlinux")))
		return true;
	if (*name == '[' && end[-1] == ']') {
		f->module = name + 1;
		f->module_len = end - name - 2;
		return f->module_len && !within(f->module, f->module_len, "vdso") &&
		       !within(f->module, f->module_len, "unknown");
	}
	ko = memmem(name, end - name, ".ko", 3);
	if (!ko || *name != '/')
		return !within(name, end - name, "/");
	for (f->module = ko; f->module > name && f->module[-1] != '/'; f->module--)
		;
	f->module_len = ko - f->module;
	return f->module_len;
}

/* ----------------------------------------------------------------- frames --- */

/* Escapes end in letters, which are not the name's: "[1mvfs_read", "\tksys_read" */
static size_t skip_escape(const char *line, size_t start, size_t end)
{
	size_t n = start;

	while (n < end && (isdigit((unsigned char)line[n]) || line[n] == ';'))
		n++;
	if (start && n < end && strchr("[;", line[start - 1]) && strchr("mK", line[n]))
		return n + 1;
	if (start && line[start - 1] == '\\')
		return start + (line[start] == 'u' && end - start > 5 ? 5 : 1);
	return start;
}

/* Find the next frame at or after *@at, and set *@at to it.  Return its length, or 0 */
static size_t next_frame(struct frame *f, const char *line, size_t len, size_t *at)
{
	const char *plus = line + *at;

	while ((plus = memchr(plus, '+', line + len - plus))) {
		size_t end = plus++ - line, start = end, n;

		while (start > *at && (isalnum((unsigned char)line[start - 1]) ||
				       strchr("_.$", line[start - 1])) && line[start - 1])
			start--;
		start = skip_escape(line, start, end);
		/* No function's name begins with a digit */
		if (start >= end || isdigit((unsigned char)line[start]))
			continue;
		n = frame_parse(f, line + start, len - start) ?:
		    frame_parse_sizeless(f, line + start, len - start);
		if (!n)
			continue;
		/* A decimal offset is one only alone in its line */
		if (f->decimal &&
		    (trim_end(line, start) || !is_end(line + start + n, len - start - n)))
			continue;
		*at = start;
		return n;
	}
	return 0;
}

size_t decode_next_frame(struct frame *f, const char *line, size_t len)
{
	size_t at = 0, n;

	while ((n = next_frame(f, line, len, &at)) && f->sizeless)
		at += n;
	return n;
}

/* Lines of registers between what was interrupted and its caller, or the trace */
#define REGISTER_LINES	20

/* Put the caller in front of the frames that it called */
static void fold(struct trace *t, const struct frame *f)
{
	char *more = xasprintf("%.*s%s%.*s%s%s%s", (int)f->name_len, f->name,
			       f->module_len ? "_[" : "", (int)f->module_len, f->module,
			       f->module_len ? "]" : "", t->folded ? ";" : "", t->folded ?: "");

	free(t->folded);
	t->folded = more;
}

/* What was interrupted: the trace goes on with it, or begins there */
static void fold_register(struct decoder *d, const struct frame *f, const char *line, size_t len)
{
	struct trace *t = traces_find(&d->traces, line, len);

	if (!t->entry)
		traces_end(&d->traces, t->shape, strlen(t->shape), NULL);
	fold(t, f);
	t->frames++;
	t->entry = false;
	t->paused = REGISTER_LINES;
}

static enum frame_kind kind_in_trace(const struct frame *f, struct trace *t, bool guess,
				     const char *mark, size_t mark_len)
{
	bool entry = frame_is_entry(f->name, f->name_len), after = t->entry;
	enum frame_kind kind;

	/* Up to 5.7 this was an entry itself, since then it is what the entry calls */
	if (after && t->irq && f->name_len > 4 && !memcmp(f->name, "asm_", 4))
		after = false;
	kind = after || (!t->frames && t->fault) ? FRAME_EXACT :
	       t->frames ? FRAME_RETURN : FRAME_OPEN;
	if (guess) {
		kind = t->guessed_entry ? FRAME_EXACT : FRAME_OPEN;
		t->guessed_entry = entry;
		return kind;
	}
	if (mark_len) {
		if (within(mark, mark_len, "P"))
			kind = FRAME_EXACT;
		else if (!within(mark, mark_len, "U"))
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
				    size_t at, const char *mark, size_t mark_len, bool alone)
{
	bool guess = ends_with(line, at, "? "), exact;
	u64 place = hash_bytes(f->name, f->name_len) + (f->offset << 32);
	const char *quote, *found;
	enum frame_kind kind;
	struct trace *t;

	found = find_register(line, at, &exact);
	if (found && exact) {
		d->last_register = place;
		if (d->traces.ended)
			fold_register(d, f, line, found - line);
	}
	if (found)
		return exact ? FRAME_EXACT : FRAME_RETURN;
	if (within(line, at, "WARNING:") || is_fault(line, at))
		return FRAME_EXACT;
	if (!alone && !guess)
		return FRAME_OPEN;
	/* The first line in a JSON string begins after its quotation mark */
	quote = d->parts ? memrchr(line, '"', at) : NULL;
	if (quote) {
		at -= quote + 1 - line;
		line = quote + 1;
	}
	t = traces_find(&d->traces, line, guess ? at - 2 : at);
	traces_end(&d->traces, line, at, t);
	kind = kind_in_trace(f, t, guess, mark, mark_len);
	if (guess && d->last_register == place)
		kind = FRAME_EXACT;
	/* What a trace of arm64 begins with is where the program counter is */
	if (!guess && d->traces.ended && !(t->paused && d->last_register == place))
		fold(t, f);
	if (!guess)
		t->paused = 0;
	return kind;
}

/* Is it a line as " <TASK>" or " </IRQ>", which does not end a trace? */
static bool is_stack_mark(const char *line, size_t len)
{
	size_t n = trim_end(line, len), at;

	if (!n || line[n - 1] != '>')
		return false;
	for (at = n - 1; at && (isupper((unsigned char)line[at - 1]) ||
				strchr("/#_0123456789", line[at - 1])) && line[at - 1]; at--)
		;
	return at && line[at - 1] == '<' && at < n - 1;
}

/* ------------------------------------------------------------ the kernel --- */

/* A word as "6.1.0-56-cloud-amd64" */
static bool is_release(const char *word, size_t len)
{
	size_t n = 0;

	while (n < len && isdigit((unsigned char)word[n]))
		n++;
	return n && n + 1 < len && word[n] == '.' && isdigit((unsigned char)word[n + 1]);
}

/* May this stand before a line of the kernel's own?  "init: " is of a process that writes there */
static bool is_own_prefix(const char *text, size_t len)
{
	char last, before;

	len = trim_end(text, len);
	last = len ? text[len - 1] : ' ';
	before = len > 1 ? text[len - 2] : ' ';
	if (last == ':')
		return !isalnum((unsigned char)before) || ends_with(text, len, "kernel:");
	return !isalpha((unsigned char)last) || isdigit((unsigned char)before);
}

/*
 * Take from the line which kernel the lines that follow are of: "Linux version ...", or a line as
 * "Comm: cat Not tainted 6.1.0 #1", "Tainted: P 6.1.0 #1" of a hung task, "6.1.0 #1 Not tainted" of
 * lockdep and RCU.
 */
static void learn(struct decoder *d, const char *line, size_t len)
{
	const char *p = memmem(line, len, "Linux version ", 14), *end = line + len, *word;
	char release[128], id[BUILD_ID_DIGITS + 1] = "", *banner;

	if (p && is_release(p + 14, end - p - 14) && is_own_prefix(line, p - line)) {
		banner = strndup(p, trim_end(p, end - p));
		if (banner) {
			snprintf(release, sizeof(release), "%.*s", (int)strcspn(banner + 14, " "),
				 banner + 14);
			srcline_set_kernel(d->srcline, release, banner, NULL);
		}
		free(banner);
		return;
	}
	if (!within(line, len, "ainted"))
		return;
	for (p = line; (p = memmem(p, end - p, " #", 2)); p++) {
		for (word = p; word > line && word[-1] != ' '; word--)
			;
		if (is_release(word, p - word) && p + 2 < end && isdigit((unsigned char)p[2]))
			break;
	}
	if (!p)
		return;
	snprintf(release, sizeof(release), "%.*s", (int)(p - word), word);
	/* With CONFIG_STACKTRACE_BUILD_ID */
	end = line + trim_end(line, len);
	for (word = end; word > p && isxdigit((unsigned char)word[-1]); word--)
		;
	if (end - word >= 32 && end - word <= BUILD_ID_DIGITS && word[-1] == ' ')
		snprintf(id, sizeof(id), "%.*s", (int)(end - word), word);
	srcline_set_kernel(d->srcline, release, NULL, *id ? id : NULL);
}

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

void decode_leave(struct decoder *d)
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
		decode_leave(d);
	d->decoded += !!text;
	return text;
}

/* One line of the log, which may be a part of one in the file */
static void decode_part(struct decoder *d, const char *line, size_t len, FILE *out)
{
	u32 hash = hash_bytes(line, len);
	size_t at = 0, done = 0, n;
	bool first = true, alone;
	struct frame f;

	while ((n = next_frame(&f, line, len, &at))) {
		size_t before = at - done, after = at + n, mark = 0;
		const char *from = line + done, *text = NULL;
		enum frame_kind kind;
		bool kernel = !f.sizeless || take_origin(&f, line + after, len - after);

		if (after < len && line[after] == ' ')
			mark = decode_mark(line + after + 1, len - after - 1);
		mark += !!mark;
		alone = is_end(line + after + mark, len - after - mark) || f.sizeless;
		/* "[kernel]" is what bpf tools and SystemTap call vmlinux */
		if (f.module_len == 6 && !memcmp(f.module, "kernel", 6))
			f.module_len = 0;

		if (!first) {
			/* Further frames: a trace on one line, or a function and its caller */
			bool called = before == 4 && !memcmp(from, " <- ", 4);

			kind = called || !trim_end(from, before) ? FRAME_RETURN : FRAME_OPEN;
		} else if (hash == d->last_line) {
			/* Two consoles on one port print each line twice */
			kind = d->last_kind;
		} else {
			if (!alone)
				traces_end(&d->traces, line, at, NULL);
			kind = kind_in_line(d, &f, line, at, line + after, mark, alone);
			d->last_kind = kind;
		}
		first = false;
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
	d->last_line = first ? 0 : hash;
	if (first && !is_stack_mark(line, len)) {
		const char *fault = fault_line(line, len);

		traces_end(&d->traces, line, len, NULL);
		if (fault)
			traces_fault(&d->traces, line, fault - line);
	}
	fwrite(line + done, 1, len - done, out);
}

/* A line of the file may hold several of the log, as a JSON string does */
static void decode_parts(struct decoder *d, const char *line, size_t len, FILE *out)
{
	size_t at = 0, n;

	d->parts = false;
	while (at < len) {
		n = text_newline(line + at, len - at);
		if (!n) {
			at++;
			continue;
		}
		d->parts = true;
		decode_part(d, line, at, out);
		fwrite(line + at, 1, n, out);
		line += at + n;
		len -= at + n;
		at = 0;
	}
	decode_part(d, line, len, out);
}

void decode_line(struct decoder *d, const char *line, size_t len, FILE *out)
{
	if (!d->record)
		learn(d, line, len);
	if (d->compat)
		compat_line(d, line, len, out);
	else
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
