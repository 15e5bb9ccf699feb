/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mapped.h - the record of the loaded module, found through the page tables
 */
#ifndef MAPPED_H
#define MAPPED_H

#include "input/dump.h"

/*
 * Call @page with each page of the record and its place.  Return NULL if the record is whole: every
 * page of its arrays is mapped, readable, and the right one.  Else return the reason why not; @page
 * may have been called any number of times.
 */
const char *mapped_record(struct dump_file *f,
			  void (*page)(void *arg, u64 where, const void *page), void *arg);

#endif
