/* SPDX-License-Identifier: GPL-2.0 */
/*
 * parse.h - parses pages of memory to events, stacks and texts
 *
 * A library without input or output.  It trusts no byte of a page: whatever the pages contain, it
 * terminates, reads nothing outside of them, and never gives an event a wrong stack.
 */
#ifndef PARSE_H
#define PARSE_H

#include "stackbuf.h"
#include "record/frame.h"

/* ---------------------------------------------------------- page_set --- */

/* The pages found, by load of the module, and which copies to use */

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the memory format is little-endian, and so must be the reader's machine"
#endif

enum array { ARRAY_INFO, ARRAY_EVENTS, ARRAY_STACKS, ARRAY_TEXT, ARRAYS };
extern const char *const array_name[ARRAYS];

/* A larger size in stackbuf_info is damage */
#define ARRAY_BYTES_MAX	(1ULL << 32)

/* Pages of the text log have no kind field; this is theirs */
#define KIND_TEXT	0

/*
 * "stackbuf save" adds pages of kind STACKBUF_SNAPSHOT to a file: a head as in every page, then
 * text, padded with NULs.  Its lines are "pages N" (number of pages in the file, including these),
 * then, for a running system, "changed EVENTS TEXT" (pages left out because they changed while they
 * were read), "kernel-id HEX" and "module-id NAME HEX" (build ids), "kernel-offset HEX" (of KASLR),
 * "host NAME" (the machine's) and "frame ADDRESS NAME".  Readers ignore other lines.
 */
#define SNAPSHOT_TEXT	(STACKBUF_PAGE_SIZE - sizeof(struct stackbuf_page))
/* More than the longest line, a frame with a symbol of KSYM_NAME_LEN and a module's name */
#define SNAPSHOT_LINE	1024

/* One page */
struct found_page {
	const void *data;	/* its 4 KiB, or NULL until the source has read them */
	u64 where;	/* for the source only: the page's place in its file */
	u64 instance;	/* load of the module */
	u64 seq;	/* sequence, as in the page */
	u32 index;	/* index, as in the page */
	u16 kind;	/* kind, as in the page */
	u16 file;	/* for the source only: its file */
};

/* Pages found anywhere, in any order, from any load of the module */
struct page_set {
	/* The pages.  The source owns their memory, aligned to 8 bytes; it must outlive the set */
	struct found_page *page;
	size_t nr;
	unsigned int other_version;	/* an unknown format version that was found, or 0 */
	u64 other_pages;	/* pages of unknown format versions, which are left out */
	bool live;	/* from the memory of a running system, directly or in a snapshot */
	unsigned int changed;	/* event pages left out because they changed while they were read */
	unsigned int changed_text;	/* pages of the text log left out for the same reason */
	u64 left_out;	/* pages beyond PAGE_SET_MAX */
	u64 copies_left_out;	/* differing copies of one page beyond a limit */
	u64 unreadable;	/* pages of a dump that could not be read, stackbuf's or not */
	u64 cut;	/* bytes missing from the end of a dump */
	/* How they were found in a dump: "page tables" or "scan"; NULL for other sources */
	const char *found_by;
	const char *scanned;	/* reason for a scan, or NULL */
	u64 bytes_read;	/* bytes of the dump that were read */
};

/* A record never has more: the rest is damage or a hostile file */
#define PAGE_SET_MAX	(1U << 20)

/* Result of page_set_add() */
enum page_is { PAGE_TAKEN, PAGE_FOREIGN, PAGE_OTHER_VERSION };

enum page_is page_set_add(struct page_set *set, const void *page);
void page_set_clear(struct page_set *set);

/* One load of the module of which pages were found */
struct instance {
	u64 id;	/* its number */
	u64 pages;	/* pages found, including copies */
	/*
	 * The first page of stackbuf_info was found and has valid sizes; otherwise the fields below
	 * are unknown
	 */
	bool have_info;
	/* It is only what was kept over a reset: any other is newer, whatever the clock says */
	bool kept;
	u64 missing;	/* missing pages, except the text log's */
	u64 loaded;	/* time of loading, ns since 1970 */
	/* The kernel's release, printable */
	char release[sizeof(((struct stackbuf_info *)NULL)->release)];
};

/* Sort the set.  Return all loads in it, newest first; the caller frees *@list */
size_t page_set_instances(struct page_set *set, struct instance **list);

/*
 * The load to read: the newest complete one, kept over a reset only if all are; else the newest
 * with info, else the newest
 */
const struct instance *instance_default(const struct instance *list, size_t nr);

/* The id of the load to read, 0 if there is none */
u64 page_set_newest(struct page_set *set);

/*
 * Return how many copies of page @i follow each other from @i on, the newest last.  The set must be
 * sorted: call page_set_instances() first.
 */
size_t page_set_copies(const struct page_set *set, size_t i);

/* The array of pages of @kind; -1: none */
int page_array(u16 kind);

/* Return true for pages of the ring and the text log: their sequences order the whole array */
bool page_has_seq(const struct found_page *page);

/* Words used in a page of the ring or the text log.  The later of two copies is the fuller one */
size_t page_fill(const void *page);

/*
 * A memory image may hold several copies of a page, of different ages: the page cache may contain
 * saved records.  Keep only the newest: for ring and text the fullest copy with the highest
 * sequence; for the other arrays all copies with the highest sequence, which are merged record by
 * record.  Return how many pages remain, sorted by kind, then by age or index.
 */
size_t pages_drop_old_copies(struct found_page *page, size_t nr);

/* ----------------------------------------- the table of stacks by id --- */

/* Origin of frames' names, the most certain first; see symbols.h */
enum name_origin { NAMES_TEXT, NAMES_SNAPSHOT, NAMES_KALLSYMS, NAMES_NONE };

/* One distinct stack */
struct stack {
	u32 id;
	u32 place;	/* index in struct stacks */
	u8 nr;	/* frames in @addr; 0 if only its text was found */
	bool cut;	/* the trace had more frames */
	bool rendered;	/* its text is in the text log */
	bool stale;	/* code in its frames was unloaded */
	bool uncacheable;	/* recall cannot be exact for it */
	u8 origin;	/* enum stackbuf_origin */
	/* Its names come from folded text as they are: they have no offset or module */
	bool given;
	bool gone;	/* neither its frames nor its text were found */
	u64 count;	/* events that are no longer in the ring */
	u64 seen;	/* see struct stackbuf_stack */
	u64 in_ring;	/* events found in the ring */
	/* @count and @in_ring before duplicates_merge() moved them to the canonical stack */
	u64 own;
	u64 *addr;	/* return addresses, innermost first */
	const char *text;	/* its frames in the text log, one per line, or NULL */
	u32 text_len;	/* bytes of @text */
	u32 lines;	/* frames in @text */
	u64 first;	/* time of its first event, ns since boot; 0 if unknown */
	u64 text_time;	/* the same time from @text, in whole microseconds */
	/* The least certain origin of its names; set by symbols_name() */
	enum name_origin name_origin;
	struct frame *frame;	/* all its frames, set by symbols_name() */
	unsigned int named;	/* number of @frame: at least @nr */
	/* The equal stack that represents this one, or NULL; see stack_canonical() */
	struct stack *canonical;
	char *block;	/* for the output only: the printed stack */
	size_t block_len;	/* bytes of @block */
};

/* The stack's events, of which the ring has some.  A damaged count is one above all others */
static inline u64 stack_events(const struct stack *s)
{
	u64 events;

	return __builtin_add_overflow(s->count, s->in_ring, &events) ? ~0ULL : events;
}

/* The table of stacks by id */
struct stacks {
	struct stack **stack;	/* in the order of entry */
	size_t nr;
	/* Open addressing: indices into @stack, counted from 1; 0: the slot is free */
	u32 *slot;
	size_t room;	/* slots, a power of two */
	u64 seed;	/* of the hash, random, so that a hostile file cannot make ids collide */
};

struct stack *stacks_find(const struct stacks *s, u32 id);
struct stack *stacks_get(struct stacks *s, u32 id);	/* enters a new stack */
void stacks_empty(struct stacks *s);

/* Enter a copy of a named stack, unless @s has it, so that the original can be forgotten */
struct stack *stack_keep(struct stacks *s, const struct stack *stack);

/* Iterate: for (i = 0; (stack = stacks_next(s, &i)); ) */
struct stack *stacks_next(const struct stacks *s, size_t *i);

/*
 * Enter the stack at a granule of a page into @s.  Set *@granules to its size.  Return NULL if
 * there is no stack, or only a half-written one.
 */
struct stack *stack_parse(struct stacks *s, const struct stackbuf_stacks_page *page,
			  unsigned int granule, unsigned int *granules);

/* Enter all stacks of a page.  Return how many are incomplete */
unsigned int stacks_parse(struct stacks *s, const struct stackbuf_stacks_page *page);

/*
 * Drop from a copy of a page each stack whose place had another stack in the copies made @before or
 * @after it.  A copy loads words in any order, so it may have one stack's id and the other's count.
 */
void stacks_drop_torn(struct stackbuf_stacks_page *page, const struct stackbuf_stacks_page *before,
		      const struct stackbuf_stacks_page *after);

/* Call after parsing table and text: drops the text of an older stack that had the same id */
void stack_settle(struct stack *stack);

/* Compare for sort() and trees: 0 if the frames are equal, and both or neither are cut */
int stack_order(const void *a, const void *b);

/*
 * Two CPUs that record a new stack at the same time may both enter it.  It then has two ids, each
 * with some of the events.  One of the equal stacks, the canonical one, represents the others.
 * Return it; it may be @stack itself.
 */
struct stack *stack_canonical(struct stack *stack);

/*
 * Merge duplicates among stacks found one by one: the first that is entered into @tree represents
 * all that equal it.  Begin with @tree NULL.
 */
void duplicates_enter(void **tree, struct stack *stack);
void duplicates_free(void **tree);	/* keeps the stacks */

/* ------------------------------------------------------------- parse --- */

struct text {
	const char *record;	/* its header line and its frames */
	u32 len;
	u32 id;
};

/* All data of one load of the module */
struct record {
	u64 instance;	/* id of the load */
	bool live;	/* copied while the module wrote it */
	const char *probes_off;	/* why the running kernel does not hit its probes, or NULL */
	bool have_info;	/* page 0 of stackbuf_info was found and has valid sizes */
	struct stackbuf_info info;	/* stackbuf_info, every string terminated */
	u64 lost[STACKBUF_COUNTERS];	/* its counters, each the sum over all CPUs */
	struct stacks stacks;	/* all stacks in the table, the ring or the text log */
	size_t in_table;	/* number of stacks in the table */
	size_t not_rendered;	/* stacks in the table whose text is not rendered yet */
	struct stackbuf_event *event;	/* events in time order */
	size_t events;
	u32 found;	/* events found, including those that are not kept */
	/*
	 * Time of the first event from which on no CPU's events were overwritten, ns; 0: none were.
	 * The ring may begin before: a CPU that records little keeps its events longer than others
	 */
	u64 whole_since;
	struct text *text;	/* records of the text log, oldest first */
	size_t texts;
	struct found_page *pair;	/* pages of pairs */
	size_t pairs;
	const char **snapshot;	/* pages added by a snapshot */
	size_t snapshots;
	unsigned int pages[ARRAYS];	/* pages found, by array */
	unsigned int missing[ARRAYS];	/* missing pages, by array */
	/* Pages of ring and text of which only an old copy was found; they are left out */
	unsigned int outlived;
	unsigned int used_pages;	/* event pages that hold events */
	unsigned int rebuilt;	/* event pages that were being rebuilt */
	unsigned int half;	/* events that were being written */
	unsigned int damaged;	/* event pages damaged from some word on */
	unsigned int half_stacks;	/* incomplete stacks in the table */
	unsigned int half_texts;	/* incomplete records of the text log */
};

struct search;

/* Selects the events to keep */
struct event_choice {
	/* Keep events for which this returns true: search_event() */
	bool (*matches)(struct search *s, const struct stackbuf_event *e);
	struct search *search;	/* its argument */
	u64 last;	/* keep only this many of the newest of these; 0: all */
};

/*
 * Parse all pages of one load.  @r refers to their memory; free it with record_free().  With
 * @choice, keep in memory only the events it selects, and drop stacks that neither the table nor
 * the text log has: an event takes several times as much memory as in the ring.  struct
 * stack.in_ring counts all events.
 */
void record_parse(struct record *r, const struct page_set *set, u64 instance,
		  const struct event_choice *choice);
void record_free(struct record *r);

/*
 * Let the stack with the lowest id represent all equal ones: move their totals and events to it,
 * and set their stack->canonical.
 */
void duplicates_merge(struct record *r);

/* ---------------------------------------------------------------- events --- */

/* Most events in a page: the first is FULL, the others SHORT */
#define PAGE_EVENTS_MAX	(STACKBUF_EVENT_WORDS - 4)

/* Iterates over the events of one page */
struct cursor {
	const struct stackbuf_events_page *page;
	unsigned int pos;	/* word of the next event */
	unsigned int nr;	/* events passed */
	/* The last event was skipped, so a SHORT one after it, which depends on it, is lost too */
	bool lost;
	/*
	 * The last event found; its comm is NUL-terminated and may contain any bytes: see
	 * output_comm()
	 */
	struct stackbuf_event event;
};

enum step {
	STEP_EVENT,	/* cursor.event is the next event; the cursor is after it */
	STEP_END,	/* no more events, until the page grows */
	STEP_HALF,	/* a half-written event; cursor_skip() passes it */
	STEP_DAMAGED,	/* the rest makes no sense */
};

void cursor_start(struct cursor *c, const struct stackbuf_events_page *page);
enum step cursor_next(struct cursor *c);
void cursor_skip(struct cursor *c);

/*
 * Drop events from @page that may be torn.  @before is an earlier copy of the same page, which may
 * have grown in between.
 */
void events_drop_torn(struct stackbuf_events_page *page, const struct stackbuf_events_page *before);

/* Sort by time; events with the same time keep their order */
void events_sort(struct stackbuf_event *event, size_t nr);

/* --------------------------------------------------------------- text log --- */

/* Parse the first line of a page of the text log.  Return its length, 0 if it is not one */
size_t text_head(const char *page, unsigned int *version, u32 *index, u64 *seq, u64 *instance);

/*
 * Drop records from @page that may be torn; @again is a later copy.  If the page was reused for new
 * records in between, blank @page and return false.
 */
bool text_drop_torn(char *page, const char *again);

/* Add the records of a page, and their stacks */
void record_parse_text(struct record *r, const char *page);

/* Time of the first event of a text record's stack, ns since boot, exact to 1 us; 0 if unknown */
u64 text_time(const char *record);

/* ------------ stackbuf_info: sizes, counters, probes, deepest stacks --- */

/* Reason for missed hits, to follow their number in messages */
#define WHY_MISSED	"a function that a save itself calls is not recorded there, and the kernel " \
			"runs no kprobe inside another one's handler, nor notes more returns "	\
			"at once than it has room for"

/* Return true if the probe is on all functions that match, and has no address of its own */
static inline bool probe_has_functions(const struct stackbuf_probe *probe)
{
	return !probe->addr && (probe->way == STACKBUF_PROBE_BY_FTRACE ||
				probe->way == STACKBUF_PROBE_BY_RETURN);
}

/* Get probe @i of STACKBUF_PROBES_MAX, its name printable.  Return false if there is none */
bool record_probe(const struct record *r, unsigned int i, struct stackbuf_probe *probe);

/* Iterate: for (i = 0; probe_next(r, &i, &probe); ) */
bool probe_next(const struct record *r, unsigned int *i, struct stackbuf_probe *probe);

/* Events refused since the module was loaded, except by filters and limits */
u64 record_refused(const struct record *r);

/* Return how many events a filter, a sample or a limit left out */
u64 record_left_out(const struct record *r);

/* Return ns from 1970 until boot; negative if the clock was not set when the module was loaded */
s64 info_boot_time(const struct stackbuf_info *info);

/* From ns since boot to ns since 1970, at least 0 */
u64 info_to_wall(const struct stackbuf_info *info, u64 ns);

/* Hits that probes missed since the module was loaded */
u64 probes_missed(const struct record *r);

/*
 * How many more than @before, at least 0: while a probe is removed, its misses may be counted
 * twice
 */
u64 probes_missed_since(const struct record *r, u64 before);

/*
 * Return true if the module that made the record has probes, or deepest stacks: a build may leave
 * them out.  True, too, if the record lacks the page of stackbuf_info.
 */
bool info_has_probes(const struct stackbuf_info *info);
bool info_has_depths(const struct stackbuf_info *info);

/* Return true if the sizes in a copy of the first page are possible */
bool info_sane(const struct stackbuf_info *info);

/* Return true if @a is the later of two copies of the first page */
bool info_later(const struct stackbuf_info *a, const struct stackbuf_info *b);

/*
 * Drop from @page all that differs in @again, as the words of a copy may be of different times.  An
 * object that differs is not open: it was closed, or counts as opened a moment later.  A deepest
 * stack that differs counts as half-written.  A module that differs was not loaded yet.
 */
void info_drop_torn(void *page, const void *again);

/* Add a page of stackbuf_info to the record, unless it is an older copy; the first page first */
void record_parse_info(struct record *r, const struct found_page *page);

/* ------------------------------------------------------------- pairs --- */

/* Pairs of probes: outstanding objects, and the lifetimes of closed ones, by stack */

/* Objects that one stack opened */
struct pair_total {
	struct stack *stack;
	u64 open;	/* open objects */
	u64 value;	/* the sum of their values */
	u64 oldest;	/* time when the oldest open object was opened, ns */
	u64 newest;	/* time when the newest open object was opened, ns */
	u64 closed;	/* closed objects */
	u64 sum;	/* sum of their lifetimes, ns */
	u64 longest;	/* their longest lifetime, ns */
	/* Closed objects by lifetime, as in struct stackbuf_pair_stack */
	u64 times[STACKBUF_PAIR_TIMES];
};

/* Totals of one pair */
struct pair_totals {
	struct stackbuf_pair pair;
	char name[sizeof(((struct stackbuf_pair *)0)->name) + 1];	/* its name, printable */
	struct pair_total *total;	/* by stack */
	struct pair_total all;	/* the sums of @open, @value, @closed and @sum */
	size_t nr;	/* number of @total */
	u64 missed;	/* hits of its probes that the kernel missed */
	/*
	 * Its probes that are not set because their module is not loaded, and functions that a
	 * pattern leaves out
	 */
	unsigned int absent;
	/* Half-written objects; 0 for a live copy, where they count as opened a moment later */
	unsigned int half;
	/* Tasks that may be awake, and do not count; in a live copy only after a second */
	unsigned int doubt;
	unsigned int lost;	/* missing pages, and probes that no page found has */
	/* Differing copies of a page of which the newer one is unknown */
	unsigned int copies;
	bool kept;	/* they survived a reset: some are up to a second older than others */
	const char *off;	/* why the kernel does not hit its probes, or NULL */
	unsigned int beyond;	/* stacks whose sum of times exceeded 64 bits */
	u64 stopped;	/* when recording stopped, and pairs with it, ns; 0: it did not */
};

/* Find the next pair after *@number, which begins at 0.  Return false if there is none */
bool pairs_next(const struct record *r, unsigned int *number, struct stackbuf_pair *pair);

/* Selects outstanding objects by the time when they were opened */
struct pair_span {
	u64 until;	/* opened until then, ns */
	u64 newest;	/* only this many of the newest; 0: all */
};

#define PAIR_ALWAYS	(&(struct pair_span){ .until = ~0ULL })

/*
 * Add up the pair with this number; of outstanding objects only those in @span.  Free the result
 * with pairs_free()
 */
void pairs_read(const struct record *r, unsigned int number, const struct pair_span *span,
		struct pair_totals *t);

void pairs_free(struct pair_totals *t);

/* Return true if the totals are exact: nothing was lost or unknown */
bool pairs_exact(const struct pair_totals *t);

/* The least time, ns, in column @i of times; @i + 1 gives the first time beyond it */
u64 pairs_time(unsigned int i);

#endif
