// SPDX-License-Identifier: GPL-2.0
/*
 * bytes.c - gives N inputs of arbitrary bytes, the same each time, to the function of a fuzzer
 *
 * For "make test": to instrument all files for libFuzzer takes longer than such a run.
 */
#include <stdio.h>
#include <stdlib.h>
#include "../stackbuf_format.h"
#include "util.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static u64 state = 0x9e3779b97f4a7c15;

/* xorshift64, Marsaglia, "Xorshift RNGs" */
static u64 next_random(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

int main(int argc, char **argv)
{
	long n = argc == 2 ? atol(argv[1]) : 0, done;
	size_t size, i;
	u8 data[512];

	if (n <= 0) {
		fprintf(stderr, "usage: %s N\n", argv[0]);
		return 2;
	}
	for (done = 0; done < n; done++) {
		/* Short ones more often, as they get further */
		size = next_random() % (1 + next_random() % sizeof(data));
		for (i = 0; i < size; i++)
			data[i] = next_random() >> 32;
		LLVMFuzzerTestOneInput(data, size);
	}
	printf("%ld inputs\n", done);
	return 0;
}
