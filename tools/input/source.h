/* SPDX-License-Identifier: GPL-2.0 */
/*
 * source.h - the sources of pages
 */
#ifndef SOURCE_H
#define SOURCE_H

#include "record/parse.h"

#define KALLSYMS	"/proc/kallsyms"

struct source;

/* What a kind of source can do */
struct source_ops {
	/*
	 * Put all pages into a set; their memory is the source's and stays until the next load.
	 * Pages that changed while they were read are left out and counted in the set.  Return 0,
	 * or -1 with source.error set
	 */
	int (*load)(struct source *s, struct page_set *set);
	/*
	 * Read the data of one instance's pages in the set.  Return 0, or -1 with source.error set.
	 * NULL where @load does that
	 */
	int (*fetch)(struct source *s, struct page_set *set, u64 instance);
	/*
	 * Read a part of an array as it is now.  Return 0, or -1 with source.error set.  NULL where
	 * nothing changes
	 */
	int (*read)(struct source *s, enum array a, u64 offset, void *buf, size_t size);
	/*
	 * Set *@offset to the offset of KASLR of the kernel whose memory the source is.  Return
	 * false if that is unknown
	 */
	bool (*kernel_offset)(const struct source *s, u64 *offset);
	/* As source_find_kallsyms(), where @kallsyms is NULL.  NULL where that is known */
	void (*find_kallsyms)(struct source *s, const struct stackbuf_info *info);
	void (*close)(struct source *s);	/* free all memory */
};

/* An open source */
struct source {
	const struct source_ops *ops;
	char *name;	/* its name in messages */
	bool live;	/* it is the running kernel's memory */
	/*
	 * Why every page of a dump is to be looked at; NULL: only if the kernel's page tables do
	 * not lead to the record
	 */
	const char *scan;
	u64 promised;	/* pages that a snapshot says it has */
	/* A file of addresses and names that fits it, or NULL; see source_find_kallsyms() */
	char *kallsyms;
	char linux_release[64];	/* of the kernel that a dump is of, "" if unknown */
	char linux_build_id[128];	/* its build id in hexadecimal digits */
	u64 info_size;	/* bytes of stackbuf_info, where @ops has read */
	char error[512];

	void *own;	/* of the file that has @ops */
};

/* Free all that source_open() has left in it */
void source_close(struct source *s);

/*
 * Set s->kallsyms if the source is a dump whose kernel has its symbols in it, and among them that
 * of @info.  After the record was read.
 */
void source_find_kallsyms(struct source *s, const struct stackbuf_info *info);

/* As source_ops.kernel_offset() */
bool source_kernel_offset(const struct source *s, u64 *offset);

#endif
