/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pattern.h - which functions and events are meant: names, globs, regular expressions
 */
#ifndef PATTERN_H
#define PATTERN_H

#include <regex.h>
#include "record/parse.h"

enum pattern_kind {
	PATTERN_NAME,	/* as parameter "probe" takes it, but for "@..." */
	PATTERN_GLOB,
	PATTERN_REGEX,
};

/**
 * struct pattern - one of those on the command line
 * @text: as it was given
 * @kind: what it is
 * @event: it is a tracepoint, t:[GROUP:]EVENT
 * @module: functions of this module only, or NULL
 * @function: what the function's name is, or must match; of an event with its group, if given
 * @offset: of a name: bytes from the function's start
 * @has_offset: @offset was given
 * @addr: of a name that is a bare address: the address; else 0
 * @tag: "@..." that each probe gets, or ""
 * @matched: functions that match; set by patterns_choose(), not for PATTERN_NAME
 * @chosen: those of them that can be probed by their name
 * @regex: compiled, for PATTERN_REGEX
 */
struct pattern {
	const char *text;
	enum pattern_kind kind;
	bool event;
	char *module;
	char *function;
	u64 offset, addr;
	bool has_offset;
	const char *tag;
	size_t matched, chosen;
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
 * Does a frame match any pattern?  @name is "function+0x1a/0x2b [module]" or "0x...", @addr its
 * address, 0 if unknown.
 */
bool patterns_match_frame(const struct patterns *p, const char *name, u64 addr);

/**
 * struct matches - functions that match
 * @name: "[module:]function[@...]" or "t:group:event[@...]", as parameter "probe" takes it, in
 *	order of names
 * @nr: how many
 * @ambiguous: names left out because several functions have them
 * @example: an ambiguous name, or ""
 */
struct matches {
	char **name;
	size_t nr;
	size_t ambiguous;
	char example[128];
};

/* Does the module match it itself, with any number of functions? */
bool pattern_is_for_module(const struct pattern *p);

/*
 * Take names as they are, and unless @expand the globs that the module takes; match other globs and
 * regular expressions with the functions in the file @kallsyms, which is read only for these,
 * without what the files @blacklist and @available (of ftrace; each may be missing) exclude, and
 * with the folders of events in @events.  Ends the program if @kallsyms or @events cannot be read.
 */
void patterns_choose(struct patterns *p, const char *kallsyms, const char *blacklist,
		     const char *available, const char *events, bool expand, struct matches *c);
void matches_free(struct matches *c);

#endif
