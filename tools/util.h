/* SPDX-License-Identifier: GPL-2.0 */
/*
 * util.h - types, memory, errors and text, for all of the tools
 */
#ifndef UTIL_H
#define UTIL_H

#include <linux/types.h>
#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof(*(array)))

#define NSEC_PER_SEC	1000000000ULL

/* Of this program: the Makefile sets it */
#ifndef VERSION
#define VERSION "unknown"
#endif

/* ---------------------------------------------------------------- memory --- */

/* Allocate, or end the program with one line on standard error */
void *xrealloc(void *p, size_t n, size_t size);
void *xcalloc(size_t n, size_t size);	/* pages use memory only when first written */
char *xstrdup(const char *text);	/* NULL for NULL */
char *xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Texts, allocated */
struct words {
	char **word;
	unsigned int nr;
};

/*
 * Make room for one more element at the end of an array that only GROW() allocates: it has room for
 * 64 elements, or for the next power of two
 */
#define GROW(array, nr) do {						\
	if (!(nr) || ((nr) >= 64 && !((nr) & ((nr) - 1))))		\
		(array) = xrealloc((array), (nr) ? 2 * (nr) : 64, sizeof(*(array))); \
} while (0)

/* ---------------------------------------------------------------- errors --- */

/* For die(): invalid usage */
#define EXIT_USAGE	2

/* Flush standard output, print one line on standard error and end the program with @code */
void die(int code, const char *format, ...) __attribute__((noreturn, format(printf, 2, 3)));

/* Flush standard output; end the program if the output could not be written */
void end_output(void);

/* Print one line on standard error */
void report(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Report "@n @one" for 1, "@n @many" for more, nothing for 0 */
void report_count(u64 n, const char *one, const char *many);

/* Write one printable line into @error, of @size bytes.  Return -1 */
int set_error(char *error, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Call set_error() for the array @owner->error */
#define failed(owner, ...)	set_error((owner)->error, sizeof((owner)->error), __VA_ARGS__)

/* ----------------------------------------------------------------- files --- */

/* Read up to @size bytes, fewer only at the end of the file.  Return their number, or -1 */
ssize_t read_at(int fd, void *buf, size_t size, u64 offset);

/*
 * Find a note by its name and, unless that is 0, its type.  Return its contents, of *@len bytes, or
 * NULL if it is missing.
 */
const char *note_find(const char *notes, size_t size, const char *name, u32 type, size_t *len);

/* ------------------------------------------------------------------ text --- */

/*
 * Replace control characters, including the 8-bit ones (C1) in either encoding, and invalid UTF-8
 * by question marks, in place.  Return @text.
 */
char *printable(char *text);

/* @c if it is printable ASCII, else a question mark */
char printable_ascii(char c);

/* Terminate a string of @size bytes, and replace bytes that are not printable ASCII */
void make_printable(char *text, size_t size);

/* The value of a hexadecimal digit */
unsigned int hex_digit(char c);

/* Return true if unterminated text begins with a string, ends with it, or contains it */
bool text_begins_with(const char *text, size_t len, const char *what);
bool text_ends_with(const char *text, size_t len, const char *what);
bool text_holds(const char *text, size_t len, const char *what);

/*
 * Return true if unterminated text matches a constant extended regular expression, regex(7).  Set
 * @part, of REGEX_PARTS, unless it is NULL.  Lines of more than REGEX_TEXT_MAX bytes do not match.
 */
#define REGEX_PARTS	4
#define REGEX_TEXT_MAX	4096
bool text_matches(const char *text, size_t len, const char *pattern, regmatch_t *part);

/* Length of text without trailing blanks */
size_t text_trim(const char *text, size_t len);

/* FNV-1a */
u32 hash_bytes(const void *bytes, size_t len);

/*
 * A stream that writes into memory: *@text, which the caller frees, and *@len are valid only after
 * text_close().  Both end the program if out of memory.
 */
FILE *text_open(char **text, size_t *len);
void text_close(FILE *f);

/* ----------------------------------------------------------------- order --- */

int compare_u64(u64 a, u64 b);

/* Like qsort() and qsort_r(), but @array may be NULL if it is empty */
void sort(void *array, size_t nr, size_t size, int (*order)(const void *a, const void *b));
void sort_with(void *array, size_t nr, size_t size,
	       int (*order)(const void *a, const void *b, void *arg), void *arg);

/* A text, with data about it.  Trees of these are search.h's */
struct named {
	char *text;
	u64 id;
	void *data;
};

/*
 * Find a text; if it is missing, enter a copy and set *@is_new, or return NULL if @is_new is NULL
 */
struct named *named_get(void **tree, const char *text, bool *is_new);
void named_free(void **tree);

/* For sort() and bsearch(): compare u64, structs that begin with one, and pointers to strings */
int order_u64(const void *a, const void *b);
int order_strings(const void *a, const void *b);

/* The index of the first element above @value, or @nr, in an array sorted with order_u64() */
size_t first_above(const void *array, size_t nr, size_t size, u64 value);

#endif
