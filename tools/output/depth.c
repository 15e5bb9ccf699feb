// SPDX-License-Identifier: GPL-2.0
/*
 * depth.c - the deepest stack seen from each place, as ftrace's stack_trace prints it
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include "output/depth.h"
#include "record/info.h"

static int deeper(const void *a, const void *b)
{
	const struct stackbuf_depth *x = *(void *const *)a, *y = *(void *const *)b;

	return x->bytes < y->bytes ? 1 : x->bytes > y->bytes ? -1 :
	       x->origin > y->origin ? 1 : -1;
}

/* Bytes of stack in use at frame @i: from its stack pointer to the end of the stack */
static unsigned int below(const struct stackbuf_depth *d, unsigned int i)
{
	return i < d->nr ? d->words[i] * 8U : 0;
}

/*
 * Return the frames of a depth entry with their names, which are to be freed; the addresses are in
 * @addr.  If the table still has the stack, its far frames and its text are taken from there.
 */
static struct stack frames_of(const struct output *o, const struct stackbuf_depth *d,
			      u64 addr[STACKBUF_DEPTH_MAX])
{
	const struct stack *known = stacks_find(&o->record->stacks, d->id);
	struct stack stack = { .id = d->id, .nr = d->nr, .addr = addr };
	bool same = known && known->nr == d->nr;
	unsigned int i;

	for (i = 0; i < d->nr; i++) {
		/* One word of a far frame does not hold its address */
		if (!stackbuf_decode_frame(&d->frame[i], 1, o->record->info.base_addr, &addr[i]))
			addr[i] = same ? known->addr[i] : 0;
		same = same && known->addr[i] == addr[i];
	}
	if (same) {
		stack.id = known->canonical ? known->canonical->id : known->id;
		stack.text = known->text;
		stack.text_len = known->text_len;
		stack.lines = known->lines;
		stack.rendered = known->rendered;
	}
	symbols_name(o->symbols, &stack);
	return stack;
}

static void print(const struct output *o, const struct stackbuf_depth *d)
{
	u64 addr[STACKBUF_DEPTH_MAX];
	struct stack stack = frames_of(o, d, addr);
	json_t *frames = json_array();
	unsigned int i;

	if (o->format == FORMAT_JSON) {
		json_t *j = json_pack("{s:I,s:I,s:b}", "depth", (json_int_t)d->bytes, "stack",
				      (json_int_t)stack.id, "cut", d->cut);

		for (i = 0; i < d->nr; i++)
			json_array_append_new(frames, json_pack("{s:I,s:I,s:s}", "depth",
				(json_int_t)below(d, i), "size",
				(json_int_t)(below(d, i) - below(d, i + 1)), "location",
				stack.name[i]));
		json_object_set(j, "frames", frames);
		json_dumpf(j, o->file, JSON_COMPACT);
		putc('\n', o->file);
		json_decref(j);
	} else {
		fprintf(o->file, "        Depth    Size   Location    (%u entries, stack %u)\n",
			d->nr, stack.id);
		fputs("        -----    ----   --------\n", o->file);
		for (i = 0; i < d->nr; i++)
			fprintf(o->file, "%3u) %8u %7u   %s\n", i, below(d, i),
				below(d, i) - below(d, i + 1), stack.name[i]);
		if (d->cut)
			fprintf(o->file, "(cut at %u frames: the last size includes all frames further out)\n",
				d->nr);
		putc('\n', o->file);
	}
	json_decref(frames);
	for (i = 0; i < stack.named; i++)
		free(stack.name[i]);
	free(stack.name);
}

void output_depth(const struct output *o)
{
	const struct stackbuf_depth *all[STACKBUF_DEPTHS_MAX];
	const struct stackbuf_info *info = &o->record->info;
	unsigned int i, nr = 0, half = 0;

	if (!info_has_depths(info))
		fprintf(stderr, "stackbuf: the module keeps no deepest stacks: it was built with DEEPEST=n\n");
	for (i = 0; i < STACKBUF_DEPTHS_MAX; i++) {
		const struct stackbuf_depth *d = &info->depth[i / STACKBUF_PAGE_DEPTHS]
							.depth[i % STACKBUF_PAGE_DEPTHS];

		if (!d->origin || !d->seq)
			continue;
		if (d->seq & 1 || d->nr > STACKBUF_DEPTH_MAX || !d->nr)
			half++;
		else
			all[nr++] = d;
	}
	qsort(all, nr, sizeof(all[0]), deeper);
	for (i = 0; i < nr; i++)
		print(o, all[i]);
	if (half)
		fprintf(stderr, "stackbuf: %u deepest stacks were half written and are left out\n",
			half);
	if (info->depths_full)
		fprintf(stderr,
			"stackbuf: %llu walks were not compared: there is room for only %d places\n",
			info->depths_full, STACKBUF_DEPTHS_MAX);
}
