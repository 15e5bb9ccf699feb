// SPDX-License-Identifier: GPL-2.0
/*
 * stackbuf - a flight recorder for kernel call stacks
 *
 * Code under study calls stackbuf_save(), and every call is recorded in static memory of this
 * module: which stack, when, on which CPU, in which task.  Readers read that memory live or in a
 * dump, without the module's help.  stackbuf.h has the calls, stackbuf_format.h the memory format.
 *
 * An event goes through these files, in this order:
 *
 *	core/save.h	decides: is it recorded?  Is its stack known? Else
 *	core/save.c	walk
 *	core/recall.h	is this stack known?  Compares memory instead of walking
 *	core/unwind.c	walks the stack
 *	core/table.c	gives the frames that the walk found their id
 *	core/ring.c	appends the event
 *	core/text.c	renders a new stack into the text log
 *
 * core/evict.c makes room in the table; core/request.c starts it, and other workers.
 * core/module.c follows modules that are loaded and unloaded.  core/print.c prints to the kernel
 * log, core/panic.c stops recording when the machine goes down.  core/params.c has the parameters.
 *
 * Memory: EVENTS_KB + 2 * STACKS_KB + TEXT_KB, 5 MiB by default, and 1/6 of
 * STACKS_KB and 780 KiB besides; 15 KiB a CPU.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kernel.h>
#include <linux/moduleparam.h>

#include "core/probe.h"
#include "core/recall.h"

MODULE_LICENSE("GPL");
MODULE_VERSION(STACKBUF_MODULE_VERSION);
MODULE_DESCRIPTION("Flight recorder for kernel call stacks");

/* Parameters stay writable during exit; clear sb_cpu under their lock so that setters see NULL */
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
	err = sb_init_panic();
	if (err)
		goto err_freeze;
	/* Parameters are writable already */
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
	sb_exit_panic();
err_freeze:
	sb_exit_modules();
err_modules:
	sb_exit_requests();
	sb_free_cpus();
	return err;
}
module_init(stackbuf_init);

/*
 * No save can begin any more: the calls' users are modules that depend on this one, which are
 * unloaded before it, and probes are removed first.
 */
static void __exit stackbuf_exit(void)
{
	stackbuf_print();
	sb_exit_probe();
	sb_freeze(STACKBUF_UNLOADED);
	sb_exit_debugfs();
	sb_exit_panic();
	sb_exit_modules();
	sb_exit_requests();

	pr_info("%llu events recorded, %llu overwritten; lost: %llu off, %llu nested, %llu table full, %llu ring full, %llu no frames; %llu cut, %llu prints refused\n",
		sb_recorded(), READ_ONCE(stackbuf_info.overwritten),
		sb_counter(STACKBUF_LOST_OFF), sb_counter(STACKBUF_LOST_NESTED),
		sb_counter(STACKBUF_LOST_TABLE), sb_counter(STACKBUF_LOST_PAGE),
		sb_counter(STACKBUF_LOST_EMPTY), sb_counter(STACKBUF_CUT),
		sb_counter(STACKBUF_LOST_PRINT));
	sb_printk(KERN_INFO "EXIT stackbuf.\n");
	sb_free_cpus();
}
module_exit(stackbuf_exit);
