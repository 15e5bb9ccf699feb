/* SPDX-License-Identifier: GPL-2.0 */
/*
 * search.h - what a filter has found, to report why no event matches
 */
#ifndef SEARCH_H
#define SEARCH_H

#include "record/filter.h"

/**
 * struct search - events that were compared with a filter
 * @filter: the filter
 * @searched: events
 * @oldest: time of the oldest of them, ns since boot
 * @newest: time of the newest of them
 * @tagged: of these, how many have a tag
 * @match: how many match
 * @meet: by option, how many meet it
 * @without: by option, how many would match without it, and do not
 */
struct search {
	const struct filter *filter;
	u64 searched, oldest, newest, tagged, match;
	u64 meet[FILTER_OPTIONS], without[FILTER_OPTIONS];
};

/* As filter_match(), and count: to be called once for each event */
bool search_event(struct search *s, const struct stackbuf_event *e);

#endif
