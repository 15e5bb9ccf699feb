// SPDX-License-Identifier: GPL-2.0
/*
 * test_context.c - a save in each context, prints in NMIs, saves in saves
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ftrace.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>

#include "test.h"

#define CONTEXT_LEVELS	3

static DECLARE_COMPLETION(context_done);
static u32 context_id;
static void (*context_fn)(void);

static void context_save(void)
{
	context_id = go(0x321, CONTEXT_LEVELS, leaf_tag, 0xc0ffee);
}

static void context_print(void)
{
	go(0x321, CONTEXT_LEVELS, leaf_print, 0);
	stackbuf_print_id(1);
}

static void context_run(void)
{
	context_fn();
	complete(&context_done);
}

#define CONTEXT(name, type)				\
	static void context_##name(struct type *unused)	\
	{						\
		context_run();				\
	}
CONTEXT(timer, timer_list) CONTEXT(tasklet, tasklet_struct) CONTEXT(irq_work, irq_work)

static enum hrtimer_restart context_hrtimer(struct hrtimer *timer)
{
	context_run();
	return HRTIMER_NORESTART;
}

static DEFINE_TIMER(c_timer, context_timer);
static DECLARE_TASKLET(c_tasklet, context_tasklet);
/* HARD: PREEMPT_RT would run it in a thread otherwise */
static struct irq_work c_irq_work = IRQ_WORK_INIT_HARD(context_irq_work);
static DEFINE_RAW_SPINLOCK(c_lock);

int in_context(enum stackbuf_context context, void (*fn)(void))
{
	int err;

	context_fn = fn;
	switch (context) {
	case STACKBUF_TASK:
		fn();
		return 0;
	case STACKBUF_SOFTIRQ:
		/* Runs when bottom halves are enabled, on their stack where they have one */
		local_bh_disable();
		tasklet_schedule(&c_tasklet);
		local_bh_enable();
		wait_for_completion(&context_done);
		tasklet_kill(&c_tasklet);
		return 0;
	case STACKBUF_HARDIRQ:
		irq_work_queue(&c_irq_work);
		wait_for_completion(&context_done);
		irq_work_sync(&c_irq_work);
		return 0;
	case STACKBUF_NMI:
		break;
	}
	err = nmi_start(fn);
	if (err)
		return err;
	preempt_disable();
	nmi_send(smp_processor_id());
	preempt_enable();
	nmi_stop();
	return 0;
}

static void context_say(const char *name, int want)
{
	say("context %s id %u right %d want %d\n", name, context_id,
	    right(context_id, 0x321, CONTEXT_LEVELS, leaf_tag), want);
	context_id = 0;
}

/* context: a save from each context, and the context that its event must show */
int cmd_context(u64 *arg)
{
	struct hrtimer timer;
	unsigned long flags;
	int err;

	context_fn = context_save;
	context_save();
	context_say("task", STACKBUF_TASK);

	preempt_disable();
	context_save();
	preempt_enable();
	context_say("preempt_disable", STACKBUF_TASK);

	raw_spin_lock_irqsave(&c_lock, flags);
	context_save();
	raw_spin_unlock_irqrestore(&c_lock, flags);
	context_say("raw_spinlock", STACKBUF_TASK);

	mod_timer(&c_timer, jiffies + 1);
	wait_for_completion(&context_done);
	timer_delete_sync(&c_timer);
	context_say("timer", STACKBUF_SOFTIRQ);

	in_context(STACKBUF_SOFTIRQ, context_save);
	context_say("tasklet", STACKBUF_SOFTIRQ);

	hrtimer_setup_on_stack(&timer, context_hrtimer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	hrtimer_start(&timer, ms_to_ktime(1), HRTIMER_MODE_REL_HARD);
	wait_for_completion(&context_done);
	hrtimer_cancel(&timer);
	destroy_hrtimer_on_stack(&timer);
	context_say("hrtimer", STACKBUF_HARDIRQ);

	in_context(STACKBUF_HARDIRQ, context_save);
	context_say("irq_work", STACKBUF_HARDIRQ);

	err = in_context(STACKBUF_NMI, context_save);
	if (err)
		return err == -EOPNOTSUPP ? 0 : err;
	context_say("nmi", STACKBUF_NMI);
	return 0;
}

/* nmiprint: stackbuf_print() and stackbuf_print_id(), once each, in an NMI */
int cmd_nmiprint(u64 *arg)
{
	return in_context(STACKBUF_NMI, context_print);
}

/*
 * nest N: saves nested N deep.  ftrace calls nest_callback() from a kernel function that
 * every walk calls; the callback saves, which walks, which calls the callback again.
 */
#ifdef CONFIG_DYNAMIC_FTRACE
#ifdef CONFIG_X86_64
#define WALKER	"__unwind_start"
#else
#define WALKER	"stack_trace_save"
#endif

static unsigned int nest_depth, nest_max;
static u64 nest_path;
static struct task_struct *nest_task;
static u32 nest_ids[16];

static notrace void nest_callback(unsigned long ip, unsigned long parent,
				  struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	unsigned int depth = nest_depth;

	if (current != nest_task || in_interrupt() || depth >= nest_max)
		return;
	nest_depth++;
	/* A new path each time, so that the save walks */
	nest_ids[depth] = go(nest_path++, 8, leaf_tag, 0x4e570000 + depth);
	/* The walk calls the traced function more than once, but each level must nest once */
	nest_depth = nest_max;
}

static struct ftrace_ops nest_ops = { .func = nest_callback };

int cmd_nest(u64 *arg)
{
	unsigned int i;
	int err;

	if (arg[0] < 1 || arg[0] > ARRAY_SIZE(nest_ids))
		return -EINVAL;
	memset(nest_ids, 0, sizeof(nest_ids));
	err = ftrace_set_filter(&nest_ops, WALKER, sizeof(WALKER) - 1, 1);
	if (err)
		return err;
	nest_task = NULL;
	err = register_ftrace_function(&nest_ops);
	if (err)
		return err;
	nest_max = arg[0];
	nest_depth = 1;
	preempt_disable();
	nest_task = current;
	barrier();
	nest_ids[0] = go(nest_path++, 8, leaf_tag, 0x4e570000);
	barrier();
	nest_task = NULL;
	preempt_enable();
	unregister_ftrace_function(&nest_ops);
	for (i = 0; i < arg[0]; i++)
		say("nest %u id %u\n", i + 1, nest_ids[i]);
	return 0;
}

void nest_end(void)
{
	/* Frees the filter: ftrace_free_filter() is not exported before 6.2 */
	ftrace_set_filter(&nest_ops, NULL, 0, 1);
}
#else
int cmd_nest(u64 *arg)
{
	return -EOPNOTSUPP;
}

void nest_end(void)
{
}
#endif
