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

/* Look up the symbol at any address.  Return false, with @symbol undefined, if there is none */
bool sbuf_symbol_at(struct sbuf_symbol *symbol, unsigned long addr);
/*
 * Only with frame records: return true if a function has no record at @pc, so that its caller is
 * only in the link register (arm64) or on top of the stack (x86); false also if that is not known.
 * Caches its results.
 */
bool sbuf_symbol_is_frameless(unsigned long pc);
/*
 * For sbuf_likely_caller() and recall, at a probe's place.  With frame records, as
 * sbuf_symbol_is_frameless(); otherwise return true if @pc is in a function's first instructions.
 * Process context; takes milliseconds.
 */
bool sbuf_symbol_is_entry(unsigned long pc);

#endif /* STACKBUF_SYMBOL_H */
