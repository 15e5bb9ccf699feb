/* SPDX-License-Identifier: GPL-2.0 */
/*
 * page_set.h - the pages that were found: of which load, and which copies count
 */
#ifndef PAGE_SET_H
#define PAGE_SET_H

#include "stackbuf.h"
#include "util.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the memory format is little-endian, and so must be the reader's machine"
#endif

enum array { ARRAY_INFO, ARRAY_EVENTS, ARRAY_STACKS, ARRAY_TEXT, ARRAYS };
extern const char *const array_name[ARRAYS];

/* A larger size in stackbuf_info is damage */
#define ARRAY_BYTES_MAX	(1ULL << 32)

/* The kind of pages of the text log, which store none */
#define KIND_TEXT	0

/*
 * "stackbuf save" adds pages of kind STACKBUF_SNAPSHOT to a file: a head as in every page, then
 * text, padded with NULs.  Its lines are "pages N" (how many pages the file has, these included),
 * then, of a running system, "changed EVENTS TEXT" (pages left out, as they changed while they were
 * read), "kernel-id HEX" and "module-id NAME HEX" (build ids), "kernel-offset HEX" (of KASLR),
 * "host NAME" (the machine's) and "frame ADDRESS NAME".  Readers ignore other lines.
 */
#define SNAPSHOT_TEXT	(STACKBUF_PAGE_SIZE - sizeof(struct stackbuf_page))

/* One page */
struct found_page {
	const void *data;	/* its 4 KiB, or NULL until the source has fetched them */
	u64 where;	/* for the source only: the page's place in its file */
	u64 instance;	/* which load of the module */
	u64 seq;	/* sequence, as in the page */
	u32 index;	/* index, as in the page */
	u16 kind;	/* kind, as in the page */
	u16 file;	/* for the source only: which of its files */
};

/* Pages found anywhere, in any order, of any load of the module */
struct page_set {
	/* The pages; their memory, aligned to 8 bytes, is the source's and must outlive the set */
	struct found_page *page;
	size_t nr;	/* how many */
	unsigned int other_version;	/* an unknown format version that was found, or 0 */
	bool live;	/* it is, or was for a snapshot, the memory of a running system */
	unsigned int changed;	/* event pages left out because they changed while they were read */
	unsigned int changed_text;	/* pages of the text log left out for the same reason */
	u64 left_out;	/* pages beyond PAGE_SET_MAX */
	u64 unreadable;	/* pages of a dump that could not be read, of stackbuf or not */
	u64 cut;	/* bytes that a dump should have and does not */
	/* How they were found in a dump: "page tables" or "scan"; NULL for other sources */
	const char *found_by;
	const char *scanned;	/* why it was a scan, or NULL */
	u64 bytes_read;	/* memory of the dump that was read */
};

/* More pages come from damage or a hostile file, not from a record */
#define PAGE_SET_MAX	(1U << 20)

/* What page_set_add() finds a page to be */
enum page_is { PAGE_TAKEN, PAGE_FOREIGN, PAGE_OTHER_VERSION };

enum page_is page_set_add(struct page_set *set, const void *page);
void page_set_clear(struct page_set *set);

/* One load of the module, of which pages were found */
struct instance {
	u64 id;	/* its number */
	u64 pages;	/* pages found, copies and all */
	/*
	 * The first page of stackbuf_info is among them and has valid sizes; what follows is known
	 * only then
	 */
	bool have_info;
	u64 missing;	/* pages that should be there and are not, the text log's left out */
	u64 loaded;	/* when, ns since 1970 */
	/* The kernel's, printable */
	char release[sizeof(((struct stackbuf_info *)NULL)->release)];
};

/* All loads of the set, newest first, in memory to be freed.  Sorts the set */
size_t page_set_instances(struct page_set *set, struct instance **list);

/* The one to read: the newest complete one, else the newest with info, else the newest of all */
const struct instance *instance_default(const struct instance *list, size_t nr);

/* The id of the default one, 0 if there is none */
u64 page_set_newest(struct page_set *set);

/*
 * The number of copies of page @i that lie from there on, the newest last.  The set must be
 * sorted, as page_set_instances() leaves it.
 */
size_t page_set_copies(const struct page_set *set, size_t i);

/* The array that a page of @kind is in; -1: none */
int page_array(u16 kind);

/* Is it a page of the ring or the text log?  Their sequences order all pages of the array */
bool page_has_seq(const struct found_page *page);

/*
 * A memory image may hold several copies of one page, of different age: the page cache has the
 * files that recordings were saved in.  Only the newest counts: for ring and text the fullest
 * of the highest sequence; for the other arrays all of the highest sequence, which are merged
 * record by record.  Return how many pages remain, by kind, then by age or index.
 */
size_t pages_drop_old_copies(struct found_page *page, size_t nr);

#endif
