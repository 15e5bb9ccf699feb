/* SPDX-License-Identifier: GPL-2.0 */
/*
 * made.h - arrays made up for tests, filled as the module fills them
 *
 * A second, simple writer of the memory format: it appends events in every
 * form, laps, counts what it overwrites, and can stop in the middle.
 */
#ifndef MADE_H
#define MADE_H

#include "record/parse.h"

#define MADE_CPUS	8
#define MADE_BASE	0xffffffff81234500ULL
#define MADE_INSTANCE	1700000000123456789ULL
#define MADE_LOAD	5000000000ULL

/* Which load of the module is made */
extern u64 made_instance;
/* Stacks have their first event, as those of today's module; their text has the same */
extern bool made_firsts;
/* Called before each store that a reader may see without the next one, if set */
extern void (*made_between)(void);

struct made_cpu {
	struct stackbuf_events_page *page;
	unsigned int pos;
	bool chained;
	u64 time, task, comm[2];
	u64 recorded;
};

struct made {
	struct stackbuf_info *info;
	struct stackbuf_events_page *events;
	struct stackbuf_stacks_page *stacks;
	char *text;
	unsigned int pages[ARRAYS];
	u64 head;
	u32 epoch;
	unsigned int text_pos;
	u64 text_seq;
	bool own;
	struct made_cpu cpu[MADE_CPUS];
};

struct made_event {
	unsigned int cpu;
	u32 stack;
	u64 time;
	u64 tag;
	bool tagged;
	u32 pid, tgid;
	const char *comm;
	enum stackbuf_context context;
};

/* @memory: the four arrays' (zeroed), or NULL */
void made_init(struct made *m, unsigned int event_pages, unsigned int stack_pages,
	       unsigned int text_pages, void *memory[ARRAYS]);
void made_free(struct made *m);

/* A stack of @nr frames.  Return its id, 0 if there is no room */
u32 made_stack(struct made *m, const u64 *addr, unsigned int nr, bool cut);
struct stackbuf_stack *made_at(struct made *m, u32 id);
void made_drop(struct made *m, u32 id);

/* Its text: frames "name_INDEX+0x10/0x20 [made]"; @cut: the line that says so, or NULL */
void made_text(struct made *m, u32 id, const char *name, unsigned int nr, const char *cut);

/* Append.  Return the place of its first word */
u64 *made_event(struct made *m, const struct made_event *e);

/* Add all pages to a set, in order, or shuffled by @seed if not 0 */
void made_pages(const struct made *m, struct page_set *set, unsigned int seed);

/* Bytes of an array and their number */
void *made_array(const struct made *m, enum array a, size_t *size);

/* Where the module has an array, as stackbuf_info says */
u64 *made_addr(const struct made *m, enum array a);
/* Put the arrays at these addresses, one after the other, each followed by a gap */
void made_move(struct made *m, u64 addr, u64 gap);

/*
 * The n-th event of a record that tests know: made_known() says what it is, of
 * MADE_STACKS stacks that made_known_stacks() enters.  made_record() makes one of @events.
 */
#define MADE_STACKS	7
void made_known_stacks(struct made *m, u32 id[MADE_STACKS]);
void made_known(struct made_event *e, u64 n, const u32 id[MADE_STACKS]);
void made_record(struct made *m, unsigned int event_pages, unsigned int stack_pages,
		 unsigned int text_pages, u64 events);

#endif
