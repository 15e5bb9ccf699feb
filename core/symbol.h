/* SPDX-License-Identifier: GPL-2.0 */
/*
 * symbol.h - the function at an address, and whether it has a frame record there
 */
#ifndef STACKBUF_SYMBOL_H
#define STACKBUF_SYMBOL_H

#include "types.h"

/* The function that an address is in; @len is the length of its @name */
struct sbuf_symbol {
	unsigned long start, size;
	unsigned int len;
	bool of_module;
	char name[KSYM_SYMBOL_LEN];
};

/* Look up the symbol at any address; false if there is none, and @symbol is undefined */
bool sbuf_symbol_at(struct sbuf_symbol *symbol, unsigned long addr);
/*
 * With frame records only: whether a function has none at @pc, so that its caller is in the link
 * register (arm64) or on top of the stack (x86) only.  false also if that is not known.  Caches
 * its answers.
 */
bool sbuf_symbol_is_frameless(unsigned long pc);
/*
 * What sbuf_likely_caller() and recall must know of a probe's place: with frame records
 * sbuf_symbol_is_frameless(), else whether @pc is in a function's first instructions.  Process
 * context; takes milliseconds.
 */
bool sbuf_symbol_is_entry(unsigned long pc);

#endif /* STACKBUF_SYMBOL_H */
