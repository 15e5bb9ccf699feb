// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_watch.c - "snoop" and "count PATTERN": events of chosen functions
 */
#include "cmd.h"

void cmd_watch_prepare(struct watch *w, const struct args *a)
{
	size_t i;

	for (i = 0; a->word[i]; i++)
		if (patterns_add(&w->patterns, a->word[i], a->given & BIT(OPT_REGEXP), w->error,
				 sizeof(w->error)))
			die(EXIT_USAGE, "%s", w->error);
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
