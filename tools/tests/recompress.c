// SPDX-License-Identifier: GPL-2.0
/*
 * recompress.c - compress the pages of a dump by methods that Debian's makedumpfile lacks
 *
 *   recompress snappy|zstd IN OUT
 *
 * IN is from "makedumpfile -d 31" without -c, -l or -p: kdump's format with
 * uncompressed pages.
 */
#include <snappy-c.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define SNAPPY	0x4
#define ZSTD	0x20

struct page_desc {
	uint64_t offset;
	uint32_t size, flags;
	uint64_t page_flags;
};

static void __attribute__((noreturn)) die(const char *why)
{
	fprintf(stderr, "recompress: %s\n", why);
	exit(1);
}

static char *read_all(const char *name, size_t *size)
{
	FILE *f = fopen(name, "rb");
	char *p;

	if (!f || fseek(f, 0, SEEK_END))
		die("cannot read");
	*size = ftell(f);
	p = malloc(*size);
	rewind(f);
	if (!p || fread(p, 1, *size, f) != *size)
		die("cannot read");
	fclose(f);
	return p;
}

int main(int argc, char **argv)
{
	static char out[1 << 20];
	size_t size, n, max = 0, pages = 0, i;
	uint32_t block, sub, bitmap, flag;
	struct page_desc *desc;
	char *in;
	FILE *f;

	if (argc != 4)
		die("usage: recompress snappy|zstd IN OUT");
	flag = !strcmp(argv[1], "zstd") ? ZSTD : SNAPPY;
	in = read_all(argv[2], &size);
	if (size < 4096 || memcmp(in, "KDUMP   ", 8))
		die("not in kdump's format");
	/* struct disk_dump_header */
	memcpy(&block, in + 428, 4);
	memcpy(&sub, in + 432, 4);
	memcpy(&bitmap, in + 436, 4);
	desc = (void *)(in + (size_t)(1 + sub + bitmap) * block);
	/* The data of the first page follows the last descriptor */
	for (i = 0; !max || i < max; i++) {
		size_t before = (desc[i].offset - ((char *)desc - in)) / sizeof(*desc);

		if (!max || before < max)
			max = before;
	}
	f = fopen(argv[3], "wb");
	n = (char *)(desc + max) - in;
	if (!f || fseek(f, n, SEEK_SET))
		die("cannot write");
	for (i = 0; i < max && desc[i].offset; i++) {
		char *from = in + desc[i].offset;
		size_t len = sizeof(out);

		if (desc[i].flags || desc[i].size != block || desc[i].offset + block > size)
			die("a page is compressed already, or not there");
		if (flag == ZSTD)
			len = ZSTD_compress(out, sizeof(out), from, block, 1);
		else if (snappy_compress(from, block, out, &len) != SNAPPY_OK)
			die("snappy");
		desc[i].offset = ftell(f);
		if (len < block) {
			desc[i].size = len;
			desc[i].flags = flag;
			from = out;
			pages++;
		}
		if (fwrite(from, desc[i].size, 1, f) != 1)
			die("cannot write");
	}
	rewind(f);
	if (fwrite(in, n, 1, f) != 1 || fclose(f))
		die("cannot write");
	printf("%zu pages compressed\n", pages);
	return !pages;
}
