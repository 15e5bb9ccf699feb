// SPDX-License-Identifier: GPL-2.0
/*
 * stackbuf_leak.c - allocates objects on three paths and forgets to free some of one
 *
 * "run CONTEXT N LEAK [TIMES]": N objects of 100 bytes on each path, from a task (0), a softirq
 * (1) or a hardirq (2); all are freed but LEAK of the second path.  "hold N NS": opens N keys
 * for so long, one after the other.  "keep N" opens N keys, "drop N" closes them.  "twice KEY":
 * opens a key twice, and closes it once.  "sleep N MS": sleeps N times, from one place.  "thread
 * MS": a thread sleeps once, from there.  "switch N": N times, wakes a thread on the last CPU and
 * waits until that has woken us.  "spin MS": keeps its CPU for so long, preemption off.  "beat US":
 * from now on an interrupt every so often that allocates an object and frees the one before, but of
 * each ten one; 0 ends it.  The parameter "forgotten" is how many these are.  "pages N": allocates
 * eight pages, N times, and frees them; "split N": the same, one by one.  "clock N": opens the
 * time, N times.  "unstable": from now on the kernel does not trust the cycles of x86.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>
#include <linux/timex.h>

#include "test_compat.h"

#define MOST	4096

/* A run, of a task that stays on its CPU: those of two CPUs are at once */
static struct leak_run {
	void *object[3][MOST];
	unsigned int number, leak, times;
	struct tasklet_struct tasklet;
	struct irq_work work;
} leak_runs[2];

static noinline void *leak_make(void)
{
	return kmalloc(100, GFP_ATOMIC);
}

#define LEAK_PATH(name, k)						\
	static noinline void leak_path_##name(struct leak_run *run, unsigned int i) \
	{								\
		run->object[k][i] = leak_make();			\
		barrier();						\
	}
LEAK_PATH(a, 0) LEAK_PATH(b, 1) LEAK_PATH(c, 2)

static noinline void leak_once(struct leak_run *run)
{
	unsigned int i, k;

	for (i = 0; i < run->number; i++) {
		leak_path_a(run, i);
		leak_path_b(run, i);
		leak_path_c(run, i);
	}
	for (k = 0; k < 3; k++)
		for (i = 0; i < run->number; i++)
			if (k != 1 || i >= run->leak)
				kfree(run->object[k][i]);
}

static void leak_all(struct leak_run *run)
{
	unsigned int n;

	for (n = 0; n < run->times; n++)
		leak_once(run);
}

static void leak_in_tasklet(struct tasklet_struct *tasklet)
{
	leak_all(container_of(tasklet, struct leak_run, tasklet));
}

static void leak_in_irq(struct irq_work *work)
{
	leak_all(container_of(work, struct leak_run, work));
}

static void leak_in(unsigned int context, unsigned int number, unsigned int leak,
		    unsigned int times)
{
	struct leak_run *run = &leak_runs[raw_smp_processor_id() % 2];

	run->number = number;
	run->leak = leak;
	run->times = times;
	if (!context) {
		leak_all(run);
	} else if (context == 1) {
		tasklet_setup(&run->tasklet, leak_in_tasklet);
		tasklet_schedule(&run->tasklet);
		tasklet_kill(&run->tasklet);
	} else {
		init_irq_work(&run->work, leak_in_irq);
		irq_work_queue(&run->work);
		irq_work_sync(&run->work);
	}
}

/* What a test probes: the first opens @key, the second closes it.  They use it, and differ */
static unsigned long leak_last;

static noinline void leak_hold(unsigned long key)
{
	WRITE_ONCE(leak_last, key);
}

static noinline void leak_release(unsigned long key)
{
	WRITE_ONCE(leak_last, ~key);
}

static noinline void leak_hold_for(unsigned int n, unsigned int ns)
{
	u64 until;

	while (n--) {
		leak_hold(0x1000 + n);
		for (until = local_clock() + ns; local_clock() < until;)
			cpu_relax();
		leak_release(0x1000 + n);
	}
}

static noinline void leak_clock(unsigned int n)
{
	while (n--)
		leak_hold(local_clock());
}

static noinline void leak_spin(unsigned int ms)
{
	u64 end = local_clock() + ms * 1000000ULL;
	unsigned int i;

	preempt_disable();
	/* No indirect call: no walk leads out of an interrupt in a retpoline's thunk */
	while (local_clock() < end)
		for (i = 0; i < 1000; i++)
			cpu_relax();
	preempt_enable();
}

static noinline void leak_sleep(unsigned int n, unsigned int ms)
{
	while (n--)
		msleep(ms);
	barrier();
}

static noinline int leak_pages(unsigned int n, bool split)
{
	unsigned int i;

	while (n--) {
		struct page *page = alloc_pages(GFP_KERNEL, 3);

		if (!page)
			return -ENOMEM;
		if (split)
			split_page(page, 3);
		for (i = 0; split && i < 8; i++)
			__free_page(page + i);
		if (!split)
			__free_pages(page, 3);
	}
	return 0;
}

static noinline int leak_exact(unsigned int n)
{
	while (n--) {
		void *pages = alloc_pages_exact(5 * PAGE_SIZE, GFP_KERNEL);

		if (!pages)
			return -ENOMEM;
		free_pages_exact(pages, 5 * PAGE_SIZE);
	}
	return 0;
}

static DECLARE_COMPLETION(leak_there);
static DECLARE_COMPLETION(leak_back);

static int leak_partner(void *rounds)
{
	unsigned long n = (unsigned long)rounds;

	while (n--) {
		wait_for_completion(&leak_there);
		complete(&leak_back);
	}
	return 0;
}

static noinline int leak_switch(unsigned long n)
{
	struct task_struct *partner = kthread_create(leak_partner, (void *)n, "leak_partner");

	if (IS_ERR(partner))
		return PTR_ERR(partner);
	kthread_bind(partner, num_online_cpus() - 1);
	wake_up_process(partner);
	while (n--) {
		complete(&leak_there);
		wait_for_completion(&leak_back);
	}
	return 0;
}

static struct hrtimer leak_timer;
static unsigned int leak_period, leak_beats, forgotten;
static void *leak_last_object;
module_param(forgotten, uint, 0400);

static noinline void *leak_beat_make(void)
{
	void *object = kmalloc(100, GFP_ATOMIC);

	barrier();
	return object;
}

static enum hrtimer_restart leak_beat(struct hrtimer *timer)
{
	if (leak_beats++ % 10)
		kfree(leak_last_object);
	else if (leak_last_object)
		forgotten++;
	leak_last_object = leak_beat_make();
	hrtimer_forward_now(timer, ns_to_ktime(leak_period * 1000));
	return HRTIMER_RESTART;
}

static void leak_set_beat(unsigned int us)
{
	hrtimer_cancel(&leak_timer);
	kfree(leak_last_object);
	leak_last_object = NULL;
	leak_period = us;
	if (us)
		hrtimer_start(&leak_timer, ns_to_ktime(us * 1000), HRTIMER_MODE_REL_HARD);
}

/* Not frozen: asleep while the machine is suspended */
static struct task_struct *leak_thread;

static int leak_asleep(void *ms)
{
	leak_sleep(1, (unsigned long)ms);
	set_current_state(TASK_INTERRUPTIBLE);
	while (!kthread_should_stop()) {
		schedule();
		set_current_state(TASK_INTERRUPTIBLE);
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

static int leak_do(const char *value)
{
	unsigned int context, number, ns, leak, times = 1;

	if (sscanf(value, "hold %u %u", &number, &ns) == 2) {
		leak_hold_for(number, ns);
	} else if (sscanf(value, "keep %u", &number) == 1) {
		for (ns = 1; ns <= number; ns++)
			leak_hold(ns * 64);
	} else if (sscanf(value, "drop %u", &number) == 1) {
		for (ns = 1; ns <= number; ns++)
			leak_release(ns * 64);
	} else if (sscanf(value, "twice %u", &ns) == 1) {
		leak_hold(ns);
		leak_hold(ns);
		leak_release(ns);
	} else if (sscanf(value, "sleep %u %u", &number, &ns) == 2) {
		leak_sleep(number, ns);
	} else if (sscanf(value, "thread %u", &ns) == 1 && !leak_thread) {
		leak_thread = kthread_run(leak_asleep, (void *)(unsigned long)ns, "leak_asleep");
	} else if (sscanf(value, "spin %u", &ns) == 1) {
		leak_spin(ns);
	} else if (sscanf(value, "switch %u", &number) == 1) {
		return leak_switch(number);
	} else if (sscanf(value, "pages %u", &number) == 1) {
		return leak_pages(number, false);
	} else if (sscanf(value, "split %u", &number) == 1) {
		return leak_pages(number, true);
	} else if (sscanf(value, "exact %u", &number) == 1) {
		return leak_exact(number);
	} else if (sscanf(value, "clock %u", &number) == 1) {
		leak_clock(number);
#ifdef CONFIG_X86
	} else if (sysfs_streq(value, "unstable")) {
		mark_tsc_unstable("a test says so");
#endif
	} else if (sscanf(value, "beat %u", &ns) == 1) {
		leak_set_beat(ns);
	} else if (sscanf(value, "run %u %u %u %u", &context, &number, &leak, &times) >= 3 &&
		   number <= MOST) {
		leak_in(context, number, leak, times);
	} else {
		return -EINVAL;
	}
	return 0;
}

/* The kernel calls this with a lock that another CPU would wait for */
static int set_run(const char *value, const struct kernel_param *param)
{
	int err;

	kernel_param_unlock(THIS_MODULE);
	err = leak_do(value);
	kernel_param_lock(THIS_MODULE);
	return err;
}

static const struct kernel_param_ops run_ops = { .set = set_run };
module_param_cb(run, &run_ops, NULL, 0200);

static int __init leak_init(void)
{
	hrtimer_setup(&leak_timer, leak_beat, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	return 0;
}
module_init(leak_init);

static void __exit leak_exit(void)
{
	if (!IS_ERR_OR_NULL(leak_thread))
		kthread_stop(leak_thread);
	leak_set_beat(0);
}
module_exit(leak_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Allocates on three paths and forgets to free");
