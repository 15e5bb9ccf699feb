/* SPDX-License-Identifier: GPL-2.0 */
/*
 * srcline.h - source lines of frames, from the debug information of the kernel and
 * its modules
 *
 * Files are opened when a frame needs them, and of their debug information only
 * the compilation units that hold a frame are read.
 */
#ifndef SRCLINE_H
#define SRCLINE_H

#include <elfutils/libdwfl.h>
#include <gelf.h>
#include "record/frame.h"

/* ----- the functions and code of a kernel's image or a module's file --- */

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

/* -------------------------------------------------------- find_debug --- */

/* The files with debug information of the kernel that ran and its modules */

struct build_ids;

/* Where to look for files, and what they must be of */
struct debug_config {
	const char *vmlinux;	/* file, or NULL: that of @release in the usual places */
	/* As uname -r, or NULL: the running kernel's if @vmlinux is NULL, too */
	const char *release;
	const char *version;	/* uname -v, or NULL if unknown */
	const char *srcversion;	/* of stackbuf.ko, or NULL if unknown */
	const char *base_symbol;	/* a function of the kernel, or NULL */
	/* Directories that come before the one of @vmlinux and those of @release */
	char *const *modules;
	unsigned int module_dirs;
	const struct build_ids *ids;	/* build ids of what ran, or NULL */
	u64 base_addr;	/* address of @base_symbol where it ran */
	bool force;	/* also take files of another build; standard error then reports it */
};

/* The kernel's image or a module's file */
struct debug_file {
	char *name;	/* the module's, "" for the kernel itself */
	char *build_id;	/* of what ran, in hexadecimal digits, or NULL if unknown */
	char *missing;	/* why there is no file that can be used, or NULL */
	struct elf_file elf;	/* the file; closed if there is none */
	struct debug_file *next;	/* the next module */
};

/* All files, as far as frames needed them */
struct debug_files {
	struct debug_config config;	/* what was asked for */
	char *release;	/* of what is decoded, or NULL if unknown */
	/* See debug_files_announce() */
	char *announced_release, *announced_banner, *announced_id;
	bool announced;	/* these were not compared with the image yet */
	char *mismatch;	/* why the image is not of what was announced, or NULL */
	struct debug_file *kernel;	/* the kernel's image; its @next is the first module */
	bool kernel_tried;	/* the image was searched for */
	bool kernel_usable;	/* it was found, and fits */
	bool kernel_known;	/* it certainly is of the build that ran */
	bool reported_unknown;	/* standard error has reported that this is not certain */
	bool reported_forced;	/* standard error has reported that another build is taken */
	/* How many of the modules' directories were read, see module_directory() */
	unsigned int directories;
	char **module_file;	/* paths of files NAME.ko* below these */
	size_t module_files;
	char error[1024];
};

void debug_files_init(struct debug_files *d, const struct debug_config *config);
void debug_files_free(struct debug_files *d);

/* Find and open the kernel's image unless that was tried.  Return 0, or -1 with d->error set */
int debug_files_kernel(struct debug_files *d);

/*
 * The file of a module, or of the kernel if @len is 0, which may be closed: see its @missing.
 * @id is the build id, "" if unknown.  NULL if no frame of this kernel can be decoded, with
 * d->error set.
 */
struct debug_file *debug_files_find(struct debug_files *d, const char *module, size_t len,
				    const char *id);

/*
 * The frames that follow are of this kernel: its release; the line "Linux version ..." that it
 * prints when it boots, or NULL; its build id in hexadecimal digits, or NULL.  Return whether
 * all files were closed, so that what was decoded before is no longer valid.
 */
bool debug_files_announce(struct debug_files *d, const char *release, const char *banner,
			  const char *id);

/* Is the image of what was announced?  Return 0, or -1 with d->error set */
int debug_files_check(struct debug_files *d);

/* ----------------------------------------------------------- srcline --- */

struct srcline;

struct srcline *srcline_open(const struct debug_config *config);
void srcline_close(struct srcline *l);

/* Find the kernel's image now, not when a frame needs it.  Return 0, or -1: srcline_error() */
int srcline_ready(struct srcline *l);

/*
 * The frames that follow are of this kernel: its release; the line "Linux version ..." that it
 * prints when it boots, or NULL; its build id in hexadecimal digits, or NULL.  The next
 * srcline_frame() compares that with the files.
 */
void srcline_set_kernel(struct srcline *l, const char *release, const char *banner, const char *id);

/*
 * Set *@text to what is printed after a frame: " (file:line)" or, with inlined functions, " inner
 * (file:line) (inlined by) outer (file:line)".  NULL where nothing is known.  The text stays until
 * the next srcline_set_kernel() or srcline_close().  Return 0, or -1 if no frame of this kernel can
 * be decoded: srcline_error() then has the reason in one line.
 */
int srcline_frame(struct srcline *l, const struct frame *f, enum frame_kind kind,
		  const char **text);

/*
 * How many functions a frame without a size may be of: those of its name that are long enough;
 * -1 if no frame of this kernel can be decoded: srcline_error()
 */
int srcline_named(struct srcline *l, const struct frame *f);

/* Set *@offset to the offset of KASLR by the kernel's image.  Return 0, or -1: srcline_error() */
int srcline_kernel_offset(struct srcline *l, u64 *offset);

/* The kernel's function at an address, "" if unknown or if no frame was decoded before */
const char *srcline_function(const struct srcline *l, u64 addr);

const char *srcline_error(const struct srcline *l);

/*
 * Report on standard error why frames have no line, each reason once.  Return true if more
 * frames do not fit the files than were decoded: then the files are of another build.
 */
bool srcline_report_missing(const struct srcline *l);

#endif
