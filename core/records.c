// SPDX-License-Identifier: GPL-2.0
/*
 * records.c - recall where the unwinder follows frame records: arm64, and x86-64
 * with frame pointers
 *
 * Included by recall.c, in the place of what is there for ORC.
 *
 * These unwinders (arch/arm64/kernel/stacktrace.c, arch/x86/kernel/unwind_frame.c) go
 * from record to record: fp points to two words, the next fp and a return address,
 * which is taken as it is but for its signature (pointer authentication) and for
 * the trampolines of kretprobes and the function graph tracer, whose place they look
 * up.  They end where a record does not lie above the one before on one of the task's
 * stacks; on arm64 at the record in the task's saved registers; on x86 at the record
 * right below these, or where fp leads to them with its lowest bit set.  So what is
 * found follows from fp and from the words in the records alone: who follows the same
 * records, finds at each the return address of a stack that the walk found before, and
 * comes to the task's saved registers right behind the last one, has the trace that
 * the walk would find.  Not learnt, and walked for ever, is what has a trampoline in
 * it, as it then differs from what the walk reports; what crosses stacks or the
 * registers of an interrupt; and what ends elsewhere.
 *
 * Nothing but ids has to be remembered.  As code that goes away takes no frame
 * sizes with it that were relied upon, but its addresses may be another's, hints are
 * forgotten when a module comes or goes all the same: @hint, the caller where a
 * function begins, is relied upon for an address.
 */

/* Ids of stacks in the low half, the epoch in the high one: sets of four */
#define SB_HINTS	8192
#define SB_WAYS		4
static u64 sb_hint[SB_HINTS];

static inline u64 *sb_hint_set(const struct sb_start *start, unsigned long depth)
{
	u64 key = start->ip ^ start->hint << 20 ^ depth << 44 ^ sb_system_call() << 32;

	return &sb_hint[key * GOLDEN_RATIO_64 >> (64 - ilog2(SB_HINTS)) & ~(SB_WAYS - 1UL)];
}

/*
 * The return address in the record at *@fp, which lies from @low on below @end, and
 * on to the next one; 0 if there is none.
 */
static __always_inline unsigned long sb_next_record(unsigned long *fp, unsigned long *low,
						    unsigned long end)
{
	unsigned long at = *fp;

	if (unlikely(at & 7 || at < *low || at > end - 16))
		return 0;
	*low = at + 16;
	*fp = sb_load(at);
	return SB_STRIP(sb_load(at + 8));
}

#ifdef CONFIG_X86_64
/* Above all records */
static inline unsigned long sb_records_end(void)
{
	return (unsigned long)task_pt_regs(current);
}

/*
 * Whether the unwinder ends behind a record that ends at @low and has @fp.  It does so
 * as well at a copy of the last record, which ftrace makes below that: sb_learn() sees
 * to that.
 */
static inline bool sb_is_last_record(unsigned long low, unsigned long fp)
{
	struct pt_regs *regs = task_pt_regs(current);

	return low == (unsigned long)regs ||
	       (fp == ((unsigned long)regs | 1) && (user_mode(regs) || !regs->ip));
}
#else
static inline unsigned long sb_records_end(void)
{
	return sb_task_stack() + THREAD_SIZE;
}

static inline bool sb_is_last_record(unsigned long low, unsigned long fp)
{
	return fp == (unsigned long)&task_pt_regs(current)->stackframe;
}
#endif

static __always_inline bool sb_records_fit(const struct stackbuf_stack *stack,
					   const struct sb_start *start)
{
	const unsigned long end = sb_records_end();
	const unsigned long text = (unsigned long)stack_trace_save;
	const s32 *frames = (const s32 *)stack->frames;
	unsigned long fp = *start->bp, low = start->sp;
	unsigned int nr = stack->nr, i = 1;

	if (stack->words != nr || text + frames[0] != start->ip)
		return false;
	if (start->hint && (nr < 2 || text + frames[i++] != start->hint))
		return false;
	for (; i < nr; i++)
		if (sb_next_record(&fp, &low, end) != text + frames[i])
			return false;
	return sb_is_last_record(low, fp);
}

static struct stackbuf_stack *sb_try_hints(const u64 *hint, const struct sb_start *start,
					   u64 epoch)
{
	int i;

	for (i = 0; i < SB_WAYS; i++) {
		u64 has = READ_ONCE(hint[i]);
		struct stackbuf_stack *stack = sb_stack((u32)has);

		/* As for ORC */
		if (has && has >> 32 == epoch && READ_ONCE(stack->id) == (u32)has &&
		    (READ_ONCE(stack->flags) & (STACKBUF_STACK_TEXT | STACKBUF_STACK_LEAVING |
						STACKBUF_STACK_STALE |
						STACKBUF_STACK_CUT)) == STACKBUF_STACK_TEXT &&
		    sb_records_fit(stack, start))
			return stack;
	}
	return NULL;
}

NOKPROBE_SYMBOL(sb_try_hints);

static void sb_add_hint(u64 *hint, u64 value)
{
	int i;

	for (i = 0; i < SB_WAYS; i++)
		if (READ_ONCE(hint[i]) == value)
			return;
	for (i = SB_WAYS - 1; i > 0; i--)
		WRITE_ONCE(hint[i], READ_ONCE(hint[i - 1]));
	WRITE_ONCE(hint[0], value);
}

static noinline struct stackbuf_stack *sb_recall(const struct sb_start *start)
{
	unsigned long task = sb_stack_of(start->sp);
	u64 epoch = READ_ONCE(sb_recall_epoch), *hint;
	struct stackbuf_stack *stack;

	if (!task || !epoch)
		return NULL;
	hint = sb_hint_set(start, start->sp - task);
	stack = sb_try_hints(hint, start, epoch);
	if (!stack) {
		/* The same path at another depth, as for ORC */
		stack = sb_try_hints(sb_hint_set(start, 0), start, epoch);
		if (stack)
			sb_add_hint(hint, stack->id | epoch << 32);
	}
	return stack && !sb_goes_deeper(start->ip, start->sp) ? stack : NULL;
}

NOKPROBE_SYMBOL(sb_recall);

/* As for ORC */
bool sb_learn(u32 id, const struct sb_trace *trace, struct sb_walk *walk,
		     const unsigned long *pc)
{
	const struct sb_start start = { pc[0], walk->sp[0], walk->bp, walk->hint };
	const u64 value = id | (u64)walk->epoch << 32;

	if (trace->cut || !sb_records_fit(sb_stack(id), &start))
		return false;
	/* Perhaps the unwinder sees only one of the last two, see is_last_ftrace_frame() */
	if (SB_HAVE_UNWIND && trace->nr > 1 && pc[trace->nr - 1] == pc[trace->nr - 2])
		return false;
	sb_add_hint(sb_hint_set(&start, start.sp - sb_task_stack()), value);
	sb_add_hint(sb_hint_set(&start, 0), value);
	return true;
}

/*
 * Where the frames of a walk lie, for depth.c, which looks whether it makes sense: on
 * x86-64 behind the record with the frame's address, as with ORC; on arm64, where a record
 * lies at its frame's lower end, there.  0 from the first one on that the records do not
 * lead to.
 */
void sb_place_frames(struct sb_walk *walk, const unsigned long *pc, unsigned int nr)
{
	unsigned long fp = walk->bp[0], low = walk->sp[0];
	const unsigned long end = sb_records_end();
	unsigned int i = 1;

	/* The caller that no record has yet */
	if (walk->hint)
		walk->sp[i++] = IS_ENABLED(CONFIG_ARM64) ? fp : low + sizeof(long);
	for (; i < nr && sb_next_record(&fp, &low, end) == pc[i]; i++)
		walk->sp[i] = IS_ENABLED(CONFIG_ARM64) ? fp : low;
	for (; i < nr; i++)
		walk->sp[i] = 0;
}

#if !SB_HAVE_UNWIND
/*
 * The stack that registers describe, as the unwinder would start from them.  In the
 * first instruction of a function, @caller is what the link register holds: there is
 * no record yet that has it.  A trampoline's address stays one.
 */
int sb_walk_records(struct sb_level *level, const struct pt_regs *regs, unsigned long caller)
{
	unsigned long fp = regs->regs[29], stack, low, pc, at;
	const struct pt_regs *interrupted;
	int nr = 0;

	level->walk.sp[0] = regs->sp;
	level->walk.bp[0] = fp;
	level->walk.hint = caller;
	level->pc[nr++] = regs->pc;
	if (caller)
		level->pc[nr++] = caller;
	/* A CPU's stack for interrupts is aligned like a task's if it was mapped */
	stack = sb_stack_of(regs->sp);
	if (!stack && IS_ENABLED(CONFIG_VMAP_STACK))
		stack = regs->sp & ~(THREAD_SIZE - 1UL);
	low = stack;
	while (stack && nr < ARRAY_SIZE(level->pc) && !sb_is_last_record(low, fp)) {
		if (stack != sb_task_stack() && sb_on_stack(sb_task_stack(), fp)) {
			stack = sb_task_stack();
			low = stack;
		}
		at = fp;
		pc = sb_next_record(&fp, &low, stack + THREAD_SIZE);
		/* A record of zeros may be that of an exception */
		interrupted = pc || fp ? NULL : sb_interrupted_regs(at, stack);
		if (interrupted) {
			pc = interrupted->pc;
			fp = interrupted->regs[29];
			low = (unsigned long)(interrupted + 1);
		}
		if (!pc)
			break;
		level->pc[nr++] = pc;
	}
	return nr;
}
#endif

void sb_mark_module(const struct module *module, unsigned long state)
{
}

void sb_mark_modules(void)
{
}

static void sb_init_layouts(void)
{
}
