/* SPDX-License-Identifier: GPL-2.0 */
/*
 * library.h - libraries that few commands need, opened when a command calls them
 *
 * A program reads each library that it is linked to before it runs: linking these would load nine
 * more, seventeen in all.  That takes time, and adds events if reading is probed.
 */
#ifndef LIBRARY_H
#define LIBRARY_H

#include "opened.h"	/* file names, as the linker has them */
#include "util.h"

/* Return true if there is such a library, for work that can be skipped without it */
bool library_there(const char *library);

/* A function of the library; ends the program with one line if there is no such library */
void *library_find(const char *library, const char *name);

/* A function that a header declares, looked up once: LIBRARY(LIBBPF, name)(...) */
#define LIBRARY(library, function) ({					\
	static typeof(function) *library_function;			\
									\
	if (!library_function)						\
		library_function = library_find(library, #function);	\
	library_function;						\
})

#endif
