/* SPDX-License-Identifier: GPL-2.0 */
/*
 * scan.h - a walk over the pages of a file
 */
#ifndef SCAN_H
#define SCAN_H

#include <time.h>
#include "util.h"

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

#endif
