// SPDX-License-Identifier: GPL-2.0
/*
 * pattern.c - choose functions and events by names, globs, regular expressions
 */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "symbol/pattern.h"

#define MODULE_CHARACTERS	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

static void compile(struct pattern *p)
{
	char *whole = xasprintf("^(%s)$", p->function), why[128];
	int code;

	code = regcomp(&p->regex, whole, REG_EXTENDED | REG_NOSUB);
	free(whole);
	if (!code)
		return;
	regerror(code, NULL, why, sizeof(why));
	die(EXIT_USAGE, "%s: not a regular expression: %s", p->text, why);
}

const char *pattern_event(const char *text)
{
	size_t len = !strncmp(text, "t:", 2) ? 2 : !strncmp(text, "tracepoint:", 11) ? 11 : 0;

	return len ? text + len : NULL;
}

void patterns_add(struct patterns *p, const char *text, bool regex)
{
	const char *event = pattern_event(text), *colon = strchr(text, ':');
	char *plus, *end, *dash;
	struct pattern *one;
	size_t len;

	GROW(p->pattern, p->nr);
	one = &p->pattern[p->nr++];
	memset(one, 0, sizeof(*one));
	one->text = text;
	one->kind = regex ? PATTERN_REGEX : strpbrk(text, "*?[") ? PATTERN_GLOB : PATTERN_NAME;
	one->event = event;
	if (!*text || strpbrk(text, " \t\n") || (!regex && strchr(text, ',')))
		die(EXIT_USAGE, "'%s': a function's name holds neither blanks nor commas", text);
	if (event) {
		text = event;
	} else if (colon != text && text + strspn(text, MODULE_CHARACTERS) == colon) {
		one->module = xasprintf("%.*s", (int)(colon - text), text);
		/* Like modprobe, accept both: the kernel has no "-" in module names */
		for (dash = one->module; (dash = strchr(dash, '-')); )
			*dash = '_';
		text = colon + 1;
	}
	len = strcspn(text, regex ? "" : "@%");
	one->tag = text + len;
	one->function = xasprintf("%.*s", (int)len, text);
	if (!len || (event && text[len - 1] == ':'))
		die(EXIT_USAGE, "'%s': the %s's name is missing", one->text,
		    event ? "event" : "function");
	if (regex)
		compile(one);
	if (event || one->kind != PATTERN_NAME)
		return;
	if (!strncmp(one->function, "0x", 2)) {
		one->addr = strtoull(one->function, &end, 16);
		if (*end || !one->addr)
			die(EXIT_USAGE, "%s: not an address", one->text);
	}
	plus = strchr(one->function, '+');
	if (plus) {
		one->offset = strtoull(plus + 1, &end, 0);
		one->has_offset = true;
		if (plus[1] < '0' || plus[1] > '9' || *end)
			die(EXIT_USAGE, "%s: no offset after the +", one->text);
		*plus = '\0';
	}
}

void patterns_free(struct patterns *p)
{
	size_t i;

	for (i = 0; i < p->nr; i++) {
		if (p->pattern[i].kind == PATTERN_REGEX)
			regfree(&p->pattern[i].regex);
		free(p->pattern[i].module);
		free(p->pattern[i].function);
	}
	free(p->pattern);
	memset(p, 0, sizeof(*p));
}

bool patterns_have_event(const struct patterns *p)
{
	size_t i;

	for (i = 0; i < p->nr; i++)
		if (p->pattern[i].event)
			return true;
	return false;
}

bool pattern_is_for_module(const struct pattern *p)
{
	return p->kind == PATTERN_GLOB && !p->event;
}

bool pattern_matches_name(const struct pattern *p, const char *name)
{
	switch (p->kind) {
	case PATTERN_GLOB:
		return !fnmatch(p->function, name, 0);
	case PATTERN_REGEX:
		return !regexec(&p->regex, name, 0, NULL, 0);
	case PATTERN_NAME:
		break;
	}
	return !strcmp(p->function, name);
}

bool pattern_matches(const struct pattern *p, const char *function, const char *module, size_t len)
{
	if (p->event || (p->module && (strncmp(p->module, module, len) || p->module[len])))
		return false;
	return pattern_matches_name(p, function);
}

/* A bare address means a probe there, or the function that begins there */
static bool match_address(u64 wanted, const struct frame *f)
{
	u64 addr = f->addr;

	if (!addr && !strncmp(f->text, "0x", 2))
		addr = strtoull(f->text, NULL, 16);
	return addr && (addr == wanted || addr - f->offset == wanted);
}

bool patterns_match_frame(const struct patterns *p, const struct frame *f)
{
	char function[512], module[128];
	size_t i;

	if (f->name_len >= sizeof(function) || f->module_len >= sizeof(module))
		return false;
	snprintf(function, sizeof(function), "%.*s", (int)(f->name_len ?: strlen(f->text)),
		 f->text);
	snprintf(module, sizeof(module), "%.*s", (int)f->module_len, f->module);
	for (i = 0; i < p->nr; i++) {
		const struct pattern *one = &p->pattern[i];

		if (one->addr ? match_address(one->addr, f) :
				pattern_matches(one, function, module, strlen(module)) &&
				(!one->has_offset || one->offset == f->offset))
			return true;
	}
	return false;
}

bool patterns_match_stack(const struct patterns *p, struct symbols *symbols, struct stack *stack)
{
	if (stack->origin == STACKBUF_AT_EVENT)
		return patterns_have_event(p);
	symbols_name(symbols, stack);
	return stack->named && patterns_match_frame(p, &stack->frame[0]);
}
