// SPDX-License-Identifier: GPL-2.0
/*
 * steady.c - whole pages of arrays that may be written concurrently
 */
#include <stdlib.h>
#include <string.h>
#include "input/steady.h"

/* Combine two copies of a page into the parts that are certain; @seq was read before both */
static void settle_page(struct stackbuf_events_page *page, u64 seq,
			const struct stackbuf_events_page *before)
{
	if (seq != page->page.seq) {
		bool reused = seq && page->page.seq;

		page->page.seq = 0;
		/* Keep its words, so that drop_changed_events() counts it as changed */
		if (reused)
			return;
	}
	/* If it was still open in the earlier copy, it may have grown since */
	page->owner = before->owner;
	events_drop_torn(page, before);
}

int steady_read_pages(struct source *s, enum array a, size_t index, void *page, size_t nr)
{
	u64 offset = index * STACKBUF_PAGE_SIZE, size = nr * STACKBUF_PAGE_SIZE;
	char *first = xcalloc(3, size), *between = first + size, *last = between + size;
	size_t at;
	int ret;

	/*
	 * If a page's number, or a stack's id, is the same in the first and last copy, the copy in
	 * between is of one page or stack
	 */
	ret = s->ops->read(s, a, offset, first, size);
	if (!ret)
		ret = s->ops->read(s, a, offset, between, size);
	if (!ret)
		ret = s->ops->read(s, a, offset, last, size);
	for (at = 0; at < size && !ret; at += STACKBUF_PAGE_SIZE) {
		void *before = first + at, *copy = between + at, *after = last + at;

		if (a == ARRAY_EVENTS)
			settle_page(after, ((struct stackbuf_page *)before)->seq, copy);
		else
			stacks_drop_torn(copy, before, after);
	}
	memcpy(page, a == ARRAY_EVENTS ? last : between, size);
	free(first);
	return ret;
}

int steady_read_info(struct source *s, struct record *r)
{
	struct stackbuf_info *info = xcalloc(2, sizeof(*info));
	struct page_set set = { 0 };
	/* A build may leave out the last pages */
	size_t size = s->info_size < sizeof(*info) ? s->info_size : sizeof(*info), i;
	int ret = s->ops->read(s, ARRAY_INFO, 0, info, size);

	if (!ret)
		ret = s->ops->read(s, ARRAY_INFO, 0, info + 1, size);
	if (!ret) {
		for (i = 0; i < size; i += STACKBUF_PAGE_SIZE) {
			info_drop_torn((char *)info + i, (char *)(info + 1) + i);
			page_set_add(&set, (char *)info + i);
		}
		record_parse(r, &set, page_set_newest(&set), NULL);
	}
	/* They would refer to freed pages */
	r->pairs = 0;
	page_set_clear(&set);
	free(info);
	return ret;
}
