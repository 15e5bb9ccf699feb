// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz.c - arbitrary bytes as the four arrays (libFuzzer)
 *
 * The input is split into pages.  The first byte of each selects a page of a
 * made-up record, with changes that follow, or raw bytes with or without a valid
 * header.  So the fuzzer passes the checks of magic numbers and hashes without a
 * corpus, with inputs of a few bytes.
 */
#include <stdlib.h>
#include <string.h>
#include "fuzz.h"
#include "record_maker.h"
#include "output/output.h"

#define PAGES_MAX	64

static struct maker known;

/* Make one page from the input */
static void make_page(u8 *page, const u8 **data, size_t *size)
{
	static const u8 kind[] = { STACKBUF_INFO, STACKBUF_STACKS, STACKBUF_EVENTS,
				   STACKBUF_SNAPSHOT };
	struct stackbuf_page *head = (void *)page;
	struct { u16 at; u8 len; } change;
	u8 choice = 0, index = 0, n = 0;
	struct stackbuf_stack *stack;
	size_t array_size;
	const char *array;

	take(data, size, &choice, 1);
	take(data, size, &index, 1);
	memset(page, 0, STACKBUF_PAGE_SIZE);
	if (choice & 0x80) {
		/* Raw bytes, after a valid header unless the next bit is set */
		u8 raw = 0;

		take(data, size, &raw, 1);
		take(data, size, page, 16 * (size_t)raw);
		if (choice & 0x40)
			return;
		memcpy(head, &known.info->page, sizeof(*head));
		head->kind = kind[choice & 3];
		head->index = index;
		head->seq = index;
		return;
	}
	array = maker_array(&known, choice & 3, &array_size);
	memcpy(page, array + index * STACKBUF_PAGE_SIZE % array_size, STACKBUF_PAGE_SIZE);
	take(data, size, &n, 1);
	for (n &= 15; n; n--) {
		memset(&change, 0, sizeof(change));
		take(data, size, &change.at, 2);
		take(data, size, &change.len, 1);
		change.at %= STACKBUF_PAGE_SIZE;
		if (change.len % 32 + change.at > STACKBUF_PAGE_SIZE)
			change.len = 0;
		take(data, size, page + change.at, change.len % 32);
	}
	/* Fix the hash, or the reader would reject every changed stack early */
	if ((choice & 0x43) == (0x40 | ARRAY_STACKS)) {
		stack = (void *)(page + STACKBUF_GRANULE);
		if (stack->words <= (STACKBUF_PAGE_SIZE - STACKBUF_GRANULE - sizeof(*stack)) / 4)
			stack->hash = stackbuf_hash(stack->frames, stack->words,
						    stack->flags & STACKBUF_STACK_CUT);
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static FILE *sink;
	struct filter none = { 0 };
	struct symbols symbols;
	struct record r;
	struct page_set set = { 0 };
	u8 *page[PAGES_MAX];
	unsigned int pages = 0, i;
	struct instance *in;
	u8 format = 0;
	size_t n, ins;

	if (!sink) {
		sink = fopen("/dev/null", "w");
		maker_record(&known, 4, 4, 8, 3000);
	}
	take(&data, &size, &format, 1);
	while (size && pages < PAGES_MAX) {
		/* Allocate pages separately, so that the sanitizer detects reads beyond a page */
		page[pages] = xcalloc(1, STACKBUF_PAGE_SIZE);
		make_page(page[pages], &data, &size);
		page_set_add(&set, page[pages++]);
	}
	ins = page_set_instances(&set, &in);
	record_parse(&r, &set, ins ? instance_default(in, ins)->id : 0, NULL);
	symbols_init(&symbols, &r, NULL);
	{
		struct output o = { .file = sink, .format = format & 3, .wall = format & 4,
				    .record = &r, .symbols = &symbols };

		for (n = 0; n < r.events && n < 100; n++)
			output_event(&o, &r.event[n]);
		output_count(&o, &none, NULL, 0);
		output_text(&o, &none);
		if (r.have_info)
			output_info(&o, "fuzz", &set, in, ins);
	}
	symbols_free(&symbols);
	record_free(&r);
	page_set_clear(&set);
	free(in);
	for (i = 0; i < pages; i++)
		free(page[i]);
	return 0;
}
