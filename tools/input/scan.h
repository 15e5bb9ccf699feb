/* SPDX-License-Identifier: GPL-2.0 */
/*
 * scan.h - a walk over the pages of a file
 */
#ifndef SCAN_H
#define SCAN_H

#include <time.h>
#include "util.h"

/* Bytes of a file that contain memory, page after page */
struct range {
	u64 offset;	/* offset of the first whole page */
	u64 size;	/* bytes up to the end of the last page; the file may end earlier */
};

/* A walk over pages */
struct scan {
	/*
	 * Called with each page (aligned to 8 bytes, valid until the call returns) and its offset
	 * in the file
	 */
	void (*page)(void *arg, u64 where, const void *page);
	void *arg;
	const char *name;	/* name of the source, for the progress bar */
	u64 total;	/* bytes to scan */
	u64 done;	/* bytes scanned or skipped */
	u64 read;	/* bytes read; holes are skipped */
	u64 unreadable;	/* pages that could not be read */
	bool terminal;	/* standard error is a terminal, for a progress bar */
	bool drawn;	/* the bar is on the screen */
	struct timespec start;	/* when the scan began */
	struct timespec shown;	/* when the bar was last drawn */
};

void scan_start(struct scan *s, const char *name, u64 total);
void scan_pages(struct scan *s, int fd, const struct range *r);
void scan_passed(struct scan *s, u64 bytes, u64 read);
void scan_end(struct scan *s);

#endif
