/* SPDX-License-Identifier: GPL-2.0 */
/*
 * srcline.h - source lines of frames, from the debug information of the kernel and its modules
 *
 * Files are opened when a frame needs them, and only the compilation units that contain a frame are
 * read.
 */
#ifndef SRCLINE_H
#define SRCLINE_H

#include <elfutils/libdwfl.h>
#include <gelf.h>
#include "record/frame.h"

/* ----- the functions and code of a kernel's image or a module's file --- */

/* Reason why a file cannot be used */
#define NO_DEBUG_INFO	"has no debug information"

#define ELF_DEBUG_DIR	"/usr/lib/debug"

struct elf_function {
	const char *name;
	u64 addr, size;
	u32 section;
	u32 next;		/* next with the same hash, in symbol table order; 0: none */
};

/* Array sorted by address, for first_above() */
struct elf_place {
	u64 addr;
	u32 function;		/* index of the function */
};

struct elf_section {
	u64 addr, size;
	bool code;
};

/* An open file; all 0 if closed */
struct elf_file {
	char *path;	/* its name; NULL: closed */
	Dwfl *dwfl;	/* libdwfl's session */
	Dwfl_Module *module;	/* the file as libdwfl knows it */
	GElf_Half machine;
	bool relocatable;	/* a module: libdwfl placed its sections one after the other */
	/* From the file's addresses to those of @module; arm64's image, ET_DYN, has one */
	GElf_Addr elf_bias;
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
	bool told_dwo;		/* it was reported that a .dwo file is missing */
	Dwarf_Addr bias;	/* from debug information's addresses to those of @module */
	struct dwarf_unit *unit;	/* the compilation units */
	size_t units;
	struct dwarf_range *range;	/* address ranges of units, sorted */
	size_t ranges;
};

/*
 * Open a file with debug information.  @name is a module's, or "kernel".  Return 0, or -1 with the
 * reason in *@why, whose old value is freed.
 */
int elf_file_open(struct elf_file *e, const char *name, const char *path, char **why);

/*
 * Find a file by its build id alone, in hexadecimal digits: below ELF_DEBUG_DIR/.build-id, or by
 * debuginfod.  Return as elf_file_open(); *@why is set only if a file was found.
 */
int elf_file_find(struct elf_file *e, const char *name, const char *hex, char **why);

void elf_file_close(struct elf_file *e);

/* Iterate over the functions with a name: for (i = 0; (i = elf_file_next_named(e, ..., i)); ) */
u32 elf_file_next_named(const struct elf_file *e, const char *name, size_t len, u32 i);

/*
 * Return true if the function may have this size in the kernel, which counts up to the next listed
 * symbol
 */
bool elf_file_size_fits(const struct elf_file *e, const struct elf_function *f, u64 size);

/* The function at or below an address; its name is "?" if there is none */
const struct elf_function *elf_file_function_at(const struct elf_file *e, u64 addr);

/* Read up to @size bytes of the memory image.  Return how many were read */
size_t elf_file_read(struct elf_file *e, u64 addr, void *buf, size_t size);

/*
 * Return true if a call precedes @addr, so that it may be a return address.  True, too, if the code
 * cannot be read or its architecture is unknown.
 */
bool elf_file_call_before(struct elf_file *e, u64 addr);

/* Return the build id in hexadecimal digits, or NULL; the caller frees it */
char *elf_file_build_id(struct elf_file *e);

/* Copy a value of a module's .modinfo to @buf: "" if there is none */
void elf_file_modinfo(struct elf_file *e, const char *key, char *buf, size_t size);

/* ------------------------------------------------------- dwarf_lines.c --- */

/* Limit of functions inlined into each other at one place; the rest is not shown */
#define DWARF_PLACES_MAX	32

/* A place in the source */
struct dwarf_place {
	const char *function, *file;	/* NULL if unknown */
	int line;	/* number, 0 if unknown */
};

/*
 * Get the source places of an address: the innermost function first, then the functions that it was
 * inlined into.  Return the number of places, 0 if nothing is known.
 */
unsigned int dwarf_places(struct elf_file *e, u64 addr,
			  struct dwarf_place place[DWARF_PLACES_MAX]);

void dwarf_units_close(struct elf_file *e);

/* -------------------------------------------------------- find_debug --- */

/* The files with debug information of the recorded kernel and its modules */

struct build_ids;

/* Where to look for files, and properties that they must have */
struct debug_config {
	const char *vmlinux;	/* file, or NULL: search for @release in the usual places */
	/* As uname -r, or NULL: the running kernel's if @vmlinux is NULL, too */
	const char *release;
	const char *version;	/* uname -v, or NULL if unknown */
	const char *srcversion;	/* of stackbuf.ko, or NULL if unknown */
	const char *base_symbol;	/* a function of the kernel, or NULL */
	/* Directories to search before that of @vmlinux and those of @release */
	char *const *modules;
	unsigned int module_dirs;
	const struct build_ids *ids;	/* build ids of the recorded kernel and modules, or NULL */
	u64 base_addr;	/* address of @base_symbol in the recorded kernel */
	bool force;	/* also use files of another build, and report that */
};

/* The kernel's image or a module's file */
struct debug_file {
	char *name;	/* the module's, "" for the kernel itself */
	char *build_id;	/* of the recorded code, in hexadecimal digits, or NULL if unknown */
	char *missing;	/* why there is no usable file, or NULL */
	struct elf_file elf;	/* the file; closed if there is none */
	struct debug_file *next;	/* the next module */
};

/* All files that frames have needed so far */
struct debug_files {
	struct debug_config config;	/* the request */
	char *release;	/* of the decoded kernel, or NULL if unknown */
	/* See debug_files_announce() */
	char *announced_release, *announced_banner, *announced_id;
	bool announced;	/* these were not compared with the image yet */
	char *mismatch;	/* why the image does not match them, or NULL */
	struct debug_file *kernel;	/* the kernel's image; its @next is the first module */
	bool kernel_tried;	/* the image was searched for */
	bool kernel_usable;	/* it was found, and fits */
	bool kernel_known;	/* it certainly is of the recorded build */
	bool reported_unknown;	/* reported that this is not certain */
	bool reported_forced;	/* reported that another build is used */
	/* How many of the modules' directories were read, see module_directory() */
	unsigned int directories;
	char **module_file;	/* paths of files NAME.ko* below these */
	size_t module_files;
	char error[1024];
};

void debug_files_init(struct debug_files *d, const struct debug_config *config);
void debug_files_free(struct debug_files *d);

/* Find and open the kernel's image, once.  Return 0, or -1 with d->error set */
int debug_files_kernel(struct debug_files *d);

/*
 * The file of a module, or of the kernel if @len is 0; if it is closed, see its @missing.  @id is
 * the build id, "" if unknown.  Return NULL if no frame of this kernel can be decoded, with
 * d->error set.
 */
struct debug_file *debug_files_find(struct debug_files *d, const char *module, size_t len,
				    const char *id);

/*
 * Announce the kernel of the frames that follow: its release; its boot line "Linux version ...", or
 * NULL; its build id in hexadecimal digits, or NULL.  Return true if all files were closed, so that
 * earlier results are no longer valid.
 */
bool debug_files_announce(struct debug_files *d, const char *release, const char *banner,
			  const char *id);

/* Check the image against the announced kernel.  Return 0, or -1 with d->error set */
int debug_files_check(struct debug_files *d);

/* ----------------------------------------------------------- srcline --- */

struct srcline;

struct srcline *srcline_open(const struct debug_config *config);
void srcline_close(struct srcline *l);

/* Find the kernel's image now, before a frame needs it.  Return 0, or -1: srcline_error() */
int srcline_ready(struct srcline *l);

/*
 * Announce the kernel of the frames that follow: its release; its boot line "Linux version ...", or
 * NULL; its build id in hexadecimal digits, or NULL.  The next srcline_frame() compares that with
 * the files.
 */
void srcline_set_kernel(struct srcline *l, const char *release, const char *banner, const char *id);

/*
 * Set *@text to the text to print after a frame: " (file:line)" or, with inlined functions, " inner
 * (file:line) (inlined by) outer (file:line)"; NULL if unknown.  The text is valid until the next
 * srcline_set_kernel() or srcline_close().  Return 0, or -1 if no frame of this kernel can be
 * decoded: srcline_error() then returns the reason in one line.
 */
int srcline_frame(struct srcline *l, const struct frame *f, enum frame_kind kind,
		  const char **text);

/*
 * Count the functions that a frame without a size may be in: those with its name that are long
 * enough.  Return -1 if no frame of this kernel can be decoded: srcline_error()
 */
int srcline_named(struct srcline *l, const struct frame *f);

/* Set *@offset to the KASLR offset from the kernel's image.  Return 0, or -1: srcline_error() */
int srcline_kernel_offset(struct srcline *l, u64 *offset);

/* The kernel's function at an address, "" if unknown or if no frame was decoded before */
const char *srcline_function(const struct srcline *l, u64 addr);

const char *srcline_error(const struct srcline *l);

/*
 * Report on standard error why frames have no line, each reason once.  Return true if more frames
 * mismatch the files than were decoded: then the files are of another build.
 */
bool srcline_report_missing(const struct srcline *l);

#endif
