// SPDX-License-Identifier: GPL-2.0
/*
 * bytes.c - gives N inputs, the same each time, to the function of a fuzzer: arbitrary bytes, and
 * seeds of which some bytes were changed, or the end replaced by that of another
 *
 * For "make test": to instrument all files for libFuzzer takes longer than such a run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fuzz.h"

#define INPUT_MAX	512

static struct seed {
	u8 data[INPUT_MAX];
	size_t size;
} *seed;
static size_t nr_seeds;

static u64 state = 0x9e3779b97f4a7c15;

/* xorshift64, Marsaglia, "Xorshift RNGs" */
static u64 below(u64 limit)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % limit;
}

static void read_seeds(char **name, size_t nr)
{
	seed = xcalloc(nr + 1, sizeof(*seed));
	for (; nr_seeds < nr; nr_seeds++) {
		FILE *file = fopen(name[nr_seeds], "r");

		if (!file)
			die(1, "%s: %m", name[nr_seeds]);
		seed[nr_seeds].size = fread(seed[nr_seeds].data, 1, INPUT_MAX, file);
		fclose(file);
	}
}

static size_t make_input(u8 *data)
{
	const struct seed *one, *other;
	size_t size, from, i;

	if (!nr_seeds || !below(4)) {
		/* Short ones more often, as they get further */
		size = below(1 + below(INPUT_MAX));
		for (i = 0; i < size; i++)
			data[i] = below(256);
		return size;
	}
	one = &seed[below(nr_seeds)];
	other = &seed[below(nr_seeds)];
	size = below(2) ? one->size : below(one->size + 1);
	memcpy(data, one->data, size);
	from = below(other->size + 1);
	for (i = from; i < other->size && size < INPUT_MAX; i++)
		data[size++] = other->data[i];
	for (i = below(4); size && i; i--)
		data[below(size)] = below(256);
	return below(4) ? size : below(size + 1);
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 0, done;

	if (n <= 0) {
		fprintf(stderr, "usage: %s N [SEED...]\n", argv[0]);
		return 2;
	}
	read_seeds(argv + 2, argc - 2);
	for (done = 0; done < n; done++) {
		u8 data[INPUT_MAX], *input;
		size_t size = make_input(data);

		/* Of its exact size, so that reads beyond it are seen */
		input = xcalloc(1, size + !size);
		memcpy(input, data, size);
		LLVMFuzzerTestOneInput(input, size);
		free(input);
	}
	free(seed);
	printf("%ld inputs\n", done);
	return 0;
}
