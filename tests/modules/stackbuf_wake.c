// SPDX-License-Identifier: GPL-2.0
/*
 * stackbuf_wake.c - wakes a task at chosen instants of its way to sleep
 *
 * "INSTANT N": N times a thread on CPU 0 goes to sleep, and one on CPU 1 wakes it.  The instant is
 * "asleep": some time after the switch was recorded; "state": before it is, and it finds
 * TASK_WAKING; "lock": before it is, and it finds that the waker has the task's lock; "late": after
 * it was recorded, but the waker has had the lock since before.  Both threads are held by handlers
 * of the tracepoints that are called before and after the recorder's.
 *
 * After each the sleeper runs for a while.  Then it is woken before it calls schedule().
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/task.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "test_compat.h"

static const char *const instants[] = { "asleep", "state", "lock", "late" };
enum { ASLEEP, STATE, LOCK, LATE };

static int instant;
static struct task_struct *sleeper;

/* Of one round: how far it is */
static struct { bool armed, in_switch, switched, in_waking, waking, awake, done; } now;

static bool is_reached(const bool *flag)
{
	/* What the other thread has done before */
	return smp_load_acquire(flag);
}

static void wait_for(const bool *flag)
{
	while (!is_reached(flag))
		cpu_relax();
}

static void reach(bool *flag)
{
	/* As is_reached() */
	smp_store_release(flag, true);
}

/* The same where others may need the CPU: a stopper waits for that of the other CPU */
static void wait_outside(const bool *flag)
{
	while (!is_reached(flag))
		cond_resched();
}

/*
 * cond_resched() may do nothing, and interrupts are taken only after the instruction that follows
 * the one which enables them; in QEMU not after "pause" either
 */
static void let_others(void)
{
	unsigned int i;

	local_irq_enable();
	for (i = 0; i < 10; i++)
		OPTIMIZER_HIDE_VAR(i);
	cond_resched();
}

/* The threads that are ready for the next round */
enum { NONE, SLEEPER, BOTH };
static int present;

/*
 * A round begins when both threads are on their CPUs with interrupts off.  The sleeper, while it is
 * held, has the lock of its CPU's run queue, for which an interrupt of the other CPU may wait to
 * balance the load.  Until then both CPUs answer each other's interrupts between their tries.
 */
static void await_waker(void)
{
	unsigned int i;

	for (;;) {
		local_irq_disable();
		WRITE_ONCE(present, SLEEPER);
		for (i = 0; i < 1000 && READ_ONCE(present) != BOTH; i++)
			cpu_relax();
		if (cmpxchg(&present, SLEEPER, NONE) == BOTH)
			return;
		let_others();
	}
}

static void join_sleeper(void)
{
	local_irq_disable();
	while (cmpxchg(&present, SLEEPER, BOTH) != SLEEPER) {
		let_others();
		local_irq_disable();
	}
}

static bool goes_to_sleep(bool preempt, const struct task_struct *task)
{
	return task == READ_ONCE(sleeper) && !preempt && READ_ONCE(now.armed) &&
	       READ_ONCE(task->__state);
}

static void before_switch(void *data, SBUF_SWITCH_ARGUMENTS)
{
	if (!goes_to_sleep(preempt, prev))
		return;
	reach(&now.in_switch);
	if (instant == LATE)
		wait_for(&now.in_waking);
	else if (instant != ASLEEP)
		wait_for(&now.waking);
	while (instant == STATE && READ_ONCE(prev->__state) != TASK_WAKING)
		cpu_relax();
}

static void after_switch(void *data, SBUF_SWITCH_ARGUMENTS)
{
	if (goes_to_sleep(preempt, prev))
		reach(&now.switched);
}

static void before_waking(void *data, struct task_struct *task)
{
	if (task != READ_ONCE(sleeper) || !READ_ONCE(now.armed))
		return;
	reach(&now.in_waking);
	if (instant == LATE)
		wait_for(&now.switched);
}

static void after_waking(void *data, struct task_struct *task)
{
	if (task != READ_ONCE(sleeper) || !READ_ONCE(now.armed))
		return;
	reach(&now.waking);
	if (instant == LOCK)
		wait_for(&now.switched);
}

static struct {
	const char *name;
	void *handler;
	int priority;
	struct tracepoint *tracepoint;
} handlers[] = {
	{ "sched_switch", before_switch, TRACEPOINT_DEFAULT_PRIO + 1 },
	{ "sched_switch", after_switch, TRACEPOINT_DEFAULT_PRIO - 1 },
	{ "sched_waking", before_waking, TRACEPOINT_DEFAULT_PRIO + 1 },
	{ "sched_waking", after_waking, TRACEPOINT_DEFAULT_PRIO - 1 },
};

/* With interrupts on: without ticks the clock may stand still */
static void run_for(unsigned int us)
{
	u64 until = local_clock() + us * 1000;

	while (local_clock() < until)
		cpu_relax();
}

/* Until it is stopped */
static int stay(void)
{
	while (!kthread_should_stop())
		usleep_range(50, 100);
	return 0;
}

static int wake_sleeper(void *rounds)
{
	unsigned long n = (unsigned long)rounds;

	while (n--) {
		await_waker();
		set_current_state(TASK_UNINTERRUPTIBLE);
		WRITE_ONCE(now.armed, true);
		schedule();
		WRITE_ONCE(now.armed, false);
		run_for(200);
		set_current_state(TASK_UNINTERRUPTIBLE);
		reach(&now.awake);
		while (READ_ONCE(current->__state))
			cond_resched();
		wait_outside(&now.done);
		WRITE_ONCE(now.done, false);
	}
	return stay();
}

/* Two places that wake.  They differ, or the compiler makes them one */
static int wakes[2];

static noinline void wake_asleep(void)
{
	wakes[0] += wake_up_process(sleeper);
}

static noinline void wake_awake(void)
{
	wakes[1] += wake_up_process(sleeper);
}

static DECLARE_COMPLETION(woken);

static int wake_waker(void *rounds)
{
	unsigned long n = (unsigned long)rounds;

	while (n--) {
		join_sleeper();
		wait_for(instant == ASLEEP ? &now.switched : &now.in_switch);
		if (instant == ASLEEP) {
			local_irq_enable();
			run_for(300);
			local_irq_disable();
		}
		wake_asleep();
		local_irq_enable();
		wait_outside(&now.awake);
		wake_awake();
		now.in_switch = false;
		now.switched = false;
		now.in_waking = false;
		now.waking = false;
		now.awake = false;
		/* The next round begins after all that, when the sleeper says that it is there */
		WRITE_ONCE(present, NONE);
		reach(&now.done);
	}
	complete(&woken);
	return stay();
}

static int wake_run(unsigned long n)
{
	struct task_struct *waker;

	sleeper = kthread_create(wake_sleeper, (void *)n, "wake_sleeper");
	waker = kthread_create(wake_waker, (void *)n, "wake_waker");
	if (IS_ERR(sleeper) || IS_ERR(waker))
		return -ENOMEM;
	kthread_bind(sleeper, 0);
	kthread_bind(waker, 1);
	get_task_struct(sleeper);
	/* The fair class may leave it on the run queue: then a waker needs the queue's lock */
	sched_set_fifo_low(sleeper);
	wake_up_process(sleeper);
	wake_up_process(waker);
	wait_for_completion(&woken);
	kthread_stop(waker);
	kthread_stop(sleeper);
	put_task_struct(sleeper);
	sleeper = NULL;
	return 0;
}

static int set_run(const char *value, const struct kernel_param *param)
{
	char name[16];
	unsigned int n;

	if (sscanf(value, "%15s %u", name, &n) != 2)
		return -EINVAL;
	instant = match_string(instants, ARRAY_SIZE(instants), name);
	return instant < 0 ? -EINVAL : wake_run(n);
}

static const struct kernel_param_ops run_ops = { .set = set_run };
module_param_cb(run, &run_ops, NULL, 0200);

static void find(struct tracepoint *tracepoint, void *unused)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(handlers); i++)
		if (!strcmp(tracepoint->name, handlers[i].name))
			handlers[i].tracepoint = tracepoint;
}

static void leave(unsigned int nr)
{
	while (nr--)
		tracepoint_probe_unregister(handlers[nr].tracepoint, handlers[nr].handler, NULL);
	tracepoint_synchronize_unregister();
}

static int __init wake_init(void)
{
	unsigned int i;
	int err;

	for_each_kernel_tracepoint(find, NULL);
	for (i = 0; i < ARRAY_SIZE(handlers); i++) {
		err = handlers[i].tracepoint ?
		      tracepoint_probe_register_prio(handlers[i].tracepoint, handlers[i].handler,
						     NULL, handlers[i].priority) : -ENOENT;
		if (err) {
			leave(i);
			return err;
		}
	}
	return 0;
}
module_init(wake_init);

static void __exit wake_exit(void)
{
	leave(ARRAY_SIZE(handlers));
}
module_exit(wake_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Wakes a task at chosen instants of its way to sleep");
