// SPDX-License-Identifier: GPL-2.0
/*
 * info.c - stackbuf_info: sizes, counters, probes, deepest stacks
 */
#include <string.h>
#include "record/parse.h"

/* Pages of stackbuf_info between the counters and pairs: a build may leave parts of them out */
static u64 part_pages(const struct stackbuf_info *info)
{
	return info->info_size / STACKBUF_PAGE_SIZE - info->pair_pages - 1 - STACKBUF_COUNTER_PAGES;
}

bool info_has_probes(const struct stackbuf_info *info)
{
	u64 pages = part_pages(info);

	return pages == STACKBUF_PROBE_PAGES ||
	       pages >= STACKBUF_PROBE_PAGES + STACKBUF_DEPTH_PAGES;
}

/* Index of the first page of the deepest stacks */
static u32 depths_index(const struct stackbuf_info *info)
{
	return 1 + STACKBUF_COUNTER_PAGES + (info_has_probes(info) ? STACKBUF_PROBE_PAGES : 0);
}

bool info_has_depths(const struct stackbuf_info *info)
{
	return info->info_size / STACKBUF_PAGE_SIZE - info->pair_pages - depths_index(info) >=
	       STACKBUF_DEPTH_PAGES;
}

/* Return true if it is the size of a whole stackbuf_info, or of one without some parts */
static bool info_size_sane(u64 size)
{
	const u64 whole = sizeof(struct stackbuf_info);
	const u64 probes = STACKBUF_PROBE_PAGES * STACKBUF_PAGE_SIZE;
	const u64 depths = STACKBUF_DEPTH_PAGES * STACKBUF_PAGE_SIZE;

	/* A later version may have more */
	return (size >= whole && size < 16 * whole) || size == whole - probes ||
	       size == whole - depths || size == whole - probes - depths;
}

/* PAIRS_KB is at most 262144 */
#define PAIR_PAGES_MAX	(262144 / (STACKBUF_PAGE_SIZE / 1024))

bool info_sane(const struct stackbuf_info *info)
{
	const u64 size[ARRAYS] = { info->info_size, info->events_size, info->stacks_size,
				   info->text_size };
	unsigned int i;

	for (i = 0; i < ARRAYS; i++)
		if (!size[i] || size[i] % STACKBUF_PAGE_SIZE || size[i] > ARRAY_BYTES_MAX)
			return false;
	return info->info_size / STACKBUF_PAGE_SIZE > info->pair_pages &&
	       info->pair_pages <= PAIR_PAGES_MAX &&
	       info_size_sane(info->info_size - (u64)info->pair_pages * STACKBUF_PAGE_SIZE) &&
	       info->id_bits >= 6 && info->id_bits <= 32 &&
	       info->stacks_size / STACKBUF_GRANULE <= 1ULL << info->id_bits;
}

static u64 counters_sum(const struct stackbuf_counters_page *page)
{
	unsigned int slot, i;
	u64 sum = 0;

	for (slot = 0; slot < STACKBUF_COUNTER_LINES; slot++)
		for (i = 0; i < STACKBUF_COUNTERS; i++)
			sum += page->slot[slot][i];
	return sum;
}

/* Compares only counters that never decrease */
bool info_later(const struct stackbuf_info *a, const struct stackbuf_info *b)
{
	if (a->page.seq != b->page.seq)
		return a->page.seq > b->page.seq;
	if (!a->stop_ns != !b->stop_ns)
		return a->stop_ns;
	return a->overwritten + a->evicted + a->text_overwritten >
	       b->overwritten + b->evicted + b->text_overwritten;
}

void record_parse_info(struct record *r, const struct found_page *p)
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
		make_printable(r->info.module_version, sizeof(r->info.module_version));
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
	} else if (p->kind == STACKBUF_INFO && i <= STACKBUF_COUNTER_PAGES) {
		const struct stackbuf_counters_page *loss = p->data;

		if (counters_sum(loss) >= counters_sum(&r->info.counter[i - 1]))
			r->info.counter[i - 1] = *loss;
	}
}

void info_drop_torn(void *page, const void *again)
{
	struct stackbuf_pair_open_page *open = page;
	const struct stackbuf_pair_open_page *open_again = again;
	struct stackbuf_depths_page *depths = page;
	const struct stackbuf_depths_page *depths_again = again;
	struct stackbuf_pair_stacks_page *stacks = page;
	const struct stackbuf_pair_stacks_page *stacks_again = again;
	struct stackbuf_info *info = page;
	const struct stackbuf_info *info_again = again;
	unsigned int i, k;

	/* The first page has the list of modules */
	for (i = 0; info->page.kind == STACKBUF_INFO && !info->page.index && i < STACKBUF_MODULES;
	     i++)
		if (memcmp(&info->module[i], &info_again->module[i], sizeof(info->module[i])))
			info->module[i].time = 0;
	for (i = 0; depths->page.kind == STACKBUF_DEPTHS && i < STACKBUF_PAGE_DEPTHS; i++)
		if (memcmp(&depths->depth[i], &depths_again->depth[i], sizeof(depths->depth[i])))
			depths->depth[i].seq |= 1;
	for (i = 0; open->page.kind == STACKBUF_PAIR_OPEN && i < STACKBUF_PAGE_PAIR_BUCKETS; i++)
		for (k = 0; k < STACKBUF_PAIR_BUCKET; k++)
			if (open->bucket[i].key[k] != open_again->bucket[i].key[k] ||
			    memcmp(&open->bucket[i].object[k], &open_again->bucket[i].object[k],
				   sizeof(open->bucket[i].object[k])))
				open->bucket[i].key[k] = 0;
	/* The module counts a time before it adds it: sums that were read later hold all of them */
	for (i = 0; stacks->page.kind == STACKBUF_PAIR_STACKS && i < STACKBUF_PAGE_PAIR_STACKS; i++)
		if (stacks->stack[i].stack == stacks_again->stack[i].stack) {
			stacks->stack[i].sum = stacks_again->stack[i].sum;
			stacks->stack[i].longest = stacks_again->stack[i].longest;
		}
}

bool record_probe(const struct record *r, unsigned int i, struct stackbuf_probe *probe)
{
	const struct stackbuf_probes_page *page = &r->info.probe[i / STACKBUF_PAGE_PROBES];
	const struct stackbuf_probe *p = &page->probe[i % STACKBUF_PAGE_PROBES];

	if (page->page.kind != STACKBUF_PROBES || !*p->name)
		return false;
	*probe = *p;
	make_printable(probe->name, sizeof(probe->name));
	return true;
}

bool probe_next(const struct record *r, unsigned int *i, struct stackbuf_probe *probe)
{
	while (*i < STACKBUF_PROBES_MAX)
		if (record_probe(r, (*i)++, probe) && probe->state)
			return true;
	return false;
}

u64 record_refused(const struct record *r)
{
	u64 refused = 0;
	unsigned int i;

	for (i = 0; i <= STACKBUF_LOST_EMPTY; i++)
		refused += r->lost[i];
	return refused;
}

s64 info_boot_time(const struct stackbuf_info *info)
{
	return info->load_realtime_ns - info->load_ns;
}

u64 info_to_wall(const struct stackbuf_info *info, u64 ns)
{
	s64 boot = info_boot_time(info);

	return boot < 0 && ns < -(u64)boot ? 0 : ns + boot;
}

u64 record_left_out(const struct record *r)
{
	const struct stackbuf_filter *f = &r->info.filter;
	bool filtered = f->pid || f->cpu || *f->comm || f->cgroup;

	/* Without a filter, those that are excluded are calls of the record's readers */
	return r->lost[STACKBUF_NOT_SAMPLED] + r->lost[STACKBUF_OVER_LIMIT] +
		(filtered ? r->lost[STACKBUF_EXCLUDED] : 0);
}

u64 probes_missed(const struct record *r)
{
	u64 missed = r->info.missed_before;
	struct stackbuf_probe probe;
	unsigned int i;

	for (i = 0; probe_next(r, &i, &probe); )
		missed += probe.missed;
	return missed;
}

u64 probes_missed_since(const struct record *r, u64 before)
{
	u64 now = probes_missed(r);

	return now > before ? now - before : 0;
}
