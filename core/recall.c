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
 *				load(sp) + constant		(4)
 *	the caller's ip:	load(cfa - 8)
 *	the caller's bp:	bp				(5)
 *				load(a place in this frame)	(6)
 *
 * where an interrupt or exception saved registers, cfa is their place, and ip, sp
 * and bp come from them.  Kept out are: r10, r13, di and dx for sp or bp (only
 * usable where registers were saved, see sb_regs_fit()), registers saved in part,
 * and code without an entry, where the unwinder guesses and sets its error flag.
 * So is code whose entry may change: a module's is forgotten when a module comes
 * or goes, live patches are modules, and ftrace's and kprobes' trampolines and BPF
 * programs are told by their symbols and not learnt.
 *
 * We see what the unwinder found, not by which kind of entry.  But what we
 * compare covers all kinds that could have led there.  Say the walk that was
 * learnt had (ip, sp, bp)[i] in frame i.  By induction, if all comparisons hold,
 * the walk now has, in each frame, the same ip, the same sp relative to where
 * it started, and the same bp relative to that if bp can matter:
 *
 * - bp[i] can matter in frame i only by (2), (3) and by (6), if that place is one
 *   relative to bp.  objtool makes such entries of "push %rbp; mov %rsp,%rbp" only
 *   (update_cfi_state() of tools/objtool/check.c): a frame pointer lies in its own
 *   frame, from sp[i] on, below cfa, and the word there is bp[i + 1].  If it was not
 *   so when the stack was learnt, the entry of ip[i] is another, now as then.
 * - Where bp[i] can matter, it was made by (6) in the frames inside, or comes by
 *   (5) from further inside, in the end from the register, or was saved by an
 *   interrupt.  The place that it was loaded from held bp[i]; so all words of that
 *   frame that held it are compared.  If (5) is possible, that is if bp did not
 *   change there, what is inside is compared as well, up to the register.
 * - The place that (3) loads from held sp[i + 1]: all words of frame i that did
 *   are compared, if bp[i] can matter.  (3) is what gcc makes of a function that
 *   aligns its stack (ix86_expand_prologue(); clang does so by (2), and no assembly
 *   in the kernel that calls): between cfa and bp it leaves the return address, a copy
 *   of it and the caller's bp, so where cfa is bp + 16 it is not (3).
 * - With sp[i + 1] the same, ip[i + 1] is loaded from the same place: compared.
 *
 * A word that held such a value by chance makes a comparison fail that need not,
 * which costs a walk, and nothing else.  There get fewer of them with time: the
 * entry of an ip is always the same, so what one walk rules out for it is ruled
 * out for all.  Not (1) if its frame had two sizes; not (2) if bp was no frame
 * pointer, or not always as far from cfa; not (3) and (6) of a place that held
 * something else; not (5) if bp changed.  That is kept in sb_facts.
 *
 * What the stack pointer is may differ while all else is equal: functions that use
 * alloca(), and do_syscall_64() with its random offset, have frames of different
 * sizes, as have those that align their stack; on the stack of interrupts (4) leads
 * back to where the task was, and saved registers say where that was interrupted.
 * There a layout is parted: what lies outside is found relative to another base,
 * which is bp, loaded as (6) or (5) say, or what (4) or the registers say.  It is
 * loaded and no longer compared; all else is as above.  Which of the frames of
 * varying size are taken for that does not matter to the argument: of the others sp
 * is compared.
 *
 * (4) and (1) are told apart by distance: constants have 16 bits, and a cfa on
 * another stack, further than 32 KiB away, can't be by (1).
 *
 * The unwinder ends with an error where sp does not grow from frame to frame on one
 * stack.  In a part it grew when learnt; from part to part that is compared.
 *
 * A walk ends at registers of user mode, whose cs is compared, or at an ip whose
 * entry says so, or it was not learnt.
 *
 * A return address that kretprobes or the function graph tracer replaced differs
 * from what the unwinder reports, and is not learnt; replaced later, it does not
 * compare equal, as only their trampolines' addresses are translated.
 *
 * Words are loaded from the running task's stack, above its stack pointer, or from
 * this CPU's stack of interrupts and what was interrupted: they are not written
 * meanwhile, and interrupts work below.
 */

#include "depth.h"
#include "internal.h"
#include "unwind.h"

/*
 * What was learnt under another number is forgotten.  0 means that nothing is
 * recalled any more: verification found a difference, or there is no recall here.
 */
u32 sb_recall_epoch __read_mostly = SB_HAVE_RECALL;

/* Parameter verify: one in so many recalls is checked by a walk; 0: none */
unsigned int sb_verify = 4096;

/* Count to the next one on this CPU; from 0 it takes for ever */
void sb_restart_verify(void *unused)
{
	local_set(&this_cpu_ptr(sb_cpu)->verify_in, READ_ONCE(sb_verify));
}

/* From now on, if there is something yet to count on, or still: see sb_free_cpus() */
void sb_apply_verify(void)
{
	int cpu;

	if (!sb_cpu)
		return;
	cpus_read_lock();
	on_each_cpu(sb_restart_verify, NULL, 1);
	/* And for those that come back */
	for_each_possible_cpu(cpu)
		if (!cpu_online(cpu))
			local_set(&per_cpu_ptr(sb_cpu, cpu)->verify_in, READ_ONCE(sb_verify));
	cpus_read_unlock();
}

static __always_inline unsigned long sb_system_call(void)
{
#ifdef CONFIG_X86_64
	return task_pt_regs(current)->orig_ax;
#else
	return task_pt_regs(current)->syscallno;
#endif
}

#if SB_HAVE_RECORDS
#include "records.c"
#elif SB_HAVE_ORC

#define SB_LAYOUT_TRIES	64	/* learnt so often, the stack counts as unfit */

#define SB_PARTS	6	/* of a layout */

/* What places and values are relative to: a part's base, or one of these */
enum {
	SB_BASE_BP = SB_PARTS,		/* where the register bp lies, at place 0 */
	SB_BASE_TEXT,			/* as frames in the table */
	SB_BASE_ZERO,
	SB_BASE_STACK,			/* where the stack begins that the walk starts on */
	SB_BASE_TASK,			/* where the task's stack begins */
	SB_BASES
};

/**
 * struct sb_part - a part of a layout but the first, whose base is sp
 * @beyond:	the base is further than this from the one before
 * @place:	where the base is loaded from, bytes from the base @from
 * @ret:	place of the first return address in this part, from its base
 * @ret_value:	that, as frames in the table
 * @low:	bytes from the lowest place to the base
 * @span:	what is left of the stack from there to the highest place's end
 * @from:	see @place
 * @stack:	base of the stack that it lies on
 */
struct sb_part {
	long beyond;
	s32 place;
	s32 ret;
	s32 ret_value;
	u16 low;
	u16 span;
	u8 from;
	u8 stack;
	u8 has_ret;	/* while it is made */
	u8 reserved[5];
};

/* A word of the stack, at the place of its run's base, holds a value of its other base */
struct sb_word {
	s32 place;
	s32 value;
};

/* So many words follow */
struct sb_run {
	u32 words;
	u8 place_base;
	u8 value_base;
	u16 reserved;
};

static_assert(sizeof(struct sb_run) == sizeof(struct sb_word));

/**
 * struct sb_layout - where a stack's return addresses lie
 * @stack:	the stack
 * @head:	its first word when nothing keeps it from being recalled
 * @ip:		where the walk starts
 * @epoch:	of the walk that it was learnt from
 * @span:	as in struct sb_part, for the first
 * @least:	bytes from the stack's beginning to where the walks that went deepest
 *		started; a deeper one has to be seen by depth.c
 * @frames:	number of words of the first part that hold frames
 * @parts:	number of parts but the first
 * @end:	where it ends at registers of user mode: place of their cs, from the
 *		last base
 * @user_cs:	what they hold; else 0
 * @runs:	number of runs of words
 * @part:	the parts but the first; then come @frames words, then the runs
 *
 * But for @least it is not written any more once others can find it.
 */
struct sb_layout {
	struct stackbuf_stack *stack;
	u64 head;
	unsigned long ip;
	u32 epoch;
	u16 span;
	u8 frames;
	u8 parts;
	s32 end;
	u8 runs;
	u8 user_cs;
	u16 least;
	struct sb_part part[];
};

/*
 * Layouts are put one behind the other into one half of this, until it is full;
 * then sb_turn_layouts() empties the other half for those that come.  What is
 * still needed gets learnt again.
 */
#define SB_UNIT			16UL
#define SB_LAYOUTS_KB		(STACKBUF_STACKS_KB < 16384 ? STACKBUF_STACKS_KB : 16384)
#define SB_HALF_UNITS		(SB_LAYOUTS_KB * 1024 / SB_UNIT / 2)
static struct { u64 word[SB_UNIT / 8]; } __aligned(16) sb_layouts[2 * SB_HALF_UNITS];

/* The half in use in the topmost bit, units taken; the first is nobody's */
#define SB_HALF		0x80000000U
static atomic_t sb_layouts_taken = ATOMIC_INIT(1);

/*
 * Layouts by where the save is called, how deep, and in which system call: sets of
 * four, each entry the layout's unit and some bits of what it was put there for.
 * A hint: what is in there is checked.
 */
#define SB_HINTS	16384
#define SB_WAYS		4
#define SB_UNIT_BITS	20
static u32 sb_hint[SB_HINTS];

static_assert(2 * SB_HALF_UNITS <= BIT(SB_UNIT_BITS));

/* By a stack's granule: its newest layout, and how often it was learnt */
static struct {
	u32 unit;
	u32 tries;	/* in the low byte; the others tell what for */
} sb_learnt[SB_GRANULES];

static inline u32 sb_layout_unit(const struct sb_layout *layout)
{
	return ((unsigned long)layout - (unsigned long)sb_layouts) / SB_UNIT;
}

/* What a hint is found by: the path's beginning, how deep, in which system call */
static __always_inline u32 sb_hint_hash(const struct sb_start *start, unsigned long depth,
					unsigned long call)
{
	unsigned long key = start->ip ^ start->hint << 20 ^ depth << 44 ^ call << 32;

	return key * GOLDEN_RATIO_64 >> 32;
}

/* Where two hints are kept for it: one for this depth, and one for any */
static void sb_hint_hashes(const struct sb_start *start, unsigned long stack, u32 *hash)
{
	/* Interrupts come in any system call */
	unsigned long call = stack == sb_task_stack() ? sb_system_call() : -1;

	hash[0] = sb_hint_hash(start, start->sp - stack, call);
	hash[1] = sb_hint_hash(start, 0, call);
}

static inline u32 *sb_hint_set(u32 hash)
{
	return &sb_hint[hash >> (32 - ilog2(SB_HINTS)) & ~(SB_WAYS - 1U)];
}

/* The unit of a hint that was put there for @hash; else 0 or more than there are */
static inline u32 sb_hint_unit(u32 hint, u32 hash)
{
	return hint ^ hash << SB_UNIT_BITS;
}

/* Whether the word at @base + @place is @value: one instruction, and no sanitizer's */
static __always_inline bool sb_holds(unsigned long base, long place, unsigned long value)
{
	bool equal;

	asm volatile("cmpq %[value], (%[base], %[place])"
		     : "=@cce" (equal)
		     : [value] "r" (value), [base] "r" (base), [place] "r" (place));
	return equal;
}

static __always_inline bool sb_word_fits(const struct sb_word *word, unsigned long place_base,
					 unsigned long value_base)
{
	return sb_holds(place_base, word->place, value_base + word->value);
}

static __always_inline bool sb_words_fit(const struct sb_word *word, unsigned int n,
					 unsigned long place_base, unsigned long value_base)
{
	for (; n >= 4; n -= 4, word += 4)
		if (!sb_word_fits(word, place_base, value_base) ||
		    !sb_word_fits(word + 1, place_base, value_base) ||
		    !sb_word_fits(word + 2, place_base, value_base) ||
		    !sb_word_fits(word + 3, place_base, value_base))
			return false;
	for (; n > 0; n--, word++)
		if (!sb_word_fits(word, place_base, value_base))
			return false;
	return true;
}

/* Compare the stack with a layout; see the top of the file */
static __always_inline bool sb_layout_fits(const struct sb_layout *layout,
					   const struct sb_start *start, unsigned long stack)
{
	const unsigned long text = (unsigned long)stack_trace_save;
	unsigned long base[SB_BASES] SB_UNINITIALIZED;
	const struct sb_part *part = layout->part;
	const struct sb_word *word;
	unsigned long last;
	unsigned int i;

	if (unlikely(layout->ip != start->ip || start->sp - stack > layout->span ||
		     start->sp - stack < READ_ONCE(layout->least)))
		return false;

	last = start->sp;
	base[0] = last;
	base[SB_BASE_BP] = (unsigned long)start->bp;
	base[SB_BASE_STACK] = stack;
	base[SB_BASE_TASK] = sb_task_stack();
	for (i = 0; i < layout->parts; i++, part++) {
		unsigned long is = sb_load(base[part->from] + part->place);

		if (unlikely(is - base[part->stack] - part->low > part->span ||
			     (long)(is - last) <= part->beyond ||
			     !sb_holds(is, part->ret, text + part->ret_value)))
			return false;
		base[i + 1] = is;
		last = is;
	}

	word = (const struct sb_word *)part;
	if (!sb_words_fit(word, layout->frames, start->sp, text))
		return false;
	if (layout->runs) {
		word += layout->frames;
		base[SB_BASE_TEXT] = text;
		base[SB_BASE_ZERO] = 0;
		for (i = layout->runs; i > 0; i--) {
			const struct sb_run *run = (const struct sb_run *)word++;

			if (!sb_words_fit(word, run->words, base[run->place_base],
					  base[run->value_base]))
				return false;
			word += run->words;
		}
	}
	return !layout->user_cs || sb_holds(last, layout->end, layout->user_cs);
}

/* The layout that a hint for @hash leads to, if it fits; else NULL */
static __always_inline const struct sb_layout *sb_try_hint(u32 hint, u32 hash,
							   const struct sb_start *start,
							   unsigned long stack)
{
	/* The dependency orders the loads: the layout was complete before the hint */
	u32 unit = sb_hint_unit(hint, hash);
	const struct sb_layout *layout;

	/* Of another hash: no place in the array */
	if (unlikely(unit - 1 >= BIT(SB_UNIT_BITS) - 1))
		return NULL;
	layout = (const struct sb_layout *)&sb_layouts[unit];
	/*
	 * With its text outstanding the stack must take the long way; and when evict.c
	 * has it, it must not be found any more.
	 */
	if (likely(READ_ONCE(*(u64 *)layout->stack) == layout->head &&
		   layout->epoch == READ_ONCE(sb_recall_epoch) &&
		   sb_layout_fits(layout, start, stack)))
		return layout;
	return NULL;
}

static const struct sb_layout *sb_try_hints(u32 hash, const struct sb_start *start,
					    unsigned long stack)
{
	const u32 *hint = sb_hint_set(hash);
	const struct sb_layout *layout = NULL;
	unsigned int i;

	for (i = 0; i < SB_WAYS && !layout; i++)
		layout = sb_try_hint(READ_ONCE(hint[i]), hash, start, stack);
	return layout;
}

NOKPROBE_SYMBOL(sb_try_hints);

/* The first unit of the half that is being emptied, or beyond all */
static u32 sb_emptying = 2 * SB_HALF_UNITS;

/* Hints are moved about all the time; one to that half must not come back */
static inline u32 sb_lasting_hint(u32 hint)
{
	return (u32)((hint & (BIT(SB_UNIT_BITS) - 1)) - READ_ONCE(sb_emptying)) < SB_HALF_UNITS ?
		0 : hint;
}

/* First in its set, where it is found at once */
static void sb_add_hint(u32 hash, u32 unit)
{
	u32 *hint = sb_hint_set(hash), value = sb_lasting_hint(unit ^ hash << SB_UNIT_BITS);
	unsigned int i;

	if (!value)
		return;
	/* The one that it takes the place of is itself, if it is there */
	for (i = 0; i < SB_WAYS - 1 && READ_ONCE(hint[i]) != value; i++)
		;
	for (; i > 0; i--)
		WRITE_ONCE(hint[i], sb_lasting_hint(READ_ONCE(hint[i - 1])));
	/* Complete before it can be found */
	smp_store_release(hint, value);
}

/*
 * The other hints; among them the same path at another depth, as with the random
 * offset of a system call
 */
static noinline struct stackbuf_stack *sb_recall_elsewhere(struct sb_start start)
{
	unsigned long stack = sb_stack_of(start.sp);
	const struct sb_layout *layout;
	u32 hash[2];

	if (!stack)
		return NULL;
	sb_hint_hashes(&start, stack, hash);
	layout = sb_try_hints(hash[0], &start, stack);
	if (!layout)
		layout = sb_try_hints(hash[1], &start, stack);
	/* Not each time: others of its set may come as often, on other CPUs as well */
	else if (local_read(&this_cpu_ptr(sb_cpu)->verify_in) % 16)
		return layout->stack;
	if (layout)
		sb_add_hint(hash[0], sb_layout_unit(layout));
	return layout ? layout->stack : NULL;
}

NOKPROBE_SYMBOL(sb_recall_elsewhere);

/**
 * sb_recall() - the stack that a walk would find
 * @start: where the walk would start
 *
 * Context: Any, interrupts off, and off until the event is appended.
 * Return: the stack, or NULL if only a walk can tell.
 */
static __always_inline struct stackbuf_stack *sb_recall(const struct sb_start *start)
{
	unsigned long stack = sb_task_stack();

	if (likely(sb_on_stack(stack, start->sp))) {
		u32 hash = sb_hint_hash(start, start->sp - stack, sb_system_call());
		const struct sb_layout *layout = sb_try_hint(READ_ONCE(*sb_hint_set(hash)), hash,
							     start, stack);

		if (likely(layout))
			return layout->stack;
	}
	return sb_recall_elsewhere(*start);
}

/*
 * Pages of the modules' area with text of modules, a bit each.  Symbols would tell as well,
 * but kallsyms searches those of a module one by one, which takes a millisecond where there
 * are 20,000, and frames are looked at with interrupts off.  Trampolines of ftrace and of
 * kprobes and BPF programs lie in the same area, in pages of their own
 * (__vmalloc_node_range(), execmem_alloc()): their bits are never set.
 *
 * sb_mark_module() clears bits before sb_module_notify() raises the epoch, and a walk reads the
 * epoch before its frames' bits are read, in that order on x86.  So a layout that was made
 * by a bit that was to be cleared carries an epoch that is over.
 */
static DECLARE_BITMAP(sb_module_text, MODULES_LEN >> PAGE_SHIFT);

/* Covers sb_module_text; nests inside of the lock of the modules' notifiers */
static DEFINE_MUTEX(sb_module_mutex);

/* Set or clear the bits of the pages that are text and nothing else */
static void sb_mark_text(unsigned long text, unsigned long size, bool is)
{
	unsigned long page = PAGE_ALIGN(text), end = (text + size) & PAGE_MASK;

	if (page < MODULES_VADDR || end > MODULES_END)
		return;
	for (; page < end; page += PAGE_SIZE)
		assign_bit((page - MODULES_VADDR) >> PAGE_SHIFT, sb_module_text, is);
}

/*
 * A module is loaded, is done with its init code, or is unloaded: @state, which is what its
 * notifiers are called with.
 */
void sb_mark_module(const struct module *module, unsigned long state)
{
	mutex_lock(&sb_module_mutex);
	sb_mark_text(SB_MODULE_TEXT(module), SB_MODULE_TEXT_SIZE(module),
		     state != MODULE_STATE_GOING);
	sb_mark_text(SB_MODULE_INIT_TEXT(module), SB_MODULE_INIT_TEXT_SIZE(module),
		     state == MODULE_STATE_COMING);
	mutex_unlock(&sb_module_mutex);
}

/*
 * The modules that were there before our notifier was.  Their list is read under RCU, as the
 * kernel itself does, from the one entry that is known: ours.  Its head is no module, and the
 * only entry outside of the modules' area.
 *
 * Only modules that are live: the notifier is called for one that is loaded meanwhile when it
 * becomes live, or if its loading fails, never, though it was seen.  A live one can only be
 * unloaded.  It has its state (MODULE_STATE_GOING) before the notifier is called; if that ran
 * before we had the mutex, we see that state, otherwise it clears what we set.
 */
void sb_mark_modules(void)
{
	const struct list_head *own = &THIS_MODULE->list, *at = own;

	mutex_lock(&sb_module_mutex);
	preempt_disable();
	do {
		const struct module *module = list_entry(at, struct module, list);

		if ((unsigned long)at >= MODULES_VADDR &&
		    READ_ONCE(module->state) == MODULE_STATE_LIVE)
			sb_mark_text(SB_MODULE_TEXT(module), SB_MODULE_TEXT_SIZE(module), true);
		at = READ_ONCE(at->next);
	} while (at != own);
	preempt_enable();
	mutex_unlock(&sb_module_mutex);
}

/* Code whose ORC entries stay: the kernel's own, and modules' while loaded */
static bool sb_entry_stays(unsigned long ip)
{
	if (ip >= __START_KERNEL_map && ip < MODULES_VADDR)
		return true;
	return ip >= MODULES_VADDR && ip < MODULES_END &&
	       test_bit((ip - MODULES_VADDR) >> PAGE_SHIFT, sb_module_text);
}

/* What is ruled out for the ORC entry of an ip */
#define SB_NOT_SP	0x1	/* (1) */
#define SB_NOT_BP	0x2	/* (2) */
#define SB_NOT_LOAD	0x4	/* (3) */
#define SB_NOT_KEPT	0x8	/* (5) */
#define SB_NOT_SAVED	0x10	/* (6) */
#define SB_NOT_BY_BP	0x20	/* (6) relative to bp */

#define SB_NO_DISTANCE	S32_MIN

/**
 * struct sb_fact - what walks told of the ORC entry of @ip
 * @ip:		a return address in the kernel itself, whose entries are for good
 * @ready:	the rest is there
 * @not:	SB_NOT_SP etc.; bits are only ever set
 * @size:	cfa - sp where it was first met
 * @above:	cfa - bp where bp was first in the frame, or SB_NO_DISTANCE
 * @load:	places that (3) may load from, by sb_place_bit() from bp
 * @saved:	places that (6) may load from, by sb_place_bit() from cfa
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

/* Whether @address and a constant of 16 bits could be a cfa where the stack is at @sp */
static inline bool sb_near_stack(unsigned long address, unsigned long sp)
{
	return address - (sp - 65536) < 2 * 65536;
}

/* On one of the stacks where the walk @walk has been, the same as @other */
static bool sb_same_stack(const struct sb_walk *walk, unsigned long address, unsigned long other)
{
	unsigned long task = sb_task_stack();

	if (sb_on_stack(task, other))
		return sb_on_stack(task, address);
	return sb_on_stack(walk->stack, other) && sb_on_stack(walk->stack, address);
}

/* Find out in which frames of a walk the stack is changed, by (4) */
static void sb_find_switches(struct sb_walk *walk, unsigned int frames)
{
	unsigned int i;

	walk->switches = 0;
	for (i = 0; i < frames; i++)
		if (!walk->regs[i + 1] && !sb_same_stack(walk, walk->sp[i + 1] - 8, walk->sp[i]))
			walk->switches |= BIT_ULL(i);
}

static inline bool sb_switches(const struct sb_walk *walk, unsigned int i)
{
	return walk->switches & BIT_ULL(i);
}

/* Where frame @i begins: behind the change of stacks if there is one */
static unsigned long sb_frame_low(const struct sb_walk *walk, unsigned int i)
{
	return sb_switches(walk, i) ? sb_load(walk->sp[i]) : walk->sp[i];
}

/* And where it ends: at the registers if there are some */
static unsigned long sb_frame_cfa(const struct sb_walk *walk, unsigned int i)
{
	return walk->regs[i + 1] ?: walk->sp[i + 1];
}

/* Whether bp may be frame @i's frame pointer */
static bool sb_bp_in_frame(const struct sb_walk *walk, unsigned int i)
{
	unsigned long bp = walk->bp[i];

	return bp >= sb_frame_low(walk, i) && bp < sb_frame_cfa(walk, i) && !(bp & 7) &&
	       sb_load(bp) == walk->bp[i + 1];
}

/* See what frame @i of a walk rules out for its ip */
static void sb_gather_facts(const struct sb_walk *walk, unsigned int i, unsigned long ip)
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
	if (!sb_bp_in_frame(walk, i)) {
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

	/* It is pushed in the prologue, near to where bp is saved */
	return bit && (!fact || (!(atomic_read(&fact->not) & SB_NOT_LOAD) &&
				 atomic64_read(&fact->load) & bit));
}

/* Whether (6) can load from @place */
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

/* Whether a function of the kernel begins less than nine bytes before @ip */
static bool sb_is_kernel_entry(unsigned long ip, char *name)
{
	const char *offset;

	/* Not a module's: see sb_module_text */
	if (ip >= MODULES_VADDR)
		return false;
	sprint_symbol(name, ip);
	offset = strchr(name, '+');
	return offset && offset[3] >= '0' && offset[3] <= '8' && offset[4] == '/';
}

/*
 * In frame @i, whose registers are all known, cfa may be r10 or r13 plus a constant,
 * in the middle of a prologue.  If neither is near the stack, the entry is another,
 * now and ever.  So it is where a function begins: the lea and the and that make it
 * r10 or r13 take nine bytes.  Where that is, a probe of ours says; elsewhere only the
 * innermost frame's ip is looked up, if it is the kernel's, as that takes long.  di and
 * dx serve in entry code, where interrupts are off and no probes allowed.
 */
static bool sb_regs_fit(struct sb_walk *walk, unsigned int i, unsigned long ip,
			const struct pt_regs *regs)
{
	unsigned long r10 = regs ? sb_load((unsigned long)&regs->r10) : walk->r10;
	unsigned long r13 = regs ? sb_load((unsigned long)&regs->r13) : walk->r13;
	unsigned long sp = walk->sp[i];

	if (regs && !(sb_load((unsigned long)&regs->flags) & X86_EFLAGS_IF) &&
	    (sb_near_stack(sb_load((unsigned long)&regs->di), sp) ||
	     sb_near_stack(sb_load((unsigned long)&regs->dx), sp)))
		return false;
	if (!sb_near_stack(r10, sp) && !sb_near_stack(r13, sp))
		return true;
	return !i && walk->sp[i + 1] == sp + 8 &&
	       (walk->how & SB_PROBED ? walk->how & SB_ENTRY : sb_is_kernel_entry(ip, walk->name));
}

/* A layout in the making; arrays are by part */
struct sb_draft_layout {
	struct sb_layout *layout;
	const struct sb_walk *walk;
	struct sb_run *run;			/* the last one */
	struct sb_word *next;
	struct sb_word *end;
	unsigned int parts;
	unsigned long base[SB_PARTS];
	unsigned long from[SB_PARTS];		/* places from here on are of this part */
	unsigned long low[SB_PARTS];
	unsigned long high[SB_PARTS];		/* end of the highest place */
	bool based[SB_PARTS];			/* it is known where the base comes from */
};

/* The outermost part on the stack of @address for which @from is not beyond it */
static unsigned int sb_part_of(const struct sb_draft_layout *draft, const unsigned long *from,
			       unsigned long address)
{
	unsigned int part = draft->parts;

	while (--part > 0)
		if (address >= from[part] && sb_same_stack(draft->walk, address, draft->base[part]))
			break;
	return part;
}

/* The part of the place @place, which belongs to it from now on */
static unsigned int sb_use_place(struct sb_draft_layout *draft, unsigned long place)
{
	unsigned int part = sb_part_of(draft, draft->from, place);

	draft->low[part] = min(draft->low[part], place);
	draft->high[part] = max(draft->high[part], place + sizeof(long));
	return part;
}

/* Compare the word at @place, or the register bp if that is 0; false if there is no room */
static bool sb_add_word(struct sb_draft_layout *draft, unsigned long place,
			unsigned int value_base, s64 value)
{
	struct sb_layout *layout = draft->layout;
	unsigned int place_base = SB_BASE_BP;

	if (place) {
		place_base = sb_use_place(draft, place);
		place -= draft->base[place_base];
	}
	if (value != (s32)value || (s64)place != (s32)place)
		return false;
	if (value_base == SB_BASE_TEXT && place_base) {
		struct sb_part *part = &layout->part[place_base - 1];

		if (!part->has_ret) {
			part->ret = place;
			part->ret_value = value;
			part->has_ret = true;
			return true;
		}
	}
	if (value_base == SB_BASE_TEXT && !place_base && !draft->run) {
		layout->frames++;
	} else {
		if (!draft->run || draft->run->place_base != place_base ||
		    draft->run->value_base != value_base) {
			if (draft->next >= draft->end || layout->runs == U8_MAX)
				return false;
			draft->run = (struct sb_run *)draft->next++;
			*draft->run = (struct sb_run) {
				.place_base = place_base,
				.value_base = value_base,
			};
			layout->runs++;
		}
		draft->run->words++;
	}
	if (draft->next >= draft->end)
		return false;
	*draft->next++ = (struct sb_word) { .place = place, .value = value };
	return true;
}

/* Likewise, for the value @value, which is an address in the stack */
static bool sb_add_address(struct sb_draft_layout *draft, unsigned long place, unsigned long value)
{
	unsigned int part = sb_part_of(draft, draft->base, value);

	return sb_add_word(draft, place, part, value - draft->base[part]);
}

/* Likewise, where the word is there as bp: what holds a base is where that is loaded from */
static bool sb_add_bp(struct sb_draft_layout *draft, unsigned long place, unsigned long value)
{
	unsigned int to = sb_part_of(draft, draft->base, value), from = SB_BASE_BP;

	if (draft->based[to] || value != draft->base[to])
		return sb_add_address(draft, place, value);
	if (place) {
		from = sb_part_of(draft, draft->from, place);
		if (from >= to)
			return sb_add_address(draft, place, value);
		sb_use_place(draft, place);
		place -= draft->base[from];
	}
	draft->layout->part[to - 1].from = from;
	draft->layout->part[to - 1].place = place;
	draft->based[to] = true;
	return true;
}

/* Compare what (3) may load in frame @i; false if there is no room for it */
static bool sb_check_cfa(struct sb_draft_layout *draft, unsigned int i, const struct sb_fact *fact)
{
	unsigned long cfa = sb_frame_cfa(draft->walk, i), place;

	/* Then it is not (3), see the top of the file */
	if (cfa == draft->walk->bp[i] + 16)
		return true;
	for (place = sb_frame_low(draft->walk, i); place < cfa; place += 8)
		if (sb_load(place) == cfa && sb_may_load(fact, draft->walk->bp[i], place) &&
		    !sb_add_address(draft, place, cfa))
			return false;
	return true;
}

/* Compare what (6) may load in frame @i, saved registers included; how many words, or -1 */
static int sb_check_bp(struct sb_draft_layout *draft, unsigned int i, const struct sb_fact *fact)
{
	const struct sb_walk *walk = draft->walk;
	unsigned long cfa = sb_frame_cfa(walk, i), place;
	unsigned long end = cfa + (walk->regs[i + 1] ? sizeof(struct pt_regs) : 0);
	int n = 0;

	for (place = sb_frame_low(walk, i); place < end; place += 8) {
		if (sb_load(place) != walk->bp[i + 1] ||
		    !sb_may_save(fact, cfa, walk->bp[i], place))
			continue;
		if (!sb_add_bp(draft, place, walk->bp[i + 1]))
			return -1;
		n++;
	}
	return n;
}

/* A part that begins in frame @i; false if there are too many */
static bool sb_add_part(struct sb_draft_layout *draft, unsigned int i, unsigned long base,
			unsigned long from, unsigned long place)
{
	const struct sb_walk *walk = draft->walk;
	unsigned int n = draft->parts;
	struct sb_part *part = &draft->layout->part[n - 1];

	if (n == SB_PARTS)
		return false;
	*part = (struct sb_part) {};
	if (place) {
		part->from = sb_use_place(draft, place);
		part->place = place - draft->base[part->from];
	}
	draft->based[n] = place;
	draft->base[n] = base;
	draft->from[n] = from;
	draft->low[n] = base;
	draft->high[n] = base;
	part->beyond = sb_same_stack(walk, base, draft->base[n - 1]) ?
		(walk->sp[i] - draft->base[n - 1]) - (walk->sp[i + 1] - base) : LONG_MIN;
	draft->parts++;
	return true;
}

/* Whether frame @i is one of varying size that can begin a part */
static bool sb_is_variable(const struct sb_walk *walk, unsigned int i, unsigned long ip)
{
	const struct sb_fact *fact = i && !walk->regs[i] ? sb_fact_of(ip, 0) : NULL;

	return fact && atomic_read(&fact->not) & SB_NOT_SP && !walk->regs[i + 1] &&
	       !sb_switches(walk, i) && sb_bp_in_frame(walk, i) && !(walk->bp[i] & 7);
}

/* Part a layout where (4), saved registers or a frame of varying size are */
static bool sb_make_parts(struct sb_draft_layout *draft, const unsigned long *pc,
			  unsigned int frames)
{
	const struct sb_walk *walk = draft->walk;
	unsigned int variable = 0, others = 0, i;

	for (i = 0; i < frames; i++) {
		if (walk->regs[i + 1] || sb_switches(walk, i))
			others++;
		else if (sb_is_variable(walk, i, pc[i]))
			variable++;
	}
	for (i = 0; i < frames; i++) {
		unsigned long regs = walk->regs[i + 1];

		if (regs) {
			if (!sb_add_part(draft, i, walk->sp[i + 1], walk->sp[i + 1],
					 regs + offsetof(struct pt_regs, sp)))
				return false;
		} else if (sb_switches(walk, i)) {
			unsigned long was = sb_load(walk->sp[i]);

			/* By (4), and not by (1) */
			if (walk->sp[i + 1] - was > 32768 ||
			    sb_near_stack(walk->sp[i + 1], walk->sp[i]) ||
			    !sb_add_part(draft, i, was, was, walk->sp[i]))
				return false;
		} else if (sb_is_variable(walk, i, pc[i])) {
			/* The outermost ones, as far as there are parts */
			if (variable-- + others < SB_PARTS &&
			    !sb_add_part(draft, i, walk->bp[i], walk->sp[i], 0))
				return false;
		}
	}
	return true;
}

/* The bounds of all parts, when all places are known */
static bool sb_bound_parts(struct sb_draft_layout *draft)
{
	unsigned long task = sb_task_stack();
	unsigned int i;

	for (i = 0; i < draft->parts; i++) {
		bool on_task = sb_on_stack(task, draft->base[i]);
		unsigned long stack = on_task ? task : draft->walk->stack;
		unsigned long low = draft->base[i] - draft->low[i];
		unsigned long size = draft->high[i] - draft->low[i];

		if (!draft->based[i] || draft->low[i] < stack ||
		    draft->high[i] > stack + THREAD_SIZE)
			return false;
		if (!i) {
			draft->layout->span = THREAD_SIZE - size;
			continue;
		}
		draft->layout->part[i - 1].low = low;
		draft->layout->part[i - 1].span = THREAD_SIZE - size;
		draft->layout->part[i - 1].stack = on_task ? SB_BASE_TASK : SB_BASE_STACK;
		if (!draft->layout->part[i - 1].has_ret)
			return false;
	}
	return true;
}

/* Whether each frame is one that this file's argument covers */
static bool sb_walk_fits(struct sb_walk *walk, const unsigned long *pc, unsigned int nr)
{
	unsigned int frames = nr - 1 + walk->user_regs, i;

	/* Going outwards, by addresses that nobody replaced */
	for (i = 0; i < nr; i++) {
		const struct pt_regs *regs = (const struct pt_regs *)walk->regs[i];

		if (!sb_entry_stays(pc[i]))
			return false;
		if (i < frames && (!i || regs) && !sb_regs_fit(walk, i, pc[i], regs))
			return false;
		if (i < frames && sb_switches(walk, i) && !sb_on_stack(walk->stack, walk->sp[i]))
			return false;
		if (!i)
			continue;
		if (walk->sp[i] & 7 || !(sb_on_stack(walk->stack, walk->sp[i] - 8) ||
					 sb_on_stack(sb_task_stack(), walk->sp[i] - 8)) ||
		    sb_load(regs ? (unsigned long)&regs->ip : walk->sp[i] - 8) != pc[i] ||
		    (sb_same_stack(walk, walk->sp[i] - 8, walk->sp[i - 1]) &&
		     walk->sp[i] <= walk->sp[i - 1]))
			return false;
	}
	return !walk->user_regs ||
	       (walk->sp[nr] >= walk->sp[nr - 1] &&
		sb_on_stack(sb_task_stack(), walk->sp[nr] + sizeof(struct pt_regs) - 8));
}

/* Make a layout; its size in bytes, or 0 if the stack is not fit */
static unsigned long sb_make_layout(struct sb_layout *layout, unsigned long room,
				    struct sb_walk *walk, const unsigned long *pc, unsigned int nr)
{
	struct sb_draft_layout *draft = (struct sb_draft_layout *)walk->draft;
	unsigned int frames = nr - 1 + walk->user_regs, i;
	bool want = false;

	BUILD_BUG_ON(sizeof(*draft) > sizeof(walk->draft));
	memset(draft, 0, sizeof(*draft));
	draft->layout = layout;
	draft->walk = walk;
	draft->end = (void *)layout + room;
	draft->parts = 1;
	draft->base[0] = walk->sp[0];
	draft->from[0] = walk->sp[0];
	draft->low[0] = walk->sp[0];
	draft->high[0] = walk->sp[0];
	draft->based[0] = true;

	sb_find_switches(walk, frames);
	if (!sb_walk_fits(walk, pc, nr))
		return 0;
	/*
	 * Where registers were saved, and in the innermost frame, the ip is looked up
	 * otherwise: no return address
	 */
	for (i = 1; i < frames; i++)
		if (!walk->regs[i] && !walk->regs[i + 1] && !sb_switches(walk, i))
			sb_gather_facts(walk, i, pc[i]);

	layout->frames = 0;
	layout->runs = 0;
	if (!sb_make_parts(draft, pc, frames))
		return 0;
	draft->next = (struct sb_word *)&layout->part[draft->parts - 1];

	for (i = 1; i < nr; i++) {
		unsigned long place = walk->regs[i] ?
			walk->regs[i] + offsetof(struct pt_regs, ip) : walk->sp[i] - 8;

		if (!sb_add_word(draft, place, SB_BASE_TEXT,
				 pc[i] - (unsigned long)stack_trace_save))
			return 0;
	}
	for (i = 1; i < nr; i++) {
		unsigned long cs = walk->regs[i] + offsetof(struct pt_regs, cs);

		if (walk->regs[i] && !sb_add_word(draft, cs, SB_BASE_ZERO, sb_load(cs)))
			return 0;
	}

	/* From the outermost frame that bp can matter in, inwards */
	for (i = frames; i-- > 0;) {
		bool call = i && !walk->regs[i] && !walk->regs[i + 1] && !sb_switches(walk, i);
		const struct sb_fact *fact = call ? sb_fact_of(pc[i], 0) : NULL;
		int not = fact ? atomic_read(&fact->not) : 0;
		bool want_here = want;

		/* Carried on from the frame outside of this one: (5) and (6) */
		if (want) {
			int n = sb_check_bp(draft, i, fact);

			want = walk->bp[i] == walk->bp[i + 1] && !(not & SB_NOT_KEPT);
			if (n < 0 || (!n && !want))
				return 0;
		}
		if (!sb_bp_in_frame(walk, i))
			continue;
		/* (2) and (3), and (6) by bp */
		if (~not & (SB_NOT_BP | SB_NOT_LOAD)) {
			if (!sb_check_cfa(draft, i, fact))
				return 0;
			want = true;
		} else if (want_here && ~not & SB_NOT_BY_BP) {
			want = true;
		}
	}
	if (want && !sb_add_bp(draft, 0, walk->bp[0]))
		return 0;

	layout->parts = draft->parts - 1;
	layout->user_cs = 0;
	if (walk->user_regs) {
		unsigned long cs = walk->sp[nr] + offsetof(struct pt_regs, cs);

		if (sb_use_place(draft, cs) != draft->parts - 1)
			return 0;
		layout->end = cs - draft->base[draft->parts - 1];
		layout->user_cs = sb_load(cs);
		if (sb_load(cs) != layout->user_cs)
			return 0;
	}
	return sb_bound_parts(draft) ? (void *)draft->next - (void *)layout : 0;
}

/* The half that is full, and 1; and how often they were turned */
static u32 sb_full_half;
static u32 sb_turns;

/* So many units for a layout, the first one's number, or 0 if there are none */
static u32 sb_take_units(unsigned int n)
{
	u32 taken = atomic_read(&sb_layouts_taken), was;

	for (;; taken = was) {
		if ((taken & ~SB_HALF) + n > SB_HALF_UNITS) {
			WRITE_ONCE(sb_full_half, (taken & SB_HALF) | 1);
			sb_request(SB_REQUEST_TURN);
			return 0;
		}
		was = atomic_cmpxchg(&sb_layouts_taken, taken, taken + n);
		if (was == taken)
			return (taken & ~SB_HALF) + (taken & SB_HALF ? SB_HALF_UNITS : 0);
	}
}

/* What of them was too much, unless somebody else came behind */
static void sb_return_units(u32 first, unsigned int n, unsigned int used)
{
	u32 end = first + n;

	if (first >= SB_HALF_UNITS)
		end = (end - SB_HALF_UNITS) | SB_HALF;
	atomic_cmpxchg(&sb_layouts_taken, end, end - n + used);
}

static void sb_forget_half(u32 *unit, u32 first)
{
	u32 has = READ_ONCE(*unit);

	if ((has & (BIT(SB_UNIT_BITS) - 1)) - first < SB_HALF_UNITS)
		cmpxchg(unit, has, 0);
}

/*
 * One half is full: go on in the other.  Who took units there did so before the
 * last turn and had interrupts off until it could be found; so has who finds it.
 */
static void sb_turn_layouts(struct work_struct *work)
{
	u32 half = atomic_read(&sb_layouts_taken) & SB_HALF, first, i;

	/* Somebody may have asked again meanwhile */
	if (READ_ONCE(sb_full_half) != (half | 1))
		return;
	half ^= SB_HALF;
	first = half ? SB_HALF_UNITS : 0;
	cpus_read_lock();
	/* From the wait on nobody writes a hint to it */
	WRITE_ONCE(sb_emptying, first);
	sb_wait_for_saves();
	for (i = 0; i < SB_HINTS; i++)
		sb_forget_half(&sb_hint[i], first);
	for (i = 0; i < SB_GRANULES; i++)
		sb_forget_half(&sb_learnt[i].unit, first);
	sb_wait_for_saves();
	cpus_read_unlock();
	WRITE_ONCE(sb_turns, sb_turns + 1);
	WRITE_ONCE(sb_emptying, 2 * SB_HALF_UNITS);
	/* The first unit of all is nobody's */
	atomic_set_release(&sb_layouts_taken, half ?: 1);
}

/**
 * sb_learn() - remember the layout of a stack that was just walked
 * @id: the stack's id.  If the stack was dropped since, what is learnt is never recalled, as
 *	sb_try_hint() compares the id
 * @trace: the stack
 * @walk: the walk
 * @pc: what it found
 *
 * Context: Any, interrupts off.
 * Return: false if it is not fit for that.
 */
bool sb_learn(u32 id, const struct sb_trace *trace, struct sb_walk *walk,
		     const unsigned long *pc)
{
	const struct sb_start start = { pc[0], walk->sp[0], walk->bp, walk->hint };
	/* Of the flags, one stays what it is, and one must be set */
	const u64 flags = STACKBUF_STACK_TEXT |
			  (READ_ONCE(sb_stack(id)->flags) & STACKBUF_STACK_AGAIN);
	const u64 head = id | (u64)trace->nr << 32 | flags << 40 | (u64)trace->words << 48;
	const u32 granule = sb_id_granule(id);
	u32 hash[2];
	const u32 what = (id + walk->epoch * 0x9e3779b1U + READ_ONCE(sb_turns)) << 8;
	u32 tries = READ_ONCE(sb_learnt[granule].tries);
	u32 unit = READ_ONCE(sb_learnt[granule].unit);
	struct sb_layout *layout = (struct sb_layout *)&sb_layouts[unit];
	unsigned long size;
	unsigned int units;

	if ((tries & ~0xffU) != what)
		tries = what;
	if ((tries & 0xff) >= SB_LAYOUT_TRIES)
		return false;
	walk->stack = sb_stack_of(walk->sp[0]);
	/* Often only the hint is missing, or it went deeper */
	if (unit && layout->head == head && layout->epoch == walk->epoch) {
		if (start.sp - walk->stack < READ_ONCE(layout->least))
			WRITE_ONCE(layout->least, start.sp - walk->stack);
		if (sb_layout_fits(layout, &start, walk->stack))
			goto hint;
	}

	/* Some words more than frames */
	size = sizeof(*layout) + (SB_PARTS - 1) * sizeof(struct sb_part) +
	       (trace->nr + 24) * sizeof(struct sb_word);
	units = DIV_ROUND_UP(size, SB_UNIT);
	unit = sb_take_units(units);
	if (!unit)
		return true;
	layout = (struct sb_layout *)&sb_layouts[unit];
	/* An encoded frame is a word that is compared */
	size = trace->words == trace->nr && !trace->cut ?
		sb_make_layout(layout, size, walk, pc, trace->nr) : 0;
	sb_return_units(unit, units, DIV_ROUND_UP(size, SB_UNIT));
	WRITE_ONCE(sb_learnt[granule].tries, size ? tries + 1 : what | SB_LAYOUT_TRIES);
	if (!size)
		return false;
	layout->head = head;
	layout->ip = pc[0];
	layout->stack = sb_stack(id);
	layout->least = start.sp - walk->stack;
	/* Void if code went away since the walk began */
	layout->epoch = walk->epoch;
	/* Complete before it can be found; likewise in sb_add_hint() */
	smp_store_release(&sb_learnt[granule].unit, unit);

hint:
	sb_hint_hashes(&start, walk->stack, hash);
	sb_add_hint(hash[0], unit);
	sb_add_hint(hash[1], unit);
	return true;
}

static void sb_init_layouts(void)
{
	INIT_WORK(&sb_work[SB_REQUEST_TURN], sb_turn_layouts);
}

#endif /* SB_HAVE_ORC */

#if SB_HAVE_RECALL

static void sb_report_difference(struct work_struct *work)
{
	pr_err("a recalled stack differed from the walked one: recall is off. Please report this\n");
}

/* Hold the stack @recalled against the one that the walk of the same event found */
enum stackbuf_loss sb_verify_recall(u32 recalled, const struct stackbuf_stack *walked)
{
	const struct stackbuf_stack *stack = sb_stack(recalled);

	if (recalled == walked->id)
		return STACKBUF_VERIFIED;
	/* Dropped meanwhile: nothing to be said */
	if (READ_ONCE(stack->id) != recalled)
		return STACKBUF_WALKED_AGAIN;
	/* Twins, see table.c; it may be another's by now, which the id tells then */
	if (data_race(stack->hash == walked->hash && stack->words == walked->words &&
		      !memcmp(stack->frames, walked->frames, walked->words * sizeof(u32))))
		return STACKBUF_VERIFIED;
	/* Or dropped just now, and what was compared was another's */
	smp_rmb();
	if (READ_ONCE(stack->id) != recalled)
		return STACKBUF_WALKED_AGAIN;
	if (xchg(&sb_recall_epoch, 0))
		sb_request(SB_REQUEST_REPORT);
	return STACKBUF_DIFFERED;
}

/* All that was learnt; who walks just now has the old number */
void sb_forget_layouts(void)
{
	u32 epoch = READ_ONCE(sb_recall_epoch), was;

	/* 0 stays; and 1 comes after the highest */
	for (; epoch; epoch = was) {
		was = cmpxchg(&sb_recall_epoch, epoch, epoch + 1 ?: 1);
		if (was == epoch)
			break;
	}
}

void __init sb_init_recall(void)
{
	INIT_WORK(&sb_work[SB_REQUEST_REPORT], sb_report_difference);
	sb_init_layouts();
}

#else /* SB_HAVE_RECALL */

static struct stackbuf_stack *sb_recall(const struct sb_start *start)
{
	return NULL;
}

bool sb_learn(u32 id, const struct sb_trace *trace, struct sb_walk *walk,
		     const unsigned long *pc)
{
	return false;
}

void sb_forget_layouts(void)
{
}

enum stackbuf_loss sb_verify_recall(u32 recalled, const struct stackbuf_stack *walked)
{
	return STACKBUF_DIFFERED;
}

void sb_mark_module(const struct module *module, unsigned long state)
{
}

void sb_mark_modules(void)
{
}

void __init sb_init_recall(void)
{
}

#endif /* SB_HAVE_RECALL */
