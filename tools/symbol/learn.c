// SPDX-License-Identifier: GPL-2.0
/*
 * learn.c - which kernel a log is of
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "symbol/symbols.h"
#include "symbol/decode.h"

/* A part of a line */
struct span {
	const char *at, *end;
};

static const char *find(struct span t, const char *what)
{
	return memmem(t.at, t.end - t.at, what, strlen(what));
}

static struct span trim_end(struct span t)
{
	t.end = t.at + text_trim(t.at, t.end - t.at);
	return t;
}

/* The word that begins here */
static struct span word_at(const char *at, const char *end)
{
	struct span w = { at, at };

	while (w.end < end && !isspace((unsigned char)*w.end))
		w.end++;
	return w;
}

/* A kernel's release, as "uname -r" prints it */
static bool is_release(struct span w)
{
	const char *p = w.at;

	while (p < w.end && isdigit((unsigned char)*p))
		p++;
	return p > w.at && p + 1 < w.end && *p == '.' && isdigit((unsigned char)p[1]);
}

/*
 * May this stand before a line of the kernel's own?  "init: " is of a process that writes there,
 * "kernel: " and "kernel[0]: " are not, nor is "kernel - - - " of RFC 5424
 */
static bool is_own_prefix(struct span t)
{
	char last, before;
	const char *p;

	t = trim_end(t);
	last = t.end > t.at ? t.end[-1] : ' ';
	before = t.end - t.at > 1 ? t.end[-2] : ' ';
	if (last == '-')
		return text_ends_with(t.at, t.end - t.at, "- - -");
	if (last == ':' && before == ']') {
		for (p = t.end - 2; p > t.at && isdigit((unsigned char)p[-1]); p--)
			;
		t.end = p;
		return text_ends_with(t.at, t.end - t.at, "kernel[");
	}
	if (last == ':')
		return !isalnum((unsigned char)before) ||
		       text_ends_with(t.at, t.end - t.at, "kernel:");
	return !isalpha((unsigned char)last) || isdigit((unsigned char)before);
}

static void learn_banner(struct srcline *l, struct span line, const char *at)
{
	struct span release = word_at(at + 14, line.end);
	char *name, *banner;

	if (!is_release(release) || !is_own_prefix((struct span){ line.at, at }))
		return;
	line = trim_end(line);
	name = strndup(release.at, release.end - release.at);
	/* Some cut the line after the release */
	banner = line.end > release.end ? strndup(at, line.end - at) : NULL;
	if (name)
		srcline_set_kernel(l, name, banner, NULL);
	free(name);
	free(banner);
}

/*
 * The release in "Comm: cat Not tainted 6.1.0 #1", "Tainted: P 6.1.0 #1" of a hung task, or in a
 * line "6.1.0 #1 Not tainted" of lockdep and RCU
 */
static struct span tainted_release(struct span line)
{
	const char *tainted = find(line, "Tainted: "), *at = tainted ?: find(line, "Not tainted");
	struct span w = { line.at, line.at }, before;

	if (!at)
		return w;
	before = trim_end((struct span){ line.at, at });
	/* print_tainted(): a letter or a blank for each flag; RHEL's kernels have '-', too */
	at += tainted ? 9 : 11;
	while (at < line.end && (*at == ' ' || *at == '-' || isupper((unsigned char)*at)))
		at++;
	w = word_at(at, line.end);
	if (is_release(w) && line.end - w.end > 2 && w.end[1] == '#')
		return w;
	for (at = before.end; at > before.at && isdigit((unsigned char)at[-1]); at--)
		;
	w = (struct span){ line.at, line.at };
	if (at == before.end || at - before.at < 3 || at[-1] != '#' || at[-2] != ' ')
		return w;
	w.end = at - 2;
	w.at = w.end;
	while (w.at > line.at && !isspace((unsigned char)w.at[-1]) && w.at[-1] != ';')
		w.at--;
	if (!is_release(w) || !is_own_prefix((struct span){ line.at, w.at }))
		w.at = w.end;
	return w;
}

void learn_kernel(struct srcline *l, const char *text, size_t len)
{
	struct span line = { text, text + len }, release, id;
	const char *p = find(line, "Linux version ");
	char *name, build_id[BUILD_ID_DIGITS + 1] = "";

	if (p) {
		learn_banner(l, line, p);
		return;
	}
	release = tainted_release(line);
	if (release.at == release.end)
		return;
	/* With CONFIG_STACKTRACE_BUILD_ID */
	line = trim_end(line);
	for (id = (struct span){ line.end, line.end };
	     id.at > release.end && isxdigit((unsigned char)id.at[-1]); id.at--)
		;
	if (id.end - id.at >= 32 && id.end - id.at <= BUILD_ID_DIGITS && id.at[-1] == ' ')
		memcpy(build_id, id.at, id.end - id.at);
	name = strndup(release.at, release.end - release.at);
	if (name)
		srcline_set_kernel(l, name, NULL, *build_id ? build_id : NULL);
	free(name);
}
