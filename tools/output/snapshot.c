// SPDX-License-Identifier: GPL-2.0
/*
 * snapshot.c - write a snapshot: all pages, and the names and build ids that would be lost
 *
 * The names of frames whose text was overwritten, the build ids of the kernel and its modules, the
 * KASLR offset and the machine's name are known only while this kernel runs.  Pages of kind
 * STACKBUF_SNAPSHOT store them.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "output/files.h"

struct pages {
	char (*page)[STACKBUF_PAGE_SIZE];
	size_t nr;
	size_t used;	/* bytes of text in the last page */
};

/* Add a line, unless it is longer than any valid line */
static void __attribute__((format(printf, 3, 4)))
add_line(struct pages *p, const struct record *r, const char *format, ...)
{
	char line[SNAPSHOT_LINE];
	va_list args;
	size_t len;

	va_start(args, format);
	len = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (len >= sizeof(line))
		return;
	if (!p->nr || p->used + len > SNAPSHOT_TEXT) {
		struct stackbuf_page head = {
			.magic = ~STACKBUF_MAGIC_INVERTED,
			.version = STACKBUF_VERSION,
			.kind = STACKBUF_SNAPSHOT,
			.index = p->nr,
			.instance = r->instance,
			.seq = 1,
		};

		GROW(p->page, p->nr);
		memset(p->page[p->nr], 0, STACKBUF_PAGE_SIZE);
		memcpy(p->page[p->nr], &head, sizeof(head));
		p->nr++;
		p->used = 0;
	}
	memcpy(p->page[p->nr - 1] + sizeof(struct stackbuf_page) + p->used, line, len);
	p->used += len;
}

struct frame_name {
	u64 addr;
	const char *name;
};

/* Add the names of frames that do not come from the text log */
static void add_frames(struct pages *p, struct record *r, struct symbols *symbols)
{
	struct frame_name *frame = NULL;
	size_t frames = 0, i, n;
	struct stack *stack;

	for (i = 0; (stack = stacks_next(&r->stacks, &i)); ) {
		symbols_name(symbols, stack);
		if (stack->name_origin == NAMES_TEXT)
			continue;
		for (n = 0; n < stack->nr; n++) {
			/* Another module may be at this module's address now */
			if (!stack->frame[n].name_len ||
			    (stack->stale && stack->frame[n].module_len))
				continue;
			GROW(frame, frames);
			frame[frames++] = (struct frame_name){
				stack->addr[n], stack->frame[n].text,
			};
		}
	}
	sort(frame, frames, sizeof(*frame), order_u64);
	for (i = 0; i < frames; i++) {
		if (!i || frame[i].addr != frame[i - 1].addr)
			add_line(p, r, "frame %016llx %s\n", frame[i].addr, frame[i].name);
	}
	free(frame);
}

static void add_build_ids(struct pages *p, const struct record *r, const struct build_ids *ids)
{
	size_t i;

	for (i = 0; i < ids->nr; i++) {
		const char *module = ids->id[i].module;

		/* The record itself has ids with a time */
		if (!ids->id[i].since)
			add_line(p, r, "%s%s %s\n", *module ? "module-id " : "kernel-id", module,
				 ids->id[i].hex);
	}
}

static bool is_saved(const struct found_page *p, const struct record *r)
{
	return p->instance == r->instance && p->kind != STACKBUF_SNAPSHOT && p->data;
}

static int write_pages(FILE *f, const struct page_set *set, const struct record *r,
		       const struct pages *own)
{
	size_t i;

	if (own->nr && fwrite(own->page, STACKBUF_PAGE_SIZE, own->nr, f) != own->nr)
		return -1;
	for (i = 0; i < set->nr; i++)
		if (is_saved(&set->page[i], r) &&
		    fwrite(set->page[i].data, STACKBUF_PAGE_SIZE, 1, f) != 1)
			return -1;
	return 0;
}

void snapshot_write(const char *name, const struct page_set *set, struct record *r,
		    struct symbols *symbols)
{
	struct pages own = { 0 };
	u64 nr = 0;
	char line[64];
	struct outfile out;
	size_t i;

	/* The first line is replaced when the number is known; its length does not change */
	add_line(&own, r, "pages 00000000000000000000\n");
	if (set->live)
		add_line(&own, r, "changed %u %u\n", set->changed, set->changed_text);
	if (symbols->offset.from)
		add_line(&own, r, "kernel-offset %llx\n", symbols->offset.bytes);
	if (symbols->host)
		add_line(&own, r, "host %s\n", symbols->host);
	add_build_ids(&own, r, &symbols->ids);
	add_frames(&own, r, symbols);
	for (i = 0; i < set->nr; i++)
		nr += is_saved(&set->page[i], r);
	snprintf(line, sizeof(line), "pages %020llu\n", nr + own.nr);
	memcpy(own.page[0] + sizeof(struct stackbuf_page), line, strlen(line));

	/* 0600: a record has kernel addresses and names of commands */
	if (outfile_open(&out, name, 0600, false))
		die(1, "%s: cannot be written: %m", name);
	if (isatty(fileno(out.file))) {
		outfile_close(&out, -1);
		die(1, "%s: is a terminal, and a snapshot is not text", name);
	}
	if (outfile_close(&out, write_pages(out.file, set, r, &own)))
		die(1, "%s: cannot be written: %m", name);
	free(own.page);
}
