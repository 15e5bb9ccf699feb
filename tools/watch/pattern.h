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
	const char *tag;	/* "@..." that each probe gets, or "" */
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
 * Does a frame match any pattern?  @name is "function+0x1a/0x2b [module]" or "0x...", @addr its
 * address, 0 if unknown.
 */
bool patterns_match_frame(const struct patterns *p, const char *name, u64 addr);

/* Functions that match */
struct matches {
	char **name;		/* "[module:]function[@...]" or "t:group:event[@...]", in order */
	size_t nr;
	size_t ambiguous;	/* names left out because several functions have them */
	char example[128];	/* one of these, or "" */
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
