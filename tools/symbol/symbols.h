/* SPDX-License-Identifier: GPL-2.0 */
/*
 * symbols.h - names for frames
 *
 * From the text log, which holds what the kernel itself printed when it saw the
 * stack first; else from a snapshot, which holds what was known when it was
 * saved; else from kallsyms, which is true only for code that has not moved
 * since; else none: the bare address.
 */
#ifndef SYMBOLS_H
#define SYMBOLS_H

#include "symbol/build_id.h"
#include "record/parse.h"

struct symbol {
	u64 addr;
	size_t order;	/* in its file */
	char *name;	/* for kallsyms without, for a snapshot with distance and module */
	char *module;	/* "" for the kernel itself; kallsyms only */
};

struct symbols {
	struct symbol *snapshot, *kallsyms;
	size_t snapshots, nr;
	size_t snapshot_room, room;
	const char *path;	/* of kallsyms, not read yet */
	u64 base_addr;		/* kallsyms must have ... */
	const char *base_symbol; /* ... this there, or it is of another boot */
	struct build_ids ids;	/* of what ran, as far as the record and a snapshot hold them */
};

/* "text", "snapshot", "kallsyms", "none" */
extern const char *const name_origins[];

/* @kallsyms may be NULL; it is read when the first frame needs it */
void symbols_init(struct symbols *s, const struct record *r, const char *kallsyms);
void symbols_free(struct symbols *s);

/* Names for all frames of a stack: sets stack->name, named, names */
void symbols_name(struct symbols *s, struct stack *stack);

#endif
