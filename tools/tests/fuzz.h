/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fuzz.h - what a fuzzer gives its inputs to, and how that reads them
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <string.h>
#include "util.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

/* Move up to @n bytes of the input to @to.  Return how many there were */
static inline size_t take(const u8 **data, size_t *size, void *to, size_t n)
{
	if (n > *size)
		n = *size;
	memcpy(to, *data, n);
	*data += n;
	*size -= n;
	return n;
}

#endif
