/* SPDX-License-Identifier: GPL-2.0 */
/*
 * record_maker.h - arrays made up for tests, filled as the module fills them
 *
 * A second, simple writer of the memory format: it appends events in every
 * form, laps, counts what it overwrites, and can stop in the middle.
 */
#ifndef MAKER_H
#define MAKER_H

#include "record/parse.h"

#define MAKER_CPUS	8
#define MAKER_BASE	0xffffffff81234500ULL
#define MAKER_INSTANCE	1700000000123456789ULL
#define MAKER_LOAD	5000000000ULL

/* Which load of the module is made */
extern u64 maker_instance;
/* Stacks have their first event, as those of today's module; their text has the same */
extern bool maker_firsts;
/* Called before each store that a reader may see without the next one, if set */
extern void (*maker_between)(void);

struct maker_cpu {
	struct stackbuf_events_page *page;
	unsigned int pos;
	bool chained;
	u64 time, task, comm[2];
	u64 recorded;
};

struct maker {
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
	struct maker_cpu cpu[MAKER_CPUS];
};

struct maker_event {
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
void maker_init(struct maker *m, unsigned int event_pages, unsigned int stack_pages,
	       unsigned int text_pages, void *memory[ARRAYS]);
void maker_free(struct maker *m);

/* A stack of @nr frames.  Return its id, 0 if there is no room */
u32 maker_stack(struct maker *m, const u64 *addr, unsigned int nr, bool cut);
struct stackbuf_stack *maker_at(struct maker *m, u32 id);
void maker_drop(struct maker *m, u32 id);

/* Its text: frames "name_INDEX+0x10/0x20 [made]"; @cut: the line that says so, or NULL */
void maker_text(struct maker *m, u32 id, const char *name, unsigned int nr, const char *cut);

/* Append.  Return the place of its first word */
u64 *maker_event(struct maker *m, const struct maker_event *e);

/* Add all pages to a set, in order, or shuffled by @seed if not 0 */
void maker_pages(const struct maker *m, struct page_set *set, unsigned int seed);

/* Bytes of an array and their number */
void *maker_array(const struct maker *m, enum array a, size_t *size);

/* Where the module has an array, as stackbuf_info says */
u64 *maker_addr(const struct maker *m, enum array a);
/* Put the arrays at these addresses, one after the other, each followed by a gap */
void maker_move(struct maker *m, u64 addr, u64 gap);

/*
 * The n-th event of a record that tests know: maker_known() says what it is, of
 * MAKER_STACKS stacks that maker_known_stacks() enters.  maker_record() makes one of @events.
 */
#define MAKER_STACKS	7
void maker_known_stacks(struct maker *m, u32 id[MAKER_STACKS]);
void maker_known(struct maker_event *e, u64 n, const u32 id[MAKER_STACKS]);
void maker_record(struct maker *m, unsigned int event_pages, unsigned int stack_pages,
		 unsigned int text_pages, u64 events);

#endif
