// SPDX-License-Identifier: GPL-2.0
/*
 * page_set.c - the pages found, by load of the module, and which copies to use
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "record/parse.h"

const char *const array_name[ARRAYS] = { "info", "events", "stacks", "text" };

enum page_is page_set_add(struct page_set *set, const void *data)
{
	const struct stackbuf_page *head = data;
	struct found_page p = { .data = data };
	unsigned int version;

	if (head->magic == ~STACKBUF_MAGIC_INVERTED) {
		version = head->version;
		p.kind = head->kind;
		p.index = head->index;
		p.instance = head->instance;
		p.seq = head->seq;
	} else if (text_head(data, &version, &p.index, &p.seq, &p.instance) &&
		   !memmem(data, STACKBUF_PAGE_SIZE, "\nstackbuf text v", 16)) {
		/* A page with two such lines belongs to a file of printed text */
		p.kind = KIND_TEXT;
	} else {
		return PAGE_FOREIGN;
	}
	if (version != STACKBUF_VERSION) {
		set->other_version = version;
		set->other_pages++;
		return PAGE_OTHER_VERSION;
	}
	if (set->nr == PAGE_SET_MAX) {
		set->left_out++;
		return PAGE_TAKEN;
	}
	GROW(set->page, set->nr);
	set->page[set->nr++] = p;
	return PAGE_TAKEN;
}

void page_set_clear(struct page_set *set)
{
	free(set->page);
	memset(set, 0, sizeof(*set));
}

/* --------------------------------------------------------------- copies --- */

size_t page_fill(const void *page)
{
	const u64 *word = page;
	size_t n = STACKBUF_PAGE_SIZE / sizeof(u64);

	while (n && !word[n - 1])
		n--;
	return n;
}

int page_array(u16 kind)
{
	switch (kind) {
	case STACKBUF_INFO:
	case STACKBUF_PROBES:
	case STACKBUF_DEPTHS:
	case STACKBUF_PAIRS:
	case STACKBUF_PAIR_STACKS:
	case STACKBUF_PAIR_OPEN:
		return ARRAY_INFO;
	case STACKBUF_EVENTS:
		return ARRAY_EVENTS;
	case STACKBUF_STACKS:
		return ARRAY_STACKS;
	case KIND_TEXT:
		return ARRAY_TEXT;
	}
	return -1;
}

bool page_has_seq(const struct found_page *p)
{
	return p->kind == KIND_TEXT || p->kind == STACKBUF_EVENTS;
}

/* Order by load, kind and index; of several copies the newest last */
static int by_place(const void *a, const void *b)
{
	const struct found_page *x = a, *y = b;
	int c = compare_u64(x->instance, y->instance) ?: compare_u64(x->kind, y->kind) ?:
		compare_u64(x->index, y->index) ?: compare_u64(x->seq, y->seq);

	if (!c && page_has_seq(x) && x->data && y->data)
		c = compare_u64(page_fill(x->data), page_fill(y->data));
	return c ?: compare_u64(x->file, y->file) ?: compare_u64(x->where, y->where) ?:
		compare_u64((uintptr_t)x->data, (uintptr_t)y->data);
}

/* Order by kind, then by sequence if the page has one, else by index */
static int by_age(const void *a, const void *b)
{
	const struct found_page *x = a, *y = b;
	int c = compare_u64(x->kind, y->kind);

	if (!c && page_has_seq(x))
		c = compare_u64(x->seq, y->seq);
	if (!c)
		c = compare_u64(x->index, y->index);
	return c;
}

static bool same_place(const struct found_page *a, const struct found_page *b)
{
	return a->instance == b->instance && a->kind == b->kind && a->index == b->index;
}

size_t pages_drop_old_copies(struct found_page *page, size_t nr)
{
	size_t i, n = 0;

	sort(page, nr, sizeof(*page), by_place);
	for (i = nr; i--; ) {
		/* Going backwards meets the newest copy first */
		if (n && same_place(&page[i], &page[nr - n]) &&
		    (page_has_seq(&page[i]) || page[i].seq != page[nr - n].seq))
			continue;
		page[nr - ++n] = page[i];
	}
	memmove(page, page + nr - n, n * sizeof(*page));
	sort(page, n, sizeof(*page), by_age);
	return n;
}

/* ----------------------------------------------------------- instances --- */

size_t page_set_copies(const struct page_set *set, size_t i)
{
	size_t n = 1;

	while (i + n < set->nr && same_place(&set->page[i], &set->page[i + n]))
		n++;
	return n;
}

/* Count the pages of one array, each once; @page is sorted */
static u64 pages_there(const struct found_page *page, size_t nr, enum array a, u64 size)
{
	u64 there = 0;
	size_t i;

	for (i = 0; i < nr; i++)
		there += page_array(page[i].kind) == (int)a &&
			 page[i].index < size / STACKBUF_PAGE_SIZE &&
			 (!i || !same_place(&page[i - 1], &page[i]));
	return there;
}

size_t page_set_instances(struct page_set *set, struct instance **list)
{
	struct instance *in = NULL;
	size_t i, n, nr = 0;

	sort(set->page, set->nr, sizeof(*set->page), by_place);
	/* An instance's id is its time of loading: go from the newest to the oldest */
	for (i = set->nr; i; i -= n) {
		struct instance new = { .id = set->page[i - 1].instance };
		const struct stackbuf_info *info = NULL;
		const struct found_page *first;
		size_t k;

		for (n = 0; n < i && set->page[i - 1 - n].instance == new.id; n++)
			;
		first = &set->page[i - n];
		new.pages = n;
		for (k = 0; k < n; k++)
			if (first[k].kind == STACKBUF_INFO && !first[k].index && first[k].data &&
			    info_sane(first[k].data) &&
			    (!info || info_later(first[k].data, info)))
				info = first[k].data;
		if (info) {
			u64 size = info->info_size + info->events_size + info->stacks_size;

			new.missing = size / STACKBUF_PAGE_SIZE -
				pages_there(first, n, ARRAY_INFO, info->info_size) -
				pages_there(first, n, ARRAY_EVENTS, info->events_size) -
				pages_there(first, n, ARRAY_STACKS, info->stacks_size);
			new.have_info = true;
			new.kept = !info->page.seq;
			new.loaded = info->load_realtime_ns;
			memcpy(new.release, info->release, sizeof(new.release));
			make_printable(new.release, sizeof(new.release));
		}
		GROW(in, nr);
		in[nr++] = new;
	}
	*list = in;
	return nr;
}

u64 page_set_newest(struct page_set *set)
{
	struct instance *list;
	size_t nr = page_set_instances(set, &list);
	u64 id = nr ? instance_default(list, nr)->id : 0;

	free(list);
	return id;
}

const struct instance *instance_default(const struct instance *list, size_t nr)
{
	const struct instance *with_info = NULL, *kept = NULL;
	size_t i;

	for (i = 0; i < nr; i++) {
		if (list[i].have_info && !list[i].missing && !list[i].kept)
			return &list[i];
		if (list[i].have_info && !list[i].missing && !kept)
			kept = &list[i];
		if (list[i].have_info && !with_info)
			with_info = &list[i];
	}
	return kept ?: with_info ?: nr ? list : NULL;
}
