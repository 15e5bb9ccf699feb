// SPDX-License-Identifier: GPL-2.0
/*
 * capture.c - one save: walk the stack, find its id, append the event
 *
 * Nothing here takes a lock, allocates, sleeps or prints.  Saves may interrupt
 * each other on a CPU; each level has its own struct sb_level, so that nothing
 * large lies on the stack under study.
 */

static enum stackbuf_context sb_context(void)
{
	if (in_nmi())
		return STACKBUF_NMI;
	if (in_hardirq())
		return STACKBUF_HARDIRQ;
	if (in_serving_softirq())
		return STACKBUF_SOFTIRQ;
	return STACKBUF_TASK;
}

#if SB_HAVE_UNWIND
/*
 * The stack that registers describe.  stack_trace_save_regs() is not exported,
 * the unwinder that it uses is; the loop is arch_stack_walk()'s of
 * arch/x86/kernel/stacktrace.c.
 */
static int sb_walk_regs(unsigned long *pc, unsigned int size, struct pt_regs *regs)
{
	struct unwind_state state;
	unsigned int nr = 0;

	/* Nothing of the kernel's to be found */
	if (user_mode(regs))
		return 0;
	pc[nr++] = instruction_pointer(regs);
	for (unwind_start(&state, current, regs, NULL); nr < size && !unwind_done(&state);
	     unwind_next_frame(&state)) {
		unsigned long address = unwind_get_return_address(&state);

		if (!address)
			break;
		pc[nr++] = address;
	}
	return nr;
}
#else
static int sb_walk_regs(unsigned long *pc, unsigned int size, struct pt_regs *regs)
{
	return 0;
}
#endif

/*
 * The stack of an exported function's caller, @frame being the function's
 * __builtin_frame_address(0): what it points to is the caller's frame pointer,
 * the word above is the return address, and above that the stack pointer was
 * before the call.
 *
 * stack_trace_save() would walk from itself: through its own frames, those of
 * the unwinder and ours, before it comes to the first one that counts, which
 * costs as much as four frames.  So where the unwinder can be had, start it at
 * the caller, as from registers saved at the instruction after the call.  They
 * say the same as the unwinder would have found there; and the stack is the
 * same before the call's return and after, as the call does return.
 */
static int sb_walk_caller(struct sb_level *level, const unsigned long *frame)
{
#if SB_HAVE_UNWIND_FROM_CALLER
	struct pt_regs *regs = &level->regs;

	regs->bp = frame[0];
	regs->ip = frame[1];
	regs->sp = (unsigned long)&frame[2];
	/* What user_mode() looks at; the rest plays no part after a call */
	regs->cs = __KERNEL_CS;
	return sb_walk_regs(level->pc, ARRAY_SIZE(level->pc), regs);
#else
	/* Without us and the exported function, both real frames, see Kbuild */
	return stack_trace_save(level->pc, ARRAY_SIZE(level->pc), 2);
#endif
}

/*
 * Another task's stack, which must hold still: a task that ran meanwhile has
 * switched meanwhile.
 */
static int sb_walk_task(unsigned long *pc, unsigned int size, struct task_struct *task)
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

static void sb_fill_event(struct sb_event *event, struct task_struct *task)
{
	event->context = sb_context();
	event->task = (u64)task->pid | (u64)task->tgid << STACKBUF_TASK_TGID_SHIFT;
	BUILD_BUG_ON(sizeof(event->comm) != sizeof(task->comm));
	memcpy(event->comm, task->comm, sizeof(event->comm));
	/* Whoever changes the name does not stop us: the last byte is a NUL */
	event->comm[1] &= ~0ULL >> 8;
}

/*
 * From the frames in @level to an event: the part that runs with interrupts
 * off.  raw_: lockdep and the tracers of interrupts-off times are callers of
 * stackbuf, too, and must not be called.
 */
static u32 sb_store(struct sb_cpu *cpu, struct sb_level *level, struct sb_event *event,
		    struct task_struct *task)
{
	const struct sb_trace *trace = &level->trace;
	struct stackbuf_stack *stack;
	struct sb_draft *draft = NULL;
	enum stackbuf_loss why;
	unsigned long flags;
	bool is_new;
	u8 had;

	raw_local_irq_save(flags);
	stack = sb_find_or_insert(trace, &is_new);
	if (unlikely(!stack)) {
		why = STACKBUF_LOST_TABLE;
		goto lost;
	}
	event->id = stack->id;
	if (unlikely(!sb_append(cpu, event))) {
		why = STACKBUF_LOST_PAGE;
		goto lost;
	}

	had = READ_ONCE(stack->flags);
	if (unlikely(!(had & STACKBUF_STACK_TEXT))) {
		/* First sight, or no draft was free then */
		draft = sb_claim_draft();
		if (draft && cmpxchg(&stack->flags, had, had | STACKBUF_STACK_TEXT) != had) {
			/* Another CPU does it */
			atomic_set(&draft->state, SB_DRAFT_FREE);
			draft = NULL;
		} else if (draft && !is_new) {
			sb_add(&stackbuf_info.text_missing, -1);
		} else if (!draft && is_new) {
			sb_add(&stackbuf_info.text_missing, 1);
		}
	}
	raw_local_irq_restore(flags);

	if (unlikely(is_new))
		sb_want_room();
	if (unlikely(draft)) {
		sb_render(draft, event, task, level->pc, trace->nr, trace->cut);
		sb_publish(draft);
	}
	return event->id;

lost:
	raw_local_irq_restore(flags);
	sb_lost(why);
	sb_want_room();
	return 0;
}

/**
 * sb_save() - one save
 * @frame: frame of the exported function, for its caller's stack; or NULL and
 * @task: whose stack; or NULL and
 * @regs: registers to start from
 * @tag: the tag
 * @tagged: whether there is one
 *
 * Context: Any.
 * Return: the stack's id; 0 when the event was lost, and counted as such; or
 *	what sb_walk_task() returned.
 */
static noinline s64 sb_save(const unsigned long *frame, struct task_struct *task,
			    struct pt_regs *regs, unsigned long tag, bool tagged)
{
	struct sb_event event;
	struct sb_level *level;
	struct sb_cpu *cpu;
	s64 result = 0;
	int nest, nr;

	if (unlikely(!sb_recording())) {
		sb_lost(STACKBUF_LOST_OFF);
		return 0;
	}

	preempt_disable_notrace();
	cpu = this_cpu_ptr(sb_cpu);
	nest = this_cpu_inc_return(sb_cpu->nest);
	if (unlikely(nest > SB_LEVELS)) {
		sb_lost(STACKBUF_LOST_NESTED);
		goto out;
	}
	level = &cpu->level[nest - 1];

	if (likely(frame))
		nr = sb_walk_caller(level, frame);
	else if (task)
		nr = sb_walk_task(level->pc, ARRAY_SIZE(level->pc), task);
	else
		nr = sb_walk_regs(level->pc, ARRAY_SIZE(level->pc), regs);
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

	if (likely(!task))
		task = current;
	event.tag = tag;
	event.tagged = tagged;
	sb_fill_event(&event, task);
	result = sb_store(cpu, level, &event, task);
	if (unlikely(nr > STACKBUF_DEPTH_MAX && result))
		sb_lost(STACKBUF_CUT);
out:
	this_cpu_dec(sb_cpu->nest);
	preempt_enable_notrace();
	return result;
}

NOKPROBE_SYMBOL(sb_save);

noinline u32 stackbuf_save(void)
{
	return sb_save(__builtin_frame_address(0), NULL, NULL, 0, false);
}
EXPORT_SYMBOL_GPL(stackbuf_save);
NOKPROBE_SYMBOL(stackbuf_save);

noinline u32 stackbuf_save_tag(unsigned long tag)
{
	return sb_save(__builtin_frame_address(0), NULL, NULL, tag, true);
}
EXPORT_SYMBOL_GPL(stackbuf_save_tag);
NOKPROBE_SYMBOL(stackbuf_save_tag);

noinline u32 stackbuf_save_regs(struct pt_regs *regs, unsigned long tag)
{
	return sb_save(NULL, NULL, regs, tag, true);
}
EXPORT_SYMBOL_GPL(stackbuf_save_regs);
NOKPROBE_SYMBOL(stackbuf_save_regs);

noinline int stackbuf_save_task(struct task_struct *task, unsigned long tag, u32 *id)
{
	s64 result;

	if (task == current)
		result = sb_save(__builtin_frame_address(0), NULL, NULL, tag, true);
	else
		result = sb_save(NULL, task, NULL, tag, true);
	if (id)
		*id = max(result, 0LL);
	return min(result, 0LL);
}
EXPORT_SYMBOL_GPL(stackbuf_save_task);
