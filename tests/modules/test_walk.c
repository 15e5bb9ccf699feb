// SPDX-License-Identifier: GPL-2.0
/*
 * test_walk.c - the functions that paths consist of, and lookups of saved stacks in the table
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/stacktrace.h>
#include <linux/kernel.h>

#include "test.h"

/* Each adds another number, so that the compiler does not merge the functions */
#define STEP(n)						\
	static noinline void step_##n(struct walk *w)	\
	{						\
		next(w);				\
		w->sum += 1000 + (n);			\
	}
STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7)
STEP(8) STEP(9) STEP(10) STEP(11) STEP(12) STEP(13) STEP(14) STEP(15)

void (*const steps[16])(struct walk *w) = {
	step_0, step_1, step_2, step_3, step_4, step_5, step_6, step_7,
	step_8, step_9, step_10, step_11, step_12, step_13, step_14, step_15,
};

noinline void leaf_save(struct walk *w)
{
	w->id = stackbuf_save();
	barrier();
}

noinline void leaf_tag(struct walk *w)
{
	w->id = stackbuf_save_tag(w->tag);
	w->sum++;
}

noinline void leaf_twin(struct walk *w)
{
	w->nr_ref = stack_trace_save(w->ref, REF_MAX, 0);
	w->id = stackbuf_save_tag(w->tag);
	w->sum += 2;
}

noinline void leaf_print(struct walk *w)
{
	stackbuf_print();
	w->sum += 3;
}

noinline void leaf_dump(struct walk *w)
{
	dump_stack();
	w->sum += 4;
}

noinline void leaf_trace(struct walk *w)
{
	stackbuf_trace_save(w->arg);
	w->sum += 5;
}

noinline void LONG_NAME(struct walk *w)
{
	if (w->at++ < w->levels)
		LONG_NAME(w);
	else
		w->leaf(w);
	w->sum += 6;
}

unsigned long place[PLACES], variable[PLACES];

noinline void leaf_place(struct walk *w)
{
	w->id = stackbuf_save();
	w->sum += 7;
}

noinline void level_place(struct walk *w)
{
	unsigned long frame = (unsigned long)__builtin_frame_address(0);
	unsigned int at = w->at++;
	char room[200];

	barrier_data(room);
	variable[at] = (unsigned long)room;
	if (at < w->levels)
		level_place(w);
	else
		w->leaf(w);
	/* By gcc on arm64 a frame begins with its record; else the caller's, after this record */
	if (IS_ENABLED(CONFIG_ARM64) && IS_ENABLED(CONFIG_CC_IS_GCC))
		place[at] = frame;
	else if (at)
		place[at - 1] = frame + 2 * sizeof(long);
	w->sum += 8;
}

/* Probed by its name */
noinline u32 go(u64 path, unsigned int levels, void (*leaf)(struct walk *w), unsigned long tag)
{
	struct walk w = { .path = path, .levels = levels, .leaf = leaf, .tag = tag };

	next(&w);
	return w.id;
}

/* -------------------------------------------------- looking into the table --- */

int frames_of(u32 id, unsigned long *pc, bool *cut)
{
	u64 granules = READ_ONCE(stackbuf_info.stacks_size) / STACKBUF_GRANULE;
	u32 place = id & ((1ULL << READ_ONCE(stackbuf_info.id_bits)) - 1);
	unsigned int i, n = 0, nr, words;
	const struct stackbuf_stack *s;
	u32 hash;

	if (place >= granules || place % 64 == 0)
		return -1;
	s = (void *)stackbuf_stacks + (size_t)place * STACKBUF_GRANULE;
	if (READ_ONCE(s->id) != id)
		return 0;
	smp_rmb(); /* read the id before the record */
	nr = READ_ONCE(s->nr);
	words = READ_ONCE(s->words);
	hash = READ_ONCE(s->hash);
	*cut = READ_ONCE(s->flags) & STACKBUF_STACK_CUT;
	if (!nr || nr > STACKBUF_DEPTH_MAX || words < nr || words > 3 * nr ||
	    place % 64 + DIV_ROUND_UP(sizeof(*s) + 4 * words, 64) > 64 ||
	    stackbuf_hash(s->frames, words, *cut) != hash)
		n = -1U;
	for (i = 0; n != -1U && n < nr && i < words; n++) {
		if (s->frames[i] == STACKBUF_FRAME_FAR) {
			pc[n] = (u64)s->frames[i + 2] << 32 | s->frames[i + 1];
			i += 3;
		} else {
			pc[n] = READ_ONCE(stackbuf_info.base_addr) + (s32)s->frames[i++];
		}
	}
	smp_rmb(); /* read the record before checking the id again */
	if (READ_ONCE(s->id) != id)
		return 0;
	return n == nr && i == words ? nr : -1;
}

bool inside(unsigned long pc, void *fn)
{
	return pc > (unsigned long)fn && pc - (unsigned long)fn < MARGIN;
}

int right(u32 id, u64 path, unsigned int levels, void *leaf)
{
	unsigned long pc[STACKBUF_DEPTH_MAX];
	unsigned int i, k, best;
	bool cut;
	int nr = frames_of(id, pc, &cut);

	if (nr <= 0)
		return nr;
	if (!inside(pc[0], leaf))
		return -1;
	for (i = 0; i < levels && i + 1 < nr; i++) {
		best = 16;
		for (k = 0; k < 16; k++)
			if (inside(pc[i + 1], steps[k]) &&
			    (best == 16 || (unsigned long)steps[k] > (unsigned long)steps[best]))
				best = k;
		if (best != nibble(path, levels - 1 - i))
			return -1;
	}
	return i == levels || cut ? 1 : -1;
}
