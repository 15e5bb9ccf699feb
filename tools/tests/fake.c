// SPDX-License-Identifier: GPL-2.0
/*
 * fake.c - a directory of the four arrays, made up, for tests of the command
 *
 *   fake DIR EVENTS              EVENTS known events on two CPUs, tags counted up
 *   fake DIR RATE SECONDS        the same, RATE a second, while others read
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
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

int main(int argc, char **argv)
{
	/* As the module's defaults, in pages: 4 MiB of events, 2 of stacks, 2 of text */
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
		fputs("usage: fake DIR EVENTS | fake DIR RATE SECONDS\n", stderr);
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
	made_known_stacks(&m, id);
	/* Whoever reads can begin */
	if (rate) {
		puts("ready");
		fflush(stdout);
		sleep(1);
	}
	clock_gettime(CLOCK_MONOTONIC, &start);
	/* Without a pause: events are to come while the ring is read, one by one */
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
