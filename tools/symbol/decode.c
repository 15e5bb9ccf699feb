// SPDX-License-Identifier: GPL-2.0
/*
 * decode.c - source lines for text that contains stack traces
 *
 * A frame is "name+0xoffset/0xsize", with or without " [module]" or " [module build-id]" after it,
 * anywhere in a line; or the same without a size, as bcc, bpftrace and perf print it, if only one
 * function has that name.  Its source line is inserted after it; all other text is copied.
 *
 * An address in a frame is either a return address, so that the call before it counts, or exact:
 *
 * - It is exact if the text says so: after the name of a program counter ("RIP:", "pc :" and
 *   others in marker.c), after "WARNING:" and where KFENCE reports an access, with the kernel's
 *   mark "(P)", and if a trace or a guess ("?") repeats that place.
 * - It is exact after an entry for exceptions or interrupts in the same trace: the interrupted
 *   place.
 * - All others are return addresses.  If an address could be either, as in the first frame of a
 *   trace or one within other text, it is exact if no call precedes it.
 *
 * If the text does not show whether a frame follows an entry, its address is a return address, and
 * the frame is counted.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "symbol/decode.h"

/* Longest text before the first frame of a line that is compared with what separates frames */
#define PREFIX_MAX	512

/* Longest path of a module or an image that is examined */
#define ORIGIN_MAX	512

/* Length of "(P)" etc., letters for where arm64 found an address; 0 if there are none */
static size_t mark_length(const char *text, size_t len)
{
	regmatch_t part[REGEX_PARTS];

	return text_matches(text, len < 16 ? len : 16, "^\\([A-Z]+\\)", part) ? part[0].rm_eo : 0;
}

/* ----------------------------------------------------- text around frames --- */

/* Return true if a source line follows a frame, as "file.c:12", "(file.c:12)" or "f (file.c:12)" */
static bool has_line(const char *text, size_t len)
{
	static const char line[] =
		"^ ([^][:space:]\\\"<\033]* )?[^][:space:]\\\"<:\033]*[.](c|h|S|rs|s):[0-9?]";

	return len && *text == ' ' && text_matches(text, len < 512 ? len : 512, line, NULL);
}

/* Return true if only a source line, colours or quotes follow the frame */
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
 * Return true for a frame of the kernel, by the text after a frame without a size.  perf prints
 * "([kernel.kallsyms])", "(/boot/vmlinux)", "([ext4])", "(/lib/modules/.../ext4.ko.xz)", other
 * programs "(inexact)" and "(P)".  Other text in parentheses is a program or a library.  Set the
 * frame's module.
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

/* Escapes end in letters, which do not belong to the name: "[1mvfs_read", "\tksys_read" */
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
		/*
		 * A decimal offset counts only if the frame is alone in its line, or as crash
		 * prints it
		 */
		if (f->decimal && !text_ends_with(line, start, "[exception RIP: ") &&
		    !text_begins_with(line + start + n, len - start - n, " at ffff") &&
		    !text_begins_with(line + start + n, len - start - n, " ([kernel.") &&
		    (text_trim(line, start) || !is_end(line + start + n, len - start - n)))
			continue;
		/* "/bin/cat+0x1", "a.out(main+0x2)", "libc`read+0x3" are in programs */
		if (f->sizeless && start && start == begin && strchr("/(`=<", line[start - 1]))
			continue;
		*at = start;
		return n;
	}
	return 0;
}

/* Maximum of register lines between the interrupted place and its caller, or the trace */
#define REGISTER_LINES	20
#define FRAMES_MAX	1024

/* Prepend the caller to the frames that it called */
static void fold(struct decoder *d, struct trace *t, const struct frame *f)
{
	char *more;

	/* No trace is longer: the table stores at most STACKBUF_DEPTH_MAX frames */
	if (t->frames > FRAMES_MAX) {
		d->beyond++;
		return;
	}
	more = xasprintf("%.*s%s%.*s%s%s%s", (int)f->name_len, f->name,
			       f->module_len ? "_[" : "", (int)f->module_len, f->module,
			       f->module_len ? "]" : "", t->folded ? ";" : "", t->folded ?: "");

	free(t->folded);
	t->folded = more;
}

/*
 * Process the interrupted place: the trace continues with it, or begins there, and with @whole also
 * ends there.  Kernels for x86 repeat it at the end of an oops, without a line "CPU:" before it.
 */
static void take_register(struct decoder *d, const struct frame *f, const char *line, size_t len,
			  bool whole)
{
	struct line_start s;
	struct trace *t;

	traces_line_start(&s, line, len);
	t = traces_find(&d->traces, &s);
	if (d->traces.ended && !t->entry)
		traces_end(&d->traces, line, len, NULL);
	if (d->traces.ended && (t->entry || whole || !t->registers)) {
		fold(d, t, f);
		t->frames++;
		t->paused = whole ? 0 : REGISTER_LINES;
	}
	if (whole)
		traces_end(&d->traces, line, len, NULL);
	t->registers = true;
	t->entry = FRAME_NO_ENTRY;
}

/* The text around a frame in its line */
struct around {
	const char *before, *after;
	size_t before_len, after_len;
	size_t mark;	/* bytes of "(P)" and the like in @after */
	bool guess;	/* it has a "?" */
	bool more;	/* another frame of its trace follows */
	bool alone;	/* @more, or nothing follows */
	/*
	 * Its end is missing, cut by a mail program perhaps: all earlier frames of its trace have a
	 * size
	 */
	bool cut;
};

static enum frame_kind kind_in_trace(struct decoder *d, const struct frame *f, struct trace *t,
				     const struct around *a)
{
	/* The line has a mark of another stack before the frame */
	bool edge = text_holds(a->before, a->before_len, "<EOI>") ||
		    text_holds(a->before, a->before_len, "EOE>>");
	u64 place = frame_place(f);
	bool after, repeats = d->begins == place;
	enum frame_kind kind;

	if (a->guess) {
		/* An unwinder with frame pointers marks even the interrupted place as a guess */
		kind = (edge && t->entry) || d->last_register == place ? FRAME_EXACT : FRAME_OPEN;
		if (edge)
			t->entry = FRAME_NO_ENTRY;
		return kind;
	}
	/* Since 6.5 ret_from_fork_asm() calls ret_from_fork() on x86 */
	if (t->whole && !frame_is_outermost(f->name, f->name_len))
		traces_end_one(&d->traces, t);
	d->begins = 0;
	after = frame_was_interrupted(t->entry, f->name, f->name_len);
	kind = after || repeats ? FRAME_EXACT : t->frames ? FRAME_RETURN : FRAME_OPEN;
	d->doubtful += kind == FRAME_OPEN && t->doubt;
	if (a->mark) {
		if (text_holds(a->after, a->mark, "P"))
			kind = FRAME_EXACT;
		else if (!text_holds(a->after, a->mark, "U"))
			kind = FRAME_RETURN;
	}
	t->frames++;
	/* On arm64 a trace begins with the program counter: do not add it twice */
	if (d->traces.ended && !(repeats && t->paused))
		fold(d, t, f);
	t->paused = 0;
	t->entry = frame_entry(f->name, f->name_len);
	/* perf and bcc print frames of the program after it, without sizes */
	t->whole = !f->sizeless && frame_is_outermost(f->name, f->name_len);
	t->sized |= !f->sizeless;
	return kind;
}

/* Kind of the first frame in a line, or of one with other text before it.  Set *@of to its trace */
static enum frame_kind kind_in_line(struct decoder *d, const struct frame *f,
				    const struct marker *marker, const struct around *a,
				    struct trace **of)
{
	struct line_start s;

	if (marker->at) {
		if (marker->kind == FRAME_EXACT) {
			d->begins = marker->begins ? frame_place(f) : 0;
			d->last_register = frame_place(f);
		}
		if (marker->registers)
			take_register(d, f, a->before, marker->at - a->before, marker->whole);
		return marker->kind;
	}
	if (!a->alone && !a->guess)
		return FRAME_OPEN;
	traces_line_start(&s, a->before, a->before_len -
		     (text_ends_with(a->before, a->before_len, "? ") ? 2 : 0));
	/* An event of a kprobe, "p_vfs_read_0: (vfs_read+0x0/0x370)", is no trace */
	if (!a->guess && (traces_place(&d->traces, &s) ||
			  text_ends_with(a->before, a->before_len, ": (") ||
			  (!a->more && traces_sentence(&d->traces, &s)))) {
		traces_end(&d->traces, a->before, a->before_len, NULL);
		return FRAME_OPEN;
	}
	*of = traces_find(&d->traces, &s);
	traces_end(&d->traces, a->before, a->before_len, *of);
	return kind_in_trace(d, f, *of, a);
}

/* ------------------------------------------------------- undecoded frames --- */

/* Report on standard error why frames are not decoded, each reason once */
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

/* ------------------------------------------------------------- the lines --- */

/* Return true for text between two frames of a trace on one line, or a function and its caller */
static bool is_separator(const char *text, size_t len, const char *line, size_t line_len)
{
	struct line_start s, before;
	size_t n, at;

	for (at = 0; at < len; at += n ?: 1) {
		n = text_escape(text + at, len - at);
		if (!n && !strchr(" \t;,|<-", text[at]))
			break;
	}
	if (at >= len)
		return true;
	/* Newlines became blanks: the prefix of each frame separates it from the previous one */
	traces_line_start(&s, text, len);
	/* A log's prefix is short: do not read all of a long line for each frame */
	traces_line_start(&before, line, line_len < PREFIX_MAX ? line_len : PREFIX_MAX);
	return s.len && text_ends_with(before.text, before.len, s.text);
}

/*
 * Return true if the line repeats the previous one, as two consoles on one port do.  A repeated
 * @frame may be of a recursive function: so the line before must have been printed twice, too.
 */
static bool is_again(struct decoder *d, const char *line, size_t len, bool frame)
{
	u32 hash = hash_bytes(line, len);
	bool again = hash == d->last_line && !d->again && (d->pairs || !frame);

	/* Two blank lines are not a repetition */
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
	char *why;
	int named;

	f->time = d->time;
	named = f->sizeless ? srcline_named(d->srcline, f) : 1;
	if (named > 1) {
		why = xasprintf("%.*s+0x%llx lacks the function's size, and %d functions have this name",
				(int)f->name_len, f->name, f->offset, named);
		report_once(d, why);
		free(why);
	}
	d->sizeless += !named || named > 1;
	if (!named || named > 1)
		return NULL;
	d->frames++;
	if (srcline_frame(d->srcline, f, kind, &text)) {
		d->left++;
		report_once(d, srcline_error(d->srcline));
	}
	d->decoded += !!text;
	return text;
}

/* Return true if the place "fs/x.c:12" is one of those in a frame's line */
static bool has_place(const char *line, const char *place)
{
	size_t len = strlen(place);
	const char *p;

	for (p = line; (p = strstr(p, place)); p++)
		if (p > line && strchr("(/", p[-1]) && p[len] == ')')
			return true;
	return false;
}

/*
 * The source line of a warning's frame.  The address may be exact or a return address, depending on
 * the architecture and the version (__WARN_FLAGS, warn_slowpath_fmt()); choose the one that gives
 * the line in the text.
 */
static const char *warning_line(struct decoder *d, struct frame *f, const struct marker *m)
{
	size_t skip = text_begins_with(m->place, m->place_len, "./") ? 2 : 0;
	char *place = xasprintf("%.*s", (int)(m->place_len - skip), m->place + skip);
	const char *text = frame_line(d, f, m->kind), *other;

	if (text && !has_place(text, place) &&
	    !srcline_frame(d->srcline, f, m->kind == FRAME_EXACT ? FRAME_RETURN : FRAME_EXACT,
			   &other) && other && has_place(other, place))
		text = other;
	free(place);
	return text;
}

/* A frame, or its beginning, at the end of a line */
static const char ends_cut[] =
	"([[:alpha:]_][[:alnum:]_.]*)[+]0x[[:xdigit:]x/]*=?[[:space:]]*$";

/* If a frame at the line's end was cut, count it in its trace and return true */
static bool take_cut(struct decoder *d, const char *line, size_t len)
{
	struct frame f = { .module = "" };
	struct around a = { .before = line, .after = "", .alone = true };
	regmatch_t part[REGEX_PARTS];
	struct trace *t;

	if (!d->sized || !text_holds(line, len, "+0x") ||
	    !text_matches(line, len, ends_cut, part))
		return false;
	f.name = line + part[1].rm_so;
	f.name_len = part[1].rm_eo - part[1].rm_so;
	a.before_len = part[1].rm_so;
	a.guess = text_ends_with(line, a.before_len, "? ");
	kind_in_line(d, &f, &(struct marker){ .at = NULL }, &a, &t);
	return true;
}

/* perf prints this for a name or an object that it does not know */
#define UNKNOWN	"[unknown]"

/*
 * Return where the object begins in a frame as perf script prints it, "(/bin/a)" in
 * "  7f1234 ns::f(int, char const*)+0x5 (/bin/a)", or NULL for another line.  Set *@name to where
 * the name begins, and *@alone if the line is a sample without callers
 */
static const char *perf_origin(const char *line, size_t len, const char **name, bool *alone)
{
	/* A command may be "cc1", with its process's number after it */
	static const char frame[] =
		"^([[:space:]]*\t|[[:space:]]{8,})[[:space:]]*[[:xdigit:]]{1,16} "
		"([^[:digit:][:space:]].*) \\(.*\\)$";
	static const char sample[] =
		"^[[:space:]]*[^[:space:]].*[[:space:]]([0-9]+[.][0-9]{6,9}: +[0-9]* *[^[:space:]]+:) +"
		"[[:xdigit:]]{1,16} ([^[:digit:][:space:]].*) \\(.*\\)$";
	regmatch_t part[REGEX_PARTS];
	const char *origin;
	int depth = 0;

	if (!len || line[len - 1] != ')')
		return NULL;
	*alone = text_matches(line, len, sample, part);
	if (!*alone && !text_matches(line, len, frame, part))
		return NULL;
	*name = line + part[2].rm_so;
	/* A path may have parentheses of its own: "(/bin/a (deleted))" */
	for (origin = line + len - 1; origin > *name; origin--) {
		depth += (*origin == ')') - (*origin == '(');
		if (!depth)
			return origin[-1] == ' ' ? origin : NULL;
	}
	return NULL;
}

/*
 * Return the name to show, without its offset; if it is unknown, that of the object, as
 * stackcollapse-perf.pl does.  The caller frees it
 */
static char *perf_name(const char *name, size_t len, const char *origin, const char *end)
{
	static const char offset[] = "^(.+)[+]0x[[:xdigit:]]+$";
	const char *base = memrchr(origin, '/', end - origin);
	regmatch_t part[REGEX_PARTS];
	char *text, *p;

	if (text_matches(name, len, offset, part))
		len = part[1].rm_eo;
	if (len == strlen(UNKNOWN) && !memcmp(name, UNKNOWN, len) && base && origin[1] == '/')
		text = xasprintf("[%.*s]", (int)(end - 1 - (base + 1)), base + 1);
	else
		text = xasprintf("%.*s", (int)len, name);
	/* It separates frames */
	for (p = text; (p = strchr(p, ';')); p++)
		*p = '_';
	return text;
}

/* Add a frame of perf script, whose names of programs hold anything, and return true */
static bool take_perf(struct decoder *d, const char *line, size_t len)
{
	struct around a = { .before = line, .after = "", .alone = true };
	struct frame f = { .module = "", .sizeless = true };
	const char *origin, *name, *end;
	struct trace *t = NULL;
	char *shown;
	bool alone;

	if (!d->traces.ended)
		return false;
	end = line + text_trim(line, len);
	origin = perf_origin(line, end - line, &name, &alone);
	if (!origin)
		return false;
	shown = perf_name(name, text_trim(name, origin - name), origin, end);
	f.name = shown;
	f.name_len = strlen(shown);
	take_origin(&f, origin - 1, end - (origin - 1));
	/* Not of an object that is unknown itself */
	if (*shown == '[')
		f.module_len = 0;
	kind_in_line(d, &f, &(struct marker){ .at = NULL }, &a, &t);
	if (alone && t)
		traces_end_one(&d->traces, t);
	free(shown);
	return true;
}

/* A line, and the current frame in it */
struct scan {
	const char *line;
	size_t len;
	size_t prefix;	/* bytes before its first frame */
	size_t done;	/* bytes copied so far */
	size_t at, end;	/* position of the frame */
};

/* As !text_trim(), but from the front: all of a long line is not read for each frame */
static bool is_blank(const char *text, size_t len)
{
	while (len && isspace((unsigned char)*text))
		text++, len--;
	return !len;
}

static struct around look_around(struct decoder *d, const struct scan *s,
				 const struct frame *f)
{
	struct around a = { .before = s->line + s->done, .before_len = s->at - s->done,
			    .after = s->line + s->end, .after_len = s->len - s->end };
	size_t next = s->end;
	const struct trace *known;
	struct frame other;
	struct line_start shape;

	if (a.after_len && *a.after == ' ')
		a.mark = mark_length(a.after + 1, a.after_len - 1);
	a.mark += !!a.mark;
	a.guess = text_ends_with(a.before, a.before_len, "? ") || (!s->done && d->question);
	a.cut = a.after_len && *a.after == '=' && is_blank(a.after + 1, a.after_len - 1);
	if (f->sizeless && !f->decimal && is_blank(a.after, a.after_len)) {
		traces_line_start(&shape, a.before, a.before_len);
		known = traces_known(&d->traces, &shape);
		a.cut = known && known->frames && known->sized;
	}
	a.more = next_frame(&other, s->line, s->len, &next) &&
		 is_separator(a.after, next - s->end, s->line, s->prefix);
	a.alone = a.more || a.cut || is_end(a.after + a.mark, a.after_len - a.mark) ||
		  f->sizeless;
	return a;
}

/* "[   12.3]  ?", of a guess whose frame is in the next line */
static const char lone_question[] = "(^|[]>:)])[[:space:]]*[?][[:space:]]*$";

/* "> 0x370", the rest of a frame that was cut in the previous line */
static const char rest[] = "^[[:xdigit:]x/>[:space:]]+$";

/* Decode one line of the log, which may be a part of a line in the file */
static void decode_part(struct decoder *d, const char *line, size_t len, FILE *out)
{
	struct scan s = { .line = line, .len = len };
	bool after_cut = d->was_cut, ended = false;
	unsigned int frames;
	struct trace *t = NULL;
	struct frame f;
	size_t n;

	/* All frames on one line, and the count is elsewhere */
	if (d->traces.ended && len && *line == '{' && text_holds(line, len, "\"frames\":[")) {
		d->json++;
		return;
	}
	if (!d->record)
		learn_kernel(d->srcline, line, len);
	d->was_cut = false;
	if (take_perf(d, line, len))
		return;
	for (frames = 0; (n = next_frame(&f, line, len, &s.at)); frames++) {
		bool kernel = !f.sizeless || take_origin(&f, line + s.at + n, len - s.at - n);
		enum frame_kind kind = FRAME_OPEN;
		const char *text = NULL;
		struct marker marker;
		struct around a;

		s.end = s.at + n;
		if (!frames)
			s.prefix = s.at;
		a = look_around(d, &s, &f);
		marker = marker_find(a.before, a.before_len, a.after, a.after_len);
		/* bpf tools and SystemTap call vmlinux "[kernel]" */
		if (f.module_len == 6 && !memcmp(f.module, "kernel", 6))
			f.module_len = 0;
		if (t && !marker.at && is_separator(a.before, a.before_len, line, s.prefix)) {
			kind = kind_in_trace(d, &f, t, &a);
		} else if (!frames && is_again(d, line, len, true)) {
			kind = d->last_kind;
		} else {
			if (!a.alone && !ended) {
				traces_end(&d->traces, line, s.at, NULL);
				traces_line(&d->traces, line, len);
				ended = true;
			}
			t = NULL;
			d->beside += frames && !marker.at &&
				     !text_holds(a.before, a.before_len, " from ");
			if (!frames || marker.at)
				kind = kind_in_line(d, &f, &marker, &a, &t);
			if (t || marker.at)
				ended = false;
			if (!frames)
				d->last_kind = kind;
		}
		d->sized |= !f.sizeless;
		/* Keep source lines that the text already has */
		if (has_line(a.after + a.mark, a.after_len - a.mark))
			d->lined++;
		else if (a.cut)
			d->was_cut = true;
		else if (kernel && !d->traces.ended)
			text = marker.place ? warning_line(d, &f, &marker) :
					      frame_line(d, &f, kind);
		s.at = s.end;
		fwrite(line + s.done, 1, s.end - s.done, out);
		s.done = s.end;
		if (text)
			fputs(text, out);
	}
	/* Traces on one line each */
	if (frames > 1 && t)
		traces_end_one(&d->traces, t);
	d->question = !frames && text_matches(line, len, lone_question, NULL);
	d->was_cut |= take_cut(d, line + s.done, len - s.done);
	d->cut += d->was_cut;
	if (!frames && !d->was_cut && !d->question &&
	    !(after_cut && text_matches(line, len, rest, NULL)) &&
	    !is_again(d, line, len, false))
		traces_other(&d->traces, line, len);
	fwrite(line + s.done, 1, len - s.done, out);
}

/* Length of a line number, as from "grep -n" and "cat -n", or 0 */
static size_t line_number(struct decoder *d, const char *line, size_t len)
{
	u64 number = 0;
	size_t n = 0;

	while (n < len && strchr(" \t", line[n]))
		n++;
	for (; n < len && isdigit((unsigned char)line[n]); n++)
		number = 10 * number + line[n] - '0';
	/* Numbers of frames, as in ftrace's stack_trace, are not line numbers */
	if (n == len || !line[n] || !strchr(":-| \t", line[n]))
		number = 0;
	d->numbered = number && number == d->number + 1 ? d->numbered + 1 : 0;
	d->number = number;
	/* "grep -n" may omit lines after the numbers were recognized */
	d->numbers |= d->numbered >= 3;
	return d->numbers && number ? n + 1 : 0;
}

/* A line of the file may contain several of the log, as a JSON string does */
static void decode_parts(struct decoder *d, const char *line, size_t len, FILE *out)
{
	size_t at = 0, parts = 0, end = len, n;

	/* At a line's end carriage returns separate nothing; there may be any number of them */
	while (end && line[end - 1] == '\r')
		end--;
	while (at < end) {
		n = text_newline(line + at, len - at);
		if (!n) {
			at++;
			continue;
		}
		decode_part(d, line, at, out);
		fwrite(line + at, 1, n, out);
		line += at + n;
		len -= at + n;
		end -= at + n;
		at = 0;
		parts++;
	}
	/* In JSON the text after a string with one line of the log is not part of that line */
	if (parts == 1 && len && *line == '"')
		fwrite(line, 1, len, out);
	else
		decode_part(d, line, len, out);
}

void decode_line(struct decoder *d, const char *line, size_t len, FILE *out)
{
	size_t n = line_number(d, line, len);

	fwrite(line, 1, n, out);
	decode_parts(d, line + n, len - n, out);
}

void decode_file(struct decoder *d, FILE *in, FILE *out)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t len;

	/* Stop at the first write error */
	while (!ferror(out) && (len = getline(&line, &room, in)) >= 0) {
		bool whole = len && line[len - 1] == '\n';

		decode_line(d, line, len - whole, out);
		if (whole)
			putc('\n', out);
	}
	traces_close(&d->traces);
	free(line);
}
