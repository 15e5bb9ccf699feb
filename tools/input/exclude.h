/* SPDX-License-Identifier: GPL-2.0 */
/*
 * exclude.h - keep our own calls out of the record
 */
#ifndef EXCLUDE_H
#define EXCLUDE_H

/* The directory of the module's arrays */
#define DEBUGFS		"/sys/kernel/debug/stackbuf"

/*
 * Open one of the module's files.  Until it is closed, the module records no calls of this process,
 * whatever it reads.  Return the descriptor, or -1.
 */
int exclude_self(void);

#endif
