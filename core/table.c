// SPDX-License-Identifier: GPL-2.0
/*
 * table.c - the stack table: from frames to an id
 *
 * A hash table of chains.  Looking up takes no lock; inserting takes one
 * cmpxchg() on the page's bitmap for the room and one on the head of the chain,
 * and is possible in any context, NMI included.  Only room-making (evict.c)
 * removes, and only it writes the next field of a stack that is in a chain.
 *
 * Who looks up or inserts, and until the event that holds the id is appended,
 * keeps interrupts off.  That is what evict.c waits for before it gives a
 * stack's room away, see there.
 *
 * No two stacks in the chains are equal.  A new one is put in front by
 * cmpxchg() on the head; if that fails, somebody has put others in front, and
 * as new ones come only there, looking at these decides whether the stack is
 * there by now.  (One that evict.c took out and puts back may have got a twin
 * meanwhile: readers add up stacks of equal frames.)
 */

/* Heads of the chains: ids, or 0 */
u32 sb_bucket[SB_BUCKETS];

/* Granules in use; when evict.c shall be asked for more room */
atomic_t sb_granules_used;

/*
 * Goes up before evict.c frees room.  Its low bits are the high part of the ids given
 * out from then on, so that a place used again gets another id: but for stacks of
 * STACKBUF_STACK_AGAIN one that the place has never had.
 */
#ifndef SB_FIRST_EPOCH	/* a test begins where ids come round */
#define SB_FIRST_EPOCH	0
#endif
u64 sb_epoch = SB_FIRST_EPOCH;

static void sb_interrupted(void *unused)
{
}

/*
 * Wait until every CPU has taken an interrupt: whoever had them off, on his way to
 * an event, is through; an NMI ends before.  Under cpus_read_lock(), so that no CPU
 * comes or goes meanwhile.
 */
void sb_wait_for_saves(void)
{
	on_each_cpu(sb_interrupted, NULL, 1);
}

/* Where to look for room first, and pages looked at in vain since the last room */
static u32 sb_room_hint;
atomic_t sb_room_misses;

/* Encode addresses, see struct stackbuf_stack, and hash on the way */
void sb_encode(struct sb_trace *trace, const unsigned long *pc, unsigned int nr, bool cut)
{
	unsigned long base = (unsigned long)stack_trace_save;
	u32 *out = trace->frames;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		s64 distance = pc[i] - base;

		/* The lowest distance is the mark of the long form */
		if (likely(distance == (s32)distance && distance != S32_MIN)) {
			*out++ = distance;
		} else {
			*out++ = STACKBUF_FRAME_FAR;
			*out++ = lower_32_bits(pc[i]);
			*out++ = upper_32_bits(pc[i]);
		}
	}
	trace->nr = nr;
	trace->cut = cut;
	trace->words = out - trace->frames;
	trace->hash = stackbuf_hash(trace->frames, trace->words, cut);
}

unsigned int sb_decode(unsigned long *pc, const u32 *frames, unsigned int words)
{
	unsigned int nr = 0, n;
	u64 addr;

	for (; words && nr < STACKBUF_DEPTH_MAX; frames += n, words -= n) {
		n = stackbuf_decode_frame(frames, words, (unsigned long)stack_trace_save, &addr);
		if (!n)
			break;
		pc[nr++] = addr;
	}
	return nr;
}

/*
 * Look along a chain, from the id @from up to but not including @until.
 *
 * The dependency from an id to its stack orders the loads; the stack was
 * complete before its id was published.
 */
static struct stackbuf_stack *sb_chain_find(u32 from, u32 until, const struct sb_trace *trace)
{
	while (from != until) {
		struct stackbuf_stack *stack = sb_stack(from);

		if (stack->hash == trace->hash && stack->words == trace->words &&
		    /* Its other flags change at any time */
		    (READ_ONCE(stack->flags) & (STACKBUF_STACK_CUT | STACKBUF_STACK_STALE)) ==
		    (trace->cut ? STACKBUF_STACK_CUT : 0)) {
			unsigned int i;

			/* memcmp() is slow, byte by byte, on x86 */
			for (i = 0; i < trace->words; i++)
				if (stack->frames[i] != trace->frames[i])
					break;
			if (i == trace->words)
				return stack;
		}
		from = READ_ONCE(stack->next);
		if (!from)
			break;
	}
	return NULL;
}

/* The lowest of @n clear bits in a row, or 0; bit 0 is always set */
static unsigned int sb_find_run(u64 used, unsigned int n)
{
	u64 start = ~used;
	unsigned int have = 1;

	/* Bit i stays set while i .. i + have - 1 are all free */
	while (have < n) {
		unsigned int step = min(have, n - have);

		start &= start >> step;
		have += step;
	}
	return start ? __ffs64(start) : 0;
}

/*
 * Take room for @n granules.  At most 256 pages are looked at in one call, and
 * none at all once the whole table was looked through in vain, until evict.c
 * has freed something: what this costs when the table is full is bounded.
 */
static u32 sb_take_room(unsigned int n)
{
	u32 page = READ_ONCE(sb_room_hint);
	unsigned int tries;

	if (atomic_read(&sb_room_misses) >= SB_STACK_PAGES)
		return 0;

	for (tries = 0; tries < min(SB_STACK_PAGES, 256); tries++) {
		u64 *used = &stackbuf_stacks[page].used;
		u64 old = READ_ONCE(*used), was;
		unsigned int start;

		while ((start = sb_find_run(old, n))) {
			was = cmpxchg64(used, old, old | GENMASK_ULL(start + n - 1, start));
			if (was == old) {
				WRITE_ONCE(sb_room_hint, page);
				atomic_set(&sb_room_misses, 0);
				atomic_add(n, &sb_granules_used);
				sb_page_changed(&stackbuf_stacks[page].page);
				return page * SB_PAGE_GRANULES + start;
			}
			old = was;
		}
		page = page + 1 < SB_STACK_PAGES ? page + 1 : 0;
	}
	WRITE_ONCE(sb_room_hint, page);
	atomic_add(tries, &sb_room_misses);
	return 0;
}

void sb_give_room(u32 granule, unsigned int n)
{
	struct stackbuf_stacks_page *page = &stackbuf_stacks[granule / SB_PAGE_GRANULES];
	unsigned int start = granule % SB_PAGE_GRANULES;

	sb_page_changed(&page->page);
	/* Full barriers: what was written to the room before stays before */
	smp_mb__before_atomic();
	atomic64_andnot(GENMASK_ULL(start + n - 1, start), (atomic64_t *)&page->used);
	atomic_sub(n, &sb_granules_used);
	atomic_set(&sb_room_misses, 0);
}

struct stackbuf_stack *sb_find_or_insert(const struct sb_trace *trace, bool *is_new)
{
	u32 *bucket = &sb_bucket[trace->hash & (SB_BUCKETS - 1)];
	u32 head = READ_ONCE(*bucket), seen = 0;
	struct stackbuf_stack *stack, *mine = NULL;
	unsigned int granules = sb_stack_granules(trace->words);
	u32 granule = 0;

	*is_new = false;
	for (;;) {
		u32 was;

		stack = head ? sb_chain_find(head, seen, trace) : NULL;
		if (stack)
			break;

		if (!mine) {
			u64 epoch;

			granule = sb_take_room(granules);
			if (!granule)
				return NULL;
			mine = sb_stack_at(granule);
			mine->nr = trace->nr;
			/* The room, if used before, was freed after the epoch went up */
			epoch = READ_ONCE(sb_epoch);
			mine->flags = (trace->cut ? STACKBUF_STACK_CUT : 0) |
				(epoch >> (32 - SB_ID_BITS) ? STACKBUF_STACK_AGAIN : 0);
			mine->words = trace->words;
			mine->hash = trace->hash;
			mine->count = 0;
			mine->seen = atomic64_read(&sb_ring_head);
			memcpy(mine->frames, trace->frames, trace->words * sizeof(u32));
			/* For readers of raw memory: complete before its id is there */
			smp_wmb();
			WRITE_ONCE(mine->id, (u32)(epoch << SB_ID_BITS) | granule);
		}
		mine->next = head;
		/* A full barrier: the stack is complete before it can be found */
		was = cmpxchg(bucket, head, mine->id);
		if (was == head) {
			*is_new = true;
			return mine;
		}
		/*
		 * Others came in front: look at them up to the head that we know.
		 * If evict.c took just that one out, the chain's end stops us.
		 */
		seen = head;
		head = was;
	}

	if (mine) {
		WRITE_ONCE(mine->id, 0);
		sb_give_room(granule, granules);
	}
	return stack;
}
