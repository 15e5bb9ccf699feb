/* SPDX-License-Identifier: GPL-2.0 */
/*
 * page_tables.h - the kernel's page tables in a dump
 */
#ifndef PAGE_TABLES_H
#define PAGE_TABLES_H

#include "input/dump.h"

/* Parts of the kernel's address space that may contain data of modules and the kernel */
#define AREAS_MAX	3

struct page_tables;

/* Mapping by one entry of the tables */
struct mapping {
	u64 addr, phys;	/* virtual address, and its physical address */
	u64 size;	/* bytes from @addr on */
	bool writable;	/* the kernel may write to it */
};

/* A part of the kernel's address space */
struct area {
	u64 start, end;	/* the first address, and the last one + 1 */
};

/*
 * Find the root of the page tables from the dump's VMCOREINFO.  Return NULL if VMCOREINFO does not
 * describe them.
 */
struct page_tables *page_tables_open(struct dump_file *f);
void page_tables_close(struct page_tables *t);

/*
 * Get the areas for data of modules, and of a kernel with stackbuf built in; modules first.  Return
 * the number of areas.
 */
unsigned int page_tables_areas(const struct page_tables *t, struct area area[AREAS_MAX]);

/*
 * Find the first mapping at or after @addr and below @end.  Memory that only a damaged table maps
 * counts as unmapped.  Return false if there is none.
 */
bool page_tables_next(struct page_tables *t, u64 addr, u64 end, struct mapping *m);

#endif
