/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pattern.h - choose functions and events by names, globs, regular expressions
 */
#ifndef PATTERN_H
#define PATTERN_H

#include <regex.h>
#include "symbol/symbols.h"

enum pattern_kind {
	PATTERN_NAME,	/* as for parameter "probe", without "%return" and "@..." */
	PATTERN_GLOB,
	PATTERN_REGEX,
};

/* A pattern from the command line */
struct pattern {
	const char *text;	/* as given */
	enum pattern_kind kind;
	bool event;		/* it is a tracepoint, t:[GROUP:]EVENT */
	char *module;		/* only functions of this module, or NULL */
	char *function;		/* its name or pattern; of an event [GROUP:]EVENT */
	u64 offset;		/* of a name: bytes from the function's start, if @has_offset */
	bool has_offset;
	u64 addr;		/* of a name that is a bare address: the address; else 0 */
	const char *tag;	/* "%return" and "@..." for each probe, or "" */
	size_t matched;		/* functions that match, except for names; by patterns_choose() */
	size_t chosen;		/* how many of them can be probed by name */
	regex_t regex;
};

struct patterns {
	struct pattern *pattern;
	size_t nr;
};

/* Add a pattern from the command line; ends the program if it is invalid */
void patterns_add(struct patterns *p, const char *text, bool regex);

/* The rest of a name after "t:" or "tracepoint:"; NULL: not an event */
const char *pattern_event(const char *text);

void patterns_free(struct patterns *p);

/* Return true if one of them is for events */
bool patterns_have_event(const struct patterns *p);

/*
 * Return true if a name matches, as @function or, for an event, "GROUP:EVENT" or "EVENT".  @len is
 * the length of a function's @module, 0 for the kernel itself; a pattern without a module matches
 * all modules.
 */
bool pattern_matches_name(const struct pattern *p, const char *name);
bool pattern_matches(const struct pattern *p, const char *function, const char *module, size_t len);

/* Return true if any pattern matches a frame, or the function or event at which a stack begins */
bool patterns_match_frame(const struct patterns *p, const struct frame *f);
bool patterns_match_stack(const struct patterns *p, struct symbols *symbols, struct stack *stack);

/* Return true if the module matches the pattern itself, with any number of functions */
bool pattern_is_for_module(const struct pattern *p);

#endif
