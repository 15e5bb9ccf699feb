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

/* Parameters stay writable during exit; clear sbuf_cpu under their lock so that setters see NULL */
static void free_cpus(void)
{
	struct sbuf_cpu __percpu *cpus = sbuf_cpu;

	kernel_param_lock(THIS_MODULE);
	sbuf_cpu = NULL;
	kernel_param_unlock(THIS_MODULE);
	free_percpu(cpus);
}

static int __init stackbuf_init(void)
{
	int err, cpu;

	sbuf_cpu = alloc_percpu(struct sbuf_cpu);
	if (!sbuf_cpu)
		return -ENOMEM;
	for_each_possible_cpu(cpu)
		local_set(&per_cpu_ptr(sbuf_cpu, cpu)->verify_in, sbuf_verify);
	sbuf_memory_init();
	sbuf_ring_init();
	sbuf_evict_init();
	sbuf_recall_init();
	err = sbuf_modules_init();
	if (err)
		goto err_modules;
	err = sbuf_panic_init();
	if (err)
		goto err_freeze;
	/* Parameters are writable already */
	kernel_param_lock(THIS_MODULE);
	sbuf_filter_apply_limit();
	kernel_param_unlock(THIS_MODULE);
	sbuf_state_change(STACKBUF_ENABLED, sbuf_enable);
	err = sbuf_probe_init();
	if (err)
		goto err_probe;
	sbuf_debugfs_init();

	sbuf_printk(KERN_INFO "INIT stackbuf.\n");
	stackbuf_print();
	if (sbuf_enable)
		stackbuf_save();
	return 0;

err_probe:
	sbuf_state_change(STACKBUF_ENABLED, false);
	sbuf_panic_exit();
err_freeze:
	sbuf_modules_exit();
err_modules:
	sbuf_worker_exit();
	free_cpus();
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
	sbuf_probe_exit();
	sbuf_freeze(STACKBUF_UNLOADED);
	sbuf_debugfs_exit();
	sbuf_panic_exit();
	sbuf_modules_exit();
	sbuf_worker_exit();

	pr_info("%llu events recorded, %llu overwritten; lost: %llu off, %llu nested, %llu table full, %llu ring full, %llu no frames; %llu cut, %llu prints refused\n",
		sbuf_ring_recorded(), READ_ONCE(stackbuf_info.overwritten),
		sbuf_counter(STACKBUF_LOST_OFF), sbuf_counter(STACKBUF_LOST_NESTED),
		sbuf_counter(STACKBUF_LOST_TABLE), sbuf_counter(STACKBUF_LOST_PAGE),
		sbuf_counter(STACKBUF_LOST_EMPTY), sbuf_counter(STACKBUF_CUT),
		sbuf_counter(STACKBUF_LOST_PRINT));
	sbuf_printk(KERN_INFO "EXIT stackbuf.\n");
	free_cpus();
}
module_exit(stackbuf_exit);
