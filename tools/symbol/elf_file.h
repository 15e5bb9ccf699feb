/* SPDX-License-Identifier: GPL-2.0 */
/*
 * elf_file.h - the functions and code of a kernel's image or a module's file
 */
#ifndef ELF_FILE_H
#define ELF_FILE_H

#include <elfutils/libdwfl.h>
#include <gelf.h>
#include "util.h"

/* In the reason why a file cannot be used */
#define NO_DEBUG_INFO	"has no debug information"

#define ELF_DEBUG_DIR	"/usr/lib/debug"

struct elf_function {
	const char *name;
	u64 addr, size;
	u32 section;
	u32 next;		/* of the same hash, in the order of the symbol table; 0: none */
};

/* Of an array by address, for first_above() */
struct elf_place {
	u64 addr;
	u32 function;		/* its index */
};

struct elf_section {
	u64 addr, size;
	bool code;
};

/* An open file, or one that is closed: all 0 */
struct elf_file {
	char *path;	/* its name; NULL: it is closed */
	Dwfl *dwfl;	/* libdwfl's session */
	Dwfl_Module *module;	/* the file as libdwfl knows it */
	GElf_Half machine;
	bool relocatable;	/* a module, whose sections libdwfl has placed side by side */
	struct elf_section *section;	/* its sections, by index */
	size_t sections;
	/* Its functions in the order of the symbol table; the first element is unused */
	struct elf_function *function;
	size_t functions;
	struct elf_place *by_addr;	/* places of functions, by address */
	u32 *bucket;	/* indexes of functions, by hash of name */
	size_t buckets;	/* number of buckets, a power of two */
	u64 banner_addr;	/* address of linux_banner, 0 if it has none */
	Elf_Data *modinfo;	/* of its section .modinfo, or NULL */

	/* For dwarf_lines.c only */
	bool units_read;	/* @unit and @range were read */
	Dwarf_Addr bias;	/* from addresses in the debug information to those of @module */
	struct dwarf_unit *unit;	/* the compilation units */
	size_t units;
	struct dwarf_range *range;	/* which unit covers which addresses, sorted */
	size_t ranges;
};

/*
 * Open a file with debug information.  @name is a module's, or "kernel".  Return 0, or -1 with
 * the reason in *@why, which is freed before it is set.
 */
int elf_file_open(struct elf_file *e, const char *name, const char *path, char **why);

/*
 * Find a file by its build id alone, in hexadecimal digits: below ELF_DEBUG_DIR/.build-id, or
 * by debuginfod.  Return as elf_file_open(); *@why is set only for a file that was found.
 */
int elf_file_find(struct elf_file *e, const char *name, const char *hex, char **why);

void elf_file_close(struct elf_file *e);

/* Iterate over the functions of a name: for (i = 0; (i = elf_file_next_named(e, ..., i)); ) */
u32 elf_file_next_named(const struct elf_file *e, const char *name, size_t len, u32 i);

/* Can the function have this size in the kernel, which counts up to the next listed symbol? */
bool elf_file_size_fits(const struct elf_file *e, const struct elf_function *f, u64 size);

/* The function at or below an address; its name is "?" if there is none */
const struct elf_function *elf_file_function_at(const struct elf_file *e, u64 addr);

/* Read up to @size bytes of the memory image.  Return how many there were */
size_t elf_file_read(struct elf_file *e, u64 addr, void *buf, size_t size);

/*
 * Is the instruction before @addr a call, so that @addr may be a return address?  True, too,
 * where the code cannot be read or its architecture is not known.
 */
bool elf_file_call_before(struct elf_file *e, u64 addr);

/* The build id in hexadecimal digits, to be freed; NULL if the file has none */
char *elf_file_build_id(struct elf_file *e);

/* Write a value of a module's .modinfo into @buf: "" if there is none */
void elf_file_modinfo(struct elf_file *e, const char *key, char *buf, size_t size);

/* ------------------------------------------------------- dwarf_lines.c --- */

/* Functions inlined into each other at one place; more are not shown */
#define DWARF_PLACES_MAX	32

/* A place in the source */
struct dwarf_place {
	const char *function, *file;	/* NULL if unknown */
	int line;	/* number, 0 if unknown */
};

/*
 * Write into @place where an address is in the source: the innermost function first, then
 * those that it was inlined into.  Return the number of places, 0 if nothing is known.
 */
unsigned int dwarf_places(struct elf_file *e, u64 addr,
			  struct dwarf_place place[DWARF_PLACES_MAX]);

void dwarf_units_close(struct elf_file *e);

#endif
