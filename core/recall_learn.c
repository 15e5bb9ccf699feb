// SPDX-License-Identifier: GPL-2.0
/*
 * recall_learn.c - learn a cache entry from a walk of the ORC unwinder
 *
 * The unwinder reports the ip, sp and bp of each frame, not the ORC entry that led to it.  So a
 * cache entry has checks for all cases that could have led there.  Names in capitals are the cases
 * in docs/recall.md.  "ORC entry" is the unwinder's, "cache entry" ours.
 *
 * A slot is the address of a word on the stack; cfa is the unwinder's word for the sp of the
 * caller.  "Outwards" means towards a frame's callers, which have higher numbers and addresses.
 */
#include <linux/string.h>

#include "recall_cache.h"

/*
 * ORC constraints: the cases that walks have ruled out for the ORC entry of an ip.  The kernel's
 * own ORC entries never change, so a case that one walk rules out stays ruled out.  This leaves
 * fewer checks of words that hold a value only by chance.
 */
#define NOT_CFA_SP		0x1
#define NOT_CFA_BP		0x2
#define NOT_CFA_BP_IND	0x4
#define NOT_BP_KEPT		0x8
#define NOT_BP_SAVED		0x10
#define NOT_BP_AT_BP		0x20	/* BP_SAVED at a constant distance from bp */
#define NOT_BP_FAR		0x40	/* BP_SAVED in a slot that has no slot_bit() */

/* All zero if nothing is ruled out */
struct sbuf_constraint {
	unsigned long ip;	/* a return address in the kernel itself; 0 if unused */
	atomic_t not;		/* NOT_CFA_SP etc.; bits are only ever set */
	s32 size;		/* cfa - sp in the first frame seen, or 0 */
	s32 above;		/* cfa - bp in the first frame seen with its bp inside, or 0 */
	/* Slots from which nothing is loaded, by slot_bit(); bits are only ever set */
	atomic64_t no_load;	/* by CFA_BP_IND, from bp */
	atomic64_t no_saved;	/* by BP_SAVED, from cfa */
	atomic64_t no_saved_bp;	/* by BP_SAVED, from bp */
};

#define CONSTRAINTS	1024
static struct sbuf_constraint constraints[CONSTRAINTS];

/* Return the constraints of an ip, adding them if it has none; NULL if there is no room */
static struct sbuf_constraint *find_constraint(unsigned long ip)
{
	u32 at, i;

	/* A module's ORC entries are freed with it */
	if (ip >= MODULES_VADDR)
		return NULL;
	at = ip * GOLDEN_RATIO_64 >> (64 - ilog2(CONSTRAINTS));
	for (i = 0; i < 8; i++) {
		struct sbuf_constraint *known = &constraints[(at + i) % CONSTRAINTS];
		unsigned long has = READ_ONCE(known->ip) ?: cmpxchg(&known->ip, 0, ip);

		if (!has || has == ip)
			return known;
	}
	return NULL;
}

/* Return the bit of @slot, counted in words down from 8 words above @from; 0 if it has none */
static inline u64 slot_bit(unsigned long from, unsigned long slot)
{
	unsigned long n = (from + 64 - slot) / 8;

	return from + 64 >= slot && n < 64 && !((from - slot) & 7) ? BIT_ULL(n) : 0;
}

/* Return true if @address plus a 16-bit constant may be a cfa, with the stack at @sp */
static inline bool is_near_stack(unsigned long address, unsigned long sp)
{
	return address - (sp - 65536) < 2 * 65536;
}

/* Return the beginning of the stack, of the walk's two, that @address lies on; 0 if on neither */
static inline unsigned long stack_of(const struct sbuf_walk *walk, unsigned long address)
{
	unsigned long task = sbuf_kstack_task();

	if (sbuf_kstack_has(task, address))
		return task;
	return sbuf_kstack_has(walk->stack, address) ? walk->stack : 0;
}

/* Flags in @frame of a walk */
#define SWITCHES	0x1	/* the frame changes the stack: CFA_SP_IND */
#define BP_IN_FRAME	0x2	/* its bp may be its frame pointer, see is_bp_in_frame() */
#define VARIABLE	0x4	/* a call with its bp inside, whose frame size varies */

/* Return true if saved registers or a switch of stacks lead out of frame @i */
static inline bool is_changing(const struct sbuf_walk *walk, unsigned int i)
{
	return walk->regs[i + 1] || walk->frame[i] & SWITCHES;
}

/* Return where frame @i begins: after the switch of stacks, if there is one */
static unsigned long frame_low(const struct sbuf_walk *walk, unsigned int i)
{
	return walk->frame[i] & SWITCHES ? sbuf_kstack_load(walk->sp[i]) : walk->sp[i];
}

/* Return where frame @i ends: at its saved registers, if there are any */
static unsigned long frame_cfa(const struct sbuf_walk *walk, unsigned int i)
{
	return walk->regs[i + 1] ?: walk->sp[i + 1];
}

/* Return true if bp may be the frame pointer of frame @i, which begins at @low: lemma 1 */
static inline bool is_bp_in_frame(const struct sbuf_walk *walk, unsigned int i, unsigned long low)
{
	unsigned long bp = walk->bp[i];

	return bp >= low && bp < frame_cfa(walk, i) && !(bp & 7) &&
	       sbuf_kstack_load(bp) == walk->bp[i + 1];
}

/* Return the bits of @mask, by slot_bit() from @from, whose slots in frame @i hold @value */
static u64 keep_bits(const struct sbuf_walk *walk, unsigned int i, u64 mask, unsigned long from,
		     unsigned long value)
{
	u64 left, kept = 0;

	for (left = mask; left; left &= left - 1) {
		unsigned long slot = from + 64 - __ffs64(left) * 8;

		if (slot >= walk->sp[i] && slot < walk->sp[i + 1] &&
		    sbuf_kstack_load(slot) == value)
			kept |= left & -left;
	}
	return kept;
}

/* Rule out the slots not yet in @bits, by slot_bit() from @from, that do not hold @value */
static void constrain_bits(const struct sbuf_walk *walk, unsigned int i, atomic64_t *bits,
			   unsigned long from, unsigned long value)
{
	u64 mask = ~atomic64_read(bits), kept = keep_bits(walk, i, mask, from, value);

	if (kept != mask)
		atomic64_or(~kept, bits);
}

/* Rule out slots of frame @i that earlier walks left: few are left after the first walk */
static void constrain_again(const struct sbuf_walk *walk, unsigned int i,
			    struct sbuf_constraint *known, bool bp_in_frame)
{
	unsigned long cfa = walk->sp[i + 1], bp = walk->bp[i];
	int not = atomic_read(&known->not);

	constrain_bits(walk, i, &known->no_saved, cfa, walk->bp[i + 1]);
	if (bp_in_frame && !(not & NOT_CFA_BP_IND))
		constrain_bits(walk, i, &known->no_load, bp, cfa);
	if (bp_in_frame && !(not & NOT_BP_AT_BP))
		constrain_bits(walk, i, &known->no_saved_bp, bp, walk->bp[i + 1]);
}

/* Rule out slots of frame @i that do not hold the value that would be loaded from them */
static void constrain_slots(const struct sbuf_walk *walk, unsigned int i,
			    struct sbuf_constraint *known, bool bp_in_frame)
{
	unsigned long sp = walk->sp[i], cfa = walk->sp[i + 1], bp = walk->bp[i], slot;
	u64 load = 0, saved = 0, saved_bp = 0;
	bool loads = false, saves = false, far = false;

	for (slot = sp; slot < cfa; slot += 8) {
		unsigned long word = sbuf_kstack_load(slot);

		if (unlikely(word == cfa)) {
			loads = true;
			load |= slot_bit(bp, slot);
		}
		if (unlikely(word == walk->bp[i + 1])) {
			saves = true;
			saved |= slot_bit(cfa, slot);
			saved_bp |= slot_bit(bp, slot);
			far |= !slot_bit(cfa, slot) || (bp_in_frame && !slot_bit(bp, slot));
		}
	}
	if (bp_in_frame) {
		if (!loads)
			atomic_or(NOT_CFA_BP_IND, &known->not);
		atomic64_or(~load, &known->no_load);
		atomic64_or(~saved_bp, &known->no_saved_bp);
	}
	atomic_or((saves ? 0 : NOT_BP_SAVED) | (far ? 0 : NOT_BP_FAR), &known->not);
	atomic64_or(~saved, &known->no_saved);
}

/* Return true if @distance differs from the first one, which *@first keeps.  Neither may be 0 */
static bool differs(s32 *first, s32 distance)
{
	s32 was = READ_ONCE(*first) ?: cmpxchg(first, 0, distance);

	return was && was != distance;
}

/* Add the cases that frame @i of a walk, a call, rules out for the ORC entry of its ip: lemma 4 */
static void constrain_ip(const struct sbuf_walk *walk, unsigned int i,
			 struct sbuf_constraint *known, bool bp_in_frame)
{
	unsigned long cfa = walk->sp[i + 1], bp = walk->bp[i];
	int not = 0;

	/* Most unused words are zero, so a bp of zero would rule out little */
	if (walk->bp[i + 1] && !atomic64_read(&known->no_saved))
		constrain_slots(walk, i, known, bp_in_frame);
	else if (walk->bp[i + 1])
		constrain_again(walk, i, known, bp_in_frame);
	if (differs(&known->size, cfa - walk->sp[i]))
		not |= NOT_CFA_SP;
	if (!bp_in_frame)
		not |= NOT_CFA_BP | NOT_CFA_BP_IND | NOT_BP_AT_BP;
	else if (differs(&known->above, cfa - bp))
		not |= NOT_CFA_BP;
	if (bp != walk->bp[i + 1])
		not |= NOT_BP_KEPT;
	if (not & ~atomic_read(&known->not))
		atomic_or(not, &known->not);
}

/* Return true if @slot is in @mask, by slot_bit() from @from, or has no bit */
static bool may_be(u64 mask, unsigned long from, unsigned long slot)
{
	u64 bit = slot_bit(from, slot);

	return !bit || mask & bit;
}

/* Return true if constraints allow BP_SAVED in @slot of frame @i.  Rare, so not inlined */
static noinline bool may_be_saved(const struct sbuf_walk *walk, unsigned int i,
				  const struct sbuf_constraint *known, unsigned long slot)
{
	return may_be(~atomic64_read(&known->no_saved), walk->sp[i + 1], slot) ||
	       (!(atomic_read(&known->not) & NOT_BP_AT_BP) &&
		may_be(~atomic64_read(&known->no_saved_bp), walk->bp[i], slot));
}

/* Return true if a function of the kernel itself begins less than nine bytes before @ip */
static bool is_function_start(unsigned long ip, char *name)
{
	const char *offset;

	/* Looking up a module's symbol takes too long: see recall_code.c */
	if (ip >= MODULES_VADDR)
		return false;
	sprint_symbol(name, ip);
	offset = strchr(name, '+');
	return offset && offset[3] >= '0' && offset[3] <= '8' && offset[4] == '/';
}

/*
 * Rule out CFA_REG for frame @i, all of whose registers are known: lemma 5.
 *
 * The ORC entry of @ip does not refer to r10 or r13 if these are far from the stack, nor to a
 * register that compilers use less if it is not the cfa, in this walk or any other.  Nor does it
 * refer to any of them where a function begins: the lea and the and that make a register the cfa
 * take nine bytes.  A probe of ours knows whether it is at a function's beginning.  Otherwise only
 * the innermost frame's ip is looked up, and only in the kernel itself, as the lookup is slow.
 * Entry code, where interrupts are off, also uses di and dx.
 */
static bool regs_fit(struct sbuf_walk *walk, unsigned int i, unsigned long ip,
		     const struct pt_regs *regs)
{
	const struct pt_regs *at = regs ?: walk->start_regs;
	unsigned long di = sbuf_kstack_load((unsigned long)&at->di);
	unsigned long dx = sbuf_kstack_load((unsigned long)&at->dx);
	unsigned long sp = walk->sp[i], cfa = frame_cfa(walk, i);

	if (regs && !(sbuf_kstack_load((unsigned long)&regs->flags) & X86_EFLAGS_IF) &&
	    (is_near_stack(di, sp) || is_near_stack(dx, sp)))
		return false;
	if (!is_near_stack(sbuf_kstack_load((unsigned long)&at->r10), sp) &&
	    !is_near_stack(sbuf_kstack_load((unsigned long)&at->r13), sp) &&
	    !(SBUF_ORC_ANY_REG &&
	      (di == cfa || dx == cfa || sbuf_kstack_load((unsigned long)&at->ax) == cfa)))
		return true;
	return !i && walk->sp[i + 1] == sp + 8 &&
	       (walk->flags & SBUF_PROBED ? walk->flags & SBUF_ENTRY :
					is_function_start(ip, walk->name));
}

/*
 * Return true if the theorem's conditions hold for a walk: "What is kept out" in docs/recall.md.
 * Also find the frames whose caller is on another stack: CFA_SP_IND.
 */
static bool walk_fits(struct sbuf_walk *walk, const unsigned long *pc, unsigned int nr)
{
	unsigned long stack = stack_of(walk, walk->sp[0]), below;
	unsigned int frames = nr - 1 + walk->user_regs, i;

	for (i = 0; i < nr; i++) {
		const struct pt_regs *regs = (const struct pt_regs *)walk->regs[i];

		if (!sbuf_recall_is_stable(pc[i]))
			return false;
		walk->frame[i] = 0;
		if (i < frames && (!i || regs) && !regs_fit(walk, i, pc[i], regs))
			return false;
		if (!i)
			continue;
		/* A known stack must hold the reported return address, further outwards */
		below = likely(sbuf_kstack_has(stack, walk->sp[i] - 8)) ? stack :
			stack_of(walk, walk->sp[i] - 8);
		if (walk->sp[i] & 7 || !below ||
		    (below == stack && walk->sp[i] <= walk->sp[i - 1]) ||
		    sbuf_kstack_load(regs ? (unsigned long)&regs->ip : walk->sp[i] - 8) != pc[i])
			return false;
		if (!regs && below != stack) {
			if (!sbuf_kstack_has(walk->stack, walk->sp[i - 1]))
				return false;
			walk->frame[i - 1] = SWITCHES;
		}
		stack = likely(sbuf_kstack_has(below, walk->sp[i])) ? below :
			stack_of(walk, walk->sp[i]);
	}
	if (!walk->user_regs)
		return true;
	below = stack_of(walk, walk->sp[nr] - 8);
	if (!below || below != stack) {
		if (!sbuf_kstack_has(walk->stack, walk->sp[nr - 1]))
			return false;
		walk->frame[nr - 1] = SWITCHES;
	}
	return walk->sp[nr] >= walk->sp[nr - 1] &&
	       sbuf_kstack_has(sbuf_kstack_task(), walk->sp[nr] + sizeof(struct pt_regs) - 8);
}

/* A cache entry that is being built; arrays are by segment, the first one included */
struct builder {
	struct sbuf_entry *entry;
	const struct sbuf_walk *walk;
	unsigned int in;			/* segment of the last check */
	struct sbuf_pointer *pointer;		/* the last one, or NULL */
	struct sbuf_check *next;
	struct sbuf_check *end;			/* of the entry's memory */
	unsigned int segments, bp_checks;	/* how many; calls of add_bp() */
	unsigned long base[SBUF_SEGMENTS];	/* in this walk */
	unsigned long stack[SBUF_SEGMENTS];	/* stack_of() the base */
	unsigned long from[SBUF_SEGMENTS];	/* slots from here on belong to this segment */
	unsigned long low[SBUF_SEGMENTS];		/* lowest slot */
	unsigned long high[SBUF_SEGMENTS];	/* end of the highest slot */
	bool located[SBUF_SEGMENTS];		/* where the base is loaded from is known */
	bool has_ret[SBUF_SEGMENTS];		/* its @ret_offset is set */
};

/* Return the outermost segment on the stack of @address whose @from is not above @address */
static unsigned int find_segment(const struct builder *builder, const unsigned long *from,
				 unsigned long address)
{
	unsigned int n = builder->segments;

	while (--n > 0)
		if (address >= from[n] && sbuf_kstack_has(builder->stack[n], address))
			break;
	return n;
}

static inline u8 *checks_in(struct builder *builder, unsigned int n)
{
	return n ? &builder->entry->segment[n - 1].checks : &builder->entry->checks;
}

/* Extend the bounds of @slot's segment to @slot, and return the segment */
static __always_inline unsigned int use_slot(struct builder *builder, unsigned long slot)
{
	unsigned int n = find_segment(builder, builder->from, slot);

	builder->low[n] = min(builder->low[n], slot);
	builder->high[n] = max(builder->high[n], slot + sizeof(long));
	return n;
}

/* Add a check that the word at @slot is @value.  Segments must be checked outwards */
static __always_inline bool add_word(struct builder *builder, unsigned long slot, s64 value)
{
	unsigned int n = use_slot(builder, slot);
	struct sbuf_segment *segment = &builder->entry->segment[n - 1];

	slot -= builder->base[n];
	if (value != (s32)value || (s64)slot != (s32)slot)
		return false;
	/* It is a return address, as these are added first in each segment */
	if (n && !builder->has_ret[n]) {
		segment->ret_offset = slot;
		segment->ret_value = value;
		builder->has_ret[n] = true;
		return true;
	}
	if (n < builder->in || builder->next >= builder->end)
		return false;
	builder->in = n;
	builder->entry->more |= n > 0;
	++*checks_in(builder, n);
	*builder->next++ = (struct sbuf_check) { slot, value };
	return true;
}

/*
 * Add a check that the word at @slot is @value, an address of a stack, relative to the base of the
 * segment @value_base.  A @slot of 0 means the register bp
 */
static bool add_address(struct builder *builder, unsigned long slot, unsigned long value,
			unsigned int value_base)
{
	unsigned int slot_base = SBUF_BASE_BP;
	struct sbuf_pointer *pointer = builder->pointer;
	struct sbuf_entry *entry = builder->entry;

	if (slot) {
		slot_base = use_slot(builder, slot);
		slot -= builder->base[slot_base];
	}
	value -= builder->base[value_base];
	entry->more = true;
	if (builder->next + 2 > builder->end || entry->pointers == U8_MAX ||
	    (s64)slot != (s32)slot || (s64)value != (s32)value)
		return false;
	if (pointer && pointer->slot_base == slot_base && pointer->value_base == value_base) {
		*builder->next++ = (struct sbuf_check) { slot, value };
		pointer->more++;
		return true;
	}
	BUILD_BUG_ON(sizeof(*pointer) != 2 * sizeof(struct sbuf_check));
	builder->pointer = (struct sbuf_pointer *)builder->next;
	*builder->pointer = (struct sbuf_pointer) { slot, value, 0, slot_base, value_base };
	builder->next += 2;
	entry->pointers++;
	return true;
}

/* As add_address(), for a bp.  If @value is a base that is not located yet, locate it at @slot */
static bool add_bp(struct builder *builder, unsigned long slot, unsigned long value)
{
	unsigned int to = find_segment(builder, builder->base, value), from = SBUF_BASE_BP;

	builder->bp_checks++;
	if (slot && !builder->located[to])
		from = find_segment(builder, builder->from, slot);
	if (builder->located[to] || value != builder->base[to] || (slot && from >= to))
		return add_address(builder, slot, value, to);
	if (slot)
		slot -= builder->base[use_slot(builder, slot)];
	builder->entry->segment[to - 1].from = from;
	builder->entry->segment[to - 1].offset = slot;
	builder->located[to] = true;
	return true;
}

/*
 * Add checks of the slots that CFA_BP_IND may load in frame @i, from @slot to @cfa: lemma 3.
 * Return false if there is no room
 */
static bool add_cfa_checks(struct builder *builder, unsigned int i, unsigned long slot,
			   unsigned long cfa, const struct sbuf_constraint *known)
{
	unsigned long bp = builder->walk->bp[i];
	u64 no_load = known ? atomic64_read(&known->no_load) : 0;

	/* Not CFA_BP_IND: it needs room between these for a copy of the return address */
	if (cfa == bp + 16 || (known && atomic_read(&known->not) & NOT_CFA_BP_IND))
		return true;
	/* The prologue pushes the cfa close to the saved bp, and only slots near bp have a bit */
	for (; slot < cfa; slot += 8)
		if (sbuf_kstack_load(slot) == cfa && slot_bit(bp, slot) & ~no_load &&
		    !add_address(builder, slot, cfa, find_segment(builder, builder->base, cfa)))
			return false;
	return true;
}

/*
 * Add checks of the slots that BP_SAVED may load in frame @i and that constraints leave: the bits
 * of @mask from @from, except the slots whose bits from the cfa are in @but
 */
static bool add_bp_bits(struct builder *builder, unsigned int i, unsigned long from, u64 mask,
			u64 but)
{
	const struct sbuf_walk *walk = builder->walk;

	for (mask = keep_bits(walk, i, mask, from, walk->bp[i + 1]); mask; mask &= mask - 1) {
		unsigned long slot = from + 64 - __ffs64(mask) * 8;

		if (!(but & slot_bit(walk->sp[i + 1], slot)) &&
		    !add_bp(builder, slot, walk->bp[i + 1]))
			return false;
	}
	return true;
}

/*
 * Add checks of the slots that BP_SAVED may load in frame @i, from @slot to @cfa: lemma 2.  Return
 * false if there is no room
 */
static bool add_bp_checks(struct builder *builder, unsigned int i, unsigned long slot,
			  unsigned long cfa, const struct sbuf_constraint *known)
{
	const struct sbuf_walk *walk = builder->walk;
	unsigned long end = cfa + (walk->regs[i + 1] ? sizeof(struct pt_regs) : 0);
	unsigned long value = walk->bp[i + 1];
	int not = known ? atomic_read(&known->not) : 0;

	if (not & NOT_BP_SAVED)
		return true;
	if (not & NOT_BP_FAR) {
		u64 saved = ~atomic64_read(&known->no_saved);
		u64 saved_bp = ~atomic64_read(&known->no_saved_bp);

		return add_bp_bits(builder, i, cfa, saved, 0) &&
		       (not & NOT_BP_AT_BP ||
			add_bp_bits(builder, i, walk->bp[i], saved_bp, saved));
	}
	for (; slot < end; slot += 8)
		if (sbuf_kstack_load(slot) == value &&
		    (!known || may_be_saved(walk, i, known, slot)) &&
		    !add_bp(builder, slot, value))
			return false;
	return true;
}

/* Begin a segment in frame @i, for slots from @from on.  @slot holds @base; 0 if not yet known */
static bool add_segment(struct builder *builder, unsigned int i, unsigned long base,
			unsigned long from, unsigned long slot)
{
	const struct sbuf_walk *walk = builder->walk;
	unsigned int n = builder->segments;
	struct sbuf_segment *segment = &builder->entry->segment[n - 1];

	if (n == SBUF_SEGMENTS)
		return false;
	*segment = (struct sbuf_segment) {};
	if (slot) {
		segment->from = use_slot(builder, slot);
		segment->offset = slot - builder->base[segment->from];
	}
	builder->located[n] = slot;
	builder->base[n] = base;
	builder->stack[n] = stack_of(walk, base);
	builder->from[n] = from;
	builder->low[n] = base;
	builder->high[n] = base;
	/* The caller's sp must lie above frame @i's, on one stack: lemma 6 */
	segment->gap = builder->stack[n] && builder->stack[n] == builder->stack[n - 1] ?
		(walk->sp[i] - builder->base[n - 1]) - (walk->sp[i + 1] - base) : LONG_MIN;
	builder->segments++;
	return true;
}

/*
 * Begin segments where registers were saved, where stacks switched, and where a frame varies in
 * size.  @wanted is the number of all these frames; if there are not enough segments, the innermost
 * frames of varying size get none
 */
static bool add_segments(struct builder *builder, unsigned int frames, unsigned int wanted)
{
	const struct sbuf_walk *walk = builder->walk;
	unsigned int i;

	for (i = 0; i < frames; i++) {
		unsigned long regs = walk->regs[i + 1];

		if (regs) {
			if (!add_segment(builder, i, walk->sp[i + 1], walk->sp[i + 1],
					 regs + offsetof(struct pt_regs, sp)))
				return false;
		} else if (walk->frame[i] & SWITCHES) {
			unsigned long was = sbuf_kstack_load(walk->sp[i]);

			/* It must be CFA_SP_IND, and cannot be CFA_SP */
			if (walk->sp[i + 1] - was > 32768 ||
			    is_near_stack(walk->sp[i + 1], walk->sp[i]) ||
			    !add_segment(builder, i, was, was, walk->sp[i]))
				return false;
		} else if (walk->frame[i] & VARIABLE && wanted-- < SBUF_SEGMENTS) {
			if (!add_segment(builder, i, walk->bp[i], walk->sp[i], 0))
				return false;
		}
	}
	return true;
}

/*
 * Add checks of the return addresses of frames from @i on, as long as they lie in the segment of
 * @slot, which holds the one before.  Return the first frame outside.  Fast, as most frames are
 * handled here.
 */
static unsigned int add_returns_like(struct builder *builder, const unsigned long *pc,
				     unsigned int nr, unsigned int i, unsigned long slot)
{
	unsigned int n = find_segment(builder, builder->from, slot), m;
	const unsigned long base = builder->base[n], stack = builder->stack[n];
	const unsigned long *sp = builder->walk->sp, *regs = builder->walk->regs;
	struct sbuf_check *next = builder->next;
	unsigned long limit = stack + THREAD_SIZE;

	for (m = n + 1; m < builder->segments; m++)
		if (builder->stack[m] == stack)
			limit = min(limit, builder->from[m]);
	for (; i < nr && next < builder->end && !regs[i] && sp[i] - 8 > slot && sp[i] - 8 < limit;
	     i++) {
		slot = sp[i] - 8;
		*next++ = (struct sbuf_check) { .offset = slot - base, .value = pc[i] };
	}
	*checks_in(builder, n) += next - builder->next;
	builder->next = next;
	builder->high[n] = max(builder->high[n], slot + sizeof(long));
	return i;
}

/* Add checks of return addresses, and that saved registers are still those of kernel mode */
static bool add_returns(struct builder *builder, const unsigned long *pc, unsigned int nr)
{
	const struct sbuf_walk *walk = builder->walk;
	unsigned int i = 1;

	while (i < nr) {
		unsigned long regs = walk->regs[i], cs = regs + offsetof(struct pt_regs, cs);
		unsigned long slot = regs ? regs + offsetof(struct pt_regs, ip) : walk->sp[i] - 8;
		struct sbuf_check *last = builder->next;

		if (!add_word(builder, slot, pc[i]) ||
		    (regs && !add_word(builder, cs, sbuf_kstack_load(cs))))
			return false;
		/* A segment's first return address adds no check for others to follow */
		i = last == builder->next ? i + 1 : add_returns_like(builder, pc, nr, i + 1, slot);
	}
	return true;
}

/* Add checks of the values of bp that can matter, outermost first: lemmas 1 to 3 */
static bool add_frame_pointers(struct builder *builder, unsigned int frames)
{
	const struct sbuf_walk *walk = builder->walk;
	bool want = false;	/* bp[i + 1] can matter, so check where it was loaded from */
	unsigned int i;

	for (i = frames; i-- > 0;) {
		const struct sbuf_constraint *known = walk->known[i];
		int not = known ? atomic_read(&known->not) : 0;
		unsigned long low = frame_low(walk, i), cfa = frame_cfa(walk, i);
		bool want_here = want;

		if (want) {
			unsigned int before = builder->bp_checks;

			/* With BP_KEPT, bp[i] can matter as well */
			want = walk->bp[i] == walk->bp[i + 1] && !(not & NOT_BP_KEPT);
			if (!add_bp_checks(builder, i, low, cfa, known) ||
			    (builder->bp_checks == before && !want))
				return false;
		}
		if (!(walk->frame[i] & BP_IN_FRAME))
			continue;
		if (~not & (NOT_CFA_BP | NOT_CFA_BP_IND) &&
		    !add_cfa_checks(builder, i, low, cfa, known))
			return false;
		want |= ~not & (NOT_CFA_BP | NOT_CFA_BP_IND) || (want_here && ~not & NOT_BP_AT_BP);
	}
	return !want || add_bp(builder, 0, walk->bp[0]);
}

/* If the stack ended at user-mode registers, add a check that it still does: lemma 7 */
static bool add_end(struct builder *builder, unsigned int nr)
{
	unsigned long cs = builder->walk->sp[nr] + offsetof(struct pt_regs, cs);
	unsigned int last = builder->segments - 1;

	builder->entry->user_cs = 0;
	if (!builder->walk->user_regs)
		return true;
	if (use_slot(builder, cs) != last)
		return false;
	builder->entry->end = cs - builder->base[last];
	builder->entry->user_cs = sbuf_kstack_load(cs);
	return sbuf_kstack_load(cs) == builder->entry->user_cs &&
	       cs - builder->base[last] == builder->entry->end;
}

/* Set the bounds of the segments, once all slots are known */
static bool bound_segments(struct builder *builder)
{
	unsigned long task = sbuf_kstack_task();
	unsigned int i;

	for (i = 0; i < builder->segments; i++) {
		unsigned long stack = builder->stack[i];
		unsigned long size = builder->high[i] - builder->low[i];
		struct sbuf_segment *segment;

		/* A loaded base may point anywhere below: see sbuf_kstack_nmi() */
		if ((i && stack == sbuf_kstack_nmi()) || !builder->located[i] || !stack ||
		    builder->low[i] < stack || builder->high[i] > stack + THREAD_SIZE)
			return false;
		if (!i) {
			builder->entry->span = THREAD_SIZE - size;
			continue;
		}
		segment = &builder->entry->segment[i - 1];
		segment->low = builder->base[i] - builder->low[i];
		segment->span = THREAD_SIZE - size;
		segment->on_task = stack == task;
		builder->entry->segment[0].any_not_on_task |= stack != task;
		if (!builder->has_ret[i])
			return false;
	}
	return true;
}

/* Build an entry.  Return its size in bytes, or 0 if the stack is not cacheable */
static unsigned long build_entry(struct sbuf_entry *entry, unsigned long room,
				 struct sbuf_walk *walk, const unsigned long *pc, unsigned int nr)
{
	struct builder *builder = (struct builder *)walk->builder;
	unsigned int frames = nr - 1 + walk->user_regs, segments = 0, i;

	BUILD_BUG_ON(sizeof(*builder) > sizeof(walk->builder));
	*builder = (struct builder) {
		.entry = entry, .walk = walk, .end = (void *)entry + room, .segments = 1,
		.base = { walk->sp[0] }, .from = { walk->sp[0] }, .low = { walk->sp[0] },
		.high = { walk->sp[0] }, .located = { true },
	};
	builder->stack[0] = stack_of(walk, walk->sp[0]);
	if (!walk_fits(walk, pc, nr))
		return 0;
	for (i = 0; i < frames; i++) {
		/* add_segments() checks where a switch leads */
		bool changing = is_changing(walk, i);
		bool bp_in_frame = !(walk->frame[i] & SWITCHES) &&
				   is_bp_in_frame(walk, i, walk->sp[i]);

		if (bp_in_frame)
			walk->frame[i] |= BP_IN_FRAME;
		segments += changing;
		/*
		 * Only frames that were called and made a call have constraints, not the innermost
		 * one, one that switches stacks, or one with saved registers: for those the
		 * unwinder looks up another address's ORC entry.
		 */
		walk->known[i] = i && !changing && !walk->regs[i] ? find_constraint(pc[i]) : NULL;
		if (!walk->known[i])
			continue;
		constrain_ip(walk, i, walk->known[i], bp_in_frame);
		/* Such a frame can begin a segment */
		if (bp_in_frame && atomic_read(&walk->known[i]->not) & NOT_CFA_SP) {
			walk->frame[i] |= VARIABLE;
			segments++;
		}
	}

	entry->checks = 0;
	entry->pointers = 0;
	if (!add_segments(builder, frames, segments))
		return 0;
	for (i = 0; i < frames; i++)
		if (walk->frame[i] & SWITCHES &&
		    is_bp_in_frame(walk, i, sbuf_kstack_load(walk->sp[i])))
			walk->frame[i] |= BP_IN_FRAME;
	entry->segments = builder->segments - 1;
	builder->next = (struct sbuf_check *)&entry->segment[entry->segments];
	entry->checks_at = builder->next - (struct sbuf_check *)entry->segment;
	entry->more = entry->segments > 1;
	if (!add_returns(builder, pc, nr) || !add_frame_pointers(builder, frames) ||
	    !add_end(builder, nr) || !bound_segments(builder))
		return 0;
	entry->first = !entry->segments ? SBUF_NO_BASE :
		       entry->segment[0].from ? SBUF_FROM_BP : SBUF_FROM_SP;
	return (void *)builder->next - (void *)entry;
}

/*
 * A stack that was learnt this often in one epoch and generation is considered uncacheable.  A
 * failed attempt counts as four: regs_fit() may have refused the registers of interrupted code,
 * which may hold other values in the next walk.
 */
#define LEARN_TRIES	64

bool sbuf_recall_learn(u32 id, const struct sbuf_trace *trace, struct sbuf_walk *walk,
		       const unsigned long *pc)
{
	const struct sbuf_start start = {
		sbuf_start_ip(pc[0], walk->skip), walk->sp[0], walk->bp, walk->caller
	};
	/* STACKBUF_STACK_AGAIN never changes */
	const u64 flags = STACKBUF_STACK_FIRST |
			  (READ_ONCE(sbuf_table_stack(id)->flags) & STACKBUF_STACK_AGAIN);
	/* Frames of this walk */
	const unsigned int nr = trace->nr + walk->skip;
	const u64 head = id | (u64)trace->nr << 32 | flags << 40 | (u64)trace->words << 48;
	const u32 what = (id + walk->epoch * 0x9e3779b1U + READ_ONCE(sbuf_cache_generation)) << 8;
	struct sbuf_newest *newest = &sbuf_newest[sbuf_id_granule(id)];
	u32 tries = READ_ONCE(newest->tries), unit = READ_ONCE(newest->unit);
	struct sbuf_entry *entry = sbuf_entry_at(unit);
	unsigned long size;
	unsigned int units;

	if (nr > SBUF_FRAMES)
		return false;
	if ((tries & ~0xffU) != what)
		tries = what;
	if ((tries & 0xff) >= LEARN_TRIES)
		return false;
	walk->stack = sbuf_kstack_of(walk->sp[0]);
	/* Often the entry is still valid, and only missing from the index */
	if (unit && entry->head == head && entry->epoch == walk->epoch &&
	    !(walk->stack == sbuf_kstack_nmi() && sbuf_entry_follows(entry)) &&
	    sbuf_entry_matches(entry, &start, walk->stack, sbuf_kstack_task())) {
		sbuf_index_entry(unit, &start, walk->stack);
		return true;
	}

	/* Room for a check of each frame, one of its frame pointer, and some more */
	size = sizeof(*entry) + (SBUF_SEGMENTS - 1) * sizeof(struct sbuf_segment) +
	       nr * sizeof(struct sbuf_check) + (nr + 24) * sizeof(struct sbuf_pointer);
	units = DIV_ROUND_UP(size, SBUF_UNIT);
	/* In the smallest cache, as half 0 lacks unit 0: recycling would not help */
	if (units >= SBUF_HALF_UNITS)
		return false;
	unit = sbuf_cache_alloc(units);
	if (!unit)
		return true;
	entry = sbuf_entry_at(unit);
	/* If a frame is encoded in a long form, there is no 32-bit value to check */
	size = trace->words == trace->nr && !trace->cut ?
		build_entry(entry, size, walk, pc, nr) : 0;
	sbuf_cache_trim(unit, units, DIV_ROUND_UP(size, SBUF_UNIT));
	WRITE_ONCE(newest->tries, tries + (size ? 1 : 4));
	if (!size)
		return false;
	entry->head = head;
	entry->ip = start.ip;
	entry->stack = sbuf_table_stack(id);
	/* The highest value, until sbuf_recall_elsewhere() has called depth.c */
	entry->least = U16_MAX;
	/* Already void if a module was loaded or unloaded since the walk began */
	entry->epoch = walk->epoch;
	/* C1: the entry is complete before it can be found, here as in set_slot() */
	smp_store_release(&newest->unit, unit);
	sbuf_index_entry(unit, &start, walk->stack);
	return true;
}
