// SPDX-License-Identifier: GPL-2.0
/*
 * frame.c - one frame of a trace, as the kernel prints it
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "symbol/frame.h"

static bool name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '$';
}

static size_t hex_number(const char *text, size_t len, u64 *value)
{
	size_t n;

	if (len < 3 || text[0] != '0' || text[1] != 'x')
		return 0;
	*value = 0;
	for (n = 2; n < len && isxdigit((unsigned char)text[n]); n++) {
		if (n >= 18)
			return 0;
		*value = *value << 4 | hex_digit(text[n]);
	}
	return n > 2 ? n : 0;
}

size_t frame_parse(struct frame *f, const char *text, size_t len)
{
	size_t n = 0, at, digits;

	*f = (struct frame){ .name = text, .module = "", .build_id = "" };
	while (n < len && name_char(text[n]))
		n++;
	if (!n || n > 511 || n >= len || text[n] != '+')
		return 0;
	f->name_len = n++;
	digits = hex_number(text + n, len - n, &f->offset);
	n += digits;
	if (!digits || n >= len || text[n++] != '/')
		return 0;
	digits = hex_number(text + n, len - n, &f->size);
	n += digits;
	if (!digits)
		return 0;

	if (n + 3 > len || text[n] != ' ' || text[n + 1] != '[')
		return n;
	at = n + 2;
	while (at < len && (isalnum((unsigned char)text[at]) || text[at] == '_' || text[at] == '-'))
		at++;
	digits = at - n - 2;
	if (!digits || digits > 63 || at >= len)
		return n;
	if (text[at] == ' ') {
		size_t id = ++at;

		while (at < len && isxdigit((unsigned char)text[at]))
			at++;
		if (at == id || at - id > 128)
			return n;
		f->build_id = text + id;
		f->build_id_len = at - id;
	}
	if (at >= len || text[at] != ']') {
		f->build_id_len = 0;
		return n;
	}
	f->module = text + n + 2;
	f->module_len = digits;
	return at + 1;
}

bool frame_is_entry(const char *name, size_t len)
{
	static const char *const entry[] = {
		/* x86; int3 alone reports the address after itself */
		"asm_exc_", "asm_sysvec_", "asm_common_interrupt", "asm_spurious_interrupt",
		"xen_asm_exc_", "end_repeat_nmi",
		/* arm64 */
		"el1h_64_", "el1t_64_", "el1_irq", "el1_sync",
	};
	size_t i;

	if (len >= 11 && (!strncmp(name, "asm_exc_int3", len) ||
			  !strncmp(name, "xen_asm_exc_int3", len)))
		return false;
	for (i = 0; i < ARRAY_SIZE(entry); i++)
		if (len >= strlen(entry[i]) && !strncmp(name, entry[i], strlen(entry[i])))
			return true;
	return false;
}

size_t frame_function_len(const char *name)
{
	const char *end = strstr(name, "+0x") ?: strstr(name, " [");

	return end ? (size_t)(end - name) : strlen(name);
}

const char *frame_module(const char *name, char text[FRAME_MODULE_MAX])
{
	const char *module = strchr(name, '[');
	int len = module ? (int)strcspn(module + 1, " ]") : 0;

	*text = '\0';
	if (len)
		snprintf(text, FRAME_MODULE_MAX, "_[%.*s]", len, module + 1);
	return text;
}
