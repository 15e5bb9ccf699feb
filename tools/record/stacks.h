/* SPDX-License-Identifier: GPL-2.0 */
/*
 * stacks.h - the table of stacks by id
 */
#ifndef STACKS_H
#define STACKS_H

#include "stackbuf.h"
#include "util.h"

/* Where frames' names come from, the most certain first; see symbols.h */
enum name_origin { NAMES_TEXT, NAMES_SNAPSHOT, NAMES_KALLSYMS, NAMES_NONE };

/* One distinct stack */
struct stack {
	u32 id;
	u32 place;	/* its place in struct stacks */
	u8 nr;	/* frames in @addr; 0 if only its text is left */
	bool cut;	/* the trace had more frames */
	bool rendered;	/* its text was written to the text log */
	bool stale;	/* code of its frames was unloaded */
	bool unfit;	/* recall cannot be exact for it */
	u8 origin;	/* enum stackbuf_origin */
	/* Its names are as folded text gave them: no part of them is an offset or a module */
	bool given;
	bool gone;	/* neither its frames nor its text were found */
	u64 count;	/* events that are no longer in the ring */
	u64 seen;	/* see struct stackbuf_stack */
	u64 in_ring;	/* events found in the ring */
	/* Both, before duplicates_merge() moved them to the stack that represents this one */
	u64 own;
	u64 *addr;	/* return addresses, innermost first */
	const char *text;	/* its frames in the text log, a line each, or NULL */
	u32 text_len;	/* bytes of @text */
	u32 lines;	/* number of frames in @text */
	u64 first;	/* when it was first seen, ns since boot; 0 if unknown */
	u64 text_time;	/* the same by @text, in whole microseconds */
	/* The least certain origin of its names; set by symbols_name() */
	enum name_origin name_origin;
	char **name;	/* a name for each frame, set by symbols_name() */
	unsigned int named;	/* number of names */
	/* The equal stack that represents this one, or NULL; see stack_canonical() */
	struct stack *canonical;
	char *block;	/* for the output only: the stack as text */
	size_t block_len;	/* bytes of @block */
};

/* The table of stacks by id */
struct stacks {
	struct stack **stack;	/* the stacks, in the order in which they were entered */
	size_t nr;	/* how many */
	/* Open addressing: indices into @stack, counted from 1; 0: the slot is free */
	u32 *slot;
	size_t room;	/* slots, a power of two */
	u64 seed;	/* of the hash, random, so that a hostile file cannot make ids collide */
};

struct stack *stacks_find(const struct stacks *s, u32 id);
struct stack *stacks_get(struct stacks *s, u32 id);	/* enters it if it is new */
void stacks_empty(struct stacks *s);

/* Iterate: for (i = 0; (stack = stacks_next(s, &i)); ) */
struct stack *stacks_next(const struct stacks *s, size_t *i);

/*
 * Enter the stack at a granule of a page into @s.  *@granules is how many it takes.  Return
 * NULL if there is none, or one that is half written.
 */
struct stack *stack_parse(struct stacks *s, const struct stackbuf_stacks_page *page,
			  unsigned int granule, unsigned int *granules);

/* Enter all stacks of a page.  Return how many are not whole */
unsigned int stacks_parse(struct stacks *s, const struct stackbuf_stacks_page *page);

/*
 * Of a page's copy take out each stack whose place had another one when it was copied @before or
 * @after: a copy loads words in any order, and may have the id of one and the count of the other.
 */
void stacks_drop_torn(struct stackbuf_stacks_page *page, const struct stackbuf_stacks_page *before,
		      const struct stackbuf_stacks_page *after);

/* When table and text were parsed: a text of an older stack that had its id is none of it */
void stack_settle(struct stack *stack);

/* For sort() and trees: 0 if they have the same frames, and are both cut or both not */
int stack_order(const void *a, const void *b);

/*
 * Two CPUs that record a new stack at the same time may both enter it.  It then has two ids, and
 * each of them has a part of the events.  One of the equal stacks, the canonical one, represents
 * the others: this is it, and may be the stack itself.
 */
struct stack *stack_canonical(struct stack *stack);

/*
 * For stacks that are found one by one: the first that is entered into @tree represents those
 * that equal it.  @tree is NULL at the beginning.
 */
void duplicates_enter(void **tree, struct stack *stack);
void duplicates_free(void **tree);

#endif
