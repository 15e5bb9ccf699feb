// SPDX-License-Identifier: GPL-2.0
/*
 * suggest.c - what a name that no function has was meant to be
 */
#include <stdlib.h>
#include <string.h>
#include "symbol/kallsyms.h"
#include "watch/pattern.h"

#define NAME_MAX_LEN	64
#define CLOSE_ENOUGH	2	/* at most one letter of four */
#define VARIANTS_MAX	3

static int least(int a, int b, int c)
{
	return a < b ? (a < c ? a : c) : b < c ? b : c;
}

/* Letters to change, add, remove, or to swap with the next one, to make one name of the other */
static int distance(const char *a, const char *b)
{
	int la = strlen(a), lb = strlen(b), i, j;
	int row[NAME_MAX_LEN + 1][NAME_MAX_LEN + 1];

	if (la > NAME_MAX_LEN || lb > NAME_MAX_LEN || abs(la - lb) > CLOSE_ENOUGH)
		return CLOSE_ENOUGH + 1;
	for (i = 0; i <= la; i++)
		row[i][0] = i;
	for (j = 0; j <= lb; j++)
		row[0][j] = j;
	for (i = 1; i <= la; i++)
		for (j = 1; j <= lb; j++) {
			row[i][j] = least(row[i - 1][j] + 1, row[i][j - 1] + 1,
					  row[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    row[i - 2][j - 2] + 1 < row[i][j])
				row[i][j] = row[i - 2][j - 2] + 1;
		}
	return row[la][lb];
}

static void append(char **text, const char *name)
{
	char *more = xasprintf("%s%s%s", *text ?: "", *text ? ", " : "", name);

	free(*text);
	*text = more;
}

char *pattern_suggest(const struct pattern *p)
{
	char *variants = NULL, *close = NULL, *said = NULL;
	size_t len = strlen(p->function);
	unsigned int found = 0;
	struct kallsyms k;
	int best = (len / 4 < CLOSE_ENOUGH ? len / 4 : CLOSE_ENOUGH) + 1, d;

	if (p->kind != PATTERN_NAME || p->addr || p->event || kallsyms_open(&k, "/proc/kallsyms"))
		return NULL;
	while (kallsyms_next(&k)) {
		if (!kallsyms_is_code(&k) || (p->module && strcmp(p->module, k.module)))
			continue;
		d = distance(p->function, k.name);
		if (!d)
			goto out;
		/* gcc's copies of a function, for some of its callers */
		if (!strncmp(k.name, p->function, len) && k.name[len] == '.' &&
		    !strstr(k.name, ".cold") && found++ < VARIANTS_MAX)
			append(&variants, k.name);
		if (d < best) {
			best = d;
			free(close);
			close = xstrdup(k.name);
		}
	}
	if (variants)
		said = xasprintf("the compiler has made of it: %s%s", variants,
				 found > VARIANTS_MAX ? ", ..." : "");
	else if (close)
		said = xasprintf("did you mean %s?", close);
out:
	kallsyms_close(&k);
	free(variants);
	free(close);
	return said;
}
