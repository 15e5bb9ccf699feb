// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz_dump.c - arbitrary bytes as dump files (libFuzzer)
 *
 * The first byte of the input selects a kind of file, made of a few pages of a made-up
 * record.  Changes follow: place, length, bytes; the rest is appended.  So the fuzzer
 * reaches every header without a corpus, and in ELF files VMCOREINFO and page tables.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "input/dump.h"
#include "fuzz.h"
#include "input/open.h"
#include "record_maker.h"

#define PAGES	21	/* of the record, in each file */
#define TABLES	4	/* in an ELF file, from its second page on */

/* Where the record is mapped */
#define ADDRESS	0xffffffffc0100000ULL
#define FILE_MAX	(1 << 18)

enum { RAW, ELF, KDUMP, KINDS };

static struct {
	u8 bytes[FILE_MAX];
	size_t size, interesting;	/* the first @interesting bytes are headers */
} plain[KINDS];

static u8 pages[PAGES][STACKBUF_PAGE_SIZE];

static void put(int kind, const void *p, size_t n)
{
	memcpy(plain[kind].bytes + plain[kind].size, p, n);
	plain[kind].size += n;
}

static void make_pages(void)
{
	struct maker made;
	const char *array;
	size_t size, n = 0, i, a;

	maker_record(&made, 4, 4, 4, 1500);
	/* A build without probes and deepest stacks.  The arrays follow one another */
	made.pages[ARRAY_INFO] = 1 + STACKBUF_COUNTER_PAGES;
	made.info->info_size = made.pages[ARRAY_INFO] * STACKBUF_PAGE_SIZE;
	maker_move(&made, ADDRESS, 0);
	for (a = 0; a < ARRAYS; a++) {
		array = maker_array(&made, a, &size);
		for (i = 0; i < size && n < PAGES; i += STACKBUF_PAGE_SIZE)
			memcpy(pages[n++], array + i, STACKBUF_PAGE_SIZE);
	}
	maker_free(&made);
}

/* VMCOREINFO, with the first table at address 0 */
static void put_note(size_t end)
{
	static const char text[] =
		"OSRELEASE=6.1.0-made\n"
		"SYMBOL(swapper_pg_dir)=ffffffff80000000\n"
		"NUMBER(phys_base)=0\n"
		"KERNELOFFSET=0\n";
	Elf64_Nhdr note = { .n_namesz = sizeof("VMCOREINFO"), .n_descsz = sizeof(text) - 1 };

	put(ELF, &note, sizeof(note));
	put(ELF, "VMCOREINFO\0", 12);
	put(ELF, text, sizeof(text));
	plain[ELF].size = end;
}

static void put_tables(void)
{
	u64 table[TABLES][STACKBUF_PAGE_SIZE / sizeof(u64)] = { 0 };
	unsigned int i;

	for (i = 0; i < TABLES - 1; i++)
		table[i][ADDRESS >> (39 - 9 * i) & 511] = (i + 1) * STACKBUF_PAGE_SIZE | 0x67;
	for (i = 0; i < PAGES; i++)
		table[TABLES - 1][(ADDRESS >> 12 & 511) + i] =
			(TABLES + i) * STACKBUF_PAGE_SIZE | 0x163;
	put(ELF, table, sizeof(table));
}

static void make_elf(void)
{
	const size_t memory = (TABLES + PAGES) * STACKBUF_PAGE_SIZE;
	Elf64_Ehdr head = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB },
		.e_type = ET_CORE, .e_machine = EM_X86_64, .e_phoff = sizeof(head),
		.e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 4,
	};
	Elf64_Phdr segment = { .p_type = PT_LOAD };
	unsigned int i;

	put(ELF, &head, sizeof(head));
	for (i = 0; i < 3; i++) {
		segment.p_paddr = i * (PAGES / 3) * STACKBUF_PAGE_SIZE;
		segment.p_filesz = memory - 2 * (PAGES / 3) * STACKBUF_PAGE_SIZE;
		segment.p_memsz = segment.p_filesz;
		segment.p_offset = STACKBUF_PAGE_SIZE + segment.p_paddr;
		put(ELF, &segment, sizeof(segment));
	}
	segment = (Elf64_Phdr){ .p_type = PT_NOTE, .p_offset = 512, .p_filesz = 512 };
	put(ELF, &segment, sizeof(segment));
	plain[ELF].size = segment.p_offset;
	put_note(STACKBUF_PAGE_SIZE);
	put_tables();
	plain[ELF].interesting = plain[ELF].size;
	put(ELF, pages, sizeof(pages));
}

/*
 * struct disk_dump_header, a sub header, two bitmaps, descriptors, pages.  Only from version 6
 * on does the sub header have the number of pages.
 */
static void make_kdump(void)
{
	struct { u64 offset; u32 size, flags; u64 page_flags; } desc = {
		.size = STACKBUF_PAGE_SIZE,
	};
	const u32 words[] = { STACKBUF_PAGE_SIZE, 1, 2, PAGES };
	unsigned int i;

	memcpy(plain[KDUMP].bytes, "KDUMP   \5", 9);
	strcpy((char *)plain[KDUMP].bytes + 12 + 4 * 65, "x86_64");
	memcpy(plain[KDUMP].bytes + 428, words, sizeof(words));
	memset(plain[KDUMP].bytes + 2 * STACKBUF_PAGE_SIZE, 0xff, PAGES / 8);
	memset(plain[KDUMP].bytes + 3 * STACKBUF_PAGE_SIZE, 0xff, PAGES / 8);
	plain[KDUMP].size = 4 * STACKBUF_PAGE_SIZE;
	for (i = 0; i < PAGES; i++) {
		desc.offset = 4 * STACKBUF_PAGE_SIZE + PAGES * sizeof(desc) +
			i * STACKBUF_PAGE_SIZE;
		put(KDUMP, &desc, sizeof(desc));
	}
	plain[KDUMP].interesting = plain[KDUMP].size;
	put(KDUMP, pages, sizeof(pages));
}

/* Convert a kdump file to the flattened format of "makedumpfile -F" */
static size_t flatten(u8 *file, size_t size)
{
	static u8 flat[2 * FILE_MAX];
	size_t at = 4096, from = 0, n;
	u64 piece[2];

	memset(flat, 0, 4096);
	strcpy((char *)flat, "makedumpfile");
	while (from < size) {
		n = size - from < 5000 ? size - from : 5000;
		piece[0] = __builtin_bswap64(from);
		piece[1] = __builtin_bswap64(n);
		memcpy(flat + at, piece, sizeof(piece));
		memcpy(flat + at + sizeof(piece), file + from, n);
		at += sizeof(piece) + n;
		from += n;
	}
	memset(flat + at, 0xff, 16);
	if (at + 16 > FILE_MAX)
		at = FILE_MAX - 16;
	memcpy(file, flat, at + 16);
	return at + 16;
}

static void change(u8 *file, size_t size, const u8 **data, size_t *left, unsigned int n)
{
	u32 at;
	u8 len;

	while (n-- && *left) {
		at = 0;
		len = 0;
		take(data, left, &at, 3);
		take(data, left, &len, 1);
		len %= 16;
		at %= size;
		if (len > size - at)
			len = size - at;
		take(data, left, file + at, len);
	}
}

/* Make a file without a place in a directory.  Return its descriptor */
static int put_file(char *name, size_t room, const u8 *file, size_t n)
{
	int fd = memfd_create("dump", MFD_CLOEXEC);

	if (fd < 0 || write(fd, file, n) != (ssize_t)n)
		abort();
	snprintf(name, room, "/proc/self/fd/%d", fd);
	return fd;
}

/* Without changes the tables must lead to the record, or nothing of them is tested */
static void check_elf(void)
{
	char name[64], *names[] = { name };
	int fd = put_file(name, sizeof(name), plain[ELF].bytes, plain[ELF].size);
	struct page_set set = { 0 };
	struct source s;

	if (source_open(&s, names, 1) || s.ops->load(&s, &set) || set.scanned) {
		fprintf(stderr, "page tables: %s\n", set.scanned ? set.scanned : s.error);
		abort();
	}
	page_set_clear(&set);
	source_close(&s);
	close(fd);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static u8 file[FILE_MAX];
	char name[64], *names[] = { name };
	u8 choice = 0, changes = 0, cut = 0;
	struct page_set set = { 0 };
	struct source s;
	struct record r;
	size_t n;
	int fd, kind;

	if (!plain[RAW].size) {
		make_pages();
		put(RAW, pages, sizeof(pages));
		plain[RAW].interesting = sizeof(pages);
		make_elf();
		make_kdump();
		check_elf();
	}
	take(&data, &size, &choice, 1);
	take(&data, &size, &changes, 1);
	take(&data, &size, &cut, 1);
	kind = (choice & 15) % KINDS;
	n = plain[kind].size;
	memcpy(file, plain[kind].bytes, n);
	change(file, plain[kind].interesting, &data, &size, changes & 7);
	if (choice & 16) {
		n = flatten(file, n);
		change(file, n, &data, &size, changes >> 4 & 7);
	}
	if (choice & 32)
		n = n * cut / 256;
	n += take(&data, &size, file + n, FILE_MAX - n);

	fd = put_file(name, sizeof(name), file, n);
	if (!source_open(&s, names, 1) && !s.ops->load(&s, &set)) {
		u64 instance = page_set_newest(&set);

		if (!s.ops->fetch(&s, &set, instance)) {
			record_parse(&r, &set, instance, NULL);
			record_free(&r);
		}
	} else if (!*s.error || strchr(s.error, '\n')) {
		abort();	/* an error must be one line */
	}
	page_set_clear(&set);
	source_close(&s);
	close(fd);
	return 0;
}
