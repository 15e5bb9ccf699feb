/* SPDX-License-Identifier: GPL-2.0 */
/*
 * dwarf_lines.h - from an address to source lines, by DWARF
 */
#ifndef DWARF_LINES_H
#define DWARF_LINES_H

#include <elfutils/libdwfl.h>
#include "util.h"

/* The debug information of a file, as far as it was read */
struct dwarf_units {
	/* The file; to be set by the caller, all else is 0 at the beginning */
	Dwfl_Module *module;
	bool read;	/* @unit and @range were read */
	Dwarf_Addr bias;	/* from addresses in the debug information to those of @module */
	struct dwarf_unit *unit;	/* the compilation units */
	size_t units;
	struct dwarf_range *range;	/* which unit covers which addresses, sorted */
	size_t ranges;
};

/* Functions inlined into each other at one place; more are not shown */
#define DWARF_PLACES_MAX	32

/* A place in the source */
struct dwarf_place {
	const char *function, *file;	/* NULL if unknown */
	int line;	/* number, 0 if unknown */
	unsigned int discriminator;	/* which part of the line */
};

/*
 * Write into @place where an address is in the source: the innermost function first, then
 * those that it was inlined into.  Return the number of places, 0 if nothing is known.
 */
unsigned int dwarf_places(struct dwarf_units *d, u64 addr,
			  struct dwarf_place place[DWARF_PLACES_MAX]);

void dwarf_units_close(struct dwarf_units *d);

#endif
