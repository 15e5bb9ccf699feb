// SPDX-License-Identifier: GPL-2.0
/*
 * trace.c - groups the lines of a log into stack traces
 *
 * All lines of a trace have the same prefix: nothing, or text from printk, dmesg, syslog, a vendor
 * or another program.  Its format does not matter: two lines are of one trace if their prefixes
 * differ only in times and addresses.  Other numbers identify the source of the line, as "[ T12]",
 * "(2)" and "10.0.0.11" do.  So traces that two CPUs print concurrently stay separate.  The trace's
 * own text before frames, as "[<0>]" and "=>", is not part of the prefix: the lines around the
 * trace lack it.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "symbol/decode.h"

/* "[1m", "[0;31m": the text after the escape character, in any notation */
static size_t colour(const char *text, size_t len)
{
	regmatch_t part[REGEX_PARTS];

	if (!len || *text != '[')
		return 0;
	len = len < 16 ? len : 16;
	return text_matches(text, len, "^\\[[0-9;]*[mK]", part) ? part[0].rm_eo : 0;
}

size_t text_escape(const char *text, size_t len)
{
	static const char *const esc[] = { "\033", "\\u001b", "\\u001B", "\\x1b", "\\x1B",
					   "\\033", "\\e", "^[", "#033" };
	static const char *const tab[] = { "#011", "\\x09", "\\011", "^I" };
	size_t i, n, more;

	for (i = 0; i < ARRAY_SIZE(esc); i++) {
		n = strlen(esc[i]);
		more = len > n && !memcmp(text, esc[i], n) ? colour(text + n, len - n) : 0;
		if (more)
			return n + more;
	}
	/* A tab, as written by rsyslog, JSON and others */
	for (i = 0; i < ARRAY_SIZE(tab); i++)
		if (len >= strlen(tab[i]) && !memcmp(text, tab[i], strlen(tab[i])))
			return strlen(tab[i]);
	if (len < 2 || *text != '\\')
		return 0;
	if (len >= 6 && text[1] == 'u')
		return 6;
	return strchr("tr\"", text[1]) && text[1] ? 2 : 0;
}

/* " <TASK>", " </IRQ>", "<<EOE>>" */
#define STACK_MARK	"<[A-Z0-9</#_]*[A-Z][A-Z0-9</#_]*>>?"

static size_t stack_mark(const char *text, size_t len)
{
	regmatch_t part[REGEX_PARTS];

	return text_matches(text, len < 32 ? len : 32, "^" STACK_MARK, part) ? part[0].rm_eo : 0;
}

size_t text_newline(const char *text, size_t len)
{
	static const char *const newline[] = { "\\n", "#012", "\\x0a", "\\x0A", "\\012" };
	size_t n, i;

	for (i = 0; i < ARRAY_SIZE(newline); i++)
		if (len >= strlen(newline[i]) && !memcmp(text, newline[i], strlen(newline[i])))
			return strlen(newline[i]);
	/* Newlines of a Macintosh, or of a serial console */
	n = strspn(text, "\r");
	if (n)
		return n;
	/* "<br>", "<br />" */
	for (n = 3; len > n && !memcmp(text, "<br", 3) && strchr(" /", text[n]) && text[n]; n++)
		;
	return len > n && !memcmp(text, "<br", 3) && text[n] == '>' ? n + 1 : 0;
}

/* In a shape: parts that differ in each line of a trace */
#define TIME	'\1'
#define ADDRESS	'\2'

/*
 * Return true if a number is part of a time or date, as "12:08:12", "64.100001" and "2026-11-22", a
 * time with its unit, or one of the counts in "4,339,5140900,-;".  A number in longer text, as
 * "10.0.0.11", "node1-2" and the address of a network card, is not.
 */
static bool is_time(const char *text, size_t len, size_t at, size_t end)
{
	static const char inside[] = "0123456789.:-/";
	char before = at ? text[at - 1] : ' ', after = end < len ? text[end] : ' ';
	size_t nr[256] = { 0 }, from, to, n;

	if (before == ',' && (after == ',' || end - at >= 3))
		return true;
	for (from = at; from && text[from - 1] && strchr(inside, text[from - 1]); from--)
		;
	for (to = end; to < len && text[to] && strchr(inside, text[to]); to++)
		;
	/* In "2026-11-22T10:11:12" and "22/Nov/2026:10:11:12" a time follows a letter */
	if (from && isalpha((unsigned char)text[from - 1]) &&
	    !(text[from - 1] == 'T' && from > 1 && isdigit((unsigned char)text[from - 2])) &&
	    !(text[from] == '/' && memchr(text + from, ':', to - from)))
		return false;
	for (n = from; n < to; n++)
		nr[(unsigned char)text[n]]++;
	if (nr['.'] > 2 || nr[':'] > 3 || nr['-'] > 2 || nr['/'] > 2)
		return false;
	n = at + strspn(text + at, "0123456789");
	if (n < end)	/* "28T21", "12Z", "12PM", "12ms", "1h02m" */
		return text[n] == 'T' || (text[n] == 'Z' && n + 1 == end) ||
		       (strchr("AP", text[n]) && text[n + 1] == 'M' && n + 2 == end) ||
		       strspn(text + n, "0123456789dhmsun") >= end - n;
	return end - at > 8 || nr['.'] || (at > 1 && strchr(":-/", before) && from < at - 1) ||
	       (strchr(":-/", after) && to > end + 1);
}

static void add_char(struct line_start *s, char c)
{
	if (s->len < TRACE_SHAPE - 1)
		s->text[s->len++] = c;
}

static size_t add_word(struct line_start *s, const char *text, size_t len, size_t at)
{
	size_t end = at, digits = 0, decimal = 0;

	while (end < len && isalnum((unsigned char)text[end])) {
		decimal += !!isdigit((unsigned char)text[end]);
		digits += !!isxdigit((unsigned char)text[end++]);
	}
	/* Seconds since 1970 are not an address */
	if (text_begins_with(text + at, end - at, "0x") ||
	    (digits == end - at && digits >= 8 && digits <= 16 &&
	     (decimal < digits || digits == 8 || digits == 16))) {
		add_char(s, ADDRESS);
	} else if ((isdigit((unsigned char)text[at]) && is_time(text, len, at, end)) ||
		   (digits == 24 && at && text[at - 1] == '@')) {	/* TAI64N */
		add_char(s, TIME);
	} else {
		for (; at < end; at++)
			add_char(s, text[at]);
	}
	return end;
}

static void find_shape(struct line_start *s, const char *text, size_t len)
{
	size_t at = 0, mark, n;

	s->len = 0;
	while (at < len && s->len < TRACE_SHAPE - 1) {
		mark = text[at] == '<' ? stack_mark(text + at, len - at) : 0;
		n = text_escape(text + at, len - at);
		if (n || isspace((unsigned char)text[at]) || !text[at]) {
			/* "\t" counts as a blank, a colour as nothing */
			if (!(n > 2 && strchr("mK", text[at + n - 1])) && s->len &&
			    s->text[s->len - 1] != ' ')
				add_char(s, ' ');
			at += n ?: 1;
		} else if (mark) {
			at += mark;
		} else if (isalnum((unsigned char)text[at])) {
			at = add_word(s, text, len, at);
		} else {
			add_char(s, text[at++]);
		}
	}
	while (s->len && s->text[s->len - 1] == ' ')
		s->len--;
	s->text[s->len] = '\0';
}

/* Cut a word, and the blanks before it */
static void cut_word(struct line_start *s)
{
	while (s->len && s->text[s->len - 1] != ' ')
		s->len--;
	while (s->len && s->text[s->len - 1] == ' ')
		s->len--;
	s->text[s->len] = '\0';
}

/*
 * Cut the trace's own text before frames: arrows, addresses, numbers, arm's "callee from", and the
 * "?" of addresses without a name
 */
static void cut_own(struct line_start *s)
{
	static const char *const word[] = { "=>", "\2", "\2:", "\2 :", "[\2]", "?", "[exception",
					    "Exception stack(\2 to \2)" };
	static const char *const glued[] = { "[<0>]", "[<\2>]", "[<(____ptrval____)>]", "(" };
	size_t before, n, i;

	do {
		before = s->len;
		for (i = 0; i < ARRAY_SIZE(word); i++) {
			n = strlen(word[i]);
			if (text_ends_with(s->text, s->len, word[i]) &&
			    (s->len == n || s->text[s->len - n - 1] == ' '))
				s->len -= n;
		}
		for (i = 0; i < ARRAY_SIZE(glued); i++)
			if (text_ends_with(s->text, s->len, glued[i]))
				s->len -= strlen(glued[i]);
		/* "12", "#12", "12)" */
		n = s->len - (s->len && s->text[s->len - 1] == ')');
		for (i = n; i && isdigit((unsigned char)s->text[i - 1]); i--)
			;
		n = n - i ? i - (n == s->len && i && s->text[i - 1] == '#') : s->len;
		if (!n || s->text[n - 1] == ' ')
			s->len = n;
		while (s->len && s->text[s->len - 1] == ' ')
			s->len--;
		s->text[s->len] = '\0';
		if (text_ends_with(s->text, s->len, " from")) {
			cut_word(s);
			/* "callee [module]", "(callee [module])" */
			if (text_ends_with(s->text, s->len, "]") ||
			    text_ends_with(s->text, s->len, "])"))
				cut_word(s);
			cut_word(s);
		}
	} while (s->len < before);
}

/* Limit of strings in one line */
#define QUOTES_MAX	64

void traces_end_one(struct traces *t, struct trace *one)
{
	if (one->folded && t->ended)
		t->ended(t->arg, one);
	free(one->folded);
	*one = (struct trace){
		.shape = one->shape, .used = one->used, .registers = one->registers,
	};
}

/* Return true if two shapes differ only in numbers, which may identify sources of lines */
static bool is_alike(const char *a, const char *b)
{
	for (;; a++, b++) {
		a += strspn(a, "0123456789");
		b += strspn(b, "0123456789");
		if (*a != *b || !*a)
			return *a == *b;
	}
}

struct trace *traces_known(struct traces *t, const struct line_start *s)
{
	struct trace *one;

	for (one = t->trace; one < t->trace + TRACES_MAX; one++)
		if (one->used && !strcmp(one->shape.text, s->text))
			return one;
	return NULL;
}

struct trace *traces_find(struct traces *t, const struct line_start *s)
{
	struct trace *one = traces_known(t, s), *found = t->trace;
	bool doubt = false;

	if (one) {
		one->used = ++t->lines;
		return one;
	}
	for (one = t->trace; one < t->trace + TRACES_MAX; one++) {
		doubt |= one->used && one->entry && is_alike(one->shape.text, s->text);
		if (one->used < found->used)
			found = one;
	}
	traces_end_one(t, found);
	*found = (struct trace){ .shape = *s, .used = ++t->lines, .doubt = doubt };
	return found;
}

void traces_line_start(struct line_start *s, const char *before, size_t len)
{
	const char *quote = memrchr(before, '"', len);

	if (quote) {
		len -= quote + 1 - before;
		before = quote + 1;
	}
	find_shape(s, before, len);
	cut_own(s);
}

bool traces_sentence(const struct traces *t, const struct line_start *s)
{
	size_t end = s->len, word;

	if (end && s->text[end - 1] == ':' && end-- > 1 && s->text[end - 1] == ')') {
		while (end && s->text[end] != '(')
			end--;
		end -= end && s->text[end - 1] == ' ';
	}
	for (word = end; word && islower((unsigned char)s->text[word - 1]); word--)
		;
	return word < end && (!word || s->text[word - 1] == ' ') &&
	       !text_ends_with(s->text, end, "kernel") &&
	       strncmp(t->other.text, s->text, s->len);
}

static u64 traces_of(struct traces *t, const struct line_start *s, const char *line, size_t len,
		     const struct trace *but)
{
	struct line_start left = *s;
	u64 of = 0;
	size_t i;

	/* An address without a name is part of a trace, except for the one before 4.9's end */
	if (!text_ends_with(line, len, "ffffffffffffffff"))
		cut_own(&left);
	for (i = 0; i < TRACES_MAX; i++) {
		struct trace *one = &t->trace[i];

		if (!one->used || strncmp(one->shape.text, s->text, one->shape.len))
			continue;
		if (left.len == s->len || !memchr(s->text, ADDRESS, s->len) ||
		    strcmp(one->shape.text, left.text))
			of |= 1ULL << i;
		else if (!but)	/* The interrupted place, if an entry preceded it */
			one->entry = FRAME_NO_ENTRY;
	}
	return of;
}

/* End the traces that a line with this shape could belong to */
static void end_of(struct traces *t, const struct line_start *s, const char *line, size_t len,
		   const struct trace *but)
{
	const char *end = line + len, *quote = line;
	bool report = text_holds(line, len, "CPU: ");
	u64 of = traces_of(t, s, line, len, but);
	struct line_start quoted;
	unsigned int quotes;
	struct trace *one;
	size_t i;

	for (quotes = 0; quotes < QUOTES_MAX; quotes++) {
		quote = memchr(quote, '"', end - quote);
		if (!quote++)
			break;
		find_shape(&quoted, quote, end - quote);
		of |= traces_of(t, &quoted, quote, end - quote, but);
	}
	for (i = 0; i < TRACES_MAX; i++) {
		one = &t->trace[i];
		if (!(of >> i & 1) || one == but)
			continue;
		if (report) {
			one->registers = false;
			one->paused = 0;
		}
		if (!one->paused || !--one->paused)
			traces_end_one(t, one);
	}
}

void traces_end(struct traces *t, const char *line, size_t len, const struct trace *but)
{
	struct line_start s;

	find_shape(&s, line, len);
	end_of(t, &s, line, len, but);
}

/* Lines that do not end a trace: */
static const char inside[] =
	STACK_MARK "[[:space:]]*$"
	/* The same in HTML, and in JSON as Go writes it */
	"|(&lt;|\\\\u003[cC])+[A-Z0-9/#_]*[A-Z][A-Z0-9/#_]*(&gt;|\\\\u003[eE])+[[:space:]]*$"
	/* "r7:df912310 r6:00000000", which 32-bit arm with frame pointers prints after a frame */
	"|(^|[[:space:]])r[0-9]{1,2}:[0-9a-f]{8}[[:space:]]*$"
	/* "bec0: 00000000 c1204f6c", of the stack, and "Register r10 information: NULL pointer" */
	"|(^| )[[:xdigit:]]{4}:[[:xdigit:] ]{9,}$|Register r.* information: "
	/* bcc's separator of frames of the kernel and of the program */
	"|^[[:space:]]+--[[:space:]]*$"
	/* "slab_alloc_node mm/slub.c:5245 [inline]", added by syzbot and decode_stacktrace.sh */
	"| \\[inline]\\)?[[:space:]]*$"
	/* kdb's pager, and the text of "dmesg --json" around a line of the log */
	"|^[[:space:]]*(\\[[0-9]+]more>|\\{|},\\{|}|\"(pri|time|fac|caller)\":.*)[[:space:]]*$";

/* The frame in the next line is a place, and not part of a trace */
static const char place[] =
	"(reemption disabled at|Last Breaking-Event-Address| is trying to .*\\) at):[[:space:]]*$";

bool traces_place(struct traces *t, const struct line_start *s)
{
	bool is = t->place && !strncmp(t->other.text, s->text, s->len);

	t->place = false;
	return is;
}

void traces_line(struct traces *t, const char *line, size_t len)
{
	if (t->line)
		t->line(t->arg, line, len);
}

void traces_other(struct traces *t, const char *line, size_t len)
{
	const char *end = memmem(line, len, "---[ end trace ", 15);
	struct line_start s;

	if (text_matches(line, len, inside, NULL))
		return;
	find_shape(&t->other, line, len);
	t->place = text_matches(line, len, place, NULL);
	end_of(t, &t->other, line, len, NULL);
	traces_line(t, line, len);
	if (end) {
		traces_line_start(&s, line, end - line);
		traces_find(t, &s)->registers = true;
	}
}

void traces_close(struct traces *t)
{
	struct trace *one;

	for (one = t->trace; one < t->trace + TRACES_MAX; one++)
		traces_end_one(t, one);
}
