// SPDX-License-Identifier: GPL-2.0
/*
 * parse.c - from pages of memory to events, stacks and texts
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include "record/parse.h"

const char *const array_name[ARRAYS] = { "info", "events", "stacks", "text" };

/* Terminate a string of @size bytes, and replace what is not printable */
static void make_printable(char *text, size_t size)
{
	text[size - 1] = '\0';
	for (; *text; text++)
		*text = printable_ascii(*text);
}

/* --------------------------------------------------------------- pages --- */

/* Parse the line that a page of the text log begins with.  Return its length, 0 if there is none */
static size_t text_head(const char *page, unsigned int *version, u32 *index, u64 *seq,
			u64 *instance)
{
	char line[128];
	const char *end = memchr(page, '\n', sizeof(line) - 1);
	unsigned int total;
	size_t len;

	if (!end || strncmp(page, "stackbuf text v", 15))
		return 0;
	len = end - page;
	memcpy(line, page, len);
	line[len] = '\0';
	if (sscanf(line, STACKBUF_TEXT_PAGE_SCAN, version, index, &total, seq, instance) != 5)
		return 0;
	return len + 1;
}

enum page_is page_set_add(struct page_set *set, const void *data)
{
	const struct stackbuf_page *head = data;
	struct found_page p = { .data = data };
	unsigned int version;

	if (head->magic == ~STACKBUF_MAGIC_INVERTED) {
		version = head->version;
		p.kind = head->kind;
		p.index = head->index;
		p.instance = head->instance;
		p.seq = head->seq;
	} else if (text_head(data, &version, &p.index, &p.seq, &p.instance) &&
		   !memmem(data, STACKBUF_PAGE_SIZE, "\nstackbuf text v", 16)) {
		/* A page with two such lines is part of a file of printed text */
		p.kind = KIND_TEXT;
	} else {
		return PAGE_FOREIGN;
	}
	if (version != STACKBUF_VERSION) {
		set->other_version = version;
		return PAGE_OTHER_VERSION;
	}
	if (set->nr == PAGE_SET_MAX) {
		set->left_out++;
		return PAGE_TAKEN;
	}
	GROW(set->page, set->nr, set->room);
	set->page[set->nr++] = p;
	return PAGE_TAKEN;
}

void page_set_clear(struct page_set *set)
{
	free(set->page);
	memset(set, 0, sizeof(*set));
}

/* -------------------------------------------------------------- events --- */

void cursor_start(struct cursor *c, const struct stackbuf_events_page *page)
{
	memset(c, 0, sizeof(*c));
	c->page = page;
	c->event.cpu = page->cpu;
	c->event.time = page->time;
}

enum step cursor_next(struct cursor *c)
{
	unsigned int form, words;
	u64 word;

	if (c->pos >= STACKBUF_EVENT_WORDS || !c->page->word[c->pos])
		return STEP_END;
	word = c->page->word[c->pos];
	form = stackbuf_event_form(word);
	words = stackbuf_event_words(word);
	if (!form || c->pos + words > STACKBUF_EVENT_WORDS || (!c->pos && form != STACKBUF_FULL))
		return STEP_DAMAGED;
	if (word & STACKBUF_EVENT_WRITING)
		return STEP_HALF;
	if (!(u32)word)
		return STEP_DAMAGED;
	if (c->lost && form != STACKBUF_FULL)
		return STEP_HALF;
	c->lost = false;

	stackbuf_decode_event(&c->event, c->page, c->pos);
	c->event.comm[STACKBUF_COMM_LEN - 1] = '\0';
	c->pos += words;
	c->nr++;
	return STEP_EVENT;
}

void cursor_skip(struct cursor *c)
{
	c->pos += stackbuf_event_words(c->page->word[c->pos]);
	c->nr++;
	c->lost = true;
}

/*
 * A copy loads words in any order: rep movs, for one, may load the words after an event's first
 * word before the first.  So an event may look complete in a copy that lacks its other words.
 * A complete event does not change any more, so what looks complete in the earlier copy is
 * whole in the later one.
 */
void events_drop_torn(struct stackbuf_events_page *page, const struct stackbuf_events_page *before)
{
	unsigned int pos = 0;

	while (pos < STACKBUF_EVENT_WORDS && page->word[pos]) {
		u64 was = before->word[pos];

		if (!stackbuf_event_form(was) || (page->word[pos] ^ was) & ~STACKBUF_EVENT_WRITING)
			break;
		if (page->word[pos] != was)
			page->owner = page->cpu + 1;
		page->word[pos] = was;
		pos += stackbuf_event_words(was);
	}
	/* An owner makes the follower read the page again, for the events left out here */
	if (pos < STACKBUF_EVENT_WORDS && page->word[pos]) {
		memset(&page->word[pos], 0, (STACKBUF_EVENT_WORDS - pos) * sizeof(u64));
		page->owner = page->cpu + 1;
	}
}

/* A stable merge sort.  Each page is in order: only what overlaps between pages is moved */
static void merge_sort(struct stackbuf_event *event, size_t nr, struct stackbuf_event *room)
{
	size_t half = nr / 2, to = half, right = half, i = 1, n;

	while (i < nr && event[i - 1].time <= event[i].time)
		i++;
	if (i >= nr)
		return;
	merge_sort(event, half, room);
	merge_sort(event + half, nr - half, room);
	while (to && event[to - 1].time > event[half].time)
		to--;
	n = half - to;
	memcpy(room, event + to, n * sizeof(*event));
	for (i = 0; i < n; to++)
		event[to] = right < nr && event[right].time < room[i].time ?
			    event[right++] : room[i++];
}

void events_sort(struct stackbuf_event *event, size_t nr)
{
	struct stackbuf_event *room = xrealloc(NULL, nr / 2 + 1, sizeof(*room));

	merge_sort(event, nr, room);
	free(room);
}

/* Drop all but the newest @last events, but seldom, so that each event is sorted few times */
static void drop_old_events(struct record *r, u64 last)
{
	if (r->events < 1024 || r->events / 2 < last)
		return;
	events_sort(r->event, r->events);
	memmove(r->event, r->event + r->events - last, last * sizeof(*r->event));
	r->events = last;
}

static void keep_event(struct record *r, const struct stackbuf_event *e,
		       const struct event_choice *choice)
{
	struct stack *stack = choice ? stacks_find(&r->stacks, e->id) :
				     stacks_get(&r->stacks, e->id);

	if (stack)
		stack->in_ring++;
	r->found++;
	if (choice && !choice->wanted(choice->arg, e))
		return;
	GROW(r->event, r->events, r->event_room);
	r->event[r->events++] = *e;
	if (choice && choice->last)
		drop_old_events(r, choice->last);
}

static void parse_events(struct record *r, const struct stackbuf_events_page *page,
			 const struct event_choice *choice)
{
	struct cursor c;

	cursor_start(&c, page);
	if (page->word[0])
		r->used_pages++;
	for (;;) {
		switch (cursor_next(&c)) {
		case STEP_EVENT:
			keep_event(r, &c.event, choice);
			break;
		case STEP_HALF:
			r->half++;
			cursor_skip(&c);
			break;
		case STEP_DAMAGED:
			r->damaged++;
			return;
		case STEP_END:
			return;
		}
	}
}

/* -------------------------------------------------------------- stacks --- */

/* Multiply-shift hash: the upper bits of the product */
static u32 *stacks_slot(const struct stacks *s, u32 id)
{
	size_t i = (id * s->seed >> 32) & (s->room - 1);

	while (s->slot[i] && s->stack[s->slot[i] - 1]->id != id)
		i = (i + 1) & (s->room - 1);
	return &s->slot[i];
}

struct stack *stacks_find(const struct stacks *s, u32 id)
{
	u32 at = s->room ? *stacks_slot(s, id) : 0;

	return at ? s->stack[at - 1] : NULL;
}

struct stack *stacks_get(struct stacks *s, u32 id)
{
	u32 *slot;
	size_t i;

	if (2 * s->nr >= s->room) {
		s->room = s->room ? 2 * s->room : 1024;
		free(s->slot);
		s->slot = xcalloc(s->room, sizeof(*s->slot));
		if (!s->seed && getrandom(&s->seed, sizeof(s->seed), GRND_NONBLOCK) < 0)
			s->seed = (uintptr_t)s->slot * 0x9e3779b97f4a7c15ULL;
		s->seed |= 1;
		for (i = 0; i < s->nr; i++)
			*stacks_slot(s, s->stack[i]->id) = i + 1;
	}
	slot = stacks_slot(s, id);
	if (!*slot) {
		GROW(s->stack, s->nr, s->stack_room);
		s->stack[s->nr] = xcalloc(1, sizeof(struct stack));
		s->stack[s->nr]->id = id;
		*slot = ++s->nr;
	}
	return s->stack[*slot - 1];
}

struct stack *stacks_next(const struct stacks *s, size_t *i)
{
	return *i < s->nr ? s->stack[(*i)++] : NULL;
}

void stacks_empty(struct stacks *s)
{
	struct stack *stack;
	unsigned int n;
	size_t i;

	for (i = 0; (stack = stacks_next(s, &i)); ) {
		for (n = 0; n < stack->named; n++)
			free(stack->name[n]);
		free(stack->name);
		free(stack->addr);
		free(stack->block);
		free(stack);
	}
	free(s->stack);
	free(s->slot);
	memset(s, 0, sizeof(*s));
}

/* Does the id have the low bits that the id of a stack at this place must have? */
static bool id_fits(u32 id, const struct stackbuf_stacks_page *page, unsigned int granule)
{
	return page->id_bits >= 6 && page->id_bits <= 32 &&
	       (id & ((1ULL << page->id_bits) - 1)) == page->page.index * 64ULL + granule;
}

struct stack *stack_parse(struct stacks *s, const struct stackbuf_stacks_page *page,
			  unsigned int granule, unsigned int *granules)
{
	const struct stackbuf_stack *raw;
	unsigned int i, n = 0, words, bytes;
	u64 addr[STACKBUF_DEPTH_MAX], bits;
	struct stack *stack;

	/* Granule 0 is the page's header */
	if (!granule || granule > 63)
		return NULL;
	raw = (const void *)page->granule[granule - 1];
	bytes = sizeof(*raw) + raw->words * sizeof(u32);
	*granules = (bytes + STACKBUF_GRANULE - 1) / STACKBUF_GRANULE;
	if (!raw->id || granule + *granules > 64 || raw->nr < 1 || raw->nr > STACKBUF_DEPTH_MAX)
		return NULL;
	if (!id_fits(raw->id, page, granule))
		return NULL;
	bits = ((1ULL << *granules) - 1) << granule;
	if ((page->used & bits) != bits)
		return NULL;
	if (stackbuf_hash(raw->frames, raw->words, raw->flags & STACKBUF_STACK_CUT) != raw->hash)
		return NULL;
	for (i = 0; i < raw->words && n < raw->nr; i += words) {
		words = stackbuf_decode_frame(&raw->frames[i], raw->words - i, page->base_addr,
					      &addr[n++]);
		if (!words)
			return NULL;
	}
	if (i < raw->words || n < raw->nr)
		return NULL;

	stack = stacks_get(s, raw->id);
	/*
	 * The stack was entered before, from a copy of this page of another time.  Counts only
	 * grow, so the copy with the larger count is the later one.
	 */
	if (stack->nr && raw->count < stack->count)
		return stack;
	free(stack->addr);
	stack->addr = xrealloc(NULL, n, sizeof(u64));
	memcpy(stack->addr, addr, n * sizeof(u64));
	stack->nr = n;
	stack->cut = raw->flags & STACKBUF_STACK_CUT;
	stack->rendered = raw->flags & STACKBUF_STACK_TEXT;
	stack->stale = raw->flags & STACKBUF_STACK_STALE;
	stack->count = raw->count;
	stack->seen = raw->seen;
	return stack;
}

bool stack_equal(const struct stack *a, const struct stack *b)
{
	return a->nr == b->nr && a->cut == b->cut && !memcmp(a->addr, b->addr, a->nr * sizeof(u64));
}

static void parse_stacks(struct record *r, const struct stackbuf_stacks_page *page)
{
	unsigned int granule = 1, granules;

	while (granule < 64) {
		const struct stackbuf_stack *raw = (const void *)page->granule[granule - 1];

		if (!(page->used >> granule & 1)) {
			granule++;
		} else if (stack_parse(&r->stacks, page, granule, &granules)) {
			granule += granules;
		} else {
			/* Pass over what makes no sense, up to the next stack */
			if (raw->id && id_fits(raw->id, page, granule))
				r->half_stacks++;
			for (granule++; granule < 64; granule++)
				if (stack_parse(&r->stacks, page, granule, &granules))
					break;
		}
	}
}

/* ---------------------------------------------------------------- text --- */

static bool is_record(const char *p, const char *end)
{
	return end - p > 6 && !memcmp(p, "stack ", 6) && p[6] >= '1' && p[6] <= '9';
}

/* The next line that begins a record, at or after @p, which may be inside a line */
static const char *next_record(const char *p, const char *end)
{
	while ((p = memchr(p, '\n', end - p)))
		if (is_record(++p, end))
			return p;
	return NULL;
}

u64 text_time(const char *record)
{
	unsigned long long s, us;
	char line[64];
	size_t len = strcspn(record, "\n");

	/* A page of text is not terminated */
	snprintf(line, sizeof(line), "%.*s", (int)(len < 63 ? len : 63), record);
	return sscanf(line, "stack %*u [%llu.%6llu]", &s, &us) == 2 ? (s * 1000000 + us) * 1000 : 0;
}

/* Parse one record.  Return where the next may begin, NULL if this one is not whole */
static const char *parse_text_record(struct record *r, const char *p, const char *end)
{
	const char *line = p, *nl, *frames = NULL, *d = p + 6;
	unsigned int lines = 0;
	struct stack *stack;
	bool more = false;
	u64 id = 0;

	while (*d >= '0' && *d <= '9' && id <= 0xffffffff)
		id = id * 10 + *d++ - '0';
	if (*d != ' ' || id > 0xffffffff)
		return NULL;
	while (line < end) {
		/* The record ends at padding, the unused part of the page, or another record */
		if (*line == ' ' || *line == '\0' || *line == '\n' ||
		    (frames && is_record(line, end)))
			break;
		nl = memchr(line, '\n', end - line);
		if (!nl || memchr(line, '\0', nl - line))
			return NULL;
		if (!frames)
			frames = nl + 1;
		else if (*line == '(')
			more = true;
		else
			lines++;
		line = nl + 1;
	}
	if (!lines)
		return NULL;
	GROW(r->text, r->texts, r->text_room);
	r->text[r->texts++] = (struct text){ .record = p, .len = line - p, .id = id };
	/* Pages are parsed oldest first, so the newest record of an id remains */
	stack = stacks_get(&r->stacks, id);
	stack->text = frames;
	stack->text_len = line - frames;
	stack->lines = lines;
	stack->first = text_time(p);
	if (!stack->nr)
		stack->cut = more;
	return line;
}

/*
 * The copies differ from where a record was being written, or was written in between: the page
 * is cut before that.  The difference may lie inside a record whose beginning is in both copies,
 * as a copy loads words in any order (see events_drop_torn()), so that the earlier copy may have
 * the beginning from a later time than the rest: the page is cut at that beginning.
 */
bool text_drop_torn(char *page, const char *again)
{
	const char *nl = memchr(page, '\n', 128), *end = &again[STACKBUF_PAGE_SIZE - 1];
	size_t same = 0, len = nl ? nl - page : 1;

	if (!*page)
		return true;
	while (same < STACKBUF_PAGE_SIZE && page[same] == again[same])
		same++;
	if (same == STACKBUF_PAGE_SIZE)
		return true;
	if (same <= len) {
		memset(page, 0, STACKBUF_PAGE_SIZE);
		return false;
	}
	if (again[same - 1] != '\n' ||
	    (again[same] && again[same] != ' ' && !is_record(again + same, end)))
		while (same > len + 1 && !(again[same - 1] == '\n' && is_record(again + same, end)))
			same--;
	memset(page + same, 0, STACKBUF_PAGE_SIZE - same);
	return true;
}

void record_parse_text(struct record *r, const char *page)
{
	const char *end = page + STACKBUF_PAGE_SIZE, *p, *next;
	unsigned int version;
	u64 seq, instance;
	u32 index;

	p = page + text_head(page, &version, &index, &seq, &instance);
	if (p == page)
		return;
	while (p && p < end) {
		next = is_record(p, end) ? parse_text_record(r, p, end) : NULL;
		if (!next) {
			next = next_record(p, end);
			/* Padding begins with a blank, a record that is being written with a NUL */
			if (is_record(p, end) || (!*p && next))
				r->half_texts++;
		}
		p = next;
	}
}

/* ---------------------------------------------------------------- info --- */

/* Pages of stackbuf_info after those of losses: parts that a build may leave out */
static u64 part_pages(const struct stackbuf_info *info)
{
	return info->info_size / STACKBUF_PAGE_SIZE - 1 - STACKBUF_COUNTER_PAGES;
}

bool info_has_probes(const struct stackbuf_info *info)
{
	return part_pages(info) >= STACKBUF_PROBE_PAGES;
}

/* The pages before those of the deepest stacks */
static u32 depths_index(const struct stackbuf_info *info)
{
	return 1 + STACKBUF_COUNTER_PAGES + (info_has_probes(info) ? STACKBUF_PROBE_PAGES : 0);
}

bool info_has_depths(const struct stackbuf_info *info)
{
	return info->info_size / STACKBUF_PAGE_SIZE - depths_index(info) >= STACKBUF_DEPTH_PAGES;
}

/* Whether it is the size of a whole stackbuf_info, or of one without some of the parts */
static bool info_size_sane(u64 size)
{
	const u64 whole = sizeof(struct stackbuf_info);
	const u64 probes = STACKBUF_PROBE_PAGES * STACKBUF_PAGE_SIZE;
	const u64 depths = STACKBUF_DEPTH_PAGES * STACKBUF_PAGE_SIZE;

	return size >= whole || size == whole - probes || size == whole - depths ||
	       size == whole - probes - depths;
}

bool info_sane(const struct stackbuf_info *info)
{
	const u64 size[ARRAYS] = { info->info_size, info->events_size, info->stacks_size,
				   info->text_size };
	unsigned int i;

	for (i = 0; i < ARRAYS; i++)
		if (!size[i] || size[i] % STACKBUF_PAGE_SIZE || size[i] > ARRAY_BYTES_MAX)
			return false;
	return info_size_sane(info->info_size) && info->id_bits >= 6 && info->id_bits <= 32 &&
	       info->stacks_size / STACKBUF_GRANULE <= 1ULL << info->id_bits;
}

static u64 loss_sum(const struct stackbuf_counters_page *page)
{
	unsigned int slot, i;
	u64 sum = 0;

	for (slot = 0; slot < STACKBUF_COUNTER_LINES; slot++)
		for (i = 0; i < STACKBUF_COUNTERS; i++)
			sum += page->slot[slot][i];
	return sum;
}

/* Is @a the later of two copies of one page?  The counters compared here only grow */
static bool info_later(const struct stackbuf_info *a, const struct stackbuf_info *b)
{
	if (a->page.seq != b->page.seq)
		return a->page.seq > b->page.seq;
	if (!a->stop_ns != !b->stop_ns)
		return a->stop_ns;
	return a->overwritten + a->evicted + a->text_overwritten >
	       b->overwritten + b->evicted + b->text_overwritten;
}

static void parse_info(struct record *r, const struct found_page *p)
{
	const struct stackbuf_info *info = p->data;
	unsigned int i = p->index;

	if (!i) {
		if (!info_sane(info) || (r->have_info && !info_later(info, &r->info)))
			return;
		r->have_info = true;
		memcpy(&r->info, info, STACKBUF_PAGE_SIZE);
		make_printable(r->info.base_symbol, sizeof(r->info.base_symbol));
		make_printable(r->info.module_srcversion, sizeof(r->info.module_srcversion));
		make_printable(r->info.release, sizeof(r->info.release));
		make_printable(r->info.kernel_version, sizeof(r->info.kernel_version));
		make_printable(r->info.filter.comm, sizeof(r->info.filter.comm));
	} else if (p->kind == STACKBUF_PROBES) {
		i -= 1 + STACKBUF_COUNTER_PAGES;
		if (i < STACKBUF_PROBE_PAGES)
			r->info.probe[i] = *(const struct stackbuf_probes_page *)p->data;
	} else if (p->kind == STACKBUF_DEPTHS) {
		i -= depths_index(&r->info);
		if (i < STACKBUF_DEPTH_PAGES)
			r->info.depth[i] = *(const struct stackbuf_depths_page *)p->data;
	} else if (i <= STACKBUF_COUNTER_PAGES) {
		const struct stackbuf_counters_page *loss = p->data;

		if (loss_sum(loss) >= loss_sum(&r->info.counter[i - 1]))
			r->info.counter[i - 1] = *loss;
	}
}

/* The used part of an event page or page of text.  The later of two copies is the fuller one */
static size_t page_fill(const struct found_page *p)
{
	const u64 *word = p->data;
	size_t n = STACKBUF_PAGE_SIZE / sizeof(u64);

	while (n && !word[n - 1])
		n--;
	return n;
}

static int array_of(u16 kind)
{
	switch (kind) {
	case STACKBUF_INFO:
	case STACKBUF_PROBES:
	case STACKBUF_DEPTHS:
		return ARRAY_INFO;
	case STACKBUF_EVENTS:
		return ARRAY_EVENTS;
	case STACKBUF_STACKS:
		return ARRAY_STACKS;
	case KIND_TEXT:
		return ARRAY_TEXT;
	}
	return -1;
}

bool record_probe(const struct record *r, unsigned int i, struct probe *probe)
{
	const struct stackbuf_probes_page *page = &r->info.probe[i / STACKBUF_PAGE_PROBES];
	const struct stackbuf_probe *p = &page->probe[i % STACKBUF_PAGE_PROBES];
	u32 at = page->missed_offset;

	if (page->page.kind != STACKBUF_PROBES || !p->state)
		return false;
	probe->name = xrealloc(NULL, sizeof(p->name) + 1, 1);
	memcpy(probe->name, p->name, sizeof(p->name));
	make_printable(probe->name, sizeof(p->name) + 1);
	probe->addr = p->addr;
	probe->state = p->state;
	probe->missed = 0;
	if (at <= sizeof(*p) - sizeof(probe->missed))
		memcpy(&probe->missed, (const char *)p + at, sizeof(probe->missed));
	return true;
}

static bool has_seq(const struct found_page *p)
{
	return p->kind == KIND_TEXT || p->kind == STACKBUF_EVENTS;
}

/* Order by load, kind and index; of several copies the newest last */
static int by_place(const void *a, const void *b)
{
	const struct found_page *x = a, *y = b;
	int c = compare_u64(x->instance, y->instance);

	if (!c)
		c = compare_u64(x->kind, y->kind);
	if (!c)
		c = compare_u64(x->index, y->index);
	if (!c)
		c = compare_u64(x->seq, y->seq);
	if (!c && has_seq(x) && x->data && y->data)
		c = compare_u64(page_fill(x), page_fill(y));
	if (!c)
		c = compare_u64(x->file, y->file);
	if (!c)
		c = compare_u64(x->where, y->where);
	if (!c)
		c = compare_u64((uintptr_t)x->data, (uintptr_t)y->data);
	return c;
}

/* Order by kind, then by sequence where there is one, else by index */
static int by_age(const void *a, const void *b)
{
	const struct found_page *x = a, *y = b;
	int c = compare_u64(x->kind, y->kind);

	if (!c && has_seq(x))
		c = compare_u64(x->seq, y->seq);
	if (!c)
		c = compare_u64(x->index, y->index);
	return c;
}

static bool same_place(const struct found_page *a, const struct found_page *b)
{
	return a->instance == b->instance && a->kind == b->kind && a->index == b->index;
}

/*
 * A memory image may hold several copies of one page, of different age: the page cache has the
 * files that recordings were saved in.  Only the newest counts: for ring and text the fullest
 * of the highest sequence; for the other arrays all of the highest sequence, which are merged
 * record by record.
 */
static size_t drop_old_copies(struct found_page *page, size_t nr)
{
	size_t i, n = 0;

	qsort(page, nr, sizeof(*page), by_place);
	for (i = nr; i--; ) {
		/* In this direction the newest copy is met first */
		if (n && same_place(&page[i], &page[nr - n]) &&
		    (has_seq(&page[i]) || page[i].seq != page[nr - n].seq))
			continue;
		page[nr - ++n] = page[i];
	}
	memmove(page, page + nr - n, n * sizeof(*page));
	qsort(page, n, sizeof(*page), by_age);
	return n;
}

/*
 * The sequence of the newest page of a kind, whose last page is number @nr - 1: the highest that
 * is not far from all others, as a sequence with a flipped bit would be.
 */
static u64 newest_seq(const struct found_page *page, size_t nr, u64 lap)
{
	for (; nr > 1 && page[nr - 2].kind == page[nr - 1].kind; nr--)
		if (page[nr - 1].seq - page[nr - 2].seq <= lap)
			return page[nr - 1].seq;
	return 0;
}

/* The number of events that its CPU had recorded when it took the next page */
static u64 recorded_until(const struct stackbuf_events_page *page)
{
	struct cursor c;
	enum step step;

	cursor_start(&c, page);
	while ((step = cursor_next(&c)) == STEP_EVENT || step == STEP_HALF)
		if (step == STEP_HALF)
			cursor_skip(&c);
	return page->first + c.nr;
}

static int by_cpu(const void *a, const void *b, void *arg)
{
	const struct found_page *page = arg;
	u32 i = *(const u32 *)a, k = *(const u32 *)b;
	const struct stackbuf_events_page *x = page[i].data, *y = page[k].data;
	int c = compare_u64(x->cpu, y->cpu);

	return c ? c : compare_u64(i, k);
}

/*
 * For each page of events return the index of its CPU's next page, with a higher sequence; 0 if
 * there is none.  @page is sorted by kind and sequence.  A hostile file may have as many CPUs
 * as pages.
 */
static u32 *next_of_cpu(struct found_page *page, size_t nr)
{
	u32 *next = xcalloc(nr + 1, sizeof(*next)), *events = xcalloc(nr + 1, sizeof(*events));
	size_t i, n = 0;

	for (i = 0; i < nr; i++)
		if (page[i].kind == STACKBUF_EVENTS)
			events[n++] = i;
	qsort_r(events, n, sizeof(*events), by_cpu, page);
	/* Go back from the newest page, so that pages of one sequence share their next page */
	while (n-- > 1) {
		const struct stackbuf_events_page *p = page[events[n - 1]].data;
		const struct stackbuf_events_page *after = page[events[n]].data;

		if (p->cpu != after->cpu)
			continue;
		next[events[n - 1]] = page[events[n]].seq > page[events[n - 1]].seq ?
				      events[n] : next[events[n]];
	}
	free(events);
	return next;
}

/*
 * Is the page an old copy from the page cache, whose live page was not found?  The events of
 * such a copy were overwritten since, and are counted as overwritten.
 *
 * Pages of text are taken one after the other.  The ring's head passes each page once a lap, and
 * reuses it unless it is open.  A page is open until its CPU takes the next one.  If that next
 * page is found, this page was reused if the head passed it after the next one was taken.  If
 * the next page is not found, it was overwritten, so the head passed this page as well.  Between
 * the taking of a page and the closing of the one before, other CPUs may have taken pages:
 * @between allows for these.
 */
static bool is_outlived(const struct found_page *page, const u32 *next_page, size_t i, u64 newest,
			u64 lap, u32 cpus)
{
	const struct stackbuf_events_page *next;
	u64 seq = page[i].seq, between = cpus < lap / 8 ? cpus : lap / 8;

	if (!seq || newest <= seq || newest - seq < lap)
		return false;
	if (page[i].kind == KIND_TEXT)
		return true;
	if (!next_page[i])
		return false;
	next = page[next_page[i]].data;
	return next->first != recorded_until(page[i].data) ||
		newest - (newest - seq) % lap > page[next_page[i]].seq + between;
}

/* ----------------------------------------------------------- instances --- */

size_t page_set_copies(const struct page_set *set, size_t i)
{
	size_t n = 1;

	while (i + n < set->nr && same_place(&set->page[i], &set->page[i + n]))
		n++;
	return n;
}

/* The number of pages of one array that were found, each counted once; @page is sorted */
static u64 pages_there(const struct found_page *page, size_t nr, enum array a, u64 size)
{
	u64 there = 0;
	size_t i;

	for (i = 0; i < nr; i++)
		there += array_of(page[i].kind) == (int)a &&
			 page[i].index < size / STACKBUF_PAGE_SIZE &&
			 (!i || !same_place(&page[i - 1], &page[i]));
	return there;
}

size_t page_set_instances(struct page_set *set, struct instance **list)
{
	struct instance *in = NULL;
	size_t i, n, nr = 0, room = 0;

	if (set->nr)
		qsort(set->page, set->nr, sizeof(*set->page), by_place);
	/* An instance's id is the time of its load: go from the newest to the oldest */
	for (i = set->nr; i; i -= n) {
		struct instance new = { .id = set->page[i - 1].instance };
		const struct stackbuf_info *info = NULL;
		const struct found_page *first;
		size_t k;

		for (n = 0; n < i && set->page[i - 1 - n].instance == new.id; n++)
			;
		first = &set->page[i - n];
		new.pages = n;
		for (k = 0; k < n; k++)
			if (first[k].kind == STACKBUF_INFO && !first[k].index && first[k].data &&
			    info_sane(first[k].data) &&
			    (!info || info_later(first[k].data, info)))
				info = first[k].data;
		if (info) {
			u64 size = info->info_size + info->events_size + info->stacks_size;

			new.missing = size / STACKBUF_PAGE_SIZE -
				pages_there(first, n, ARRAY_INFO, info->info_size) -
				pages_there(first, n, ARRAY_EVENTS, info->events_size) -
				pages_there(first, n, ARRAY_STACKS, info->stacks_size);
			new.have_info = true;
			new.loaded = info->load_realtime_ns;
			memcpy(new.release, info->release, sizeof(new.release));
			make_printable(new.release, sizeof(new.release));
		}
		GROW(in, nr, room);
		in[nr++] = new;
	}
	*list = in;
	return nr;
}

u64 page_set_newest(struct page_set *set)
{
	struct instance *list;
	size_t nr = page_set_instances(set, &list);
	u64 id = nr ? instance_default(list, nr)->id : 0;

	free(list);
	return id;
}

const struct instance *instance_default(const struct instance *list, size_t nr)
{
	const struct instance *with_info = NULL;
	size_t i;

	for (i = 0; i < nr; i++) {
		if (list[i].have_info && !list[i].missing)
			return &list[i];
		if (list[i].have_info && !with_info)
			with_info = &list[i];
	}
	return with_info ? with_info : nr ? list : NULL;
}

/* ---------------------------------------------------------- everything --- */

void record_parse(struct record *r, const struct page_set *set, u64 instance)
{
	record_parse_chosen(r, set, instance, NULL);
}

void record_parse_chosen(struct record *r, const struct page_set *set, u64 instance,
		       const struct event_choice *choice)
{
	struct found_page *page = xcalloc(set->nr + 1, sizeof(*page));
	u64 size[ARRAYS], index[ARRAYS], newest[ARRAYS] = { 0 }, lap;
	struct stack *stack;
	size_t i, nr = 0;
	u32 *next;
	int a;

	memset(r, 0, sizeof(*r));
	r->instance = instance;
	for (i = 0; i < set->nr; i++)
		if (set->page[i].instance == instance && set->page[i].data)
			page[nr++] = set->page[i];
	nr = drop_old_copies(page, nr);
	next = next_of_cpu(page, nr);
	for (i = 0; i < nr; i++)
		if (array_of(page[i].kind) == ARRAY_INFO)
			parse_info(r, &page[i]);

	size[ARRAY_INFO] = r->info.info_size;
	size[ARRAY_EVENTS] = r->info.events_size;
	size[ARRAY_STACKS] = r->info.stacks_size;
	size[ARRAY_TEXT] = r->info.text_size;
	for (a = 0; a < ARRAYS; a++)
		index[a] = ~0ULL;
	for (i = 0; i < nr && r->have_info; i++)
		if (has_seq(&page[i]) && (i + 1 == nr || page[i + 1].kind != page[i].kind)) {
			a = array_of(page[i].kind);
			newest[a] = newest_seq(page, i + 1, size[a] / STACKBUF_PAGE_SIZE);
		}
	for (i = 0; i < nr; i++) {
		a = array_of(page[i].kind);
		lap = a >= 0 ? size[a] / STACKBUF_PAGE_SIZE : 0;
		if (a >= 0 && r->have_info && page[i].index >= lap)
			continue;
		if (lap && has_seq(&page[i]) &&
		    is_outlived(page, next, i, newest[a], lap, r->info.nr_cpus)) {
			r->outlived++;
			continue;
		}
		/* Copies of pages without a sequence lie next to each other: count them once */
		if (a >= 0 && index[a] != page[i].index)
			r->pages[a]++;
		if (a >= 0)
			index[a] = page[i].index;

		switch (page[i].kind) {
		case STACKBUF_EVENTS:
			if (page[i].seq)
				parse_events(r, page[i].data, choice);
			else if (((const struct stackbuf_events_page *)page[i].data)->word[0])
				r->rebuilt++;
			break;
		case STACKBUF_STACKS:
			parse_stacks(r, page[i].data);
			break;
		case KIND_TEXT:
			record_parse_text(r, page[i].data);
			break;
		case STACKBUF_SNAPSHOT:
			GROW(r->snapshot, r->snapshots, r->snapshot_room);
			r->snapshot[r->snapshots++] =
				(const char *)page[i].data + sizeof(struct stackbuf_page);
			break;
		}
	}
	free(next);
	free(page);

	for (a = 0; a < ARRAYS && r->have_info; a++) {
		lap = size[a] / STACKBUF_PAGE_SIZE;
		/* Pages of text that were never used have no head, and are not missing */
		if (a == ARRAY_TEXT && newest[a] < lap)
			lap = newest[a];
		r->missing[a] = lap > r->pages[a] ? lap - r->pages[a] : 0;
	}
	for (a = 0; a < STACKBUF_COUNTERS; a++) {
		unsigned int slot;

		for (slot = 0; slot < STACKBUF_COUNTER_SLOTS; slot++)
			r->lost[a] += r->info.counter[slot / STACKBUF_COUNTER_LINES]
					      .slot[slot % STACKBUF_COUNTER_LINES][a];
	}
	for (i = 0; (stack = stacks_next(&r->stacks, &i)); ) {
		r->in_table += !!stack->nr;
		r->not_rendered += stack->nr && !stack->rendered;
		stack->gone = !stack->nr && !stack->text;
	}
	events_sort(r->event, r->events);
}

void record_free(struct record *r)
{
	stacks_empty(&r->stacks);
	free(r->event);
	free(r->text);
	free(r->snapshot);
	memset(r, 0, sizeof(*r));
}
