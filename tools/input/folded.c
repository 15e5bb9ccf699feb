// SPDX-License-Identifier: GPL-2.0
/*
 * folded.c - stacks as text, "outermost;...;innermost count", of whatever program
 */
#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "input/folded.h"

/* Most bytes of a line that decides whether it is such a file */
#define LINE_MAX	65536

/* As the output has it */
#define CUT_FRAME	"(more frames were not kept)"

/* Split off the count at the end of a line of @len bytes.  Return false if there is none */
static bool split_count(char *line, size_t len, u64 *count)
{
	char *blank, *end;

	if (strlen(line) != len)
		return false;
	while (len && (line[len - 1] == '\n' || line[len - 1] == '\r'))
		line[--len] = '\0';
	blank = strrchr(line, ' ');
	if (!blank || blank == line || blank[1] < '0' || blank[1] > '9')
		return false;
	errno = 0;
	*count = strtoull(blank + 1, &end, 10);
	*blank = '\0';
	return !errno && !*end;
}

bool folded_is(const char *path)
{
	char line[LINE_MAX];
	struct stat st;
	u64 count;
	bool is;
	FILE *f;

	if (!strcmp(path, "-"))
		return true;
	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	f = fopen(path, "re");
	/* fgets() would pass over NULs of a dump: the line must end with its count */
	memset(line, 'x', sizeof(line));
	is = f && fgets(line, sizeof(line), f) && !memchr(line, '\0', strcspn(line, "\n")) &&
	     strchr(line, '\n') && split_count(line, strlen(line), &count);
	if (f)
		fclose(f);
	return is;
}

/* "function_[module]" as "function [module]", by which the output knows a module */
static char *frame_name(const char *word)
{
	char *name = printable(xstrdup(word)), *module = strstr(name, "_["), *p;
	size_t len = strlen(name);

	if (module && module > name && module[2] != ']' && strchr(module, ']') == name + len - 1)
		*module++ = ' ';
	else
		module = NULL;
	/* Other brackets are not a module's */
	for (p = name; *p && p != module; p++)
		*p = *p == '[' ? '(' : *p == ']' ? ')' : *p;
	return name;
}

static void name_frames(struct stack *s, char *text)
{
	char *word, *name;
	size_t room = 0;
	unsigned int i;

	s->cut = !strncmp(text, CUT_FRAME ";", strlen(CUT_FRAME ";"));
	if (s->cut)
		text += strlen(CUT_FRAME ";");
	for (; (word = strsep(&text, ";")); ) {
		GROW(s->name, s->named, room);
		s->name[s->named++] = frame_name(*word ? word : "?");
	}
	/* Innermost first */
	for (i = 0; i < s->named / 2; i++) {
		name = s->name[i];
		s->name[i] = s->name[s->named - 1 - i];
		s->name[s->named - 1 - i] = name;
	}
}

/* A stack by its text; the first member is compared */
struct line {
	char *text;
	struct stack *stack;
};

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct line *)a)->text, ((const struct line *)b)->text);
}

static void free_line(void *line)
{
	free(((struct line *)line)->text);
	free(line);
}

/* Read one file; equal stacks of all files are in @tree */
static int read_lines(FILE *f, const char *name, struct record *r, void **tree, char *error,
		      size_t size)
{
	struct line *one, **found;
	char *line = NULL;
	size_t room = 0;
	u64 count, nr = 0;
	ssize_t len;
	int ret = 0;

	while (!ret && (len = getline(&line, &room, f)) > 0) {
		nr++;
		if (*line == '\n')
			continue;
		if (!split_count(line, len, &count)) {
			ret = set_error(error, size,
					"%s: line %llu is not a folded stack: outermost;...;innermost count",
					name, nr);
			break;
		}
		one = xcalloc(1, sizeof(*one));
		one->text = xstrdup(line);
		found = tsearch(one, tree, by_text);
		if (!found)
			die(1, "out of memory");
		if (*found == one) {
			one->stack = stacks_get(&r->stacks, r->stacks.nr + 1);
			name_frames(one->stack, line);
		} else {
			free_line(one);
		}
		one = *found;
		if (__builtin_add_overflow(one->stack->count, count, &one->stack->count))
			ret = set_error(error, size,
					"%s: line %llu: the stack's total is beyond 64 bits",
					name, nr);
	}
	if (!ret && ferror(f))
		ret = set_error(error, size, "%s: %s", name, strerror(errno));
	free(line);
	return ret;
}

int folded_read(char *const *path, unsigned int paths, struct record *r, char *error, size_t size)
{
	void *tree = NULL;
	unsigned int i;
	int ret = 0;
	FILE *f;

	memset(r, 0, sizeof(*r));
	for (i = 0; i < paths && !ret; i++) {
		if (!strcmp(path[i], "-")) {
			ret = read_lines(stdin, "standard input", r, &tree, error, size);
			continue;
		}
		f = fopen(path[i], "re");
		if (!f) {
			ret = set_error(error, size, "%s: %s", path[i], strerror(errno));
			continue;
		}
		ret = read_lines(f, path[i], r, &tree, error, size);
		fclose(f);
	}
	tdestroy(tree, free_line);
	return ret;
}
