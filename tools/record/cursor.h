/* SPDX-License-Identifier: GPL-2.0 */
/*
 * cursor.h - the events of a page
 */
#ifndef CURSOR_H
#define CURSOR_H

#include "stackbuf.h"
#include "util.h"

/* Most events in a page: the first is FULL, the others SHORT */
#define PAGE_EVENTS_MAX	(STACKBUF_EVENT_WORDS - 4)

/**
 * struct cursor - a way through the events of one page
 * @page: the page
 * @pos: word of the event to look at next
 * @nr: events passed
 * @lost: the event before was skipped, so that a SHORT one, which depends on it, is lost too
 * @event: the event that was found last; its comm is NUL-terminated, of any bytes: see
 *	output_comm()
 */
struct cursor {
	const struct stackbuf_events_page *page;
	unsigned int pos;
	unsigned int nr;
	bool lost;
	struct stackbuf_event event;
};

enum step {
	STEP_EVENT,	/* cursor.event is the next event; the cursor is after it */
	STEP_END,	/* no more events, until the page grows */
	STEP_HALF,	/* an event that is being written; cursor_skip() passes it */
	STEP_DAMAGED,	/* what follows makes no sense */
};

void cursor_start(struct cursor *c, const struct stackbuf_events_page *page);
enum step cursor_next(struct cursor *c);
void cursor_skip(struct cursor *c);

/*
 * Drop from @page what may be torn.  @before is a copy of the same page, which may have grown
 * in between, and was made before @page.
 */
void events_drop_torn(struct stackbuf_events_page *page, const struct stackbuf_events_page *before);

/* Sort by time; events of the same time keep their order */
void events_sort(struct stackbuf_event *event, size_t nr);

#endif
