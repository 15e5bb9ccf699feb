/* SPDX-License-Identifier: GPL-2.0 */
/*
 * find_debug.h - the files with debug information of the kernel that ran and its modules
 */
#ifndef FIND_DEBUG_H
#define FIND_DEBUG_H

#include "symbol/elf_file.h"

struct build_ids;

/**
 * struct debug_config - where to look for files, and what they must be of
 * @vmlinux: file, or NULL: that of @release in the usual places
 * @modules: directories that come before the one of @vmlinux and those of @release
 * @module_dirs: how many
 * @release: uname -r, or NULL: the running kernel's if @vmlinux is NULL, too
 * @version: uname -v, or NULL if unknown
 * @srcversion: of stackbuf.ko, or NULL if unknown
 * @base_symbol: a function of the kernel, or NULL
 * @ids: build ids of what ran, or NULL
 * @base_addr: address of @base_symbol where it ran
 * @force: also take files of another build; standard error then reports it
 */
struct debug_config {
	const char *vmlinux, *release, *version, *srcversion, *base_symbol;
	char *const *modules;
	unsigned int module_dirs;
	const struct build_ids *ids;
	u64 base_addr;
	bool force;
};

/**
 * struct debug_file - the kernel's image or a module's file
 * @name: the module's, "" for the kernel itself
 * @build_id: of what ran, in hexadecimal digits, or NULL if unknown
 * @missing: why there is no file that can be used, or NULL
 * @elf: the file; closed if there is none
 * @units: its debug information
 * @next: the next module
 */
struct debug_file {
	char *name, *build_id, *missing;
	struct elf_file elf;
	struct dwarf_units units;
	struct debug_file *next;
};

/**
 * struct debug_files - all files, as far as frames needed them
 * @config: what was asked for
 * @release: of what is decoded, or NULL if unknown
 * @announced_release: see debug_files_announce()
 * @announced_banner: see there
 * @announced_id: see there
 * @announced: these were not compared with the image yet
 * @mismatch: why the image is not of what was announced, or NULL
 * @kernel: the kernel's image; its @next is the first module
 * @kernel_tried: the image was searched for
 * @kernel_usable: it was found, and fits
 * @kernel_known: it certainly is of the build that ran
 * @reported_unknown: standard error has reported that this is not certain
 * @reported_forced: standard error has reported that another build is taken
 * @directories: how many of the modules' directories were read, see module_directory()
 * @module_file: paths of files NAME.ko* below these
 * @module_files: number of files
 * @error: one line that says what went wrong
 */
struct debug_files {
	struct debug_config config;
	char *release;
	char *announced_release, *announced_banner, *announced_id;
	bool announced;
	char *mismatch;
	struct debug_file *kernel;
	bool kernel_tried, kernel_usable, kernel_known;
	bool reported_unknown, reported_forced;
	unsigned int directories;
	char **module_file;
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

#endif
