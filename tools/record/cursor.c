// SPDX-License-Identifier: GPL-2.0
/*
 * cursor.c - the events of a page, which may contain anything
 */
#include <stdlib.h>
#include <string.h>
#include "record/parse.h"

void cursor_start(struct cursor *c, const struct stackbuf_events_page *page)
{
	memset(c, 0, sizeof(*c));
	c->page = page;
	c->event.cpu = page->cpu;
	c->event.time = page->time;
}

enum step cursor_next(struct cursor *c)
{
	unsigned int form, words;
	u64 word;

	if (c->pos >= STACKBUF_EVENT_WORDS || !c->page->word[c->pos])
		return STEP_END;
	word = c->page->word[c->pos];
	form = stackbuf_event_form(word);
	words = stackbuf_event_words(word);
	if (!form || c->pos + words > STACKBUF_EVENT_WORDS || (!c->pos && form != STACKBUF_FULL))
		return STEP_DAMAGED;
	if (word & STACKBUF_EVENT_WRITING)
		return STEP_HALF;
	if (!(u32)word)
		return STEP_DAMAGED;
	if (c->lost && form != STACKBUF_FULL)
		return STEP_HALF;
	c->lost = false;

	stackbuf_decode_event(&c->event, c->page, c->pos);
	c->event.comm[STACKBUF_COMM_LEN - 1] = '\0';
	c->pos += words;
	c->nr++;
	return STEP_EVENT;
}

void cursor_skip(struct cursor *c)
{
	c->pos += stackbuf_event_words(c->page->word[c->pos]);
	c->nr++;
	c->lost = true;
}

/*
 * A copy loads words in any order: rep movs, for one, may load the words after an event's first
 * word before the first.  So an event may look complete in a copy that lacks its other words.  A
 * complete event does not change, so an event that looks complete in the earlier copy is whole in
 * the later one.
 */
void events_drop_torn(struct stackbuf_events_page *page, const struct stackbuf_events_page *before)
{
	unsigned int pos = 0;

	while (pos < STACKBUF_EVENT_WORDS && page->word[pos]) {
		u64 was = before->word[pos];

		if (!stackbuf_event_form(was) || (page->word[pos] ^ was) & ~STACKBUF_EVENT_WRITING)
			break;
		if (page->word[pos] != was)
			page->owner = page->cpu + 1;
		page->word[pos] = was;
		pos += stackbuf_event_words(was);
	}
	/* An owner is set: the follower reads the page again, for the events left out here */
	if (pos < STACKBUF_EVENT_WORDS && page->word[pos]) {
		memset(&page->word[pos], 0, (STACKBUF_EVENT_WORDS - pos) * sizeof(u64));
		page->owner = page->cpu + 1;
	}
}

/* A stable merge sort.  Each page is sorted: only events of overlapping pages are moved */
static void merge_sort(struct stackbuf_event *event, size_t nr, struct stackbuf_event *room)
{
	size_t half = nr / 2, to = half, right = half, i = 1, n;

	while (i < nr && event[i - 1].time <= event[i].time)
		i++;
	if (i >= nr)
		return;
	merge_sort(event, half, room);
	merge_sort(event + half, nr - half, room);
	while (to && event[to - 1].time > event[half].time)
		to--;
	n = half - to;
	memcpy(room, event + to, n * sizeof(*event));
	for (i = 0; i < n; to++)
		event[to] = right < nr && event[right].time < room[i].time ?
			    event[right++] : room[i++];
}

void events_sort(struct stackbuf_event *event, size_t nr)
{
	struct stackbuf_event *room = xrealloc(NULL, nr / 2 + 1, sizeof(*room));

	merge_sort(event, nr, room);
	free(room);
}
