// SPDX-License-Identifier: GPL-2.0
/*
 * tables.c - writes dumps with a made-up record and the page tables that lead to it
 *
 *   tables make LAYOUT KIND MB FILE    writes FILE, a dump of so many megabytes of memory
 *   tables damage TIMES                damages tables, and compares what is found with a scan
 *
 * LAYOUT and KIND are of the tables below.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>
#include "input/open.h"
#include "record_maker.h"

#define X86_MAP		0xffffffff80000000ULL
#define ARM_TEXT	0xffffffc008010000ULL
#define ARM_ROOT	0xffffffc009a00000ULL
#define IMAGE_SIZE	(4ULL << 20)
#define ENTRY_PHYS	0x0000fffffffff000ULL

/* How tables look */
static const struct layout {
	const char *name;
	unsigned int machine;	/* EM_... */
	unsigned int shift;	/* of the kernel's pages */
	unsigned int bits;	/* of virtual addresses, in the tables */
	unsigned int config;	/* CONFIG_ARM64_VA_BITS */
	unsigned int used;	/* bits in use, by TCR_EL1 */
} layouts[] = {
	{ "x86-4", EM_X86_64, 12, 48, 0, 0 },
	{ "x86-5", EM_X86_64, 12, 57, 0, 0 },
	{ "arm-4k", EM_AARCH64, 12, 48, 48, 48 },
	{ "arm-4k-39", EM_AARCH64, 12, 39, 39, 39 },
	{ "arm-4k-52", EM_AARCH64, 12, 52, 52, 52 },
	{ "arm-4k-52-on-48", EM_AARCH64, 12, 48, 52, 48 },
	{ "arm-16k-47", EM_AARCH64, 14, 47, 47, 47 },
	{ "arm-16k-48", EM_AARCH64, 14, 48, 48, 48 },
	{ "arm-64k", EM_AARCH64, 16, 48, 48, 48 },
	{ "arm-64k-52-on-48", EM_AARCH64, 16, 52, 52, 48 },
};

enum contents { ELF, KDUMP, BUILT_IN, EARLIER, BARE, NOWHERE, LOOP, WIDE, HUGE, NO_LEVEL, KINDS };
static const char *const kind_name[KINDS] = {
	"elf", "kdump", "built-in", "earlier", "bare", "nowhere", "loop", "wide", "huge", "no-level"
};

/* ----------------------------------------------------------------- memory --- */

#define SLOTS	(1U << 17)

/* A made-up machine */
struct machine {
	const struct layout *layout;	/* of its tables */
	u64 start;	/* its first physical address */
	u64 size;	/* bytes of memory */
	u64 root;	/* physical address of the first table */
	u64 units;	/* of the size of the kernel's pages that are used */
	/* Pages that hold something, by a hash of their address */
	struct { u64 phys; char *data; } page[SLOTS];
	u64 table[1024];	/* addresses of tables */
	unsigned int tables;	/* how many */
};

static char *find_page(struct machine *m, u64 phys, bool make)
{
	u64 pfn = phys / STACKBUF_PAGE_SIZE;
	size_t i = (pfn * 0x9e3779b97f4a7c15ULL >> 40) % SLOTS;

	while (m->page[i].data && m->page[i].phys != pfn)
		i = (i + 1) % SLOTS;
	if (!m->page[i].data && make) {
		m->page[i].phys = pfn;
		m->page[i].data = xcalloc(1, STACKBUF_PAGE_SIZE);
	}
	return m->page[i].data;
}

static u64 *entry_at(struct machine *m, u64 phys)
{
	return (u64 *)(find_page(m, phys, true) + phys % STACKBUF_PAGE_SIZE);
}

/* One page of the kernel's, anywhere in the lower half of the memory */
static u64 new_unit(struct machine *m)
{
	u64 units = (m->size / 2) >> m->layout->shift;

	if (m->units == units)
		die(1, "not enough memory");
	return m->start + ((m->units++ * 7919 % units) << m->layout->shift);
}

static u64 new_table(struct machine *m)
{
	if (m->tables == ARRAY_SIZE(m->table))
		die(1, "too many tables");
	return m->table[m->tables++] = new_unit(m);
}

/* ----------------------------------------------------------------- tables --- */

/* The bits of an address that the tables of a level divide; the last level is 1 */
static unsigned int level_shift(const struct layout *l, unsigned int level)
{
	return l->shift + (level - 1) * (l->shift - 3);
}

static unsigned int levels(const struct layout *l)
{
	return (l->bits - l->shift + l->shift - 4) / (l->shift - 3);
}

static u64 table_entry(const struct machine *m, u64 phys)
{
	return phys | (m->layout->machine == EM_X86_64 ? 0x67 : 0x3);
}

static u64 leaf_entry(const struct machine *m, u64 phys, unsigned int level, bool writable)
{
	if (m->layout->machine == EM_X86_64)
		return phys | 1ULL << 63 | 0x161 | (writable ? 2 : 0) | (level > 1 ? 0x80 : 0);
	/* With 52 bits of 4 KiB pages, upper bits of the address take the shareability's place */
	if (m->layout->bits < 52 || m->layout->shift == 16)
		phys |= 0x300;
	return phys | 0x0060000000000400 | (writable ? 0 : 0x80) | (level > 1 ? 1 : 3);
}

/* The entry of @addr in the table of this level; tables above it are made */
static u64 *table_walk(struct machine *m, u64 addr, unsigned int level)
{
	const struct layout *l = m->layout;
	unsigned int at = levels(l), bits;
	u64 table = m->root, *entry, i;

	for (;; at--) {
		bits = at == levels(l) ? l->bits - level_shift(l, at) : l->shift - 3;
		i = addr >> level_shift(l, at) & ((1ULL << bits) - 1);
		entry = entry_at(m, table + i * 8);
		if (at == level)
			return entry;
		if (!*entry)
			*entry = table_entry(m, new_table(m));
		table = *entry & ENTRY_PHYS & -(1ULL << l->shift);
	}
}

/* Map [@addr, @addr + @size) to new pages.  @data, if not NULL, is their contents */
static void map(struct machine *m, u64 addr, u64 size, const char *data, bool writable)
{
	u64 unit = 1ULL << m->layout->shift, at, phys, i;

	for (at = addr & -unit; at < addr + size; at += unit) {
		u64 *entry = table_walk(m, at, 1);

		if (!*entry)
			*entry = leaf_entry(m, new_unit(m), 1, writable);
		phys = *entry & ENTRY_PHYS & -unit;
		for (i = 0; i < unit; i += STACKBUF_PAGE_SIZE)
			if (at + i >= addr && at + i < addr + size)
				memcpy(find_page(m, phys + i, true),
				       data ? data + (at + i - addr) : "other",
				       data ? 4096 : 5);
	}
}

/* Map memory in one piece, by the entries before the last level */
static void map_image(struct machine *m, u64 addr, u64 phys, u64 size)
{
	/* With pages of 64 KiB an entry before the last level maps more than there is: 512 MiB */
	unsigned int level = m->layout->shift == 16 ? 1 : 2;
	u64 part = 1ULL << level_shift(m->layout, level), at;

	for (at = 0; at < size; at += part)
		*table_walk(m, addr + at, level) = leaf_entry(m, phys + at, level, true);
}

/* ----------------------------------------------------------------- record --- */

/* A load of the module, each array at its address and followed by a gap */
static void make_record(struct maker *made, u64 addr)
{
	maker_record(made, 40, 6, 8, 12000);
	maker_move(made, addr, 0x10000);
}

static void map_record(struct machine *m, const struct maker *made)
{
	size_t size;
	char *data;
	int a;

	for (a = 0; a < ARRAYS; a++) {
		data = maker_array(made, a, &size);
		map(m, *maker_addr(made, a), size, data, true);
	}
}

/* Copy it to new pages or, if not 0, so far below its addresses */
static void copy_record(struct machine *m, const struct maker *made, u64 below)
{
	size_t size, i;
	char *data;
	u64 phys;
	int a;

	for (a = 0; a < ARRAYS; a++) {
		data = maker_array(made, a, &size);
		for (i = 0; i < size; i += STACKBUF_PAGE_SIZE) {
			phys = below ? *maker_addr(made, a) + i - below : new_unit(m);
			memcpy(find_page(m, phys, true), data + i, STACKBUF_PAGE_SIZE);
		}
	}
}

static size_t put_vmcoreinfo(const struct machine *m, char *text, size_t size)
{
	const struct layout *l = m->layout;

	if (l->machine == EM_X86_64)
		return snprintf(text, size,
				"OSRELEASE=6.1.0-made\n"
				"PAGESIZE=4096\n"
				"SYMBOL(_stext)=%llx\n"
				"SYMBOL(swapper_pg_dir)=%llx\n"
				"NUMBER(phys_base)=%lld\n"
				"NUMBER(pgtable_l5_enabled)=%d\n"
				"KERNELOFFSET=0\n",
				X86_MAP + 0x1000000, X86_MAP + 0x2a10000,
				(long long)(m->root - 0x2a10000), l->bits > 48);
	return snprintf(text, size,
			"OSRELEASE=6.1.0-made\n"
			"PAGESIZE=%u\n"
			"SYMBOL(_stext)=%llx\n"
			"SYMBOL(swapper_pg_dir)=%llx\n"
			"NUMBER(VA_BITS)=%u\n"
			"NUMBER(kimage_voffset)=0x%llx\n"
			"NUMBER(TCR_EL1_T1SZ)=0x%x\n"
			"KERNELOFFSET=0\n", 1U << l->shift, ARM_TEXT, ARM_ROOT, l->config,
			ARM_ROOT - m->root, 64 - l->used);
}

static void make_machine(struct machine *m, const struct layout *l, enum contents kind, u64 size)
{
	bool x86 = l->machine == EM_X86_64;
	u64 text = x86 ? 0xffffffff81000000 : ARM_TEXT, image;
	u64 modules = x86 ? 0xffffffffc0200000 : ARM_TEXT - 0x4010000, i;
	struct maker made;

	memset(m, 0, sizeof(*m));
	m->layout = l;
	m->start = x86 ? 0 : 1ULL << 30;
	m->size = size;
	/* The first page is not used: addresses of 0 mean that something is wrong */
	new_unit(m);
	m->root = new_table(m);
	put_vmcoreinfo(m, find_page(m, new_unit(m), true), STACKBUF_PAGE_SIZE);
	if (kind == NOWHERE)
		return;
	map(m, modules - 0x100000, 0x40000, NULL, false);
	map(m, modules - 0x80000, 0x20000, NULL, true);
	if (kind == BUILT_IN) {
		/* The arrays lie in one piece, in the image's .bss */
		make_record(&made, text + 0x200000);
		image = m->start + m->size * 3 / 4;
		map_image(m, text & -0x200000ULL, image, IMAGE_SIZE);
		copy_record(m, &made, (text & -0x200000ULL) - image);
		maker_free(&made);
		return;
	}
	make_record(&made, modules);
	map_record(m, &made);
	maker_free(&made);
	if (kind == EARLIER) {
		maker_instance -= 1000000000;
		make_record(&made, modules);
		copy_record(m, &made, 0);
		maker_free(&made);
	}
	/* A table's entries all lead to the table itself, to one page, or to one huge one */
	for (i = 0; i < 512 && kind >= LOOP; i++) {
		u64 page = *table_walk(m, modules - 0x80000, 1);

		*entry_at(m, m->root + 8 * i) = table_entry(m, m->root);
		if (kind == LOOP)
			continue;
		*entry_at(m, m->table[1] + 8 * i) = table_entry(m, m->table[2]);
		*entry_at(m, m->root + 8 * i) = table_entry(m, m->table[1]);
		*entry_at(m, m->table[2] + 8 * i) = kind == HUGE ?
			leaf_entry(m, 0, 2, true) : table_entry(m, m->table[3]);
		if (kind == WIDE)
			*entry_at(m, m->table[3] + 8 * i) = page;
		if (kind == NO_LEVEL)
			*entry_at(m, m->table[2] + 8 * i) = table_entry(m, 1ULL << 50);
	}
}

/* Release the pages */
static void free_machine(struct machine *m)
{
	size_t i;

	for (i = 0; i < SLOTS; i++)
		free(m->page[i].data);
}

/* ------------------------------------------------------------------ files --- */

static void put_at(int fd, u64 at, const void *data, size_t size)
{
	if (pwrite(fd, data, size, at) != (ssize_t)size)
		die(1, "cannot write: %m");
}

/* Pages of other memory, about as compressible as a kernel's */
#define OTHERS	256

static char *other_page(u64 n)
{
	static char page[OTHERS][STACKBUF_PAGE_SIZE];
	static bool made;
	u64 word = 88172645463325252ULL;
	unsigned int i, j;

	for (i = 0; !made && i < OTHERS; i++)
		for (j = 0; j < STACKBUF_PAGE_SIZE; j += 8) {
			word ^= word << 13;
			word ^= word >> 7;
			word ^= word << 17;
			*(u64 *)(page[i] + j) = j % 24 ? word & 0xffff : word | 0xffff800000000000;
		}
	made = true;
	return page[n % OTHERS];
}

/* The notes, one page; return their size */
static size_t make_notes(const struct machine *m, char *notes)
{
	Elf64_Nhdr note = { .n_namesz = sizeof("VMCOREINFO") };
	size_t size = sizeof(note) + 12;

	note.n_descsz = put_vmcoreinfo(m, notes + size, STACKBUF_PAGE_SIZE - size);
	memcpy(notes, &note, sizeof(note));
	strcpy(notes + sizeof(note), "VMCOREINFO");
	return size + (note.n_descsz + 3) / 4 * 4;
}

/* Two segments that overlap.  Memory that holds nothing is a hole, unless @full */
static void write_elf(struct machine *m, int fd, bool bare, bool full)
{
	Elf64_Ehdr head = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB },
		.e_type = ET_CORE, .e_machine = m->layout->machine, .e_phoff = sizeof(head),
		.e_phentsize = sizeof(Elf64_Phdr), .e_phnum = bare ? 2 : 3,
	};
	u64 middle = m->size / 4 & -4096ULL, at;
	char notes[STACKBUF_PAGE_SIZE] = "";
	Elf64_Phdr segment[] = {
		{ .p_type = PT_LOAD, .p_offset = 8192, .p_paddr = m->start + middle,
		  .p_filesz = m->size - middle, .p_memsz = m->size - middle },
		{ .p_type = PT_LOAD, .p_offset = 8192 + m->size - middle, .p_paddr = m->start,
		  .p_filesz = middle + 4096, .p_memsz = middle + 4096 },
		{ .p_type = PT_NOTE, .p_offset = 4096, .p_filesz = make_notes(m, notes) },
	};
	size_t i;

	put_at(fd, 0, &head, sizeof(head));
	put_at(fd, sizeof(head), segment, sizeof(segment));
	put_at(fd, 4096, notes, sizeof(notes));
	for (at = 0; full && at < m->size; at += 4096)
		put_at(fd, 8192 + at, other_page(at / 4096), 4096);
	for (i = 0; i < SLOTS; i++) {
		at = m->page[i].phys * STACKBUF_PAGE_SIZE - m->start;
		if (!m->page[i].data || at >= m->size)
			continue;
		if (at >= middle)
			put_at(fd, 8192 + at - middle, m->page[i].data, 4096);
		if (at < middle + 4096)
			put_at(fd, 8192 + m->size - middle + at, m->page[i].data, 4096);
	}
	if (ftruncate(fd, 8192 + m->size + 4096))
		die(1, "cannot extend: %m");
}

/* As makedumpfile writes it, compressed by zlib */
static void write_kdump(struct machine *m, int fd)
{
	static unsigned char packed[OTHERS][2 * STACKBUF_PAGE_SIZE];
	static unsigned long length[OTHERS];
	const char *const names[] = { "Linux", "made", "6.1.0-made", "#1 SMP",
				      m->layout->machine == EM_X86_64 ? "x86_64" : "aarch64",
				      "none" };
	const u32 block = 1U << m->layout->shift;
	u64 first = m->start >> m->layout->shift, end = first + (m->size >> m->layout->shift), pfn;
	const u64 map_size = (end / 8 + block - 1) / block * block;
	struct { u64 offset; u32 size, flags; u64 page_flags; } desc = { .flags = 1 };
	struct {
		u64 phys_base;
		u32 dump_level, split;
		u64 start_pfn, end_pfn, vmcoreinfo, size, notes, notes_size, more[5];
	} sub = { .notes = block + 1024 };
	const u32 words[] = { block, 1, 2 * map_size / block, end };
	u64 at = 2 * block + 2 * map_size, data = at + (end - first) * sizeof(desc);
	unsigned char *one = xcalloc(2, block);
	char *bits = xcalloc(1, map_size), notes[4096] = "", *page = xcalloc(1, block);
	unsigned long n;
	u32 i;

	sub.notes_size = make_notes(m, notes);
	put_at(fd, 0, "KDUMP   \5", 9);
	/* libkdumpfile takes the machine of struct new_utsname only if the rest is there, too */
	for (i = 0; i < 6; i++)
		put_at(fd, 12 + i * 65, names[i], strlen(names[i]));
	put_at(fd, 428, words, sizeof(words));
	put_at(fd, block, &sub, sizeof(sub));
	put_at(fd, sub.notes, notes, sub.notes_size);
	for (pfn = first; pfn < end; pfn++)
		bits[pfn / 8] |= 1 << pfn % 8;
	put_at(fd, 2 * block, bits, map_size);
	put_at(fd, 2 * block + map_size, bits, map_size);
	for (i = 0; i < OTHERS; i++) {
		length[i] = sizeof(packed[i]);
		compress2(packed[i], &length[i], (void *)other_page(i), 4096, 1);
	}
	for (pfn = first; pfn < end; pfn++, at += sizeof(desc), data += n) {
		bool used = false;

		memset(page, 0, block);
		for (i = 0; i < block; i += 4096) {
			char *p = find_page(m, (pfn << m->layout->shift) + i, false);

			used = used || p;
			if (p)
				memcpy(page + i, p, 4096);
		}
		n = length[pfn % OTHERS];
		if (used || block != 4096) {
			n = 2 * block;
			compress2(one, &n, (void *)page, block, 1);
		}
		desc.offset = data;
		desc.size = n;
		put_at(fd, at, &desc, sizeof(desc));
		put_at(fd, data, used || block != 4096 ? one : packed[pfn % OTHERS], n);
	}
	free(bits);
	free(page);
	free(one);
}

/* ----------------------------------------------------------------- damage --- */

static u32 hash_page(u32 hash, const struct found_page *p)
{
	const u64 words[] = { hash, p->instance, p->seq, p->index, p->kind,
			      p->data ? hash_bytes(p->data, STACKBUF_PAGE_SIZE) : 0 };

	return hash_bytes(words, sizeof(words));
}

/* What is found in a dump, as one number; *@scanned is set if it was found by a scan */
static u32 found_in(char *name, const char *scan, bool *scanned)
{
	struct page_set set = { 0 };
	struct instance *list;
	struct source s;
	u32 hash = 0;
	size_t i;

	if (source_open(&s, &name, 1))
		die(1, "%s", s.error);
	s.scan = scan;
	if (s.ops->load(&s, &set) || s.ops->fetch(&s, &set, page_set_newest(&set)))
		die(1, "%s", s.error);
	if (page_set_instances(&set, &list) != 1 || list->missing)
		die(1, "not one whole record");
	set.nr = pages_drop_old_copies(set.page, set.nr);
	for (i = 0; i < set.nr; i++)
		hash = hash_page(hash, &set.page[i]);
	hash += set.unreadable + set.cut;
	*scanned = set.scanned;
	free(list);
	page_set_clear(&set);
	source_close(&s);
	return hash;
}

/* Change an entry that is in use */
static void damage_entry(struct machine *m, u64 *entry)
{
	switch (rand() % 6) {
	case 0:
		*entry ^= 1ULL << rand() % 64;
		break;
	case 1:
		*entry ^= 1ULL << (12 + rand() % 12);
		break;
	case 2:
		*entry = 0;
		break;
	case 3:
		*entry = table_entry(m, m->table[rand() % m->tables]);
		break;
	case 4:
		*entry = (*entry & ~0xffffffff000ULL) | m->page[rand() % SLOTS].phys << 12;
		break;
	default:
		*entry = (u64)rand() << 32 | (u32)rand();
	}
}

static u64 *used_entry(struct machine *m)
{
	u64 table, *entry;

	for (;;) {
		table = m->table[rand() % m->tables];
		entry = entry_at(m, table + 8 * (rand() % (1 << (m->layout->shift - 3))));
		if (*entry)
			return entry;
	}
}

static int damage_tables(const struct layout *l, unsigned int times)
{
	static struct machine m;
	bool scanned;
	unsigned int i, n, scans = 0, wrong = 0;
	int fd = memfd_create("dump", 0);
	char name[64];
	u32 whole;

	make_machine(&m, l, ELF, 8 << 20);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	write_elf(&m, fd, false, false);
	whole = found_in(name, "--scan", &scanned);
	if (found_in(name, NULL, &scanned) != whole || scanned)
		die(1, "the tables do not lead to what a scan finds");
	for (i = 0; i < times; i++) {
		u64 *entry[4], before[4];

		srand(i);
		for (n = 0; n < 1U + i % 4; n++) {
			entry[n] = used_entry(&m);
			before[n] = *entry[n];
			damage_entry(&m, entry[n]);
		}
		write_elf(&m, fd, false, false);
		if (found_in(name, NULL, &scanned) != whole) {
			printf("%s: after damage %u something else is found\n", l->name, i);
			wrong++;
		}
		scans += scanned;
		while (n--)
			*entry[n] = before[n];
	}
	printf("%s: damaged %u times: %u scans, %u wrong\n", l->name, times, scans, wrong);
	free_machine(&m);
	close(fd);
	return wrong || !scans || scans == times;
}

/* ------------------------------------------------------------------- main --- */

static void make(const struct layout *l, enum contents kind, u64 mb, const char *path)
{
	FILE *f = fopen(path, "wxe");
	static struct machine m;

	if (!f)
		die(1, "%s: %m", path);
	make_machine(&m, l, kind, mb << 20);
	if (kind == KDUMP)
		write_kdump(&m, fileno(f));
	else
		/* Larger ones are sparse */
		write_elf(&m, fileno(f), kind == BARE, mb > 512 && mb < 65536);
	free_machine(&m);
	if (fclose(f))
		die(1, "%s: %m", path);
}

int main(int argc, char **argv)
{
	unsigned int i, kind;
	int status = 0;

	if (argc == 3 && !strcmp(argv[1], "damage")) {
		for (i = 0; i < ARRAY_SIZE(layouts); i++)
			status |= damage_tables(&layouts[i], atoi(argv[2]) / ARRAY_SIZE(layouts));
		return status;
	}
	for (i = 0; argc == 6 && !strcmp(argv[1], "make") && i < ARRAY_SIZE(layouts); i++)
		for (kind = 0; kind < KINDS; kind++) {
			if (strcmp(argv[2], layouts[i].name) || strcmp(argv[3], kind_name[kind]))
				continue;
			make(&layouts[i], kind, atoll(argv[4]), argv[5]);
			return 0;
		}
	fputs("usage: tables make LAYOUT KIND MB FILE | tables damage TIMES\n", stderr);
	return 2;
}
