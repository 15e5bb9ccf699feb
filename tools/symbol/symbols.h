/* SPDX-License-Identifier: GPL-2.0 */
/*
 * symbols.h - names for frames
 *
 * Names come from the text log, which has the text that the kernel printed soon after it first saw
 * the stack; else from a snapshot, which has the names known when it was saved; else from the text
 * of other stacks, whose frames show where their functions begin and end; else from kallsyms, live
 * or from a dump, which is right only for code that is still loaded at the same address.  Without
 * any of these, the name is the bare address.
 */
#ifndef SYMBOLS_H
#define SYMBOLS_H

#include <stdio.h>
#include "record/parse.h"

/* ---------------------- the kernel's list of symbols, live or copied --- */

/* State of reading a list */
struct kallsyms {
	FILE *file;
	u64 addr;	/* address of the last symbol read; 0 if the kernel hides it */
	char type;	/* its type, as nm(1) prints it */
	const char *name, *module;	/* @module is "" for the kernel itself */
	char line[1024];	/* contains @name and @module */
};

/* Return 0, or -1 with errno set.  The caller closes @file */
int kallsyms_open(struct kallsyms *k, const char *path);

/* Read the next symbol; skip lines without one.  Return false at the end */
bool kallsyms_next(struct kallsyms *k);

/* Return true if the last symbol read is code, not data */
bool kallsyms_is_code(const struct kallsyms *k);

/*
 * Split "NAME", "NAME [MODULE]" or "NAME\t[MODULE]", the format of several kernel files, in place.
 * Return the name, which may be ""; *@module is "" for the kernel itself.
 */
const char *kallsyms_split(char *text, const char **module);

/* ---------------------- build ids of the recorded kernel and modules --- */

/* Hexadecimal digits in the longest id */
#define BUILD_ID_DIGITS	128

/* The build id of the kernel or a module */
struct build_id {
	char *module;	/* its name, "" for the kernel itself */
	char *hex;	/* the id in hexadecimal digits, "" if unknown */
	u64 since;	/* time of loading, ns since boot; 0: the last load */
};

/* Build ids of the recorded kernel and modules */
struct build_ids {
	struct build_id *id;
	size_t nr;
	/* Loads of modules before this time are unknown, ns since boot; 0: all are known */
	u64 from;
};

/* Return @len bytes as hexadecimal digits; the caller frees them */
char *build_id_hex(const void *bytes, size_t len);

/* Return the digits of the build id in a sysfs file of notes, or NULL; the caller frees them */
char *build_id_of_notes(const char *path);

/* Add the id of the last load, unless it is malformed or the module already has one */
void build_ids_add(struct build_ids *ids, const char *module, const char *hex);

/* Add the ids in the record: stackbuf.ko's, and those of modules loaded after it */
void build_ids_record(struct build_ids *ids, const struct stackbuf_info *info);

/* Add the ids of the running kernel and its modules */
void build_ids_running(struct build_ids *ids);

/* Add the ids in a snapshot's page: lines "kernel-id HEX" and "module-id NAME HEX" */
void build_ids_snapshot(struct build_ids *ids, const char *text);

/* Return the digits of the id at @time, ns since boot or 0 if unknown; NULL if the id is unknown */
const char *build_ids_find(const struct build_ids *ids, const char *module, u64 time);

void build_ids_free(struct build_ids *ids);

/* ----------------------------------------------------------- symbols --- */

struct symbol {
	u64 addr;	/* first, for first_above() */
	size_t order;	/* position in its file */
	char *name;	/* with offset and module from a snapshot, without them from kallsyms */
	char *module;	/* "" for the kernel itself; not from a snapshot */
	u64 size;	/* 0 from a snapshot */
};

struct symbol_list {
	struct symbol *at;
	size_t nr;
};

/* The KASLR offset */
struct kernel_offset {
	u64 bytes;	/* distance of the kernel's addresses from those in vmlinux */
	const char *from;	/* its origin, NULL if it is unknown */
};

struct symbols {
	struct symbol_list snapshot, kallsyms, text;
	const struct stacks *stacks;	/* stacks whose text was not read yet, or NULL */
	const char *path;	/* of kallsyms, or NULL */
	const u32 *loaded;	/* modules_loaded of the record as it is now */
	u32 read;		/* ... when @kallsyms was read; KALLSYMS_NOT_READ */
	u32 text_read;		/* ... when @text was */
	u64 base_addr;		/* a kallsyms of this boot has @base_symbol here */
	const char *base_symbol;
	struct build_ids ids;	/* of the recorded code, from the record and a snapshot */
	struct kernel_offset offset;	/* from a snapshot, or found by the session */
	char *host;		/* the machine's name, from a snapshot; NULL if unknown */
};

#define KALLSYMS_NOT_READ	(~0U)

/* "text", "snapshot", "kallsyms", "none" */
extern const char *const name_origins[];

/*
 * @kallsyms may be NULL.  It is read when the first frame needs it, and again if @r, which the
 * caller may update, shows that modules were loaded since.
 */
void symbols_init(struct symbols *s, const struct record *r, const char *kallsyms);

/* Read kallsyms now: the kernel needs a quarter of a second for it */
void symbols_read(struct symbols *s);
void symbols_free(struct symbols *s);

/* Name all frames of a stack: set its @name, @named and @name_origin */
void symbols_name(struct symbols *s, struct stack *stack);

#endif
