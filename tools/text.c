// SPDX-License-Identifier: GPL-2.0
/*
 * text.c - text from files, for terminals
 */
#include <stddef.h>
#include "text.h"

/* Bytes of the character at @p if it is whole, the shortest form and no control; else 0 */
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
	if (code < form[len].least || code == 0x7f || (code >= 0xd800 && code < 0xe000) ||
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
