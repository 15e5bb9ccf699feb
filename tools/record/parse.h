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
#include "record/frame.h"

/* ---------------------------------------------------------- page_set --- */

/* The pages that were found: of which load, and which copies count */

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
 * text, padded with NULs.  Its lines are "pages N" (how many pages the file has, these included),
 * then, of a running system, "changed EVENTS TEXT" (pages left out, as they changed while they were
 * read), "kernel-id HEX" and "module-id NAME HEX" (build ids), "kernel-offset HEX" (of KASLR),
 * "host NAME" (the machine's) and "frame ADDRESS NAME".  Readers ignore other lines.
 */
#define SNAPSHOT_TEXT	(STACKBUF_PAGE_SIZE - sizeof(struct stackbuf_page))

/* One page */
struct found_page {
	const void *data;	/* its 4 KiB, or NULL until the source has fetched them */
	u64 where;	/* for the source only: the page's place in its file */
	u64 instance;	/* which load of the module */
	u64 seq;	/* sequence, as in the page */
	u32 index;	/* index, as in the page */
	u16 kind;	/* kind, as in the page */
	u16 file;	/* for the source only: which of its files */
};

/* Pages found anywhere, in any order, of any load of the module */
struct page_set {
	/* The pages; their memory, aligned to 8 bytes, is the source's and must outlive the set */
	struct found_page *page;
	size_t nr;	/* how many */
	unsigned int other_version;	/* an unknown format version that was found, or 0 */
	bool live;	/* it is, or was for a snapshot, the memory of a running system */
	unsigned int changed;	/* event pages left out because they changed while they were read */
	unsigned int changed_text;	/* pages of the text log left out for the same reason */
	u64 left_out;	/* pages beyond PAGE_SET_MAX */
	u64 unreadable;	/* pages of a dump that could not be read, of stackbuf or not */
	u64 cut;	/* bytes that a dump should have and does not */
	/* How they were found in a dump: "page tables" or "scan"; NULL for other sources */
	const char *found_by;
	const char *scanned;	/* why it was a scan, or NULL */
	u64 bytes_read;	/* memory of the dump that was read */
};

/* More pages come from damage or a hostile file, not from a record */
#define PAGE_SET_MAX	(1U << 20)

/* What page_set_add() finds a page to be */
enum page_is { PAGE_TAKEN, PAGE_FOREIGN, PAGE_OTHER_VERSION };

enum page_is page_set_add(struct page_set *set, const void *page);
void page_set_clear(struct page_set *set);

/* One load of the module, of which pages were found */
struct instance {
	u64 id;	/* its number */
	u64 pages;	/* pages found, copies and all */
	/*
	 * The first page of stackbuf_info is among them and has valid sizes; what follows is known
	 * only then
	 */
	bool have_info;
	u64 missing;	/* pages that should be there and are not, the text log's left out */
	u64 loaded;	/* when, ns since 1970 */
	/* The kernel's, printable */
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

/* The array that a page of @kind is in; -1: none */
int page_array(u16 kind);

/* Is it a page of the ring or the text log?  Their sequences order all pages of the array */
bool page_has_seq(const struct found_page *page);

/*
 * A memory image may hold several copies of one page, of different age: the page cache has the
 * files that recordings were saved in.  Only the newest counts: for ring and text the fullest
 * of the highest sequence; for the other arrays all of the highest sequence, which are merged
 * record by record.  Return how many pages remain, by kind, then by age or index.
 */
size_t pages_drop_old_copies(struct found_page *page, size_t nr);

/* ----------------------------------------- the table of stacks by id --- */

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
	bool uncacheable;	/* recall cannot be exact for it */
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
	struct frame *frame;	/* each frame, set by symbols_name() */
	unsigned int named;	/* how many: at least @nr */
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

/* Enter a copy of a stack that has names, unless @s has it: for one that will be forgotten */
struct stack *stack_keep(struct stacks *s, const struct stack *stack);

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
void duplicates_free(void **tree);	/* of any tree: what is in it stays */

/* ------------------------------------------------------------- parse --- */

struct text {
	const char *record;	/* its header line and its frames */
	u32 len;
	u32 id;
};

/* All that is known of one load of the module */
struct record {
	u64 instance;	/* which */
	bool live;	/* copied while it was written */
	const char *probes_off;	/* why the running kernel does not hit its probes, or NULL */
	bool have_info;	/* page 0 of stackbuf_info was found and has valid sizes */
	struct stackbuf_info info;	/* stackbuf_info, every string terminated */
	u64 lost[STACKBUF_COUNTERS];	/* its counters, each the sum over all CPUs */
	struct stacks stacks;	/* all stacks that the table, the ring or the text log know */
	size_t in_table;	/* number of stacks that the table has */
	size_t not_rendered;	/* those of the table whose text is not rendered yet */
	struct stackbuf_event *event;	/* events in time order */
	size_t events;	/* how many */
	u32 found;	/* events found, including those that are not kept */
	struct text *text;	/* records of the text log, oldest first */
	size_t texts;	/* how many */
	struct found_page *pair;	/* pages of pairs */
	size_t pairs;	/* how many */
	const char **snapshot;	/* pages that a snapshot added */
	size_t snapshots;	/* how many */
	unsigned int pages[ARRAYS];	/* pages found, by array */
	unsigned int missing[ARRAYS];	/* pages that should be there and are not, by array */
	/* Pages of ring and text of which only an old copy was found; they are left out */
	unsigned int outlived;
	unsigned int used_pages;	/* event pages that hold events */
	unsigned int rebuilt;	/* event pages that were being rebuilt */
	unsigned int half;	/* events that were being written */
	unsigned int damaged;	/* event pages that are damaged from some place on */
	unsigned int half_stacks;	/* stacks in the table that are not whole */
	unsigned int half_texts;	/* records of the text log that are not whole */
};

struct search;

/* The events that a record keeps */
struct event_choice {
	/* Those for which this returns true: search_event() */
	bool (*matches)(struct search *s, const struct stackbuf_event *e);
	struct search *search;	/* its argument */
	u64 last;	/* keep only this number of the newest of these; 0: all */
};

/*
 * Parse all pages of one instance.  @r refers to their memory; to be freed by record_free().  With
 * @choice keep in memory only its events, and no stack that neither the table nor the text log has:
 * an event in memory takes several times the bytes that it takes in the ring.  struct
 * stack.in_ring counts all events.
 */
void record_parse(struct record *r, const struct page_set *set, u64 instance,
		  const struct event_choice *choice);
void record_free(struct record *r);

/*
 * Let the stack with the lowest id represent all that equal it: move their totals and events to
 * it, and set their stack->canonical.
 */
void duplicates_merge(struct record *r);

/* ---------------------------------------------------------------- events --- */

/* Most events in a page: the first is FULL, the others SHORT */
#define PAGE_EVENTS_MAX	(STACKBUF_EVENT_WORDS - 4)

/* A way through the events of one page */
struct cursor {
	const struct stackbuf_events_page *page;
	unsigned int pos;	/* word of the event to look at next */
	unsigned int nr;	/* events passed */
	/* The event before was skipped, so that a SHORT one, which depends on it, is lost too */
	bool lost;
	/*
	 * The event that was found last; its comm is NUL-terminated, of any bytes: see
	 * output_comm()
	 */
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

/* Sort by time; events of the same time keep their order */
void events_sort(struct stackbuf_event *event, size_t nr);

/* --------------------------------------------------------------- text log --- */

/* Parse the line that a page of the text log begins with.  Return its length, 0 if there is none */
size_t text_head(const char *page, unsigned int *version, u32 *index, u64 *seq, u64 *instance);

/*
 * Drop from @page what may be torn; @again is a copy made after @page.  Return false if the page
 * was reused for new records in between: then @page is blank.
 */
bool text_drop_torn(char *page, const char *again);

/* Add the records of a page, and their stacks */
void record_parse_text(struct record *r, const char *page);

/* When the stack of a text record was first seen: ns since boot, exact to 1 us; 0 if unknown */
u64 text_time(const char *record);

/* ------------ stackbuf_info: sizes, counters, probes, deepest stacks --- */

/* Why hits are missed, for messages that say how many were */
#define WHY_MISSED	"a function that a save itself calls is not recorded there, and the kernel " \
			"runs no kprobe inside another one's handler, nor notes more returns "	\
			"at once than it has room for"

/* Is it on all functions that match, and has no address of its own? */
static inline bool probe_has_functions(const struct stackbuf_probe *probe)
{
	return !probe->addr && (probe->way == STACKBUF_PROBE_BY_FTRACE ||
				probe->way == STACKBUF_PROBE_BY_RETURN);
}

/* Probe @i of STACKBUF_PROBES_MAX, its name printable.  Return false if there is none */
bool record_probe(const struct record *r, unsigned int i, struct stackbuf_probe *probe);

/* Iterate: for (i = 0; probe_next(r, &i, &probe); ) */
bool probe_next(const struct record *r, unsigned int *i, struct stackbuf_probe *probe);

/* Events that were refused since the module was loaded, other than by filters and limits */
u64 record_refused(const struct record *r);

/* Hits that probes missed since the module was loaded */
u64 probes_missed(const struct record *r);

/*
 * Did the module that made the record keep probes, or deepest stacks?  A build may leave them out.
 * True, too, if the record lacks the page of stackbuf_info.
 */
bool info_has_probes(const struct stackbuf_info *info);
bool info_has_depths(const struct stackbuf_info *info);

/* Are the sizes in a copy of the first page possible? */
bool info_sane(const struct stackbuf_info *info);

/* Is @a the later of two copies of the first page? */
bool info_later(const struct stackbuf_info *a, const struct stackbuf_info *b);

/*
 * Of two copies of a page leave what is whole, as the words of a copy may be of different times.
 * What differs is not open: it was closed, or is as if opened a moment later.  A deepest stack that
 * differs counts as half-written.  A module that differs was not loaded yet.
 */
void info_drop_torn(void *page, const void *again);

/* Take a page of stackbuf_info into the record, unless it is an older copy; the first page first */
void record_parse_info(struct record *r, const struct found_page *page);

/* ------------------------------------------------------------- pairs --- */

/* Pairs of probes: outstanding objects, and how long others were open, by stack */

/* What one stack has opened */
struct pair_total {
	struct stack *stack;
	u64 open;	/* how many objects are open */
	u64 value;	/* the sum of their values */
	u64 oldest;	/* when the first of these was opened, ns */
	u64 newest;	/* when the last of these was opened, ns */
	u64 closed;	/* how many were closed */
	u64 sum;	/* of the times from open to closed, ns */
	u64 longest;	/* of these, ns */
	/* How many were closed, by time, as in struct stackbuf_pair_stack */
	u64 times[STACKBUF_PAIR_TIMES];
};

/* All of one pair */
struct pair_totals {
	struct stackbuf_pair pair;
	char name[sizeof(((struct stackbuf_pair *)0)->name) + 1];	/* its name, printable */
	struct pair_total *total;	/* by stack */
	struct pair_total all;	/* the sums of @open, @value, @closed and @sum */
	size_t nr;	/* how many */
	u64 missed;	/* hits that the kernel has missed, of its probes */
	/*
	 * Probes of it that are not set, as their module is not loaded, and functions that a
	 * pattern leaves out
	 */
	unsigned int absent;
	/* Objects that were being written.  Of a live copy none: they came a moment later */
	unsigned int half;
	unsigned int lost;	/* pages, and probes that are in none, that are not there */
	/* Pages of which there are two that differ: it is not known which one is newer */
	unsigned int copies;
	bool kept;	/* they outlived a reset: some are older than others, up to a second */
	const char *off;	/* why the kernel does not hit its probes, or NULL */
};

/* Find the next pair after *@number, which begins at 0: false if there is none */
bool pairs_next(const struct record *r, unsigned int *number, struct stackbuf_pair *pair);

/* Of outstanding objects, by when they were opened */
struct pair_span {
	u64 until;	/* ns */
	u64 newest;	/* so many; 0: all */
};

#define PAIR_ALWAYS	(&(struct pair_span){ .until = ~0ULL })

/*
 * Add up the pair with this number, of outstanding objects only @span.  To be freed by
 * pairs_free()
 */
void pairs_read(const struct record *r, unsigned int number, const struct pair_span *span,
		struct pair_totals *t);

void pairs_free(struct pair_totals *t);

/* Is what was read exact: nothing spoiled it? */
bool pairs_exact(const struct pair_totals *t);

/* The least time, ns, that is in the column @i of times, and the least one beyond it */
u64 pairs_time(unsigned int i);

#endif
