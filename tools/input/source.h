/* SPDX-License-Identifier: GPL-2.0 */
/*
 * source.h - the sources of pages
 */
#ifndef SOURCE_H
#define SOURCE_H

#include "record/parse.h"

#define KALLSYMS	"/proc/kallsyms"

struct source;

/* Operations of a kind of source */
struct source_ops {
	/*
	 * Add all pages to a set; the source owns their memory, which is valid until the next load.
	 * Leave out pages that change while they are read, and count them in the set.  Return 0, or
	 * -1 with source.error set
	 */
	int (*load)(struct source *s, struct page_set *set);
	/*
	 * Read the data of one load's pages in the set.  Return 0, or -1 with source.error set.
	 * NULL if @load reads it
	 */
	int (*fetch)(struct source *s, struct page_set *set, u64 instance);
	/*
	 * Read a part of an array as it is now.  Return 0, or -1 with source.error set.  NULL if
	 * nothing changes
	 */
	int (*read)(struct source *s, enum array a, u64 offset, void *buf, size_t size);
	/*
	 * Set *@offset to the KASLR offset of the kernel whose memory this is.  Return false if it
	 * is unknown
	 */
	bool (*kernel_offset)(const struct source *s, u64 *offset);
	/* As source_find_kallsyms(), if @kallsyms is NULL.  NULL if the source cannot find them */
	void (*find_kallsyms)(struct source *s, const struct stackbuf_info *info);
	void (*close)(struct source *s);	/* free all memory */
};

/* An open source */
struct source {
	const struct source_ops *ops;
	char *name;	/* its name in messages */
	bool live;	/* it is the running kernel's memory */
	/*
	 * Why to scan every page of a dump; NULL: scan only if the kernel's page tables do not lead
	 * to the record
	 */
	const char *scan;
	u64 promised;	/* number of pages that a snapshot claims to have */
	/* A file of the kernel's addresses and names, or NULL; see source_find_kallsyms() */
	char *kallsyms;
	char linux_release[64];	/* release of a dump's kernel, "" if unknown */
	char linux_build_id[128];	/* its build id in hexadecimal digits */
	u64 info_size;	/* bytes of stackbuf_info, if @ops has read */
	char error[512];

	void *own;	/* belongs to the implementation of @ops */
};

/* Free the memory that source_open() allocated */
void source_close(struct source *s);

/*
 * Set s->kallsyms if the source is a dump with the kernel's symbols, and the symbol of @info is
 * among them.  Call this after reading the record.
 */
void source_find_kallsyms(struct source *s, const struct stackbuf_info *info);

/* As source_ops.kernel_offset() */
bool source_kernel_offset(const struct source *s, u64 *offset);

#endif
