/* SPDX-License-Identifier: GPL-2.0 */
/*
 * keep_out.h - where the module's arrays are, and not to be recorded while reading
 */
#ifndef KEEP_OUT_H
#define KEEP_OUT_H

#define DEBUGFS		"/sys/kernel/debug/stackbuf"

/*
 * Open one of the module's files: until it is closed, the module records none of this process's
 * calls, whatever it reads.  Return the descriptor, or -1.
 */
int keep_out(void);

#endif
