/* SPDX-License-Identifier: GPL-2.0 */
/*
 * exclude.h - keep our own calls out of the record
 */
#ifndef EXCLUDE_H
#define EXCLUDE_H

/* Where the module's arrays are */
#define DEBUGFS		"/sys/kernel/debug/stackbuf"

/*
 * Open one of the module's files: until it is closed, the module records none of this process's
 * calls, whatever it reads.  Return the descriptor, or -1.
 */
int exclude_self(void);

#endif
