// SPDX-License-Identifier: GPL-2.0
/*
 * sbcheck - an independent reader of stackbuf's arrays, for the tests
 *
 * Written against stackbuf.h alone.  It shares no code with the command "stackbuf": if the two
 * disagree, one of them misreads the header.  It checks everything that the format promises, and
 * reports each violation in a line that begins with "problem:".
 *
 *   check DIR [KALLSYMS]       compare the four arrays, while nothing is recorded
 *   rest DIR                   wait until the workers are done
 *   stopped DIR                the same for a machine that stopped at any time
 *   events DIR                 every event, one per line, in the order of pages
 *   stacks DIR                 every stack: id, total, frames, cut, addresses
 *   pairs DIR                  outstanding objects and closed ones, of each pair
 *   watch TEXT STOP            read and check the text log repeatedly until the
 *                              file STOP exists
 *   printed < LOG              check that stacks in the kernel log are whole
 *   carve VMCORE DIR           find the arrays in a dump, by the magic numbers
 *                              of their pages alone
 *
 * DIR holds info, events, stacks and text, as in debugfs.  Exit status: 0, 1
 * if there were problems, 2 if the check could not be done.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../stackbuf.h"

#define PAGE STACKBUF_PAGE_SIZE

static unsigned int problems;

static __attribute__((format(printf, 1, 2))) void problem(const char *fmt, ...)
{
	va_list args;

	if (problems++ > 20)
		return;
	printf("problem: ");
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
}

static __attribute__((noreturn, format(printf, 1, 2))) void die(const char *fmt, ...)
{
	va_list args;

	fprintf(stderr, "sbcheck: ");
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fprintf(stderr, "\n");
	exit(2);
}

static void *grab(size_t size)
{
	void *p = calloc(1, size + 1);

	if (!p)
		die("no memory");
	return p;
}

/* Returns p with room for more than n elements */
static void *more(void *p, size_t *room, size_t n, size_t size)
{
	if (n < *room)
		return p;
	*room = *room ? 2 * *room : 1024;
	p = realloc(p, *room * size);
	if (!p)
		die("no memory");
	return p;
}

/* Read a whole file and append a NUL */
static char *slurp(const char *name, size_t *size)
{
	size_t room = 1 << 20, len = 0;
	char *buf = grab(room);
	int fd = open(name, O_RDONLY);
	ssize_t n;

	if (fd < 0)
		die("%s: %s", name, strerror(errno));
	while ((n = read(fd, buf + len, room - len)) > 0) {
		len += n;
		if (len == room) {
			buf = realloc(buf, room * 2 + 1);
			if (!buf)
				die("no memory");
			room *= 2;
		}
	}
	if (n < 0)
		die("%s: %s", name, strerror(errno));
	close(fd);
	buf[len] = 0;
	if (size)
		*size = len;
	return buf;
}

/* ---------------------------------------------------------------- arrays --- */

struct arrays {
	struct stackbuf_info *info;
	struct stackbuf_events_page *events;
	struct stackbuf_stacks_page *stacks;
	char *text;
	size_t info_size, events_size, stacks_size, text_size;
};

/* Pages of pairs follow: how many is in the first page */
static size_t info_bytes(const struct stackbuf_info *info)
{
	return sizeof(*info) + (size_t)info->pair_pages * PAGE;
}

static void load(struct arrays *a, const char *dir)
{
	char name[4096];

	snprintf(name, sizeof(name), "%s/info", dir);
	a->info = (void *)slurp(name, &a->info_size);
	snprintf(name, sizeof(name), "%s/events", dir);
	a->events = (void *)slurp(name, &a->events_size);
	snprintf(name, sizeof(name), "%s/stacks", dir);
	a->stacks = (void *)slurp(name, &a->stacks_size);
	snprintf(name, sizeof(name), "%s/text", dir);
	a->text = slurp(name, &a->text_size);	/* last: what it lacks was pending before */
	if (a->info_size < PAGE || a->info_size != info_bytes(a->info))
		die("%s/info: %zu bytes", dir, a->info_size);
}

static bool all_zero(const void *p, size_t size)
{
	const char *c = p;

	while (size--)
		if (*c++)
			return false;
	return true;
}

static bool check_page(const struct stackbuf_page *page, unsigned int kind, unsigned int index,
		       uint64_t instance)
{
	if (page->magic == ~STACKBUF_MAGIC_INVERTED && page->version == STACKBUF_VERSION &&
	    page->kind == kind && page->index == index && page->instance == instance &&
	    (kind == STACKBUF_EVENTS || page->seq))
		return true;
	problem("page %u of kind %u: header %" PRIx64
		" version %u kind %u index %u instance %" PRIx64 " seq %" PRIu64,
		index, kind, (uint64_t)page->magic, page->version, page->kind, page->index,
		(uint64_t)page->instance, (uint64_t)page->seq);
	return false;
}

static uint64_t lost(const struct arrays *a, enum stackbuf_counter why)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < STACKBUF_COUNTER_SLOTS; i++)
		sum += a->info->counter[i / STACKBUF_COUNTER_LINES]
			.slot[i % STACKBUF_COUNTER_LINES][why];
	return sum;
}

static const void *pair_page(const struct stackbuf_info *info, unsigned int i)
{
	return (const char *)(info + 1) + (size_t)i * PAGE;
}

static void check_pairs(const struct stackbuf_info *info)
{
	unsigned int n = info->pair_pages, stacks = n / 4, i;

	for (i = 0; i < n; i++) {
		const struct stackbuf_pair_open_page *page = pair_page(info, i);

		check_page(&page->page, !i ? STACKBUF_PAIRS : i <= stacks ? STACKBUF_PAIR_STACKS :
			   STACKBUF_PAIR_OPEN, sizeof(*info) / PAGE + i, info->page.instance);
		if (i && !all_zero(page->reserved, sizeof(page->reserved)))
			problem("pairs page %u: reserved bytes in use", i);
	}
}

/* The stacks that opened stay in the table */
static bool has_stack(const struct arrays *a, uint32_t id)
{
	uint32_t at = id & ((1ULL << a->info->id_bits) - 1);

	return at % 64 && at / 64 < a->stacks_size / PAGE &&
	       ((const struct stackbuf_stack *)a->stacks[at / 64].granule[at % 64 - 1])->id == id;
}

static void cmd_pairs(const char *dir)
{
	struct arrays all, *a = &all;
	unsigned int n, stacks, number, i, k, m;

	load(a, dir);
	n = a->info->pair_pages;
	stacks = n / 4;
	for (number = 1; n && number <= STACKBUF_PAIRS_MAX; number++) {
		const struct stackbuf_pairs_page *list = pair_page(a->info, 0);
		const struct stackbuf_pair *pair = &list->pair[number - 1];
		uint64_t open = 0, value = 0, half = 0, closed = 0, sum = 0, other = 0;

		if (!pair->name[0])
			continue;
		for (i = 1; i <= stacks; i++) {
			const struct stackbuf_pair_stacks_page *page = pair_page(a->info, i);

			for (k = 0; k < STACKBUF_PAGE_PAIR_STACKS; k++) {
				if (page->stack[k].stack >> 32 != number)
					continue;
				if (!has_stack(a, page->stack[k].stack))
					problem("pair %u: stack %" PRIu64 " is gone", number,
						(uint64_t)page->stack[k].stack & 0xffffffff);
				sum += page->stack[k].sum;
				for (m = 0; m < STACKBUF_PAIR_TIMES; m++)
					closed += page->stack[k].closed[m];
			}
		}
		for (i = 1 + stacks; i < n; i++) {
			const struct stackbuf_pair_open_page *page = pair_page(a->info, i);

			for (k = 0; k < STACKBUF_PAGE_PAIR_BUCKETS * 8; k++) {
				const struct stackbuf_pair_bucket *b = &page->bucket[k / 8];
				const struct stackbuf_pair_object *o = &b->object[k % 8];
				const struct stackbuf_pair_stacks_page *of;

				if (!b->key[k % 8])
					continue;
				m = o->stack - 1;
				if (!o->stack || m / STACKBUF_PAGE_PAIR_STACKS >= stacks) {
					half++;
					continue;
				}
				of = pair_page(a->info, 1 + m / STACKBUF_PAGE_PAIR_STACKS);
				m %= STACKBUF_PAGE_PAIR_STACKS;
				if (of->stack[m].stack >> 32 != number) {
					other++;
					continue;
				}
				open++;
				value += o->value;
			}
		}
		printf("pair %u open %" PRIu64 " value %" PRIu64 " half %" PRIu64 " other %" PRIu64
		       " closed %" PRIu64 " sum %" PRIu64 " refused %" PRIu64 " reopened %" PRIu64
		       " unmatched %" PRIu64 " name %s\n", number, open, value, half, other, closed,
		       sum, (uint64_t)pair->refused, (uint64_t)pair->reopened,
		       (uint64_t)pair->unmatched, pair->name);
	}
}

static void check_info(const struct arrays *a)
{
	const struct stackbuf_info *info = a->info;
	int i;

	check_page(&info->page, STACKBUF_INFO, 0, info->page.instance);
	for (i = 0; i < STACKBUF_COUNTER_PAGES; i++) {
		check_page(&info->counter[i].page, STACKBUF_INFO, i + 1, info->page.instance);
		if (!all_zero(info->counter[i].reserved, sizeof(info->counter[i].reserved)))
			problem("loss page %d: reserved bytes in use", i);
	}
	for (i = 0; i < STACKBUF_PROBE_PAGES; i++) {
		check_page(&info->probe[i].page, STACKBUF_PROBES, 1 + STACKBUF_COUNTER_PAGES + i,
			   info->page.instance);
		if (!all_zero(info->probe[i].reserved, sizeof(info->probe[i].reserved)))
			problem("probes page %d: reserved bytes in use", i);
	}
	for (i = 0; i < STACKBUF_DEPTH_PAGES; i++) {
		check_page(&info->depth[i].page, STACKBUF_DEPTHS,
			   1 + STACKBUF_COUNTER_PAGES + STACKBUF_PROBE_PAGES + i,
			   info->page.instance);
		if (!all_zero(info->depth[i].reserved, sizeof(info->depth[i].reserved)))
			problem("depths page %d: reserved bytes in use", i);
	}
	check_pairs(info);
	if (!info->page.instance || info->page.instance != info->load_realtime_ns)
		problem("instance %" PRIx64 ", load_realtime_ns %" PRIx64,
			(uint64_t)info->page.instance, (uint64_t)info->load_realtime_ns);
	if (info->info_size != a->info_size || info->events_size != a->events_size ||
	    info->stacks_size != a->stacks_size || info->text_size != a->text_size)
		problem("sizes in info: %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
			", files: %zu %zu %zu %zu",
			(uint64_t)info->info_size, (uint64_t)info->events_size,
			(uint64_t)info->stacks_size, (uint64_t)info->text_size, a->info_size,
			a->events_size, a->stacks_size, a->text_size);
	if (!all_zero(info->reserved, sizeof(info->reserved)))
		problem("info: reserved bytes in use");
	if (info->elf_machine != 62 && info->elf_machine != 183)
		problem("elf_machine %u", info->elf_machine);
	if (!info->base_symbol[0] || info->base_symbol[31] || info->release[71] ||
	    info->kernel_version[71] || !info->release[0] || !info->kernel_version[0])
		problem("a name in info is empty or not ended");
	if (!info->nr_cpus || !info->load_ns || info->base_addr < 1ULL << 63 ||
	    info->info_addr % PAGE || info->events_addr % PAGE || info->stacks_addr % PAGE ||
	    info->text_addr % PAGE)
		problem("info: nr_cpus, load_ns or an address makes no sense");
	for (i = 0; i < STACKBUF_COUNTER_SLOTS; i++)
		if (i >= (int)info->nr_cpus && i < STACKBUF_COUNTER_SLOTS &&
		    !all_zero(info->counter[i / STACKBUF_COUNTER_LINES]
				      .slot[i % STACKBUF_COUNTER_LINES], 8 * STACKBUF_COUNTERS))
			problem("loss slot %d is used on %u CPUs", i, info->nr_cpus);
}

/* ------------------------------------------------------------ the table --- */

struct stack {
	uint32_t id;
	unsigned int nr, flags;
	uint64_t count;
	uint64_t in_ring;
	bool first_in_ring;	/* its first event is there */
	uint64_t pc[STACKBUF_DEPTH_MAX];
	const struct stackbuf_stack *raw;
};

struct table {
	struct stack *stack;
	unsigned int nr;
	uint32_t *by_place;	/* 1 + index into stack, by granule */
	uint32_t places;
	unsigned int unknown;	/* granules in use that belong to no stack */
	unsigned int twins;	/* stacks with the frames of another */
};

static struct stack *find_stack(const struct table *t, const struct arrays *a, uint32_t id)
{
	uint32_t place = id & ((1ULL << a->info->id_bits) - 1);

	if (place >= t->places || !t->by_place[place])
		return NULL;
	if (t->stack[t->by_place[place] - 1].id != id)
		return NULL;
	return &t->stack[t->by_place[place] - 1];
}

/* Nothing was being written when the arrays were copied */
static bool at_rest = true;

/*
 * Returns the granules of the stack that begins here, 0 if none does.  @inner: this granule
 * may be a later one of a stack that was being written, with old content: a frame in it
 * can look like an id.  So can one in the first granule, until the new id is written.
 */
static unsigned int parse_stack(const struct arrays *a, unsigned int page, unsigned int g,
				bool inner, struct stack *s)
{
	const struct stackbuf_stacks_page *p = &a->stacks[page];
	const struct stackbuf_stack *raw = (const void *)((const char *)p + g * STACKBUF_GRANULE);
	uint32_t place = page * 64 + g;
	unsigned int i, n = 0, granules;

	if (!raw->id || (raw->id & ((1ULL << a->info->id_bits) - 1)) != place)
		return 0;
	/* The first event follows the frames, aligned to 8 bytes */
	granules = (sizeof(*raw) + (raw->words + 1) / 2 * 8 + 32 + 63) / 64;
	if (!raw->nr || raw->nr > STACKBUF_DEPTH_MAX || g + granules > 64 ||
	    raw->words > 3 * STACKBUF_DEPTH_MAX) {
		if (!inner && at_rest)
			problem("stack %u: nr %u words %u", raw->id, raw->nr, raw->words);
		return 0;
	}
	if (stackbuf_hash(raw->frames, raw->words, raw->flags & STACKBUF_STACK_CUT) != raw->hash) {
		if (!inner && at_rest)
			problem("stack %u: hash is wrong", raw->id);
		return 0;
	}
	for (i = 0; i < raw->words && n < STACKBUF_DEPTH_MAX; n++) {
		if (raw->frames[i] != STACKBUF_FRAME_FAR) {
			s->pc[n] = a->info->base_addr + (int32_t)raw->frames[i++];
		} else if (i + 2 < raw->words) {
			s->pc[n] = raw->frames[i + 1] | (uint64_t)raw->frames[i + 2] << 32;
			i += 3;
		} else {
			break;
		}
	}
	if (n != raw->nr || i != raw->words)
		problem("stack %u: %u frames in %u words, nr %u", raw->id, n, raw->words, raw->nr);
	if (raw->flags & ~(STACKBUF_STACK_CUT | STACKBUF_STACK_TEXT | STACKBUF_STACK_EVICTING |
			   STACKBUF_STACK_AGAIN | STACKBUF_STACK_STALE | STACKBUF_STACK_FIRST) ||
	    !(raw->flags & STACKBUF_STACK_FIRST))
		problem("stack %u: flags %x", raw->id, raw->flags);
	if (raw->flags & STACKBUF_STACK_CUT && raw->nr != a->info->frames)
		problem("stack %u: cut, with %u frames", raw->id, raw->nr);
	for (i = g; i < g + granules; i++)
		if (!(p->used >> i & 1))
			problem("stack %u: granule %u of page %u is not marked in use",
				raw->id, i, page);
	s->id = raw->id;
	s->nr = raw->nr;
	s->flags = raw->flags;
	s->count = raw->count;
	s->raw = raw;
	return granules;
}

static int by_frames(const void *x, const void *y)
{
	const struct stack *a = *(const struct stack **)x, *b = *(const struct stack **)y;

	if (a->nr != b->nr)
		return a->nr < b->nr ? -1 : 1;
	if ((a->flags ^ b->flags) & STACKBUF_STACK_CUT)
		return a->flags & STACKBUF_STACK_CUT ? 1 : -1;
	return memcmp(a->pc, b->pc, a->nr * sizeof(a->pc[0]));
}

static void parse_table(const struct arrays *a, struct table *t)
{
	unsigned int pages = a->stacks_size / PAGE, page, i;
	struct stack **sorted;

	memset(t, 0, sizeof(*t));
	t->places = pages * 64;
	t->by_place = grab(t->places * sizeof(*t->by_place));
	t->stack = grab(t->places * sizeof(*t->stack));
	for (page = 0; page < pages; page++) {
		const struct stackbuf_stacks_page *p = &a->stacks[page];
		unsigned int g, n;
		bool inner = false;

		if (!check_page(&p->page, STACKBUF_STACKS, page, a->info->page.instance))
			continue;
		if (!(p->used & 1) || p->base_addr != a->info->base_addr ||
		    p->id_bits != a->info->id_bits || p->reserved)
			problem("stacks page %u: header", page);
		for (g = 1; g < 64; g += n) {
			n = 1;
			if (!(p->used >> g & 1)) {
				inner = false;
				continue;
			}
			n = parse_stack(a, page, g, inner, &t->stack[t->nr]);
			inner = !n;
			if (!n) {
				n = 1;
				t->unknown++;
				continue;
			}
			t->by_place[page * 64 + g] = ++t->nr;
		}
	}
	sorted = grab((t->nr + 1) * sizeof(*sorted));
	for (i = 0; i < t->nr; i++)
		sorted[i] = &t->stack[i];
	qsort(sorted, t->nr, sizeof(*sorted), by_frames);
	for (i = 1; i < t->nr; i++)
		t->twins += !by_frames(&sorted[i], &sorted[i - 1]);
	free(sorted);
}

static void free_table(struct table *t)
{
	free(t->stack);
	free(t->by_place);
}

static bool same_arrays(const struct arrays *a, const struct arrays *b)
{
	/* To open them changes the info */
	return !memcmp(a->events, b->events, a->events_size) &&
	       !memcmp(a->stacks, b->stacks, a->stacks_size) &&
	       !memcmp(a->text, b->text, a->text_size);
}

static void unload(struct arrays *a)
{
	free(a->info);
	free(a->events);
	free(a->stacks);
	free(a->text);
}

/* At rest, the workers have soon rendered all texts and evicted what they were asked to */
static void load_at_rest(struct arrays *a, const char *dir)
{
	struct arrays before;
	unsigned int tries, page;
	bool rest = false;

	load(a, dir);
	for (tries = 0; tries < 300 && !rest; tries++) {
		before = *a;
		usleep(100000);
		load(a, dir);
		for (page = 0; page < a->stacks_size / PAGE && !a->stacks[page].pending; page++)
			;
		rest = page == a->stacks_size / PAGE && same_arrays(a, &before);
		unload(&before);
	}
}

/* ------------------------------------------------------------- the ring --- */

struct event {
	uint64_t time, tag, page_seq;
	uint32_t id, pid, tgid;
	unsigned int cpu, context;
	bool tagged, writing;
	char comm[STACKBUF_COMM_LEN + 1];
};

struct ring {
	struct event *event;
	size_t nr, room;
	unsigned int writing;
	unsigned int pages;
	uint64_t last_seq;
	uint64_t by_cpu;	/* sum of the CPUs' totals */
};

/* Set if no tag and no PID of the record is 0: then 0 means memory not yet written */
static bool no_zeros;

/*
 * Set if a CPU may stop for turns of the ring, as a hypervisor stops them.  If it does while it
 * changes pages, both are passed over, and the newer one may then be reused first.
 */
static bool cpus_stop;

static void parse_events_page(const struct stackbuf_events_page *p, struct ring *r)
{
	struct event e = { .cpu = p->cpu, .page_seq = p->page.seq };
	unsigned int pos = 0, len;
	bool have_task = false;

	while (pos < STACKBUF_EVENT_WORDS && p->word[pos]) {
		uint64_t word = p->word[pos];
		unsigned int form = word >> STACKBUF_EVENT_FORM_SHIFT & 3;
		uint64_t low = word >> STACKBUF_EVENT_TIME_SHIFT &
			       ((1U << STACKBUF_EVENT_TIME_BITS) - 1);

		len = form == STACKBUF_FULL ? 5 : form;
		if (!form || pos + len > STACKBUF_EVENT_WORDS) {
			problem("page seq %" PRIu64 " word %u: form %u", e.page_seq, pos, form);
			return;
		}
		e.id = word;
		e.context = word >> STACKBUF_EVENT_CONTEXT_SHIFT & 3;
		e.writing = word & STACKBUF_EVENT_WRITING;
		e.tagged = form == STACKBUF_TAGGED;
		e.tag = e.tagged ? p->word[pos + 1] : 0;
		if (!e.id)
			problem("page seq %" PRIu64 " word %u: id 0", e.page_seq, pos);
		if (!pos && form != STACKBUF_FULL)
			problem("page seq %" PRIu64 ": first event is not FULL", e.page_seq);
		if (form == STACKBUF_FULL && !e.writing) {
			uint64_t task = p->word[pos + 2];

			e.tagged = task & STACKBUF_TASK_TAGGED;
			e.tag = p->word[pos + 1];
			if (!e.tagged && e.tag)
				problem("page seq %" PRIu64 " word %u: a tag and no mark of it",
					e.page_seq, pos);
			e.pid = task & ((1U << STACKBUF_TASK_PID_BITS) - 1);
			e.tgid = task >> STACKBUF_TASK_TGID_SHIFT &
				 ((1U << STACKBUF_TASK_PID_BITS) - 1);
			e.time = p->time + ((task >> STACKBUF_TASK_TIME_SHIFT &
					     ((1U << STACKBUF_TASK_TIME_BITS) - 1)) <<
					    STACKBUF_EVENT_TIME_BITS | low);
			memcpy(e.comm, &p->word[pos + 3], STACKBUF_COMM_LEN);
			if (e.comm[STACKBUF_COMM_LEN - 1])
				problem("page seq %" PRIu64 " word %u: comm has no end",
					e.page_seq, pos);
			have_task = true;
		} else if (form != STACKBUF_FULL) {
			if (!have_task)
				problem("page seq %" PRIu64 " word %u: no event before it",
					e.page_seq, pos);
			e.time += low;
		}
		if (no_zeros && !e.writing && ((e.tagged && !e.tag) || !e.pid || !e.comm[0]))
			problem("page seq %" PRIu64 " word %u: not written yet, nor marked so",
				e.page_seq, pos);
		r->event = more(r->event, &r->room, r->nr, sizeof(*r->event));
		r->writing += e.writing;
		r->event[r->nr++] = e;
		pos += len;
	}
}

static int by_seq(const void *x, const void *y)
{
	const struct stackbuf_events_page *a = *(const struct stackbuf_events_page **)x;
	const struct stackbuf_events_page *b = *(const struct stackbuf_events_page **)y;

	return a->page.seq < b->page.seq ? -1 : a->page.seq > b->page.seq;
}

static void parse_ring(const struct arrays *a, struct ring *r, bool rest)
{
	unsigned int pages = a->events_size / PAGE, used = 0, i;
	const struct stackbuf_events_page **page = grab((pages + 1) * sizeof(*page));
	uint64_t *next = grab(a->info->nr_cpus * sizeof(*next));
	bool *known = grab(a->info->nr_cpus * sizeof(*known));

	memset(r, 0, sizeof(*r));
	for (i = 0; i < pages; i++) {
		const struct stackbuf_events_page *p = &a->events[i];

		if (!check_page(&p->page, STACKBUF_EVENTS, i, a->info->page.instance))
			continue;
		if (!p->page.seq) {
			/* A page being reused keeps its owner field only */
			if (rest && !all_zero(p->word, sizeof(p->word)))
				problem("page %u: seq 0 and words", i);
			continue;
		}
		page[used++] = p;
	}
	r->pages = used;
	qsort(page, used, sizeof(*page), by_seq);
	for (i = 0; i < used; i++) {
		const struct stackbuf_events_page *p = page[i];
		size_t before = r->nr;

		if (i && p->page.seq == page[i - 1]->page.seq)
			problem("two pages of seq %" PRIu64, (uint64_t)p->page.seq);
		if (p->page.seq % pages != p->page.index)
			problem("page %u has seq %" PRIu64 " of %u pages", p->page.index,
				(uint64_t)p->page.seq, pages);
		/* A CPU that claims a page of another writes its owner first */
		if (p->cpu >= a->info->nr_cpus ||
		    (p->owner > a->info->nr_cpus && p->owner != UINT32_MAX) || p->reserved) {
			problem("page seq %" PRIu64 ": cpu %u owner %u reserved %" PRIx64,
				(uint64_t)p->page.seq, p->cpu, p->owner, (uint64_t)p->reserved);
			continue;
		}
		parse_events_page(p, r);
		if (known[p->cpu] && next[p->cpu] != p->first &&
		    !(cpus_stop && next[p->cpu] < p->first))
			problem("page seq %" PRIu64 " of CPU %u: first is %" PRIu64 ", %" PRIu64
				" expected",
				(uint64_t)p->page.seq, p->cpu, (uint64_t)p->first, next[p->cpu]);
		known[p->cpu] = true;
		next[p->cpu] = p->first + r->nr - before;
		r->last_seq = p->page.seq;
	}
	for (i = 0; i < a->info->nr_cpus; i++)
		r->by_cpu += next[i];
	free(page);
	free(next);
	free(known);
}

/* ------------------------------------------------------------- the text --- */

struct record {
	uint32_t id;
	unsigned int frames;
	bool cut;		/* a line "(...)" follows */
	bool short_of;		/* and that line reports frames that did not fit */
	const char *at;		/* first frame's line */
	uint64_t us;
	unsigned int cpu;
	int pid;
	char comm[64];
};

struct text {
	struct record *record;
	size_t nr, room;
	unsigned int pages;
};

/* Parse SYMBOL+0xOFF/0xSIZE [MODULE], or 0xADDRESS: returns the end of the line, or NULL */
static const char *frame_line(const char *at, const char *end)
{
	const char *p = at;

	if (end - p > 2 && !strncmp(p, "0x", 2)) {
		for (p += 2; p < end && isxdigit(*p);)
			p++;
		return p < end && *p == '\n' && p - at > 4 ? p : NULL;
	}
	while (p < end && (isalnum(*p) || strchr("_.$", *p)) && *p)
		p++;
	if (p == at || end - p < 3 || strncmp(p, "+0x", 3))
		return NULL;
	for (p += 3; p < end && isxdigit(*p);)
		p++;
	if (end - p < 3 || strncmp(p, "/0x", 3))
		return NULL;
	for (p += 3; p < end && isxdigit(*p);)
		p++;
	if (end - p > 2 && !strncmp(p, " [", 2)) {
		for (p += 2; p < end && (isalnum(*p) || strchr("_ ", *p)) && *p;)
			p++;
		if (p == end || *p++ != ']')
			return NULL;
	}
	return p < end && *p == '\n' ? p : NULL;
}

static void add_record(struct text *t, const struct record *r)
{
	t->record = more(t->record, &t->room, t->nr, sizeof(*t->record));
	t->record[t->nr++] = *r;
}

/* Check the first line of a page; returns its length, or 0 */
static int text_identity(const char *page, unsigned int index, unsigned int pages,
			 uint64_t instance, unsigned long long *seq)
{
	unsigned int version = 0, no = 0, of = 0;
	unsigned long long load = 0;
	char again[128];
	int len;

	if (sscanf(page, STACKBUF_TEXT_PAGE_SCAN, &version, &no, &of, seq, &load) != 5)
		return 0;
	len = snprintf(again, sizeof(again), STACKBUF_TEXT_PAGE_PRINT, version, no, of, *seq, load);
	if (strncmp(again, page, len) || version != STACKBUF_VERSION || no != index ||
	    of != pages || (instance && load != instance) || !*seq || (*seq - 1) % pages != index)
		return 0;
	return len;
}

/* Check one page up to its first NUL.  Returns false if there was a NUL. */
static bool check_text_page(const char *page, unsigned int index, unsigned int pages,
			    uint64_t instance, struct text *t)
{
	const char *end = memchr(page, 0, PAGE), *p = page, *q;
	bool ended = end;
	unsigned long long seq = 0;
	char line[256];
	int len;

	if (!end)
		end = page + PAGE;
	if (end == page)
		return false;
	snprintf(line, sizeof(line), "%.*s", (int)(end - page < 128 ? end - page : 128), page);
	len = text_identity(line, index, pages, instance, &seq);
	if (!len) {
		problem("text page %u begins with '%.60s'", index, line);
		return !ended;
	}
	t->pages++;
	p += len;
	while (p < end && !strncmp(p, "stack ", 6)) {
		struct record r = { 0 };
		unsigned long sec, usec;
		unsigned int cpu;
		int pid, n = 0;
		char comm[64];

		q = memchr(p, '\n', end - p);
		snprintf(line, sizeof(line), "%.*s", q ? (int)(q - p) : 0, p);
		if (!q || sscanf(line, "stack %u [%lu.%lu] CPU: %u PID: %d Comm: %n",
				 &r.id, &sec, &usec, &cpu, &pid, &n) != 5 || !n) {
			problem("text page %u: record line '%.80s'", index, p);
			return !ended;
		}
		snprintf(comm, sizeof(comm), "%s", line + n);
		snprintf(line, sizeof(line), STACKBUF_TEXT_RECORD_PRINT, r.id, sec, usec, cpu, pid,
			 comm);
		if (strncmp(line, p, q + 1 - p) || strlen(line) != (size_t)(q + 1 - p) || !r.id ||
		    strlen(comm) >= STACKBUF_COMM_LEN)
			problem("text page %u: record line '%.*s'", index, (int)(q - p), p);
		for (n = 0; comm[n]; n++)
			if (comm[n] < ' ' || comm[n] > '~')
				problem("text page %u: a comm that is not printable", index);
		p = q + 1;
		r.at = p;
		while (p < end && (q = frame_line(p, end))) {
			r.frames++;
			p = q + 1;
		}
		if (p < end && *p == '(') {
			q = memchr(p, '\n', end - p);
			if (!q) {
				problem("text page %u: a last line has no end", index);
				return !ended;
			}
			r.cut = true;
			r.short_of = memmem(p, q - p, "fit", 3);
			p = q + 1;
		}
		if (!r.frames)
			problem("text page %u: record %u has no frame", index, r.id);
		r.us = sec * 1000000 + usec;
		r.cpu = cpu;
		r.pid = pid;
		snprintf(r.comm, sizeof(r.comm), "%s", comm);
		add_record(t, &r);
	}
	if (ended) {
		if (p != end)
			problem("text page %u: '%.60s' at %zu", index, p, (size_t)(p - page));
		return false;
	}
	for (q = p; q < end - 1; q++)
		if (*q != ' ')
			break;
	if (q != end - 1 && p != end)
		problem("text page %u: '%.60s' at %zu, blanks expected", index, q,
			(size_t)(q - page));
	else if (p != end && *q != '\n')
		problem("text page %u: does not end with a newline", index);
	return true;
}

/* Check the text as printf "%s" would show it: up to the first NUL */
static void check_text(const char *text, size_t size, uint64_t instance, struct text *t)
{
	unsigned int pages = size / PAGE, i;

	memset(t, 0, sizeof(*t));
	for (i = 0; i < pages; i++)
		if (!check_text_page(text + i * PAGE, i, pages, instance, t))
			break;
}

/* --------------------------------------------------------------- kallsyms --- */

struct sym {
	char *name, *module;
	uint64_t addr;
};

static struct sym *syms;
static size_t nr_syms;

static int by_name(const void *x, const void *y)
{
	return strcmp(((const struct sym *)x)->name, ((const struct sym *)y)->name);
}

static void read_kallsyms(const char *name)
{
	char *buf = slurp(name, NULL), *line, *save = NULL;
	size_t room = 0;

	for (line = strtok_r(buf, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *rest, *sym, *module;
		uint64_t addr = strtoull(line, &rest, 16);

		if (!addr || strlen(rest) < 4 || !strchr("tTwW", rest[1]))
			continue;
		sym = rest + 3;
		module = strchr(sym, '\t');
		if (module)
			*module++ = 0;
		syms = more(syms, &room, nr_syms, sizeof(*syms));
		syms[nr_syms++] = (struct sym) { sym, module, addr };
	}
	if (!nr_syms)
		die("%s: no symbols", name);
}

/* 1: a symbol of this name has the address that the line gives; 0: none does; -1: no symbol */
static int line_means(const char *line, uint64_t pc)
{
	char name[1024];
	struct sym key = { .name = name }, *s;
	size_t len = strcspn(line, "+\n");

	if (line[len] != '+' || len >= sizeof(name))
		return -1;
	memcpy(name, line, len);
	name[len] = 0;
	/* Where gcc has the function's own name, clang has the alias that each module has */
	if (!strcmp(name, "init_module"))
		return -1;
	s = bsearch(&key, syms, nr_syms, sizeof(*syms), by_name);
	if (!s)
		return -1;
	while (s > syms && !strcmp(s[-1].name, name))
		s--;
	for (; s < syms + nr_syms && !strcmp(s->name, name); s++)
		if (s->addr + strtoull(line + len + 1, NULL, 16) == pc)
			return 1;
	return 0;
}

/* -------------------------------------------------------------- commands --- */

static int by_id(const void *x, const void *y)
{
	uint32_t a = ((const struct record *)x)->id, b = ((const struct record *)y)->id;

	return a < b ? -1 : a > b;
}

static struct stackbuf_first first_event(const struct stack *s)
{
	struct stackbuf_first first;

	/* The text of the format: after the frames, aligned to 8 bytes */
	memcpy(&first, (const char *)s->raw + sizeof(*s->raw) + (s->raw->words + 1) / 2 * 8,
	       sizeof(first));
	return first;
}

/* A record's first line is about the stack's first event */
static void check_first(const struct stack *s, const struct record *rec)
{
	struct stackbuf_first first = first_event(s);
	unsigned int i;

	for (i = 0; i < sizeof(first.comm) && first.comm[i]; i++)
		if (first.comm[i] < ' ' || first.comm[i] > '~')
			first.comm[i] = '?';
	if (!first.time || first.time / 1000 != rec->us || first.cpu != rec->cpu ||
	    first.pid != (uint32_t)rec->pid || strncmp(first.comm, rec->comm, sizeof(first.comm)))
		problem("stack %u: first event %" PRIu64 " CPU %u PID %u %.16s, in the text %"
			PRIu64 " CPU %u PID %d %s", s->id, (uint64_t)first.time, first.cpu,
			first.pid, first.comm, rec->us, rec->cpu, rec->pid, rec->comm);
}

/* Compare all arrays; @rest: nothing was being recorded when they were copied */
/* Returns how many events name a stack that is not in the table */
static unsigned int count_in_ring(const struct table *t, const struct arrays *a,
				  const struct ring *r)
{
	unsigned int orphans = 0;
	size_t i;

	for (i = 0; i < r->nr; i++) {
		const struct event *e = &r->event[i];
		struct stack *s = find_stack(t, a, e->id);

		if (s) {
			struct stackbuf_first first = first_event(s);

			s->in_ring++;
			s->first_in_ring |= first.time == e->time && first.cpu == e->cpu &&
					    first.pid == e->pid;
		} else if (!e->writing) {
			orphans++;
		}
	}
	return orphans;
}

static void check_all(const struct arrays *a, bool rest, bool say)
{
	uint64_t counted = 0, nested = 0, eventless = 0, textless = 0;
	unsigned int orphans, missing = 0, wrong_lines = 0, good_lines = 0, no_symbol = 0;
	struct table t;
	struct ring r;
	struct text x;
	bool shared;
	size_t i;

	check_info(a);
	at_rest = rest;
	parse_table(a, &t);
	parse_ring(a, &r, rest);
	check_text(a->text, a->text_size, a->info->page.instance, &x);

	orphans = count_in_ring(&t, a, &r);
	for (i = 1; i < r.nr; i++)
		nested += r.event[i].time < r.event[i - 1].time &&
			  r.event[i].page_seq == r.event[i - 1].page_seq;
	if (orphans)
		problem("%u events name a stack that is not in the table", orphans);
	if (rest) {
		if (r.writing)
			problem("%u events half written", r.writing);
		if (t.unknown)
			problem("%u granules in use by no stack", t.unknown);
		for (i = 0; i < t.nr; i++)
			counted += t.stack[i].count;
		if (counted + a->info->evicted_events != a->info->overwritten)
			problem("counts %" PRIu64 " + evicted %" PRIu64
				" is not overwritten %" PRIu64,
				counted, (uint64_t)a->info->evicted_events,
				(uint64_t)a->info->overwritten);
		/*
		 * A CPU without a page has no total: if eviction freed pages of the ring, if the
		 * CPU closed its page as the table was full, if there are fewer pages than CPUs,
		 * or if all pages were open at once, for then the module closes them.  It does that
		 * after an event was refused a page, and never with more pages than CPUs, and one
		 * that eviction clears.
		 */
		shared = a->events_size / PAGE <= a->info->nr_cpus + 1 &&
			 lost(a, STACKBUF_LOST_PAGE);
		if ((!a->info->evicted || r.pages == a->events_size / PAGE) &&
		    ((a->events_size / PAGE >= a->info->nr_cpus && !shared &&
		      !lost(a, STACKBUF_LOST_TABLE)) ||
		     r.by_cpu > r.nr + a->info->overwritten) &&
		    r.by_cpu != r.nr + a->info->overwritten)
			problem("the CPUs' totals are %" PRIu64
				", in ring %zu + overwritten %" PRIu64,
				r.by_cpu, r.nr, (uint64_t)a->info->overwritten);
		/* Except new stacks whose event was lost for want of a page */
		for (i = 0; i < t.nr; i++)
			if (!t.stack[i].count && !t.stack[i].in_ring &&
			    ++eventless > lost(a, STACKBUF_LOST_PAGE))
				problem("stack %u has no event", t.stack[i].id);
		/* Each stack that there was is in the log, or was, or its text was given up */
		if (x.nr + a->info->text_overwritten + a->info->text_given_up !=
		    t.nr + a->info->evicted)
			problem("records %zu + overwritten %" PRIu64 " + given up %" PRIu64
				" are not stacks %u + evicted %" PRIu64, x.nr,
				(uint64_t)a->info->text_overwritten,
				(uint64_t)a->info->text_given_up, t.nr, (uint64_t)a->info->evicted);
		for (i = 0; i < t.nr; i++) {
			/* Given up if the module went, and the next came, before it was rendered */
			if (!(t.stack[i].flags & STACKBUF_STACK_TEXT) &&
			    (!(t.stack[i].flags & STACKBUF_STACK_STALE) ||
			     ++textless > a->info->text_given_up))
				problem("stack %u has no text", t.stack[i].id);
			if (!t.stack[i].count && t.stack[i].in_ring && !t.stack[i].first_in_ring &&
			    !lost(a, STACKBUF_LOST_PAGE))
				problem("stack %u: its first event is not in the ring",
					t.stack[i].id);
		}
	}

	/* The text and the table must have the same stacks with the same frames */
	if (x.nr)
		qsort(x.record, x.nr, sizeof(*x.record), by_id);
	for (i = 1; i < x.nr; i++)
		if (x.record[i].id == x.record[i - 1].id)
			problem("two records of stack %u", x.record[i].id);
	for (i = 0; i < t.nr; i++) {
		struct record key = { .id = t.stack[i].id };
		const struct record *rec =
			x.nr ? bsearch(&key, x.record, x.nr, sizeof(key), by_id) : NULL;
		const char *line;
		unsigned int k;

		if (!rec) {
			if (rest && !a->info->text_overwritten &&
			    t.stack[i].flags & STACKBUF_STACK_TEXT)
				problem("stack %u has no record in the text", key.id);
			continue;
		}
		check_first(&t.stack[i], rec);
		if (rec->short_of ? rec->frames >= t.stack[i].nr : rec->frames != t.stack[i].nr)
			problem("stack %u: %u frames, in the text %u", key.id, t.stack[i].nr,
				rec->frames);
		if (!rec->short_of && rec->cut != !!(t.stack[i].flags & STACKBUF_STACK_CUT))
			problem("stack %u: cut in the text %d, in the table not so", key.id,
				rec->cut);
		for (k = 0, line = rec->at; nr_syms && k < rec->frames && k < t.stack[i].nr; k++) {
			switch (line_means(line, t.stack[i].pc[k])) {
			case -1:
				no_symbol++;
				break;
			case 0:
				if (!wrong_lines++)
					problem("stack %u: %.60s is not at %" PRIx64, key.id, line,
						t.stack[i].pc[k]);
				break;
			default:
				good_lines++;
			}
			line = strchr(line, '\n') + 1;
		}
	}
	/* If each array is one page, the table may be empty after an eviction */
	if (say && no_symbol && !good_lines)
		problem("no frame of the text was found in kallsyms");

	if (say) {
		printf("stacks %u twins %u events %zu overwritten %" PRIu64 " total %" PRIu64
		       " pages %u lastseq %" PRIu64 "\n",
		       t.nr, t.twins, r.nr, (uint64_t)a->info->overwritten,
		       r.nr + (uint64_t)a->info->overwritten, r.pages, r.last_seq);
		printf("evicted %" PRIu64 " evicted_events %" PRIu64 " backwards %" PRIu64
		       " state %u\n",
		       (uint64_t)a->info->evicted, (uint64_t)a->info->evicted_events, nested,
		       a->info->state);
		for (i = 0; i < t.nr; i++)
			missing += !(t.stack[i].flags & STACKBUF_STACK_TEXT);
		printf("records %zu textpages %u text_overwritten %" PRIu64 " text_missing %u"
		       " text_given_up %" PRIu64 "\n",
		       x.nr, x.pages, (uint64_t)a->info->text_overwritten, missing,
		       (uint64_t)a->info->text_given_up);
		printf("off %" PRIu64 " nested %" PRIu64 " table %" PRIu64 " page %" PRIu64
		       " empty %" PRIu64 " cut %" PRIu64 " print %" PRIu64 "\n",
		       lost(a, STACKBUF_LOST_OFF), lost(a, STACKBUF_LOST_NESTED),
		       lost(a, STACKBUF_LOST_TABLE), lost(a, STACKBUF_LOST_PAGE),
		       lost(a, STACKBUF_LOST_EMPTY), lost(a, STACKBUF_CUT),
		       lost(a, STACKBUF_LOST_PRINT));
		printf("refused %" PRIu64 "\n", lost(a, STACKBUF_LOST_OFF) +
		       lost(a, STACKBUF_LOST_NESTED) + lost(a, STACKBUF_LOST_TABLE) +
		       lost(a, STACKBUF_LOST_PAGE) + lost(a, STACKBUF_LOST_EMPTY));
		printf("new %" PRIu64 " elsewhere %" PRIu64 " unfit %" PRIu64 " again %" PRIu64
		       " verified %" PRIu64 " differed %" PRIu64 "\n",
		       lost(a, STACKBUF_WALKED_NEW), lost(a, STACKBUF_WALKED_ELSEWHERE),
		       lost(a, STACKBUF_WALKED_UNCACHEABLE), lost(a, STACKBUF_WALKED_AGAIN),
		       lost(a, STACKBUF_VERIFIED), lost(a, STACKBUF_DIFFERED));
		if (nr_syms)
			printf("lines %u unknown %u\n", good_lines, no_symbol);
	}
	free_table(&t);
	free(r.event);
	free(x.record);
}

static void cmd_check(const char *dir, const char *kallsyms, bool rest)
{
	struct arrays a;

	load(&a, dir);
	if (kallsyms) {
		read_kallsyms(kallsyms);
		qsort(syms, nr_syms, sizeof(*syms), by_name);
	}
	check_all(&a, rest, true);
	if (!rest)
		printf("stop_ns %" PRIu64 "\n", (uint64_t)a.info->stop_ns);
}

static void cmd_events(const char *dir)
{
	static const char * const context[] = { "task", "softirq", "hardirq", "nmi" };
	struct arrays a;
	struct ring r;
	size_t i;

	load(&a, dir);
	parse_ring(&a, &r, false);
	for (i = 0; i < r.nr; i++) {
		const struct event *e = &r.event[i];

		if (e->writing) {
			printf("%u half written id %u\n", e->cpu, e->id);
			continue;
		}
		printf("%u %" PRIu64 " %s %u/%u %s id %u", e->cpu, e->time, context[e->context],
		       e->tgid, e->pid, e->comm, e->id);
		if (e->tagged)
			printf(" tag %" PRIx64, e->tag);
		printf("\n");
	}
}

static void cmd_stacks(const char *dir)
{
	struct arrays a;
	struct table t;
	struct ring r;
	unsigned int i, k;

	load(&a, dir);
	parse_table(&a, &t);
	parse_ring(&a, &r, false);
	count_in_ring(&t, &a, &r);
	for (i = 0; i < t.nr; i++) {
		const struct stack *s = &t.stack[i];

		printf("stack %u total %" PRIu64 " frames %u cut %d", s->id, s->count + s->in_ring,
		       s->nr, !!(s->flags & STACKBUF_STACK_CUT));
		for (k = 0; k < s->nr; k++)
			printf(" %" PRIx64, s->pc[k]);
		printf("\n");
	}
}

static bool read_twice(int fd, char *page, off_t at)
{
	static char again[PAGE], line[129];
	unsigned long long seq = 0;
	unsigned int pages = 0;

	if (pread(fd, page, PAGE, at) != PAGE)
		die("cannot read the text: %s", strerror(errno));
	memcpy(line, page, 128);
	sscanf(line, "stackbuf text v2 page %*u/%u seq %llu", &pages, &seq);
	/*
	 * In the first lap the end of a page is NULs, and a single copy is right.  Later
	 * it is blanks: a copy may have a blank in place of a record's first byte, then
	 * more of the record.  So two copies must be equal.
	 */
	if (!page[0] || (seq && seq <= pages)) {
		if (pread(fd, line, 128, at) != 128)
			die("cannot read the text: %s", strerror(errno));
		return !memcmp(line, page, strcspn(page, "\n"));
	}
	if (pread(fd, again, PAGE, at) != PAGE)
		die("cannot read the text: %s", strerror(errno));
	return !memcmp(page, again, PAGE);
}

/* Check copies of pages while saves write the text concurrently */
static void cmd_watch(const char *name, const char *stop)
{
	unsigned long rounds = 0, pages = 0, dropped = 0, records = 0, nulls = 0;
	int fd = open(name, O_RDONLY);
	static char page[PAGE + 1];
	off_t size, at;

	if (fd < 0)
		die("%s: %s", name, strerror(errno));
	for (size = 0; pread(fd, page, PAGE, size) == PAGE;)
		size += PAGE;
	if (!size)
		die("%s: empty", name);
	/* However slow the host is: some rounds may come after what they watch */
	do {
		rounds++;
		for (at = 0; at < size; at += PAGE) {
			struct text t = { 0 };

			if (!read_twice(fd, page, at)) {
				dropped++;
				continue;
			}
			if (!page[0]) {
				nulls++;
				break;
			}
			pages++;
			check_text_page(page, at / PAGE, size / PAGE, 0, &t);
			records += t.nr;
			free(t.record);
		}
	} while (access(stop, F_OK) || rounds < 5);
	printf("rounds %lu pages %lu dropped %lu records %lu ends %lu\n", rounds, pages, dropped,
	       records, nulls);
}

/* After "Stack trace(BYTES):" there must be BYTES bytes of frames, and no other line between */
static void cmd_printed(void)
{
	unsigned int traces = 0, deepest = 0, cut = 0;
	char *line = NULL;
	size_t room = 0;
	bool again = false;

	while (again || getline(&line, &room, stdin) > 0) {
		unsigned int want, have = 0, frames = 0;
		char *text = strstr(line, "] ");

		again = false;
		if (!text || sscanf(text, "] Stack trace(%u):\n", &want) != 1)
			continue;
		traces++;
		while (have < want && getline(&line, &room, stdin) > 0) {
			text = strstr(line, "] ");
			if (!text || text[2] != ' ' ||
			    !frame_line(text + 3, text + strlen(text))) {
				problem("after %u of %u bytes of a trace: %s", have, want, line);
				again = true;
				break;
			}
			have += strlen(text + 3);
			frames++;
		}
		if (!again && have != want)
			problem("a trace of %u bytes has %u", want, have);
		if (frames > deepest)
			deepest = frames;
		/* BYTES does not include the line that reports a cut */
		if (!again && getline(&line, &room, stdin) > 0) {
			text = strstr(line, "] ");
			cut += text && !strncmp(text + 2, " (cut", 5);
			again = true;
		}
	}
	printf("traces %u deepest %u cut %u\n", traces, deepest, cut);
}

/* --------------------------------------------------------------- carving --- */

static void put(const char *dir, const char *name, const void *data, size_t size)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	if (!f || fwrite(data, 1, size, f) != size || fclose(f))
		die("%s: %s", path, strerror(errno));
}

/* Where a page belongs in the arrays: its offset in that array, and in @kind 0 for text */
static size_t place_of(const char *page, const struct stackbuf_info *info, unsigned int *kind)
{
	const struct stackbuf_page *head = (const void *)page;
	unsigned long long seq, load;
	unsigned int version, index, of;
	char line[129] = "";

	if (head->magic == ~STACKBUF_MAGIC_INVERTED) {
		/* Pages of probes, depths and pairs follow info in its array */
		*kind = head->kind > STACKBUF_EVENTS ? STACKBUF_INFO : head->kind;
		index = head->index;
		load = head->instance;
		return load == info->page.instance ? (size_t)index * PAGE : SIZE_MAX;
	}
	*kind = 0;
	memcpy(line, page, 128);
	return sscanf(line, STACKBUF_TEXT_PAGE_SCAN, &version, &index, &of, &seq, &load) == 5 &&
	       load == info->page.instance ? (size_t)index * PAGE : SIZE_MAX;
}

/* Find the pages in a vmcore, where each lies at a multiple of its size */
static void cmd_carve(const char *name, const char *dir)
{
	static const char * const names[] = { "text", "info", "stacks", "events" };
	const struct stackbuf_info *info;
	int fd = open(name, O_RDONLY);
	const char *image, *p, *end;
	unsigned int kind, found = 0;
	char *have[4];
	size_t size[4];
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		die("%s: %s", name, strerror(errno));
	image = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (image == MAP_FAILED)
		die("%s: %s", name, strerror(errno));
	end = image + st.st_size / PAGE * PAGE;
	for (p = image; p < end; p += PAGE) {
		info = (const void *)p;
		if (info->page.magic == ~STACKBUF_MAGIC_INVERTED &&
		    info->page.kind == STACKBUF_INFO && !info->page.index)
			break;
	}
	if (p >= end || info->info_size != info_bytes(info) || info->events_size > 1 << 28 ||
	    info->stacks_size > 1 << 28 || info->text_size > 1 << 28)
		die("%s: no page of stackbuf_info, or one that makes no sense", name);
	size[0] = info->text_size;
	size[STACKBUF_INFO] = info->info_size;
	size[STACKBUF_STACKS] = info->stacks_size;
	size[STACKBUF_EVENTS] = info->events_size;
	for (kind = 0; kind < 4; kind++)
		have[kind] = grab(size[kind]);
	for (p = image; p < end; p += PAGE) {
		size_t at = place_of(p, info, &kind);

		if (kind >= 4 || at >= size[kind])
			continue;
		memcpy(have[kind] + at, p, PAGE);
		found++;
	}
	for (kind = 0; kind < 4; kind++)
		put(dir, names[kind], have[kind], size[kind]);
	printf("found %u pages\n", found);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	struct arrays a;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(what, "check") && (argc == 3 || argc == 4))
		cmd_check(argv[2], argv[3], true);
	else if (!strcmp(what, "rest") && argc == 3)
		load_at_rest(&a, argv[2]);
	else if (!strcmp(what, "stopped") && argc == 3)
		cmd_check(argv[2], NULL, false);
	else if (!strcmp(what, "events") && argc == 3)
		cmd_events(argv[2]);
	else if (!strcmp(what, "stacks") && argc == 3)
		cmd_stacks(argv[2]);
	else if (!strcmp(what, "pairs") && argc == 3)
		cmd_pairs(argv[2]);
	else if (!strcmp(what, "watch") && argc == 4)
		cmd_watch(argv[2], argv[3]);
	else if (!strcmp(what, "printed") && argc == 2)
		cmd_printed();
	else if (!strcmp(what, "carve") && argc == 4)
		cmd_carve(argv[2], argv[3]);
	else
		die("unknown command '%s'; see the top of sbcheck.c", what);
	if (problems)
		printf("problems %u\n", problems);
	return problems > 0;
}
