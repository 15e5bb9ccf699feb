// SPDX-License-Identifier: GPL-2.0
/*
 * capture.c - one save: walk the stack, find its id, append the event
 *
 * Nothing here takes a lock, allocates, sleeps or prints.  Saves may interrupt
 * each other on a CPU; each level has its own struct sb_level, so that nothing
 * large lies on the stack under study.
 */

/* What code runs in by the preemption count that it has */
static inline enum stackbuf_context sb_context_of(unsigned int count)
{
	/* All at once; PREEMPT_RT keeps its count of softirqs elsewhere */
	if (!IS_ENABLED(CONFIG_PREEMPT_RT) &&
	    likely(!(count & (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET))))
		return STACKBUF_TASK;
	if (count & NMI_MASK)
		return STACKBUF_NMI;
	if (count & HARDIRQ_MASK)
		return STACKBUF_HARDIRQ;
	if (in_serving_softirq())
		return STACKBUF_SOFTIRQ;
	return STACKBUF_TASK;
}

static inline enum stackbuf_context sb_context(void)
{
	return sb_context_of(preempt_count());
}

/*
 * What tells paths to one place apart: with ORC, what is the return address in a
 * function's first instruction, where probes mostly are.  With frame records it is
 * the caller if no record has it yet, as it is part of the trace then.
 */
static __always_inline unsigned long sb_start_hint(const struct pt_regs *regs, unsigned int how)
{
#if SB_HAVE_RECORDS
	return (how & SB_PROBED ? how & SB_ENTRY :
		sb_is_bare(instruction_pointer((struct pt_regs *)regs))) ?
		SB_STRIP(sb_return_address((struct pt_regs *)regs)) : 0;
#else
	unsigned long sp = kernel_stack_pointer((struct pt_regs *)regs);

	return sb_stack_of(sp) ? sb_load(sp) : 0;
#endif
}

/*
 * The stack that registers describe.  stack_trace_save_regs() is not exported,
 * the unwinder that it uses is; the loop is arch_stack_walk()'s of
 * arch/x86/kernel/stacktrace.c.
 */
static int sb_walk_regs(struct sb_level *level, struct pt_regs *regs, unsigned long hint,
			unsigned int how)
{
	int nr = 0;
#if SB_HAVE_UNWIND
	struct sb_walk *walk = &level->walk;
	struct unwind_state state;

	/* Nothing of the kernel's to be found */
	if (user_mode(regs))
		return 0;
	walk->epoch = READ_ONCE(sb_recall_epoch);
	walk->user_regs = false;
	walk->fit = true;
	walk->hint = hint;
	walk->how = how;
#if SB_HAVE_ORC
	walk->regs[0] = 0;
	walk->r10 = regs->r10;
	walk->r13 = regs->r13;
#endif
	walk->sp[0] = regs->sp;
	walk->bp[0] = regs->bp;
	level->pc[nr++] = instruction_pointer(regs);
	/* There is no record of it yet */
	if (SB_HAVE_RECORDS && hint)
		level->pc[nr++] = hint;
	unwind_start(&state, current, regs, NULL);
#if SB_HAVE_ORC
	if (state.stack_info.type == STACK_TYPE_IRQ)
		this_cpu_write(sb_cpu->irq_stack, (unsigned long)state.stack_info.begin);
#endif
	for (;
	     nr < ARRAY_SIZE(level->pc) && !unwind_done(&state); unwind_next_frame(&state)) {
		unsigned long address = unwind_get_return_address(&state);
#if SB_HAVE_ORC
		walk->sp[nr] = address ? state.sp : (unsigned long)state.regs;
		walk->bp[nr] = state.bp;
		walk->regs[nr] = 0;
		if (state.regs) {
			walk->user_regs = !address && user_mode(state.regs);
			walk->fit &= state.full_regs;
			if (address)
				walk->regs[nr] = (unsigned long)state.regs;
		}
#endif
		if (!address) {
			walk->fit &= SB_HAVE_RECORDS || walk->user_regs;
			break;
		}
		level->pc[nr++] = address;
	}
	if (unwind_error(&state))
		walk->fit = false;
#elif SB_HAVE_RECORDS
	if (!user_mode(regs)) {
		level->walk.epoch = READ_ONCE(sb_recall_epoch);
		level->walk.fit = true;
		nr = sb_walk_records(level, regs, hint);
	}
#endif
	return nr;
}

/*
 * Where the frame of an exported function's caller begins, @frame being the function's
 * __builtin_frame_address(0).  On arm64 a record is at its frame's lower end, so what is
 * above @frame is the function's own.
 */
static inline unsigned long sb_caller_sp(const unsigned long *frame)
{
	return IS_ENABLED(CONFIG_ARM64) ? frame[0] : (unsigned long)&frame[2];
}

/*
 * The stack of an exported function's caller, @frame as for sb_caller_sp(): what it
 * points to is the caller's frame pointer, the word above is the return address, and
 * above that the stack pointer was before the call where addresses are pushed.
 *
 * stack_trace_save() would walk from itself: through its own frames, those of
 * the unwinder and ours, before it comes to the first one that counts, which
 * costs as much as four frames.  So where the unwinder can be had, start it at
 * the caller, as from registers saved at the instruction after the call.  They
 * say the same as the unwinder would have found there; and the stack is the
 * same before the call's return and after, as the call does return.
 *
 * Elsewhere @own is the number of our frames that stack_trace_save() is to leave out: all
 * are real ones, see Kbuild, and none of those between is inlined.
 */
static __always_inline int sb_walk_caller(struct sb_level *level, const unsigned long *frame,
					  unsigned int own)
{
#if SB_HAVE_ORC
	struct pt_regs *regs = &level->regs;

	regs->bp = frame[0];
	regs->ip = frame[1];
	regs->sp = (unsigned long)&frame[2];
	/* What user_mode() looks at; the rest plays no part after a call, and is 0 */
	regs->cs = __KERNEL_CS;
	return sb_walk_regs(level, regs, 0, 0);
#else
	level->walk.epoch = READ_ONCE(sb_recall_epoch);
	level->walk.fit = true;
	level->walk.sp[0] = sb_caller_sp(frame);
	level->walk.bp[0] = frame[0];
	level->walk.hint = 0;
	return stack_trace_save(level->pc, ARRAY_SIZE(level->pc), own);
#endif
}

/*
 * Another task's stack, which must hold still: a task that ran meanwhile has
 * switched meanwhile.
 */
int sb_walk_task(unsigned long *pc, unsigned int size, struct task_struct *task)
{
	unsigned long switches;
	unsigned int nr;

	if (!SB_HAVE_SAVE_TASK)
		return -EOPNOTSUPP;
	switches = READ_ONCE(task->nvcsw) + READ_ONCE(task->nivcsw);
	/* Pairs with the scheduler's, which counts before it switches */
	smp_rmb();
	if (SB_TASK_RUNS(task))
		return -EBUSY;
	nr = stack_trace_save_tsk(task, pc, size, 0);
	/* The frames were read before the counts are read again */
	smp_rmb();
	if (SB_TASK_RUNS(task) ||
	    switches != READ_ONCE(task->nvcsw) + READ_ONCE(task->nivcsw))
		return -EBUSY;
	return nr ? nr : -ESRCH;
}

/* Where these walks start, for recall.  ip is 0 if nothing is to be recalled */
static inline struct sb_start sb_start_caller(const unsigned long *frame)
{
	return (struct sb_start){ SB_STRIP(frame[1]), sb_caller_sp(frame), frame };
}

static inline struct sb_start sb_start_regs(const struct pt_regs *regs, unsigned long hint)
{
	struct sb_start start = {};

	if (user_mode((struct pt_regs *)regs))
		return start;
#if SB_HAVE_UNWIND
	start = (struct sb_start){ regs->ip, regs->sp, &regs->bp, hint };
#elif SB_HAVE_RECORDS
	start = (struct sb_start){ regs->pc, regs->sp, (unsigned long *)&regs->regs[29], hint };
#endif
	return start;
}

static void sb_fill_event(struct sb_event *event, struct task_struct *task,
			  enum stackbuf_context context)
{
	event->context = context;
	event->task = sb_task_word(task);
	BUILD_BUG_ON(sizeof(event->comm) != sizeof(task->comm));
	/* Somebody may change the name just now: it stays one of so many bytes */
	data_race(memcpy(event->comm, task->comm, sizeof(event->comm)));
}

/*
 * After a walk, whose frames are in @level: the stack, the event, the text.
 * @recalled is what recall says this stack is, if it is to be verified, or 0.
 *
 * Interrupts are off for each step by itself, so that they have to wait for no more than
 * that; they come between as they did while the stack was walked.
 */
static u32 sb_store(struct sb_cpu *cpu, struct sb_level *level, struct sb_event *event,
		    struct task_struct *task, bool own_stack, u32 recalled)
{
	const struct sb_trace *trace = &level->trace;
	enum stackbuf_loss why = STACKBUF_WALKED_ELSEWHERE, verified;
	struct stackbuf_stack *stack;
	struct sb_draft *draft;
	unsigned long flags;
	bool is_new;

	sb_take_page_ahead(cpu);

	raw_local_irq_save(flags);
	stack = sb_find_or_insert(trace, &is_new);
	if (unlikely(!stack)) {
		/* What our page refers to is no obstacle to sb_retire_pages() then */
		sb_leave_page(cpu, false);
		why = STACKBUF_LOST_TABLE;
		goto lost;
	}
	event->id = stack->id;
	if (unlikely(!sb_append(cpu, event))) {
		why = STACKBUF_LOST_PAGE;
		goto lost;
	}

	if (recalled)
		verified = sb_verify_recall(recalled, stack);
	draft = sb_claim_text(stack);
	raw_local_irq_restore(flags);

	/* From here on the stack may be dropped: there is only what it was */
	if (own_stack) {
		bool fit;

		raw_local_irq_save(flags);
		fit = level->walk.fit && READ_ONCE(sb_recall_epoch) &&
			sb_learn(event->id, trace, &level->walk, level->pc);
		if (SB_HAVE_RECALL)
			sb_note_depth(&level->walk, level->pc, trace->nr, trace->cut, event->id);
		raw_local_irq_restore(flags);
		why = fit ? STACKBUF_WALKED_AGAIN : STACKBUF_WALKED_UNFIT;
	}
	if (is_new)
		why = STACKBUF_WALKED_NEW;
	if (recalled)
		why = verified;
	sb_lost(why);
	if (unlikely(is_new))
		sb_want_room();
	sb_pass_late_requests();
	if (unlikely(draft)) {
		sb_render(draft, event, task, level->pc, trace->nr, trace->cut, level->walk.name);
		sb_publish(draft);
	}
	return event->id;

lost:
	raw_local_irq_restore(flags);
	sb_lost(why);
	if (why == STACKBUF_LOST_PAGE)
		sb_want_page();
	else
		sb_want_room();
	return 0;
}

/*
 * Record the caller's stack without a walk, if it is known.  Interrupts are off
 * for all of it, so it needs no level of its own.  Returns the id or 0; in
 * *@recalled what is to be verified by a walk.
 */
static __always_inline u32 sb_save_recalled(const struct sb_start *start, unsigned long tag,
					    bool tagged, enum stackbuf_context context,
					    u32 *recalled)
{
	struct stackbuf_stack *stack;
	struct sb_cpu *cpu;
	unsigned long flags;
	u32 id = 0;
	u64 now;

	raw_local_irq_save(flags);
	/* First of all, as it is a call, when there is little yet to keep for later */
	now = sb_now();
	stack = sb_recall(start);
	if (unlikely(!stack))
		goto out;
	cpu = this_cpu_ptr(sb_cpu);
	if (unlikely(local_dec_and_test(&cpu->verify_in))) {
		sb_restart_verify(NULL);
		*recalled = stack->id;
		goto out;
	}
	id = stack->id;
	if (unlikely(!sb_append_chained(cpu, now, id, context, tag, tagged))) {
		struct sb_event event = { .id = id, .tag = tag, .tagged = tagged };

		sb_fill_event(&event, current, context);
		if (!sb_append(cpu, &event))
			id = 0;
	}
out:
	raw_local_irq_restore(flags);
	return id;
}

/**
 * sb_save_walked() - one save, by walking
 * @frame: frame of the exported function, for its caller's stack; or NULL and
 * @own: with @frame, our frames from the exported function's on to this one's
 * @task: whose stack; or NULL and
 * @regs: registers to start from, and
 * @hint: sb_start_hint() of them
 * @tag: the tag, if there is one
 * @how: SB_TAGGED etc.
 * @context: what the code ran in
 * @recalled: id of the stack that recall says it is, to be verified, or 0
 *
 * Context: Any.
 * Return: the stack's id; 0 when the event was lost, and counted as such; or
 *	what sb_walk_task() returned.
 */
static noinline s64 sb_save_walked(const unsigned long *frame, unsigned int own,
				   struct task_struct *task, struct pt_regs *regs,
				   unsigned long hint, unsigned long tag, unsigned int how,
				   enum stackbuf_context context, u32 recalled)
{
	struct sb_level *level;
	struct sb_event event;
	struct sb_cpu *cpu;
	s64 result = 0;
	bool own_stack;
	int nest, nr;

	preempt_disable_notrace();
	cpu = this_cpu_ptr(sb_cpu);
	nest = this_cpu_inc_return(sb_cpu->nest);
	if (unlikely(nest > SB_LEVELS)) {
		sb_lost(STACKBUF_LOST_NESTED);
		goto out;
	}
	level = &cpu->level[nest - 1];

	if (frame)
		nr = sb_walk_caller(level, frame, own);
	else if (task)
		nr = sb_walk_task(level->pc, ARRAY_SIZE(level->pc), task);
	else
		nr = sb_walk_regs(level, regs, hint, how);
	if (unlikely(nr <= 0)) {
		result = nr;
		if (!nr)
			sb_lost(STACKBUF_LOST_EMPTY);
		goto out;
	}
	if (unlikely(nr > STACKBUF_DEPTH_MAX))
		sb_encode(&level->trace, level->pc, STACKBUF_DEPTH_MAX, true);
	else
		sb_encode(&level->trace, level->pc, nr, false);

	own_stack = sb_stack_of(frame ? sb_caller_sp(frame) :
				regs ? kernel_stack_pointer(regs) : 0);
	if (!task)
		task = current;
	event.tag = tag;
	event.tagged = how & SB_TAGGED;
	sb_fill_event(&event, task, context);
	result = sb_store(cpu, level, &event, task, own_stack, recalled);
	if (unlikely(nr > STACKBUF_DEPTH_MAX && result))
		sb_lost(STACKBUF_CUT);
out:
	/*
	 * Whoever saves next on this CPU uses the same level.  That is ordered: it is the
	 * same CPU, and a task that goes to another one has the scheduler's barriers
	 * behind it.  KCSAN does not see these where it watches modules only, and would
	 * take what was written here for outstanding until this function returns.
	 */
	kcsan_release();
	this_cpu_dec(sb_cpu->nest);
	preempt_enable_notrace();
	return result;
}

NOKPROBE_SYMBOL(sb_save_walked);

/* Not inlined into what calls sb_save_walked() besides, for what that takes of the stack */
static noinline u32 sb_save_recalled_apart(const struct sb_start *start, unsigned long tag,
					   unsigned int how, enum stackbuf_context context,
					   u32 *recalled)
{
	return sb_save_recalled(start, tag, how & SB_TAGGED, context, recalled);
}

NOKPROBE_SYMBOL(sb_save_recalled_apart);

/* One save while filters are on, or recording is off; else as sb_save_walked() */
static noinline s64 sb_save_filtered(const unsigned long *frame, struct task_struct *task,
				     struct pt_regs *regs, unsigned long hint, unsigned long tag,
				     unsigned int how, enum stackbuf_context context)
{
	struct sb_start start = {};
	u32 recalled = 0;
	s64 result = 0;

	/* On the CPU that the filter looks at */
	preempt_disable_notrace();
	if (!sb_admit(task ?: current))
		goto out;
	if (frame)
		start = sb_start_caller(frame);
	else if (regs)
		start = sb_start_regs(regs, hint);
	if (SB_HAVE_RECALL && start.ip)
		result = sb_save_recalled_apart(&start, tag, how, context, &recalled);
	if (!result)
		result = sb_save_walked(frame, 3, task, regs, hint, tag, how, context, recalled);
	if (result <= 0)
		sb_readmit();
out:
	preempt_enable_notrace();
	return result;
}

NOKPROBE_SYMBOL(sb_save_filtered);

/* The stack of an exported function's caller; @frame as for sb_walk_caller() */
static __always_inline u32 sb_save_caller(const unsigned long *frame, unsigned long tag,
					  bool tagged)
{
	struct sb_start start = sb_start_caller(frame);
	enum stackbuf_context context = sb_context();
	u32 recalled = 0, id;

	if (unlikely(!sb_recording()))
		return sb_save_filtered(frame, NULL, NULL, 0, tag, tagged, context);
	if (SB_HAVE_RECALL) {
		id = sb_save_recalled(&start, tag, tagged, context, &recalled);
		if (likely(id))
			return id;
	}
	return sb_save_walked(frame, 2, NULL, NULL, 0, tag, tagged, context, recalled);
}

/* The stack that registers describe */
static __always_inline u32 sb_save_regs(struct pt_regs *regs, unsigned long tag,
					unsigned int how, enum stackbuf_context context)
{
	unsigned long hint = sb_start_hint(regs, how);
	struct sb_start start = sb_start_regs(regs, hint);
	u32 recalled = 0, id;

	if (unlikely(!sb_recording()))
		return sb_save_filtered(NULL, NULL, regs, hint, tag, how, context);
	if (likely(start.ip)) {
		id = sb_save_recalled(&start, tag, how & SB_TAGGED, context, &recalled);
		if (likely(id))
			return id;
	}
	return sb_save_walked(NULL, 0, NULL, regs, hint, tag, how, context, recalled);
}

noinline __no_stack_protector u32 stackbuf_save(void)
{
	return sb_save_caller(__builtin_frame_address(0), 0, false);
}
EXPORT_SYMBOL_GPL(stackbuf_save);
NOKPROBE_SYMBOL(stackbuf_save);

noinline __no_stack_protector u32 stackbuf_save_tag(unsigned long tag)
{
	return sb_save_caller(__builtin_frame_address(0), tag, true);
}
EXPORT_SYMBOL_GPL(stackbuf_save_tag);
NOKPROBE_SYMBOL(stackbuf_save_tag);

noinline __no_stack_protector u32 stackbuf_save_regs(struct pt_regs *regs, unsigned long tag)
{
	return sb_save_regs(regs, tag, SB_TAGGED, sb_context());
}
EXPORT_SYMBOL_GPL(stackbuf_save_regs);
NOKPROBE_SYMBOL(stackbuf_save_regs);

noinline int stackbuf_save_task(struct task_struct *task, unsigned long tag, u32 *id)
{
	s64 result;

	if (task == current)
		result = sb_save_caller(__builtin_frame_address(0), tag, true);
	else if (sb_recording())
		result = sb_save_walked(NULL, 0, task, NULL, 0, tag, SB_TAGGED, sb_context(), 0);
	else
		result = sb_save_filtered(NULL, task, NULL, 0, tag, SB_TAGGED, sb_context());
	if (id)
		*id = max(result, 0LL);
	return min(result, 0LL);
}
EXPORT_SYMBOL_GPL(stackbuf_save_task);
