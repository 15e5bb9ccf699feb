// SPDX-License-Identifier: GPL-2.0
/*
 * depth.c - the deepest stack seen from each place that records
 *
 * The counterpart of ftrace's stack tracer.  For each origin, the innermost address of a trace,
 * it keeps the walk with the most bytes between its stack pointer and the end of the task's
 * stack.  A walk knows the place of each frame, or finds it by following the frame records, so
 * this costs a walk one comparison, and a copy if its stack is deeper.
 *
 * The frames are kept here, not only the stack's id: the deepest stack is likely to be a rare
 * one, which the table evicts first.
 */
#include <linux/hash.h>

#include "depth.h"
#include "frame_record.h"
#include "memory.h"

/* Entries to try for an origin, starting with the one that its hash selects */
#define DEPTH_TRIES	8

static struct stackbuf_depth *depth_at(u32 n)
{
	return &stackbuf_info.depth[n / STACKBUF_PAGE_DEPTHS].depth[n % STACKBUF_PAGE_DEPTHS];
}

NOKPROBE_SYMBOL(depth_at);

static void bump_seq(const struct stackbuf_depth *depth)
{
	sbuf_page_bump_seq((void *)((unsigned long)depth & -(unsigned long)STACKBUF_PAGE_SIZE));
}

/* Return the entry of @origin, or NULL if all entries to try belong to other origins */
static struct stackbuf_depth *find_depth(unsigned long origin)
{
	u32 at = origin * GOLDEN_RATIO_64 >> 32, i;

	for (i = 0; i < DEPTH_TRIES; i++) {
		struct stackbuf_depth *depth = depth_at((at + i) % STACKBUF_DEPTHS_MAX);
		u64 has = READ_ONCE(depth->origin) ?: cmpxchg(&depth->origin, 0, origin) ?: origin;

		if (has == origin)
			return depth;
	}
	return NULL;
}

NOKPROBE_SYMBOL(find_depth);

u64 sbuf_depth_seen[256];

noinline bool sbuf_depth_exceeds(unsigned long origin, unsigned long sp)
{
	unsigned long stack = sbuf_kstack_task(), bytes = stack + THREAD_SIZE - sp, most;
	const struct stackbuf_depth *depth;

	if (!sbuf_kstack_has(stack, sp) || sbuf_depth_known(origin, sp, stack))
		return false;
	depth = find_depth(origin);
	if (!depth)
		return false;
	most = READ_ONCE(depth->bytes);
	WRITE_ONCE(*sbuf_depth_seen_from(origin),
		   (origin << SBUF_DEPTH_SEEN_SHIFT) + most - THREAD_SIZE);
	return bytes > most;
}

NOKPROBE_SYMBOL(sbuf_depth_exceeds);

void sbuf_depth_note(struct sbuf_scratch *scratch, u32 id)
{
	unsigned long end = sbuf_kstack_task() + THREAD_SIZE, most = THREAD_SIZE / sizeof(u64);
	const struct sbuf_trace *trace = &scratch->trace;
	const u32 *frame = trace->frames;
	struct sbuf_walk *walk = &scratch->walk;
	struct stackbuf_depth *depth;
	u32 seq, bytes, nr = trace->nr, i;

	/* The walk began on another stack */
	if (walk->sp[0] >= end || end - walk->sp[0] > THREAD_SIZE)
		return;
	bytes = end - walk->sp[0];
	depth = find_depth(scratch->pc[0]);
	if (!depth) {
		sbuf_add(&stackbuf_info.depths_full, 1);
		return;
	}
	/* D1: @bytes is read after @seq, so it only grows, as sbuf_depth_seen requires */
	seq = smp_load_acquire(&depth->seq);
	if (likely(bytes <= READ_ONCE(depth->bytes)))
		return;
	/*
	 * Another CPU, or the context that we interrupted, is writing this entry: drop ours.  D1, a
	 * full barrier: for readers, seq is odd before anything else changes
	 */
	if (seq & 1 || cmpxchg(&depth->seq, seq, seq + 1) != seq)
		return;
	if (SBUF_HAVE_RECORDS)
		sbuf_record_place_frames(walk, scratch->pc, nr);
	/* Other contexts compare their depth with it concurrently */
	WRITE_ONCE(depth->bytes, bytes);
	depth->id = id;
	depth->nr = nr;
	depth->cut = trace->cut;
	depth->stale = false;
	if (likely(trace->words == trace->nr))
		memcpy(depth->frame, frame, nr * sizeof(*frame));
	else
		for (i = 0; i < nr; i++, frame += *frame == STACKBUF_FRAME_FAR ? 3 : 1)
			depth->frame[i] = *frame;
#pragma GCC unroll 8
	for (i = 0; i < nr; i++) {
		/* Huge if the distance is not a multiple of 8 */
		u64 words = ror64(end - walk->sp[i], 3);

		/* The unwinder went astray: cut the stack here */
		if (words - 1 >= most) {
			depth->nr = i;
			depth->cut = true;
			break;
		}
		depth->words[i] = words;
		most = words;
	}
	/* D1: everything is written before seq is even again */
	smp_store_release(&depth->seq, seq + 2);
	bump_seq(depth);
}

void sbuf_depth_expire(unsigned long text, unsigned long size, bool coming)
{
	unsigned int n, i;
	u64 pc;

	for (n = 0; n < STACKBUF_DEPTHS_MAX; n++) {
		struct stackbuf_depth *depth = depth_at(n);
		/* No sbuf_depth_note() writes a frame there any more: see sbuf_evict_expire() */
		u32 seq = READ_ONCE(depth->seq), nr = READ_ONCE(depth->nr);

		for (i = 0; i < nr; i++)
			if (stackbuf_decode_frame(&depth->frame[i], 1, stackbuf_info.base_addr,
						  &pc) && pc - text <= size)
				break;
		/* D1.  If it is being written, or has been, its frames are not there */
		if (i == nr || seq & 1 || cmpxchg(&depth->seq, seq, seq + 1) != seq)
			continue;
		depth->stale = true;
		/* Nothing runs there until it has come */
		if (coming && depth->origin - text < size)
			WRITE_ONCE(depth->bytes, 0);
		smp_store_release(&depth->seq, seq + 2);	/* D1 */
		bump_seq(depth);
	}
	if (coming)
		memset(sbuf_depth_seen, 0, sizeof(sbuf_depth_seen));
}
