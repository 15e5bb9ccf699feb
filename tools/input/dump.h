/* SPDX-License-Identifier: GPL-2.0 */
/*
 * dump.h - a machine's memory in a file, and how it is read
 */
#ifndef DUMP_H
#define DUMP_H

#include "input/scan.h"

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

#endif
