/* SPDX-License-Identifier: GPL-2.0 */
/*
 * text.h - the text log
 */
#ifndef STACKBUF_TEXT_H
#define STACKBUF_TEXT_H

#include "types.h"

struct sbuf_draft;

/*
 * Claim the text of a stack, with interrupts off.  Return where to render it; NULL if the stack
 * has a text, another context claimed it, or no draft is free: its next event tries again.
 */
struct sbuf_draft *sbuf_text_claim(struct stackbuf_stack *stack);
/* Render a stack and its first event; @name is memory for a symbol, KSYM_SYMBOL_LEN bytes */
void sbuf_text_render(struct sbuf_draft *draft, const struct sbuf_event *event,
		      const unsigned long *pc, unsigned int nr, bool cut, char *name);
/* Copy a rendered draft, and others that are ready, into the text log */
void sbuf_text_publish(struct sbuf_draft *ready);
/* Copy a command of TASK_COMM_LEN bytes, terminate it, replace unprintable bytes by '?' */
void sbuf_text_printable(char *out, const char *comm);

#endif /* STACKBUF_TEXT_H */
