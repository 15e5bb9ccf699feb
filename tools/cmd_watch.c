// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_watch.c - "snoop" and "count PATTERN": events of chosen functions, or their list
 */
#include "cmd.h"

static void add_patterns(struct watch *w, const struct args *a)
{
	size_t i;

	for (i = 0; a->word && a->word[i]; i++)
		if (patterns_add(&w->patterns, a->word[i], a->given & BIT(OPT_REGEXP), w->error,
				 sizeof(w->error)))
			die(EXIT_USAGE, "%s", w->error);
}

void cmd_list(const struct args *a, struct output *o)
{
	struct watch w = { .o = o };
	struct pattern *one;
	size_t i;

	add_patterns(&w, a);
	if (!w.patterns.nr)
		patterns_add(&w.patterns, "*", false, w.error, sizeof(w.error));
	for (i = 0; i < w.patterns.nr; i++) {
		one = &w.patterns.pattern[i];
		if (one->addr || one->has_offset || *one->tag)
			die(EXIT_USAGE, "%s: --list takes names and patterns of functions alone",
			    one->text);
		/* A name is looked up, too */
		if (one->kind == PATTERN_NAME)
			one->kind = PATTERN_GLOB;
	}
	if (list_run(&w))
		die(1, "%s", w.error);
	matches_free(&w.matches);
	patterns_free(&w.patterns);
}

void cmd_watch_prepare(struct watch *w, const struct args *a)
{
	add_patterns(w, a);
	w->filter = &a->filter;
	w->live = args_live(a);
	w->number = a->number;
	w->interval = a->interval;
	w->duration = a->duration;
	w->offsets = a->given & BIT(OPT_OFFSET);
	w->verbose = a->given & BIT(OPT_VERBOSE);
	w->per_process = a->given & BIT(OPT_PERPID);
	w->events = a->command == SNOOP;
	w->flame = a->flame;
	w->timestamp = a->given & BIT(OPT_TIMESTAMP);
	if (w->live && probes_load_module(&w->probes))
		die(1, "%s", w->probes.error);
}

void cmd_watch(struct session *s, struct output *o, struct watch *w)
{
	w->source = &s->source;
	w->o = o;
	if (w->live)
		session_need_info(s);
	else
		session_report_missing(s);
	if (w->events && !watch_sums(w) ? snoop_run(w) : stackcount_run(w))
		die(1, "%s", w->error);
	patterns_free(&w->patterns);
}
