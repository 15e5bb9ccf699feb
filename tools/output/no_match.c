// SPDX-License-Identifier: GPL-2.0
/*
 * no_match.c - explains why nothing matches
 */
#include <stdlib.h>
#include <string.h>
#include "output/output.h"

static const char *const option_name[FILTER_OPTIONS] = {
	[FILTER_PID] = "--pid", [FILTER_COMM] = "--comm", [FILTER_CPU] = "--cpu",
	[FILTER_TAG] = "--tag", [FILTER_SINCE] = "--since", [FILTER_UNTIL] = "--until",
	[FILTER_STACK] = "--stack", [FILTER_FUNCTION] = "--function",
};

static bool is_around(const struct filter *f)
{
	return f->given_since.earlier || f->given_until.later;
}

/* "life" takes an address instead of --tag, and --around is both --since and --until */
static const char *name_option(const struct output *o, unsigned int option)
{
	if (option == FILTER_TAG && o->by_address)
		return "ADDRESS";
	if ((option == FILTER_SINCE || option == FILTER_UNTIL) && is_around(o->search->filter))
		return "--around";
	return option_name[option];
}

/* Write "--pid, --cpu and --tag" into @text: the options whose bits are set.  Return how many */
static unsigned int name_options(const struct output *o, unsigned int options, char text[128])
{
	unsigned int n = 0, nr, i;

	if (options & 1U << FILTER_SINCE && is_around(o->search->filter))
		options &= ~(1U << FILTER_UNTIL);
	nr = __builtin_popcount(options);
	*text = '\0';
	for (i = 0; i < FILTER_OPTIONS; i++)
		if (options & 1U << i)
			strcat(strcat(text, !n++ ? "" : n == nr ? " and " : ", "),
			       name_option(o, i));
	return nr;
}

char *output_filters(const struct stackbuf_info *info)
{
	const struct stackbuf_filter *f = &info->filter;
	size_t size;
	char *text;
	FILE *out = text_open(&text, &size);

	if (f->pid)
		fprintf(out, ", pid=%u", f->pid);
	if (f->cpu)
		fprintf(out, ", cpu=%u", f->cpu - 1);
	if (f->comm[0])
		fprintf(out, ", comm=%s", f->comm);
	if (f->cgroup)
		fprintf(out, ", cgroup=%llu", (unsigned long long)f->cgroup);
	if (f->every)
		fprintf(out, ", every=%u", f->every);
	if (f->limit)
		fprintf(out, ", limit=%u%s", f->limit, f->left ? "" : " (reached)");
	text_close(out);
	if (*text) {
		char *whole = xasprintf("the module records only events with%s", text + 1);

		free(text);
		return whole;
	}
	return text;
}

/* The consequence if the output needs its own file */
static const char *consequence(struct output *o)
{
	o->nothing = true;
	return o->format == FORMAT_FLAME ? "; the graph is empty" :
	       o->format == FORMAT_PPROF ? "; the profile is empty" : "";
}

void output_no_event(struct output *o)
{
	const struct search *found = o->search;
	const char *then = consequence(o);
	unsigned int given = 0, alone = 0, most = 0, i;
	char from[64], to[64], names[128], *searched, *only = output_filters(&o->record->info);
	const char *semicolon = *only ? "; " : "";
	bool several;

	if (!found->searched) {
		report("no event: %s%sthe ring holds none (stackbuf info has the counters)%s", only,
		       semicolon, then);
		free(only);
		return;
	}
	for (i = 0; i < FILTER_OPTIONS; i++) {
		/* The search ran before the stacks of --function were known */
		if (!filter_given(found->filter, i) || i == FILTER_FUNCTION)
			continue;
		given |= 1U << i;
		if (!found->meet[i])
			alone |= 1U << i;
		if (found->without[i] > found->without[most])
			most = i;
	}
	output_time(o, found->oldest, from, sizeof(from));
	output_time(o, found->newest, to, sizeof(to));
	searched = xasprintf("%s%s%llu event%s searched, from %s to %s", only, semicolon,
			     found->searched, found->searched == 1 ? "" : "s", from, to);
	several = name_options(o, alone ?: given, names) > 1;
	if (found->match && filter_given(found->filter, FILTER_FUNCTION))
		report("no event matches: %s: of these %llu %s, and none is of the functions named%s",
		       searched, found->match, given ? "meet the filters" : "are in the ring",
		       then);
	else if (alone)
		report("no event matches: %s: %s %s all of them%s: %s%s", searched, names,
		       several ? "each exclude" : "excludes",
		       alone & 1U << FILTER_TAG && !found->tagged ?
		       " (none has a tag: FUNCTION@argN records one)" : "",
		       several ? "loosen them" : "loosen it", then);
	else if (found->without[most])
		report("no event matches: %s: none meets %s together: loosen one (without %s %llu match)%s",
		       searched, names, name_option(o, most), found->without[most], then);
	else
		report("no event matches: %s: none meets %s together: loosen several%s", searched,
		       names, then);
	free(searched);
	free(only);
}

void output_no_stack(struct output *o, const char *where, size_t nr)
{
	const char *then = consequence(o);

	if (nr)
		report("no stack matches: %s all %zu stacks of %s: loosen it%s",
		       !filter_given(o->search->filter, FILTER_FUNCTION) ? "--stack excludes" :
		       filter_given(o->search->filter, FILTER_STACK) ?
		       "--stack and --function exclude" : "--function excludes", nr, where, then);
	else
		report("no stack: %s holds none (stackbuf info has the counters)%s", where, then);
}
