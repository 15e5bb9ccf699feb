// SPDX-License-Identifier: GPL-2.0
/*
 * fake.c - writes made-up arrays into a directory, for tests of the command
 *
 *   fake DIR EVENTS              EVENTS known events on two CPUs, with increasing tags
 *   fake DIR RATE SECONDS        the same, RATE per second, for concurrent readers
 *   fake DIR options             few events of all kinds: see options()
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "made.h"

static void *map(const char *dir, const char *name, size_t size)
{
	char path[4096];
	void *memory;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || ftruncate(fd, size)) {
		perror(path);
		exit(1);
	}
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED) {
		perror(path);
		exit(1);
	}
	close(fd);
	return memory;
}

/*
 * 1000 events on three CPUs, 1 s apart, the last one at 1005 s.  Stacks "same" and "again"
 * have equal frames, as when two CPUs add a stack concurrently; "far" is in a module.  One
 * task has PID 0, one a comma in its name, one a name that is not ASCII.
 */
static void options(struct made *m)
{
	static const char *const comm[] = { "swapper/0", "worker", "b,c", "gr\303\266\303\237e" };
	static const u32 pid[] = { 0, 110, 72, 9 };
	u64 same[] = { MADE_BASE + 0x110, MADE_BASE + 0x220, MADE_BASE + 0x330 };
	u64 far[] = { 0xffffffffc0000010, MADE_BASE + 0x220, MADE_BASE + 0x330 };
	u32 id[4];
	unsigned int i;

	id[0] = made_stack(m, same, 3, false);
	id[1] = made_stack(m, far, 3, false);
	id[2] = made_stack(m, same, 3, false);
	id[3] = made_stack(m, same, 2, true);
	made_text(m, id[2], "same", 3, NULL);
	made_text(m, id[1], "far", 3, NULL);
	made_text(m, id[3], "cut", 2, "(cut at 2 frames)");
	for (i = 0; i < 1000; i++) {
		struct made_event e = {
			.cpu = i % 3, .stack = id[i % 10 < 4 ? i % 4 : i % 3],
			.time = MADE_LOAD + (i + 1) * 1000000000ULL,
			.tagged = i % 2, .tag = 0xffff888100000000 + i,
			.pid = pid[i / 3 % 4], .tgid = pid[i / 3 % 4], .comm = comm[i / 3 % 4],
			.context = i % 4,
		};

		made_event(m, &e);
	}
}

int main(int argc, char **argv)
{
	/* The module's default sizes, in pages: 4 MiB of events, 2 of stacks, 2 of text */
	static const unsigned int pages[ARRAYS] = {
		sizeof(struct stackbuf_info) / STACKBUF_PAGE_SIZE, 1024, 512, 512
	};
	u64 n = 0, total, rate = 0, due;
	struct timespec start, now;
	void *memory[ARRAYS];
	u32 id[MADE_STACKS];
	struct made_event e;
	struct made m;
	int a;

	if (argc < 3 || argc > 4) {
		fputs("usage: fake DIR EVENTS | fake DIR RATE SECONDS | fake DIR options\n",
		      stderr);
		return 2;
	}
	total = strtoull(argv[2], NULL, 0);
	if (argc == 4) {
		rate = total;
		total *= strtoull(argv[3], NULL, 0);
	}
	mkdir(argv[1], 0700);
	for (a = 0; a < ARRAYS; a++)
		memory[a] = map(argv[1], array_name[a], (size_t)pages[a] * STACKBUF_PAGE_SIZE);
	made_init(&m, pages[ARRAY_EVENTS], pages[ARRAY_STACKS], pages[ARRAY_TEXT], memory);
	if (!strcmp(argv[2], "options")) {
		options(&m);
		return 0;
	}
	made_known_stacks(&m, id);
	/* The arrays are valid: let readers begin */
	if (rate) {
		puts("ready");
		fflush(stdout);
		sleep(1);
	}
	clock_gettime(CLOCK_MONOTONIC, &start);
	/* No sleep: events must be written one by one while a reader reads the ring */
	while (n < total) {
		due = total;
		if (rate) {
			clock_gettime(CLOCK_MONOTONIC, &now);
			due = ((now.tv_sec - start.tv_sec) * 1000000000LL + now.tv_nsec -
			       start.tv_nsec) /
			      1000 * rate / 1000000;
			if (due > total)
				due = total;
		}
		for (; n < due; n++) {
			made_known(&e, n, id);
			made_event(&m, &e);
		}
	}
	return 0;
}
