/* SPDX-License-Identifier: GPL-2.0 */
/*
 * debugfs.h - the arrays as files of debugfs
 */
#ifndef STACKBUF_DEBUGFS_H
#define STACKBUF_DEBUGFS_H

#include <linux/init.h>

void __init sbuf_debugfs_init(void);
void sbuf_debugfs_exit(void);

#endif /* STACKBUF_DEBUGFS_H */
