// SPDX-License-Identifier: GPL-2.0
/*
 * dumps.c - files that contain a machine's memory, or a snapshot, with pages anywhere
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "input/dump.h"
#include "input/dump_kallsyms.h"
#include "input/dumps.h"
#include "input/explain.h"
#include "input/folded.h"
#include "input/mapped.h"
#include "input/vmcoreinfo.h"

/* Pages of info kept while scanning: one for each load, and copies */
#define INFO_PAGES_MAX	1000

/* Differing copies of one page with the same sequence that are kept */
#define COPIES_MAX	256

struct dumps {
	struct dump_file *file;
	unsigned int files;
	FILE *names;	/* the file of source.kallsyms */
	void **block;	/* blocks of fetched pages */
	size_t blocks;
	u64 kernel_offset;	/* the kernel's KASLR offset */
	unsigned int kernel_offsets;	/* 0: the offset is unknown; 2: the dump has several */
};

static void *keep_page(struct source *s, const void *page)
{
	struct dumps *own = s->own;
	void *block = xrealloc(NULL, 1, STACKBUF_PAGE_SIZE);

	if ((own->blocks & (own->blocks - 1)) == 0)
		own->block = xrealloc(own->block, own->blocks ? 2 * own->blocks : 1,
				      sizeof(*own->block));
	own->block[own->blocks++] = block;
	return memcpy(block, page, STACKBUF_PAGE_SIZE);
}

/* If an image has several kernels, use the first one's release; the right offset is unknown */
static void take_vmcoreinfo(struct source *s, const char *info)
{
	struct dumps *own = s->own;
	u64 offset;

	if (!*s->linux_release)
		vmcoreinfo_release(info, s->linux_release, s->linux_build_id);
	if (!vmcoreinfo_kernel_offset(info, &offset))
		return;
	if (!own->kernel_offsets || offset != own->kernel_offset)
		own->kernel_offsets++;
	own->kernel_offset = offset;
}

/* Use a VMCOREINFO page that a scan found: a raw image has no note */
static void find_vmcoreinfo(struct source *s, struct dump_file *f, const char *page)
{
	char *info = xasprintf("%.*s", STACKBUF_PAGE_SIZE, page);

	take_vmcoreinfo(s, info);
	if (f->vmcoreinfo) {
		free(info);
		return;
	}
	f->vmcoreinfo = info;
	/* On arm64 memory does not begin at 0 */
	if (f->kind == DUMP_RAW && !f->start)
		f->start_guessed = vmcoreinfo_number(f->vmcoreinfo, "PHYS_OFFSET", &f->start);
}

static void dumps_find_kallsyms(struct source *s, const struct stackbuf_info *info)
{
	struct dumps *own = s->own;

	if (own->files != 1)
		return;
	own->names = tmpfile();
	if (!own->names ||
	    dump_kallsyms(own->file, own->names, info->base_symbol, info->base_addr) ||
	    fflush(own->names))
		return;
	s->kallsyms = xasprintf("/proc/self/fd/%d", fileno(own->names));
}

static bool dumps_kernel_offset(const struct source *s, u64 *offset)
{
	const struct dumps *own = s->own;

	*offset = own->kernel_offset;
	return own->kernel_offsets == 1;
}

struct page_search {
	struct source *source;
	struct page_set *set;
	unsigned int file, infos;
};

/* Add a page to the set.  For most pages this reads only the first word */
static void visit_page(void *arg, u64 where, const void *page)
{
	struct page_search *f = arg;
	struct source *s = f->source;
	struct dumps *own = s->own;
	struct found_page *p;
	size_t nr = f->set->nr;
	u64 word;

	memcpy(&word, page, sizeof(word));
	if (word != ~STACKBUF_MAGIC_INVERTED && memcmp(&word, "stackbuf", sizeof(word))) {
		if (!memcmp(&word, VMCOREINFO, sizeof(word)) &&
		    !memcmp(page, VMCOREINFO, strlen(VMCOREINFO)))
			find_vmcoreinfo(s, &own->file[f->file], page);
		return;
	}
	/* page_set_add() counts pages that do not fit in the set */
	if (page_set_add(f->set, page) != PAGE_TAKEN || f->set->nr == nr)
		return;
	p = &f->set->page[nr];
	p->data = NULL;
	p->where = where;
	p->file = f->file;
	/* The page of info identifies its load */
	if (p->kind == STACKBUF_INFO && !p->index && f->infos++ < INFO_PAGES_MAX)
		p->data = keep_page(s, page);
}

/*
 * Return the number of pages that a snapshot should have, 0 for a file that is not a snapshot.  Add
 * the pages that were left out when it was made.
 */
static unsigned long long promised_pages(struct dump_file *f, struct page_set *set)
{
	char page[STACKBUF_PAGE_SIZE + 1] = "";
	const struct stackbuf_page *head = (const void *)page;
	unsigned long long pages = 0;
	unsigned int changed, text;

	if (f->kind != DUMP_RAW || dump_read(f, 0, page) ||
	    head->magic != ~STACKBUF_MAGIC_INVERTED || head->version != STACKBUF_VERSION ||
	    head->kind != STACKBUF_SNAPSHOT || head->index)
		return 0;
	if (sscanf(page + sizeof(*head), "pages %llu changed %u %u", &pages, &changed,
		   &text) == 3) {
		set->live = true;
		set->changed += changed;
		set->changed_text += text;
	}
	return pages;
}

static int nothing_found(struct source *s, const struct page_set *set)
{
	struct dumps *own = s->own;
	const char *why = NULL;
	bool is_dump = *s->linux_release;
	unsigned int i;

	if (set->other_version)
		return failed(s, "%s: format version %u; this stackbuf knows version %u", s->name,
			      set->other_version, STACKBUF_VERSION);
	for (i = 0; i < own->files && !why; i++) {
		why = explain_file(own->file[i].fd) ?: folded_explain(own->file[i].fd);
		is_dump |= own->file[i].machine || own->file[i].kind == DUMP_LIME;
	}
	if (why && !*s->linux_release)
		return failed(s, "%s: %s", own->file[i - 1].name, why);
	if (is_dump && (set->cut || set->unreadable))
		return failed(s, "%s: is cut or damaged: the rest of this dump holds no page of stackbuf's memory",
			s->name);
	if (is_dump)
		return failed(s, "%s: is a dump%s%s, and holds no page of stackbuf's memory: the module was not loaded",
			s->name, *s->linux_release ? " of Linux " : "", s->linux_release);
	return failed(s, "%s: is neither a snapshot nor a dump: it holds no page of stackbuf's or of Linux",
		      s->name);
}

static int check_promised(struct source *s, struct page_set *set)
{
	struct dumps *own = s->own;
	unsigned long long promised;
	unsigned int i;

	for (i = 0; i < own->files; i++) {
		u64 pages = own->file[i].size / STACKBUF_PAGE_SIZE;

		promised = promised_pages(&own->file[i], set);
		if (promised > pages)
			return failed(s, "%s: is cut: %llu of %llu pages are there",
				      own->file[i].name, pages, promised);
		if (promised && own->file[i].size % STACKBUF_PAGE_SIZE)
			return failed(s, "%s: is cut: it ends inside a page", own->file[i].name);
		s->promised += promised;
	}
	return 0;
}

/* Add a page of the record, which is read only once */
static void visit_mapped_page(void *arg, u64 where, const void *page)
{
	struct page_search *f = arg;
	size_t nr = f->set->nr;

	visit_page(arg, where, page);
	if (f->set->nr > nr && !f->set->page[nr].data)
		f->set->page[nr].data = keep_page(f->source, page);
}

/* Find the record through the kernel's page tables.  Return NULL, or the reason for a scan */
static const char *load_mapped(struct source *s, struct page_search *search)
{
	struct dumps *own = s->own;
	const char *why;

	if (s->scan)
		return s->scan;
	if (own->files > 1)
		return "there are several files";
	why = mapped_record(&own->file[0], visit_mapped_page, search);
	if (!why)
		take_vmcoreinfo(s, own->file[0].vmcoreinfo);
	else
		page_set_clear(search->set);
	return why;
}

/* Scan every page.  Return the bytes read */
static u64 scan_files(struct source *s, struct page_search *search)
{
	struct dumps *own = s->own;
	struct scan scan = { .page = visit_page, .arg = search };
	u64 total = 0;
	unsigned int i;

	search->infos = 0;
	for (i = 0; i < own->files; i++)
		total += dump_total(&own->file[i]);
	scan_start(&scan, s->name, total);
	for (i = 0; i < own->files; i++) {
		search->file = i;
		dump_scan(&own->file[i], &scan);
	}
	scan_end(&scan);
	search->set->unreadable = scan.unreadable;
	return scan.read;
}

/* Bytes read from the files, except by scans */
static u64 files_bytes_read(const struct source *s)
{
	struct dumps *own = s->own;
	u64 bytes = 0;
	unsigned int i;

	for (i = 0; i < own->files; i++)
		bytes += own->file[i].bytes_read;
	return bytes;
}

static int dumps_load(struct source *s, struct page_set *set)
{
	struct dumps *own = s->own;
	struct page_search search = { .source = s, .set = set };
	u64 scanned = 0;
	unsigned int i;

	set->scanned = load_mapped(s, &search);
	if (set->scanned)
		scanned = scan_files(s, &search);
	for (i = 0; i < own->files; i++)
		set->cut += own->file[i].cut;
	if (!set->nr)
		return nothing_found(s, set);
	if (check_promised(s, set))
		return -1;
	/* A snapshot holds nothing else */
	if (!s->promised)
		set->found_by = set->scanned ? "scan" : "page tables";
	set->bytes_read = scanned + files_bytes_read(s);
	return 0;
}

/* Return true if one of these copies, as far as they were read, equals @page */
static bool is_among(const struct found_page *copy, size_t nr, const void *page)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (copy[i].data && !memcmp(copy[i].data, page, STACKBUF_PAGE_SIZE))
			return true;
	return false;
}

/*
 * Read the data of copies of one page with the same age.  Several segments may have a page with
 * several mappings, and the page cache may have any number of saved records: keep one of equal
 * copies, and of a page of the ring or the text log only the fullest.
 */
static void fetch_copies(struct source *s, struct page_set *set, struct found_page *copy, size_t nr)
{
	struct dumps *own = s->own;
	char page[STACKBUF_PAGE_SIZE] __attribute__((aligned(8)));
	void *fullest = NULL;
	unsigned int copies = 0;
	size_t i;

	for (i = 0; i < nr; i++) {
		if (copy[i].data)
			continue;
		if (dump_read(&own->file[copy[i].file], copy[i].where, page)) {
			set->unreadable++;
			continue;
		}
		if (fullest) {
			if (page_fill(page) > page_fill(fullest))
				memcpy(fullest, page, sizeof(page));
			continue;
		}
		if (is_among(copy, i, page))
			continue;
		if (copies == COPIES_MAX) {
			set->copies_left_out++;
			continue;
		}
		copies++;
		copy[i].data = keep_page(s, page);
		if (page_has_seq(&copy[i]))
			fullest = (void *)copy[i].data;
	}
}

static int dumps_fetch(struct source *s, struct page_set *set, u64 instance)
{
	u64 before = files_bytes_read(s);
	size_t i, n, old;

	for (i = 0; i < set->nr; i += n) {
		n = page_set_copies(set, i);
		if (set->page[i].instance != instance)
			continue;
		/* Older copies are not needed */
		for (old = 0; set->page[i + old].seq != set->page[i + n - 1].seq; old++)
			;
		fetch_copies(s, set, &set->page[i + old], n - old);
	}
	set->bytes_read += files_bytes_read(s) - before;
	return 0;
}

static void dumps_close(struct source *s)
{
	struct dumps *own = s->own;
	unsigned int i;
	size_t n;

	for (i = 0; i < own->files; i++)
		dump_close(&own->file[i]);
	free(own->file);
	for (n = 0; n < own->blocks; n++)
		free(own->block[n]);
	free(own->block);
	if (own->names)
		fclose(own->names);
	free(own);
}

static const struct source_ops dumps_ops = {
	.load = dumps_load,
	.fetch = dumps_fetch,
	.kernel_offset = dumps_kernel_offset,
	.find_kallsyms = dumps_find_kallsyms,
	.close = dumps_close,
};

/*
 * Among pieces of memory, a file that begins like ELF but is not a whole dump is a piece as well:
 * its first page was the beginning of a program, or of the headers for a vmcore.
 */
int dumps_open(struct source *s, char *const *name, unsigned int names)
{
	struct dumps *own = xcalloc(1, sizeof(*own));
	bool pieces = false;
	struct dump_file *f;
	unsigned int i;

	s->ops = &dumps_ops;
	s->own = own;
	own->file = xcalloc(names, sizeof(*own->file));
	for (f = own->file; own->files < names; f++) {
		if (dump_open(f, name[own->files++], false) && f->kind != DUMP_ELF)
			return failed(s, "%s", f->error);
		pieces |= f->kind == DUMP_RAW;
	}
	for (i = 0, f = own->file; i < names; i++, f++) {
		if (f->kind != DUMP_ELF || (f->ranges && !f->cut))
			continue;
		dump_close(f);
		if (dump_open(f, name[i], pieces))
			return failed(s, "%s", f->error);
	}
	return 0;
}
