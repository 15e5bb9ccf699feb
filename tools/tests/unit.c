// SPDX-License-Identifier: GPL-2.0
/*
 * unit.c - tests of the reader's parts, on made-up arrays (record_maker.c)
 *
 * Prints KTAP.  Writes into the current directory, which should be a new one.
 */
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "input/core_file.h"
#include "input/folded.h"
#include "input/kcore.h"
#include "input/open.h"
#include "input/steady.h"
#include "record_maker.h"
#include "live/watch.h"
#include "output/files.h"

static unsigned int failures;

/* What a test makes, and what was read of it: freed after each */
static struct maker m;
static struct record r;

#define CHECK(what) do {							\
	if (!(what)) {								\
		if (failures++ < 10)						\
			printf("# %s:%d: not so: %s\n", __FILE__, __LINE__, #what);	\
	}									\
} while (0)

/* ---------------------------------------------------------------- helpers --- */

/* The record @r is what @from holds */
static void parse(const struct maker *from, unsigned int seed)
{
	struct page_set set = { 0 };

	record_free(&r);
	maker_pages(from, &set, seed);
	record_parse(&r, &set, page_set_newest(&set), NULL);
	page_set_clear(&set);
}

static struct stackbuf_event *event_tagged(u64 tag)
{
	size_t i;

	for (i = 0; i < r.events; i++)
		if (r.event[i].tagged && r.event[i].tag == tag)
			return &r.event[i];
	return NULL;
}

/* Whether this is the event that was appended, apart from its order */
static bool event_is(const struct stackbuf_event *e, const struct maker_event *w)
{
	return e->time == w->time && e->id == w->stack && e->cpu == w->cpu && e->pid == w->pid &&
	       e->tgid == w->tgid && e->context == w->context && e->tagged == w->tagged &&
	       e->tag == (w->tagged ? w->tag : 0) && !strcmp(e->comm, w->comm);
}

static void write_file(const char *name, const void *data, size_t size)
{
	FILE *f = fopen(name, "w");

	if (!f || fwrite(data, 1, size, f) != size || fclose(f))
		die(1, "%s: %m", name);
}

static void write_text(const char *name, const char *text)
{
	write_file(name, text, strlen(text));
}

static void write_arrays(const char *dir)
{
	char path[128];
	size_t size;
	int a;

	mkdir(dir, 0700);
	for (a = 0; a < ARRAYS; a++) {
		void *data = maker_array(&m, a, &size);

		snprintf(path, sizeof(path), "%s/%s", dir, array_name[a]);
		write_file(path, data, size);
	}
}

/* The output of a command, in memory */
struct capture {
	struct output o;
	struct symbols symbols;
	char *text;
	size_t size;
};

static void capture_start(struct capture *c, enum output_format format, const char *kallsyms)
{
	memset(c, 0, sizeof(*c));
	symbols_init(&c->symbols, &r, kallsyms);
	c->o = (struct output){ .format = format, .record = &r, .symbols = &c->symbols };
	c->o.file = open_memstream(&c->text, &c->size);
}

static const char *capture_text(struct capture *c)
{
	fflush(c->o.file);
	return c->text;
}

static void capture_end(struct capture *c)
{
	fclose(c->o.file);
	free(c->text);
	symbols_free(&c->symbols);
}

/* What @print prints of the arrays; until the next call */
static const char *printed(enum output_format format, const char *kallsyms,
			   void (*print)(const struct output *o))
{
	static char *text;
	struct capture c;

	parse(&m, 0);
	capture_start(&c, format, kallsyms);
	print(&c.o);
	free(text);
	text = xstrdup(capture_text(&c));
	capture_end(&c);
	return text;
}

/* ----------------------------------------------------------------- events --- */

static void test_forms(void)
{
	struct maker_event e = { .stack = 1, .time = MAKER_LOAD, .pid = 4194303, .tgid = 4194302,
				.comm = "fifteen letters", .tagged = true, .tag = ~0ULL };
	u64 *full, *tagged, *brief, *again, *far, *last;

	maker_init(&m, 4, 1, 1, NULL);
	full = maker_event(&m, &e);
	e.time += (1 << 27) - 1;
	e.context = STACKBUF_NMI;
	tagged = maker_event(&m, &e);
	e.tagged = false;
	e.time += 1;
	brief = maker_event(&m, &e);
	e.time += 1 << 27;
	again = maker_event(&m, &e);
	e.time = MAKER_LOAD + (1ULL << 46) - 1;
	far = maker_event(&m, &e);
	e.time++;
	last = maker_event(&m, &e);
	CHECK(tagged == full + 5 && brief == tagged + 2 && again == brief + 1 && far == again + 5);
	CHECK(last != far + 5);

	parse(&m, 0);
	CHECK(r.events == 6);
	CHECK(r.event[0].time == MAKER_LOAD && r.event[0].tag == ~0ULL && r.event[0].tagged);
	CHECK(r.event[0].pid == 4194303 && r.event[0].tgid == 4194302);
	CHECK(!strcmp(r.event[0].comm, "fifteen letters") && r.event[0].context == STACKBUF_TASK);
	CHECK(r.event[1].time == MAKER_LOAD + (1 << 27) - 1 && r.event[1].tag == ~0ULL);
	CHECK(r.event[1].context == STACKBUF_NMI && r.event[1].pid == 4194303);
	CHECK(r.event[2].time == MAKER_LOAD + (1 << 27) && !r.event[2].tagged && !r.event[2].tag);
	CHECK(r.event[3].time == MAKER_LOAD + (2 << 27) && !r.event[3].tagged);
	CHECK(r.event[4].time == MAKER_LOAD + (1ULL << 46) - 1);
	CHECK(r.event[5].time == MAKER_LOAD + (1ULL << 46));
}

static void test_half_written(void)
{
	struct maker_event e = { .stack = 1, .time = MAKER_LOAD, .comm = "x", .tagged = true };
	u64 *at[6];
	int i;

	maker_init(&m, 4, 1, 1, NULL);
	for (i = 0; i < 6; i++) {
		e.tag = i;
		e.time += 10;
		e.pid = i == 4 ? 7 : 6;
		at[i] = maker_event(&m, &e);
	}
	/* 2 is being written.  3 has its time relative to that; 4 and 5 are independent */
	*at[2] |= STACKBUF_EVENT_WRITING;
	parse(&m, 0);
	CHECK(r.events == 4 && r.half == 2 && !r.damaged);
	CHECK(event_tagged(1) && !event_tagged(2) && !event_tagged(3));
	CHECK(event_tagged(4) && event_tagged(4)->time == MAKER_LOAD + 50);
	CHECK(event_tagged(5));

	/* The last event, as when the machine stops before its words are written */
	*at[2] &= ~STACKBUF_EVENT_WRITING;
	*at[5] |= STACKBUF_EVENT_WRITING;
	at[5][1] = 0;
	at[5][2] = 0;
	parse(&m, 0);
	CHECK(r.events == 5 && r.half == 1 && !event_tagged(5) && event_tagged(3));

	/* A page that is being reused holds no events */
	m.cpu[0].page->page.seq = 0;
	parse(&m, 0);
	CHECK(r.events == 0 && r.rebuilt == 1);
}

static void test_damaged_events(void)
{
	struct maker_event e = { .stack = 1, .time = MAKER_LOAD, .comm = "x" };
	struct stackbuf_events_page *page;
	u64 *second, keep;

	maker_init(&m, 4, 1, 1, NULL);
	maker_event(&m, &e);
	e.time += 10;
	second = maker_event(&m, &e);
	e.time += 10;
	maker_event(&m, &e);
	page = m.cpu[0].page;
	keep = *second;

	/* An event without a form */
	*second = keep & ~(3ULL << STACKBUF_EVENT_FORM_SHIFT);
	parse(&m, 0);
	CHECK(r.events == 1 && r.damaged == 1);
	/* An event without a stack */
	*second = keep & ~0xffffffffULL;
	parse(&m, 0);
	CHECK(r.events == 1 && r.damaged == 1);
	/* The first event of a page is not FULL */
	*second = keep;
	page->word[0] = keep;
	parse(&m, 0);
	CHECK(r.events == 0 && r.damaged == 1);
	/* An event that extends beyond the end */
	memset(page->word, 0, sizeof(page->word));
	page->word[0] = 1 | (u64)STACKBUF_FULL << STACKBUF_EVENT_FORM_SHIFT;
	for (unsigned int i = 5; i < STACKBUF_EVENT_WORDS; i++)
		page->word[i] = 1 | (u64)STACKBUF_SHORT << STACKBUF_EVENT_FORM_SHIFT;
	parse(&m, 0);
	CHECK(r.events == PAGE_EVENTS_MAX && r.damaged == 0);
	page->word[STACKBUF_EVENT_WORDS - 4] = 1 | (u64)STACKBUF_FULL << STACKBUF_EVENT_FORM_SHIFT;
	parse(&m, 0);
	CHECK(r.events == PAGE_EVENTS_MAX - 4 && r.damaged == 1);
}

static void test_comm(void)
{
	struct maker_event e = { .stack = 1, .time = MAKER_LOAD, .comm = "a\x1b[31m\nb\xff" };
	static const enum output_format formats[] = {
		FORMAT_TEXT, FORMAT_JSON, FORMAT_PERF, FORMAT_FOLDED
	};
	char comm[STACKBUF_COMM_LEN];
	unsigned int format;
	struct capture c;

	maker_init(&m, 4, 1, 1, NULL);
	maker_event(&m, &e);
	/* A task name without a NUL in its 16 bytes */
	memset(&m.cpu[0].page->word[3], 'z', 16);
	e.cpu = 1;
	e.time++;
	maker_event(&m, &e);
	parse(&m, 0);
	CHECK(r.events == 2 && !strcmp(r.event[0].comm, "zzzzzzzzzzzzzzz"));
	CHECK(r.events == 2 && !strcmp(output_comm(r.event[1].comm, comm), "a?[31m?b?"));
	for (format = 0; r.events == 2 && format < ARRAY_SIZE(formats); format++) {
		capture_start(&c, formats[format], NULL);
		if (formats[format] == FORMAT_FOLDED)
			output_folded(&c.o, r.event, r.events);
		else
			output_event(&c.o, &r.event[1]);
		CHECK(strstr(capture_text(&c), "a?[31m?b?"));
		capture_end(&c);
		parse(&m, 0);
	}
}

/* ------------------------------------------------------------------ pages --- */

static bool same_record(const struct record *a, const struct record *b)
{
	size_t i;

	if (a->events != b->events || a->stacks.nr != b->stacks.nr || a->texts != b->texts)
		return false;
	for (i = 0; i < a->events; i++) {
		const struct stackbuf_event *x = &a->event[i], *y = &b->event[i];
		const struct stack *s = stacks_find(&a->stacks, x->id),
				   *t = stacks_find(&b->stacks, y->id);

		if (x->time != y->time || x->tag != y->tag || x->id != y->id ||
		    x->cpu != y->cpu || x->pid != y->pid || x->tgid != y->tgid ||
		    strcmp(x->comm, y->comm))
			return false;
		if (!s || !t || stack_order(s, t) || s->count != t->count || s->lines != t->lines ||
		    s->text_len != t->text_len || memcmp(s->text, t->text, s->text_len))
			return false;
	}
	return true;
}

/* A module built without probes, without deepest stacks, or without both */
static void test_parts(void)
{
	const u32 probes = STACKBUF_PROBE_PAGES, depths = STACKBUF_DEPTH_PAGES;
	struct stackbuf_depths_page *depth;
	u32 i;

	maker_record(&m, 16, 4, 8, 500);
	m.info->depth[1].depth[2].origin = 0xc0ffee;
	/* The pages of deepest stacks take the place of those of probes */
	depth = (void *)m.info->probe;
	memmove(depth, m.info->depth, sizeof(m.info->depth));
	for (i = 0; i < depths; i++)
		depth[i].page.index -= probes;
	m.pages[ARRAY_INFO] -= probes;
	m.info->info_size -= (u64)probes * STACKBUF_PAGE_SIZE;
	parse(&m, 7);
	CHECK(r.have_info && !r.missing[ARRAY_INFO] && r.events == 500);
	CHECK(!info_has_probes(&r.info) && info_has_depths(&r.info));
	CHECK(r.info.depth[1].depth[2].origin == 0xc0ffee);

	m.pages[ARRAY_INFO] -= depths;
	m.info->info_size -= (u64)depths * STACKBUF_PAGE_SIZE;
	parse(&m, 7);
	CHECK(r.have_info && !r.missing[ARRAY_INFO] && r.events == 500);
	CHECK(!info_has_probes(&r.info) && !info_has_depths(&r.info));

	m.info->info_size += (u64)probes * STACKBUF_PAGE_SIZE;
	CHECK(info_sane(m.info) && info_has_probes(m.info) && !info_has_depths(m.info));
	/* No build has this size */
	m.info->info_size += STACKBUF_PAGE_SIZE;
	CHECK(!info_sane(m.info));
}

/* The ring may begin with the page of a CPU that records little: others' events are lost later */
static void test_whole_since(void)
{
	struct maker_event e = { .cpu = 1, .time = MAKER_LOAD + 1000, .comm = "x" };
	u64 addr[1] = { MAKER_BASE }, first;
	unsigned int i;

	maker_init(&m, 8, 1, 1, NULL);
	e.stack = maker_stack(&m, addr, 1, false);
	maker_event(&m, &e);
	parse(&m, 0);
	CHECK(r.events == 1 && !r.whole_since);
	for (e.cpu = 0, i = 0; i < 20000; i++) {
		e.time += 1000;
		maker_event(&m, &e);
	}
	parse(&m, 0);
	for (i = 0; i < r.events && r.event[i].cpu; i++)
		;
	first = i < r.events ? r.event[i].time : 0;
	CHECK(first > MAKER_LOAD + 2000 && r.whole_since == first);
	/* One page alone is the first and the last of its CPU */
	m.pages[ARRAY_EVENTS] = 1;
	m.pages[ARRAY_INFO] = 0;
	m.pages[ARRAY_STACKS] = 0;
	m.pages[ARRAY_TEXT] = 0;
	parse(&m, 0);
	CHECK(r.events && r.whole_since == r.event[0].time);
}

/* Pages as in a memory image: older copies, pages of another load, foreign pages */
static void test_copies(void)
{
	struct maker old, new, other;
	struct record all;
	struct stackbuf_probe probe;
	struct page_set set = { 0 };
	char foreign[STACKBUF_PAGE_SIZE]
		__attribute__((aligned(8))) = "stackbuf text v%u page %u/%u";

	maker_record(&old, 16, 4, 8, 9000);
	maker_record(&new, 16, 4, 8, 12000);
	maker_instance--;
	maker_record(&other, 16, 4, 8, 500);
	maker_instance++;
	strcpy(old.info->probe[0].probe[0].name, "older");
	old.info->probe[0].probe[0].state = STACKBUF_PROBE_SET;
	strcpy(new.info->probe[0].probe[0].name, "newer");
	new.info->probe[0].probe[0].state = STACKBUF_PROBE_PENDING;
	new.info->probe[0].page.seq++;
	parse(&new, 0);

	CHECK(page_set_add(&set, foreign) == PAGE_FOREIGN);
	maker_pages(&old, &set, 0);
	maker_pages(&other, &set, 3);
	maker_pages(&new, &set, 9);
	maker_pages(&old, &set, 4);
	CHECK(page_set_newest(&set) == MAKER_INSTANCE);
	record_parse(&all, &set, MAKER_INSTANCE, NULL);
	CHECK(same_record(&r, &all));
	CHECK(all.info.overwritten == new.info->overwritten);
	CHECK(all.pages[ARRAY_STACKS] == 4 && all.pages[ARRAY_EVENTS] == 16);
	CHECK(record_probe(&all, 0, &probe) && !strcmp(probe.name, "newer") &&
	      probe.state == STACKBUF_PROBE_PENDING);
	record_free(&all);
	record_parse(&all, &set, MAKER_INSTANCE - 1, NULL);
	CHECK(all.events == 500);
	record_free(&all);

	/* A missing page loses what it held, and nothing else */
	page_set_clear(&set);
	new.events[3].page.magic++;
	maker_pages(&new, &set, 0);
	record_parse(&all, &set, MAKER_INSTANCE, NULL);
	CHECK(all.missing[ARRAY_EVENTS] == 1 && all.events < r.events && all.events > r.events / 2);
	record_free(&all);
	record_free(&r);
	page_set_clear(&set);
	maker_free(&old);
	maker_free(&new);
	maker_free(&other);
}

/*
 * Pages of events that look outdated, each of another CPU.  The reader looks at their headers
 * only, so they need not have 4 KiB each.  Return the CPU time that it took.
 */
static clock_t parse_cpus(u32 pages)
{
	enum { STEP = 128 };
	char *memory = xcalloc(pages + STACKBUF_PAGE_SIZE / STEP, STEP);
	struct page_set set = { 0 };
	clock_t start = clock(), took;
	u32 i;

	maker_init(&m, 1, 1, 1, NULL);
	m.info->events_size = (u64)pages * STACKBUF_PAGE_SIZE;
	page_set_add(&set, m.info);
	for (i = 0; i < pages; i++) {
		struct stackbuf_events_page *page = (void *)(memory + (size_t)i * STEP);

		page->page = m.events->page;
		page->page.index = i;
		page->page.seq = 3ULL * i + 1;
		page->cpu = i;
		page_set_add(&set, page);
	}
	record_parse(&r, &set, MAKER_INSTANCE, NULL);
	took = clock() - start;
	/* A page is outdated only if its CPU has a later one: all must be kept */
	CHECK(r.pages[ARRAY_EVENTS] == pages);
	record_free(&r);
	page_set_clear(&set);
	free(memory);
	return took;
}

static void test_cpus(void)
{
	clock_t few = parse_cpus(10000), many;

	maker_free(&m);
	many = parse_cpus(300000);
	printf("# 10,000 pages took %ld us, 300,000 %ld us\n", few, many);
	/* When each page was compared with those of all CPUs, 300,000 took more than a minute */
	CHECK(many < 200 * few + 2 * CLOCKS_PER_SEC);
}

/* ----------------------------------------------------------------- stacks --- */

static void test_stacks(void)
{
	u64 addr[STACKBUF_DEPTH_MAX], back;
	unsigned int i;
	u32 one, far, deep, cut;
	struct stack *s;

	maker_init(&m, 4, 2, 1, NULL);
	for (i = 0; i < STACKBUF_DEPTH_MAX; i++)
		addr[i] = 0xffff000000000000ULL + i * 0x123456789ULL;
	/* The greatest distances that fit into a word */
	addr[0] = MAKER_BASE;
	addr[1] = MAKER_BASE + 0x7fffffff;
	addr[2] = MAKER_BASE - 0x7fffffff;
	addr[3] = MAKER_BASE - 0x80000000;
	addr[4] = MAKER_BASE + 0x80000000;
	maker_firsts = true;
	one = maker_stack(&m, addr, 1, false);
	far = maker_stack(&m, addr, 5, false);
	deep = maker_stack(&m, addr, 64, false);
	cut = maker_stack(&m, addr, 64, true);
	CHECK(one && far && deep && cut);
	parse(&m, 0);
	CHECK(r.in_table == 4 && !r.half_stacks);
	s = stacks_find(&r.stacks, one);
	CHECK(s && s->nr == 1 && s->addr[0] == MAKER_BASE && !s->cut);
	s = stacks_find(&r.stacks, far);
	CHECK(s && s->nr == 5 && !memcmp(s->addr, addr, 40));
	s = stacks_find(&r.stacks, deep);
	CHECK(s && s->nr == 64 && !memcmp(s->addr, addr, 512) && !s->cut);
	s = stacks_find(&r.stacks, cut);
	CHECK(s && s->nr == 64 && !memcmp(s->addr, addr, 512) && s->cut);
	CHECK(s && stack_order(s, stacks_find(&r.stacks, deep)));

#define SPOILT(what, undo) do {					\
	what;							\
	parse(&m, 0);					\
	CHECK(!stacks_find(&r.stacks, far));			\
	CHECK(r.in_table == 3);					\
	undo;							\
} while (0)
	SPOILT(maker_at(&m, far)->frames[2]++, maker_at(&m, far)->frames[2]--);
	SPOILT(maker_at(&m, far)->hash++, maker_at(&m, far)->hash--);
	SPOILT(maker_at(&m, far)->nr++, maker_at(&m, far)->nr--);
	SPOILT(maker_at(&m, far)->nr--, maker_at(&m, far)->nr++);
	SPOILT(maker_at(&m, far)->nr = 65, maker_at(&m, far)->nr = 5);
	SPOILT(maker_at(&m, far)->words = 0xffff, maker_at(&m, far)->words = 9);
	SPOILT(maker_at(&m, far)->flags ^= STACKBUF_STACK_CUT,
	       maker_at(&m, far)->flags ^= STACKBUF_STACK_CUT);
	SPOILT(maker_at(&m, far)->id++, (maker_at(&m, one) + 2)->id--);
	back = m.stacks[0].used;
	SPOILT(m.stacks[0].used &= ~(1ULL << (far % 64)), m.stacks[0].used = back);
	/* The stack takes two granules: without the second it is invalid */
	SPOILT(m.stacks[0].used &= ~(1ULL << (far % 64 + 1)), m.stacks[0].used = back);
	SPOILT(maker_at(&m, far)->id = 0, maker_at(&m, far)->id = far);
#undef SPOILT
	parse(&m, 0);
	CHECK(r.in_table == 4);
}

/* An old event must not get the frames of a new stack in the same place */
static void test_gone(void)
{
	u64 old_addr[3] = { MAKER_BASE + 1, MAKER_BASE + 2, MAKER_BASE + 3 };
	u64 new_addr[3] = { MAKER_BASE + 4, MAKER_BASE + 5, MAKER_BASE + 6 };
	struct maker_event e = { .time = MAKER_LOAD, .comm = "x" };
	struct capture c;
	u32 old, new;

	maker_init(&m, 4, 1, 1, NULL);
	old = maker_stack(&m, old_addr, 3, false);
	e.stack = old;
	maker_event(&m, &e);
	maker_drop(&m, old);
	new = maker_stack(&m, new_addr, 3, false);
	CHECK(new != old && (new & 63) == (old & 63));
	maker_text(&m, new, "new", 3, NULL);
	parse(&m, 0);
	CHECK(r.events == 1 && stacks_find(&r.stacks, old)->gone &&
	      !stacks_find(&r.stacks, new)->gone);
	capture_start(&c, FORMAT_TEXT, NULL);
	output_event(&c.o, &r.event[0]);
	CHECK(strstr(capture_text(&c), "stack 1 is gone") && !strstr(capture_text(&c), "new_"));
	capture_end(&c);

	/* As long as the text log has the old stack, the event gets its frames */
	m.text_pos = 0;
	m.text_seq = 0;
	maker_text(&m, old, "old", 3, NULL);
	parse(&m, 0);
	capture_start(&c, FORMAT_TEXT, NULL);
	output_event(&c.o, &r.event[0]);
	CHECK(strstr(capture_text(&c), "\told_0+0x10/0x20 [made]\n\told_1+"));
	capture_end(&c);
}

/* ------------------------------------------------------------------- text --- */

static void test_text(void)
{
	u64 addr[2] = { MAKER_BASE, MAKER_BASE };
	struct stack *s;
	unsigned int i;
	char *p, *page;
	u32 id;

	maker_init(&m, 2, 1, 3, NULL);
	id = maker_stack(&m, addr, 2, false);
	CHECK(id == 1);
	maker_text(&m, id, "first", 2, NULL);
	maker_text(&m, id, "second", 2, NULL);
	parse(&m, 0);
	s = stacks_find(&r.stacks, id);
	CHECK(r.texts == 2 && s && s->lines == 2 && !strncmp(s->text, "second_0+", 9));

	/* The second record is being copied: it begins with a NUL, and later records are valid */
	maker_text(&m, id, "third", 2, NULL);
	p = strstr(m.text, "stack 1 [");
	p = strstr(p + 1, "stack 1 [");
	*p = '\0';
	parse(&m, 0);
	s = stacks_find(&r.stacks, id);
	CHECK(r.texts == 2 && r.half_texts == 1 && s && !strncmp(s->text, "third_0+", 8));
	*p = 's';
	/* A NUL in a frame */
	p = strstr(m.text, "third_1");
	p[3] = '\0';
	parse(&m, 0);
	s = stacks_find(&r.stacks, id);
	CHECK(r.texts == 2 && r.half_texts == 1 && s && !strncmp(s->text, "second_0+", 9));
	p[3] = 'r';
	/* Invalid ids */
	p = strstr(m.text, "stack 1 [");
	memcpy(p, "stack 0 [", 9);
	p = strstr(p, "stack 1 [");
	memcpy(p, "stack 1x[", 9);
	parse(&m, 0);
	CHECK(r.texts == 1);
	/* An id at the end of the page: nothing after it is read, as -fsanitize=address sees */
	page = xrealloc(NULL, STACKBUF_PAGE_SIZE, 1);
	memcpy(page, m.text, STACKBUF_PAGE_SIZE);
	memcpy(page + STACKBUF_PAGE_SIZE - 8, "\nstack 1", 8);
	record_parse_text(&r, page);
	CHECK(r.texts == 2 && r.half_texts);
	free(page);

	/* Several laps: older records are overwritten, the newest is the last */
	for (i = 0; i < 500; i++)
		maker_text(&m, id, i == 499 ? "newest" : i == 498 ? "newer" : "older", 2,
			  i == 499 ? "(cut at 2 frames)" : NULL);
	for (unsigned int seed = 0; seed < 5; seed++) {
		parse(&m, seed);
		s = stacks_find(&r.stacks, id);
		CHECK(r.texts > 50 && r.texts < 500 && !r.half_texts);
		CHECK(s && s->lines == 2 && !strncmp(s->text, "newest_0+", 9));
		CHECK(!strncmp(memchr(r.text[r.texts - 2].record, '\n', 200), "\nnewer_0", 8));
	}
}

/* ------------------------------------------------------------------ names --- */

static void test_names(void)
{
	static const char kallsyms[] =
		"ffffffff81234500 T stack_trace_save\n"
		"ffffffff81234500 T its_alias\n"
		"ffffffff81234580 t next_one\n"
		"ffffffff81300000 D data\n"
		"ffffffff81400000 T _etext\n"
		"ffffffffc0000100 t mod_f\t[mod]\n"
		"ffffffffc0000140 t mod_g\t[mod]\n"
		"ffffffffc0005000 t other_f\t[other]\n";
	u64 addr[6] = { MAKER_BASE + 0x7f, MAKER_BASE + 0x80, 0xffffffffc0000120,
			0xffffffffc0000fff, 0xffffffffc0001000, 0x1234 };
	u64 other[3] = { MAKER_BASE + 0x800000, MAKER_BASE + 0x810000, MAKER_BASE + 0x820000 };
	u64 half_addr[4] = { MAKER_BASE + 0x830000, MAKER_BASE + 0x840000, addr[2], addr[3] };
	u64 near[2] = { other[0] + 15, other[1] - 16 };
	struct maker_event e = { .time = MAKER_LOAD, .comm = "x" };
	static char zeroes[sizeof(kallsyms)];
	struct stackbuf_stacks_page older;
	unsigned int granule, granules;
	struct capture c;
	struct stack *s;
	u32 id, texted, half, by_texts, stale;
	int keep;
	char *p;

	maker_firsts = true;
	maker_init(&m, 2, 1, 2, NULL);
	id = maker_stack(&m, addr, 6, false);
	texted = maker_stack(&m, other, 3, false);
	half = maker_stack(&m, half_addr, 4, false);
	by_texts = maker_stack(&m, near, 2, false);
	stale = maker_stack(&m, near, 1, false);
	maker_at(&m, stale)->flags |= STACKBUF_STACK_STALE;
	maker_text(&m, texted, "text", 3, NULL);
	maker_text(&m, half, "half", 2, "(2 more frames do not fit)");
	e.stack = id;
	maker_event(&m, &e);
	write_text("kallsyms", kallsyms);
	parse(&m, 0);
	capture_start(&c, FORMAT_TEXT, "kallsyms");
	s = stacks_find(&r.stacks, texted);
	symbols_name(&c.symbols, s);
	CHECK(s->name_origin == NAMES_TEXT && s->named == 3 &&
	      !strcmp(s->frame[2].text, "text_2+0x10/0x20 [made]"));
	s = stacks_find(&r.stacks, half);
	symbols_name(&c.symbols, s);
	CHECK(s->name_origin == NAMES_KALLSYMS && s->named == 4 &&
	      !strcmp(s->frame[1].text, "half_1+0x10/0x20 [made]"));
	CHECK(!strcmp(s->frame[2].text, "mod_f+0x20/0x40 [mod]"));
	/* Other texts have the functions; what was in a module's may be another's */
	s = stacks_find(&r.stacks, by_texts);
	symbols_name(&c.symbols, s);
	CHECK(s->name_origin == NAMES_TEXT && s->named == 2 &&
	      !strcmp(s->frame[0].text, "text_0+0x1f/0x20 [made]") &&
	      !strcmp(s->frame[1].text, "text_1+0x0/0x20 [made]"));
	s = stacks_find(&r.stacks, stale);
	symbols_name(&c.symbols, s);
	CHECK(s->name_origin == NAMES_NONE && !strncmp(s->frame[0].text, "0xffff", 6));
	/* An older copy of its page, in the page cache, which a scan finds later */
	granule = stale & ((1ULL << m.info->id_bits) - 1);
	older = m.stacks[granule / 64];
	granule %= 64;
	((struct stackbuf_stack *)older.granule[granule - 1])->flags &= ~STACKBUF_STACK_STALE;
	CHECK(stack_parse(&r.stacks, &older, granule, &granules) == s && s->stale);
	s = stacks_find(&r.stacks, id);
	symbols_name(&c.symbols, s);
	CHECK(s->name_origin == NAMES_NONE && s->named == 6);
	CHECK(!strcmp(s->frame[0].text, "stack_trace_save+0x7f/0x80"));
	CHECK(!strncmp(s->frame[1].text, "next_one+0x0/", 13));
	CHECK(!strncmp(s->frame[3].text, "mod_g+0xebf/", 12));
	CHECK(!strcmp(s->frame[4].text, "0xffffffffc0001000"));
	CHECK(!strcmp(s->frame[5].text, "0x0000000000001234"));
	output_event(&c.o, &r.event[0]);
	CHECK(strstr(capture_text(&c), "(names missing)"));
	capture_end(&c);

	/* kallsyms of another boot: reported, and not used */
	p = strcpy(zeroes, kallsyms);
	p[15] = '8';
	write_text("kallsyms", p);
	parse(&m, 0);
	capture_start(&c, FORMAT_TEXT, "kallsyms");
	s = stacks_find(&r.stacks, id);
	fflush(stderr);
	keep = dup(2);
	CHECK(dup2(open("stderr", O_WRONLY | O_CREAT | O_TRUNC, 0600), 2) == 2);
	symbols_name(&c.symbols, s);
	dup2(keep, 2);
	close(keep);
	CHECK(!system("grep -q 'another boot' stderr"));
	CHECK(s->name_origin == NAMES_NONE && !strncmp(s->frame[0].text, "0xffff", 6));
	capture_end(&c);
}

/* A module's code is replaced: neither its stacks nor its names are those of what is there now */
static void test_replaced(void)
{
	u64 addr[2] = { MAKER_BASE + 0x1000, MAKER_BASE + 0x2000 };
	struct stack near = { .nr = 1, .addr = (u64[]){ MAKER_BASE + 0x1004 } };
	struct capture c;
	void *tree = NULL;
	unsigned int i;
	u32 id[2];

	maker_init(&m, 1, 1, 1, NULL);
	for (i = 0; i < 2; i++)
		id[i] = maker_stack(&m, addr, 2, false);
	maker_at(&m, id[0])->flags |= STACKBUF_STACK_STALE;
	maker_text(&m, id[1], "new", 2, NULL);
	parse(&m, 0);
	for (i = 0; i < 4; i++)
		duplicates_enter(&tree, stacks_find(&r.stacks, id[i % 2]));
	for (i = 0; i < 2; i++)
		CHECK(!stacks_find(&r.stacks, id[i])->canonical);
	duplicates_free(&tree);
	capture_start(&c, FORMAT_TEXT, NULL);
	for (i = 0; i < 2; i++) {
		symbols_name(&c.symbols, &near);
		CHECK(!strcmp(near.frame[0].text,
			      i ? "0xffffffff81235504" : "new_0+0x14/0x20 [made]"));
		free(near.frame[0].text);
		free(near.frame);
		near.frame = NULL;
		r.info.modules_loaded++;
	}
	capture_end(&c);
}

/* ---------------------------------------------------------------- sources --- */

static bool load(struct source *s, struct page_set *set, struct record *to, const char *name)
{
	char *const names[] = { (char *)name };
	bool good = !source_open(s, names, 1) && !s->ops->load(s, set);
	u64 instance = page_set_newest(set);

	if (good && s->ops->fetch)
		good = !s->ops->fetch(s, set, instance);
	if (good)
		record_parse(to, set, instance, NULL);
	return good;
}

static void unload(struct source *s, struct page_set *set, struct record *of)
{
	record_free(of);
	page_set_clear(set);
	source_close(s);
}

static void test_directory_and_snapshot(void)
{
	struct record from_dir = { 0 }, from_file = { 0 };
	struct symbols symbols;
	struct page_set set = { 0 };
	struct source s;
	unsigned int i;
	struct stack *stack;
	struct stat st;
	u64 addr[2] = { MAKER_BASE + 0x4000004, MAKER_BASE + 0x4000008 };
	char two[511] = "", text[1024];
	u32 unnamed;

	/* The kernel's KSYM_NAME_LEN is 512 */
	memset(two, 'w', sizeof(two) - 1);
	maker_record(&m, 16, 4, 8, 30000);
	unnamed = maker_stack(&m, addr, 2, false);
	maker_at(&m, unnamed)->count = 5;
	write_arrays("dir");
	parse(&m, 0);
	CHECK(load(&s, &set, &from_dir, "dir") && same_record(&r, &from_dir) && !s.live);
	CHECK(!set.changed && !set.changed_text);

	snprintf(text, sizeof(text),
		 "ffffffff81234500 T stack_trace_save\nffffffff85234500 T one\nffffffff85234506 T %s\nffffffff85234600 T c\n",
		 two);
	write_text("kallsyms", text);
	symbols_init(&symbols, &from_dir, "kallsyms");
	set.live = true;
	set.changed = 2;
	set.changed_text = 1;
	snapshot_write("snapshot", &set, &from_dir, &symbols);
	CHECK(!stat("snapshot", &st) && (st.st_mode & 0777) == 0600);
	/* Names by kallsyms are those of the modules that the record says are loaded */
	write_text("kallsyms", "ffffffff81234500 T stack_trace_save\nffffffff85234500 T other\n");
	for (i = 0; i < 2; i++) {
		struct stack one = { .nr = 1, .addr = (u64 []){ 0xffffffff85234504 } };
		const char *want = i ? "other+0x4/" : "one+0x4/";

		symbols_name(&symbols, &one);
		CHECK(!strncmp(one.frame[0].text, want, strlen(want)));
		free(one.frame[0].text);
		free(one.frame);
		from_dir.info.modules_loaded++;
	}
	from_dir.info.modules_loaded -= 2;
	symbols_free(&symbols);
	unload(&s, &set, &from_dir);

	CHECK(load(&s, &set, &from_file, "snapshot") && same_record(&r, &from_file));
	CHECK(from_file.have_info && !from_file.missing[ARRAY_EVENTS]);
	CHECK(set.live && set.changed == 2 && set.changed_text == 1);
	symbols_init(&symbols, &from_file, NULL);
	stack = stacks_find(&from_file.stacks, unnamed);
	symbols_name(&symbols, stack);
	CHECK(stack->name_origin == NAMES_SNAPSHOT && stack->named == 2);
	CHECK(!strcmp(stack->frame[0].text, "one+0x4/0x6") &&
	      !strncmp(stack->frame[1].text, two, strlen(two)) &&
	      !strcmp(stack->frame[1].text + strlen(two), "+0x2/0xfa"));

	/* A snapshot of the snapshot: nothing is lost */
	snapshot_write("again", &set, &from_file, &symbols);
	CHECK(!system("cmp snapshot again"));
	symbols_free(&symbols);
	unload(&s, &set, &from_file);
}

/* A core file like /proc/kcore: the arrays at their addresses, far apart */
static void test_core(void)
{
#define IMPOSTER	"ffffffffc0000000 b stackbuf_info\t[imposter]\n"
#define FUNCTIONS	"ffffffffc0000000 t stackbuf_save\t[stackbuf]\n"
	static const struct {
		const char *kallsyms, *coresize, *error;
	} given[] = {
		{ IMPOSTER "ffffffffc0100000 b stackbuf_info\t[stackbuf]\n", NULL, NULL },
		/* Built in */
		{ IMPOSTER "ffffffffc0100000 B stackbuf_info\n", NULL, NULL },
		/* Functions only: searched for from somewhere before it, not beyond the module */
		{ FUNCTIONS, "8192\n", NULL },
		{ FUNCTIONS, "4080\n", "where the module's data is" },
		{ IMPOSTER, NULL, "is not loaded" },
		{ "0000000000000000 b stackbuf_info\t[stackbuf]\n", NULL, "root" },
	};
	Elf64_Ehdr head = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			    .e_type = ET_CORE,
			    .e_phoff = sizeof(head),
			    .e_phentsize = sizeof(Elf64_Phdr),
			    .e_phnum = ARRAYS + 1 };
	Elf64_Phdr segment[ARRAYS + 1] = {
		{ .p_type = PT_NOTE, .p_vaddr = 0xffffffffc0100000, .p_memsz = 1 << 20 }
	};
	struct record from_core = { 0 };
	struct page_set set = { 0 };
	struct source s = { 0 };
	size_t size, i;
	char number[32];
	struct {
		Elf64_Nhdr core;
		char core_name[8], registers[4];
		Elf64_Nhdr info;
		char info_name[12], text[44];
	} notes = {
		{ 5, 3, 1 }, "CORE", "abc", { 11, 44, 0 }, "VMCOREINFO",
		"OSRELEASE=6.1.0\nKERNELOFFSET=1c200000\nX=1\n"
	};
	u64 offset = 0;
	FILE *f;
	int a;

	maker_record(&m, 16, 4, 8, 30000);
	parse(&m, 0);
	f = fopen("core", "w");
	CHECK(f);
	for (a = 0; a < ARRAYS; a++) {
		const void *data = maker_array(&m, a, &size);

		/* Each array begins inside its segment, not at its start */
		segment[a + 1] = (Elf64_Phdr) { .p_type = PT_LOAD,
					       .p_vaddr = *maker_addr(&m, a) - 0x1000,
					       .p_memsz = size + 0x2000,
					       .p_filesz = size + 0x2000,
					       .p_offset = (a + 1) * 0x100000 };
		fseek(f, (a + 1) * 0x100000 + 0x1000, SEEK_SET);
		CHECK(fwrite(data, 1, size, f) == size);
	}
	/* Two notes; the second one is VMCOREINFO */
	segment[0].p_offset = 0x1000;
	segment[0].p_filesz = sizeof(notes);
	fseek(f, segment[0].p_offset, SEEK_SET);
	CHECK(fwrite(&notes, sizeof(notes), 1, f) == 1);
	fseek(f, 0, SEEK_SET);
	CHECK(fwrite(&head, sizeof(head), 1, f) == 1 &&
	      fwrite(segment, sizeof(segment), 1, f) == 1);
	fclose(f);
	CHECK(core_kernel_offset("core", &offset) && offset == 0x1c200000);
	CHECK(!core_kernel_offset("nowhere", &offset));
	CHECK(!mkdir("module", 0700) && !mkdir("module/sections", 0700));
	snprintf(number, sizeof(number), "%#llx\n", (unsigned long long)m.info->info_addr - 0xff0);
	write_text("module/sections/.bss", number);
	for (i = 0; i < ARRAY_SIZE(given); i++) {
		write_text("core.kallsyms", given[i].kallsyms);
		write_text("module/coresize", given[i].coresize ?: "8192\n");
		memset(&s, 0, sizeof(s));
		CHECK(!kcore_open(&s, "core", "core.kallsyms",
					given[i].coresize ? "module" : "none") == !given[i].error);
		if (given[i].error) {
			CHECK(strstr(s.error, given[i].error));
			source_close(&s);
			continue;
		}
		CHECK(s.live && s.ops && !s.ops->load(&s, &set));
		record_parse(&from_core, &set, page_set_newest(&set), NULL);
		CHECK(same_record(&r, &from_core));
		unload(&s, &set, &from_core);
	}
	CHECK(!core_kernel_offset("core.kallsyms", &offset));
}

/* ------------------------------------------------------------------- live --- */

/*
 * Memory while it is written, and what each store to it changes, so that a load can be made to meet
 * any store at any of its places.  The race itself follows: a process writes as fast as it can, and
 * what is met is the host's choice.
 */
#define LIVE_FRAMES	40
static struct live {
	void *memory[ARRAYS], *base[ARRAYS], *shadow[ARRAYS];
	size_t size[ARRAYS];
	struct live_word { u64 *at, value; } *word;
	size_t words;
	struct live_step {
		size_t end;	/* of its words */
		u64 written;	/* events of which all stores are made */
	} *step;
	size_t steps, now;
	volatile u64 written;
	/* In a load: the places where the memory may change, and what changes there */
	bool loads;
	unsigned int place, at;
	size_t jump;
	u64 random;		/* 0: at one place only */
} live;

static void live_note(void)
{
	size_t i, n;
	int a;

	for (a = 0; a < ARRAYS; a++)
		for (i = 0; i < live.size[a]; i += STACKBUF_PAGE_SIZE) {
			u64 *is = (void *)((char *)live.memory[a] + i);
			u64 *was = (void *)((char *)live.shadow[a] + i);

			if (!memcmp(is, was, STACKBUF_PAGE_SIZE))
				continue;
			for (n = 0; n < STACKBUF_PAGE_SIZE / sizeof(*is); n++) {
				if (is[n] == was[n])
					continue;
				GROW(live.word, live.words);
				live.word[live.words++] = (struct live_word){ &is[n], is[n] };
				was[n] = is[n];
			}
		}
	if (!live.steps || live.step[live.steps - 1].end < live.words) {
		GROW(live.step, live.steps);
		live.step[live.steps++] = (struct live_step){ live.words, live.written };
	}
}

static void live_advance(size_t steps)
{
	size_t i = live.now ? live.step[live.now - 1].end : 0;

	live.now = steps < live.steps - live.now ? live.now + steps : live.steps;
	if (!live.now)
		return;
	for (; i < live.step[live.now - 1].end; i++)
		*live.word[i].at = live.word[i].value;
	live.written = live.step[live.now - 1].written;
}

static void live_go_to(size_t instant)
{
	int a;

	for (a = 0; a < ARRAYS; a++)
		memcpy(live.memory[a], live.base[a], live.size[a]);
	live.now = 0;
	live.written = live.step[0].written;
	live_advance(instant);
}

static size_t live_random(size_t below)
{
	live.random = live.random * 6364136223846793005 + 1442695040888963407;
	return (live.random >> 33) % below;
}

/* What a load reads with, in place of the library's: the memory changes between its parts */
ssize_t pread(int fd, void *buf, size_t size, off_t offset)
{
	const size_t part = live.loads ? size / 16 + 8 : size;
	ssize_t done = 0, n = 0;

	while ((size_t)done < size) {
		if (live.loads && live.random && !live_random(20))
			live_advance(live_random(2) ? live_random(20) : live_random(1000));
		else if (live.loads && !live.random && live.at++ == live.place)
			live_advance(live.jump);
		n = syscall(SYS_pread64, fd, (char *)buf + done,
			    size - done < part ? size - done : part, offset + done);
		if (n <= 0)
			break;
		done += n;
	}
	return done ? done : n;
}

/* The n-th of the events that are written, with what is written besides */
static void live_write(const u32 id[MAKER_STACKS], u64 n)
{
	static u32 short_lived;
	struct maker_event e;
	u64 addr[LIVE_FRAMES], i;

	maker_known(&e, n, id);
	maker_event(&m, &e);
	/* Write the same text repeatedly, so that readers see pages being rewritten */
	if (n % 64 == 0)
		maker_text(&m, id[n / 64 % 6], "other", 9 + n / 64 % 6 * 20, NULL);
	if (!n)
		short_lived = 0;
	/* A stack without events takes the place of another one */
	if (n % 64 == 32) {
		for (i = 0; i < LIVE_FRAMES; i++)
			addr[i] = MAKER_BASE + 0x100000 + 0x1000 * (n % 4096 / 64) + 0x10 * i;
		if (short_lived)
			maker_drop(&m, short_lived);
		short_lived = maker_stack(&m, addr, LIVE_FRAMES, false);
	}
}

/* A stack that takes another one's place has the frames of neither or of one of them */
static bool live_is_whole(const struct stack *stack)
{
	u64 i;

	for (i = 0; stack->nr == LIVE_FRAMES && i < LIVE_FRAMES; i++)
		if (stack->addr[i] != stack->addr[0] + 0x10 * i)
			return false;
	return true;
}

static void live_map(unsigned int events, unsigned int stacks, unsigned int text)
{
	char path[32];
	int a, fd;

	maker_init(&m, events, stacks, text, NULL);
	write_arrays("live");
	for (a = 0; a < ARRAYS; a++) {
		maker_array(&m, a, &live.size[a]);
		snprintf(path, sizeof(path), "live/%s", array_name[a]);
		fd = open(path, O_RDWR);
		live.memory[a] = mmap(NULL, live.size[a], PROT_READ | PROT_WRITE, MAP_SHARED,
				      fd, 0);
		CHECK(live.memory[a] != MAP_FAILED);
		close(fd);
		memset(live.memory[a], 0, live.size[a]);
	}
	maker_free(&m);
}

static void live_unmap(void)
{
	int a;

	for (a = 0; a < ARRAYS; a++) {
		munmap(live.memory[a], live.size[a]);
		free(live.base[a]);
	}
	free(live.word);
	free(live.step);
	memset(&live, 0, sizeof(live));
}

static struct live_sums {
	unsigned int loads, changed, changed_text, rebuilt, lacking;
	u64 events, half;
} live_sums;

/* Load when @before events were written, and while those up to @after are: what is read is right */
static void live_load(struct source *s, u64 before, const volatile u64 *after)
{
	u64 next[2] = { 0 }, total = 0, unsure;
	u32 id[MAKER_STACKS] = { 0 };
	struct page_set set = { 0 };
	struct stack *stack;
	size_t i;

	live.loads = !!live.steps;
	CHECK(!s->ops->load(s, &set));
	live.loads = false;
	record_parse(&r, &set, page_set_newest(&set), NULL);
	CHECK(!r.damaged);
	unsure = (u64)(set.changed + r.rebuilt) * PAGE_EVENTS_MAX + r.half;
	for (i = 0; i < r.events; i++) {
		u64 at = (r.event[i].time - MAKER_LOAD) / 1000;
		struct maker_event e;

		stack = stacks_find(&r.stacks, r.event[i].id);
		/* The test does not know the ids, but each n % MAKER_STACKS has only one */
		if (!id[at % MAKER_STACKS])
			id[at % MAKER_STACKS] = r.event[i].id;
		maker_known(&e, at, id);
		CHECK(event_is(&r.event[i], &e));
		/* Pages that were left out make gaps, but order is kept */
		CHECK(at >= next[at % 2]);
		next[at % 2] = at + 2;
		CHECK(stack && stack->nr == (at % 7 == 6 ? 127 : 9 + at % 7 * 20));
		if (!stack || stack->nr < 9)
			continue;
		CHECK(stack->addr[0] == 0xffffa00000000000 + at % 7);
		CHECK(stack->addr[1] == MAKER_BASE + 0x1000 * (at % 7) + 0x10);
		/* A record in the text has as many lines as the stack has frames */
		CHECK(!stack->text || stack->lines == stack->nr);
	}
	/* No event is counted early, and no more are missing than reported */
	for (i = 0; (stack = stacks_next(&r.stacks, &i)); )
		total += stack->count + stack->in_ring;
	for (i = 0; (stack = stacks_next(&r.stacks, &i)); )
		CHECK(live_is_whole(stack));
	CHECK(total <= *after + 1);
	CHECK(total + unsure >= before);
	live_sums.loads++;
	live_sums.changed += set.changed;
	live_sums.changed_text += set.changed_text;
	live_sums.rebuilt += r.rebuilt;
	live_sums.half += r.half;
	live_sums.events += r.events;
	live_sums.lacking += total < before;
	record_free(&r);
	page_set_clear(&set);
}

static void live_print(const char *what)
{
	printf("# %s: %u loads, %llu events, %u pages of events and %u of text changed while they were read, %u were being rebuilt, %llu events half written; %u times the totals were too small\n",
	       what, live_sums.loads, live_sums.events, live_sums.changed, live_sums.changed_text,
	       live_sums.rebuilt, live_sums.half, live_sums.lacking);
	memset(&live_sums, 0, sizeof(live_sums));
}

/* A load that begins after so many stores; how the memory changes then is in live */
static void live_load_at(struct source *s, size_t instant)
{
	const unsigned int failed = failures;
	const u64 random = live.random;

	live_go_to(instant);
	live.at = 0;
	live_load(s, live.written, &live.written);
	if (failures == failed || failures > 10)
		return;
	if (random)
		printf("# loaded after %zu stores, random state %llu\n", instant, random);
	else
		printf("# loaded after %zu stores, %zu more at place %u\n", instant, live.jump,
		       live.place);
}

/* Sanitizers make a load ten times as long */
#ifdef __SANITIZE_ADDRESS__
#define EVERY	61
#else
#define EVERY	5
#endif

/* Each store while pages are taken is met at each place of a load, and so are laps of the ring */
static void test_live(void)
{
	static const size_t jumps[] = { 1, 2, 5, 20, 900, 3000 };
	size_t taken[3][8] = { 0 }, nr[3] = { 0 }, i, k, n;
	struct source s;
	unsigned int places, a, turn = 0;
	u32 id[MAKER_STACKS];
	u64 head, text, epoch;

	live_map(4, 1, 4);
	maker_init(&m, 4, 1, 4, live.memory);
	maker_known_stacks(&m, id);
	/* All pages are used when it begins */
	for (n = 0; n < 2000; n++)
		live_write(id, n);
	for (a = 0; a < ARRAYS; a++) {
		live.base[a] = xcalloc(2, live.size[a]);
		live.shadow[a] = (char *)live.base[a] + live.size[a];
		memcpy(live.base[a], live.memory[a], live.size[a]);
		memcpy(live.shadow[a], live.memory[a], live.size[a]);
	}
	maker_between = live_note;
	for (; n < 4000; n++) {
		live.written = n;
		head = m.head;
		text = m.text_seq;
		epoch = m.epoch;
		k = live.steps;
		live_write(id, n);
		live_note();
		if (m.head != head && nr[0] < ARRAY_SIZE(taken[0]))
			taken[0][nr[0]++] = k;
		if (m.text_seq != text && nr[1] < ARRAY_SIZE(taken[1]))
			taken[1][nr[1]++] = k;
		if (m.epoch != epoch && nr[2] < ARRAY_SIZE(taken[2]))
			taken[2][nr[2]++] = k;
	}
	maker_between = NULL;
	for (a = 0; a < ARRAY_SIZE(taken); a++)
		CHECK(nr[a] == ARRAY_SIZE(taken[a]));

	CHECK(!source_open(&s, (char *const[]){ "live" }, 1));
	/* How many places there are */
	live.place = UINT_MAX;
	live_load_at(&s, 0);
	places = live.at;
	printf("# %zu stores, %u places in a load\n", live.steps, places);
	/* While a page of events, one of text, or the place of a stack is taken */
	for (a = 0; a < ARRAY_SIZE(taken); a++)
		for (i = 0; i < 24; i++)
			for (k = 0; k < ARRAY_SIZE(jumps); k++)
				for (live.place = 0; live.place < places; live.place++) {
					/* Not all of the product, but each pair of its factors */
					if (turn++ % EVERY)
						continue;
					live.jump = jumps[k];
					live_load_at(&s, taken[a][turn / EVERY % 8] + i);
				}
	live_print("each store at each place");
	live.random = 1;
	for (i = 0; i < 10000 / EVERY; i++)
		live_load_at(&s, live_random(live.steps - 3000));
	live_print("stores at random places, from 1 on");
	source_close(&s);
	live_unmap();
}

/* Beside a writer that is as fast as it can be: what is read is right, however much that is */
static void test_live_race(void)
{
	volatile u64 *written = mmap(NULL, sizeof(*written), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	u32 id[MAKER_STACKS];
	struct source s;
	unsigned int i;
	pid_t pid;

	live_map(16, 4, 8);
	maker_init(&m, 16, 4, 8, live.memory);
	maker_known_stacks(&m, id);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		/* Do not outlive the test, even if it crashes */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* Lags by one at most: an event is visible slightly before it is counted */
		for (; ; ++*written)
			live_write(id, *written);
	}
	CHECK(!source_open(&s, (char *const[]){ "live" }, 1));
	for (i = 0; i < 200; i++)
		live_load(&s, *written, written);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	source_close(&s);
	live_unmap();
	munmap((void *)written, sizeof(*written));
	live_print("beside a writer");
}

/* What happens while heads are read: at the read with this number of page 3's */
static struct followed {
	struct maker m;
	u32 id;
	unsigned int reads, when, rounds, stacks;
	u64 written, passed, lost, evicted;
	bool evicts, begun, ended;
} followed;

static void follow_stack(u64 addr)
{
	maker_firsts = true;
	followed.id = maker_stack(&followed.m, (u64[]){ MAKER_BASE + addr, MAKER_BASE }, 2, false);
}

static void follow_write(unsigned int cpu, unsigned int pages)
{
	const u64 end = followed.m.head + pages;

	do {
		maker_event(&followed.m, &(struct maker_event){ .cpu = cpu, .stack = followed.id,
			   .pid = 7, .comm = "x", .time = MAKER_LOAD + 10 * followed.written++ });
	} while (followed.m.head < end);
}

static int follow_read(struct source *s, enum array a, u64 offset, void *buf, size_t size)
{
	size_t all;

	CHECK(s && offset + size <= (size_t)followed.m.pages[a] * STACKBUF_PAGE_SIZE);
	if (a == ARRAY_EVENTS && size == sizeof(struct stackbuf_page) &&
	    offset == 3 * STACKBUF_PAGE_SIZE && followed.begun &&
	    ++followed.reads == followed.when) {
		/* CPU 0 goes on to page 3, and CPU 1 returns, with a new stack */
		follow_stack(16);
		follow_write(0, 2);
		follow_write(1, 1);
		if (followed.evicts) {
			maker_text(&followed.m, followed.id, "left", 2, NULL);
			maker_at(&followed.m, followed.id)->id = 0;
		}
	}
	memcpy(buf, (char *)maker_array(&followed.m, a, &all) + offset, size);
	/* Its first event is not noted yet */
	if (a == ARRAY_STACKS && !followed.stacks++) {
		struct stackbuf_stacks_page *page = buf;

		stackbuf_first((void *)page->granule[followed.id % 64 - 1])->time = 0;
	}
	return 0;
}

static void follow_begin(void *arg)
{
	((struct followed *)arg)->begun = true;
}

static bool follow_event(void *arg, const struct stackbuf_event *e)
{
	((struct followed *)arg)->passed++;
	return e->id == followed.id;
}

static bool follow_enough(void *arg, u64 lost)
{
	((struct followed *)arg)->lost = lost;
	return followed.rounds++ == 6;
}

static void follow_end(void *arg)
{
	((struct followed *)arg)->ended = true;
}

static void follow_rest(void *arg, u64 lost, u64 evicted)
{
	((struct followed *)arg)->lost = lost;
	((struct followed *)arg)->evicted = evicted;
}

/* Nothing that is still in the ring counts as lost, nor what was overwritten before */
static void test_follow(void)
{
	static const struct source_ops ops = { .read = follow_read };
	const struct follow_hooks hooks = {
		.arg = &followed, .quiet = true, .begin = follow_begin, .event = follow_event,
		.enough = follow_enough, .end = follow_end, .rest = follow_rest,
	};
	struct source s = { .ops = &ops, .name = "made" };
	struct filter none = { 0 };
	struct capture c;
	unsigned int when;
	u64 before;

	for (when = 1; when <= 4; when++) {
		memset(&followed, 0, sizeof(followed));
		followed.when = when;
		followed.evicts = when == 4;
		maker_init(&followed.m, 16, 1, 1, NULL);
		follow_stack(8);
		/* A page of CPU 1, overwritten since */
		follow_write(1, 1);
		followed.m.cpu[1].page->owner = 0;
		followed.m.cpu[1].page = NULL;
		followed.m.cpu[1].chained = false;
		follow_write(0, 16);
		before = followed.written;
		parse(&followed.m, 0);
		capture_start(&c, 0, NULL);
		follow_events(&s, &c.o, &none, &hooks);
		/* Events that no stack is left of are passed, and counted */
		CHECK(followed.evicted == (followed.evicts ? followed.written - before : 0));
		CHECK(followed.begun && followed.ended && followed.reads > when);
		CHECK(!followed.lost && followed.written > before);
		CHECK(followed.passed == followed.written - before);
		CHECK(stacks_find(&r.stacks, followed.id)->first / 1000 == 6123456);
		capture_end(&c);
		record_free(&r);
		maker_free(&followed.m);
	}
}

/* A source whose reads return successive copies of one page */
static struct {
	struct stackbuf_events_page copy[3];
	unsigned int next;
} scripted;

static int scripted_read(struct source *s, enum array a, u64 offset, void *buf, size_t size)
{
	CHECK(s && (a == ARRAY_EVENTS || a == ARRAY_STACKS) && !offset);
	memcpy(buf, &scripted.copy[scripted.next++ % 3], size);
	return 0;
}

/* Copy the page twice: returns its events; @half: half-written ones; @closed: it is closed */
static unsigned int scripted_events(unsigned int *half, bool *closed)
{
	static const struct source_ops ops = { .read = scripted_read };
	struct stackbuf_events_page page;
	struct source s = { .ops = &ops };
	struct maker_event e;
	unsigned int n = 0;
	struct cursor c;
	enum step step;

	scripted.next = 0;
	*half = 0;
	CHECK(!steady_read_pages(&s, ARRAY_EVENTS, 0, &page, 1));
	*closed = !page.owner;
	if (!page.page.seq) {
		/* Its words stay if it was reused in between: for these it counts as changed */
		CHECK(page.word[0] || !scripted.copy[0].page.seq || !scripted.copy[2].page.seq);
		return 0;
	}
	cursor_start(&c, &page);
	while ((step = cursor_next(&c)) != STEP_END) {
		if (step == STEP_EVENT) {
			e = (struct maker_event){ .stack = 1, .tag = n, .tagged = true, .comm = "x",
						 .time = MAKER_LOAD + 10 * n, .pid = 6 + n % 2 };
			CHECK(event_is(&c.event, &e));
			n++;
		} else {
			CHECK(step == STEP_HALF);
			++*half;
			cursor_skip(&c);
		}
	}
	return n;
}

/* Copying is unordered: an event may look complete while its later words are old */
static void test_disorder(void)
{
	struct stackbuf_events_page *head = &scripted.copy[0], *first = &scripted.copy[1],
				    *second = &scripted.copy[2];
	struct maker_event e = { .stack = 1, .comm = "x", .tagged = true };
	unsigned int half, i;
	bool closed;
	u64 *at = NULL;
	size_t last;

	maker_init(&m, 1, 1, 1, NULL);
	for (i = 0; i < 4; i++) {
		if (i == 3)
			*first = *m.events;
		e.time = MAKER_LOAD + 10 * i;
		e.tag = i;
		e.pid = 6 + i % 2;
		at = maker_event(&m, &e);
	}
	last = at - m.events->word;
	*head = *second = *m.events;

	/* An event written between the copies is not reported, complete or not */
	first->owner = 0;
	CHECK(scripted_events(&half, &closed) == 3 && !half && !closed);
	memset(&second->word[last + 1], 0, 4 * sizeof(u64));
	CHECK(scripted_events(&half, &closed) == 3 && !half && !closed);

	/* An event that is complete in the first copy is taken from the second */
	*second = *m.events;
	*first = *m.events;
	memset(&first->word[last + 1], 0, 4 * sizeof(u64));
	CHECK(scripted_events(&half, &closed) == 4 && !half && !closed);
	first->owner = 0;
	CHECK(scripted_events(&half, &closed) == 4 && !half && closed);
	first->word[last] |= STACKBUF_EVENT_WRITING;
	CHECK(scripted_events(&half, &closed) == 3 && half == 1 && !closed);
	second->word[last] |= STACKBUF_EVENT_WRITING;
	CHECK(scripted_events(&half, &closed) == 3 && half == 1 && closed);

	/* Words of the previous lap, although the page's number is new at the end */
	*second = *m.events;
	head->page.seq++;
	CHECK(!scripted_events(&half, &closed));
	/* The copy between is of the previous lap */
	first->word[0] ^= 1ULL << STACKBUF_EVENT_TIME_SHIFT;
	CHECK(!scripted_events(&half, &closed));
}

/* Three copies of a page of the table: what is whole in the one between */
static void test_stacks_disorder(void)
{
	static const struct source_ops ops = { .read = scripted_read };
	struct stackbuf_stacks_page page, copy[3];
	struct source s = { .ops = &ops };
	struct stackbuf_stack *raw[3];
	struct stacks stacks = { 0 };
	unsigned int i, other, at;
	struct stack *stack;
	u64 addr[8];
	u32 id;

	maker_init(&m, 1, 1, 1, NULL);
	for (i = 0; i < ARRAY_SIZE(addr); i++)
		addr[i] = MAKER_BASE + i;
	/* With so many frames the time of its first event is where a granule begins */
	maker_firsts = true;
	id = maker_stack(&m, addr, ARRAY_SIZE(addr), false);
	maker_firsts = false;
	at = id % 64 - 1;
	/* The copy that has another id; 3: none, and the first lacks the first event; 4: none */
	for (other = 0; other <= 4; other++) {
		for (i = 0; i < 3; i++) {
			copy[i] = *m.stacks;
			raw[i] = (void *)copy[i].granule[at];
			raw[i]->count = 2 + i;
		}
		if (other < 3)
			raw[other]->id ^= 1U << m.info->id_bits;
		else if (other == 3)
			stackbuf_first(raw[0])->time = 0;
		scripted.next = 0;
		memcpy(scripted.copy, copy, sizeof(copy));
		CHECK(!steady_read_pages(&s, ARRAY_STACKS, 0, &page, 1));
		CHECK(!stacks_parse(&stacks, &page) && stacks.nr == (other >= 3));
		stack = stacks_find(&stacks, id);
		CHECK(!stack || (stack->count == 3 && !stack->first == (other == 3)));
		stacks_empty(&stacks);
	}
}

/* Two copies of a page of text: only records that are whole in both are used */
static void test_text_disorder(void)
{
	char page[STACKBUF_PAGE_SIZE], *second, *third;
	size_t at[3], i;

	maker_init(&m, 1, 1, 1, NULL);
	for (i = 0; i < 3; i++) {
		maker_text(&m, i + 1, "other", 9, NULL);
		at[i] = m.text_pos;
	}
	second = page + at[0];
	third = page + at[1];

	/* Equal copies; then a record that was added between them, or is being written */
	memcpy(page, m.text, sizeof(page));
	CHECK(text_drop_torn(page, m.text) && !memcmp(page, m.text, sizeof(page)));
	memset(third, 0, at[2] - at[1]);
	CHECK(text_drop_torn(page, m.text) && !memcmp(page, m.text, at[1]) && !*third);
	memcpy(page, m.text, sizeof(page));
	memset(third, ' ', at[2] - at[1]);
	CHECK(text_drop_torn(page, m.text) && !memcmp(page, m.text, at[1]) && !*third);
	memcpy(page, m.text, sizeof(page));
	*third = '\0';
	CHECK(text_drop_torn(page, m.text) && !memcmp(page, m.text, at[1]) && !*third);

	/* The first copy has a new record up to any byte, and older content after that */
	for (i = at[0] + 1; i < at[1]; i++) {
		memcpy(page, m.text, sizeof(page));
		memset(page + i, i % 2 ? ' ' : 0, at[1] - i);
		CHECK(text_drop_torn(page, m.text) && !memcmp(page, m.text, at[0]) && !*second);
	}

	/* The page is being blanked while it is copied again: nothing of it */
	for (i = at[0]; i < at[1]; i++) {
		char again[STACKBUF_PAGE_SIZE];

		memcpy(page, m.text, sizeof(page));
		memcpy(again, m.text, i);
		memset(again + i, ' ', sizeof(again) - i);
		CHECK(!text_drop_torn(page, again) && !page[0] && !page[at[0]]);

		/* Another record begins there, and the earlier copy has older content */
		memcpy(page, m.text, sizeof(page));
		memcpy(again, m.text, sizeof(again));
		again[i] = '\0';
		CHECK(text_drop_torn(page, again) && !memcmp(page, m.text, at[0]) && !*second);
	}

	/* The page is reused between the copies */
	memcpy(page, m.text, sizeof(page));
	page[20]++;
	CHECK(!text_drop_torn(page, m.text) && !page[0] && !page[at[0]]);
	CHECK(text_drop_torn(page, m.text) && !page[0]);
}

/* Two copies of a page of outstanding objects and their sums, of deepest stacks, of modules */
static void test_info_disorder(void)
{
	struct stackbuf_pair_open_page open = { .page.kind = STACKBUF_PAIR_OPEN }, again;
	struct stackbuf_depths_page depths = { .page.kind = STACKBUF_DEPTHS }, deeper;
	struct stackbuf_pair_bucket *b = &open.bucket[14], *last = &again.bucket[14];
	static struct stackbuf_info info = { .page.kind = STACKBUF_INFO }, newer;
	struct stackbuf_pair_stacks_page sums = { .page.kind = STACKBUF_PAIR_STACKS }, later;
	unsigned int i;

	for (i = 0; i < STACKBUF_PAIR_BUCKET; i++) {
		b->key[i] = 100 + i;
		b->object[i] = (struct stackbuf_pair_object){ 5 + i, 64, 1, 0 };
	}
	again = open;
	last->key[1] = 0;
	last->object[2].time++;
	last->object[3].value++;
	last->object[4].stack = 0;
	last->object[7].uses++;
	info_drop_torn(&open, &again);
	for (i = 0; i < STACKBUF_PAIR_BUCKET; i++)
		CHECK(b->key[i] == (i == 0 || i == 5 || i == 6 ? 100 + i : 0));

	for (i = 0; i < STACKBUF_PAGE_DEPTHS; i++)
		depths.depth[i].seq = 2;
	deeper = depths;
	deeper.depth[1].words[3] = 7;
	deeper.depth[4].seq = 4;
	info_drop_torn(&depths, &deeper);
	for (i = 0; i < STACKBUF_PAGE_DEPTHS; i++)
		CHECK(depths.depth[i].seq == (i == 1 || i == 4 ? 3 : 2));

	for (i = 0; i < STACKBUF_MODULES; i++)
		info.module[i] = (struct stackbuf_module){ .time = 9, .name = "one" };
	newer = info;
	newer.module[1].time = 0;
	newer.module[2].build_id[19] = 1;
	newer.module[STACKBUF_MODULES - 1].name[0] = 'O';
	info_drop_torn(&info, &newer);
	for (i = 0; i < STACKBUF_MODULES; i++)
		CHECK(!info.module[i].time == (i == 1 || i == 2 || i == STACKBUF_MODULES - 1));

	/* A time was counted after the sums were read, before the counts were */
	for (i = 0; i < STACKBUF_PAGE_PAIR_STACKS; i++)
		sums.stack[i] = (struct stackbuf_pair_stack){
			.stack = 1ULL << 32 | i, .sum = 100, .longest = 60, .closed = { 2 },
		};
	later = sums;
	sums.stack[3].closed[5]++;
	later.stack[3].sum = 9100;
	later.stack[3].longest = 9000;
	later.stack[4].stack = 2ULL << 32 | 4;
	later.stack[4].sum = 7;
	info_drop_torn(&sums, &later);
	CHECK(sums.stack[3].sum == 9100 && sums.stack[3].longest == 9000);
	CHECK(sums.stack[4].sum == 100 && sums.stack[2].sum == 100);
}

/* A load beside what was kept of one before a reset, when the clock began at the same date */
static void test_newest(void)
{
	struct instance list[] = {
		{ .id = 9, .have_info = true, .kept = true }, { .id = 5, .have_info = true },
		{ .id = 3, .have_info = true },
	};

	CHECK(instance_default(list, 3)->id == 5);
	list[1].missing = 1;
	CHECK(instance_default(list, 3)->id == 3);
	CHECK(instance_default(list, 2)->id == 9);
	list[0].missing = 1;
	CHECK(instance_default(list, 2)->id == 9 && !instance_default(list, 0));
}

/* An object that was being written when the memory was copied */
static void test_half_open(void)
{
	static const char *off = "they are off";
	union stackbuf_pair_page page[6] = { 0 };
	struct found_page found[6] = { 0 };
	struct record rec = {
		.have_info = true, .pair = found, .pairs = 6,
		.info = { .info_size = sizeof(page), .pair_pages = 6, .page.seq = 1 },
	};
	struct stackbuf_event event = { 0 };
	struct pair_totals t;
	unsigned int i;

	rec.event = &event;
	rec.events = 1;
	for (i = 0; i < 6; i++)
		found[i] = (struct found_page){
			.data = &page[i], .index = i,
			.kind = !i ? STACKBUF_PAIRS : i == 1 ? STACKBUF_PAIR_STACKS :
				STACKBUF_PAIR_OPEN,
		};
	page[0].pairs.pair[0] = (struct stackbuf_pair){ .name = "a:b" };
	pairs_read(&rec, 1, PAIR_ALWAYS, &t);
	CHECK(!t.name[0]);
	pairs_free(&t);
	page[0].pairs.pair[0].probes = 1;
	page[3].open.bucket[7].key[2] = 100;
	pairs_read(&rec, 1, PAIR_ALWAYS, &t);
	CHECK(!strcmp(t.name, "a:b") && t.half == 1 && t.lost == 1);
	t.lost = 0;
	CHECK(!pairs_exact(&t));
	pairs_free(&t);
	rec.live = true;
	pairs_read(&rec, 1, PAIR_ALWAYS, &t);
	t.lost = 0;
	CHECK(!t.half && pairs_exact(&t));
	pairs_free(&t);
	/* In a dump a task in doubt is told, in a live copy only after a second */
	page[1].stacks.stack[0].stack = 1ULL << 32 | 77;
	page[3].open.bucket[7].object[2] = (struct stackbuf_pair_object){
		.stack = 1 | STACKBUF_PAIR_IN_DOUBT, .time = 5000000000,
	};
	stacks_get(&rec.stacks, 77);
	for (i = 0; i < 3; i++) {
		event.time = i == 2 ? 6000000000 : 5999999999;
		rec.live = i;
		pairs_read(&rec, 1, PAIR_ALWAYS, &t);
		CHECK(t.doubt == (i != 1) && !t.half && !t.all.open);
		pairs_free(&t);
	}
	page[1].stacks.stack[0].stack = 0;
	page[3].open.bucket[7].object[2].stack = 0;
	stacks_empty(&rec.stacks);
	rec.probes_off = off;
	pairs_read(&rec, 1, PAIR_ALWAYS, &t);
	t.lost = 0;
	CHECK(t.off == off && !pairs_exact(&t));
	pairs_free(&t);
}

/* --------------------------------------------------------------- functions --- */

static const char kallsyms[] =
	"ffffffff81000000 T vfs_read\n"
	"ffffffff81000100 t vfs_read.cold\n"
	"ffffffff81000200 t vfs_readv.isra.0\n"
	"ffffffff81000300 D vfs_data\n"
	"ffffffff81000400 W vfs_weak\n"
	"ffffffff81000500 t vfs_twin\n"
	"ffffffff81000600 t vfs_twin\n"
	"ffffffff81000700 T vfs_black\n"
	"ffffffff81000800 T vfs_notrace\n"
	"ffffffff81000900 T __SCT__vfs_call\n"
	"ffffffff82000000 T _sinittext\n"
	"ffffffff82000100 t vfs_init\n"
	"ffffffffc0000000 t vfs_read\t[mod]\n"
	"ffffffffc0000100 t vfs_extra\t[mod]\n"
	"ffffffffc0000200 t vfs_bpf\t[bpf]\n"
	"ffffffffc0000300 t vfs_own\t[stackbuf]\n";

static const char available[] =
	"vfs_read\nvfs_read.cold\nvfs_readv.isra.0\nvfs_weak\nvfs_twin\nvfs_black\n"
	"__SCT__vfs_call\nvfs_read [mod]\nvfs_extra [mod]\nvfs_own [stackbuf]\n";

static void choose_all(struct patterns *p, bool lists, struct matches *c)
{
	patterns_choose(p, "kallsyms", lists ? "blacklist" : "nothing",
			lists ? "available" : "nothing", "events", true, c);
}

/* The functions that a pattern chooses, separated by blanks */
static const char *choose(const char *text, bool regex, bool lists, struct matches *c)
{
	static char result[1024];
	struct patterns p = { 0 };
	size_t i;

	*result = '\0';
	patterns_add(&p, text, regex);
	choose_all(&p, lists, c);
	for (i = 0; i < c->nr; i++)
		sprintf(result + strlen(result), "%s%s", i ? " " : "", c->name[i]);
	matches_free(&(struct matches){ .name = c->name, .nr = c->nr });
	patterns_free(&p);
	return result;
}

static void test_patterns(void)
{
	static const struct {
		const char *text;
		size_t matched, chosen;
	} several[] = {
		{ "vfs_r*", 3, 3 }, { "nosuch_*", 0, 0 }, { "vfs_*", 10, 5 }, { "vfs_twi?", 2, 0 },
		{ "vfs_read", 0, 0 },
	};
	struct patterns p = { 0 };
	struct matches c;
	size_t i;

	write_text("kallsyms", kallsyms);
	write_text("available", available);
	write_text("blacklist", "0xffffffff81000700-0xffffffff81000780\tvfs_black\n");

	CHECK(!strcmp(choose("vfs_*", false, true, &c),
		      "mod:vfs_extra mod:vfs_read vfs_read vfs_readv.isra.0 vfs_weak"));
	CHECK(c.ambiguous == 1 && !strcmp(c.example, "vfs_twin"));
	/* Without the lists of functions that allow no probe, the kernel must refuse them */
	CHECK(!strcmp(choose("vfs_[bn]*", false, false, &c), "vfs_black vfs_notrace"));
	CHECK(!strcmp(choose("vfs_[ei]*", false, false, &c), "mod:vfs_extra"));
	CHECK(!strcmp(choose("vfs_rea?", false, true, &c), "mod:vfs_read vfs_read"));
	CHECK(!strcmp(choose("mod:*", false, true, &c), "mod:vfs_extra mod:vfs_read"));
	CHECK(!strcmp(choose("*_weak@arg2", false, true, &c), "vfs_weak@arg2"));
	CHECK(!strcmp(choose("vfs_(read|weak)", true, true, &c), "mod:vfs_read vfs_read vfs_weak"));
	/* A pattern must match the whole name */
	CHECK(!strcmp(choose("read", true, true, &c), ""));
	CHECK(!strcmp(choose("mod:.*read", true, true, &c), "mod:vfs_read"));
	/* Plain names are passed to the module unchecked */
	CHECK(!strcmp(choose("no:such+0x10@retaddr", false, true, &c), "no:such+0x10@retaddr"));
	/* ... but for the name of a module, as lsmod and the kernel print it */
	CHECK(!strcmp(choose("snd-hda-intel:such+0x10", false, true, &c),
		      "snd_hda_intel:such+0x10"));
	CHECK(!strcmp(choose("0xffffffff81000000@arg1", false, true, &c),
		      "0xffffffff81000000@arg1"));

	/* Events that other tools created have no tracepoints */
	CHECK(!mkdir("events", 0700) && !mkdir("events/vfs", 0700) &&
	      !mkdir("events/vfs/open", 0700) && !mkdir("events/vfs/read", 0700) &&
	      !mkdir("events/syscalls", 0700) && !mkdir("events/syscalls/read", 0700));
	write_text("dynamic_events", "p:kprobes/open vfs_open\nr8:vfs/read vfs_read\n");
	CHECK(!strcmp(choose("t:*", false, true, &c), "t:vfs:open"));
	unlink("dynamic_events");
	CHECK(strstr(choose("t:vfs:*", false, true, &c), "t:vfs:read"));

	/* What each of several has found */
	for (i = 0; i < ARRAY_SIZE(several); i++)
		patterns_add(&p, several[i].text, false);
	choose_all(&p, true, &c);
	for (i = 0; i < ARRAY_SIZE(several); i++)
		CHECK(p.pattern[i].matched == several[i].matched &&
		      p.pattern[i].chosen == several[i].chosen);
	matches_free(&c);
	patterns_free(&p);
}

static bool matches(const char *text, bool regex, const char *frame)
{
	struct frame f = frame_take((char *)frame, 0, false);
	struct patterns p = { 0 };
	bool yes;

	patterns_add(&p, text, regex);
	yes = patterns_match_frame(&p, &f);
	patterns_free(&p);
	return yes;
}

static void test_frames_match(void)
{
	CHECK(matches("vfs_read", false, "vfs_read+0x0/0x20"));
	CHECK(matches("vfs_read", false, "vfs_read+0x1a/0x20 [mod]"));
	CHECK(!matches("vfs_read", false, "vfs_readv+0x0/0x20"));
	CHECK(!matches("vfs_readv", false, "vfs_read+0x0/0x20"));
	CHECK(matches("mod:vfs_read", false, "vfs_read+0x0/0x20 [mod]"));
	CHECK(!matches("mod:vfs_read", false, "vfs_read+0x0/0x20"));
	CHECK(matches("snd-hda:azx", false, "azx+0x0/0x20 [snd_hda]"));
	CHECK(!matches("mod:vfs_read", false, "vfs_read+0x0/0x20 [other]"));
	CHECK(matches("vfs_read+0x10", false, "vfs_read+0x10/0x20"));
	CHECK(matches("vfs_read+16@retaddr", false, "vfs_read+0x10/0x20"));
	CHECK(!matches("vfs_read+0x10", false, "vfs_read+0x0/0x20"));
	CHECK(matches("vfs_*", false, "vfs_read+0x0/0x20"));
	CHECK(!matches("fs_*", false, "vfs_read+0x0/0x20"));
	CHECK(matches("vfs_r.*", true, "vfs_read+0x0/0x20 [mod]"));
	CHECK(!matches("vfs_r", true, "vfs_read+0x0/0x20"));
	CHECK(matches("0xffffffff81000000", false, "0xffffffff81000000"));
	CHECK(!matches("0xffffffff81000000", false, "0xffffffff81000001"));
	CHECK(!matches("vfs_read", false, "?"));
}

/* ---------------------------------------------------------- paths of errors --- */

static struct error_path path_seen[16];
static size_t paths_seen;

static void see_path(void *arg, const struct error_path *p)
{
	(void)arg;
	path_seen[paths_seen++] = *p;
}

static bool g_fails(void *arg, const struct frame *f)
{
	(void)arg;
	return *f->name != 'G';
}

static int first_path(const void *a, const void *b)
{
	const struct error_path *x = a, *y = b;

	return compare_u64(x->event.time, y->event.time);
}

/*
 * The paths of events "PID FRAMES[+] ERROR", in order, as "ABC2 ": errno 2, returned by A, B and C.
 * In place of the blank "i": of an interrupt on the CPU of that number, "d": of its idle task, "=":
 * at the time of the one before, "l": long after it, "n": of a task by another name.  A frame is a
 * function's letter and its offset, "+": the trace was cut.  Small functions have no probe; "!" is
 * a part of B, "?" a function without a name.
 */
static const char *paths_of(const char *events)
{
	static char text[512];
	struct errors e = { .done = see_path, .can_fail = g_fails };
	struct stacks made = { 0 };
	unsigned int pid, error, n, len = 0;
	u64 time = 0;
	char interrupt, words[64], *w;

	patterns_add(&e.returns, "[A-Y]%return@error", false);
	patterns_add(&e.returns, "Z%return@null", false);
	patterns_add(&e.others, "[XY]@arg1", false);
	paths_seen = 0;
	for (; *events; events += n + strspn(events + n, ",")) {
		struct stackbuf_event event = { 0 };
		struct stack *s;
		u64 id = 0;

		n = strcspn(events, ",");
		if (sscanf(events, "%u%c%63s %u", &pid, &interrupt, words, &error) != 4)
			die(1, "%s: no events", events);
		for (w = words; *w; w++)
			id = 31 * id + *w;
		s = stacks_get(&made, id);
		for (w = words; *w && *w != '+' && !s->named; w += 2)
			s->nr++;
		s->cut = !!strchr(words, '+');
		s->origin = STACKBUF_AT_PROBE;
		if (!s->named) {
			s->addr = xcalloc(s->nr + 1, sizeof(u64));
			s->frame = xcalloc(s->nr + 1, sizeof(*s->frame));
		}
		for (w = words; *w && s->named < s->nr; w += 2) {
			s->addr[s->named] = 0x1000 * *w + 0x10 * (w[1] - '0');
			s->frame[s->named] = frame_take(*w == '!' ? xstrdup("B.cold+0x10/0x20") :
							*w == '?' ? xstrdup("0xffffffffc0001000") :
							xasprintf("%c+0x%x/0x1000", *w,
								  0x10 * (w[1] - '0')),
							s->addr[s->named], false);
			s->named++;
		}
		time += interrupt == 'l' ? NSEC_PER_SEC + 1 : interrupt != '=';
		event.time = time;
		event.comm[0] = interrupt == 'n' ? 'n' : 'o';
		event.id = id;
		event.pid = interrupt == 'd' ? 0 : pid;
		event.cpu = pid;
		event.context = interrupt == 'i' ? STACKBUF_HARDIRQ : STACKBUF_TASK;
		event.tagged = error != 9999;
		event.tag = -(u64)error;
		errors_event(&e, &event, s);
	}
	errors_end(&e);
	sort(path_seen, paths_seen, sizeof(*path_seen), first_path);
	for (n = 0; n < paths_seen; n++) {
		const struct error_path *p = &path_seen[n];
		unsigned int i;

		for (i = 0; i < p->stack->nr; i++)
			if (error_returned(p, i))
				len += sprintf(text + len, "%c", *p->stack->frame[i].name);
		len += sprintf(text + len, "%u ", p->error);
	}
	text[len] = '\0';
	len += sprintf(text + len, "%s", e.unsure ? "unsure " : "");
	len += sprintf(text + len, "%s", e.unset ? "unset " : "");
	len += sprintf(text + len, "%s", e.unnamed ? "unnamed " : "");
	len += sprintf(text + len, "%s", e.cannot_fail ? "cannot " : "");
	sprintf(text + len, "%s", e.gone ? "gone " : "");
	errors_free(&e);
	stacks_empty(&made);
	return text;
}

#define PATHS(events, are) do {							\
	const char *is = paths_of(events);					\
										\
	if (strcmp(is, are)) {							\
		printf("# %s: %s\n", events, is);				\
		failures++;							\
	}									\
} while (0)

static void test_errors(void)
{
	struct error_set set = { 0 };

	/* Passed on to the end, and of a function between that has no probe */
	PATHS("1 C0B1A2m3 22,1 B0A2m3 22,1 A0m3 22", "CBA22 ");
	PATHS("1 C0b1A2m3 22,1 A0m3 22", "CA22 ");
	/* Handled; twice; another number */
	PATHS("1 C0B1A2 22,1 C0B1A2 22,1 B0A2 22", "C22 CB22 ");
	PATHS("1 C0B1A2 22,1 B0A2 22,1 B0A2 22", "CB22 B22 ");
	PATHS("1 C0B1A2 22,1 B0A2 5,1 A0 5", "C22 BA5 ");
	/* What cleans up fails as well, inside of the caller */
	PATHS("1 C0B1A2 22,1 E0F2B3A2 5,1 B0A2 22,1 A0 22", "CBA22 E5 ");
	/* The caller has returned something else before, or was called anew: it has its own */
	PATHS("1 C0B1A2m3 22,1 E0A4m3 5,1 B0A2m3 22", "C22 E5 B22 ");
	PATHS("1 C0B1A2m3 22,1 x0A4m3 9999,1 B0A2m3 22,1 A0m3 22", "C22 BA22 ");
	PATHS("1 C0B1A2m3 22,1 B0A2m3 9999,1 B0A2m3 22", "C22 B22 ");
	PATHS("1 C0B1A2m3 22,1 x0A4m3 9999,1 A0m3 22", "CA22 ");
	/* Another function by the same pointer */
	PATHS("1 C0B1A2 22,1 E0A2 22,1 A0 22", "C22 EA22 ");
	/* A recursion */
	PATHS("1 A0A1A1m2 22,1 A0A1m2 22,1 A0m2 22", "AAA22 ");
	/* Other tasks, and an interrupt */
	PATHS("1 C0B1A2 22,2 C0B1A2 22,1 B0A2 22,2 E0A2 22,1 A0 22,2 B0A2 22", "CBA22 C22 E22 B22 ");
	PATHS("1 C0B1A2 22,1iE0i1C5B1A2 22,1 B0A2 22", "CB22 E22 ");
	PATHS("0dC0B1A2 22,1dB0A2 22", "C22 B22 ");
	/* Traces that were cut: the shorter one goes further out */
	PATHS("1 D0C1B2A3+ 22,1 C0B2A3m4+ 22,1 A0m4 22", "DC22 A22 ");
	PATHS("1 E0C1B2A3+ 22,1 C0B2A4m4 22", "E22 C22 ");
	PATHS("1 E0C1B2A3+ 22,1 C0B2 22", "E22 C22 ");
	PATHS("1 E0C1B2A3+ 22,1 x0A3m4 9999,1 C0B2A3m4 22", "E22 C22 ");
	/* Endbr64 before the place of the probe */
	PATHS("1 C0B1A2 22,1 H0 9999", "C22 ");
	/* NULL where it is asked for; a function that two probes record, unlike two calls of it */
	PATHS("1 C0Z1A2 0,1 Z0A2 0", "Z0 ");
	PATHS("1 D0B1 22,1=D0B1 22,1 B0 22", "DB22 ");
	PATHS("1 D0B1 22,1=D0B1 22,1 D0B1 22,1=D0B1 22", "D22 D22 ");
	/* What ends by calling the function has no frame, and returns with it */
	PATHS("1 C0A1m2 22,1=B0A1m2 22,1 A0m2 22,1=D0m2 22", "CA22 ");
	PATHS("1 C0A1m2 22,1 B0A1m2 22,1 A0m2 22,1=D0m2 22", "C22 BA22 ");
	PATHS("1 C0A1m2 22,1=B0A2m2 22", "C22 B22 ");
	PATHS("1 E0C1B2A3+ 22,1=D0C1B2A3m4+ 22,1 C0B2A3m4 22", "EC22 ");
	/* What may be something else */
	PATHS("1 X0A2 22", "X22 unsure ");
	PATHS("1 y0A2 22", "unset ");
	PATHS("1 ?0A2 22", "unnamed ");
	PATHS("1 G0A2 22", "cannot ");
	/* The part that the compiler puts elsewhere; another task with the number, or long after */
	PATHS("1 C0b1A2m3 22,1 B0A2m3 22", "C22 B22 ");
	PATHS("1 C0B1A2m3 22,1nB0A2m3 22", "C22 B22 ");
	PATHS("1 C0B1A2m3 22,1lB0A2m3 22", "C22 B22 ");
	PATHS("1 C0!1A2m3 22,1 B0A2m3 22", "CB22 ");
	/* Bounds */
	PATHS("1 C0 4095,1 C0 4096,1 C0 0", "C4095 ");

	CHECK(!strcmp(error_name(22), "-EINVAL") && !strcmp(error_name(11), "-EAGAIN") &&
	      !strcmp(error_name(512), "-ERESTARTSYS") && !strcmp(error_name(4000), "-4000") &&
	      !strcmp(error_name(0), "NULL"));
	CHECK(error_is_usual(11) && error_is_usual(512) && error_is_usual(529) &&
	      !error_is_usual(22) && !error_is_usual(524));
	CHECK(!error_set_add(&set, "EINVAL,-12,-EFSCORRUPTED") && set.has[22] && set.has[12] &&
	      set.has[117] && !set.has[13]);
	CHECK(error_set_add(&set, "EINVAL,") && error_set_add(&set, "4096") &&
	      error_set_add(&set, "einval") && error_set_add(&set, "0") && error_set_add(&set, ""));
	CHECK(!error_set_add(&set, "all") && set.has[4095] && set.has[0]);
}

/* ------------------------------------------------- build ids and terminals --- */

#define ID_A	"0123456789abcdef0123456789abcdef01234567"
#define ID_B	"89abcdef0123456789abcdef0123456789abcdef"

static void test_build_ids(void)
{
	static const char notes[] =
		"\11\0\0\0\2\0\0\0\1\0\0\0stackbuf\0\0\0\0xy\0\0"
		"\4\0\0\0\24\0\0\0\3\0\0\0GNU\0"
		"\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67";
	struct record again = { 0 };
	struct symbols symbols;
	struct build_ids ids = { 0 };
	struct page_set set = { 0 };
	char *hex;
	struct source s;
	size_t cut;

	/* The notes, whole and cut after each byte */
	for (cut = 0; cut < sizeof(notes); cut++) {
		write_file("notes", notes, sizeof(notes) - 1 - cut);
		hex = build_id_of_notes("notes");
		CHECK(cut ? !hex : hex && !strcmp(hex, ID_A));
		free(hex);
	}
	CHECK(!build_id_of_notes("no notes"));

	build_ids_add(&ids, "mine", ID_A);
	build_ids_add(&ids, "mine", ID_B);
	build_ids_add(&ids, "odd", "012");
	build_ids_add(&ids, "none", "");
	build_ids_add(&ids, "words", "not hex at all");
	CHECK(ids.nr == 1 && !strcmp(build_ids_find(&ids, "mine", 0), ID_A));
	build_ids_snapshot(&ids, "pages 1\nkernel-id " ID_B "\nmodule-id other " ID_A
			   "\nmodule-id ../x " ID_A "\nmodule-id  " ID_A "\nmodule-id cut 0123");
	CHECK(ids.nr == 3 && !strcmp(build_ids_find(&ids, "", 0), ID_B) &&
	      !strcmp(build_ids_find(&ids, "other", 0), ID_A));
	build_ids_free(&ids);

	/* Three loads: a time selects one; without a time the id is known only if all are equal */
	maker_init(&m, 1, 1, 1, NULL);
	for (cut = 0; cut < 3; cut++) {
		struct stackbuf_module *module = &m.info->module[cut];

		strcpy(module->name, "mine");
		module->time = (cut + 1) * 1000000;
		memset(module->build_id, 0x11 * (1 + cut / 2), sizeof(module->build_id));
	}
	m.info->modules_loaded = 3;
	build_ids_record(&ids, m.info);
	build_ids_add(&ids, "mine", ID_B);
	build_ids_add(&ids, "older", ID_B);
	CHECK(!build_ids_find(&ids, "mine", 999000) && !build_ids_find(&ids, "mine", 0));
	CHECK(!strncmp(build_ids_find(&ids, "mine", 1000000), "1111", 4) &&
	      !strncmp(build_ids_find(&ids, "mine", 2999000), "1111", 4) &&
	      !strncmp(build_ids_find(&ids, "mine", 3000000), "2222", 4));
	CHECK(!strcmp(build_ids_find(&ids, "older", 1000), ID_B));
	build_ids_free(&ids);
	m.info->module[2].time = 0;
	build_ids_record(&ids, m.info);
	CHECK(!strncmp(build_ids_find(&ids, "mine", 0), "1111", 4) &&
	      !strncmp(build_ids_find(&ids, "mine", 9999000), "1111", 4));
	build_ids_free(&ids);
	/* More loads than the record holds: nothing is known about the earliest */
	m.info->modules_loaded = STACKBUF_MODULES + 1;
	memset(m.info->module[1].build_id, 0, sizeof(m.info->module[1].build_id));
	build_ids_record(&ids, m.info);
	build_ids_add(&ids, "older", ID_B);
	build_ids_add(&ids, "", ID_B);
	CHECK(!build_ids_find(&ids, "older", 999000) && !build_ids_find(&ids, "older", 0) &&
	      !strcmp(build_ids_find(&ids, "older", 1000000), ID_B) &&
	      !strcmp(build_ids_find(&ids, "", 0), ID_B) && !build_ids_find(&ids, "mine", 2000000));
	build_ids_free(&ids);
	maker_free(&m);

	/* Ids in a snapshot are there when it is read, and saved again */
	maker_record(&m, 16, 4, 8, 10);
	memcpy(m.info->module_build_id, notes + sizeof(notes) - 21, 20);
	write_arrays("with ids");
	CHECK(load(&s, &set, &r, "with ids"));
	symbols_init(&symbols, &r, NULL);
	CHECK(!strcmp(build_ids_find(&symbols.ids, "stackbuf", 0), ID_A));
	build_ids_add(&symbols.ids, "", ID_A);
	build_ids_add(&symbols.ids, "mine", ID_B);
	snapshot_write("ids", &set, &r, &symbols);
	symbols_free(&symbols);
	unload(&s, &set, &r);
	CHECK(load(&s, &set, &again, "ids"));
	symbols_init(&symbols, &again, NULL);
	CHECK(symbols.ids.nr == 3 && !strcmp(build_ids_find(&symbols.ids, "", 0), ID_A) &&
	      !strcmp(build_ids_find(&symbols.ids, "mine", 0), ID_B));
	snapshot_write("ids2", &set, &again, &symbols);
	CHECK(!system("cmp ids ids2"));
	symbols_free(&symbols);
	unload(&s, &set, &again);
}

static void test_printable(void)
{
	static const struct {
		const char *text, *shown;
	} texts[] = {
		{ "fs/read_write.c", "fs/read_write.c" },
		{ "\x1b[31mred\r\n\t\x7f", "?[31mred????" },
		/* 8-bit control characters: alone and as UTF-8 */
		{ "\2332J\220", "?2J?" },
		{ "\302\2332J \302\200 \302\240", "??2J ?? \302\240" },
		{ "gr\303\274\303\237e \342\202\254 \360\237\220\247",
		  "gr\303\274\303\237e \342\202\254 \360\237\220\247" },
		/* Latin-1, a cut sequence, an overlong form, a surrogate, a code above the last */
		{ "gr\374\337e", "gr??e" },
		{ "\xe2\x82", "??" },
		{ "\xc0\x9b \xc1\xbf \xe0\x82\x9b \xf0\x80\x82\x9b", "?? ?? ??? ????" },
		{ "\xed\xa0\x80 \xf4\x90\x80\x80 \xff", "??? ???? ?" },
	};
	char text[64];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		json_t *j;

		snprintf(text, sizeof(text), "%s", texts[i].text);
		CHECK(printable(text) == text && !strcmp(text, texts[i].shown));
		j = json_string(text);
		CHECK(j);
		json_decref(j);
	}
}

/* ---------------------------------------------------------------- files --- */

static unsigned int files_here(void)
{
	unsigned int n = 0;
	DIR *dir = opendir(".");
	struct dirent *e;

	while ((e = readdir(dir)))
		n += *e->d_name != '.' || strlen(e->d_name) > 2;
	closedir(dir);
	return n;
}

static bool is_old(void)
{
	char text[4] = "";
	FILE *f = fopen("kept", "r");
	bool old = f && fread(text, 1, sizeof(text), f) == 3 && !memcmp(text, "old", 3);

	if (f)
		fclose(f);
	return old;
}

/* A signal while a file is written: the old file stays, and no other is left */
static void test_signals(void)
{
	static const int sent[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU };
	struct outfile out;
	int status;
	size_t i;
	pid_t child;

	CHECK(!mkdir("signals", 0700) && !chdir("signals"));
	for (i = 0; i < ARRAY_SIZE(sent); i++) {
		write_text("kept", "old");
		fflush(stdout);
		child = fork();
		if (!child) {
			setrlimit(RLIMIT_CORE, &(struct rlimit){ 0 });
			/* A shell may have set signals of background processes to be ignored */
			signal(sent[i], SIG_DFL);
			if (outfile_open(&out, "kept", 0600, false) ||
			    fputs("half", out.file) < 0 || fflush(out.file) ||
			    files_here() != 2)
				_exit(1);
			raise(sent[i]);
			_exit(2);
		}
		CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
		      WTERMSIG(status) == sent[i]);
		CHECK(is_old() && files_here() == 1);
	}

	/* A signal that was ignored stays ignored */
	fflush(stdout);
	child = fork();
	if (!child) {
		signal(SIGHUP, SIG_IGN);
		if (outfile_open(&out, "kept", 0600, false))
			_exit(1);
		raise(SIGHUP);
		_exit(outfile_close(&out, -1) == -1 && is_old() ? 0 : 2);
	}
	CHECK(waitpid(child, &status, 0) == child && !status);
	CHECK(is_old() && files_here() == 1);

	/* Signal handlers are restored.  A background job may be started with SIGINT ignored */
	signal(SIGINT, SIG_DFL);
	CHECK(!outfile_open(&out, "kept", 0600, false) && outfile_close(&out, -1) == -1);
	CHECK(signal(SIGINT, SIG_DFL) == SIG_DFL);
	CHECK(!chdir(".."));
}

/* In a directory like /tmp, another user's link or FIFO is not followed */
static void test_foreign(void)
{
	struct outfile out;

	if (geteuid()) {
		puts("# links of other users: not tested without root");
		return;
	}
	mkdir("sticky", 0700);
	chmod("sticky", 01777);
	write_text("kept", "old");
	if (symlink("../kept", "sticky/link") || lchown("sticky/link", 65534, 65534) ||
	    mkfifo("sticky/fifo", 0600) || chown("sticky/fifo", 65534, 65534)) {
		CHECK(!"made");
		return;
	}
	CHECK(outfile_open(&out, "sticky/link", 0600, false) == -1 && errno == EACCES);
	CHECK(outfile_open(&out, "sticky/fifo", 0600, false) == -1 && errno == EACCES);
	CHECK(is_old());
	/* A link of the directory's owner is followed */
	CHECK(!lchown("sticky/link", 0, 0));
	CHECK(!outfile_open(&out, "sticky/link", 0600, false) && fputs("new", out.file) >= 0 &&
	      !outfile_close(&out, 0) && !is_old());
	unlink("sticky/link");
	unlink("sticky/fifo");
	rmdir("sticky");
	unlink("kept");
}

/* ---------------------------------------------------------------- depth --- */

/*
 * The deepest stack number @n: its place, a function that its system call is in, and the frames
 * further out, of which @entry has @size bytes
 */
static void deepest(unsigned int n, u64 entry, unsigned int inner, unsigned int size)
{
	struct stackbuf_depth *d = &m.info->depth[0].depth[n];
	const u64 addr[] = { MAKER_BASE + 0x100 * n, MAKER_BASE + 0x8000, entry,
			     MAKER_BASE + 0xa000 };
	unsigned int i;

	*d = (struct stackbuf_depth){ .origin = addr[0], .seq = 2, .id = 77, .nr = 4 };
	d->words[3] = 176 / 8;
	d->words[2] = (176 + size) / 8;
	d->words[1] = (176 + size + 48) / 8;
	d->words[0] = (176 + size + 48 + inner) / 8;
	d->bytes = 8 * d->words[0];
	for (i = 0; i < 4; i++)
		d->frame[i] = addr[i] - MAKER_BASE;
}

/* Does @text hold all three, one after the other? */
static bool in_order(const char *text, const char *first, const char *second, const char *third)
{
	text = strstr(text, first);
	text = text ? strstr(text + 1, second) : NULL;
	return text && strstr(text + 1, third);
}

#define SYSCALL	(MAKER_BASE + 0x9012)
#define CANNOT	"\n(the random offset of system calls may take up to 1 KiB of these bytes: how much cannot be told)\n"

static void test_depth(void)
{
	FILE *f = fopen("depth.kallsyms", "w");
	const char *text;

	CHECK(f);
	fprintf(f, "%llx T stack_trace_save\n%llx T probed\n%llx T vfs_read\n%llx T do_syscall_64\n"
		"%llx T entry_SYSCALL_64\n%llx T invoke_syscall\n%llx T end\n", MAKER_BASE,
		MAKER_BASE + 1, MAKER_BASE + 0x7000, MAKER_BASE + 0x9000, MAKER_BASE + 0xa000,
		MAKER_BASE + 0xb000, MAKER_BASE + 0xc000);
	fclose(f);
	maker_init(&m, 2, 1, 1, NULL);

	/* The first is as deep as the second by its offset alone: 824 bytes more */
	deepest(0, SYSCALL, 176, 1056);
	deepest(1, SYSCALL, 1000, 232);
	deepest(2, SYSCALL, 400, 248);
	text = printed(FORMAT_TEXT, "depth.kallsyms", output_depth);
	CHECK(in_order(text, " probed+0xff/", " probed+0x1ff/", " stack_trace_save+0x0/"));
	CHECK(in_order(text, "  2)      408     232   do_syscall_64+0x12/0x1000\n",
		       "takes at least 16 of these bytes: 856 without them)\n",
		       "takes at least 824 of these bytes: 632 without them)\n"));
	CHECK(!strstr(text, CANNOT) && !strstr(text, "least 0 of"));
	text = printed(FORMAT_JSON, "depth.kallsyms", output_depth);
	CHECK(in_order(text, "{\"depth\":1456,\"stack\":77,\"cut\":false,\"random_offset\":0,",
		       "{\"depth\":872,\"stack\":77,\"cut\":false,\"random_offset\":16,",
		       "{\"depth\":1456,\"stack\":77,\"cut\":false,\"random_offset\":824,"));

	/* Another return address in the same function: nothing to compare with */
	m.info->depth[0].depth[0].frame[2]++;
	text = printed(FORMAT_TEXT, "depth.kallsyms", output_depth);
	CHECK(in_order(text, " stack_trace_save+0x0/", " probed+0xff/", " probed+0x1ff/") &&
	      strstr(text, CANNOT) && strstr(text, "least 16 of"));

	/* All the same; and arm64's, where the offset is elsewhere */
	deepest(0, SYSCALL, 176, 232);
	deepest(2, SYSCALL, 400, 232);
	text = printed(FORMAT_TEXT, "depth.kallsyms", output_depth);
	CHECK(in_order(text, CANNOT, CANNOT, CANNOT) && !strstr(text, "at least"));
	deepest(0, MAKER_BASE + 0xb010, 176, 232);
	deepest(1, MAKER_BASE + 0xb010, 176, 248);
	deepest(2, MAKER_BASE + 0xb010, 176, 264);
	text = printed(FORMAT_TEXT, "depth.kallsyms", output_depth);
	CHECK(in_order(text, CANNOT, CANNOT, CANNOT) && !strstr(text, "at least"));
	text = printed(FORMAT_JSON, "depth.kallsyms", output_depth);
	CHECK(!strstr(text, "random_offset"));

	/* No system call; and the function of system calls itself, before it adds the offset */
	deepest(0, MAKER_BASE + 0x7001, 176, 232);
	deepest(1, MAKER_BASE + 0x7001, 176, 248);
	deepest(2, MAKER_BASE + 0x7001, 176, 264);
	m.info->depth[0].depth[0].frame[0] = 0x9000;
	text = printed(FORMAT_TEXT, "depth.kallsyms", output_depth);
	CHECK(strstr(text, " do_syscall_64+0x0/") && !strstr(text, CANNOT) &&
	      !strstr(text, "at least"));
}

static const struct {
	void (*run)(void);
	const char *name;
} tests[] = {
	{ test_forms, "all forms of events, times at their limits" },
	{ test_half_written, "half-written events are left out and counted" },
	{ test_damaged_events, "a damaged page counts up to the damage" },
	{ test_comm, "commands are printable" },
	{ test_whole_since, "from when on the ring has all events" },
	{ test_copies, "old copies, other loads, missing pages" },
	{ test_cpus, "pages of as many CPUs as there are pages" },
	{ test_parts, "records of builds that leave out parts" },
	{ test_stacks, "stacks near, far, deep and cut; spoilt ones are not taken" },
	{ test_gone, "an event of a stack that is gone gets no other's frames" },
	{ test_text, "text log: whole records only, the newest counts" },
	{ test_names, "names from text, kallsyms, or none, and which is told" },
	{ test_replaced, "a module's code is replaced: stacks and names of before stay apart" },
	{ test_directory_and_snapshot, "directory and snapshot: the same" },
	{ test_core, "arrays are found in a core file" },
	{ test_disorder, "copies in disorder: only what is surely whole" },
	{ test_live, "read while it is written, each store at each place: nothing torn" },
	{ test_live_race, "read beside a writer: nothing torn" },
	{ test_follow, "while it is followed nothing counts as lost that is there" },
	{ test_half_open, "an object that was being written: not of a live copy" },
	{ test_newest, "the load to read is none that was kept, if another is there" },
	{ test_info_disorder,
	  "copies of outstanding objects, not made in order: whole objects only" },
	{ test_stacks_disorder, "copies of stacks, not made in order: whole stacks only" },
	{ test_text_disorder, "copies of text that were not made in order: whole records only" },
	{ test_patterns,
	  "names, globs and regular expressions choose functions, and what each has found" },
	{ test_frames_match, "they match frames by function, module and offset" },
	{ test_build_ids, "build ids from notes, and from a snapshot" },
	{ test_printable, "nothing that a terminal obeys is printed" },
	{ test_signals, "a signal leaves the old file and nothing else" },
	{ test_foreign, "in a directory for all users no other user's link or FIFO is used" },
	{ test_errors, "errors: what is one error, passed on" },
	{ test_depth, "depth: what is told of the random offset of system calls" },
};

int main(void)
{
	unsigned int i, bad = 0, nr = ARRAY_SIZE(tests);

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("KTAP version 1\n1..%u\n", nr);
	for (i = 0; i < nr; i++) {
		failures = 0;
		tests[i].run();
		record_free(&r);
		maker_free(&m);
		m = (struct maker){ 0 };
		maker_firsts = false;
		printf("%sok %u %s\n", failures ? "not " : "", i + 1, tests[i].name);
		bad += !!failures;
	}
	return bad ? 1 : 0;
}
