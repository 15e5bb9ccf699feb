/* SPDX-License-Identifier: GPL-2.0 */
/*
 * text_log.h - the records of the text log
 */
#ifndef TEXT_LOG_H
#define TEXT_LOG_H

#include "record/parse.h"

/* Parse the line that a page of the text log begins with.  Return its length, 0 if there is none */
size_t text_head(const char *page, unsigned int *version, u32 *index, u64 *seq, u64 *instance);

/*
 * Drop from @page what may be torn; @again is a copy made after @page.  Return false if the page
 * was reused for new records in between: then @page is blank.
 */
bool text_drop_torn(char *page, const char *again);

/* Add the records of a page, and their stacks */
void record_parse_text(struct record *r, const char *page);

/* When the stack of a text record was first seen: ns since boot, exact to 1 us; 0 if unknown */
u64 text_time(const char *record);

#endif
