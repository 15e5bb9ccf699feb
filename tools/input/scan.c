// SPDX-License-Identifier: GPL-2.0
/*
 * scan.c - scans every page of a file
 *
 * It uses pread() into blocks that fit in the CPU's cache.  With mmap(), a truncated file or a
 * failing disk would end the program by SIGBUS.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "input/scan.h"
#include "stackbuf.h"

#define BLOCK		((size_t)1 << 20)

/* In seconds: a scan shorter than SHOW_AFTER shows no bar */
#define SHOW_AFTER	0.5
#define SHOW_EVERY	0.1

/* ------------------------------------------------------------- progress --- */

static double seconds_since(const struct timespec *then)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec - then->tv_sec + (now.tv_nsec - then->tv_nsec) / 1e9;
}

void scan_start(struct scan *s, const char *name, u64 total)
{
	s->name = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
	s->total = total;
	s->done = 0;
	s->read = 0;
	s->unreadable = 0;
	s->terminal = isatty(STDERR_FILENO);
	s->drawn = false;
	clock_gettime(CLOCK_MONOTONIC, &s->start);
	s->shown = s->start;
}

/* Show the rate of reading, without holes: they take no time and would make the rate jump */
static void draw(struct scan *s, double elapsed)
{
	static const char bar[] = "==============================";
	double part = s->total ? (double)s->done / s->total : 1;
	double seconds = part > 0 ? elapsed / part - elapsed + 0.5 : 0;
	unsigned int left = seconds < 3600000 ? seconds : 3600000;
	int width = sizeof(bar) - 1, full;

	if (part > 1)
		part = 1;
	full = part * width;
	fprintf(stderr, "\r%.24s [%.*s%*s] %3d %%, %.1f MB/s, %u:%02u left \033[K", s->name, full,
		bar, width - full, "", (int)(100 * part), s->read / elapsed / 1e6, left / 60,
		left % 60);
	fflush(stderr);
	s->drawn = true;
	clock_gettime(CLOCK_MONOTONIC, &s->shown);
}

void scan_passed(struct scan *s, u64 bytes, u64 read)
{
	double elapsed;

	s->done += bytes;
	s->read += read;
	if (!s->terminal)
		return;
	elapsed = seconds_since(&s->start);
	if (elapsed >= SHOW_AFTER && seconds_since(&s->shown) >= SHOW_EVERY)
		draw(s, elapsed);
}

void scan_end(struct scan *s)
{
	if (s->drawn)
		fputs("\r\033[K", stderr);
	s->drawn = false;
}

/* ----------------------------------------------------------------- pages --- */

/*
 * Set [*@at, *@end) to the next part of a range that is not a hole, in whole pages.  Return false
 * if there is none.  A file without SEEK_DATA has no holes.
 */
static bool next_data(int fd, const struct range *r, u64 *at, u64 *end)
{
	u64 stop = r->offset + r->size;
	off_t data, hole;

	*end = stop;
	data = lseek(fd, *at, SEEK_DATA);
	if (data < 0)
		return errno != ENXIO;
	if ((u64)data >= stop)
		return false;
	if ((u64)data > *at)
		*at += (data - *at) / STACKBUF_PAGE_SIZE * STACKBUF_PAGE_SIZE;
	hole = lseek(fd, data, SEEK_HOLE);
	if (hole > data && (u64)hole < stop)
		*end = *at + (hole - *at + STACKBUF_PAGE_SIZE - 1) / STACKBUF_PAGE_SIZE *
			STACKBUF_PAGE_SIZE;
	return true;
}

/* Scan the pages of [@at, @end).  Return false at the end of the file */
static bool scan_data(struct scan *s, int fd, char *block, u64 at, u64 end)
{
	size_t size, i, singly = 0;
	ssize_t n;

	while (at < end) {
		size = singly ? STACKBUF_PAGE_SIZE : BLOCK;
		if (size > end - at)
			size = end - at;
		n = read_at(fd, block, size, at);
		if (n < 0 && !singly) {
			singly = size / STACKBUF_PAGE_SIZE;
			continue;
		}
		singly -= !!singly;
		if (n < 0) {
			s->unreadable++;
			n = size;
		} else {
			for (i = 0; i + STACKBUF_PAGE_SIZE <= (size_t)n; i += STACKBUF_PAGE_SIZE)
				s->page(s->arg, at + i, block + i);
		}
		scan_passed(s, n, n);
		if ((size_t)n < size)
			return false;
		at += n;
	}
	return true;
}

void scan_pages(struct scan *s, int fd, const struct range *r)
{
	u64 before = s->done, at = r->offset, end, skipped;
	char *block = aligned_alloc(STACKBUF_PAGE_SIZE, BLOCK);

	if (!block)
		die(1, "out of memory");
	for (;;) {
		skipped = at;
		if (at >= r->offset + r->size || !next_data(fd, r, &at, &end))
			break;
		scan_passed(s, at - skipped, 0);
		if (!scan_data(s, fd, block, at, end))
			break;
		at = end;
	}
	/* Count the hole at the end, or the missing bytes */
	scan_passed(s, before + r->size - s->done, 0);
	free(block);
}
