// SPDX-License-Identifier: GPL-2.0
/*
 * util.c - types, memory, errors and text, for all of the tools
 */
#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "util.h"

/* ---------------------------------------------------------------- memory --- */

static void *not_null(void *p, size_t n, size_t size)
{
	if (!p && n && size)
		die(1, "out of memory");
	return p;
}

void *xrealloc(void *p, size_t n, size_t size)
{
	return not_null(reallocarray(p, n, size), n, size);
}

void *xcalloc(size_t n, size_t size)
{
	return not_null(calloc(n, size), n, size);
}

char *xstrdup(const char *text)
{
	return text ? not_null(strdup(text), 1, 1) : NULL;
}

char *xasprintf(const char *format, ...)
{
	va_list args;
	char *text;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	return not_null(n < 0 ? NULL : text, 1, 1);
}

/* ---------------------------------------------------------------- errors --- */

static void __attribute__((format(printf, 1, 0))) print_error(const char *format, va_list args)
{
	char *text;

	if (vasprintf(&text, format, args) < 0) {
		fputs("stackbuf: out of memory\n", stderr);
		return;
	}
	fprintf(stderr, "stackbuf: %s\n", printable(text));
	free(text);
}

void die(int code, const char *format, ...)
{
	int error = errno;
	va_list args;

	/* Earlier output must precede the message, which may contain %m */
	fflush(stdout);
	errno = error;
	va_start(args, format);
	print_error(format, args);
	va_end(args);
	exit(code);
}

void end_output(void)
{
	if (fflush(stdout) || ferror(stdout))
		die(1, "cannot write: %m");
}

void report(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_error(format, args);
	va_end(args);
}

void report_count(u64 n, const char *one, const char *many)
{
	if (n)
		report("%llu %s", n, n == 1 ? one : many);
}

int set_error(char *error, size_t size, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error, size, format, args);
	va_end(args);
	printable(error);
	return -1;
}

/* ----------------------------------------------------------------- files --- */

ssize_t read_at(int fd, void *buf, size_t size, u64 offset)
{
	size_t done = 0;

	/* Callers rely on the order of their reads of live memory */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	while (done < size) {
		ssize_t n = pread(fd, (char *)buf + done, size - done, offset + done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (!n)
			break;
		done += n;
	}
	return done;
}

const char *note_find(const char *notes, size_t size, const char *name, u32 type, size_t *len)
{
	u64 at = 0, text, next;
	Elf64_Nhdr note;

	for (; at <= size && size - at >= sizeof(note); at = next) {
		memcpy(&note, notes + at, sizeof(note));
		at += sizeof(note);
		text = at + (((u64)note.n_namesz + 3) & ~3ULL);
		next = text + (((u64)note.n_descsz + 3) & ~3ULL);
		if (text + note.n_descsz > size)
			break;
		if (note.n_namesz != strlen(name) + 1 || memcmp(notes + at, name, note.n_namesz) ||
		    (type && note.n_type != type))
			continue;
		*len = note.n_descsz;
		return notes + text;
	}
	return NULL;
}

/* ------------------------------------------------------------------ text --- */

/*
 * Length of the UTF-8 character at @p, or 0 if it is incomplete, not in its shortest form, a
 * control character, or not allowed in XML
 */
static size_t character(const unsigned char *p)
{
	static const struct {
		unsigned char mask, lead;
		unsigned int least;
	} form[] = { { 0x80, 0, 0x20 }, { 0xe0, 0xc0, 0xa0 }, { 0xf0, 0xe0, 0x800 },
		     { 0xf8, 0xf0, 0x10000 } };
	unsigned int code;
	size_t len, i;

	for (len = 0; len < 4 && (*p & form[len].mask) != form[len].lead; len++)
		;
	if (len == 4)
		return 0;
	code = *p & ~form[len].mask & 0xff;
	for (i = 1; i <= len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (p[i] & 0x3f);
	}
	if (code < form[len].least || (code >= 0x7f && code < 0xa0) ||
	    (code >= 0xd800 && code < 0xe000) || code == 0xfffe || code == 0xffff ||
	    code > 0x10ffff)
		return 0;
	return len + 1;
}

char *printable(char *text)
{
	unsigned char *p = (unsigned char *)text;
	size_t len;

	for (; *p; p += len) {
		len = character(p);
		if (!len) {
			*p = '?';
			len = 1;
		}
	}
	return text;
}

char printable_ascii(char c)
{
	return c >= ' ' && c <= '~' ? c : '?';
}

void make_printable(char *text, size_t size)
{
	text[size - 1] = '\0';
	for (; *text; text++)
		*text = printable_ascii(*text);
}

unsigned int hex_digit(char c)
{
	return c <= '9' ? c - '0' : (c | 32) - 'a' + 10;
}

bool text_begins_with(const char *text, size_t len, const char *what)
{
	size_t n = strlen(what);

	return len >= n && !memcmp(text, what, n);
}

bool text_ends_with(const char *text, size_t len, const char *what)
{
	size_t n = strlen(what);

	return len >= n && !memcmp(text + len - n, what, n);
}

bool text_holds(const char *text, size_t len, const char *what)
{
	return memmem(text, len, what, strlen(what));
}

bool text_matches(const char *text, size_t len, const char *pattern, regmatch_t *part)
{
	static struct {
		const char *pattern;
		regex_t regex;
	} known[64];
	regmatch_t all[REGEX_PARTS];
	size_t i;

	if (len > REGEX_TEXT_MAX)
		return false;
	for (i = 0; known[i].pattern != pattern; i++) {
		if (known[i].pattern)
			continue;
		if (regcomp(&known[i].regex, pattern, REG_EXTENDED))
			die(1, "out of memory");
		known[i--].pattern = pattern;
	}
	all[0] = (regmatch_t){ .rm_so = 0, .rm_eo = len };
	if (regexec(&known[i].regex, text, REGEX_PARTS, all, REG_STARTEND))
		return false;
	if (part)
		memcpy(part, all, sizeof(all));
	return true;
}

size_t text_trim(const char *text, size_t len)
{
	while (len && isspace((unsigned char)text[len - 1]))
		len--;
	return len;
}

u32 hash_bytes(const void *bytes, size_t len)
{
	const unsigned char *p = bytes;
	u32 hash = 2166136261U;

	while (len--)
		hash = (hash ^ *p++) * 16777619U;
	return hash;
}

FILE *text_open(char **text, size_t *len)
{
	return not_null(open_memstream(text, len), 1, 1);
}

void text_close(FILE *f)
{
	if (fclose(f))
		die(1, "out of memory");
}

/* ----------------------------------------------------------------- order --- */

int compare_u64(u64 a, u64 b)
{
	return a < b ? -1 : a > b;
}

int order_u64(const void *a, const void *b)
{
	return compare_u64(*(const u64 *)a, *(const u64 *)b);
}

int order_strings(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct named *)a)->text, ((const struct named *)b)->text);
}

struct named *named_get(void **tree, const char *text, bool *is_new)
{
	struct named wanted = { .text = (char *)text }, *n, **found;

	found = tfind(&wanted, tree, by_text);
	if (is_new)
		*is_new = !found;
	if (found || !is_new)
		return found ? *found : NULL;
	n = xcalloc(1, sizeof(*n));
	n->text = xstrdup(text);
	if (!tsearch(n, tree, by_text))
		die(1, "out of memory");
	return n;
}

static void free_named(void *named)
{
	free(((struct named *)named)->text);
	free(named);
}

void named_free(void **tree)
{
	tdestroy(*tree, free_named);
	*tree = NULL;
}

size_t first_above(const void *array, size_t nr, size_t size, u64 value)
{
	size_t low = 0, high = nr, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (*(const u64 *)((const char *)array + middle * size) <= value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void sort(void *array, size_t nr, size_t size, int (*order)(const void *a, const void *b))
{
	if (nr > 1)
		qsort(array, nr, size, order);
}

void sort_with(void *array, size_t nr, size_t size,
	       int (*order)(const void *a, const void *b, void *arg), void *arg)
{
	if (nr > 1)
		qsort_r(array, nr, size, order, arg);
}
