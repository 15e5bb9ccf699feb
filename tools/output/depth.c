// SPDX-License-Identifier: GPL-2.0
/*
 * depth.c - the deepest stack seen from each place, in the format of ftrace's stack_trace
 */
#include <stdlib.h>
#include <string.h>
#include "output/output.h"

/* A frame too far away for the one word that a deepest stack has for it */
#define LOST_FRAME	"? (its address was only in its stack, which is gone)"

/* One deepest stack */
struct deepest {
	const struct stackbuf_depth *d;	/* entry in the record */
	u64 addr[STACKBUF_DEPTH_MAX];	/* addresses of its frames */
	struct stack stack;	/* their names */
	/* It is a system call's: the kernel may have added a random offset */
	bool random;
	/* The frame with the offset; 0 if it is unknown */
	struct {
		u64 addr;
		unsigned int size;
	} entry;
	bool told;	/* @more is known */
	/* Bytes by which the offset exceeds the smallest one seen there */
	unsigned int more;
};

static int deeper(const void *a, const void *b)
{
	const struct deepest *x = a, *y = b;
	unsigned int p = x->d->bytes - x->more, q = y->d->bytes - y->more;

	return p < q ? 1 : p > q ? -1 : x->d->origin > y->d->origin ? 1 : -1;
}

/* Return false for an entry that is half written or damaged: each frame uses more of the stack */
static bool depth_sane(const struct stackbuf_depth *d)
{
	unsigned int i;

	if (d->seq & 1 || d->nr > STACKBUF_DEPTH_MAX || !d->nr)
		return false;
	for (i = 1; i < d->nr; i++)
		if (d->words[i] > d->words[i - 1])
			return false;
	return true;
}

/* Bytes of stack in use at frame @i: from its stack pointer to the end of the stack */
static unsigned int below(const struct stackbuf_depth *d, unsigned int i)
{
	return i < d->nr ? d->words[i] * 8U : 0;
}

/*
 * Return the frames of a depth entry with their names, which the caller frees; @addr gets the
 * addresses.  If the table still has the stack, take far frames and text from there.
 */
static struct stack frames_of(const struct output *o, const struct stackbuf_depth *d,
			      u64 addr[STACKBUF_DEPTH_MAX])
{
	const struct stack *known = stacks_find(&o->record->stacks, d->id);
	struct stack stack = { .id = d->id, .nr = d->nr, .addr = addr, .stale = d->stale };
	bool same = known && known->nr == d->nr;
	unsigned int i;

	/* One word is too short for the address of a far frame */
	for (i = 0; i < d->nr; i++) {
		if (!stackbuf_decode_frame(&d->frame[i], 1, o->record->info.base_addr, &addr[i]))
			addr[i] = 0;
		same = same && (!addr[i] || known->addr[i] == addr[i]);
	}
	for (i = 0; i < d->nr && same; i++)
		addr[i] = known->addr[i];
	if (same) {
		stack.id = known->canonical ? known->canonical->id : known->id;
		stack.text = known->text;
		stack.text_len = known->text_len;
		stack.lines = known->lines;
		stack.rendered = known->rendered;
		stack.stale |= known->stale;
	}
	symbols_name(o->symbols, &stack);
	for (i = 0; i < d->nr; i++)
		if (!addr[i]) {
			free(stack.frame[i].text);
			stack.frame[i] = (struct frame){
				.text = xstrdup(LOST_FRAME),
			};
		}
	return stack;
}

/*
 * With CONFIG_RANDOMIZE_KSTACK_OFFSET, an x86 function that dispatches system calls uses up to
 * 1 KiB of stack at random.  Nothing else changes the size of its frame for one return address, so
 * sizes for one address differ by the difference of their offsets.  On arm64 the offset is in the
 * frame of a function that invoke_syscall() calls; the frame's own size is unknown.
 */
static void find_entry(struct deepest *deepest)
{
	static const char *const dispatcher[] = {
		"do_syscall_64", "do_int80_syscall_32", "do_int80_emulation",
		"__do_fast_syscall_32", "invoke_syscall",
	};
	const struct stackbuf_depth *d = deepest->d;
	unsigned int i, k;

	/* The innermost frame may be a probe before the offset is added */
	for (i = 1; i < deepest->stack.named; i++) {
		const struct frame *f = &deepest->stack.frame[i];

		for (k = 0; k < ARRAY_SIZE(dispatcher); k++)
			if (f->name_len == strlen(dispatcher[k]) &&
			    !strncmp(f->name, dispatcher[k], f->name_len))
				break;
		if (k == ARRAY_SIZE(dispatcher))
			continue;
		deepest->random = true;
		if (i + 1 < d->nr && k != ARRAY_SIZE(dispatcher) - 1) {
			deepest->entry.addr = deepest->addr[i];
			deepest->entry.size = below(d, i) - below(d, i + 1);
		}
		return;
	}
}

/* Find by how much each offset exceeds the smallest */
static void compare_entries(struct deepest *all, unsigned int nr)
{
	unsigned int i, k;

	for (i = 0; i < nr; i++) {
		unsigned int least = all[i].entry.size;

		for (k = 0; all[i].entry.addr && k < nr; k++) {
			if (all[k].entry.addr != all[i].entry.addr)
				continue;
			all[i].told |= all[k].entry.size != all[i].entry.size;
			if (all[k].entry.size < least)
				least = all[k].entry.size;
		}
		all[i].more = all[i].entry.size - least;
	}
}

static void print(const struct output *o, const struct deepest *deepest)
{
	const struct stackbuf_depth *d = deepest->d;
	const struct stack stack = deepest->stack;
	unsigned int i;

	if (o->format == FORMAT_JSON) {
		json_t *j = json_pack("{s:I,s:I,s:b}", "depth", (json_int_t)d->bytes, "stack",
				      (json_int_t)stack.id, "cut", d->cut);
		json_t *frames = json_array();

		if (deepest->told)
			json_object_set_new(j, "random_offset", json_integer(deepest->more));
		for (i = 0; i < d->nr; i++)
			json_array_append_new(frames, json_pack("{s:I,s:I,s:s}", "depth",
				(json_int_t)below(d, i), "size",
				(json_int_t)(below(d, i) - below(d, i + 1)), "location",
				stack.frame[i].text));
		json_object_set_new(j, "frames", frames);
		json_print(o, j, NULL, 0);
	} else {
		fprintf(o->file, "        Depth    Size   Location    (%u entries, stack %u)\n",
			d->nr, stack.id);
		fputs("        -----    ----   --------\n", o->file);
		for (i = 0; i < d->nr; i++)
			fprintf(o->file, "%3u) %8u %7u   %s\n", i, below(d, i),
				below(d, i) - below(d, i + 1), stack.frame[i].text);
		if (deepest->more)
			fprintf(o->file, "(the random offset of system calls takes at least %u of these bytes: %u without them)\n",
				deepest->more, d->bytes - deepest->more);
		else if (deepest->random && !deepest->told)
			fputs("(the random offset of system calls may take up to 1 KiB of these bytes: how much cannot be told)\n",
			      o->file);
		if (d->cut)
			fprintf(o->file, "(cut at %u frames: the last size includes all frames further out)\n",
				d->nr);
		putc('\n', o->file);
	}
}

void output_depth(const struct output *o)
{
	struct deepest *all = xcalloc(STACKBUF_DEPTHS_MAX, sizeof(*all));
	const struct stackbuf_info *info = &o->record->info;
	unsigned int i, k, nr = 0, half = 0;

	if (!info_has_depths(info))
		report("the module keeps no deepest stacks: it was built with DEEPEST=n");
	for (i = 0; i < STACKBUF_DEPTHS_MAX; i++) {
		const struct stackbuf_depth *d = &info->depth[i / STACKBUF_PAGE_DEPTHS]
							.depth[i % STACKBUF_PAGE_DEPTHS];

		/* Without bytes: forgotten, as other code came where it was */
		if (!d->origin || !d->seq || !d->bytes)
			continue;
		if (!depth_sane(d)) {
			half++;
			continue;
		}
		all[nr].d = d;
		all[nr].stack = frames_of(o, d, all[nr].addr);
		find_entry(&all[nr++]);
	}
	compare_entries(all, nr);
	sort(all, nr, sizeof(*all), deeper);
	for (i = 0; i < nr; i++) {
		print(o, &all[i]);
		for (k = 0; k < all[i].stack.named; k++)
			free(all[i].stack.frame[k].text);
		free(all[i].stack.frame);
	}
	free(all);
	report_count(half, "deepest stack is half written or damaged and is left out",
		     "deepest stacks are half written or damaged and are left out");
	if (info->depths_full)
		report("%llu walks were not compared: there is room for only %d places",
		       info->depths_full, STACKBUF_DEPTHS_MAX);
}
