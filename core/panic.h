/* SPDX-License-Identifier: GPL-2.0 */
/*
 * panic.h - an oops or a panic stops recording
 */
#ifndef STACKBUF_PANIC_H
#define STACKBUF_PANIC_H

#include "types.h"

/* Parameter panic_dump; sbuf_panic_apply_dump() warns if nothing would be printed */
#define SBUF_PANIC_DUMP_MAX	1000
extern unsigned int sbuf_panic_dump;
void sbuf_panic_apply_dump(void);

/* Stop recording; @why is STACKBUF_FROZEN_OOPS etc. or STACKBUF_UNLOADED.  Any context */
void sbuf_freeze(u32 why);

void __init sbuf_panic_init(void);
void sbuf_panic_exit(void);

#endif /* STACKBUF_PANIC_H */
