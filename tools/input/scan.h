/* SPDX-License-Identifier: GPL-2.0 */
/*
 * scan.h - look at every page of a file
 */
#ifndef SCAN_H
#define SCAN_H

#include <time.h>
#include "util.h"

/**
 * struct range - bytes of a file that hold memory, page after page
 * @offset: where the first whole page begins
 * @size: bytes up to the end of the last page, which the file may lack
 */
struct range {
	u64 offset, size;
};

/**
 * struct scan - a walk over pages
 * @page: called with each page (aligned to 8 bytes, until the call returns) and
 *	its offset in the file
 * @arg: its first argument
 * @name: what is scanned, for the progress bar
 * @total: bytes to pass
 * @done: bytes passed
 * @read: bytes read; holes are passed without reading
 * @unreadable: pages that could not be read
 * @terminal: standard error is a terminal, for a progress bar
 * @drawn: the bar is on the screen
 * @start: when the scan began
 * @shown: when the bar was drawn last
 */
struct scan {
	void (*page)(void *arg, u64 where, const void *page);
	void *arg;
	const char *name;
	u64 total, done, read;
	u64 unreadable;
	bool terminal, drawn;
	struct timespec start, shown;
};

void scan_start(struct scan *s, const char *name, u64 total);
void scan_pages(struct scan *s, int fd, const struct range *r);
void scan_passed(struct scan *s, u64 bytes, u64 read);
void scan_end(struct scan *s);

#endif
