/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mapped.h - the record of the module that is loaded, found through the page tables
 */
#ifndef MAPPED_H
#define MAPPED_H

#include "input/dump.h"

/*
 * Call @page with each page of the record and its place.  Return NULL if the record is whole: every
 * page of its arrays is mapped, can be read, and is the one that belongs there.  Else return why
 * not, after any number of calls.
 */
const char *mapped_record(struct dump_file *f,
			  void (*page)(void *arg, u64 where, const void *page), void *arg);

#endif
