// SPDX-License-Identifier: GPL-2.0
/*
 * folded.c - stacks as text, "outermost;...;innermost count", from any program
 *
 * The format is that of flamegraph.pl and inferno: lines that begin with "#" are comments, blank
 * lines are ignored, the count follows a blank or a tab.  Here counts must be whole numbers, as
 * they count events.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "input/explain.h"
#include "input/folded.h"

/* Bytes read to identify a file: a first line may have thousands of frames */
#define HEAD_MAX	(1 << 20)

/* No program has more frames; drawing them recurses for each frame */
#define FRAMES_MAX	30000

/* More than that many names take; what is not text may have no line end for gigabytes */
#define LINE_MAX	(16 << 20)

enum line { STACK, NOTHING, NOT_WHOLE, NO_STACK, TOO_DEEP, TOO_LONG };

static const char *const left_out[] = {
	[NOT_WHOLE] = "its count is not a whole number of up to 64 bits, from 0",
	[NO_STACK] = "it is not a stack with its count: outermost;...;innermost count",
	[TOO_DEEP] = "it has more than 30000 frames",
	[TOO_LONG] = "it has more than 16 MiB",
};

/* The last blank or tab, which precedes the count */
static char *last_blank(char *line)
{
	char *p = line + strlen(line);

	while (p > line && p[-1] != ' ' && p[-1] != '\t')
		p--;
	return p > line ? p - 1 : NULL;
}

/* Skip the byte order mark that some editors write */
static char *skip_bom(char *text)
{
	return strncmp(text, "\xef\xbb\xbf", 3) ? text : text + 3;
}

/* Split off the count at the end of a line of @len bytes */
static enum line split_count(char *line, size_t len, u64 *count)
{
	char *blank, *end;
	double number;

	if (memchr(line, '\0', len))
		return NO_STACK;
	line[text_trim(line, len)] = '\0';
	if (!*line || *line == '#')
		return NOTHING;
	blank = last_blank(line);
	if (!blank || blank == line)
		return NO_STACK;
	errno = 0;
	*count = strtoull(blank + 1, &end, 10);
	if (!*end && isdigit((unsigned char)blank[1])) {
		*blank = '\0';
		line[text_trim(line, blank - line)] = '\0';
		return errno ? NOT_WHOLE : STACK;
	}
	number = strtod(blank + 1, &end);
	return *end || end == blank + 1 || number != number ? NO_STACK : NOT_WHOLE;
}

/* The reason why a line that is almost a folded stack is not one, or NULL */
static const char *explain_line(const char *line)
{
	static const struct {
		const char *pattern, *why;
	} known[] = {
		{ "[+](0x)?[0-9a-f]+(/0x[0-9a-f]+)?([[:space:]]|$)",
		  "it holds stack traces: stackbuf decode reads them" },
		{ "^ *[0-9]+[[:space:]]+[^;]+(;[^;]+)*$",
		  "counts come first, as uniq -c prints them: put them last" },
		{ "[^;];[^;].*[[:space:]][0-9]+(,[0-9]+)+$",
		  "lines have several counts, as of Austin: leave one" },
		{ "[^;];[^;].*,[0-9]+$",
		  "counts follow a comma: replace it by a blank" },
		{ "[^;];[^;].*[[:space:]][0-9]+[[:space:]]+(#|//)",
		  "counts are not the last words of their lines: cut the comments" },
		{ "^[^;]+(;[^;]+)+$", "lines have no count at their end" },
	};
	size_t len = text_trim(line, strlen(line)), i;

	for (i = 0; i < ARRAY_SIZE(known); i++)
		if (text_matches(line, len, known[i].pattern, NULL))
			return known[i].why;
	return NULL;
}

const char *folded_explain(int fd)
{
	char head[REGEX_TEXT_MAX] = "", *rest = head, *line;
	ssize_t len = read_at(fd, head, sizeof(head) - 1, 0);
	const char *line_is = NULL;
	static char why[256];

	if (len <= 0 || memchr(head, '\0', len))
		return NULL;
	/* A heading and a kernel log's other messages tell nothing */
	while (!line_is && (line = strsep(&rest, "\r\n")))
		line_is = explain_line(line);
	if (!line_is)
		return NULL;
	snprintf(why, sizeof(why), "is text%s: %s", strchr(line, ';') ? ", almost folded stacks" : "",
		 line_is);
	return why;
}

bool folded_is_pipe(const char *path)
{
	struct stat st;

	return !strcmp(path, "-") || (!stat(path, &st) && S_ISFIFO(st.st_mode));
}

bool folded_is(const char *path, bool empty)
{
	bool is = false, first = true;
	char *head, *line, *next;
	enum line kind;
	struct stat st;
	size_t len;
	u64 count;
	FILE *f;

	if (folded_is_pipe(path))
		return true;
	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	f = fopen(path, "re");
	if (!f)
		return false;
	head = xcalloc(HEAD_MAX + 1, 1);
	len = fread(head, 1, HEAD_MAX, f);
	fclose(f);
	for (line = skip_bom(head); !is && line < head + len; line = next) {
		next = line + strcspn(line, "\r\n");
		next += next < head + len;
		if (memchr(line, '\0', next - line)) {
			first = false;
			break;
		}
		kind = split_count(line, next - line, &count);
		/*
		 * folded_read() leaves out and reports lines before the first stack.  Lines of any
		 * text may end in a number, but then have no semicolon.
		 */
		is = (kind == STACK || kind == NOT_WHOLE) && (first || strchr(line, ';'));
		first &= kind == NOTHING;
	}
	free(head);
	return is || (empty && first);
}

static void name_frames(struct stack *s, char *text)
{
	struct frame frame;
	unsigned int i;
	char *word;

	s->given = true;
	s->cut = !strncmp(text, FRAMES_CUT ";", strlen(FRAMES_CUT ";"));
	if (s->cut)
		text += strlen(FRAMES_CUT ";");
	for (; (word = strsep(&text, ";")); ) {
		GROW(s->frame, s->named);
		s->frame[s->named++] = frame_take(printable(xstrdup(*word ? word : "?")), 0, true);
	}
	/* Innermost first */
	for (i = 0; i < s->named / 2; i++) {
		frame = s->frame[i];
		s->frame[i] = s->frame[s->named - 1 - i];
		s->frame[s->named - 1 - i] = frame;
	}
}

int folded_add(struct folded *f, char *text, u64 count)
{
	struct stacks *stacks = &f->record->stacks;
	bool is_new;
	struct named *one = named_get(&f->tree, text, &is_new);
	struct stack *stack = one->data;

	if (is_new) {
		stack = stacks_get(stacks, stacks->nr + 1);
		one->data = stack;
		name_frames(stack, text);
	}
	stack->count += count;
	return __builtin_add_overflow(f->total, count, &f->total) ? -1 : 0;
}

void folded_end(struct folded *f)
{
	named_free(&f->tree);
}

/* Return true if a stack ends in a number: its line had two counts */
static bool has_number(char *text)
{
	const char *blank = last_blank(text), *p = blank ? blank + 1 : "";

	while (isdigit((unsigned char)*p))
		p++;
	return blank && p > blank + 1 && !*p;
}

/* State of reading a text */
struct reading {
	struct folded *all;
	const char *name;
	u64 nr;	/* lines */
	u64 stacks, differences;	/* lines with a stack, and of these with two counts */
	u64 others, first;	/* lines left out, and the number of the first of them */
	const char *why;	/* the reason for leaving that one out */
};

static void leave_out(struct reading *r, enum line kind, const char *text)
{
	if (r->others++)
		return;
	r->first = r->nr;
	r->why = (kind == NO_STACK ? explain_line(text) : NULL) ?: left_out[kind];
}

static void read_line(struct reading *r, char *text, size_t len)
{
	u64 count, frames = 1;
	enum line kind;
	char *p;

	p = r->nr++ ? text : skip_bom(text);
	len -= p - text;
	text = p;
	kind = split_count(text, len, &count);
	for (p = text; kind == STACK && (p = strchr(p, ';')); p++)
		frames++;
	if (frames > FRAMES_MAX)
		kind = TOO_DEEP;
	if (left_out[kind])
		leave_out(r, kind, text);
	if (kind != STACK)
		return;
	r->stacks++;
	r->differences += has_number(text);
	if (folded_add(r->all, text, count))
		die(1, "%s: line %llu: the total is beyond 64 bits", r->name, r->nr);
}

/*
 * Read up to the next line end.  Return the number of bytes, of which the first LINE_MAX are in
 * @line; -1: there are no more lines
 */
static ssize_t get_line(FILE *f, char *line)
{
	ssize_t len = 0;
	int c;

	while ((c = getc_unlocked(f)) != EOF && c != '\n') {
		if (len < LINE_MAX)
			line[len] = c;
		len++;
	}
	line[len < LINE_MAX ? len : LINE_MAX] = '\0';
	return c == EOF && !len ? -1 : len;
}

static void read_lines(struct folded *all, FILE *f, const char *name)
{
	struct reading r = { .all = all, .name = name, .why = "" };
	char *line = xrealloc(NULL, LINE_MAX + 1, 1), *at, *end;
	ssize_t len;

	while ((len = get_line(f, line)) >= 0) {
		if (len > LINE_MAX) {
			r.nr++;
			leave_out(&r, TOO_LONG, line);
			continue;
		}
		/* Some lines end in only a CR */
		for (at = line; (end = memchr(at, '\r', line + len - at)); at = end + 1)
			read_line(&r, at, end - at);
		if (at < line + len || at == line)
			read_line(&r, at, line + len - at);
	}
	if (ferror(f))
		die(1, "%s: %m", name);
	/* An empty file has totals of no events, but an empty pipe means that its writer failed */
	if (!r.nr && f == stdin)
		die(1, "%s: is empty", name);
	if (!r.nr)
		report("%s: is empty: taken for folded stacks, of which there are none", name);
	if (r.stacks && r.stacks == r.differences)
		die(1, "%s: has two counts per line, as diff --folded writes a difference: name the two files instead",
		    name);
	if (r.others && !r.stacks)
		die(1, "%s: no line is a folded stack; line %llu: %s", name, r.first, r.why);
	if (r.others)
		report("%s: %llu line%s left out, the first is line %llu: %s", name, r.others,
		       r.others == 1 ? " is" : "s are", r.first, r.why);
	free(line);
}

void folded_read(char *const *path, unsigned int paths, struct record *r)
{
	struct folded all = { .record = r };
	unsigned int i;
	FILE *f;

	memset(r, 0, sizeof(*r));
	for (i = 0; i < paths; i++) {
		if (!strcmp(path[i], "-")) {
			read_lines(&all, stdin, "standard input");
			continue;
		}
		f = fopen(path[i], "re");
		if (!f)
			die(1, "%s: %m", path[i]);
		read_lines(&all, f, path[i]);
		fclose(f);
	}
	folded_end(&all);
}
