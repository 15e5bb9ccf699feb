// SPDX-License-Identifier: GPL-2.0
/*
 * keep.c - mirror the record into memory that survives a reset
 *
 * The user reserves the memory, and the kernel leaves it alone.  A record there has the same pages
 * as in a RAM image, all pages of the four arrays, one array after the other; readers need nothing
 * else.  Stores must not stay in a cache, so the memory is mapped write-combining, as in
 * fs/pstore/ram.c.
 *
 * Events, stacks and text are copied when they are stored, in an order that leaves a well-formed
 * record at any instant: what makes an entry valid (an id, a page's @seq, the first word of an
 * event) is stored after the rest, with a write barrier in between.  One CPU at a time stores to a
 * place: the owner of a page, the inserter of a stack, the holder of sbuf_table_mutex.  Only counts
 * of events are shared: sbuf_keep_words().  A worker copies the pages of stackbuf_info ten times a
 * second, or once a second after pairs were set; so do an oops and a panic, see keep_pages().
 *
 * Copied pages have @seq 0, except event pages, so readers of a dump that has both prefer the
 * original.
 *
 * Records that earlier loads left are not trusted: only their first page and the sizes in it are
 * read.
 *
 * A driver may use reserved memory without claiming it, as ramoops does, so memory that holds other
 * data is refused unless :take is given.  The first page of a record identifies it at any instant,
 * as it is written first and cleared last: with the kind STACKBUF_INFO it begins a record, with the
 * kind 0 the rest is not complete yet, or is being cleared.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/io.h>
#include <linux/ioport.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/of.h>
#include <linux/of_reserved_mem.h>
#include <linux/slab.h>
#include <linux/stop_machine.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "keep.h"
#include "pair.h"
#include "table.h"

#if STACKBUF_WITH_KEEP

static char *sbuf_keep_param;
module_param_named(keep, sbuf_keep_param, charp, 0400);
MODULE_PARM_DESC(keep,
		 "Mirror the record into reserved memory, which outlives a reset: ADDRESS:SIZE, or the NAME of reserve_mem=; append :take to overwrite other data there (default none)");

long sbuf_keep_distance[SBUF_ARRAYS];

#define RECORD_SIZE	(sizeof(stackbuf_info) + (SBUF_EVENT_PAGES + SBUF_STACK_PAGES +	\
						  SBUF_TEXT_PAGES) * STACKBUF_PAGE_SIZE)
/* Earlier records that get a file each */
#define RECORDS_MAX	16

/* The memory, mapped; @own is our record in it, @claim its entry in /proc/iomem */
static struct {
	u64 start, size;
	void *at, *own;
	bool by_vmap, take, requested;
	struct resource claim;
} memory;

/* One extra entry for note_record() */
static struct debugfs_blob_wrapper kept[RECORDS_MAX + 1];
static unsigned int kept_records;

static inline void *copy_of(enum sbuf_array which, const void *from)
{
	unsigned long at = (unsigned long)from + sbuf_keep_distance[which];

	/* Otherwise the compiler takes it for an address past the array, where no store is valid */
	OPTIMIZER_HIDE_VAR(at);
	return (void *)at;
}

/* Ordered after earlier copies and before later ones */
void sbuf_keep_copy(enum sbuf_array which, const void *from, size_t size)
{
	void *to = copy_of(which, from);

	wmb();	/* V1 */
	/* An entry becomes valid by one word, which memcpy() might store byte by byte */
	if (size == sizeof(u64))
		WRITE_ONCE(*(u64 *)to, *(const u64 *)from);
	else if (size == sizeof(u32))
		WRITE_ONCE(*(u32 *)to, *(const u32 *)from);
	else
		memcpy(to, from, size);
	wmb();	/* V1 */
}

NOKPROBE_SYMBOL(sbuf_keep_copy);

void sbuf_keep_words(enum sbuf_array which, const u64 *word, unsigned int nr)
{
	u64 *copy = copy_of(which, word), value[2];
	unsigned int i;

	mb();	/* V2: after the addition */
	do {
		for (i = 0; i < nr; i++) {
			value[i] = READ_ONCE(word[i]);
			WRITE_ONCE(copy[i], value[i]);
		}
		mb();	/* V2: the last CPU that stores sees what all others have added */
		for (i = 0; i < nr && READ_ONCE(word[i]) == value[i]; i++)
			;
	} while (i < nr);
}

NOKPROBE_SYMBOL(sbuf_keep_words);

void sbuf_keep_appended(const u64 *event, u64 word)
{
	u64 *copy = copy_of(SBUF_EVENTS, event);
	unsigned int words = stackbuf_event_words(word), i;

	for (i = 1; i < words; i++)
		WRITE_ONCE(copy[i], event[i]);
	if (words > 1)
		wmb();	/* V1 */
	WRITE_ONCE(*copy, word);
	wmb();	/* V1: do not leave it in a buffer until there are more */
}

NOKPROBE_SYMBOL(sbuf_keep_appended);

/* ------------------------------------------------------ what a worker copies --- */

/* A page of stackbuf_info */
union info_page {
	struct stackbuf_page page;
	struct stackbuf_depths_page depths;
	struct stackbuf_pair_open_page open;
	char info[STACKBUF_PAGE_SIZE];
};

static_assert(sizeof(union info_page) == STACKBUF_PAGE_SIZE);

#define ENTRIES_MAX	(STACKBUF_PAGE_PAIR_BUCKETS * STACKBUF_PAIR_BUCKET)

/* A page being copied: entries that change concurrently are left out */
struct copy {
	union info_page now;
	u64 valid[ENTRIES_MAX];
};

/* Return true if pairs are set, or were */
static bool has_pairs(void)
{
	return STACKBUF_PAIR_PAGES && stackbuf_info.pair[0].page.seq > 1;
}

/* Number of entries in a page that have a validity word */
static unsigned int entries_of(const union info_page *page)
{
	switch (page->page.kind) {
	case STACKBUF_INFO:
		return page->page.index ? 0 : STACKBUF_MODULES;
	case STACKBUF_DEPTHS:
		return ARRAY_SIZE(page->depths.depth);
	case STACKBUF_PAIR_OPEN:
		return ENTRIES_MAX;
	}
	return 0;
}

/* The validity word of an entry */
static u64 *valid_word(union info_page *page, unsigned int i)
{
	switch (page->page.kind) {
	case STACKBUF_INFO:
		return &((struct stackbuf_info *)page)->module[i].time;
	case STACKBUF_DEPTHS:
		/* As 64 bits: @seq, and @bytes after it */
		return (u64 *)&page->depths.depth[i].seq;
	}
	return &page->open.bucket[i / STACKBUF_PAIR_BUCKET].key[i % STACKBUF_PAIR_BUCKET];
}

/* The validity word of an invalid entry */
static u64 invalid(const union info_page *page)
{
	return page->page.kind == STACKBUF_DEPTHS;
}

/* A word that changes when the entry does; for an object, its stack and its place's use count */
static u64 version(union info_page *page, unsigned int i)
{
	struct stackbuf_pair_object *object;

	if (page->page.kind != STACKBUF_PAIR_OPEN)
		return READ_ONCE(*valid_word(page, i));
	object = &page->open.bucket[i / STACKBUF_PAIR_BUCKET].object[i % STACKBUF_PAIR_BUCKET];
	return READ_ONCE(*sbuf_pair_word(object));
}

static void keep_page(union info_page *to, union info_page *page, struct copy *copy)
{
	const unsigned int n = entries_of(page);
	unsigned int i;

	for (i = 0; i < n; i++)
		copy->valid[i] = version(page, i);
	smp_rmb();	/* K3, D1, M1: the version is read before the rest, ... */
	memcpy(&copy->now, page, sizeof(copy->now));
	smp_rmb();	/* ... and again after it */
	for (i = 0; i < n; i++) {
		bool same = copy->valid[i] == version(page, i);

		copy->valid[i] = same ? *valid_word(&copy->now, i) : invalid(page);
		*valid_word(&copy->now, i) = invalid(page);
		WRITE_ONCE(*valid_word(to, i), invalid(page));
	}
	copy->now.page.seq = 0;
	wmb();	/* V1: nothing is valid while the rest is stored */
	memcpy(to, &copy->now, sizeof(*to));
	wmb();	/* V1 */
	for (i = 0; i < n; i++)
		WRITE_ONCE(*valid_word(to, i), copy->valid[i]);
	wmb();	/* V1 */
}

/* A panic finds the other CPUs stopped, perhaps in the middle of a page */
enum keeper { WORKER, OOPS, PANIC };

/* The worker and an oops store one page at a time.  A panic cannot wait: it has its own buffer */
static void keep_pages(enum keeper keeper)
{
	const unsigned int pages = sizeof(stackbuf_info) / STACKBUF_PAGE_SIZE -
				   (has_pairs() ? 0 : STACKBUF_PAIR_PAGES);
	static struct copy copy[2];
	static atomic_t busy;
	union info_page *page = (void *)&stackbuf_info;
	unsigned int tries = 1000, i;

	for (i = 0; i < pages && tries; i++, page++) {
		if (keeper == PANIC) {
			keep_page(copy_of(SBUF_INFO, page), page, &copy[1]);
			continue;
		}
		preempt_disable();
		/*
		 * V3.  Do not wait for long: if the copy below oopses, with preemption off, @busy
		 * stays set, and from then on only a panic copies.  The worker tries again later
		 */
		while (atomic_cmpxchg(&busy, 0, 1) && --tries)
			cpu_relax();
		if (tries) {
			keep_page(copy_of(SBUF_INFO, page), page, &copy[0]);
			atomic_set_release(&busy, 0);	/* V3 */
		}
		preempt_enable();
		if (keeper == WORKER)
			cond_resched();
	}
}

/* The image of hibernation does not hold this memory, so there is no record to go on with */
static bool is_ours(void)
{
	const struct stackbuf_page *first = memory.own;

	return READ_ONCE(first->instance) == stackbuf_info.page.instance;
}

/*
 * A panic may have interrupted an append on any CPU.  Until the append has stored its first word in
 * the copy, that seems to end there, and lacks the events after it, such as those of an NMI
 */
static void keep_open_pages(void)
{
	unsigned int i, k, n;
	u64 word;

	for (i = 0; i < SBUF_EVENT_PAGES; i++) {
		const struct stackbuf_events_page *page = &stackbuf_events[i];

		if (!READ_ONCE(page->owner) || !READ_ONCE(page->page.seq))
			continue;
		for (k = 0; k < STACKBUF_EVENT_WORDS; k += n) {
			word = READ_ONCE(page->word[k]);
			n = stackbuf_event_words(word);
			/* The end, or what a stray write has left */
			if (!word || n > STACKBUF_EVENT_WORDS - k)
				break;
			sbuf_keep_appended(&page->word[k], word);
		}
		/* take_page() may have been interrupted before it copied these */
		sbuf_keep_copy(SBUF_EVENTS, &page->first, sizeof(page->first));
		sbuf_keep_copy(SBUF_EVENTS, &page->page.seq, sizeof(page->page.seq));
	}
}

void sbuf_keep_stopped(bool panic)
{
	if (!sbuf_is_kept() || !is_ours())
		return;
	keep_pages(panic ? PANIC : OOPS);
	if (panic)
		keep_open_pages();
}

static void keep_info(struct work_struct *work);
static DECLARE_DELAYED_WORK(keep_work, keep_info);

static void keep_info(struct work_struct *work)
{
	if (!is_ours()) {
		pr_err("keep: the memory has changed, as after hibernation: nothing is kept until stackbuf is loaded again\n");
		/* Copies that have begun end where they would have */
		WRITE_ONCE(sbuf_keep_distance[SBUF_INFO], 0);
		stackbuf_info.kept_at = 0;
		return;
	}
	keep_pages(WORKER);
	/* The many pages of pairs take longer */
	queue_delayed_work(sbuf_unbound_wq, &keep_work, has_pairs() ? HZ : HZ / 10);
}

/* ------------------------------------------------------------- the memory --- */

static bool __init refuse(const char *why)
{
	pr_err("keep: %s: %s\n", sbuf_keep_param, why);
	return false;
}

/*
 * Find a reserved-memory node in arm64's device tree that contains @memory, or has @name.  The page
 * allocator may use nodes without no-map; nodes with "compatible" are for drivers.
 */
static bool __init find_node(const char *name)
{
	struct device_node *parent = of_find_node_by_path("/reserved-memory"), *node;
	bool found = false;

	for_each_child_of_node(parent, node) {
		struct reserved_mem *mem = of_reserved_mem_lookup(node);

		if (!mem || found || !of_property_read_bool(node, "no-map") ||
		    of_find_property(node, "compatible", NULL))
			continue;
		if (name && of_node_name_eq(node, name)) {
			memory.start = mem->base;
			memory.size = mem->size;
			found = true;
		} else if (!name && memory.start >= mem->base &&
			   memory.start + memory.size <= mem->base + mem->size) {
			found = true;
		}
	}
	of_node_put(parent);
	return found;
}

/* Return true if the kernel uses some of the memory as RAM; devices have other descriptors */
static bool __init is_in_use(void)
{
	return region_intersects(memory.start, memory.size, IORESOURCE_SYSTEM_RAM,
				 IORES_DESC_NONE) != REGION_DISJOINT;
}

static bool __init is_of_pages(void)
{
	return (memory.size && !((memory.start | memory.size) % PAGE_SIZE) &&
		memory.start + memory.size > memory.start) ||
	       refuse("address and size must be multiples of the page size");
}

/* Return true if @resource is only RAM of the kernel, or a reservation; else a driver owns it */
static bool __init is_of_kernel(const struct resource *resource)
{
	return !(resource->flags & IORESOURCE_BUSY) || resource->flags & IORESOURCE_SYSRAM ||
	       (resource->name && !strcasecmp(resource->name, "reserved"));
}

/* Return the resource after @at in @claim, which has it, or NULL */
static const struct resource *__init next_in(const struct resource *claim,
					     const struct resource *at)
{
	if (at->child)
		return at->child;
	while (at != claim && !at->sibling)
		at = at->parent;
	return at == claim ? NULL : at->sibling;
}

/*
 * Claim the memory, so that drivers see it.  Memory that the kernel has reserved in RAM is in a
 * resource of its own, where request_mem_region() fails.
 */
static bool __init claim_memory(void)
{
	struct resource *claim = &memory.claim;
	const struct resource *at;

	memory.requested = request_mem_region(memory.start, memory.size, KBUILD_MODNAME);
	if (memory.requested)
		return true;
	*claim = (struct resource)DEFINE_RES_MEM_NAMED(memory.start, memory.size, KBUILD_MODNAME);
	claim->flags |= IORESOURCE_BUSY;
	if (!insert_resource(&iomem_resource, claim)) {
		/* A reservation is inside a claim that equals it, and a driver's inside that */
		for (at = next_in(claim, claim); at && is_of_kernel(at); at = next_in(claim, at))
			;
		if (!at && is_of_kernel(claim->parent))
			return true;
		remove_resource(claim);
	}
	claim->flags = 0;
	return refuse("a driver has claimed this memory, or a part of it: see /proc/iomem");
}

/* Fill in @memory from the parameter.  Refuse memory that is not reserved */
static bool __init find_memory(void)
{
	char *end;

	if (!strchr(sbuf_keep_param, ':')) {
		if (reserve_mem_find_by_name(sbuf_keep_param, &memory.start, &memory.size))
			return is_of_pages();
		if (!find_node(sbuf_keep_param))
			return refuse("there is no memory of this name: give ADDRESS:SIZE, or, from Linux 6.12 on, NAME with reserve_mem=SIZE:ALIGN:NAME on its command line (ALIGN: the page size)");
		if (!is_of_pages())
			return false;
		/* A node may exist although the kernel could not reserve its memory */
		return !is_in_use() ||
		       refuse("the kernel could not reserve this memory: its log says why, with the node's name");
	}
	memory.start = memparse(sbuf_keep_param, &end);
	if (end != sbuf_keep_param && *end == ':' && end[1])
		memory.size = memparse(end + 1, &end);
	/* The first number ends at ":" at the latest */
	if (*end)
		return refuse("ADDRESS:SIZE or NAME is accepted, each with :take at its end");
	if (!is_of_pages())
		return false;
	if (is_in_use()) {
		if (!IS_ENABLED(CONFIG_X86_64))
			return refuse("the kernel uses this memory: a node of reserved-memory, or reserve_mem=SIZE:ALIGN:NAME on its command line, reserves some");
		pr_err("keep: %s: the kernel uses this memory: memmap=%lluK$0x%llx on its command line reserves it\n",
		       sbuf_keep_param, memory.size >> 10, memory.start);
		return false;
	}
	if (find_node(NULL))
		return true;
	return region_intersects(memory.start, memory.size, IORESOURCE_MEM,
				 IORES_DESC_RESERVED) == REGION_INTERSECTS ||
	       refuse("this memory is not reserved: see memmap= on the kernel's command line");
}

static bool __init map_memory(void)
{
	unsigned long pages = memory.size / PAGE_SIZE, valid = 0, i;
	struct page **page;

	for (i = 0; i < pages; i++) {
		valid += pfn_valid(PHYS_PFN(memory.start) + i);
		cond_resched();
	}
	/* Reserved memory may have no struct page */
	if (valid < pages) {
		memory.at = (__force void *)ioremap_wc(memory.start, memory.size);
		return memory.at;
	}
	page = kvmalloc_array(pages, sizeof(*page), GFP_KERNEL);
	if (!page)
		return false;
	for (i = 0; i < pages; i++) {
		page[i] = pfn_to_page(PHYS_PFN(memory.start) + i);
		cond_resched();
	}
	/* VM_IOREMAP: keeps it out of /proc/kcore */
	memory.at = vmap(page, pages, VM_MAP | VM_IOREMAP, pgprot_writecombine(PAGE_KERNEL));
	memory.by_vmap = true;
	kvfree(page);
	return memory.at;
}

static void unmap_memory(void)
{
	if (memory.at && memory.by_vmap)
		vunmap(memory.at);
	else if (memory.at)
		iounmap((__force void __iomem *)memory.at);
	if (memory.requested)
		release_mem_region(memory.start, memory.size);
	else if (memory.claim.flags)
		remove_resource(&memory.claim);
	memset(&memory, 0, sizeof(memory));
}

/*
 * Return the size of our data that begins with this page, at most @room, or 0 if none does.  A
 * first page with another @seq is from an unkept record, left in memory that was once the kernel's.
 */
static size_t __init record_at(const struct stackbuf_info *info, size_t room)
{
	const u64 sizes[] = {
		info->info_size, info->events_size, info->stacks_size, info->text_size
	};
	u64 inverted = STACKBUF_MAGIC_INVERTED;
	size_t size = 0;
	unsigned int i;

	/* As in init_page_header() */
	OPTIMIZER_HIDE_VAR(inverted);
	if (info->page.magic != ~inverted || info->page.index || info->page.seq ||
	    (info->page.kind && info->page.kind != STACKBUF_INFO))
		return 0;
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		/*
		 * With a kind: another version, or damaged, so nothing after it is safe to use.
		 * Without: a record that was being begun or cleared, and has only this page
		 */
		if (!sizes[i] || sizes[i] % STACKBUF_PAGE_SIZE || sizes[i] > room - size)
			return info->page.kind ? room : STACKBUF_PAGE_SIZE;
		size += sizes[i];
	}
	return size;
}

/* Clear a record.  Its first page, which identifies it as ours, is cleared last */
static void clear_record(struct stackbuf_page *first, size_t size)
{
	WRITE_ONCE(first->kind, 0);
	wmb();	/* V1 */
	memset((char *)first + STACKBUF_PAGE_SIZE, 0, size - STACKBUF_PAGE_SIZE);
	wmb();	/* V1 */
	memset((char *)first + sizeof(first->magic), 0, STACKBUF_PAGE_SIZE - sizeof(first->magic));
	wmb();	/* V1 */
	WRITE_ONCE(first->magic, 0);
	wmb();	/* V1 */
}

/*
 * Return true if a page that is not ours holds data that must not be lost.  Report the first page
 * that holds any data, and what its first word identifies
 */
static bool __init is_foreign(const void *page)
{
	static const struct { u32 word; const char *what; } known[] = {
		{ 0x43474244, ": logs of ramoops" },	/* PERSISTENT_RAM_SIG */
		{ 0x0badfeed, ": a trace of ftrace's" },	/* RING_BUFFER_META_MAGIC */
		{ 0xedfe0dd0, ": a device tree" },
		{ 0x464c457f, ": an ELF file" },
	};
	static bool said __initdata;
	const char *what = "";
	unsigned int i;

	if (!memchr_inv(page, 0, STACKBUF_PAGE_SIZE))
		return false;
	for (i = 0; i < ARRAY_SIZE(known); i++)
		if (*(const u32 *)page == known[i].word)
			what = known[i].what;
	if (memory.take && !said)
		pr_warn("keep: %s: overwrites data that is not stackbuf's, at 0x%llx%s\n",
			sbuf_keep_param, memory.start + (page - memory.at), what);
	else if (!memory.take)
		pr_err("keep: %s: holds data that is not stackbuf's, at 0x%llx%s; to overwrite it: %s:take\n",
		       sbuf_keep_param, memory.start + (page - memory.at), what, sbuf_keep_param);
	said = true;
	return !memory.take;
}

/* Add a file for a record.  If there are more records than files, the oldest have none */
static void __init note_record(void *at, size_t size)
{
	unsigned int i, oldest = RECORDS_MAX;

	kept[kept_records] = (struct debugfs_blob_wrapper){ at, size };
	if (kept_records < RECORDS_MAX) {
		kept_records++;
		return;
	}
	for (i = 0; i < RECORDS_MAX; i++)
		if (((struct stackbuf_page *)kept[i].data)->instance <
		    ((struct stackbuf_page *)kept[oldest].data)->instance)
			oldest = i;
	kept[oldest] = kept[RECORDS_MAX];
}

/* Note earlier records, and find room for ours.  Return false if the memory holds other data */
static bool __init find_room(void)
{
	size_t at, size, gap = 0;

	for (at = 0; at < memory.size; at += size) {
		struct stackbuf_page *page = memory.at + at;

		cond_resched();
		size = record_at((struct stackbuf_info *)page, memory.size - at);
		if (size && page->kind) {
			gap = 0;
			note_record(page, size);
			continue;
		}
		if (size) {
			clear_record(page, size);
		} else {
			size = STACKBUF_PAGE_SIZE;
			if (is_foreign(page))
				return false;
		}
		gap += size;
		if (!memory.own && gap >= RECORD_SIZE)
			memory.own = memory.at + at + size - gap;
	}
	return true;
}

/* Write the first page of our record, and test that the rest keeps what is stored there */
static bool __init begin_record(void)
{
	struct stackbuf_info *info = memory.own;
	struct stackbuf_page page = stackbuf_info.page;
	size_t at;

	page.kind = 0;
	page.seq = 0;
	memset(info, 0, STACKBUF_PAGE_SIZE);
	wmb();	/* V1 */
	WRITE_ONCE(info->page.magic, page.magic);
	wmb();	/* V1 */
	info->page = page;
	info->info_size = stackbuf_info.info_size;
	info->events_size = stackbuf_info.events_size;
	info->stacks_size = stackbuf_info.stacks_size;
	info->text_size = stackbuf_info.text_size;
	wmb();	/* V1 */
	for (at = STACKBUF_PAGE_SIZE; at < RECORD_SIZE; at += STACKBUF_PAGE_SIZE) {
		u64 *word = memory.own + at;

		WRITE_ONCE(*word, at + 1);
		WRITE_ONCE(word[1], ~at);
		mb();	/* The stores leave the CPU */
		if (READ_ONCE(*word) != at + 1 || READ_ONCE(word[1]) != ~at)
			return refuse("this is not memory: it does not keep what is written to it");
	}
	return true;
}

/*
 * Copy the arrays, and start mirroring what is stored in them.  If built in, no save is in
 * progress, as the machine is stopped; events of NMIs are lost until this returns, and counted.
 */
static int __init keep_arrays(void *unused)
{
	const bool was_on = SBUF_BUILT_IN && sbuf_recording();
	struct stackbuf_page *first = memory.own;
	unsigned int i, page;
	void *to;

	if (was_on)
		sbuf_state_change(STACKBUF_ENABLED, false);
	to = memory.own + RECORD_SIZE;
	for (i = SBUF_ARRAYS; i--; ) {
		for (page = sbuf_arrays[i].size / STACKBUF_PAGE_SIZE; page--; ) {
			/* Except the first page's header: see begin_record() */
			size_t head = i || page ? 0 : sizeof(*first);

			to -= STACKBUF_PAGE_SIZE;
			memcpy(to + head, sbuf_arrays[i].data + page * STACKBUF_PAGE_SIZE + head,
			       STACKBUF_PAGE_SIZE - head);
			/* Event pages keep their @seq: if built in, some are in use */
			if (i != SBUF_TEXT && i != SBUF_EVENTS)
				((struct stackbuf_page *)to)->seq = 0;
			wmb();	/* V1 */
		}
		sbuf_keep_distance[i] = to - sbuf_arrays[i].data;
	}
	/* Last, as this makes it a record */
	WRITE_ONCE(first->kind, STACKBUF_INFO);
	wmb();	/* V1 */
	if (was_on)
		sbuf_state_change(STACKBUF_ENABLED, true);
	return 0;
}

int __init sbuf_keep_init(void)
{
	char *take;
	bool found;

	if (!sbuf_keep_param || !*sbuf_keep_param)
		return 0;
	sbuf_keep_param[strcspn(sbuf_keep_param, "\n")] = '\0';
	take = strstr(sbuf_keep_param, ":take");
	memory.take = take && !take[5];
	if (memory.take)
		*take = '\0';
	found = find_memory();
	/* The parameter reads as it was given */
	if (memory.take)
		*take = ':';
	if (!found || !claim_memory() ||
	    !(map_memory() || refuse("the kernel cannot map it")) || !find_room())
		goto refused;
	if (kept_records)
		pr_info("keep: records from before a reset: %u; stackbuf --kept log reads the last\n",
			kept_records);
	if (!memory.own) {
		if (!kept_records) {
			pr_err("keep: %s: too small: a record takes %zu KiB, and after a reset there are two; build with smaller sizes: make EVENTS_KB= etc.\n",
			       sbuf_keep_param, (size_t)RECORD_SIZE >> 10);
			goto refused;
		}
		pr_err("keep: %s: no room for a new record of %zu KiB, which is not kept: reserve %zu KiB in all, or write the numbers of earlier records to kept/forget in debugfs\n",
		       sbuf_keep_param, (size_t)RECORD_SIZE >> 10,
		       ((size_t)memory.size + RECORD_SIZE) >> 10);
		return 0;
	}
	if (!begin_record())
		goto refused;
	stackbuf_info.kept_at = memory.start + (memory.own - memory.at);
	stackbuf_info.kept_size = memory.size;
	pr_info("keep: at 0x%llx, %zu KiB\n", stackbuf_info.kept_at, (size_t)RECORD_SIZE >> 10);
	mutex_lock(&sbuf_table_mutex);
	if (SBUF_BUILT_IN)
		stop_machine(keep_arrays, NULL, NULL);
	else
		keep_arrays(NULL);
	mutex_unlock(&sbuf_table_mutex);
	queue_delayed_work(sbuf_unbound_wq, &keep_work, HZ / 10);
	return 0;

refused:
	/* If built in, sbuf_keep_exit() is not called */
	kept_records = 0;
	unmap_memory();
	return -EINVAL;
}

void sbuf_keep_exit(void)
{
	if (!memory.at)
		return;
	cancel_delayed_work_sync(&keep_work);
	memset(sbuf_keep_distance, 0, sizeof(sbuf_keep_distance));
	/* After a regular unload the record is not needed, but the next load needs its room */
	if (memory.own && is_ours())
		clear_record(memory.own, RECORD_SIZE);
	unmap_memory();
}

/* ------------------------------------------------------ what was left there --- */

struct debugfs_blob_wrapper *sbuf_keep_record(unsigned int n)
{
	return n && n <= kept_records ? &kept[n - 1] : NULL;
}

void sbuf_keep_forget(struct debugfs_blob_wrapper *record)
{
	static DEFINE_MUTEX(mutex);

	mutex_lock(&mutex);
	if (record->size)
		clear_record(record->data, record->size);
	record->size = 0;
	mutex_unlock(&mutex);
}

#endif
