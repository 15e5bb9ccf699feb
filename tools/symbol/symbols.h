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

#include <stdio.h>
#include "record/parse.h"

/* ---------------------- the kernel's list of symbols, live or copied --- */

/* A list that is being read */
struct kallsyms {
	FILE *file;
	u64 addr;	/* address of the symbol read last; 0 where the kernel does not show it */
	char type;	/* its type, as nm(1) prints it */
	const char *name, *module;	/* @module is "" for the kernel itself */
	char line[1024];	/* holds @name and @module */
};

/* Return 0, or -1 with errno set.  @file is to be closed */
int kallsyms_open(struct kallsyms *k, const char *path);

/* Read the next symbol; pass over lines that hold none.  Return false at the end */
bool kallsyms_next(struct kallsyms *k);

/* Is the symbol that was read last in code, rather than data? */
bool kallsyms_is_code(const struct kallsyms *k);

/*
 * Split "NAME", "NAME [MODULE]" or "NAME\t[MODULE]", as several files of the kernel have it,
 * in place.  Return the name, which may be ""; *@module is "" for the kernel itself.
 */
const char *kallsyms_split(char *text, const char **module);

/* ------------------- build ids of the kernel and of modules that ran --- */

/* Hexadecimal digits of the longest id */
#define BUILD_ID_DIGITS	128

/* The id of what ran */
struct build_id {
	char *module;	/* its name, "" for the kernel itself */
	char *hex;	/* the id in hexadecimal digits, "" if unknown */
	u64 since;	/* when it was loaded, ns since boot; 0: it is what was loaded last */
};

/* Ids of what ran */
struct build_ids {
	struct build_id *id;
	size_t nr;
	/* Loads of modules before this time are unknown, ns since boot; 0: all are known */
	u64 from;
};

/* Hexadecimal digits of @len bytes, to be freed */
char *build_id_hex(const void *bytes, size_t len);

/* The build id in a file of notes, as sysfs has them: digits to be freed, NULL if there is none */
char *build_id_of_notes(const char *path);

/* Add the id of what was loaded last, unless it is malformed or the module has one already */
void build_ids_add(struct build_ids *ids, const char *module, const char *hex);

/* Add those in the record itself: stackbuf.ko's, and of modules that were loaded after it */
void build_ids_record(struct build_ids *ids, const struct stackbuf_info *info);

/* Add those of the kernel that runs here and of its modules */
void build_ids_running(struct build_ids *ids);

/* Add those in a snapshot's page: lines "kernel-id HEX" and "module-id NAME HEX" */
void build_ids_snapshot(struct build_ids *ids, const char *text);

/* The id of what ran at @time, ns since boot or 0 if unknown: digits, or NULL if unknown */
const char *build_ids_find(const struct build_ids *ids, const char *module, u64 time);

void build_ids_free(struct build_ids *ids);

/* ----------------------------------------------------------- symbols --- */

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
