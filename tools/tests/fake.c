// SPDX-License-Identifier: GPL-2.0
/*
 * fake.c - writes made-up arrays into a directory, for tests of the command
 *
 *   fake DIR EVENTS              EVENTS known events on two CPUs, with increasing tags
 *   fake DIR RATE SECONDS        the same for concurrent readers: a hundred a second until a line
 *                                comes from standard input, and then RATE per second; prints how
 *                                many in all
 *   fake DIR EVENTS counted      EVENTS known events, counters and probes: see counted()
 *   fake DIR EVENTS evicted      the same, later: a stack was evicted
 *   fake DIR options             few events of all kinds: see options()
 *   fake FILE host N EVENTS      a snapshot of 2 MB, of machine N: see machine()
 *   fake FILE host N EVENTS PAGES   the same with so many pages in the ring; prints how many
 *                                events each stack got
 *
 * EVENT_PAGES in the environment: the size of the ring, not 1,024 pages.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "record_maker.h"

static void *map(const char *dir, const char *name, size_t size)
{
	char path[4096];
	void *memory;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || ftruncate(fd, size))
		die(1, "%s: %m", path);
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		die(1, "%s: %m", path);
	close(fd);
	return memory;
}

/*
 * 1000 events on three CPUs, 1 s apart, the last one at 1005 s.  Stacks "same" and "again"
 * have equal frames, as when two CPUs add a stack concurrently; "far" is in a module.  One
 * task has PID 0, one a comma in its name, one a name that is not ASCII.
 */
static void options(struct maker *m)
{
	static const char *const comm[] = { "swapper/0", "worker", "b,c", "gr\303\266\303\237e" };
	static const u32 pid[] = { 0, 110, 72, 9 };
	u64 same[] = { MAKER_BASE + 0x110, MAKER_BASE + 0x220, MAKER_BASE + 0x330 };
	u64 far[] = { 0xffffffffc0000010, MAKER_BASE + 0x220, MAKER_BASE + 0x330 };
	u32 id[4];
	unsigned int i;

	id[0] = maker_stack(m, same, 3, false);
	id[1] = maker_stack(m, far, 3, false);
	id[2] = maker_stack(m, same, 3, false);
	id[3] = maker_stack(m, same, 2, true);
	maker_text(m, id[2], "same", 3, NULL);
	maker_text(m, id[1], "far", 3, NULL);
	maker_text(m, id[3], "cut", 2, "(cut at 2 frames)");
	for (i = 0; i < 1000; i++) {
		struct maker_event e = {
			.cpu = i % 3, .stack = id[i % 10 < 4 ? i % 4 : i % 3],
			.time = MAKER_LOAD + (i + 1) * 1000000000ULL,
			.tagged = i % 2, .tag = 0xffff888100000000 + i,
			.pid = pid[i / 3 % 4], .tgid = pid[i / 3 % 4], .comm = comm[i / 3 % 4],
			.context = i % 4,
		};

		maker_event(m, &e);
	}
}

/*
 * Overwritten events of two stacks, 70 and 30; or later, 75 and 50, when the second one was
 * evicted.  Counters that differ, and probes: their names need escapes, or are an address.
 */
static void counted(struct maker *m, bool evicted)
{
	static const struct {
		const char *name;
		u8 state;
		u64 missed;
	} probe[] = {
		{ "vfs_read", STACKBUF_PROBE_SET, 7 },
		{ "a\\b\"c", STACKBUF_PROBE_PENDING, 0 },
		{ "vfs_read", STACKBUF_PROBE_REFUSED, 4 },
		{ "0xffffffff81234567", STACKBUF_PROBE_SET, 2 },
	};
	u64 kept[] = { MAKER_BASE + 0x5110, MAKER_BASE + 0x5220 };
	u64 gone[] = { MAKER_BASE + 0x6110, MAKER_BASE + 0x6220, 0xffffa00000012340 };
	struct stackbuf_probes_page *page = &m->info->probe[0];
	u32 id[] = { maker_stack(m, kept, 2, false), maker_stack(m, gone, 3, false) };
	unsigned int i;

	maker_text(m, id[0], "kept", 2, NULL);
	maker_at(m, id[0])->count = evicted ? 75 : 70;
	maker_at(m, id[1])->count = evicted ? 50 : 30;
	m->info->overwritten += evicted ? 125 : 100;
	for (i = 0; i < STACKBUF_COUNTERS; i++)
		m->info->counter[0].slot[0][i] = 1 + i;
	for (i = 0; i < ARRAY_SIZE(probe); i++) {
		strcpy(page->probe[i].name, probe[i].name);
		page->probe[i].state = probe[i].state;
		page->probe[i].missed = probe[i].missed;
		page->probe[i].addr = probe[i].state == STACKBUF_PROBE_SET ? MAKER_BASE : 0;
	}
	m->info->missed_before = 3;
	if (evicted)
		maker_drop(m, id[1]);
}

/*
 * A snapshot of machine N: HOST_STACKS stacks with the same names on all, of one of three kernels,
 * each with its own offset of KASLR.  Stack i has events in proportion to i + 1, and on one machine
 * of three stack 7 has one in 50 besides.
 */
#define HOST_STACKS	300
#define HOST_FRAMES	20

static void machine(const char *name, unsigned int n, u64 events, unsigned int pages)
{
	char text[STACKBUF_PAGE_SIZE] = "", function[32];
	struct stackbuf_page *head = (struct stackbuf_page *)text;
	u64 addr[HOST_FRAMES], kaslr = 0x200000ULL * (n % 97), i;
	u32 id[HOST_STACKS], pick = n + 1, got[HOST_STACKS] = { 0 };
	unsigned int k, len = sizeof(*head);
	struct page_set set = { 0 };
	FILE *f = fopen(name, "w");
	struct maker m;

	maker_instance = MAKER_INSTANCE + 5000007ULL * n;
	maker_init(&m, pages ?: 256, 110, 110, NULL);
	m.info->load_ns += 1000000 * n;
	m.info->base_addr += kaslr;
	sprintf(m.info->release, "6.1.%u-made", n % 3);
	for (k = 0; k < m.pages[ARRAY_STACKS]; k++)
		m.stacks[k].base_addr += kaslr;
	for (k = 0; k < HOST_STACKS; k++) {
		for (i = 0; i < HOST_FRAMES; i++)
			addr[i] = MAKER_BASE + 0x1000 * k + 0x10 * i;
		id[k] = maker_stack(&m, addr, HOST_FRAMES, false);
		sprintf(function, "fleet_%u", k);
		maker_text(&m, id[k], function, HOST_FRAMES, NULL);
	}
	for (i = 0; i < events; i++) {
		struct maker_event e = {
			.cpu = i % 4, .time = m.info->load_ns + 1000 * i,
			.tagged = i % 3 == 0, .tag = 0xffff888100000000 + i % 64,
			.pid = 100 + i / 5 % 40, .tgid = 100 + i / 5 % 40,
			.comm = i / 5 % 2 ? "worker" : "init", .context = i % 4,
		};

		/* The larger of two is i with a chance of i + 1 to HOST_STACKS + 1 */
		pick = pick * 1103515245 + 12345;
		k = (pick >> 8) % HOST_STACKS;
		pick = pick * 1103515245 + 12345;
		if ((pick >> 8) % HOST_STACKS > k)
			k = (pick >> 8) % HOST_STACKS;
		if (n % 3 == 1 && i % 50 == 0)
			k = 7;
		got[k]++;
		e.stack = id[k];
		maker_event(&m, &e);
	}
	for (k = 0; pages && k < HOST_STACKS; k++)
		printf("%u %u\n", k, got[k]);
	maker_pages(&m, &set, 0);
	*head = m.info->page;
	head->kind = STACKBUF_SNAPSHOT;
	sprintf(text + len, "pages %020llu\nkernel-id %040x\nmodule-id made %040x\nhost host%u\n",
		(u64)set.nr + 1, 0x1000 + n % 3, 0x2000 + n % 3, n);
	if (!f || fwrite(text, sizeof(text), 1, f) != 1)
		die(1, "%s: %m", name);
	for (i = 0; i < set.nr; i++)
		fwrite(set.page[i].data, STACKBUF_PAGE_SIZE, 1, f);
	if (fclose(f))
		die(1, "%s: %m", name);
}

int main(int argc, char **argv)
{
	/* The module's default sizes, in pages: 4 MiB of events, 2 of stacks, 2 of text */
	unsigned int pages[ARRAYS] = {
		sizeof(struct stackbuf_info) / STACKBUF_PAGE_SIZE, 1024, 512, 512
	};
	const char *size = getenv("EVENT_PAGES");
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	u64 n = 0, first = 0, total, rate = 0, due;
	struct timespec start, now;
	const char *how = NULL;
	void *memory[ARRAYS];
	u32 id[MAKER_STACKS];
	struct maker_event e;
	struct maker m;
	int a;

	if ((argc == 5 || argc == 6) && !strcmp(argv[2], "host")) {
		machine(argv[1], strtoul(argv[3], NULL, 0), strtoull(argv[4], NULL, 0),
		     argc == 6 ? strtoul(argv[5], NULL, 0) : 0);
		return 0;
	}
	if (argc < 3 || argc > 4) {
		fputs("usage: fake DIR EVENTS [counted|evicted] | fake DIR RATE SECONDS | fake DIR options | fake FILE host N EVENTS [PAGES]\n",
		      stderr);
		return 2;
	}
	total = strtoull(argv[2], NULL, 0);
	if (argc == 4 && (!strcmp(argv[3], "counted") || !strcmp(argv[3], "evicted"))) {
		how = argv[3];
	} else if (argc == 4) {
		rate = total;
		total *= strtoull(argv[3], NULL, 0);
	}
	if (size)
		pages[ARRAY_EVENTS] = strtoul(size, NULL, 0);
	mkdir(argv[1], 0700);
	for (a = 0; a < ARRAYS; a++)
		memory[a] = map(argv[1], array_name[a], (size_t)pages[a] * STACKBUF_PAGE_SIZE);
	maker_init(&m, pages[ARRAY_EVENTS], pages[ARRAY_STACKS], pages[ARRAY_TEXT], memory);
	if (!strcmp(argv[2], "options")) {
		options(&m);
		return 0;
	}
	maker_known_stacks(&m, id);
	if (how)
		counted(&m, !strcmp(how, "evicted"));
	/* The arrays are valid: let readers begin */
	if (rate) {
		puts("ready");
		fflush(stdout);
		for (; !poll(&input, 1, 10); n++) {
			maker_known(&e, n, id);
			maker_event(&m, &e);
		}
		first = n;
		total += n;
	}
	clock_gettime(CLOCK_MONOTONIC, &start);
	/* No sleep: events must be written one by one while a reader reads the ring */
	while (n < total) {
		due = total;
		if (rate) {
			clock_gettime(CLOCK_MONOTONIC, &now);
			due = ((now.tv_sec - start.tv_sec) * 1000000000LL + now.tv_nsec -
			       start.tv_nsec) /
			      1000 * rate / 1000000 + first;
			if (due > total)
				due = total;
		}
		for (; n < due; n++) {
			maker_known(&e, n, id);
			maker_event(&m, &e);
		}
	}
	if (rate)
		printf("%llu\n", n);
	return 0;
}
