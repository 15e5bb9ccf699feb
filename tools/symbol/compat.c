// SPDX-License-Identifier: GPL-2.0
/*
 * compat.c - lines of text as the kernel's decode_stacktrace.sh writes them
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "symbol/decode.h"

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
	    srcline_frame(d->srcline, &f, FRAME_COMPAT, &text))
		decode_leave(d);
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
		GROW(word, n);
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
	if (n > 1 && word[n - 1].text && decode_mark(word[n - 1].text, word[n - 1].len))
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

void compat_line(struct decoder *d, const char *line, size_t len, FILE *out)
{
	struct frame f;

	/* Trim blanks as the script's "read" does, which also removes backslashes: these stay */
	while (len && isspace((unsigned char)line[len - 1]))
		len--;
	for (; len && isspace((unsigned char)*line); len--)
		line++;
	if (has_address(line, len) || decode_next_frame(&f, line, len))
		compat_frames(d, line, len, out);
	else
		fwrite(line, 1, len, out);
}
