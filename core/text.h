/* SPDX-License-Identifier: GPL-2.0 */
/*
 * text.h - the text log
 */
#ifndef STACKBUF_TEXT_H
#define STACKBUF_TEXT_H

#include "types.h"

void __init sbuf_text_init(void);
/* The name of this load has changed.  Under sbuf_table_mutex */
void __init sbuf_text_note_instance(void);

/* Render the stack at @granule if its text is pending.  Under sbuf_table_mutex */
void sbuf_text_render(u32 granule);
/* Render what is pending.  Process context */
void sbuf_text_flush(void);
/* Likewise, for a second at most, when the other CPUs were stopped by a panic */
void sbuf_text_flush_panic(void);
/* Copy a command of TASK_COMM_LEN bytes, terminate it, replace unprintable bytes by '?' */
void sbuf_text_printable(char *out, const char *comm);

#endif /* STACKBUF_TEXT_H */
