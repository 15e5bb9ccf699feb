// SPDX-License-Identifier: GPL-2.0
/*
 * dwarf_lines.c - source lines of an address, from DWARF
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>
#include "symbol/srcline.h"

/* A function with its own code */
struct subprogram {
	u64 start, end;
	Dwarf_Die die;
};

/* A compilation unit; its subprograms are read when a frame is in it */
struct dwarf_unit {
	Dwarf_Die die, code;	/* @code: in the .dwo, if split */
	bool read, lacks_dwo;
	struct subprogram *subprogram;
	size_t subprograms;
};

struct dwarf_range {
	u64 start, end;	/* @start is first, for order_u64() */
	u32 unit;
};

/*
 * Read the address ranges of units.  .debug_aranges has the same data, but clang writes it only on
 * request; reading the ranges of 2,400 units takes some milliseconds.
 */
static void read_units(struct elf_file *e)
{
	Dwarf *dwarf = dwfl_module_getdwarf(e->module, &e->bias);
	Dwarf_CU *cu = NULL;
	Dwarf_Die die, split;
	uint8_t type;

	e->units_read = true;
	while (!dwarf_get_units(dwarf, cu, &cu, NULL, &type, &die, &split)) {
		Dwarf_Addr base, start, end;
		ptrdiff_t at = 0;

		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		GROW(e->unit, e->units);
		e->unit[e->units] = (struct dwarf_unit){
			.die = die, .code = type == DW_UT_skeleton && split.cu ? split : die,
			.lacks_dwo = type == DW_UT_skeleton && !split.cu };
		while ((at = dwarf_ranges(&die, at, &base, &start, &end)) > 0) {
			if (start >= end)
				continue;
			GROW(e->range, e->ranges);
			e->range[e->ranges++] = (struct dwarf_range){ start, end, e->units };
		}
		e->units++;
	}
	sort(e->range, e->ranges, sizeof(*e->range), order_u64);
}

static struct dwarf_unit *unit_at(struct elf_file *e, u64 addr)
{
	size_t i = first_above(e->range, e->ranges, sizeof(*e->range), addr);

	return i && addr < e->range[i - 1].end ? &e->unit[e->range[i - 1].unit] : NULL;
}

/* Read the functions with code, including those inside namespaces and types, as in Rust */
static void read_subprograms(struct dwarf_unit *u, Dwarf_Die *parent)
{
	Dwarf_Die die;
	int ret = dwarf_child(parent, &die);

	for (; !ret; ret = dwarf_siblingof(&die, &die)) {
		Dwarf_Addr base, start, end;
		ptrdiff_t at = 0;

		switch (dwarf_tag(&die)) {
		case DW_TAG_subprogram:
			while ((at = dwarf_ranges(&die, at, &base, &start, &end)) > 0) {
				GROW(u->subprogram, u->subprograms);
				u->subprogram[u->subprograms++] =
					(struct subprogram){ start, end, die };
			}
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
			read_subprograms(u, &die);
			break;
		case DW_TAG_structure_type:
		case DW_TAG_enumeration_type:
			if (dwarf_srclang(&u->die) == DW_LANG_Rust)
				read_subprograms(u, &die);
			break;
		}
	}
}

/*
 * Collect the inlined functions that contain the address, the outermost first.  The blocks between
 * them may lack addresses.
 */
static bool inlined_at(Dwarf_Die *parent, u64 addr, Dwarf_Die *path, unsigned int *nr)
{
	Dwarf_Die die;
	int ret = dwarf_child(parent, &die);

	for (; !ret; ret = dwarf_siblingof(&die, &die)) {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_inlined_subroutine && dwarf_haspc(&die, addr) > 0) {
			if (*nr == DWARF_PLACES_MAX - 1)
				return true;
			path[(*nr)++] = die;
			inlined_at(&die, addr, path, nr);
			return true;
		}
		if (tag == DW_TAG_lexical_block && inlined_at(&die, addr, path, nr))
			return true;
	}
	return false;
}

static const char *die_name(Dwarf_Die *die)
{
	Dwarf_Attribute attr;

	return dwarf_attr_integrate(die, DW_AT_name, &attr) ? dwarf_formstring(&attr) : NULL;
}

static unsigned int die_number(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;

	if (!dwarf_attr(die, name, &attr) || dwarf_formudata(&attr, &value))
		return 0;
	return value;
}

unsigned int dwarf_places(struct elf_file *e, u64 addr,
			  struct dwarf_place place[DWARF_PLACES_MAX])
{
	struct dwarf_unit *u;
	Dwarf_Die path[DWARF_PLACES_MAX];
	unsigned int nr = 0, depth = 0;
	Dwarf_Files *files;
	Dwarf_Line *line;
	int number = 0;
	size_t i, file_count;

	if (!e->units_read)
		read_units(e);
	addr -= e->bias;
	u = unit_at(e, addr);
	if (!u)
		return 0;
	line = dwarf_getsrc_die(&u->die, addr);
	if (!line)
		return 0;
	if (u->lacks_dwo && !e->told_dwo) {
		e->told_dwo = true;
		report("%s: .dwo files of its debug information are missing, or of another build: inlined functions are not shown",
		       e->path);
	}
	if (!u->read) {
		u->read = true;
		read_subprograms(u, &u->code);
	}
	dwarf_lineno(line, &number);
	place[nr++] = (struct dwarf_place){ NULL, dwarf_linesrc(line, NULL, NULL), number };

	for (i = 0; i < u->subprograms; i++)
		if (addr >= u->subprogram[i].start && addr < u->subprogram[i].end)
			break;
	if (i == u->subprograms)
		return nr;
	inlined_at(&u->subprogram[i].die, addr, path, &depth);
	if (dwarf_getsrcfiles(&u->code, &files, &file_count))
		files = NULL;
	while (depth) {
		Dwarf_Die *die = &path[--depth];
		unsigned int file = die_number(die, DW_AT_call_file);

		place[nr - 1].function = die_name(die);
		place[nr++] = (struct dwarf_place){
			.file = files ? dwarf_filesrc(files, file, NULL, NULL) : NULL,
			.line = die_number(die, DW_AT_call_line) };
	}
	place[nr - 1].function = die_name(&u->subprogram[i].die);
	return nr;
}

void dwarf_units_close(struct elf_file *e)
{
	size_t i;

	for (i = 0; i < e->units; i++)
		free(e->unit[i].subprogram);
	free(e->unit);
	free(e->range);
}
