// SPDX-License-Identifier: GPL-2.0
/*
 * stackbuf - a flight recorder for kernel call stacks
 *
 * Code under study calls stackbuf_save(); every pass is kept in static memory
 * of this module: which stack, when, on which CPU, in which task.  It is read
 * live or from what is left of the machine, without the module's help: see
 * stackbuf.h for the memory format and for the calls.
 *
 * The way of an event is the order of the files that follow below:
 *
 *	core/capture.c	one save, from here through all of these:
 *	core/recall.c	a known stack is known again without walking it
 *			(on arm64 core/recall_fp.c)
 *	core/table.c	else the frames that the walk found get their id
 *	core/ring.c	the event is appended
 *	core/text.c	a new stack is rendered into the text log
 *
 * core/evict.c makes room in the table; core/request.c starts it, and other workers.
 * core/module.c sees modules loaded and unloaded.
 * core/print.c prints to the kernel log, core/panic.c stops recording when the
 * machine goes down.
 *
 * Memory: EVENTS_KB + 2 * STACKS_KB + TEXT_KB, 5 MiB by default, and 1/6 of
 * STACKS_KB and 780 KiB besides; 15 KiB a CPU.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <asm/local.h>

#include "core/internal.h"
#include "core/probe.h"
#include "core/recall.h"

MODULE_LICENSE("GPL");
MODULE_VERSION("1.0");
MODULE_DESCRIPTION("Flight recorder for kernel call stacks");

/* Parameters can still be written then: who needs this memory looks for it, under the lock */
static void sb_free_cpus(void)
{
	struct sb_cpu __percpu *cpus = sb_cpu;

	kernel_param_lock(THIS_MODULE);
	sb_cpu = NULL;
	kernel_param_unlock(THIS_MODULE);
	free_percpu(cpus);
}

static int __init stackbuf_init(void)
{
	int err, cpu;

	sb_cpu = alloc_percpu(struct sb_cpu);
	if (!sb_cpu)
		return -ENOMEM;
	for_each_possible_cpu(cpu)
		local_set(&per_cpu_ptr(sb_cpu, cpu)->verify_in, sb_verify);
	sb_init_memory();
	sb_init_ring();
	sb_init_evict();
	sb_init_recall();
	err = sb_init_modules();
	if (err)
		goto err_modules;
	err = sb_init_freeze();
	if (err)
		goto err_freeze;
	/* Filters can be written already */
	kernel_param_lock(THIS_MODULE);
	sb_apply_limit();
	kernel_param_unlock(THIS_MODULE);
	sb_change_state(STACKBUF_ENABLED, sb_enable);
	err = sb_init_probe();
	if (err)
		goto err_probe;
	sb_init_debugfs();

	sb_printk(KERN_INFO "INIT stackbuf.\n");
	stackbuf_print();
	if (sb_enable)
		stackbuf_save();
	return 0;

err_probe:
	sb_change_state(STACKBUF_ENABLED, false);
	sb_exit_freeze();
err_freeze:
	sb_exit_modules();
err_modules:
	sb_exit_requests();
	sb_free_cpus();
	return err;
}
module_init(stackbuf_init);

/*
 * Nobody calls in any more: callers are modules that use our symbols, and these
 * are gone, or this function would not have been called.
 */
static void __exit stackbuf_exit(void)
{
	stackbuf_print();
	sb_exit_probe();
	sb_freeze(STACKBUF_UNLOADED);
	sb_exit_debugfs();
	sb_exit_freeze();
	sb_exit_modules();
	sb_exit_requests();

	pr_info("%llu events recorded, %llu overwritten; lost: %llu off, %llu nested, %llu table full, %llu ring full, %llu no frames; %llu cut, %llu prints refused\n",
		sb_recorded(), READ_ONCE(stackbuf_info.overwritten),
		sb_losses(STACKBUF_LOST_OFF), sb_losses(STACKBUF_LOST_NESTED),
		sb_losses(STACKBUF_LOST_TABLE), sb_losses(STACKBUF_LOST_PAGE),
		sb_losses(STACKBUF_LOST_EMPTY), sb_losses(STACKBUF_CUT),
		sb_losses(STACKBUF_LOST_PRINT));
	sb_printk(KERN_INFO "EXIT stackbuf.\n");
	sb_free_cpus();
}
module_exit(stackbuf_exit);
