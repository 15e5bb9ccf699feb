// SPDX-License-Identifier: GPL-2.0
/*
 * test_panic.c - a panic on command while other CPUs save
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/kdebug.h>
#include <linux/panic_notifier.h>
#include <linux/reboot.h>

#include "test.h"

static int late_panic(struct notifier_block *nb, unsigned long action, void *data)
{
	pr_emerg("save after panic gives id %u\n", go(0x77, 2, leaf_tag, 0xdead));
	return 0;
}

/* Runs after all other notifiers, the recorder's included */
static struct notifier_block panic_nb = { .notifier_call = late_panic, .priority = INT_MIN };

/* Runs right after the recorder's, which the panic calls again */
static int nested_panic(struct notifier_block *nb, unsigned long action, void *data)
{
	static bool done;

	if (!xchg(&done, true))
		panic("stackbuf_test was told to do it again");
	return 0;
}

static struct notifier_block nested_nb = { .notifier_call = nested_panic, .priority = INT_MAX - 1 };

static atomic_t panic_ready;
static u64 panic_others;	/* saves so far on the CPUs that do not panic */
static bool panic_near;		/* these CPUs disable preemption */

/* Runs after stackbuf has stopped recording: wait until the other CPUs have tried 100 saves */
static int late_die(struct notifier_block *nb, unsigned long action, void *data)
{
	u64 wanted = READ_ONCE(panic_others) + 100;
	unsigned int ms;

	for (ms = 0; action == DIE_OOPS && READ_ONCE(panic_others) < wanted && ms < 5000; ms++)
		mdelay(1);
	return NOTIFY_DONE;
}

static struct notifier_block die_nb = { .notifier_call = late_die, .priority = INT_MIN };

static void panic_now(void)
{
	panic("stackbuf_test was told to");
}

static void panic_worker(struct worker *wk)
{
	u64 i;

	atomic_inc(&panic_ready);
	if (wk->cpu) {
		/* Keep saving while CPU 0 panics */
		for (i = 0;; i++) {
			go(i % 50, 4, leaf_tag, 0xbULL << 56 | i);
			WRITE_ONCE(panic_others, i);
			if (!READ_ONCE(panic_near))
				cond_resched();
			else if (!preempt_count())
				preempt_disable();
		}
	}
	while (atomic_read(&panic_ready) < num_online_cpus())
		cpu_relax();
	for (i = 0; i < wk->arg[0]; i++) {
		go(i % 10, 4, leaf_tag, 0xaULL << 56 | i);
		while (i == wk->arg[0] / 2 && num_online_cpus() > 1 &&
		       READ_ONCE(panic_others) < 500)
			cpu_relax();
	}
	/*
	 * Keep kworkers off the other CPUs: after the panic this CPU answers no IPI, so a
	 * worker that sends one, as to unmap a module's init code, would wait endlessly
	 */
	WRITE_ONCE(panic_near, true);
	i = READ_ONCE(panic_others) + 3;
	while (num_online_cpus() > 1 && READ_ONCE(panic_others) < i)
		cpu_relax();
	if (wk->arg[1] == 1 && nmi_start(panic_now))
		return;
	/* Where clocks need ticks, make this CPU's clock lag behind the other CPUs' clocks */
	local_irq_disable();
	mdelay(50);
	if (wk->arg[1] == 1) {
		nmi_send(smp_processor_id());
		mdelay(1000);
	} else if (wk->arg[1] && wk->arg[1] != 2) {
		/* READ_ONCE() hides from the compiler that this may be no address */
		WRITE_ONCE(*(int *)READ_ONCE(wk->arg[1]), 0);
	}
	panic_now();
}

/*
 * panic N [ADDRESS]: N events, then an oops at the address, or panic(), in an NMI if it is 1, with
 * another one in a notifier if it is 2, while the other CPUs keep saving
 */
int cmd_panic(u64 *arg)
{
	atomic_notifier_chain_register(&panic_notifier_list, &panic_nb);
	if (arg[1] == 2)
		atomic_notifier_chain_register(&panic_notifier_list, &nested_nb);
	register_die_notifier(&die_nb);
	return on_cpus(-1, panic_worker, arg);
}
