// SPDX-License-Identifier: GPL-2.0
/*
 * mapped.c - the record of the loaded module, found through the kernel's page tables
 *
 * The page of stackbuf_info has its own virtual address, and the addresses of all arrays.  So
 * exactly one of the pages mapped in the modules' area is certain to be it, whatever copies exist;
 * the page tables lead from there to every other page.
 *
 * Any doubt means a scan, which needs neither tables nor addresses.  A scan finds the remains of a
 * damaged record, and only a scan finds the records of previous loads and boots.
 */
#include <stdlib.h>
#include <string.h>
#include "input/mapped.h"
#include "input/page_tables.h"
#include "record/parse.h"

/* Pages read to find that of stackbuf_info: 256 MiB; modules have a few tens of MiB of data */
#define PAGES_MAX	(1U << 16)

/* A walk over a record */
struct record_walk {
	struct page_tables *tables;
	struct dump_file *file;
	void (*page)(void *arg, u64 where, const void *page);	/* called with each page */
	void *arg;
	struct stackbuf_info *info;	/* first page of stackbuf_info; the others are not read */
	bool text_ended;	/* the previous page of text was blank: only blank pages follow */
	bool text_padded;	/* the previous page was padded, because another one was begun */
};

/* Return true for the first page of stackbuf_info, mapped at the address that it contains */
static bool is_info(const struct stackbuf_info *info, u64 addr)
{
	return info->page.magic == ~STACKBUF_MAGIC_INVERTED &&
		info->page.version == STACKBUF_VERSION && info->page.kind == STACKBUF_INFO &&
		!info->page.index && info->info_addr == addr && info_sane(info);
}

/* Find the page of stackbuf_info in an area.  Count the pages read in *@pages */
static bool find_info(struct record_walk *w, const struct area *area, unsigned int *pages)
{
	u64 addr, at, where;
	struct mapping m = { 0 };

	for (addr = area->start; page_tables_next(w->tables, addr, area->end, &m);
	     addr = m.addr + m.size) {
		for (at = 0; m.writable && at < m.size; at += STACKBUF_PAGE_SIZE) {
			if (++*pages > PAGES_MAX)
				return false;
			if (!dump_read_memory(w->file, m.phys + at, w->info, &where) &&
			    is_info(w->info, m.addr + at))
				return true;
		}
	}
	return false;
}

/* Return true if the page of text is the right one.  Pages are blank until used, in order */
static bool belongs_text(struct record_walk *w, u32 i, const char *page)
{
	unsigned int version;
	u64 seq, instance;
	u32 index;

	if (!*page) {
		/* If there is any text, the first page is used */
		if (!i || w->text_padded || memcmp(page, page + 1, STACKBUF_PAGE_SIZE - 1))
			return false;
		w->text_ended = true;
		return true;
	}
	w->text_padded = page[STACKBUF_PAGE_SIZE - 1];
	return !w->text_ended && text_head(page, &version, &index, &seq, &instance) &&
		version == STACKBUF_VERSION && index == i &&
		instance == w->info->page.instance;
}

static bool belongs(struct record_walk *w, enum array a, u32 i, const void *page)
{
	const struct stackbuf_page *head = page;

	if (a == ARRAY_TEXT)
		return belongs_text(w, i, page);
	return head->magic == ~STACKBUF_MAGIC_INVERTED && head->version == STACKBUF_VERSION &&
		head->index == i && head->instance == w->info->page.instance &&
		page_array(head->kind) == (int)a;
}

/* Read all pages of an array.  Return false if one is missing or wrong */
static bool read_array(struct record_walk *w, enum array a, u64 start, u64 size)
{
	char page[STACKBUF_PAGE_SIZE] __attribute__((aligned(8)));
	u64 addr, end = start + size, at, where;
	struct mapping m = { 0 };
	u32 i = 0;

	if (start % STACKBUF_PAGE_SIZE || end < start)
		return false;
	for (addr = start; addr < end; addr += m.size) {
		if (!page_tables_next(w->tables, addr, end, &m) || m.addr != addr)
			return false;
		for (at = 0; at < m.size; at += STACKBUF_PAGE_SIZE, i++) {
			if (dump_read_memory(w->file, m.phys + at, page, &where) ||
			    !belongs(w, a, i, page))
				return false;
			w->page(w->arg, where, page);
		}
	}
	return true;
}

static const char *read_record(struct record_walk *w)
{
	struct area area[AREAS_MAX];
	unsigned int i, nr = page_tables_areas(w->tables, area), pages = 0;
	const struct stackbuf_info *info = w->info;
	bool found = false;

	for (i = 0; i < nr && !found; i++)
		found = find_info(w, &area[i], &pages);
	if (!found)
		return "the page tables lead to no record";
	if (!read_array(w, ARRAY_INFO, info->info_addr, info->info_size) ||
	    !read_array(w, ARRAY_EVENTS, info->events_addr, info->events_size) ||
	    !read_array(w, ARRAY_STACKS, info->stacks_addr, info->stacks_size) ||
	    !read_array(w, ARRAY_TEXT, info->text_addr, info->text_size))
		return "the record that the page tables lead to is not whole";
	return NULL;
}

const char *mapped_record(struct dump_file *f,
			  void (*page)(void *arg, u64 where, const void *page), void *arg)
{
	struct record_walk w = { .file = f, .page = page, .arg = arg };
	const char *why;

	if (f->kind == DUMP_RAW)
		return "a raw image names no place of its VMCOREINFO";
	if (!f->vmcoreinfo)
		return "there is no VMCOREINFO";
	w.tables = page_tables_open(f);
	if (!w.tables)
		return "VMCOREINFO does not describe the page tables";
	w.info = xcalloc(1, sizeof(*w.info));
	why = dump_seek(f) ? read_record(&w) : "the dump is cut or damaged";
	free(w.info);
	page_tables_close(w.tables);
	return why;
}
