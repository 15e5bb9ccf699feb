/* SPDX-License-Identifier: GPL-2.0 */
/*
 * find_debug.h - the files with debug information of the kernel that ran and its modules
 */
#ifndef FIND_DEBUG_H
#define FIND_DEBUG_H

#include "symbol/elf_file.h"

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

#endif
