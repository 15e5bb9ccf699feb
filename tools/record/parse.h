/* SPDX-License-Identifier: GPL-2.0 */
/*
 * parse.h - from pages of memory to events, stacks and texts
 *
 * A library without input or output.  It trusts no byte of a page: whatever pages hold, it
 * terminates, reads nothing outside of them, and never gives an event a stack that is not
 * the event's.
 */
#ifndef PARSE_H
#define PARSE_H

#include "record/page_set.h"
#include "record/stacks.h"

struct text {
	const char *record;	/* its header line and its frames */
	u32 len;
	u32 id;
};

/* All that is known of one load of the module */
struct record {
	u64 instance;	/* which */
	bool have_info;	/* page 0 of stackbuf_info was found and has valid sizes */
	struct stackbuf_info info;	/* stackbuf_info, every string terminated */
	u64 lost[STACKBUF_COUNTERS];	/* its counters, each the sum over all CPUs */
	struct stacks stacks;	/* all stacks that the table, the ring or the text log know */
	size_t in_table;	/* number of stacks that the table has */
	size_t not_rendered;	/* those of the table whose text is not rendered yet */
	struct stackbuf_event *event;	/* events in time order */
	size_t events;	/* how many */
	u32 found;	/* events found, including those that are not kept */
	struct text *text;	/* records of the text log, oldest first */
	size_t texts;	/* how many */
	struct found_page *pair;	/* pages of pairs */
	size_t pairs;	/* how many */
	const char **snapshot;	/* pages that a snapshot added */
	size_t snapshots;	/* how many */
	unsigned int pages[ARRAYS];	/* pages found, by array */
	unsigned int missing[ARRAYS];	/* pages that should be there and are not, by array */
	/* Pages of ring and text of which only an old copy was found; they are left out */
	unsigned int outlived;
	unsigned int used_pages;	/* event pages that hold events */
	unsigned int rebuilt;	/* event pages that were being rebuilt */
	unsigned int half;	/* events that were being written */
	unsigned int damaged;	/* event pages that are damaged from some place on */
	unsigned int half_stacks;	/* stacks in the table that are not whole */
	unsigned int half_texts;	/* records of the text log that are not whole */
};

/* Parse all pages of one instance.  @r refers to their memory; to be freed by record_free() */
void record_parse(struct record *r, const struct page_set *set, u64 instance);

/* The events that a record keeps */
struct event_choice {
	/* Returns false for an event that is left out */
	bool (*wanted)(void *arg, const struct stackbuf_event *e);
	void *arg;	/* its first argument */
	u64 last;	/* keep only this number of the newest of those wanted; 0: all */
};

/*
 * As record_parse(), but keep in memory only the events of @choice, and no stack that neither
 * the table nor the text log has: an event in memory takes several times the bytes that it
 * takes in the ring.  struct stack.in_ring counts all events.
 */
void record_parse_chosen(struct record *r, const struct page_set *set, u64 instance,
		       const struct event_choice *choice);
void record_free(struct record *r);

/*
 * Let the stack with the lowest id represent all that equal it: move their totals and events to
 * it, and set their stack->canonical.
 */
void duplicates_merge(struct record *r);

/* ---------------------------------------------------------------- events --- */

/* Most events in a page: the first is FULL, the others SHORT */
#define PAGE_EVENTS_MAX	(STACKBUF_EVENT_WORDS - 4)

/* A way through the events of one page */
struct cursor {
	const struct stackbuf_events_page *page;
	unsigned int pos;	/* word of the event to look at next */
	unsigned int nr;	/* events passed */
	/* The event before was skipped, so that a SHORT one, which depends on it, is lost too */
	bool lost;
	/*
	 * The event that was found last; its comm is NUL-terminated, of any bytes: see
	 * output_comm()
	 */
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

/* --------------------------------------------------------------- text log --- */

/* Parse the line that a page of the text log begins with.  Return its length, 0 if there is none */
size_t text_head(const char *page, unsigned int *version, u32 *index, u64 *seq, u64 *instance);

/*
 * Drop from @page what may be torn; @again is a copy made after @page.  Return false if the page
 * was reused for new records in between: then @page is blank.
 */
bool text_drop_torn(char *page, const char *again);

/* Add the records of a page, and their stacks */
void record_parse_text(struct record *r, const char *page);

/* When the stack of a text record was first seen: ns since boot, exact to 1 us; 0 if unknown */
u64 text_time(const char *record);

#endif
