/* SPDX-License-Identifier: GPL-2.0 */
/*
 * dump.h - a machine's memory in files, and how it is read
 */
#ifndef DUMP_H
#define DUMP_H

#include <elf.h>
#include <stdio.h>
#include <time.h>
#include "util.h"

/* -------------------------------------------------------------- scan.c --- */

/* Bytes of a file that hold memory, page after page */
struct range {
	u64 offset;	/* where the first whole page begins */
	u64 size;	/* bytes up to the end of the last page, which the file may lack */
};

/* A walk over pages */
struct scan {
	/*
	 * Called with each page (aligned to 8 bytes, until the call returns) and its offset in the
	 * file
	 */
	void (*page)(void *arg, u64 where, const void *page);
	void *arg;
	const char *name;	/* what is scanned, for the progress bar */
	u64 total;	/* bytes to pass */
	u64 done;	/* bytes passed */
	u64 read;	/* bytes read; holes are passed without reading */
	u64 unreadable;	/* pages that could not be read */
	bool terminal;	/* standard error is a terminal, for a progress bar */
	bool drawn;	/* the bar is on the screen */
	struct timespec start;	/* when the scan began */
	struct timespec shown;	/* when the bar was drawn last */
};

void scan_start(struct scan *s, const char *name, u64 total);
void scan_pages(struct scan *s, int fd, const struct range *r);
void scan_passed(struct scan *s, u64 bytes, u64 read);
void scan_end(struct scan *s);

/* -------------------------------------------------------------- dump.c --- */

struct kdump;

enum dump_kind { DUMP_RAW, DUMP_ELF, DUMP_KDUMP };

/* Memory of zeroes, which a file need not hold */
#define SEGMENT_ZEROES	(~0ULL)

/* Bytes of an ELF core file that hold memory */
struct segment {
	u64 phys;	/* the physical address of the first one */
	u64 offset;	/* where they are in the file, or SEGMENT_ZEROES */
	u64 size;	/* how many, which the file may lack */
};

/* One of the files */
struct dump_file {
	char *name;	/* as given, without the address after it */
	int fd;	/* open for reading; of a flattened file, its contents put in order */
	enum dump_kind kind;
	u64 size;	/* bytes that the file has */
	/* Of DUMP_RAW, the physical address that it begins with, as far as that is known */
	u64 start;
	struct range *range;	/* where pages lie in it; unused for DUMP_KDUMP */
	size_t ranges;
	/* Of DUMP_ELF, where physical addresses are, in order and without overlaps */
	struct segment *segment;
	size_t segments;
	char *vmcoreinfo;	/* a copy of the note, NULL if the file does not have it */
	u64 bytes_read;	/* of memory, scans left out */
	u64 cut;	/* bytes that its headers promise and the file lacks */
	struct kdump *kdump;	/* reads the file if it is DUMP_KDUMP */
	unsigned int machine;	/* EM_... by its headers, 0 if they do not have it */
	char error[512];
};

/*
 * Open @name, which may be followed by "@ADDRESS".  Then, or with @raw, it is memory whatever it
 * begins with.  Return 0, or -1 with a line in f->error.  To be closed in both cases.
 */
int dump_open(struct dump_file *f, const char *name, bool raw);
void dump_close(struct dump_file *f);

/* The bytes to pass, for scan_start() */
u64 dump_total(const struct dump_file *f);

/* Call scan->page for each page; its @where is what dump_read() takes */
void dump_scan(struct dump_file *f, struct scan *scan);

/* Read one page.  Return 0 or -1 */
int dump_read(struct dump_file *f, u64 where, void *page);

/*
 * Read the page at a physical address, and set *@where to its place, as dump_scan() gives it.
 * Return 0, or -1 if the dump does not have it.
 */
int dump_read_memory(struct dump_file *f, u64 phys, void *page, u64 *where);

/*
 * Prepare for pages that are read one by one.  Return false if data of a compressed dump is
 * missing at its end: only a scan shows how many pages that costs.
 */
bool dump_seek(struct dump_file *f);

/* The VMCOREINFO of a core file, to be freed; NULL if it is not there */
char *core_vmcoreinfo(int fd);

/*
 * Read the program headers of a 64-bit little-endian core file, to be freed, and set *@nr to their
 * number.  Return NULL if the file is none.  *@whole is whether that are all that it should have.
 */
Elf64_Phdr *core_segments(int fd, size_t *nr, bool *whole);

/* ------------------------------------------------------------- kdump.c --- */

/*
 * Start to read the file @fd, of @bytes bytes.  Return NULL with a line in @error,
 * without the file's name.  Set *@machine to EM_..., 0 if the file does not have it.
 */
struct kdump *kd_open(int fd, u64 bytes, unsigned int *machine, char *error, size_t size);
void kd_close(struct kdump *k);

/* Bytes of memory that the file spans */
u64 kd_total(const struct kdump *k);

/* Call scan->page for each page; count those that cannot be read in @scan */
void kd_scan(struct kdump *k, struct scan *scan);

/* A copy of the file's VMCOREINFO, to be freed; NULL if it is not there */
char *kd_vmcoreinfo(const struct kdump *k);

/* Is the end of the file there?  The data of its last pages can be read */
bool kd_whole(struct kdump *k);

/* Read one page.  Return 0 or -1 */
int kd_read(struct kdump *k, u64 where, void *page);

/* ---------------------------------------------------------- VMCOREINFO --- */

/* Its first key.  As text it is a page of every Linux kernel's memory */
#define VMCOREINFO	"OSRELEASE="

/* Bytes of it that are read: the kernel has one page, of 64 KiB at most */
#define VMCOREINFO_MAX	65536

/*
 * The value of "SYMBOL(@name)", of "NUMBER(@name)", of any @key.  Return false without it.  Here
 * and below @info is its text, lines "KEY=VALUE", or NULL.
 */
bool vmcoreinfo_symbol(const char *info, const char *name, u64 *value);
bool vmcoreinfo_number(const char *info, const char *name, u64 *value);
bool vmcoreinfo_value(const char *info, const char *key, int base, u64 *value);

/* The offset of KASLR, of x86-64 and arm64.  Return false if it is not there */
bool vmcoreinfo_kernel_offset(const char *info, u64 *offset);

/* Copy the release, of 64 bytes, and the build id, of 128; "" where they are not there */
void vmcoreinfo_release(const char *info, char *release, char *build_id);

/* --------- the kernel's page tables in a dump, and what they lead to --- */

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

/* mapped.c: the record of the module that is loaded, found through the page tables */

/*
 * Call @page with each page of the record and its place.  Return NULL if the record is whole: every
 * page of its arrays is mapped, can be read, and is the one that belongs there.  Else return why
 * not, after any number of calls.
 */
const char *mapped_record(struct dump_file *f,
			  void (*page)(void *arg, u64 where, const void *page), void *arg);

/* dump_kallsyms.c: the kernel's own symbols in a dump */

/*
 * Write the kernel's own symbols as /proc/kallsyms prints them, modules' left out.  Return 0, or -1
 * if the dump does not have them, or not one with @name at @addr.
 */
int dump_kallsyms(struct dump_file *f, FILE *to, const char *name, u64 addr);

#endif
