/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kallsyms.h - the kernel's list of symbols, live or copied
 */
#ifndef KALLSYMS_H
#define KALLSYMS_H

#include <stdio.h>
#include "util.h"

/* A list that is being read */
struct kallsyms {
	FILE *file;
	u64 addr;	/* address of the symbol read last; 0 where the kernel does not show it */
	char type;	/* its type, as nm(1) prints it */
	const char *name, *module;	/* @module is "" for the kernel itself */
	char line[1024];	/* holds @name and @module */
};

/* Return 0, or -1 with errno set */
int kallsyms_open(struct kallsyms *k, const char *path);
void kallsyms_close(struct kallsyms *k);

/* Read the next symbol; pass over lines that hold none.  Return false at the end */
bool kallsyms_next(struct kallsyms *k);

/* Is the symbol that was read last in code, rather than data? */
bool kallsyms_is_code(const struct kallsyms *k);

/*
 * Split "NAME", "NAME [MODULE]" or "NAME\t[MODULE]", as several files of the kernel have it,
 * in place.  Return the name, which may be ""; *@module is "" for the kernel itself.
 */
const char *kallsyms_split(char *text, const char **module);

#endif
