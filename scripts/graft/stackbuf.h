/* SPDX-License-Identifier: GPL-2.0 */
/*
 * linux/stackbuf.h - stackbuf in a kernel's tree: the calls that record stacks
 *
 * Where CONFIG_STACKBUF is not set, or is m and this is code of the kernel itself, they are there
 * and do nothing.
 */
#ifndef _LINUX_STACKBUF_H
#define _LINUX_STACKBUF_H

#include <linux/init.h>
#include <linux/kconfig.h>

#if !IS_REACHABLE(CONFIG_STACKBUF)
#define STACKBUF_DISABLED
#endif

#include <linux/stackbuf/stackbuf.h>

#if IS_BUILTIN(CONFIG_STACKBUF)
void __init stackbuf_early_init(void);
#else
static inline void stackbuf_early_init(void) { }
#endif

#endif /* _LINUX_STACKBUF_H */
