/* SPDX-License-Identifier: GPL-2.0 */
/*
 * parse.h - from pages of memory to events, stacks and texts
 *
 * A library without input or output.  It trusts no byte of a page: whatever pages hold, it
 * terminates, reads nothing outside of them, and never gives an event a stack that is not
 * the event's.
 */
#ifndef PARSE_H
#define PARSE_H

#include "stackbuf.h"
#include "util.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the memory format is little-endian, and so must be the reader's machine"
#endif

enum array { ARRAY_INFO, ARRAY_EVENTS, ARRAY_STACKS, ARRAY_TEXT, ARRAYS };
extern const char *const array_name[ARRAYS];

/* A larger size in stackbuf_info is damage */
#define ARRAY_BYTES_MAX	(1ULL << 32)

/* The kind of pages of the text log, which store none */
#define KIND_TEXT	0

/*
 * "stackbuf save" adds pages of kind STACKBUF_SNAPSHOT to a file: a head as in every page, then
 * text, padded with NULs.  Its lines are "pages N" (how many pages the file has, these
 * included), "kernel-id HEX" and "module-id NAME HEX" (build ids), and "frame ADDRESS NAME".
 * Readers ignore other lines.
 */
#define SNAPSHOT_TEXT	(STACKBUF_PAGE_SIZE - sizeof(struct stackbuf_page))

/* -------------------------------------------------------------- pages --- */

/**
 * struct found_page - one page
 * @data: its 4 KiB, or NULL until the source has fetched them
 * @where: for the source only: the page's place in its file
 * @instance: which load of the module
 * @seq: sequence, as in the page
 * @index: index, as in the page
 * @kind: kind, as in the page
 * @file: for the source only: which of its files
 */
struct found_page {
	const void *data;
	u64 where;
	u64 instance;
	u64 seq;
	u32 index;
	u16 kind;
	u16 file;
};

/**
 * struct page_set - pages found anywhere, in any order, of any load of the module
 * @page: the pages; their memory, aligned to 8 bytes, is the source's and must outlive the set
 * @nr: how many
 * @room: how many fit @page
 * @other_version: an unknown format version that was found, or 0
 * @changed: event pages left out because they changed while they were read
 * @changed_text: pages of the text log left out for the same reason
 * @left_out: pages beyond PAGE_SET_MAX
 * @unreadable: pages of a dump that could not be read, of stackbuf or not
 * @cut: bytes that a dump should have and does not
 */
struct page_set {
	struct found_page *page;
	size_t nr, room;
	unsigned int other_version;
	unsigned int changed;
	unsigned int changed_text;
	u64 left_out;
	u64 unreadable;
	u64 cut;
};

/* More pages come from damage or a hostile file, not from a record */
#define PAGE_SET_MAX	(1U << 20)

/* What page_set_add() finds a page to be */
enum page_is { PAGE_TAKEN, PAGE_FOREIGN, PAGE_OTHER_VERSION };

enum page_is page_set_add(struct page_set *set, const void *page);
void page_set_clear(struct page_set *set);

/**
 * struct instance - one load of the module, of which pages were found
 * @id: its number
 * @pages: pages found, copies and all
 * @have_info: the first page of stackbuf_info is among them and has valid sizes; what follows
 *	is known only then
 * @missing: pages that should be there and are not, the text log's left out
 * @loaded: when, ns since 1970
 * @release: the kernel's, printable
 */
struct instance {
	u64 id;
	u64 pages;
	bool have_info;
	u64 missing;
	u64 loaded;
	char release[sizeof(((struct stackbuf_info *)NULL)->release)];
};

/* All loads of the set, newest first, in memory to be freed.  Sorts the set */
size_t page_set_instances(struct page_set *set, struct instance **list);

/* The one to read: the newest complete one, else the newest with info, else the newest of all */
const struct instance *instance_default(const struct instance *list, size_t nr);

/* The id of the default one, 0 if there is none */
u64 page_set_newest(struct page_set *set);

/*
 * The number of copies of page @i that lie from there on, the newest last.  The set must be
 * sorted, as page_set_instances() leaves it.
 */
size_t page_set_copies(const struct page_set *set, size_t i);

/* -------------------------------------------------------------- events --- */

/* Most events in a page: the first is FULL, the others SHORT */
#define PAGE_EVENTS_MAX	(STACKBUF_EVENT_WORDS - 4)

/**
 * struct cursor - a way through the events of one page
 * @page: the page
 * @pos: word of the event to look at next
 * @nr: events passed
 * @lost: the event before was skipped, so that a SHORT one, which depends on it, is lost too
 * @event: the event that was found last; its comm is NUL-terminated, of any bytes: see
 *	output_comm()
 */
struct cursor {
	const struct stackbuf_events_page *page;
	unsigned int pos;
	unsigned int nr;
	bool lost;
	struct stackbuf_event event;
};

enum step {
	STEP_EVENT,	/* cursor.event is the next event; the cursor is after it */
	STEP_END,	/* no more events, until the page grows */
	STEP_HALF,	/* an event that is being written; cursor_skip() passes it */
	STEP_DAMAGED,	/* what follows makes no sense */
};

void cursor_start(struct cursor *c, const struct stackbuf_events_page *page);
enum step cursor_next(struct cursor *c);
void cursor_skip(struct cursor *c);

/*
 * Drop from @page what may be torn.  @before is a copy of the same page, which may have grown
 * in between, and was made before @page.
 */
void events_drop_torn(struct stackbuf_events_page *page, const struct stackbuf_events_page *before);

/*
 * The same for a page of text; @again is a copy made after @page.  Return false if the page
 * was reused for new records in between: then @page is blank.
 */
bool text_drop_torn(char *page, const char *again);

/* Sort by time; events of the same time keep their order */
void events_sort(struct stackbuf_event *event, size_t nr);

/* -------------------------------------------------------------- stacks --- */

/* Where frames' names come from, the most certain first; see symbols.h */
enum name_origin { NAMES_TEXT, NAMES_SNAPSHOT, NAMES_KALLSYMS, NAMES_NONE };

/**
 * struct stack - one distinct stack
 * @id: its id
 * @nr: frames in @addr; 0 if only its text is left
 * @cut: the trace had more frames
 * @rendered: its text was written to the text log
 * @stale: code of its frames was unloaded
 * @gone: neither its frames nor its text were found
 * @count: events that are no longer in the ring
 * @seen: see struct stackbuf_stack
 * @in_ring: events found in the ring
 * @addr: return addresses, innermost first
 * @text: its frames in the text log, a line each, or NULL
 * @text_len: bytes of @text
 * @lines: number of frames in @text
 * @first: when it was first seen, by the text log, ns since boot; 0 if unknown
 * @name_origin: the least certain origin of its names; set by symbols_name()
 * @name: a name for each frame, set by symbols_name()
 * @named: number of names
 * @canonical: the equal stack that represents this one, or NULL; see duplicates.h
 * @block: for the output only: the stack as text
 * @block_len: bytes of @block
 */
struct stack {
	u32 id;
	u8 nr;
	bool cut;
	bool rendered;
	bool stale;
	bool gone;
	u64 count;
	u64 seen;
	u64 in_ring;
	u64 *addr;
	const char *text;
	u32 text_len;
	u32 lines;
	u64 first;
	enum name_origin name_origin;
	char **name;
	unsigned int named;
	struct stack *canonical;
	char *block;
	size_t block_len;
};

/**
 * struct stacks - the table of stacks by id
 * @stack: the stacks, in the order in which they were entered
 * @nr: how many
 * @stack_room: how many fit @stack
 * @slot: open addressing: indices into @stack, counted from 1; 0: the slot is free
 * @room: slots, a power of two
 * @seed: of the hash, random, so that a hostile file cannot make ids collide
 */
struct stacks {
	struct stack **stack;
	size_t nr, stack_room;
	u32 *slot;
	size_t room;
	u64 seed;
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

/* Have they the same frames, and are both cut or both not? */
bool stack_equal(const struct stack *a, const struct stack *b);

/* ---------------------------------------------------------- everything --- */

struct text {
	const char *record;	/* its header line and its frames */
	u32 len;
	u32 id;
};

/**
 * struct record - all that is known of one load of the module
 * @instance: which
 * @have_info: page 0 of stackbuf_info was found and has valid sizes
 * @info: stackbuf_info, every string terminated
 * @lost: its counters, each the sum over all CPUs
 * @stacks: all stacks that the table, the ring or the text log know
 * @in_table: number of stacks that the table has
 * @not_rendered: those of the table whose text is not rendered yet
 * @event: events in time order
 * @events: how many
 * @found: events found, including those that are not kept
 * @text: records of the text log, oldest first
 * @texts: how many
 * @snapshot: pages that a snapshot added
 * @snapshots: how many
 * @pages: pages found, by array
 * @missing: pages that should be there and are not, by array
 * @outlived: pages of ring and text of which only an old copy was found; they are left out
 * @used_pages: event pages that hold events
 * @rebuilt: event pages that were being rebuilt
 * @half: events that were being written
 * @damaged: event pages that are damaged from some place on
 * @half_stacks: stacks in the table that are not whole
 * @half_texts: records of the text log that are not whole
 */
struct record {
	u64 instance;
	bool have_info;
	struct stackbuf_info info;
	u64 lost[STACKBUF_COUNTERS];
	struct stacks stacks;
	size_t in_table;
	size_t not_rendered;
	struct stackbuf_event *event;
	size_t events, event_room;
	u32 found;
	struct text *text;
	size_t texts, text_room;
	const char **snapshot;
	size_t snapshots, snapshot_room;
	unsigned int pages[ARRAYS];
	unsigned int missing[ARRAYS];
	unsigned int outlived;
	unsigned int used_pages;
	unsigned int rebuilt;
	unsigned int half;
	unsigned int damaged;
	unsigned int half_stacks;
	unsigned int half_texts;
};

/**
 * record_parse() - parse all pages of one instance
 * @r: the result, which refers to the pages' memory; to be freed by record_free()
 * @set: the pages
 * @instance: the instance
 */
void record_parse(struct record *r, const struct page_set *set, u64 instance);

/**
 * struct event_choice - the events that a record keeps
 * @wanted: returns false for an event that is left out
 * @arg: its first argument
 * @last: keep only this number of the newest of those wanted; 0: all
 */
struct event_choice {
	bool (*wanted)(const void *arg, const struct stackbuf_event *e);
	const void *arg;
	u64 last;
};

/*
 * As record_parse(), but keep in memory only the events of @choice, and no stack that neither
 * the table nor the text log has: an event in memory takes several times the bytes that it
 * takes in the ring.  struct stack.in_ring counts all events.
 */
void record_parse_chosen(struct record *r, const struct page_set *set, u64 instance,
		       const struct event_choice *choice);
void record_free(struct record *r);

/**
 * struct probe - one probe
 * @name: as it was given
 * @addr: its address, 0 while it has none
 * @state: enum stackbuf_probe_state
 * @missed: hits that the kernel did not pass on
 */
struct probe {
	char *name;
	u64 addr;
	u8 state;
	u64 missed;
};

/* Probe @i of STACKBUF_PROBES_MAX; its name is to be freed.  Return false if there is none */
bool record_probe(const struct record *r, unsigned int i, struct probe *probe);

/*
 * Did the module that made the record keep probes, or deepest stacks?  A build may leave them out.
 * True, too, if the record lacks the page of stackbuf_info.
 */
bool info_has_probes(const struct stackbuf_info *info);
bool info_has_depths(const struct stackbuf_info *info);

/* Parts of record_parse() that follow.c needs by themselves */
bool info_sane(const struct stackbuf_info *info);
void record_parse_text(struct record *r, const char *page);

/* When the stack of a text record was first seen: ns since boot, exact to 1 us; 0 if unknown */
u64 text_time(const char *record);

#endif
