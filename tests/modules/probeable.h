/* SPDX-License-Identifier: GPL-2.0 */
/*
 * probeable.h - given to the compiler by -include: the same module, but with
 * probes allowed everywhere, so that a test can stop it at every instruction
 */
#ifndef STACKBUF_PROBEABLE_H
#define STACKBUF_PROBEABLE_H

#include <linux/kprobes.h>

#undef NOKPROBE_SYMBOL
#define NOKPROBE_SYMBOL(fname)

/* The sources define their own */
#undef pr_fmt

#endif
