// SPDX-License-Identifier: GPL-2.0
/*
 * vmcoreinfo.c - VMCOREINFO, the kernel's notes about itself for readers of its dumps
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "input/vmcoreinfo.h"

/* Copy the value of a line "KEY=VALUE".  Return false if it is missing or does not fit */
static bool find_value(const char *info, const char *key, char *value, size_t size)
{
	const char *p = info, *line;
	size_t len = strlen(key);

	for (; p && (line = strchr(p, '\n')); p = line + 1) {
		if (strncmp(p, key, len) || p[len] != '=')
			continue;
		p += len + 1;
		if (p == line || (size_t)(line - p) >= size)
			return false;
		memcpy(value, p, line - p);
		value[line - p] = '\0';
		return true;
	}
	return false;
}

bool vmcoreinfo_value(const char *info, const char *key, int base, u64 *value)
{
	char text[32], *end;

	if (!find_value(info, key, text, sizeof(text)))
		return false;
	*value = strtoull(text, &end, base);
	return !*end;
}

bool vmcoreinfo_symbol(const char *info, const char *name, u64 *value)
{
	char key[64];

	snprintf(key, sizeof(key), "SYMBOL(%s)", name);
	return vmcoreinfo_value(info, key, 16, value);
}

bool vmcoreinfo_number(const char *info, const char *name, u64 *value)
{
	char key[64];

	snprintf(key, sizeof(key), "NUMBER(%s)", name);
	/* Some are hexadecimal with 0x, some are negative */
	return vmcoreinfo_value(info, key, 0, value);
}

bool vmcoreinfo_kernel_offset(const char *info, u64 *offset)
{
	char digits[17];

	/* strtoull() would accept a sign and blanks */
	return find_value(info, "KERNELOFFSET", digits, sizeof(digits)) &&
		!digits[strspn(digits, "0123456789abcdef")] &&
		vmcoreinfo_value(info, "KERNELOFFSET", 16, offset);
}

void vmcoreinfo_release(const char *info, char *release, char *build_id)
{
	char text[256];

	*release = '\0';
	*build_id = '\0';
	if (find_value(info, "OSRELEASE", text, sizeof(text)))
		sscanf(text, "%63[!-~]", release);
	if (find_value(info, "BUILD-ID", text, sizeof(text)))
		sscanf(text, "%127[0-9a-f]", build_id);
}
