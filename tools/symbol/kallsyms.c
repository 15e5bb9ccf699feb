// SPDX-License-Identifier: GPL-2.0
/*
 * kallsyms.c - the kernel's list of symbols, live or copied
 */
#include <stdlib.h>
#include <string.h>
#include "symbol/symbols.h"

int kallsyms_open(struct kallsyms *k, const char *path)
{
	memset(k, 0, sizeof(*k));
	k->file = fopen(path, "re");
	return k->file ? 0 : -1;
}

const char *kallsyms_split(char *text, const char **module)
{
	char *after = text + strcspn(text, " \t\n");

	if (*after)
		*after++ = '\0';
	after += strspn(after, " \t");
	after[strcspn(after, "]\n")] = '\0';
	*module = *after == '[' ? after + 1 : "";
	return text;
}

/* "ADDRESS TYPE NAME[\t[MODULE]]".  There are some 150,000 lines: sscanf() would be slow */
bool kallsyms_next(struct kallsyms *k)
{
	char *end;

	while (fgets(k->line, sizeof(k->line), k->file)) {
		k->addr = strtoull(k->line, &end, 16);
		if (end == k->line || end[0] != ' ' || !end[1] || end[2] != ' ')
			continue;
		k->type = end[1];
		k->name = kallsyms_split(end + 3, &k->module);
		if (*k->name)
			return true;
	}
	return false;
}

bool kallsyms_is_code(const struct kallsyms *k)
{
	return strchr("tTwW", k->type);
}
