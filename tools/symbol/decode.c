// SPDX-License-Identifier: GPL-2.0
/*
 * decode.c - source lines for text that holds stack traces
 *
 * A frame is "name+0xoffset/0xsize", with or without " [module]" or " [module build-id]" after it,
 * anywhere in a line.  Its source line is inserted after it; all other text is copied.
 *
 * Which frames are return addresses, so that the call before them counts, and which are exact:
 *
 * - Exact: a program counter ("RIP:", "EIP:", "IP:", "pc :", "PC is at", "NIP", and "WARNING:",
 *   whose line has the place of the warning); a frame that the kernel marks "(P)"; and in a
 *   trace the frame after an entry for exceptions or interrupts, which is what was
 *   interrupted.  (The kernel's oops text for x86 prints that one as a line "RIP:" instead, and
 *   continues with its caller.)
 * - Return addresses: all other frames of a trace but its first, "lr :", and those
 *   marked with other letters.
 * - The first frame of a trace may be either: a probe, or the caller of what took the trace.  So
 *   may a guess ("?"), and a frame within other text.  These are return addresses if the
 *   instruction before them is a call, else exact; a function's first byte is exact.
 */
#include <ctype.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include "symbol/build_id.h"
#include "symbol/decode.h"

/* What the line before was */
enum { BEFORE_NONE, BEFORE_FRAME, BEFORE_ENTRY };

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

#define LEVEL	"[a-z0-9]+ *:(emerg|alert|crit|err|warn|notice|info|debug) *: *"
#define TIME	"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.,][0-9]+)?(Z|[-+][0-9:]+)?"

/* Longer than the prefix of any log */
#define PREFIX_MAX	256

/*
 * Is it a prefix that a frame of a trace may have: nothing, or the marks of printk, of dmesg with
 * -x (and -t) or --time-format iso, of syslog (also by RFC 5424), or of /dev/kmsg?
 */
static bool is_log_prefix(const char *text, size_t len)
{
	static regex_t marks;
	static bool compiled;
	regmatch_t match = { 0 };

	len = trim_end(text, len);
	if (!len || text[len - 1] == ']' || text[len - 1] == '>' ||
	    ends_with(text, len, "kernel:") || ends_with(text, len, "kernel - - -"))
		return true;
	if (len > PREFIX_MAX)
		return false;
	if (!compiled && regcomp(&marks, "^((" LEVEL ")?(" TIME ")?|[0-9]+,[0-9]+,[0-9]+,[^;]*;)$",
				 REG_EXTENDED))
		return false;
	compiled = true;
	match.rm_eo = len;
	return !regexec(&marks, text, 1, &match, REG_STARTEND);
}

/* Length without "[<address>]" before a frame */
static size_t trim_address(const char *text, size_t len)
{
	size_t n = trim_end(text, len), at;

	if (!ends_with(text, n, ">]"))
		return len;
	for (at = n - 2; at && isxdigit((unsigned char)text[at - 1]); at--)
		;
	return at >= 2 && text[at - 1] == '<' && text[at - 2] == '[' ? at - 2 : len;
}

/* Length of "(P)" etc., letters for where arm64 found an address; 0 if there are none */
static size_t mark_len(const char *text, size_t len)
{
	size_t n;

	if (len < 3 || *text != '(')
		return 0;
	for (n = 1; n < len && isupper((unsigned char)text[n]); n++)
		;
	return n > 1 && n < len && text[n] == ')' ? n + 1 : 0;
}

static enum frame_kind kind_in_text(const char *before, size_t len)
{
	static const char *const exact[] = { "RIP:", "EIP:", "IP:", "pc :", "PC is at", "NIP",
					     "WARNING:" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(exact); i++)
		if (within(before, len, exact[i]))
			return FRAME_EXACT;
	return within(before, len, "lr :") || within(before, len, "LR is at") ? FRAME_RETURN :
	       FRAME_OPEN;
}

static enum frame_kind kind_in_trace(struct decoder *d, const struct frame *f, bool guess,
				     const char *mark, size_t mark_length)
{
	enum frame_kind kind = FRAME_OPEN;

	if (d->before == BEFORE_ENTRY)
		kind = FRAME_EXACT;
	else if (d->before == BEFORE_FRAME)
		kind = FRAME_RETURN;
	if (guess)
		return FRAME_OPEN;
	if (mark_length) {
		if (within(mark, mark_length, "P"))
			kind = FRAME_EXACT;
		else if (!within(mark, mark_length, "U"))
			kind = FRAME_RETURN;
	}
	d->before = frame_is_entry(f->name, f->name_len) ? BEFORE_ENTRY : BEFORE_FRAME;
	return kind;
}

/* Is it "name+0xoffset" and no more?  A name does not begin with a digit, as a number would */
static bool is_sizeless(const char *text, size_t len)
{
	const char *plus = memmem(text, len, "+0x", 3), *p = plus ? plus + 3 : NULL;

	if (!plus || plus == text || isdigit((unsigned char)*text))
		return false;
	while (p < text + len && isxdigit((unsigned char)*p))
		p++;
	return p > plus + 3 && (p == text + len || (*p != '/' && !isalnum((unsigned char)*p)));
}

/*
 * Find the next frame at or after *@at, and set *@at to it.  Return its length, or 0.  Count in
 * d->sizeless what lies before it and has no size.
 */
static size_t next_frame(struct decoder *d, struct frame *f, const char *line, size_t len,
			 size_t *at)
{
	const char *plus = line + *at;

	while ((plus = memmem(plus, line + len - plus, "+0x", 3))) {
		size_t start = plus - line, n;

		plus += 3;
		while (start > *at && (isalnum((unsigned char)line[start - 1]) ||
					 strchr("_.$", line[start - 1])) && line[start - 1])
			start--;
		n = frame_parse(f, line + start, len - start);
		if (n) {
			*at = start;
			return n;
		}
		d->sizeless += is_sizeless(line + start, len - start);
	}
	return 0;
}

/* Is it a line as " <TASK>" or " </IRQ>", which does not end a trace? */
static bool is_stack_mark(const char *line, size_t len)
{
	size_t n = trim_end(line, len), at;

	if (!n || line[n - 1] != '>')
		return false;
	for (at = n - 1; at && (isupper((unsigned char)line[at - 1]) || line[at - 1] == '/' ||
				line[at - 1] == '#' || isdigit((unsigned char)line[at - 1])); at--)
		;
	return at && line[at - 1] == '<' && at < n - 1 && is_log_prefix(line, at - 1);
}

/* Take from the line which kernel the lines that follow are of */
static void learn(struct decoder *d, const char *line, size_t len)
{
	const char *p = memmem(line, len, "Linux version ", 14), *end = line + len, *word;
	char release[128], id[BUILD_ID_DIGITS + 1] = "", *banner;

	if (p && is_log_prefix(line, p - line)) {
		banner = strndup(p, trim_end(p, end - p));
		if (banner && strlen(banner) > 14) {
			snprintf(release, sizeof(release), "%.*s", (int)strcspn(banner + 14, " "),
				 banner + 14);
			srcline_set_kernel(d->srcline, release, banner, NULL);
		}
		free(banner);
		return;
	}
	p = memmem(line, len, " Comm: ", 7);
	if (p)
		p = memmem(p, end - p, "ainted", 6);
	if (p)
		p = memmem(p, end - p, " #", 2);
	if (!p)
		return;
	for (word = p; word > line && word[-1] != ' '; word--)
		;
	if (word == p)
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

/* No frame of this kernel can be decoded: report why, once */
static void leave(struct decoder *d)
{
	const char *why = srcline_error(d->srcline);
	u32 hash = hash_bytes(why, strlen(why));
	unsigned int i;

	d->left++;
	for (i = 0; i < d->nr_reported; i++)
		if (d->reported[i] == hash)
			return;
	if (d->record || d->nr_reported == DECODE_REPORTED_MAX)
		return;
	d->reported[d->nr_reported++] = hash;
	fprintf(stderr, "stackbuf: frames stay as they are: %s\n", why);
}

static void decode_frames(struct decoder *d, const char *line, size_t len, FILE *out)
{
	size_t at = 0, done = 0, n;
	bool first = true;
	struct frame f;

	while ((n = next_frame(d, &f, line, len, &at))) {
		size_t before = at - done, mark = 0;
		const char *from = line + done, *text;
		enum frame_kind kind;

		if (at + n < len && line[at + n] == ' ')
			mark = mark_len(line + at + n + 1, len - at - n - 1);
		mark += !!mark;

		if (first) {
			bool guess = ends_with(line, at, "? ");
			size_t prefix = trim_address(line, guess ? at - 2 : at);
			bool alone = trim_end(line + at + n + mark, len - at - n - mark) == 0;

			if (is_log_prefix(line, prefix) && (alone || guess)) {
				kind = kind_in_trace(d, &f, guess, line + at + n, mark);
			} else {
				d->before = BEFORE_NONE;
				kind = kind_in_text(line, at);
			}
		} else {
			/* Further frames: a trace on one line, or a function and its caller */
			bool called = before == 4 && !memcmp(from, " <- ", 4);

			kind = called || !trim_end(from, before) ? FRAME_RETURN : FRAME_OPEN;
		}
		first = false;
		d->frames++;
		f.time = d->time;
		if (srcline_frame(d->srcline, &f, kind, &text))
			leave(d);
		at += n;
		fwrite(from, 1, line + at - from, out);
		if (text) {
			fputs(text, out);
			d->decoded++;
		}
		done = at;
	}
	if (first && !is_stack_mark(line, len))
		d->before = BEFORE_NONE;
	fwrite(line + done, 1, len - done, out);
}

/* ---------------------------------------------------------------- compat --- */

struct word {
	const char *text;
	size_t len;
};

static bool has_address(const char *text, size_t len)
{
	const char *p = memmem(text, len, "[<", 2);

	return p && memmem(p + 2, text + len - p - 2, ">]", 2);
}

/* "[...]" within a word */
static bool has_brackets(const struct word *w)
{
	const char *p = memchr(w->text, '[', w->len);

	return p && memchr(p + 1, ']', w->text + w->len - p - 1) > (void *)(p + 1);
}

static void strip(struct word *w, char first, char last)
{
	if (w->len && first && *w->text == first) {
		w->text++;
		w->len--;
	}
	if (w->len && last && w->text[w->len - 1] == last)
		w->len--;
}

/* Print what the script's parse_symbol() puts in place of the symbol */
static void compat_symbol(struct decoder *d, struct word *symbol, const struct word *module,
			  FILE *out)
{
	struct frame f = { .build_id = "", .module = module->text, .module_len = module->len };
	struct word segment = { symbol->text, 0 };
	const char *colon, *text, *plus;

	strip(symbol, '(', ')');
	segment.text = symbol->text;
	colon = memchr(symbol->text, ':', symbol->len);
	if (colon) {
		segment.len = colon + 1 - symbol->text;
		symbol->len -= segment.len;
		symbol->text = colon + 1;
	}
	plus = memrchr(symbol->text, '+', symbol->len);
	f.name = symbol->text;
	f.name_len = plus ? (size_t)(plus - symbol->text) : symbol->len;
	if (plus) {
		char number[32];

		snprintf(number, sizeof(number), "%.*s",
			 (int)(symbol->text + symbol->len - plus - 1), plus + 1);
		f.offset = strtoull(number, NULL, 16);
	}
	d->frames++;
	text = NULL;
	if (f.name_len && f.name_len < 512 && f.module_len < 64 &&
	    !memchr(f.name, '\0', f.name_len) && !memchr(f.module, '\0', f.module_len) &&
	    srcline_compat(d->srcline, &f, &text))
		leave(d);
	if (!text) {
		fwrite(symbol->text, 1, symbol->len, out);
		return;
	}
	d->decoded++;
	fprintf(out, "%.*s%.*s (%s)", (int)segment.len, segment.text, (int)f.name_len, f.name,
		text);
}

/* As the script's handle_line() of Linux 6.12; marks as "(P)" as in 6.17 */
static void compat_frames(struct decoder *d, const char *line, size_t len, FILE *out)
{
	static struct word *word;
	static size_t room;
	struct word module = { "", 0 }, mark = { NULL, 0 };
	size_t at = 0, n = 0, i;
	bool need_blank = false;
	char stamp[64];

	while (at < len) {
		size_t end;

		for (; at < len && isblank((unsigned char)line[at]); at++)
			;
		for (end = at; end < len && !isblank((unsigned char)line[end]); end++)
			;
		if (end == at)
			break;
		GROW(word, n, room);
		word[n++] = (struct word){ line + at, end - at };
		at = end;
	}
	for (i = 0; i < n; i++) {
		if (has_address(word[i].text, word[i].len)) {
			word[i].text = NULL;
		} else if (i + 1 < n && word[i].len == 1 && *word[i].text == '[' &&
			   word[i + 1].text[word[i + 1].len - 1] == ']' && word[i + 1].len < 32) {
			word[i].text = NULL;
			word[i + 1].len = snprintf(stamp, sizeof(stamp), "[%13.*s",
						   (int)word[i + 1].len, word[i + 1].text);
			word[i + 1].text = stamp;
		}
	}
	if (n > 1 && word[n - 1].text && mark_len(word[n - 1].text, word[n - 1].len))
		mark = word[--n];
	/* "[module build-id]" is two words */
	if (n > 1 && word[n - 2].text && word[n - 1].text &&
	    isxdigit((unsigned char)*word[n - 1].text) &&
	    memchr(word[n - 1].text, ']', word[n - 1].len)) {
		n--;
		module = word[n - 1];
		strip(&module, '[', 0);
	} else if (n && word[n - 1].text && has_brackets(&word[n - 1])) {
		module = word[n - 1];
		strip(&module, 0, ')');
		strip(&module, '[', ']');
	}
	if (module.len && n)
		n--;
	for (i = 0; i + 1 < n; i++) {
		if (!word[i].text)
			continue;
		fprintf(out, "%s%.*s", need_blank ? " " : "", (int)word[i].len, word[i].text);
		need_blank = true;
	}
	if (need_blank)
		putc(' ', out);
	if (n && word[n - 1].text)
		compat_symbol(d, &word[n - 1], &module, out);
	fprintf(out, " %.*s", (int)module.len, module.text);
	if (mark.len)
		fprintf(out, "%s%.*s", module.len ? " " : "", (int)mark.len, mark.text);
}

static void compat_line(struct decoder *d, const char *line, size_t len, FILE *out)
{
	size_t at = 0;
	struct frame f;

	/* Trim blanks as the script's "read" does, which also removes backslashes: these stay */
	for (len = trim_end(line, len); len && isspace((unsigned char)*line); len--)
		line++;
	if (has_address(line, len) || next_frame(d, &f, line, len, &at))
		compat_frames(d, line, len, out);
	else
		fwrite(line, 1, len, out);
}

/* ------------------------------------------------------------ everything --- */

void decode_line(struct decoder *d, const char *line, size_t len, FILE *out)
{
	if (!d->record)
		learn(d, line, len);
	if (d->compat)
		compat_line(d, line, len, out);
	else
		decode_frames(d, line, len, out);
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
	free(line);
}
