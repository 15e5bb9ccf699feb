// SPDX-License-Identifier: GPL-2.0
/*
 * record_maker.c - made-up arrays for tests, filled as the module fills them
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "record_maker.h"

u64 maker_instance = MAKER_INSTANCE;
bool maker_firsts;
void (*maker_between)(void);

/* A reader may come here */
static void between(void)
{
	if (maker_between)
		maker_between();
}

#define STORE(place, value) do {					\
	between();							\
	__atomic_store_n(&(place), (value), __ATOMIC_RELEASE);		\
} while (0)

/* memcpy() and memset() of a page, of which a reader may see a half */
static void copy_halves(char *to, const char *from, size_t size)
{
	between();
	memcpy(to, from, size / 2);
	between();
	memcpy(to + size / 2, from + size / 2, size - size / 2);
}

static void set_halves(void *to, int byte, size_t size)
{
	between();
	memset(to, byte, size / 2);
	between();
	memset((char *)to + size / 2, byte, size - size / 2);
}

static void page_head(struct stackbuf_page *page, enum stackbuf_kind kind, u32 index)
{
	page->magic = ~STACKBUF_MAGIC_INVERTED;
	page->version = STACKBUF_VERSION;
	page->kind = kind;
	page->index = index;
	page->instance = maker_instance;
	page->seq = kind == STACKBUF_EVENTS ? 0 : 1;
}

void maker_init(struct maker *m, unsigned int event_pages, unsigned int stack_pages,
	       unsigned int text_pages, void *memory[ARRAYS])
{
	struct stackbuf_info *info;
	unsigned int i;

	memset(m, 0, sizeof(*m));
	m->pages[ARRAY_INFO] = sizeof(*info) / STACKBUF_PAGE_SIZE;
	m->pages[ARRAY_EVENTS] = event_pages;
	m->pages[ARRAY_STACKS] = stack_pages;
	m->pages[ARRAY_TEXT] = text_pages;
	m->own = !memory;
	m->info = memory ? memory[ARRAY_INFO] : xcalloc(m->pages[ARRAY_INFO], STACKBUF_PAGE_SIZE);
	m->events = memory ? memory[ARRAY_EVENTS] : xcalloc(event_pages, STACKBUF_PAGE_SIZE);
	m->stacks = memory ? memory[ARRAY_STACKS] : xcalloc(stack_pages, STACKBUF_PAGE_SIZE);
	m->text = memory ? memory[ARRAY_TEXT] : xcalloc(text_pages, STACKBUF_PAGE_SIZE);

	info = m->info;
	info->elf_machine = 62;
	info->state = STACKBUF_ENABLED;
	info->info_size = sizeof(*info);
	info->events_size = (u64)event_pages * STACKBUF_PAGE_SIZE;
	info->stacks_size = (u64)stack_pages * STACKBUF_PAGE_SIZE;
	info->text_size = (u64)text_pages * STACKBUF_PAGE_SIZE;
	info->info_addr = 0xffffffffc0100000;
	info->events_addr = 0xffffffffc0200000;
	info->stacks_addr = 0xffffffffc0300000;
	info->text_addr = 0xffffffffc0400000;
	info->base_addr = MAKER_BASE;
	strcpy(info->base_symbol, "stack_trace_save");
	info->load_ns = MAKER_LOAD;
	info->load_realtime_ns = maker_instance;
	info->nr_cpus = MAKER_CPUS;
	for (info->id_bits = 6; 1U << info->id_bits < stack_pages * 64; info->id_bits++)
		;
	strcpy(info->module_srcversion, "0123456789ABCDEF01234567");
	strcpy(info->module_version, "7.5-made");
	strcpy(info->release, "6.1.0-made");
	strcpy(info->kernel_version, "#1 SMP made up");
	page_head(&info->page, STACKBUF_INFO, 0);
	for (i = 0; i < STACKBUF_COUNTER_PAGES; i++)
		page_head(&info->counter[i].page, STACKBUF_INFO, i + 1);
	for (i = 0; i < STACKBUF_PROBE_PAGES; i++)
		page_head(&info->probe[i].page, STACKBUF_PROBES, 1 + STACKBUF_COUNTER_PAGES + i);
	for (i = 0; i < STACKBUF_DEPTH_PAGES; i++)
		page_head(&info->depth[i].page, STACKBUF_DEPTHS,
			  1 + STACKBUF_COUNTER_PAGES + STACKBUF_PROBE_PAGES + i);
	for (i = 0; i < event_pages; i++)
		page_head(&m->events[i].page, STACKBUF_EVENTS, i);
	for (i = 0; i < stack_pages; i++) {
		page_head(&m->stacks[i].page, STACKBUF_STACKS, i);
		m->stacks[i].used = 1;
		m->stacks[i].base_addr = MAKER_BASE;
		m->stacks[i].id_bits = info->id_bits;
	}
}

void maker_free(struct maker *m)
{
	if (m->own) {
		free(m->info);
		free(m->events);
		free(m->stacks);
		free(m->text);
	}
}

/* ---------------------------------------------------------------- stacks --- */

struct stackbuf_stack *maker_at(struct maker *m, u32 id)
{
	u32 place = id & ((1ULL << m->info->id_bits) - 1);

	return (void *)m->stacks[place / 64].granule[place % 64 - 1];
}

static u64 granule_bits(const struct stackbuf_stack *stack, unsigned int at)
{
	return ((1ULL << (stackbuf_stack_bytes(stack->words, stack->flags) + 63) / 64) - 1) << at;
}

u32 maker_stack(struct maker *m, const u64 *addr, unsigned int nr, bool cut)
{
	u32 frames[3 * STACKBUF_DEPTH_MAX];
	unsigned int i, words = 0, page, at;
	/* As maker_text() has it */
	struct stackbuf_first first = { .time = 6123456789, .cpu = 1, .pid = 42, .comm = "made" };
	struct stackbuf_stack stack = { 0 }, *to;

	for (i = 0; i < nr; i++) {
		__s64 distance = addr[i] - MAKER_BASE;

		if (distance == (__s32)distance && (u32)distance != STACKBUF_FRAME_FAR) {
			frames[words++] = distance;
		} else {
			frames[words++] = STACKBUF_FRAME_FAR;
			frames[words++] = addr[i];
			frames[words++] = addr[i] >> 32;
		}
	}
	stack.nr = nr;
	stack.flags = (maker_firsts ? STACKBUF_STACK_FIRST : 0) | (cut ? STACKBUF_STACK_CUT : 0);
	stack.words = words;
	stack.hash = stackbuf_hash(frames, words, cut);
	stack.seen = m->head;
	for (page = 0; page < m->pages[ARRAY_STACKS]; page++)
		for (at = 1; at < 64; at++) {
			u64 bits = granule_bits(&stack, at);

			if (stackbuf_stack_bytes(words, stack.flags) > (64 - at) * 64 ||
			    m->stacks[page].used & bits)
				continue;
			m->stacks[page].used |= bits;
			to = (void *)m->stacks[page].granule[at - 1];
			between();
			*to = stack;
			copy_halves((char *)to->frames, (const char *)frames, words * 4);
			if (maker_firsts)
				*stackbuf_first(to) = first;
			STORE(to->id, (m->epoch << m->info->id_bits) | (page * 64 + at));
			return to->id;
		}
	return 0;
}

void maker_drop(struct maker *m, u32 id)
{
	u32 place = id & ((1ULL << m->info->id_bits) - 1);
	struct stackbuf_stack *stack = maker_at(m, id);

	m->info->evicted++;
	m->info->evicted_events += stack->count;
	STORE(stack->id, 0);
	m->stacks[place / 64].used &= ~granule_bits(stack, place % 64);
	m->epoch++;
}

/* ------------------------------------------------------------------ text --- */

static void put_text(char *to, const char *text, unsigned int len)
{
	STORE(to[0], '\0');
	copy_halves(to + 1, text + 1, len - 1);
	STORE(to[0], text[0]);
}

void maker_text(struct maker *m, u32 id, const char *name, unsigned int nr, const char *cut)
{
	char record[STACKBUF_PAGE_SIZE], *page;
	unsigned int len, i, size = m->pages[ARRAY_TEXT];

	len = sprintf(record, STACKBUF_TEXT_RECORD_PRINT, id, 6UL, 123456UL, 1, 42, "made");
	for (i = 0; i < nr; i++)
		len += sprintf(record + len, "%s_%u+0x10/0x20 [made]\n", name, i);
	if (cut)
		len += sprintf(record + len, "%s\n", cut);

	page = m->text + (m->text_seq - 1) % size * STACKBUF_PAGE_SIZE;
	if (!m->text_seq || m->text_pos + len > STACKBUF_PAGE_SIZE) {
		char line[128];

		if (m->text_seq && m->text_pos < STACKBUF_PAGE_SIZE) {
			memset(page + m->text_pos, ' ', STACKBUF_PAGE_SIZE - m->text_pos);
			page[STACKBUF_PAGE_SIZE - 1] = '\n';
		}
		page = m->text + m->text_seq++ % size * STACKBUF_PAGE_SIZE;
		if (m->text_seq > size) {
			STORE(page[0], '\0');
			set_halves(page + 1, ' ', STACKBUF_PAGE_SIZE - 1);
			page[STACKBUF_PAGE_SIZE - 1] = '\n';
			m->info->text_overwritten++;
		}
		m->text_pos = sprintf(line, STACKBUF_TEXT_PAGE_PRINT, STACKBUF_VERSION,
				      (unsigned int)((m->text_seq - 1) % size), size, m->text_seq,
				      maker_instance);
		put_text(page, line, m->text_pos);
	}
	put_text(page + m->text_pos, record, len);
	m->text_pos += len;
	maker_at(m, id)->flags |= STACKBUF_STACK_TEXT;
}

/* ---------------------------------------------------------------- events --- */

static void take_page(struct maker *m, unsigned int cpu, u64 time)
{
	struct maker_cpu *c = &m->cpu[cpu];
	struct stackbuf_events_page *page;
	unsigned int pos = 0;
	u64 old;

	do
		page = &m->events[++m->head % m->pages[ARRAY_EVENTS]];
	while (page->owner);
	page->owner = cpu + 1;
	old = page->page.seq;
	STORE(page->page.seq, 0);
	for (; old && pos < STACKBUF_EVENT_WORDS && page->word[pos];
	     pos += stackbuf_event_words(page->word[pos])) {
		struct stackbuf_stack *stack = maker_at(m, page->word[pos]);

		stack->count++;
		stack->seen = old;
		m->info->overwritten++;
	}
	set_halves(page->word, 0, sizeof(page->word));
	between();
	page->time = time;
	page->cpu = cpu;
	page->first = c->recorded;
	STORE(page->page.seq, m->head);
	if (c->page)
		STORE(c->page->owner, 0);
	c->page = page;
	c->pos = 0;
	c->chained = false;
}

u64 *maker_event(struct maker *m, const struct maker_event *e)
{
	struct maker_cpu *c = &m->cpu[e->cpu];
	u64 comm[2] = { 0 }, task = e->pid | (u64)e->tgid << STACKBUF_TASK_TGID_SHIFT, word, dt,
	    *at;
	enum stackbuf_form form;

	if (e->comm)
		strncpy((char *)comm, e->comm, STACKBUF_COMM_LEN - 1);
	if (!c->page || c->pos + 15 > STACKBUF_EVENT_WORDS || e->time - c->page->time >= 1ULL << 46)
		take_page(m, e->cpu, e->time);
	dt = e->time - c->time;
	if (c->chained && dt < 1ULL << STACKBUF_EVENT_TIME_BITS && task == c->task &&
	    !memcmp(comm, c->comm, sizeof(comm))) {
		form = e->tagged ? STACKBUF_TAGGED : STACKBUF_SHORT;
	} else {
		form = STACKBUF_FULL;
		dt = e->time - c->page->time;
	}
	at = &c->page->word[c->pos];
	word = e->stack |
	       (dt & ((1ULL << STACKBUF_EVENT_TIME_BITS) - 1)) << STACKBUF_EVENT_TIME_SHIFT |
	       (u64)e->context << STACKBUF_EVENT_CONTEXT_SHIFT |
	       (u64)form << STACKBUF_EVENT_FORM_SHIFT;
	if (form != STACKBUF_SHORT) {
		STORE(at[0], word | STACKBUF_EVENT_WRITING);
		STORE(at[1], e->tagged ? e->tag : 0);
	}
	if (form == STACKBUF_FULL) {
		at[2] = task | dt >> STACKBUF_EVENT_TIME_BITS << STACKBUF_TASK_TIME_SHIFT |
			(e->tagged ? STACKBUF_TASK_TAGGED : 0);
		at[3] = comm[0];
		at[4] = comm[1];
	}
	STORE(at[0], word);
	c->pos += stackbuf_event_words(word);
	c->chained = true;
	c->time = e->time;
	c->task = task;
	memcpy(c->comm, comm, sizeof(comm));
	c->recorded++;
	return at;
}

/* ------------------------------------------------------------ everything --- */

void *maker_array(const struct maker *m, enum array a, size_t *size)
{
	void *const array[ARRAYS] = { m->info, m->events, m->stacks, m->text };

	*size = (size_t)m->pages[a] * STACKBUF_PAGE_SIZE;
	return array[a];
}

u64 *maker_addr(const struct maker *m, enum array a)
{
	u64 *const addr[ARRAYS] = { &m->info->info_addr, &m->info->events_addr,
				    &m->info->stacks_addr, &m->info->text_addr };

	return addr[a];
}

void maker_move(struct maker *m, u64 addr, u64 gap)
{
	int a;

	for (a = 0; a < ARRAYS; a++) {
		*maker_addr(m, a) = addr;
		addr += (u64)m->pages[a] * STACKBUF_PAGE_SIZE + gap;
	}
}

void maker_pages(const struct maker *m, struct page_set *set, unsigned int seed)
{
	const char **page = NULL;
	size_t nr = 0, size, i, j;
	const char *p, *start;
	int a;

	for (a = 0; a < ARRAYS; a++) {
		start = maker_array(m, a, &size);
		for (p = start; p < start + size; p += STACKBUF_PAGE_SIZE) {
			GROW(page, nr);
			page[nr++] = p;
		}
	}
	for (i = nr; seed && i > 1; i--) {
		seed = seed * 1103515245 + 12345;
		j = (seed >> 8) % i;
		p = page[i - 1];
		page[i - 1] = page[j];
		page[j] = p;
	}
	for (i = 0; i < nr; i++)
		page_set_add(set, page[i]);
	free(page);
}

void maker_known_stacks(struct maker *m, u32 id[MAKER_STACKS])
{
	unsigned int i, n;
	char name[32];
	u64 addr[STACKBUF_DEPTH_MAX];

	for (i = 0; i < MAKER_STACKS; i++) {
		unsigned int nr = 9 + 20 * i > STACKBUF_DEPTH_MAX ? STACKBUF_DEPTH_MAX : 9 + 20 * i;

		for (n = 0; n < nr; n++)
			addr[n] = MAKER_BASE + 0x1000 * i + 0x10 * n;
		/* A frame too far from the base for a relative address */
		addr[0] = 0xffffa00000000000 + i;
		id[i] = maker_stack(m, addr, nr, nr == STACKBUF_DEPTH_MAX);
		sprintf(name, "known_%u", i);
		maker_text(m, id[i], name, nr,
			  nr == STACKBUF_DEPTH_MAX ? "(cut at 127 frames)" : NULL);
	}
}

void maker_known(struct maker_event *e, u64 n, const u32 id[MAKER_STACKS])
{
	static const char *const comm[] = { "init", "a longer name x", "sh" };
	/* Tasks switch occasionally, and each CPU's clock has another pace */
	u64 task = n / 6 % 3;

	*e = (struct maker_event){
		.cpu = n % 2,
		.stack = id[n % MAKER_STACKS],
		.time = MAKER_LOAD + 1000 * n + (n % 1000 == 999 ? 300 : 0),
		.tagged = n % 5,
		.tag = n,
		.pid = 100 + task,
		.tgid = 100 + (task == 1 ? 0 : task),
		.comm = comm[task],
		.context = n % 4,
	};
}

void maker_record(struct maker *m, unsigned int event_pages, unsigned int stack_pages,
		 unsigned int text_pages, u64 events)
{
	u32 id[MAKER_STACKS];
	struct maker_event e;
	u64 n;

	maker_init(m, event_pages, stack_pages, text_pages, NULL);
	maker_known_stacks(m, id);
	for (n = 0; n < events; n++) {
		maker_known(&e, n, id);
		maker_event(m, &e);
	}
}
