// SPDX-License-Identifier: GPL-2.0
/*
 * choose.c - matches patterns with the running kernel's functions and events
 *
 * A pattern chooses the same functions as bcc's stackcount: the text symbols in kallsyms, including
 * those of modules, whose whole name matches, that are in ftrace's list and not in the blacklist of
 * kprobes, without the .cold parts that gcc splits off; .isra, .constprop and .part remain, as they
 * are functions.  Unlike bcc, it leaves out, and reports, a name that several functions share.
 *
 * A pattern of events chooses those with a tracepoint: the directories in tracefs except syscalls
 * and the events that other tools created.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "live/watch.h"

/* A function that a pattern matches */
struct candidate {
	char *name;			/* "[module:]function" */
	size_t module_len;		/* bytes of the module's name */
	const struct pattern *pattern;	/* the first that matches */
	size_t times;			/* functions with this name */
	bool available, blacklisted;	/* ftrace can trace it; kprobes refuse it, or it is freed */
};

struct candidates {
	struct candidate *one;
	size_t nr;
};

static const char *function_of(const struct candidate *c)
{
	return c->name + c->module_len + !!c->module_len;
}

/* Return true for a part of a function, and for text symbols in kallsyms that are not functions */
static bool unwanted(const char *function, const char *module)
{
	const char *cold = strstr(function, ".cold");

	if (cold && cold[5 + strspn(cold + 5, ".0123456789")] == '\0')
		return true;
	return !strncmp(function, "__SCT__", 7) || !strncmp(function, "__pfx_", 6) ||
	       !strncmp(module, "__builtin__", 11) || !strcmp(module, "bpf") ||
	       !strcmp(module, "stackbuf");
}

static char *whole_name(const char *function, const char *module)
{
	return xasprintf("%s%s%s", module, *module ? ":" : "", function);
}

static void read_kallsyms(const struct patterns *p, const char *path, bool expand,
			  struct candidates *c)
{
	struct kallsyms k;
	bool freed = false;
	size_t i, n = 0;

	if (kallsyms_open(&k, path))
		die(1, "%s: %m", path);
	while (kallsyms_next(&k)) {
		/* Behind it, and before the modules, is what the kernel frees once it has booted */
		freed = !*k.module && (freed || !strcmp(k.name, "_sinittext"));
		if (!kallsyms_is_code(&k) || unwanted(k.name, k.module))
			continue;
		for (i = 0; i < p->nr; i++)
			if (p->pattern[i].kind != PATTERN_NAME &&
			    (expand || !pattern_is_for_module(&p->pattern[i])) &&
			    pattern_matches(&p->pattern[i], k.name, k.module, strlen(k.module)))
				break;
		if (i == p->nr)
			continue;
		GROW(c->one, c->nr);
		c->one[c->nr++] = (struct candidate){
			.name = whole_name(k.name, k.module), .pattern = &p->pattern[i],
			.module_len = strlen(k.module), .times = 1, .blacklisted = freed };
	}
	fclose(k.file);
	sort(c->one, c->nr, sizeof(*c->one), order_strings);
	for (i = 0; i < c->nr; i++) {
		if (n && !order_strings(&c->one[n - 1], &c->one[i])) {
			c->one[n - 1].times++;
			c->one[n - 1].blacklisted &= c->one[i].blacklisted;
			free(c->one[i].name);
			continue;
		}
		c->one[n++] = c->one[i];
	}
	c->nr = n;
}

/*
 * Mark the functions listed in a file, one per line as "FUNCTION[ [MODULE]]"; in the @blacklist
 * "ADDRESS-ADDRESS\t" precedes them.  Return true if it lists any.
 */
static bool read_marks(const char *path, bool blacklist, struct candidates *c)
{
	FILE *f = fopen(path, "re");
	char *line = NULL, *name;
	size_t room = 0;
	bool any = false;

	while (f && getline(&line, &room, f) > 0) {
		char *tab = blacklist ? strchr(line, '\t') : NULL;
		const char *function, *module;
		struct candidate *found;

		if (blacklist && !tab)
			continue;
		function = kallsyms_split(tab ? tab + 1 : line, &module);
		name = whole_name(function, module);
		found = bsearch(&name, c->one, c->nr, sizeof(*c->one), order_strings);
		free(name);
		if (found && blacklist)
			found->blacklisted = true;
		else if (found)
			found->available = true;
		any = true;
	}
	free(line);
	if (f)
		fclose(f);
	return any;
}

static void drop_duplicates(struct matches *c)
{
	size_t i, n = 0;

	if (!c->nr)
		return;
	sort(c->name, c->nr, sizeof(*c->name), order_strings);
	for (i = 0; i < c->nr; i++)
		if (n && !strcmp(c->name[n - 1], c->name[i]))
			free(c->name[i]);
		else
			c->name[n++] = c->name[i];
	c->nr = n;
}

/* Count a function in each pattern that matches it */
static void count_match(struct patterns *p, const struct candidate *one, bool chosen)
{
	size_t i;

	for (i = 0; i < p->nr; i++)
		if (p->pattern[i].kind != PATTERN_NAME &&
		    pattern_matches(&p->pattern[i], function_of(one), one->name, one->module_len)) {
			p->pattern[i].matched += one->times;
			p->pattern[i].chosen += chosen;
		}
}

static void add_name(struct matches *c, char *name)
{
	GROW(c->name, c->nr);
	c->name[c->nr++] = name;
}

/* ----------------------------------------------------------- from tracefs --- */

/* Return false for groups whose events have no tracepoints of their own */
static bool has_tracepoints(const char *group)
{
	static const char *const without[] = {
		".", "..", "syscalls", "ftrace", "kprobes", "uprobes", "synthetic", "eprobes",
		"fprobes", "user_events", "user_events_multi",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(without); i++)
		if (!strcmp(group, without[i]))
			return false;
	return true;
}

/*
 * Enter GROUP/EVENT for each event that other tools created, from lines "p:GROUP/EVENT WHERE ..."
 * of @events/../dynamic_events
 */
static void read_dynamic(const char *events, void **tree)
{
	char *path = xasprintf("%s/../dynamic_events", events), *line = NULL, *name;
	FILE *f = fopen(path, "re");
	size_t size = 0;
	bool is_new;

	while (f && getline(&line, &size, f) > 0) {
		name = strchr(line, ':');
		if (!name)
			continue;
		name[strcspn(name, " \t\n")] = '\0';
		named_get(tree, name + 1, &is_new);
	}
	if (f)
		fclose(f);
	free(line);
	free(path);
}

static void match_event(struct patterns *p, const char *group, const char *event, struct matches *c)
{
	char *whole = xasprintf("%s:%s", group, event);
	bool added = false;
	size_t i;

	for (i = 0; i < p->nr; i++) {
		struct pattern *one = &p->pattern[i];

		if (!one->event || one->kind == PATTERN_NAME ||
		    !pattern_matches_name(one, strchr(one->function, ':') ? whole : event))
			continue;
		one->matched++;
		one->chosen++;
		if (!added)
			add_name(c, xasprintf("t:%s%s", whole, one->tag));
		added = true;
	}
	free(whole);
}

/* Iterate over the directories GROUP/EVENT */
static void read_events(struct patterns *p, const char *path, struct matches *c)
{
	DIR *all = opendir(path), *of_group;
	struct dirent *group, *event;
	void *dynamic = NULL;

	if (!all)
		die(1, "%s: %s: run it as root, with tracefs mounted", path, strerror(errno));
	read_dynamic(path, &dynamic);
	while ((group = readdir(all))) {
		char *inside = xasprintf("%s/%s", path, group->d_name), *name;

		of_group = group->d_type == DT_DIR && has_tracepoints(group->d_name) ?
			opendir(inside) : NULL;
		while (of_group && (event = readdir(of_group)))
			if (event->d_type == DT_DIR && *event->d_name != '.') {
				name = xasprintf("%s/%s", group->d_name, event->d_name);
				if (!named_get(&dynamic, name, NULL))
					match_event(p, group->d_name, event->d_name, c);
				free(name);
			}
		if (of_group)
			closedir(of_group);
		free(inside);
	}
	closedir(all);
	named_free(&dynamic);
}

/* "count -l NAME": a function that ftrace cannot trace can be probed if it is given by name */
static bool is_whole_name(const struct pattern *p)
{
	return p->kind == PATTERN_GLOB && !strpbrk(p->function, "*?[");
}

void patterns_choose(struct patterns *p, const char *kallsyms, const char *blacklist,
		     const char *available, const char *events, bool expand, struct matches *c)
{
	bool names_only = true, event_names_only = true, listed;
	struct candidates all = { 0 };
	size_t i;

	memset(c, 0, sizeof(*c));
	for (i = 0; i < p->nr; i++) {
		const struct pattern *one = &p->pattern[i];

		if (one->kind == PATTERN_NAME || (!expand && pattern_is_for_module(one)))
			add_name(c, one->module ? xasprintf("%s%s", one->module,
							    strchr(one->text, ':')) :
						  xstrdup(one->text));
		else if (one->event)
			event_names_only = false;
		else
			names_only = false;
	}
	if (!event_names_only)
		read_events(p, events, c);
	if (!names_only)
		read_kallsyms(p, kallsyms, expand, &all);
	listed = all.nr && read_marks(available, false, &all);
	if (all.nr)
		read_marks(blacklist, true, &all);
	for (i = 0; i < all.nr; i++) {
		struct candidate *one = &all.one[i];
		bool excluded = one->blacklisted ||
				(listed && !one->available && !is_whole_name(one->pattern));

		count_match(p, one, !excluded && one->times == 1);
		if (!excluded && one->times == 1)
			add_name(c, xasprintf("%s%s", one->name, one->pattern->tag));
		else if (!excluded && !c->ambiguous++)
			snprintf(c->example, sizeof(c->example), "%s", function_of(one));
		free(one->name);
	}
	free(all.one);
	drop_duplicates(c);
}

void matches_free(struct matches *c)
{
	size_t i;

	for (i = 0; i < c->nr; i++)
		free(c->name[i]);
	free(c->name);
	memset(c, 0, sizeof(*c));
}
