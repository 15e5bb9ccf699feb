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
 *			(on arm64 core/records.c)
 *	core/table.c	else the frames that the walk found get their id
 *	core/ring.c	the event is appended
 *	core/text.c	a new stack is rendered into the text log
 *
 * core/evict.c makes room in the table; core/request.c starts it, and other workers.
 * core/module.c sees modules loaded and unloaded.
 * core/print.c prints to the kernel log, core/freeze.c stops recording when the
 * machine goes down.
 *
 * Memory: EVENTS_KB + 2 * STACKS_KB + TEXT_KB, 5 MiB by default, and 1/6 of
 * STACKS_KB and 780 KiB besides; 15 KiB a CPU.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/build_bug.h>
#include <linux/cpu.h>
#include <linux/ctype.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/elf-em.h>
#include <linux/fs.h>
#include <linux/irq_work.h>
#include <linux/kcsan-checks.h>
#include <linux/kdebug.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/panic_notifier.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/task_stack.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/sort.h>
#include <linux/stacktrace.h>
#include <linux/stringhash.h>
#include <linux/sysfs.h>
#include <linux/timekeeping.h>
#include <linux/utsname.h>
#include <linux/workqueue.h>
#include <asm/local.h>

#include "core/compat.h"
#if SB_HAVE_UNWIND
#include <asm/unwind.h>
#endif

#include "core/internal.h"

#include "core/memory.c"
#include "core/request.c"
#include "core/table.c"
#include "core/ring.c"
#include "core/text.c"
#include "core/recall.c"
#include "core/symbol.c"
#include "core/depth.c"
#include "core/evict.c"
#include "core/module.c"
#include "core/filter.c"
#include "core/unwind.c"
#include "core/capture.c"
#include "core/probe.c"
#include "core/print.c"
#include "core/freeze.c"

MODULE_LICENSE("GPL");
MODULE_VERSION("1.0");
MODULE_DESCRIPTION("Flight recorder for kernel call stacks");

/* Before sb_init() there is nothing to record into: it looks at this itself */
static bool sb_enable = true;

static int sb_set_enable(const char *value, const struct kernel_param *param)
{
	bool enable;

	if (!value || kstrtobool(value, &enable)) {
		pr_err("enable: 0 or 1 is accepted, not '%.*s'\n",
		       value ? (int)strcspn(value, "\n") : 0, value);
		return -EINVAL;
	}
	sb_enable = enable;
	/* Not before the arrays are ready, and an instance that failed to load stays off */
	if (!stackbuf_info.page.instance)
		return 0;
	/* Both also end what an oops froze; after a panic nobody gets here */
	if (enable) {
		sb_change_state(STACKBUF_FROZEN_OOPS, false);
		sb_change_state(STACKBUF_ENABLED, true);
		WRITE_ONCE(stackbuf_info.stop_ns, 0);
	} else {
		bool was = sb_running();

		/* In one step, or recording would go on for a moment */
		sb_change_state(STACKBUF_FROZEN_OOPS | STACKBUF_ENABLED, false);
		if (was)
			WRITE_ONCE(stackbuf_info.stop_ns, sb_now());
	}
	return 0;
}

static int sb_get_enable(char *buffer, const struct kernel_param *param)
{
	bool on = stackbuf_info.page.instance ? sb_running() : sb_enable;

	return sysfs_emit(buffer, "%d\n", on);
}

static const struct kernel_param_ops sb_enable_ops = {
	.set = sb_set_enable,
	.get = sb_get_enable,
};

module_param_cb(enable, &sb_enable_ops, NULL, 0644);
MODULE_PARM_DESC(enable, "Record: 0 or 1 (default 1). Reads 0 after an oops; 1 goes on");

/**
 * struct sb_number - a parameter that is a number
 * @value:	where it is kept
 * @min:	least value accepted
 * @max:	greatest; 0: the highest number of a CPU
 * @written:	called when it was written, or NULL
 */
struct sb_number {
	int *value;
	s64 min;
	s64 max;
	void (*written)(void);
};

static int sb_set_number(const char *value, const struct kernel_param *param)
{
	const struct sb_number *number = param->arg;
	s64 max = number->max ?: nr_cpu_ids - 1;
	s64 n;

	if (!value || kstrtoll(value, 0, &n) || n < number->min || n > max) {
		pr_err("%s: a number from %lld to %lld is accepted, not '%.*s'\n", param->name,
		       number->min, max, value ? (int)strcspn(value, "\n") : 0, value);
		return -EINVAL;
	}
	WRITE_ONCE(*number->value, n);
	if (number->written)
		number->written();
	return 0;
}

static int sb_get_number(char *buffer, const struct kernel_param *param)
{
	const struct sb_number *number = param->arg;

	return sysfs_emit(buffer, number->min < 0 ? "%d\n" : "%u\n", *number->value);
}

static const struct kernel_param_ops sb_number_ops = {
	.set = sb_set_number,
	.get = sb_get_number,
};

#define SB_NUMBER(name, variable, min, max, written)					\
	static const struct sb_number sb_number_##name = {				\
		(int *)&(variable), min, max, written					\
	};										\
	module_param_cb(name, &sb_number_ops, (void *)&sb_number_##name, 0644)

SB_NUMBER(panic_dump, sb_panic_dump, 0, SB_PANIC_DUMP_MAX, NULL);
MODULE_PARM_DESC(panic_dump,
		 "Events to print to the kernel log at a panic: 0 to 1000 (default 0)");
SB_NUMBER(verify, sb_verify, 0, SB_VERIFY_MAX, sb_apply_verify);
MODULE_PARM_DESC(verify,
		 "Check one in so many recalled stacks by a walk: 1 to 1000000 (default 4096), 0: none");

/* For root only: an address may have been written */
module_param_cb(probe, &sb_probe_ops, NULL, 0600);
MODULE_PARM_DESC(probe,
		 "Record where these are called: [MODULE:]FUNCTION[+OFFSET] or 0xADDRESS, each with @argN or @retaddr for a tag, comma-separated; +... adds (default none)");
SB_NUMBER(pid, sb_filter_pid, 0, PID_MAX_LIMIT, sb_apply_filter);
MODULE_PARM_DESC(pid, "Record this process (thread group) only: its PID (default 0: all)");
SB_NUMBER(cpu, sb_filter_cpu, -1, 0, sb_apply_filter);
MODULE_PARM_DESC(cpu, "Record on this CPU only: its number (default -1: all)");
module_param_cb(comm, &sb_comm_ops, NULL, 0644);
MODULE_PARM_DESC(comm, "Record tasks of this name only: up to 15 bytes (default \"\": all)");
SB_NUMBER(limit, sb_filter_limit, 0, U32_MAX, sb_apply_limit);
MODULE_PARM_DESC(limit,
		 "Record so many events from now on, then none: 0 to 4294967295 (default 0: no limit)");
SB_NUMBER(every, sb_filter_every, 1, U32_MAX, sb_apply_every);
MODULE_PARM_DESC(every, "Record one in so many events, by CPU: 1 to 4294967295 (default 1: all)");

/* debugfs: the bytes of the arrays */

static struct dentry *sb_dir;
static struct debugfs_blob_wrapper sb_blob[] = {
	{ stackbuf, SB_TEXT_PAGES * STACKBUF_PAGE_SIZE },
	{ &stackbuf_info, sizeof(stackbuf_info) },
	{ stackbuf_events, SB_EVENT_PAGES * STACKBUF_PAGE_SIZE },
	{ stackbuf_stacks, SB_STACK_PAGES * STACKBUF_PAGE_SIZE },
};

/* The arrays hold addresses and arguments, as tracefs does, and are closed when that is */
static int sb_open_array(struct inode *inode, struct file *file)
{
	int err = security_locked_down(LOCKDOWN_TRACEFS);

	return err ? err : simple_open(inode, file);
}

/* Recording goes on: readers check what they copied */
static ssize_t sb_read_array(struct file *file, char __user *to, size_t count, loff_t *pos)
{
	const struct debugfs_blob_wrapper *array = file->private_data;

	return simple_read_from_buffer(to, count, pos, array->data, array->size);
}

static const struct file_operations sb_array_fops = {
	/* The kernel looks at this struct again when a file is closed */
	.owner = THIS_MODULE,
	.open = sb_open_array,
	.read = sb_read_array,
	.llseek = default_llseek,
};

/* Whether debugfs is there or closed matters to nobody but its readers */
static void __init sb_init_debugfs(void)
{
	static const char * const name[] = { "text", "info", "events", "stacks" };
	int i;

	sb_dir = debugfs_create_dir("stackbuf", NULL);
	for (i = 0; i < ARRAY_SIZE(sb_blob); i++)
		debugfs_create_file(name[i], 0400, sb_dir, &sb_blob[i], &sb_array_fops);
}

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
	debugfs_remove(sb_dir);
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
