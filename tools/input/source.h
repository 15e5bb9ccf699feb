/* SPDX-License-Identifier: GPL-2.0 */
/*
 * source.h - the sources of pages
 */
#ifndef SOURCE_H
#define SOURCE_H

#include <stdio.h>
#include "record/parse.h"

/* Where the module's arrays are */
#define DEBUGFS		"/sys/kernel/debug/stackbuf"

/* dump.c: why a file is nothing that is read here, as "is compressed by gzip: ...", or NULL */
const char *dump_explain(int fd);

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
	char error[512];

	/* The rest is for source.c only */
	int fd[ARRAYS];
	u64 offset[ARRAYS];	/* of the array in the file */
	u64 size[ARRAYS];
	void *memory[ARRAYS];
	/* For each MiB of them: it was read */
	bool *filled[ARRAYS];
	struct dump_file *file;
	unsigned int files;
	FILE *names;		/* what @kallsyms names, of a dump */
	void **block;		/* what was fetched */
	size_t blocks;
	char linux_release[64];	/* of the kernel that a dump is of, "" if unknown */
	char linux_build_id[128];	/* its build id in hexadecimal digits */
	u64 kernel_offset;	/* its offset of KASLR */
	unsigned int kernel_offsets;	/* 0: that is unknown; 2: the dump has several */
};

/*
 * Open a source: one name, or several files that together hold one machine's memory; without
 * names, the running kernel's memory.  Return 0, or -1 with s->error set.  To be closed in both
 * cases.
 */
int source_open(struct source *s, char *const *name, unsigned int names);
void source_close(struct source *s);

/*
 * Read @nr pages of the ring or the table from @index on, which may be written concurrently.  The
 * copy of a page of the ring is good if its number, page.seq, is not 0 and is still the same when
 * it is read again: then it holds only whole events, and page.owner is 0 only if the page cannot
 * grow any more.  That of a page of the table holds only whole stacks.  They are read in three
 * reads in all, as what is read may be probed.  Return 0, or -1 with s->error set.
 */
int source_read_pages(struct source *s, enum array a, size_t index, void *page, size_t nr);

/*
 * Set s->kallsyms if the source is a dump whose kernel has its symbols in it, and among them that
 * of @info.  After the record was read.
 */
void source_find_kallsyms(struct source *s, const struct stackbuf_info *info);

/* Read and parse nothing but the array stackbuf_info.  Return 0, or -1 with s->error set */
int source_read_info(struct source *s, struct record *r);

/*
 * Set *@offset to the offset of KASLR of the kernel whose memory the source is, by its VMCOREINFO.
 * Return false if that is unknown.
 */
bool source_kernel_offset(const struct source *s, u64 *offset);

/* The same for a core file that has VMCOREINFO as a note */
bool source_core_kernel_offset(const char *core, u64 *offset);

/*
 * Open the running kernel's memory through a core file, with the names of @kallsyms.  If it has
 * functions only, search the memory that @module, the module's directory in sysfs, gives.
 */
int source_open_core(struct source *s, const char *core, const char *kallsyms, const char *module);

/*
 * Open one of the module's files: until it is closed, the module records none of this process's
 * calls, whatever it reads.  Return the descriptor, or -1.
 */
int keep_out(void);

/* ------------------------------------------------------------ folded --- */

/* Stacks as text, "outermost;...;innermost count", of whatever program */

/*
 * Is it text that begins with such a stack, perhaps after comments, or what can be read only once,
 * as a pipe or "-", standard input?  @empty: text without a stack is, too, if all is comments.
 */
bool folded_is(const char *path, bool empty);

/* What a file is that is almost folded stacks, or holds traces: a sentence without "it", or NULL */
const char *folded_explain(int fd);

/* Stacks that are added up */
struct folded {
	struct record *record;	/* where they are */
	void *tree;	/* by their text */
	u64 total;	/* events of all */
};

/* Add @count events of a stack; @text is changed.  Return -1 if the total of all exceeds 64 bits */
int folded_add(struct folded *f, char *text, u64 count);
void folded_end(struct folded *f);

/*
 * Add up all stacks of these files.  Lines that are none are reported and left out.  Ends the
 * program if a file cannot be read or holds none.
 */
void folded_read(char *const *path, unsigned int paths, struct record *r);

#endif
