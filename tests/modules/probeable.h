/* SPDX-License-Identifier: GPL-2.0 */
/*
 * probeable.h - passed to the compiler with -include: builds stackbuf.ko with
 * probes allowed everywhere, so that a test can stop it at every instruction
 */
#ifndef STACKBUF_PROBEABLE_H
#define STACKBUF_PROBEABLE_H

#include <linux/kprobes.h>

#undef NOKPROBE_SYMBOL
#define NOKPROBE_SYMBOL(fname)

/* Each source file defines its own */
#undef pr_fmt

#endif
