/* SPDX-License-Identifier: GPL-2.0 */
/*
 * symbols.h - names for frames
 *
 * From the text log, which holds what the kernel itself printed soon after it first saw the stack;
 * else from a snapshot, which holds what was known when it was saved; else from the text of other
 * stacks, whose frames say where their functions begin and end; else from kallsyms, live or out of
 * a dump, which is right only for code that is still loaded at the same address; else there is no
 * name but the bare address.
 */
#ifndef SYMBOLS_H
#define SYMBOLS_H

#include "symbol/build_id.h"
#include "record/parse.h"

struct symbol {
	u64 addr;	/* first, for first_above() */
	size_t order;	/* position in its file */
	char *name;	/* from a snapshot with offset and module, from kallsyms without */
	char *module;	/* "" for the kernel itself; not from a snapshot */
	u64 size;	/* 0 from a snapshot */
};

struct symbol_list {
	struct symbol *at;
	size_t nr;
};

/* The offset of KASLR */
struct kernel_offset {
	u64 bytes;	/* distance of the kernel's addresses from those in vmlinux */
	const char *from;	/* where it comes from, NULL if it is unknown */
};

struct symbols {
	struct symbol_list snapshot, kallsyms, text;
	const struct stacks *stacks;	/* whose text was not read yet, or NULL */
	const char *path;	/* of kallsyms, or NULL */
	const u32 *loaded;	/* modules_loaded of the record as it is now */
	u32 read;		/* ... when @kallsyms was read; KALLSYMS_NOT_READ */
	u32 text_read;		/* ... when @text was */
	u64 base_addr;		/* a kallsyms of this boot has @base_symbol here */
	const char *base_symbol;
	struct build_ids ids;	/* of what ran, by the record and a snapshot */
	struct kernel_offset offset;	/* by a snapshot, or as the session has found it */
	char *host;		/* the machine's name, by a snapshot; NULL if unknown */
};

#define KALLSYMS_NOT_READ	(~0U)

/* "text", "snapshot", "kallsyms", "none" */
extern const char *const name_origins[];

/*
 * @kallsyms may be NULL; it is read when the first frame needs it, and again if @r, which the
 * caller may read again, says that modules were loaded since.
 */
void symbols_init(struct symbols *s, const struct record *r, const char *kallsyms);

/* Read kallsyms now: it takes the kernel a quarter of a second */
void symbols_read(struct symbols *s);
void symbols_free(struct symbols *s);

/* Name all frames of a stack: set its @name, @named and @name_origin */
void symbols_name(struct symbols *s, struct stack *stack);

#endif
