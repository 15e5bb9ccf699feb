/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pattern.h - which functions and events are meant: names, globs, regular expressions
 */
#ifndef PATTERN_H
#define PATTERN_H

#include <regex.h>
#include "symbol/symbols.h"

enum pattern_kind {
	PATTERN_NAME,	/* as parameter "probe" takes it, but for "%return" and "@..." */
	PATTERN_GLOB,
	PATTERN_REGEX,
};

/* One of those on the command line */
struct pattern {
	const char *text;	/* as it was given */
	enum pattern_kind kind;
	bool event;		/* it is a tracepoint, t:[GROUP:]EVENT */
	char *module;		/* functions of this module only, or NULL */
	char *function;		/* its name, or what that must match; of an event [GROUP:]EVENT */
	u64 offset;		/* of a name: bytes from the function's start, if @has_offset */
	bool has_offset;
	u64 addr;		/* of a name that is a bare address: the address; else 0 */
	const char *tag;	/* "%return" and "@..." that each probe gets, or "" */
	size_t matched;		/* by patterns_choose(), but for names: functions that match */
	size_t chosen;		/* those of them that can be probed by their name */
	regex_t regex;
};

struct patterns {
	struct pattern *pattern;
	size_t nr;
};

/* Add what was given on the command line; ends the program if it makes no sense */
void patterns_add(struct patterns *p, const char *text, bool regex);

/* What follows "t:" or "tracepoint:" in a name; NULL: it is not an event's */
const char *pattern_event(const char *text);

void patterns_free(struct patterns *p);

/* Is one of them for events? */
bool patterns_have_event(const struct patterns *p);

/*
 * Does a name match, as @function or, of an event, "GROUP:EVENT" or "EVENT"?  Of a function @module
 * has @len bytes, 0 for the kernel itself; a pattern without one matches all modules.
 */
bool pattern_matches_name(const struct pattern *p, const char *name);
bool pattern_matches(const struct pattern *p, const char *function, const char *module, size_t len);

/* Does a frame match any pattern?  Does a stack begin in a function, or at an event, of these? */
bool patterns_match_frame(const struct patterns *p, const struct frame *f);
bool patterns_match_stack(const struct patterns *p, struct symbols *symbols, struct stack *stack);

/* Does the module match it itself, with any number of functions? */
bool pattern_is_for_module(const struct pattern *p);

#endif
