/* SPDX-License-Identifier: GPL-2.0 */
/*
 * dump.h - reads a machine's memory from a file
 */
#ifndef DUMP_H
#define DUMP_H

#include "input/scan.h"

struct kdump;

enum dump_kind { DUMP_RAW, DUMP_ELF, DUMP_LIME, DUMP_KDUMP };

/* Offset of zeroed memory, which the file need not contain */
#define SEGMENT_ZEROES	(~0ULL)

/* Bytes of an ELF core file that contain memory */
struct segment {
	u64 phys;	/* physical address of the first byte */
	u64 offset;	/* offset in the file, or SEGMENT_ZEROES */
	u64 size;	/* length; the file may end earlier */
};

/* One of the files */
struct dump_file {
	char *name;	/* as given, without the address after it */
	int fd;	/* open for reading; for a flattened file, a reassembled copy */
	enum dump_kind kind;
	u64 size;	/* bytes in the file */
	/* DUMP_RAW: the physical address that it begins with, if known */
	u64 start;
	bool start_guessed;	/* not given, but from VMCOREINFO */
	struct range *range;	/* parts of it that contain pages; unused for DUMP_KDUMP */
	size_t ranges;
	/* DUMP_ELF, DUMP_LIME: segments by physical address, in order and without overlaps */
	struct segment *segment;
	size_t segments;
	char *vmcoreinfo;	/* a copy of the note, or NULL if the file lacks it */
	u64 bytes_read;	/* bytes of memory read, except by scans */
	u64 cut;	/* bytes that its headers promise and the file lacks */
	struct kdump *kdump;	/* reads a DUMP_KDUMP file */
	unsigned int machine;	/* EM_... from its headers, 0 if they lack it */
	char error[512];
};

/*
 * Open @name, which "@ADDRESS" may follow.  With an address or with @raw, the file is memory
 * whatever it begins with.  Return 0, or -1 with a line in f->error.  Call dump_close() in both
 * cases.
 */
int dump_open(struct dump_file *f, const char *name, bool raw);
void dump_close(struct dump_file *f);

/* The bytes to scan, for scan_start() */
u64 dump_total(const struct dump_file *f);

/* Call scan->page for each page; dump_read() accepts its @where */
void dump_scan(struct dump_file *f, struct scan *scan);

/* Read one page.  Return 0 or -1 */
int dump_read(struct dump_file *f, u64 where, void *page);

/*
 * Read the page at a physical address, and set *@where to its place, as in dump_scan().  Return 0,
 * or -1 if the dump lacks the page.
 */
int dump_read_memory(struct dump_file *f, u64 phys, void *page, u64 *where);

/*
 * Prepare to read single pages.  Return false if the end of a compressed dump is missing: only a
 * scan shows how many pages are lost.
 */
bool dump_seek(struct dump_file *f);

#endif
