// SPDX-License-Identifier: GPL-2.0
/*
 * text_log.c - the records of a page of the text log
 */
#include <stdio.h>
#include <string.h>
#include "record/parse.h"

size_t text_head(const char *page, unsigned int *version, u32 *index, u64 *seq, u64 *instance)
{
	char line[128];
	const char *end = memchr(page, '\n', sizeof(line) - 1);
	unsigned int total;
	size_t len;

	if (!end || strncmp(page, "stackbuf text v", 15))
		return 0;
	len = end - page;
	memcpy(line, page, len);
	line[len] = '\0';
	if (sscanf(line, STACKBUF_TEXT_PAGE_SCAN, version, index, &total, seq, instance) != 5)
		return 0;
	return len + 1;
}

static bool is_record(const char *p, const char *end)
{
	return end - p > 6 && !memcmp(p, "stack ", 6) && p[6] >= '1' && p[6] <= '9';
}

/* After a record: another one, a half-written one, or the unused part of the page */
static bool may_follow(const char *p, const char *end)
{
	return !*p || *p == ' ' || is_record(p, end);
}

/* Find the next line at or after @p that begins a record; @p may be inside a line */
static const char *next_record(const char *p, const char *end)
{
	while ((p = memchr(p, '\n', end - p)))
		if (is_record(++p, end))
			return p;
	return NULL;
}

u64 text_time(const char *record)
{
	unsigned long long s, us;
	char line[64];
	size_t len = strcspn(record, "\n");

	/* A page of text is not terminated */
	snprintf(line, sizeof(line), "%.*s", (int)(len < 63 ? len : 63), record);
	return sscanf(line, "stack %*u [%llu.%6llu]", &s, &us) == 2 ? (s * 1000000 + us) * 1000 : 0;
}

/* Parse one record.  Return where the next may begin, or NULL if this one is incomplete */
static const char *parse_text_record(struct record *r, const char *p, const char *end)
{
	const char *line = p, *nl, *frames = NULL, *d = p + 6;
	unsigned int lines = 0;
	struct stack *stack;
	bool more = false;
	u64 id = 0;

	for (; d < end && *d >= '0' && *d <= '9' && id <= 0xffffffff; d++)
		id = id * 10 + *d - '0';
	if (d == end || *d != ' ' || id > 0xffffffff)
		return NULL;
	while (line < end) {
		/* The record ends at padding, the unused part of the page, or another record */
		if (*line == ' ' || *line == '\0' || *line == '\n' ||
		    (frames && is_record(line, end)))
			break;
		nl = memchr(line, '\n', end - line);
		if (!nl || memchr(line, '\0', nl - line))
			return NULL;
		if (!frames)
			frames = nl + 1;
		else if (*line == '(')
			more = true;
		else
			lines++;
		line = nl + 1;
	}
	if (!lines)
		return NULL;
	GROW(r->text, r->texts);
	r->text[r->texts++] = (struct text){ .record = p, .len = line - p, .id = id };
	/* Pages are parsed oldest first, so the newest record of an id is kept */
	stack = stacks_get(&r->stacks, id);
	stack->text = frames;
	stack->text_len = line - frames;
	stack->lines = lines;
	stack->text_time = text_time(p);
	if (!stack->nr)
		stack->cut = more;
	return line;
}

/*
 * The copies differ from the point where a record was half-written, or was written in between: cut
 * the page there.  The difference may be inside a record whose beginning is in both copies: a copy
 * loads words in any order (see events_drop_torn()), so the earlier copy's beginning may be from a
 * later time than the rest.  Then cut the page at that beginning.  If the page was blanked for its
 * next use while the later copy was made, none of it is certain.
 */
bool text_drop_torn(char *page, const char *again)
{
	const char *nl = memchr(page, '\n', 128), *end = &page[STACKBUF_PAGE_SIZE - 1];
	const char *again_end = &again[STACKBUF_PAGE_SIZE - 1];
	size_t same = 0, len = nl ? nl - page : 1;

	if (!*page)
		return true;
	while (same < STACKBUF_PAGE_SIZE && page[same] == again[same])
		same++;
	if (same == STACKBUF_PAGE_SIZE)
		return true;
	/* Its head differs, or it is being blanked */
	if (same <= len || (page[same] && again[same] == ' ')) {
		memset(page, 0, STACKBUF_PAGE_SIZE);
		return false;
	}
	if (page[same - 1] != '\n' || !may_follow(page + same, end) ||
	    !may_follow(again + same, again_end))
		while (same > len + 1 && !(page[same - 1] == '\n' &&
					   (is_record(page + same, end) ||
					    is_record(again + same, again_end))))
			same--;
	memset(page + same, 0, STACKBUF_PAGE_SIZE - same);
	return true;
}

void record_parse_text(struct record *r, const char *page)
{
	const char *end = page + STACKBUF_PAGE_SIZE, *p, *next;
	unsigned int version;
	u64 seq, instance;
	u32 index;

	p = page + text_head(page, &version, &index, &seq, &instance);
	if (p == page)
		return;
	while (p && p < end) {
		next = is_record(p, end) ? parse_text_record(r, p, end) : NULL;
		if (!next) {
			next = next_record(p, end);
			/* Padding begins with a blank, a half-written record with a NUL */
			if (is_record(p, end) || (!*p && next))
				r->half_texts++;
		}
		p = next;
	}
}
