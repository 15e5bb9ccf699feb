// SPDX-License-Identifier: GPL-2.0
/*
 * stackbuf_writer.c - saves events on all CPUs, counted by their tags, and tells the console
 *
 * The tag is the number of the event on its CPU, and the CPU above bit 48.  The console
 * gets each thousandth number once its event is saved: so much must be in the record.  With the
 * parameter hang the writers loop with interrupts off, each once it has told what it saved.
 */
#include <linux/console.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>

#include "../stackbuf.h"

static struct task_struct *writer[NR_CPUS];
static bool hang;
module_param(hang, bool, 0200);

static noinline void writer_path_a(u64 tag)
{
	stackbuf_save_tag(tag);
	barrier();
}

static noinline void writer_path_b(u64 tag)
{
	stackbuf_save_tag(tag);
	barrier();
}

static int write_events(void *cpu)
{
	u64 n = 0;

	while (!kthread_should_stop()) {
		u64 tag = (u64)(unsigned long)cpu << 48 | ++n;

		if (n % 3)
			writer_path_a(tag);
		else
			writer_path_b(tag);
		if (n % 1000 == 0) {
			pr_alert("stackbuf_writer: CPU %lu at %llu\n", (unsigned long)cpu, n);
			/* Another CPU may be printing, and the host may have stopped it */
			console_lock();
			console_unlock();
		}
		if (n % 100 == 0)
			usleep_range(500, 1000);
		if (READ_ONCE(hang)) {
			local_irq_disable();
			for (;;)
				cpu_relax();
		}
	}
	return 0;
}

static void stop_writers(void)
{
	unsigned long cpu;

	for_each_possible_cpu(cpu)
		if (writer[cpu])
			kthread_stop(writer[cpu]);
}

static int __init writer_init(void)
{
	unsigned long cpu;

	for_each_online_cpu(cpu) {
		struct task_struct *task = kthread_create(write_events, (void *)cpu, "writer/%lu",
							  cpu);

		if (IS_ERR(task)) {
			stop_writers();
			return PTR_ERR(task);
		}
		kthread_bind(task, cpu);
		writer[cpu] = task;
		wake_up_process(task);
	}
	return 0;
}
module_init(writer_init);

static void __exit writer_exit(void)
{
	stop_writers();
}
module_exit(writer_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Saves events on all CPUs, and tells the console");
