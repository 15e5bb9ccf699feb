/* SPDX-License-Identifier: GPL-2.0 */
/*
 * dwarf_lines.h - from an address to source lines, by DWARF
 */
#ifndef DWARF_LINES_H
#define DWARF_LINES_H

#include <elfutils/libdwfl.h>
#include "util.h"

/**
 * struct dwarf_units - the debug information of a file, as far as it was read
 * @module: the file; to be set by the caller, all else is 0 at the beginning
 * @read: @unit and @range were read
 * @bias: from addresses in the debug information to those of @module
 * @unit: the compilation units
 * @units: number of units
 * @range: which unit covers which addresses, sorted
 * @ranges: number of ranges
 */
struct dwarf_units {
	Dwfl_Module *module;
	bool read;
	Dwarf_Addr bias;
	struct dwarf_unit *unit;
	size_t units;
	struct dwarf_range *range;
	size_t ranges;
};

/* Functions inlined into each other at one place; more are not shown */
#define DWARF_PLACES_MAX	32

/**
 * struct dwarf_place - a place in the source
 * @function: its function, or NULL if unknown
 * @file: path, or NULL if unknown
 * @line: number, 0 if unknown
 * @discriminator: which part of the line
 */
struct dwarf_place {
	const char *function, *file;
	int line;
	unsigned int discriminator;
};

/*
 * Write into @place where an address is in the source: the innermost function first, then
 * those that it was inlined into.  Return the number of places, 0 if nothing is known.
 */
unsigned int dwarf_places(struct dwarf_units *d, u64 addr,
			  struct dwarf_place place[DWARF_PLACES_MAX]);

void dwarf_units_close(struct dwarf_units *d);

#endif
