// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz_text.c - arbitrary text for "stackbuf decode", with this program as vmlinux
 */
#include <stdlib.h>
#include "fuzz.h"
#include "symbol/decode.h"

/* Lookups of frames with a valid name; their results do not matter */
static struct srcline *srcline;

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static char *const modules[] = { "/nonexistent" };
	static const struct debug_config where = { .vmlinux = "/proc/self/exe",
						  .modules = modules, .module_dirs = 1,
						  .force = true };
	static unsigned int runs;
	FILE *in, *out;
	struct decoder d;
	char *text = NULL;
	size_t len = 0;

	/* srcline keeps memory for every frame until it is closed: reopen it occasionally */
	if (srcline && ++runs % 4096 == 0) {
		srcline_close(srcline);
		srcline = NULL;
	}
	if (!srcline)
		srcline = srcline_open(&where);
	d = (struct decoder){ .srcline = srcline };
	in = fmemopen((void *)data, size ?: 1, "r");
	out = open_memstream(&text, &len);
	if (!in || !out)
		abort();
	if (size)
		decode_file(&d, in, out);
	fclose(in);
	fclose(out);
	/* Decoding only adds text */
	if (len < size)
		abort();
	free(text);
	return 0;
}
