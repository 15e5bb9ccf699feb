// SPDX-License-Identifier: GPL-2.0
/*
 * search.c - what a filter has found, to report why no event matches
 */
#include "record/search.h"

bool search_event(struct search *s, const struct stackbuf_event *e)
{
	int i, missed = 0, last = 0;

	if (!s->searched || e->time < s->oldest)
		s->oldest = e->time;
	if (!s->searched || e->time > s->newest)
		s->newest = e->time;
	s->searched++;
	s->tagged += e->tagged;
	for (i = 0; i < FILTER_OPTIONS; i++) {
		if (filter_meets(s->filter, i, e)) {
			s->meet[i]++;
			continue;
		}
		missed++;
		last = i;
	}
	s->match += !missed;
	if (missed == 1)
		s->without[last]++;
	return !missed;
}
