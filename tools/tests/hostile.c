// SPDX-License-Identifier: GPL-2.0
/*
 * hostile.c - writes files that are made to use up a reader's time or memory
 *
 *   hostile KIND FILE       writes FILE; KIND is one of the table at the end
 *   hostile cpus            parses pages in memory, each of another CPU
 *   hostile within MB COMMAND...    runs the command; fails if it used more memory
 */
#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "record/parse.h"

static const char *path;

static void __attribute__((noreturn)) fail(const char *what)
{
	fprintf(stderr, "hostile: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void put(FILE *f, u64 at, const void *data, size_t size)
{
	if (fseeko(f, at, SEEK_SET) || (size && fwrite(data, size, 1, f) != 1))
		fail(path);
}

/* Extend the file to @size by a hole */
static void put_end(FILE *f, u64 size)
{
	put(f, size - 1, "", 1);
}

/* ---------------------------------------------------------------- pages --- */

static struct stackbuf_page page_head(unsigned int kind, u32 index, u64 seq)
{
	return (struct stackbuf_page){
		.magic = ~STACKBUF_MAGIC_INVERTED, .version = STACKBUF_VERSION, .kind = kind,
		.index = index, .instance = 1, .seq = seq,
	};
}

static void fill_info(struct stackbuf_info *info, u64 event_pages)
{
	memset(info, 0, STACKBUF_PAGE_SIZE);
	info->page = page_head(STACKBUF_INFO, 0, 1);
	info->info_size = sizeof(*info);
	info->events_size = event_pages * STACKBUF_PAGE_SIZE;
	info->stacks_size = STACKBUF_PAGE_SIZE;
	info->text_size = STACKBUF_PAGE_SIZE;
	info->id_bits = 32;
	info->nr_cpus = 4;
}

static void put_info(FILE *f, u64 event_pages)
{
	static struct stackbuf_info info;

	fill_info(&info, event_pages);
	put(f, 0, &info, STACKBUF_PAGE_SIZE);
}

/* A FULL event, then as many SHORT ones as fit; @id returns their ids */
static void fill_events(struct stackbuf_events_page *page, u32 index, u32 (*id)(u32 n))
{
	u32 n = index * PAGE_EVENTS_MAX;
	unsigned int i;

	memset(page, 0, sizeof(*page));
	page->page = page_head(STACKBUF_EVENTS, index, index + 1);
	page->time = 1000000000ULL + index * 1000000ULL;
	page->cpu = index % 4;
	page->word[0] = (u64)STACKBUF_FULL << STACKBUF_EVENT_FORM_SHIFT | id(n++);
	page->word[2] = 1 | 1 << STACKBUF_TASK_TGID_SHIFT;
	memcpy(&page->word[3], "hostile", 7);
	for (i = 5; i < STACKBUF_EVENT_WORDS; i++)
		page->word[i] = (u64)STACKBUF_SHORT << STACKBUF_EVENT_FORM_SHIFT |
				1ULL << STACKBUF_EVENT_TIME_SHIFT | id(n++);
}

static void put_events(FILE *f, u32 pages, u32 (*id)(u32 n))
{
	struct stackbuf_events_page page;
	u32 i;

	put_info(f, pages);
	for (i = 0; i < pages; i++) {
		fill_events(&page, i, id);
		put(f, (i + 1ULL) * STACKBUF_PAGE_SIZE, &page, sizeof(page));
	}
}

static u32 few_ids(u32 n)
{
	return 1 + n % 7;
}

static u32 own_id(u32 n)
{
	return 1 + n;
}

/*
 * Ids that collide: 2^14 at a time hash to one slot of a table of 2^18, by the lower bits
 * of the product with 0x9e3779b1
 */
static u32 meeting_id(u32 n)
{
	u32 inverse = 1, wanted = n << 18 | n >> 14;
	int i;

	/* Newton's method: each round doubles the number of correct bits */
	for (i = 0; i < 6; i++)
		inverse *= 2 - 0x9e3779b1U * inverse;
	wanted *= inverse;
	return wanted ? wanted : 1;
}

/* 40 MB of events, either of few stacks or each of another stack */
static void make_events(FILE *f)
{
	put_events(f, 10240, few_ids);
}

static void make_ids(FILE *f)
{
	put_events(f, 10240, own_id);
}

static void make_meeting(FILE *f)
{
	put_events(f, 260, meeting_id);
}

static u32 two_ids(u32 n)
{
	return 1 + n % 2;
}

/* Two stacks of 2,000 frames each in the text log, and 50,000 events that alternate between them */
static void make_names(FILE *f)
{
	static char page[STACKBUF_PAGE_SIZE];
	static struct stackbuf_info info;
	unsigned int i;
	int at;

	put_events(f, 100, two_ids);
	fill_info(&info, 100);
	info.text_size = 2 * STACKBUF_PAGE_SIZE;
	put(f, 0, &info, STACKBUF_PAGE_SIZE);
	for (i = 0; i < 2; i++) {
		memset(page, 0, sizeof(page));
		at = snprintf(page, sizeof(page),
			      "stackbuf text v%u page %u/2 seq %u instance %016x\n"
			      "stack %u [    0.000000] CPU: 0 PID: 1 Comm: hostile\n",
			      STACKBUF_VERSION, i, i + 1, 1, i + 1);
		for (; at < STACKBUF_PAGE_SIZE - 16; at += 2)
			memcpy(page + at, i ? "b\n" : "a\n", 2);
		put(f, (101ULL + i) * STACKBUF_PAGE_SIZE, page, sizeof(page));
	}
}

/* ------------------------------------------------------------------ ELF --- */

static void put_elf(FILE *f, u32 headers)
{
	Elf64_Ehdr head = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB },
		.e_type = ET_CORE, .e_machine = EM_X86_64, .e_phoff = STACKBUF_PAGE_SIZE,
		.e_phentsize = sizeof(Elf64_Phdr), .e_phnum = PN_XNUM, .e_shoff = sizeof(head),
	};
	Elf64_Shdr section = { .sh_info = headers };

	put(f, 0, &head, sizeof(head));
	put(f, sizeof(head), &section, sizeof(section));
}

/* 2^32 - 1 program headers, all of them PT_NULL, in a hole */
static void make_headers(FILE *f)
{
	put_elf(f, 0xffffffff);
	put_end(f, 1ULL << 38);
}

/* Overlapping segments of 48 MB, which begin at each byte of the first page */
static void make_layers(FILE *f)
{
	static char data[1 << 20];
	const u64 from = 1 << 20, size = 48 << 20;
	Elf64_Phdr segment = { .p_type = PT_LOAD, .p_offset = from, .p_filesz = size };
	unsigned int i;

	put_elf(f, STACKBUF_PAGE_SIZE);
	for (i = 0; i < STACKBUF_PAGE_SIZE; i++) {
		segment.p_paddr = i;
		put(f, STACKBUF_PAGE_SIZE + i * sizeof(segment), &segment, sizeof(segment));
	}
	memset(data, 0x5a, sizeof(data));
	for (i = 0; i < size / sizeof(data); i++)
		put(f, from + i * sizeof(data), data, sizeof(data));
}

/* ----------------------------------------------------------- other files --- */

/* 200,000 pages that share the data of one */
static void make_copies(FILE *f)
{
	struct { u64 offset; u32 size, flags; u64 page_flags; } desc = {
		.size = STACKBUF_PAGE_SIZE,
	};
	const u32 pages = 200000, map = (pages / 8 / STACKBUF_PAGE_SIZE + 1) * STACKBUF_PAGE_SIZE;
	const u32 blocks = 2 * map / STACKBUF_PAGE_SIZE;
	const u32 words[] = { STACKBUF_PAGE_SIZE, 1, blocks, pages };
	u64 at = 2 * STACKBUF_PAGE_SIZE + 2 * map;
	char *bits = xcalloc(2, map);
	struct stackbuf_events_page page;
	u32 i;

	memset(bits, 0xff, pages / 8);
	memset(bits + map, 0xff, pages / 8);
	put(f, 0, "KDUMP   \5", 9);
	put(f, 12 + 4 * 65, "x86_64", 6);
	put(f, 428, words, sizeof(words));
	put(f, 2 * STACKBUF_PAGE_SIZE, bits, 2 * map);
	desc.offset = at + pages * sizeof(desc);
	for (i = 0; i < pages; i++)
		put(f, at + i * sizeof(desc), &desc, sizeof(desc));
	fill_events(&page, 0, few_ids);
	put(f, desc.offset, &page, sizeof(page));
	free(bits);
}

static u64 put_piece(FILE *f, u64 at, u64 offset, const void *data, size_t size)
{
	const u64 piece[] = { htobe64(offset), htobe64(size) };

	put(f, at, piece, sizeof(piece));
	put(f, at + sizeof(piece), data, size);
	return at + sizeof(piece) + size;
}

/* Pieces of one byte, each in another block: 2.5 MB that unpack to 600 MB on disk */
static void make_pieces(FILE *f)
{
	u64 at = STACKBUF_PAGE_SIZE, i;

	put(f, 0, "makedumpfile\0\0\0", 16);
	for (i = 0; i < 150000; i++)
		at = put_piece(f, at, i * STACKBUF_PAGE_SIZE, "x", 1);
	put(f, at, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 16);
}

/* A valid flattened file of 8 MB */
static void make_flat(FILE *f)
{
	struct stackbuf_events_page page;
	u64 at = STACKBUF_PAGE_SIZE, i;

	put(f, 0, "makedumpfile\0\0\0", 16);
	for (i = 0; i < 2000; i++) {
		fill_events(&page, i, few_ids);
		at = put_piece(f, at, i * sizeof(page), &page, sizeof(page));
	}
	put(f, at, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 16);
}

/* stackbuf_info that claims 1 GiB for each array */
static void make_claims(FILE *f)
{
	static struct stackbuf_info info;

	fill_info(&info, (1 << 30) / STACKBUF_PAGE_SIZE);
	info.stacks_size = 1 << 30;
	info.text_size = 1 << 30;
	put(f, 0, &info, STACKBUF_PAGE_SIZE);
}

/*
 * Pages of events that look outdated, each of another CPU.  The reader looks at their headers
 * only, so they need not have 4 KiB each.
 */
static int parse_cpus(void)
{
	enum { PAGES = 300000, STEP = 128 };
	char *memory = xcalloc(PAGES + STACKBUF_PAGE_SIZE / STEP, STEP);
	struct stackbuf_info *info = xcalloc(1, sizeof(*info));
	struct page_set set = { 0 };
	struct record r;
	u32 i;

	fill_info(info, PAGES);
	page_set_add(&set, info);
	for (i = 0; i < PAGES; i++) {
		struct stackbuf_events_page *page = (void *)(memory + (size_t)i * STEP);

		page->page = page_head(STACKBUF_EVENTS, i, 3ULL * i + 1);
		page->cpu = i;
		page_set_add(&set, page);
	}
	record_parse(&r, &set, 1);
	/* A page is outdated only if its CPU has a later one: all must be kept */
	i = r.pages[ARRAY_EVENTS];
	record_free(&r);
	page_set_clear(&set);
	free(info);
	free(memory);
	return i == PAGES ? 0 : 1;
}

/* Return the command's exit status, or 125 if it used more than @mb megabytes */
static int run_within(long mb, char **command)
{
	struct rusage usage;
	int status;
	pid_t pid = fork();

	if (!pid) {
		execv(*command, command);
		_exit(126);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
		fail(*command);
	if (usage.ru_maxrss > mb * 1024) {
		fprintf(stderr, "hostile: %s took %ld MB of memory, more than %ld\n", *command,
			usage.ru_maxrss / 1024, mb);
		return 125;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*make)(FILE *f);
	} kinds[] = {
		{ "events", make_events }, { "ids", make_ids }, { "meeting", make_meeting },
		{ "names", make_names }, { "headers", make_headers }, { "layers", make_layers },
		{ "copies", make_copies }, { "pieces", make_pieces }, { "flat", make_flat },
		{ "claims", make_claims },
	};
	size_t i;
	FILE *f;

	if (argc == 2 && !strcmp(argv[1], "cpus"))
		return parse_cpus();
	if (argc > 3 && !strcmp(argv[1], "within"))
		return run_within(atol(argv[2]), argv + 3);
	for (i = 0; argc == 3 && i < ARRAY_SIZE(kinds); i++) {
		if (strcmp(argv[1], kinds[i].name))
			continue;
		path = argv[2];
		f = fopen(path, "wxe");
		if (!f)
			fail(path);
		kinds[i].make(f);
		if (fclose(f))
			fail(path);
		return 0;
	}
	fputs("usage: hostile KIND FILE | hostile cpus | hostile within MB COMMAND...\n", stderr);
	return 2;
}
