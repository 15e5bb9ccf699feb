// SPDX-License-Identifier: GPL-2.0
/*
 * depth.c - the deepest stack seen from each place that records
 *
 * The counterpart of ftrace's stack tracer: for each innermost address the walk
 * with the most bytes between its stack pointer and the end of the task's stack.
 * A walk knows where every frame lies, or finds it once more from record to record, so
 * it is one comparison there, and a copy if it went deeper.  Frames are kept besides
 * the stack's id, as a stack that is rare, which the deepest is likely to be, may have
 * to make room in the table.
 */

/* How far from its hash an origin is looked for */
#define SB_DEPTH_TRIES	8

static struct stackbuf_depth *sb_depth_of(unsigned long origin)
{
	u32 at = origin * GOLDEN_RATIO_64 >> 32, i;

	for (i = 0; i < SB_DEPTH_TRIES; i++) {
		u32 n = (at + i) % STACKBUF_DEPTHS_MAX;
		struct stackbuf_depth *depth = &stackbuf_info.depth[n / STACKBUF_PAGE_DEPTHS]
							.depth[n % STACKBUF_PAGE_DEPTHS];
		u64 has = READ_ONCE(depth->origin);

		if (!has)
			has = cmpxchg(&depth->origin, 0, origin) ?: origin;
		if (has == origin)
			return depth;
	}
	return NULL;
}

#if SB_HAVE_RECORDS
/* Whether a walk from @sp, which begins at @origin, will be the deepest one from there */
bool sb_goes_deeper(unsigned long origin, unsigned long sp)
{
	struct stackbuf_depth *depth = sb_depth_of(origin);

	return depth && sb_task_stack() + THREAD_SIZE - sp > READ_ONCE(depth->bytes);
}

/* As it is part of a recall */
NOKPROBE_SYMBOL(sb_depth_of);
NOKPROBE_SYMBOL(sb_goes_deeper);
#endif

/**
 * sb_note_depth() - see whether a walk went deeper than any before from its place
 * @walk: the walk; those that begin on a task's own stack count, and end there
 * @pc: what it found
 * @nr: how many of these are kept
 * @cut: there were more
 * @id: the stack's id
 *
 * Context: Any, interrupts off.
 */
void sb_note_depth(struct sb_walk *walk, const unsigned long *pc, unsigned int nr, bool cut,
		   u32 id)
{
	unsigned long end = (unsigned long)task_stack_page(current) + THREAD_SIZE;
	struct stackbuf_depth *depth;
	u32 seq, bytes, i;

	/* On another stack */
	if (walk->sp[0] >= end || end - walk->sp[0] > THREAD_SIZE)
		return;
	bytes = end - walk->sp[0];
	depth = sb_depth_of(pc[0]);
	if (!depth) {
		sb_add(&stackbuf_info.depths_full, 1);
		return;
	}
	seq = READ_ONCE(depth->seq);
	if (likely(bytes <= READ_ONCE(depth->bytes)))
		return;
	/* Another CPU writes it, or we interrupted who does: one of the two is enough */
	if (seq & 1 || cmpxchg(&depth->seq, seq, seq + 1) != seq)
		return;
#if SB_HAVE_RECORDS
	sb_place_frames(walk, pc, nr);
#endif
	smp_wmb();	/* a reader that sees any of this sees that it is being written */
	WRITE_ONCE(depth->bytes, bytes);	/* others compare theirs meanwhile */
	depth->id = id;
	depth->nr = nr;
	depth->cut = cut;
	for (i = 0; i < nr; i++) {
		s64 distance = pc[i] - stackbuf_info.base_addr;

		depth->frame[i] = distance == (s32)distance ? distance : STACKBUF_FRAME_FAR;
		/* An unwinder that went astray is cut off */
		if ((i && walk->sp[i] < walk->sp[i - 1]) || walk->sp[i] >= end ||
		    walk->sp[i] & 7) {
			depth->nr = i;
			depth->cut = true;
			break;
		}
		depth->words[i] = (end - walk->sp[i]) / sizeof(u64);
	}
	/* And one that sees the end of it sees all */
	smp_store_release(&depth->seq, seq + 2);
	sb_page_changed((void *)((unsigned long)depth & -(unsigned long)STACKBUF_PAGE_SIZE));
}
