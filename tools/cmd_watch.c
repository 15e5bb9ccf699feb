// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_watch.c - "snoop" and "count PATTERN": events of chosen functions, or a list of these
 */
#include "cmd.h"
#include "live/watch.h"

static void add_patterns(struct watch *w, struct args *a)
{
	size_t i;

	for (i = 0; a->word && a->word[i]; i++) {
		bool regex = a->given & BIT(OPT_REGEXP);

		watch_add(w, regex ? a->word[i] : prototypes_number(a->word[i]), regex);
	}
}

void cmd_list(struct args *a)
{
	struct watch w = { .o = &a->output };
	struct pattern *one;
	size_t i;

	add_patterns(&w, a);
	if (!w.patterns.nr)
		patterns_add(&w.patterns, "*", false);
	for (i = 0; i < w.patterns.nr; i++) {
		one = &w.patterns.pattern[i];
		if (one->addr || one->has_offset || *one->tag)
			die(EXIT_USAGE, "%s: --list takes names and patterns of functions alone",
			    one->text);
		/* A name is looked up, too */
		if (one->kind == PATTERN_NAME)
			one->kind = PATTERN_GLOB;
	}
	list_run(&w);
	matches_free(&w.matches);
	patterns_free(&w.patterns);
}

void cmd_watch(struct args *a)
{
	struct session s = { 0 };
	struct watch w = {
		.source = &s.source, .o = &a->output, .filter = &a->wanted.filter,
		.number = a->number, .interval = a->interval,
		.duration = a->duration, .cgroup = a->cgroup, .offsets = a->given & BIT(OPT_OFFSET),
		.verbose = a->given & BIT(OPT_VERBOSE), .events = a->command == SNOOP,
		.per_process = a->given & BIT(OPT_PERPID), .flame = a->flame,
		.timestamp = a->given & BIT(OPT_TIMESTAMP), .overrides.lock = -1,
	};

	add_patterns(&w, a);
	cmd_begin_live(&s, a, &w.overrides);
	if (w.events && !watch_sums(&w))
		snoop_run(&w);
	else
		stackcount_run(&w);
	cmd_end(&s, a);
	patterns_free(&w.patterns);
}
