/* SPDX-License-Identifier: GPL-2.0 */
/*
 * source.h - where the pages come from
 */
#ifndef SOURCE_H
#define SOURCE_H

#include "record/parse.h"

struct source;

/**
 * struct source_ops - what a kind of source can do
 * @load: put all pages into a bag; their memory is the source's and stays until
 *	the next load.  What changed while it was read is left out and counted
 *	in the bag.  Return 0, or -1 with source.error set
 * @fetch: have the data of one instance's pages in the bag.  Return 0, or -1 with
 *	source.error set.  NULL where load did
 * @read: read a part of an array again, as it is now.  Return 0, or -1 with
 *	source.error set.  NULL where nothing ever changes
 * @close: free what it holds
 */
struct source_ops {
	int (*load)(struct source *s, struct page_set *set);
	int (*fetch)(struct source *s, struct page_set *set, u64 instance);
	int (*read)(struct source *s, enum array a, u64 offset, void *buf, size_t size);
	void (*close)(struct source *s);
};

/**
 * struct source - an open source
 * @ops: see above
 * @name: what it is, for messages
 * @live: it is the running kernel's memory
 * @kallsyms: a file of addresses and names that fits it, or NULL
 * @error: one line that says what went wrong
 */
struct source {
	const struct source_ops *ops;
	char *name;
	bool live;
	char *kallsyms;
	char error[512];

	/* The rest is the sources' own */
	int fd[ARRAYS];
	u64 offset[ARRAYS];	/* of the array in the file */
	u64 size[ARRAYS];
	void *memory[ARRAYS];
	struct dump_file *file;
	unsigned int files;
	void **block;		/* what was fetched */
	size_t blocks;
	char linux_release[64];	/* met in a dump; its build id, too, as hexadecimal digits */
	char linux_build_id[128];
};

/*
 * Open a source: what one name says, or several files that hold one machine's
 * memory together; without any, the running kernel's memory.  Return 0, or -1
 * with s->error set.  To be closed in both cases.
 */
int source_open(struct source *s, char *const *name, unsigned int names);
void source_close(struct source *s);

/*
 * Read page @index of the events, which may be written meanwhile.  It is good if
 * its number, page.seq, is not 0, and is the same when it is read again now or
 * later; it then holds events that are whole, and says truly if it may still grow.
 * Return 0, or -1 with s->error set.
 */
int source_read_events(struct source *s, size_t index, struct stackbuf_events_page *page);

/* Read and parse nothing but the array stackbuf_info.  Return 0, or -1 with s->error set */
int source_read_info(struct source *s, struct record *r);

/*
 * The running kernel's memory through a core file, with the names of @kallsyms; where
 * these are names of functions only, @module, the module's folder in sysfs, tells
 * what to search
 */
int source_open_core(struct source *s, const char *core, const char *kallsyms, const char *module);

#endif
