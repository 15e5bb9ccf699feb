/* SPDX-License-Identifier: GPL-2.0 */
/*
 * scan.h - look at every page of a file
 */
#ifndef SCAN_H
#define SCAN_H

#include <time.h>
#include "util.h"

/**
 * struct range - bytes of a file that hold memory, a page behind the other
 * @offset: where the first whole page begins
 * @size: bytes up to the end of the last one, whether the file has them or not
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
 * @total: bytes that all of it will take
 * @done: bytes that were passed
 * @read: of these, bytes that were really read
 * @unreadable: pages that could not be read
 * @terminal: standard error shows a progress bar
 * @drawn: it does now
 * @start: when it began
 * @shown: when the bar was drawn
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
