// SPDX-License-Identifier: GPL-2.0
/*
 * recall.c - know a stack again without walking it
 *
 * Walking is nearly all that a save costs, and the same path through the code
 * leaves the same return addresses at the same distances.  So when a stack is
 * walked, remember where its return addresses lay: its layout.  Next time,
 * load these places and compare.
 *
 * That must be exact, never merely likely: what is recalled is what the
 * unwinder would find.  Here is why it is (x86-64, ORC; the code that is meant is
 * unwind_next_frame() of arch/x86/kernel/unwind_orc.c).
 *
 * The unwinder goes from frame to frame with three values: ip, sp and bp.  The
 * ORC entry of ip alone says how the next three are made of them:
 *
 *	cfa, the caller's sp:	sp + constant			(1)
 *				bp + constant			(2)
 *				load(bp + constant)		(3)
 *	the caller's ip:	load(cfa - 8)
 *	the caller's bp:	bp				(4)
 *				load(a place in this frame)	(5)
 *
 * The other kinds of entries are kept out: registers saved by an interrupt or
 * exception (a trace that passes some in kernel mode is not learnt), r10, r13,
 * di and dx (only usable behind such), load(sp) (a change of stacks; all of a
 * recalled trace lies on the task's own), and code without an entry, where the
 * unwinder guesses and sets its error flag (not learnt).  So is the code whose
 * entry may change: a module's is forgotten when a module comes or goes, live
 * patches are modules, and ftrace's and kprobes' trampolines and BPF programs are
 * told by their symbols and not learnt.
 *
 * We see what the unwinder found, not by which kind of entry.  But what we
 * compare covers all kinds that could have led there.  Say the walk that was
 * learnt had (ip, sp, bp)[i] in frame i.  By induction, if all comparisons hold,
 * the walk now has, in each frame, the same ip, the same sp relative to where
 * it started, and the same bp relative to that if bp can matter:
 *
 * - bp[i] can matter in frame i only by (2) and (3): then it lies within 32 KiB
 *   of the stack, as constants have 16 bits.  If it lay further away when the
 *   stack was learnt, the entry of ip[i] is (1), now as then.
 * - Where bp[i] can matter, it was made by (5) in the frames inside, or comes by
 *   (4) from further inside, in the end from the register.  The place that (5)
 *   loads from held bp[i]; so all words of that frame that held it are compared.
 *   If (4) is possible, that is if bp did not change there, what is inside is
 *   compared as well, up to the register.
 * - The place that (3) loads from held sp[i + 1]: all words of frame i that did
 *   are compared, if bp[i] can matter.
 * - With sp[i + 1] the same, ip[i + 1] is loaded from the same place: compared.
 *
 * A word that held such a value by chance makes a comparison fail that need not,
 * which costs a walk, and nothing else.  There get fewer of them with time: the
 * entry of an ip is always the same, so what one walk rules out for it is ruled
 * out for all.  Not (1) if its frame had two sizes; not (2) if bp was far from
 * the stack, or not always as far from cfa; not (3) and (5) of a place that held
 * something else; not (4) if bp changed.  That is kept in sb_facts.
 *
 * Functions that use alloca(), and do_syscall_64() with its random offset, have
 * frames of different sizes, as have those that align their stack.  A frame that
 * is not (1) parts a layout: what lies outside of it is found relative to its bp,
 * which is loaded as (5) or (4) say, no longer compared; all else is as above.
 * Which frames are taken for that does not matter to the argument: each other one
 * is compared.
 *
 * A walk ends at registers of user mode, which is looked at again each time, or
 * at an ip whose entry says so, or it was not learnt.
 *
 * A return address that kretprobes or the function graph tracer replaced differs
 * from what the unwinder reports, and is not learnt; replaced later, it does not
 * compare equal, as only their trampolines' addresses are translated.
 *
 * Words are loaded from the running task's stack, above its stack pointer: they
 * are not written meanwhile, and interrupts work below.
 */

/* What was learnt under another number is forgotten; never 0 */
static u32 sb_recall_epoch = 1;

/* Set by a difference that verification found: nothing is recalled any more */
static bool sb_recall_off = !SB_HAVE_RECALL;

/* Parameter verify: one in so many recalls is checked by a walk; 0: none */
static unsigned int sb_verify = 4096;

#define SB_VERIFY_MAX	1000000

#define SB_LAYOUT_TRIES	64	/* learnt so often, the stack counts as unfit */
#define SB_LEARNING	U32_MAX	/* epoch of a layout that is being written */

#define SB_PARTS	4	/* of a layout */
#define SB_REGISTER	U8_MAX	/* the register bp instead of a place */

/**
 * struct sb_part - a part of a layout, outside of a frame of varying size
 * @first:	first frame found relative to this part's base
 * @from:	part whose base @place is relative to, or SB_REGISTER
 * @place:	where this part's base is loaded from, words from @from's base
 * @top:	words between the base and the highest place relative to it
 */
struct sb_part {
	u8 first;
	u8 from;
	s16 place;
	u16 top;
};

/**
 * struct sb_layout - where a stack's return addresses lie
 * @epoch:	sb_recall_epoch if usable, SB_LEARNING while it is written
 * @id:		of the stack; the place may have been another's
 * @version:	goes up whenever it is written
 * @tried:	sb_recall_epoch, low half, that @tries is of
 * @tries:	how often it was learnt in that
 * @checks:	number of words to compare besides
 * @parts:	number of parts; the first one's base is the stack pointer where the
 *		walk starts
 * @user_regs:	it ends at registers of user mode, at @end
 * @end:	their place, words from the last base
 * @part:	the parts
 * @ret:	place of frame i's return address at index i - 1, words from the
 *		base of its part
 *
 * Behind @ret, aligned, @checks words of type struct sb_check.
 */
struct sb_layout {
	u32 epoch;
	u32 id;
	u16 version;
	u16 tried;
	u8 tries;
	u8 checks;
	u8 parts;
	u8 user_regs;
	s16 end;
	struct sb_part part[SB_PARTS];
	s16 ret[];
};

#define SB_CHECK_REGISTER	-2048	/* instead of a place: the register bp */

/* A word of the stack holds an address in the stack, both relative to a base */
struct sb_check {
	s32 place:12;		/* in words */
	u32 place_part:2;
	s32 value:16;		/* in bytes */
	u32 value_part:2;
};

static_assert(sizeof(struct sb_check) == 4);

/*
 * A layout has the room in here that its stack has in the table.  Behind the last
 * there is as much as sb_layout_fits() may read of a mixture of two.
 */
static struct { u64 word[STACKBUF_GRANULE / 8]; } sb_layouts[SB_GRANULES + 20];

/*
 * Ids of stacks by where the save is called, how deep, and in which system call:
 * sets of four.  A hint: what is in there is checked.
 */
#define SB_HINTS	8192
#define SB_WAYS		4
static u32 sb_hint[SB_HINTS];

static inline struct sb_layout *sb_layout(const struct stackbuf_stack *stack)
{
	return (void *)&sb_layouts[sb_id_granule(stack->id)];
}

static inline struct sb_check *sb_layout_checks(struct sb_layout *layout, unsigned int nr)
{
	return PTR_ALIGN((void *)&layout->ret[nr - 1], sizeof(struct sb_check));
}

static inline unsigned long sb_load(unsigned long address)
{
	return READ_ONCE_NOCHECK(*(unsigned long *)address);
}

/* After the last event of the stack, in whose place another may come */
static void sb_forget_layout(struct stackbuf_stack *stack)
{
	struct sb_layout *layout = sb_layout(stack);

	layout->epoch = 0;
	layout->id = 0;
}

#if SB_HAVE_RECALL

/* The end of the task's own stack, if @sp lies on it, or 0 */
static inline unsigned long sb_stack_end(unsigned long sp)
{
	unsigned long start = (unsigned long)task_stack_page(current);

	return sp - start < THREAD_SIZE && !(sp & 7) ? start + THREAD_SIZE : 0;
}

static inline u32 *sb_hint_of(const struct sb_start *start, unsigned long end)
{
	u64 key = start->ip ^ start->hint << 20 ^ (end - start->sp) << 44 ^
		  task_pt_regs(current)->orig_ax << 32;

	return &sb_hint[key * GOLDEN_RATIO_64 >> (64 - ilog2(SB_HINTS)) & ~(SB_WAYS - 1UL)];
}

/* A word of the stack that begins at @start, wherever @offset points */
static __always_inline unsigned long sb_stack_word(unsigned long start, unsigned long offset)
{
	return sb_load(start + (offset & (THREAD_SIZE - 8)));
}

/*
 * Compare the stack with a layout; see the top of the file.
 *
 * The layout may be written anew meanwhile, by somebody who walked the same stack
 * and found another.  Then what is read here is a mixture: nothing of it leads
 * outside of this stack, and the version tells in the end.
 */
static __always_inline bool sb_layout_fits(const struct stackbuf_stack *stack,
					   struct sb_layout *layout,
					   const struct sb_start *start, unsigned long end)
{
	const unsigned long sp = start->sp, bp = start->bp;
	const unsigned long text = (unsigned long)stack_trace_save;
	const unsigned long bottom = end - THREAD_SIZE;
	const s32 *frames = (const s32 *)stack->frames;
	const u16 version = READ_ONCE(layout->version);
	unsigned long base[SB_PARTS] = {}, parts, part, i;
	const s16 *ret = layout->ret - 1;
	const struct sb_check *check;
	u32 epoch;

	/*
	 * Pairs with sb_learn(), which sets SB_LEARNING, then the version, then
	 * writes, then sets the epoch: with this version and that epoch, either
	 * all is written, or the version is another in the end.
	 */
	smp_rmb();
	epoch = READ_ONCE(layout->epoch);
	if (unlikely(epoch != READ_ONCE(sb_recall_epoch)))
		return false;
	smp_rmb();	/* likewise */
	if (unlikely(layout->id != stack->id || text + frames[0] != start->ip ||
		     sp + layout->part[0].top * 8UL >= end))
		return false;

	parts = min_t(unsigned long, READ_ONCE(layout->parts), SB_PARTS);
	base[0] = sp;
	for (part = 0, i = 1;;) {
		const struct sb_part *next = &layout->part[part + 1];
		const unsigned long last = part + 1 < parts ? min(next->first, stack->nr) :
			stack->nr;
		const unsigned long from = base[part] - bottom;

		for (; i < last; i++)
			if (sb_stack_word(bottom, from + ret[i] * 8L) != text + frames[i])
				return false;
		if (++part >= parts)
			break;
		base[part] = next->from == SB_REGISTER ? bp :
			sb_stack_word(bottom, base[next->from % SB_PARTS] - bottom +
				      next->place * 8L);
		if (unlikely(base[part] < sp || base[part] + next->top * 8UL >= end ||
			     base[part] & 7))
			return false;
	}

	check = sb_layout_checks(layout, stack->nr);
	for (i = layout->checks; i > 0; i--, check++) {
		unsigned long is = bp;

		if (likely(check->place != SB_CHECK_REGISTER)) {
			is = sb_stack_word(bottom, base[check->place_part] - bottom +
					   check->place * 8L);
		}
		if (is != base[check->value_part] + check->value)
			return false;
	}
	/* user_mode() of the registers there */
	if (layout->user_regs &&
	    (sb_stack_word(bottom, base[parts - 1] - bottom + layout->end * 8L +
			   offsetof(struct pt_regs, cs)) & 3) != 3)
		return false;

	smp_rmb();	/* likewise */
	return READ_ONCE(layout->epoch) == epoch && READ_ONCE(layout->version) == version;
}

/**
 * sb_recall() - the stack that a walk would find
 * @start: where the walk would start
 *
 * Context: Any, interrupts off, and off until the event is appended.
 * Return: the stack, or NULL if only a walk can tell.
 */
static __always_inline struct stackbuf_stack *sb_recall(const struct sb_start *start)
{
	unsigned long end = sb_stack_end(start->sp);
	const u32 *hint;
	int i;

	if (unlikely(READ_ONCE(sb_recall_off)))
		return NULL;
	hint = sb_hint_of(start, end);
	for (i = 0; i < SB_WAYS; i++) {
		u32 id = READ_ONCE(hint[i]);
		struct stackbuf_stack *stack;

		if (!id)
			continue;
		stack = sb_stack(id);
		/*
		 * With its text outstanding it must take the long way; and when
		 * evict.c has it, it must not be found any more.
		 */
		if (READ_ONCE(stack->id) == id &&
		    (READ_ONCE(stack->flags) & (STACKBUF_STACK_TEXT | STACKBUF_STACK_LEAVING)) ==
		    STACKBUF_STACK_TEXT &&
		    sb_layout_fits(stack, sb_layout(stack), start, end))
			return stack;
	}
	return NULL;
}

/* Code whose ORC entries stay: the kernel's own, and modules' while loaded */
static bool sb_entry_stays(unsigned long ip, char *name)
{
	const char *module;

	if (ip >= __START_KERNEL_map && ip < MODULES_VADDR)
		return true;
	sprint_symbol(name, ip);
	module = strrchr(name, '[');
	return module && strncmp(module, "[__builtin__", 12) && strcmp(module, "[bpf]");
}

/* What is ruled out for the ORC entry of an ip */
#define SB_NOT_SP	0x1	/* (1) */
#define SB_NOT_BP	0x2	/* (2) */
#define SB_NOT_LOAD	0x4	/* (3) */
#define SB_NOT_KEPT	0x8	/* (4) */
#define SB_NOT_SAVED	0x10	/* (5) */
#define SB_NOT_BY_BP	0x20	/* (5) relative to bp */

#define SB_NO_DISTANCE	S32_MIN

/**
 * struct sb_fact - what walks told of the ORC entry of @ip
 * @ip:		a return address in the kernel itself, whose entries are for good
 * @ready:	the rest is there
 * @not:	SB_NOT_SP etc.; bits are only ever set
 * @size:	cfa - sp where it was first met
 * @above:	cfa - bp where bp was first near the stack, or SB_NO_DISTANCE
 * @load:	places that (3) may load from, by sb_place_bit() from bp
 * @saved:	places that (5) may load from, by sb_place_bit() from cfa
 * @saved_bp:	likewise, from bp; bits are only ever cleared in these three
 */
struct sb_fact {
	unsigned long ip;
	atomic_t ready;
	atomic_t not;
	s32 size;
	s32 above;
	atomic64_t load;
	atomic64_t saved;
	atomic64_t saved_bp;
};

#define SB_FACTS	1024
static struct sb_fact sb_facts[SB_FACTS];

/* What is known of an ip, or NULL; made if there is room and @size is not 0 */
static struct sb_fact *sb_fact_of(unsigned long ip, s32 size)
{
	u32 at = ip * GOLDEN_RATIO_64 >> (64 - ilog2(SB_FACTS)), i;

	/* A module's entries go with it, and another's may come */
	if (ip >= MODULES_VADDR)
		return NULL;
	for (i = 0; i < 8; i++) {
		struct sb_fact *fact = &sb_facts[(at + i) % SB_FACTS];
		unsigned long has = READ_ONCE(fact->ip);

		if (!has && size) {
			has = cmpxchg(&fact->ip, 0, ip);
			if (!has) {
				fact->size = size;
				fact->above = SB_NO_DISTANCE;
				atomic64_set(&fact->load, -1);
				atomic64_set(&fact->saved, -1);
				atomic64_set(&fact->saved_bp, -1);
				/* Not before all of it is there */
				atomic_set_release(&fact->ready, 1);
				return fact;
			}
		}
		if (has == ip)
			return atomic_read_acquire(&fact->ready) ? fact : NULL;
	}
	return NULL;
}

/* The bit of the word at @place, from 8 words above @from downwards, or 0 */
static inline u64 sb_place_bit(unsigned long from, unsigned long place)
{
	unsigned long n = (from + 64 - place) / 8;

	return from + 64 >= place && n < 64 && !((from - place) & 7) ? BIT_ULL(n) : 0;
}

static inline bool sb_near_stack(unsigned long address, unsigned long end)
{
	return address - (end - THREAD_SIZE - 32768) < THREAD_SIZE + 65536;
}

/* See what frame @i of a walk rules out for its ip */
static void sb_gather_facts(const struct sb_walk *walk, unsigned int i, unsigned long ip,
			    unsigned long end)
{
	unsigned long sp = walk->sp[i], cfa = walk->sp[i + 1], bp = walk->bp[i], place;
	struct sb_fact *fact = sb_fact_of(ip, cfa - sp);
	bool loads = false, saves = false;
	u64 load = 0, saved = 0, saved_bp = 0;
	int not = 0;

	if (!fact)
		return;
	for (place = sp; place < cfa; place += 8) {
		unsigned long word = sb_load(place);

		if (word == cfa) {
			loads = true;
			load |= sb_place_bit(bp, place);
		}
		if (word == walk->bp[i + 1]) {
			saves = true;
			saved |= sb_place_bit(cfa, place);
			saved_bp |= sb_place_bit(bp, place);
		}
	}
	if (cfa - sp != fact->size)
		not |= SB_NOT_SP;
	if (!sb_near_stack(bp, end)) {
		not |= SB_NOT_BP | SB_NOT_LOAD | SB_NOT_BY_BP;
	} else {
		s32 above = cmpxchg(&fact->above, SB_NO_DISTANCE, (s32)(cfa - bp));

		if (above != SB_NO_DISTANCE && above != (s32)(cfa - bp))
			not |= SB_NOT_BP;
		if (!loads)
			not |= SB_NOT_LOAD;
		atomic64_and(load, &fact->load);
		atomic64_and(saved_bp, &fact->saved_bp);
	}
	if (bp != walk->bp[i + 1])
		not |= SB_NOT_KEPT;
	if (!saves)
		not |= SB_NOT_SAVED;
	atomic64_and(saved, &fact->saved);
	atomic_or(not, &fact->not);
}

/* Whether (3) can load from @place */
static bool sb_may_load(const struct sb_fact *fact, unsigned long bp, unsigned long place)
{
	u64 bit = sb_place_bit(bp, place);

	return !fact || (!(atomic_read(&fact->not) & SB_NOT_LOAD) &&
			 (!bit || atomic64_read(&fact->load) & bit));
}

/* Whether (5) can load from @place */
static bool sb_may_save(const struct sb_fact *fact, unsigned long cfa, unsigned long bp,
			unsigned long place)
{
	u64 from_cfa = sb_place_bit(cfa, place), from_bp = sb_place_bit(bp, place);
	int not;

	if (!fact)
		return true;
	not = atomic_read(&fact->not);
	if (not & SB_NOT_SAVED)
		return false;
	if (!from_cfa || atomic64_read(&fact->saved) & from_cfa)
		return true;
	return !(not & SB_NOT_BY_BP) && (!from_bp || atomic64_read(&fact->saved_bp) & from_bp);
}

/*
 * Where a walk starts from registers, the first frame's cfa may be r10 or r13
 * plus a constant, in the middle of a prologue.  If neither is near the stack, the
 * entry is another, now and ever.  So it is where a function begins: the lea and
 * the and that make it r10 or r13 take nine bytes.
 */
static bool sb_start_fits(struct sb_walk *walk, unsigned long ip, unsigned long end)
{
	const char *offset;

	if (!sb_near_stack(walk->r10, end) && !sb_near_stack(walk->r13, end))
		return true;
	sprint_symbol(walk->name, ip);
	offset = strchr(walk->name, '+');
	return offset && offset[3] >= '0' && offset[3] <= '8' && offset[4] == '/' &&
	       walk->sp[1] == walk->sp[0] + 8;
}

/* A layout in the making */
struct sb_draft_layout {
	struct sb_layout *layout;
	struct sb_check *check;
	unsigned int room;			/* for checks */
	unsigned long base[SB_PARTS];
	unsigned long sp[SB_PARTS];		/* places from here on are of this part */
	bool based[SB_PARTS];			/* it is known where the base comes from */
};

/*
 * The value @value in a word at @place, or in the register bp if @place is 0;
 * @is_bp: it is there as bp, not as cfa.
 */
static bool sb_add_check(struct sb_draft_layout *draft, unsigned long place, unsigned long value,
			 bool is_bp)
{
	struct sb_layout *layout = draft->layout;
	unsigned int from = 0, to = 0, i;
	long words, bytes;

	for (i = 1; i < layout->parts; i++) {
		if (place >= draft->sp[i])
			from = i;
		if (value >= draft->base[i])
			to = i;
	}

	words = place ? (long)(place - draft->base[from]) / 8 : SB_CHECK_REGISTER;
	bytes = value - draft->base[to];
	if ((place && words <= SB_CHECK_REGISTER) || words > 2047 || bytes != (s16)bytes)
		return false;

	/* What holds a base as bp is where it is loaded from */
	if (is_bp && !draft->based[to] && value == draft->base[to] && from < to) {
		layout->part[to].from = place ? from : SB_REGISTER;
		layout->part[to].place = place ? words : 0;
		draft->based[to] = true;
		return true;
	}
	if (layout->checks >= draft->room)
		return false;
	draft->check[layout->checks++] = (struct sb_check) {
		.place = words,
		.place_part = from,
		.value = bytes,
		.value_part = to,
	};
	return true;
}

/* Compare what (3) may load in frame @i; false if there is no room for it */
static bool sb_check_cfa(struct sb_draft_layout *draft, const struct sb_walk *walk,
			 unsigned int i, const struct sb_fact *fact)
{
	unsigned long cfa = walk->sp[i + 1], place;

	for (place = walk->sp[i]; place < cfa; place += 8)
		if (sb_load(place) == cfa && sb_may_load(fact, walk->bp[i], place) &&
		    !sb_add_check(draft, place, cfa, false))
			return false;
	return true;
}

/* Compare what (5) may load in frame @i; how many words, or -1 */
static int sb_check_bp(struct sb_draft_layout *draft, const struct sb_walk *walk,
		       unsigned int i, const struct sb_fact *fact)
{
	unsigned long cfa = walk->sp[i + 1], place;
	int n = 0;

	for (place = walk->sp[i]; place < cfa; place += 8) {
		if (sb_load(place) != walk->bp[i + 1] ||
		    !sb_may_save(fact, cfa, walk->bp[i], place))
			continue;
		if (!sb_add_check(draft, place, walk->bp[i + 1], true))
			return -1;
		n++;
	}
	return n;
}

/* Part a layout outside of frames of varying size, the outermost ones */
static void sb_make_parts(struct sb_draft_layout *draft, const struct sb_walk *walk,
			  const unsigned long *pc, unsigned int frames)
{
	unsigned int variable[SB_PARTS - 1], n = 0, i;

	for (i = frames; i-- > 1 && n < ARRAY_SIZE(variable);) {
		const struct sb_fact *fact = sb_fact_of(pc[i], 0);

		if (fact && atomic_read(&fact->not) & SB_NOT_SP && walk->bp[i] >= walk->sp[i] &&
		    walk->bp[i] < walk->sp[i + 1] && !(walk->bp[i] & 7))
			variable[n++] = i;
	}
	draft->base[0] = walk->sp[0];
	draft->sp[0] = walk->sp[0];
	draft->based[0] = true;
	draft->layout->parts = 1;
	while (n-- > 0) {
		unsigned int part = draft->layout->parts++;

		i = variable[n];
		draft->base[part] = walk->bp[i];
		draft->sp[part] = walk->sp[i];
		draft->layout->part[part].first = i + 1;
	}
}

/* Fill in @layout; false if the stack is not fit */
static bool sb_make_layout(struct sb_layout *layout, unsigned int room, struct sb_walk *walk,
			   const unsigned long *pc, unsigned int nr, unsigned long end)
{
	struct sb_draft_layout draft = { .layout = layout };
	unsigned int frames = nr - 1 + walk->user_regs, part, i;
	unsigned long top = walk->sp[frames];
	bool want = false;

	draft.check = sb_layout_checks(layout, nr);
	if ((char *)draft.check > (char *)layout + room)
		return false;
	draft.room = min_t(unsigned long, U8_MAX,
			   ((char *)layout + room - (char *)draft.check) / sizeof(struct sb_check));

	if (frames && !sb_start_fits(walk, pc[0], end))
		return false;
	/* Going outwards on this stack, by addresses that nobody replaced */
	for (i = 0; i < nr; i++)
		if (!sb_entry_stays(pc[i], walk->name) ||
		    (i && (walk->sp[i] <= walk->sp[i - 1] || walk->sp[i] >= end ||
			   walk->sp[i] & 7 || sb_load(walk->sp[i] - 8) != pc[i])))
			return false;
	if (walk->user_regs && (top < walk->sp[nr - 1] || top + sizeof(struct pt_regs) > end))
		return false;

	/* The innermost frame's ip is looked up otherwise: no return address */
	for (i = 1; i < frames; i++)
		sb_gather_facts(walk, i, pc[i], end);

	layout->checks = 0;
	sb_make_parts(&draft, walk, pc, frames);
	for (i = 1, part = 0; i < nr; i++) {
		while (part + 1 < layout->parts && i >= layout->part[part + 1].first)
			part++;
		layout->ret[i - 1] = (long)(walk->sp[i] - 8 - draft.base[part]) / 8;
	}
	layout->user_regs = walk->user_regs;
	if (walk->user_regs) {
		layout->end = (long)(top - draft.base[layout->parts - 1]) / 8;
		top += sizeof(struct pt_regs) - 8;
	}
	for (part = 0; part < layout->parts; part++)
		layout->part[part].top = ((part + 1 < layout->parts ? draft.sp[part + 1] : top) -
					  draft.base[part]) / 8;

	/* From the outermost frame that bp can matter in, inwards */
	for (i = frames; i-- > 0;) {
		const struct sb_fact *fact = i ? sb_fact_of(pc[i], 0) : NULL;
		int not = fact ? atomic_read(&fact->not) : 0;
		unsigned long bp = walk->bp[i];

		/* Carried on from the frame outside of this one: (4) and (5) */
		if (want) {
			int n = sb_check_bp(&draft, walk, i, fact);

			want = bp == walk->bp[i + 1] && !(not & SB_NOT_KEPT);
			if (n < 0 || (!n && !want))
				return false;
		}
		/* (2) and (3) */
		if (sb_near_stack(bp, end) && (~not & (SB_NOT_BP | SB_NOT_LOAD))) {
			if (bp < draft.base[0] || bp >= end ||
			    !sb_check_cfa(&draft, walk, i, fact))
				return false;
			want = true;
		}
	}
	if (want && !sb_add_check(&draft, 0, walk->bp[0], true))
		return false;
	for (part = 0; part < layout->parts; part++)
		if (!draft.based[part])
			return false;
	return true;
}

/**
 * sb_learn() - remember the layout of a stack that was just walked
 * @stack: the stack
 * @walk: the walk
 * @pc: what it found
 *
 * Context: Any, interrupts off since the stack was found in the table.
 * Return: false if it is not fit for that.
 */
static bool sb_learn(struct stackbuf_stack *stack, struct sb_walk *walk,
		     const unsigned long *pc)
{
	unsigned int room = sb_stack_granules(stack->words) * STACKBUF_GRANULE;
	struct sb_layout *layout = sb_layout(stack);
	unsigned long end = sb_stack_end(walk->sp[0]);
	struct sb_start start = { pc[0], walk->sp[0], walk->bp[0], walk->hint };
	u32 epoch = READ_ONCE(layout->epoch);
	u32 *hint;
	int i;

	if (layout->tries >= SB_LAYOUT_TRIES && layout->id == stack->id &&
	    layout->tried == (u16)walk->epoch)
		return false;
	/* Often only the hint is missing */
	if (sb_layout_fits(stack, layout, &start, end))
		goto hint;
	/* Somebody else does it, or we interrupted him */
	if (epoch == SB_LEARNING || cmpxchg(&layout->epoch, epoch, SB_LEARNING) != epoch)
		return true;
	WRITE_ONCE(layout->version, layout->version + 1);
	smp_wmb();	/* readers who see any of the new see the version, too */
	/* What a module event made forget is no failure */
	if (layout->id != stack->id || layout->tried != (u16)walk->epoch) {
		layout->id = stack->id;
		layout->tried = walk->epoch;
		layout->tries = 0;
	}
	layout->tries++;
	if (stack->words != stack->nr || stack->flags & STACKBUF_STACK_CUT ||
	    !sb_make_layout(layout, room, walk, pc, stack->nr, end)) {
		layout->tries = SB_LAYOUT_TRIES;
		WRITE_ONCE(layout->epoch, 0);
		return false;
	}
	/* Complete before it is used; void if code went away since the walk began */
	smp_store_release(&layout->epoch, walk->epoch);

hint:
	hint = sb_hint_of(&start, end);
	for (i = 0; i < SB_WAYS && READ_ONCE(hint[i]) != stack->id; i++)
		;
	if (i == SB_WAYS) {
		for (i = SB_WAYS - 1; i > 0; i--)
			WRITE_ONCE(hint[i], READ_ONCE(hint[i - 1]));
		WRITE_ONCE(hint[0], stack->id);
	}
	return true;
}

static struct irq_work sb_differed_work;

static void sb_report_difference(struct irq_work *work)
{
	pr_err("a recalled stack differed from the walked one: recall is off. Please report this\n");
}

/* Hold the stack @recalled against the one that the walk of the same event found */
static enum stackbuf_loss sb_verify_recall(u32 recalled, const struct stackbuf_stack *walked)
{
	const struct stackbuf_stack *stack = sb_stack(recalled);

	if (recalled == walked->id)
		return STACKBUF_VERIFIED;
	/* Dropped meanwhile: nothing to be said */
	if (READ_ONCE(stack->id) != recalled)
		return STACKBUF_WALKED_AGAIN;
	/* Twins, see table.c */
	if (stack->hash == walked->hash && stack->words == walked->words &&
	    !memcmp(stack->frames, walked->frames, walked->words * sizeof(u32)))
		return STACKBUF_VERIFIED;
	/* Or dropped just now, and what was compared was another's */
	smp_rmb();
	if (READ_ONCE(stack->id) != recalled)
		return STACKBUF_WALKED_AGAIN;
	if (!READ_ONCE(sb_recall_off)) {
		WRITE_ONCE(sb_recall_off, true);
		irq_work_queue(&sb_differed_work);
	}
	return STACKBUF_DIFFERED;
}

static DEFINE_MUTEX(sb_module_mutex);

/*
 * Code comes or goes.  A module's init code goes when it is live.  Whoever walks
 * just now has the old number: code that goes is on nobody's stack.
 */
static int sb_module(struct notifier_block *block, unsigned long event, void *module)
{
	u32 epoch;

	/* The chain's lock lets two of them run at once */
	mutex_lock(&sb_module_mutex);
	epoch = sb_recall_epoch + 1;
	WRITE_ONCE(sb_recall_epoch, epoch == SB_LEARNING ? 1 : epoch);
	mutex_unlock(&sb_module_mutex);
	return NOTIFY_OK;
}

static struct notifier_block sb_module_block = {
	.notifier_call = sb_module,
};

static int __init sb_init_recall(void)
{
	init_irq_work(&sb_differed_work, sb_report_difference);
	return register_module_notifier(&sb_module_block);
}

static void sb_exit_recall(void)
{
	unregister_module_notifier(&sb_module_block);
	irq_work_sync(&sb_differed_work);
}

#else /* SB_HAVE_RECALL */

static unsigned long sb_stack_end(unsigned long sp)
{
	return 0;
}

static struct stackbuf_stack *sb_recall(const struct sb_start *start)
{
	return NULL;
}

static bool sb_learn(struct stackbuf_stack *stack, struct sb_walk *walk,
		     const unsigned long *pc)
{
	return false;
}

static enum stackbuf_loss sb_verify_recall(u32 recalled, const struct stackbuf_stack *walked)
{
	return STACKBUF_DIFFERED;
}

static int __init sb_init_recall(void)
{
	return 0;
}

static void sb_exit_recall(void)
{
}

#endif /* SB_HAVE_RECALL */
