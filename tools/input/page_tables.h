/* SPDX-License-Identifier: GPL-2.0 */
/*
 * page_tables.h - the kernel's page tables in a dump
 */
#ifndef PAGE_TABLES_H
#define PAGE_TABLES_H

#include "input/dump.h"

/* Parts of the kernel's addresses where modules and the kernel's own data may be */
#define AREAS_MAX	3

struct page_tables;

/* What one entry of the tables maps */
struct mapping {
	u64 addr, phys;	/* virtual, and the physical address of it */
	u64 size;	/* bytes from @addr on */
	bool writable;	/* the kernel may write there */
};

/* A part of the kernel's addresses */
struct area {
	u64 start, end;	/* the first address, and the last one + 1 */
};

/*
 * Find the root of the page tables by the dump's VMCOREINFO.  Return NULL if that does not
 * describe them.
 */
struct page_tables *page_tables_open(struct dump_file *f);
void page_tables_close(struct page_tables *t);

/*
 * Where a module's data may be, and that of a kernel with stackbuf built in; modules first.  Return
 * the number of areas.
 */
unsigned int page_tables_areas(const struct page_tables *t, struct area area[AREAS_MAX]);

/*
 * Find the first mapping at @addr or after it, below @end.  What a damaged table leads to is not
 * mapped.  Return false if there is none.
 */
bool page_tables_next(struct page_tables *t, u64 addr, u64 end, struct mapping *m);

#endif
