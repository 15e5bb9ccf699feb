/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kdump.h - reads the kdump formats with libkdumpfile
 */
#ifndef KDUMP_H
#define KDUMP_H

#include "input/scan.h"

struct kdump;

/*
 * Open the file @fd, of @bytes bytes.  Return NULL with a line in @error, without the file's name.
 * Set *@machine to EM_..., 0 if the file lacks it.
 */
struct kdump *kd_open(int fd, u64 bytes, unsigned int *machine, char *error, size_t size);
void kd_close(struct kdump *k);

/* Bytes of memory that the file spans */
u64 kd_total(const struct kdump *k);

/* Call scan->page for each page; count unreadable pages in @scan */
void kd_scan(struct kdump *k, struct scan *scan);

/* Return a copy of the file's VMCOREINFO, or NULL; the caller frees it */
char *kd_vmcoreinfo(const struct kdump *k);

/* Return true if the end of the file is there: the data of its last pages can be read */
bool kd_whole(struct kdump *k);

/* Read one page.  Return 0 or -1 */
int kd_read(struct kdump *k, u64 where, void *page);

#endif
