// SPDX-License-Identifier: GPL-2.0
/*
 * stackbuf - a flight recorder for kernel call stacks
 *
 * Code under study calls stackbuf_save().  The module records every call in its static memory: the
 * stack, time, CPU and task.  Readers read that memory live or in a dump, without the module's
 * help.  stackbuf.h declares the calls, stackbuf_format.h the memory format.
 *
 * An event goes through these files, in this order:
 *
 *	core/save.h	decides whether to record it
 *	core/recall.h	compares memory to recognise a known stack without walking it
 *	core/save.c	handles a stack that recall does not recognise:
 *	core/unwind.c	walks the stack
 *	core/table.c	finds or assigns the id of the frames
 *	core/ring.c	appends the event
 *
 * core/text.c renders new stacks into the text log, core/evict.c makes room in the table;
 * core/worker.c starts these and other workers.
 * core/probe.c holds the list of probes, core/hit.h handles a hit; core/pair.c tracks the objects
 * that some probes open and others close.
 * core/modules.c follows modules that are loaded and unloaded.  core/print.c prints to the kernel
 * log, core/panic.c stops recording when the machine goes down.  core/debugfs.c exports the arrays.
 *
 * The module takes EVENTS_KB + 2 * STACKS_KB + TEXT_KB + PAIRS_KB, plus STACKS_KB / 6, 900 KiB of
 * tables and 29 KiB per CPU: about 10 MiB by default.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpumask.h>
#include <linux/kernel.h>
#include <linux/moduleparam.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/threads.h>

#include "core/filter.h"
#include "core/keep.h"
#include "core/modules.h"
#include "core/pair.h"
#include "core/panic.h"
#include "core/print.h"
#include "core/probe.h"
#include "core/recall.h"
#include "core/ring.h"
#include "core/worker.h"

#if SBUF_BUILT_IN
#include <linux/stackbuf.h>
#endif

MODULE_LICENSE("GPL");
MODULE_VERSION(STACKBUF_MODULE_VERSION);
MODULE_DESCRIPTION("Flight recorder for kernel call stacks");

/* ------------------------------------------------------------- parameters --- */

/* If it is set before init, begin() applies it once the arrays are ready */
static bool enabled = true;

static int set_enable(const char *value, const struct kernel_param *param)
{
	/* A refused value leaves @enabled unchanged.  kstrtobool() ignores what follows */
	if (!value || strcspn(value, "\n") != 1 || kstrtobool(value, &enabled)) {
		pr_err("enable: 0 or 1 is accepted, not '%.*s'\n",
		       value ? (int)strcspn(value, "\n") : 0, value);
		return -EINVAL;
	}
	/* The arrays are not ready yet */
	if (!stackbuf_info.page.instance)
		return 0;
	/* Writing 0 or 1 also ends the freeze of an oops.  After a panic no task runs to write */
	if (enabled) {
		if (sbuf_recording())
			return 0;
		/* Before recording resumes: a trigger may stop it at once */
		sbuf_pair_resume();
		WRITE_ONCE(stackbuf_info.stop_ns, 0);
		sbuf_filter_arm_again();
		sbuf_state_change(STACKBUF_ENABLED, true);
		/* After an oops this resumes it: arming would forget a hit */
		sbuf_state_change(STACKBUF_FROZEN_OOPS, false);
	} else {
		bool was_running = sbuf_recording();

		/* In one step: clearing the freeze first would let recording resume briefly */
		sbuf_state_change(STACKBUF_FROZEN_OOPS | STACKBUF_FROZEN_TRIGGER |
				  STACKBUF_ENABLED, false);
		if (was_running)
			WRITE_ONCE(stackbuf_info.stop_ns, sbuf_now());
	}
	return 0;
}

static int get_enable(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%d\n", stackbuf_info.page.instance ? sbuf_recording() : enabled);
}

static const struct kernel_param_ops enable_ops = {
	.set = set_enable,
	.get = get_enable,
};

module_param_cb(enable, &enable_ops, NULL, 0644);
MODULE_PARM_DESC(enable, "Record: 0 or 1 (default 1). It reads 0 after an oops or a trigger; write 1 to resume");

/* A numeric parameter */
struct number {
	void *value;		/* its variable: an int, an unsigned int or a u64 */
	size_t size;		/* size of the variable */
	s64 min;		/* least value accepted; below 0 for a CPU number */
	u64 max;		/* greatest value accepted; not used for a CPU number */
	void (*apply)(void);	/* called after the parameter was written, or NULL */
};

static int set_number(const char *value, const struct kernel_param *param)
{
	const struct number *number = param->arg;
	/* Only a CPU number has @min below 0; its maximum is known at run time */
	u64 max = number->min < 0 ? nr_cpu_ids - 1 : number->max, n = 0;
	int err = -EINVAL;

	if (value)
		err = number->min < 0 ? kstrtoll(value, 0, (s64 *)&n) : kstrtoull(value, 0, &n);
	/* Unsigned: a value below @min wraps and exceeds the range */
	if (err || n - number->min > max - number->min) {
		pr_err("%s: a number from %lld to %llu is accepted, not '%.*s'\n", param->name,
		       number->min, max, value ? (int)strcspn(value, "\n") : 0, value);
		return -EINVAL;
	}
	if (number->size == sizeof(u64))
		WRITE_ONCE(*(u64 *)number->value, n);
	else
		WRITE_ONCE(*(u32 *)number->value, n);
	if (number->apply)
		number->apply();
	return 0;
}

static int get_number(char *buffer, const struct kernel_param *param)
{
	const struct number *number = param->arg;

	if (number->size == sizeof(u64))
		return sysfs_emit(buffer, "%llu\n", *(u64 *)number->value);
	return sysfs_emit(buffer, number->min < 0 ? "%d\n" : "%u\n", *(u32 *)number->value);
}

static const struct kernel_param_ops number_ops = {
	.set = set_number,
	.get = get_number,
};

#define NUMBER_PARAM(name, variable, min, max, apply)					\
	static const struct number number_##name = {				\
		&(variable), sizeof(variable), min, max, apply				\
	};										\
	module_param_cb(name, &number_ops, (void *)&number_##name, 0644)

static int set_comm_param(const char *value, const struct kernel_param *param)
{
	size_t len = value ? strcspn(value, "\n") : 0;

	if (!value || len >= TASK_COMM_LEN || value[len + !!value[len]]) {
		pr_err("comm: a command's name of up to %d bytes is accepted, not '%.*s'\n",
		       TASK_COMM_LEN - 1, (int)len, value);
		return -EINVAL;
	}
	memset(sbuf_filter.comm, 0, sizeof(sbuf_filter.comm));
	memcpy(sbuf_filter.comm, value, len);
	sbuf_filter_apply();
	return 0;
}

static int get_comm_param(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%s\n", sbuf_filter.comm);
}

static const struct kernel_param_ops comm_ops = {
	.set = set_comm_param,
	.get = get_comm_param,
};

NUMBER_PARAM(panic_dump, sbuf_panic_dump, 0, SBUF_PANIC_DUMP_MAX, sbuf_panic_apply_dump);
MODULE_PARM_DESC(panic_dump,
		 "Print the last N events to the kernel log at a panic: 0 to 1000 (default 0)");
NUMBER_PARAM(verify, sbuf_verify, 0, SBUF_VERIFY_MAX, sbuf_recall_apply_verify);
MODULE_PARM_DESC(verify,
		 "Verify one in N recalled stacks by a walk: 1 to 1000000 (default 4096); 0: none");

#if STACKBUF_WITH_PROBES
/* For root only: the value may contain an address */
module_param_cb(probe, &sbuf_probe_ops, &sbuf_probe_param, 0600);
MODULE_PARM_DESC(probe,
		 "Record the stack where these are called: [MODULE:]FUNCTION[+OFFSET], [MODULE:]PATTERN, t:[GROUP:]EVENT or 0xADDRESS, with @argN, @retaddr or @sp as the tag, or where FUNCTION%return[@retval|@error|@null|@sp|@took[TIME]] returns; comma-separated; a leading + adds to the list (default none)");
module_param_cb(trigger, &sbuf_probe_ops, &sbuf_trigger_param, 0600);
MODULE_PARM_DESC(trigger,
		 "Stop recording N events after a hit of one of these places (as for probe): PLACE,...[:N] (default none)");
#endif
#if STACKBUF_PAIR_PAGES
module_param_cb(pair, &sbuf_probe_ops, &sbuf_pair_param, 0600);
MODULE_PARM_DESC(pair,
		 "Track outstanding objects: OPEN@KEY[@VALUE]:CLOSE@KEY (places as for probe), or slab, page, offcpu, wakers, contention; comma-separated (default none)");
#endif

NUMBER_PARAM(pid, sbuf_filter.pid, 0, PID_MAX_LIMIT, sbuf_filter_apply);
MODULE_PARM_DESC(pid, "Record only this process (thread group): its PID (default 0: all)");
NUMBER_PARAM(cpu, sbuf_filter.cpu, -1, 0, sbuf_filter_apply);
MODULE_PARM_DESC(cpu, "Record only on this CPU: its number (default -1: all)");
NUMBER_PARAM(cgroup, sbuf_filter.cgroup, 0, IS_ENABLED(CONFIG_CGROUPS) ? U64_MAX : 0,
	     sbuf_filter_apply);
MODULE_PARM_DESC(cgroup,
		 "Record only tasks in this cgroup and below: inode number of its directory in cgroup2 (default 0: all)");
module_param_cb(comm, &comm_ops, NULL, 0644);
MODULE_PARM_DESC(comm, "Record only tasks with this name: up to 15 bytes (default \"\": all)");
NUMBER_PARAM(limit, sbuf_filter.limit, 0, U32_MAX, sbuf_filter_apply_limit);
MODULE_PARM_DESC(limit,
		 "Record N more events, then none: 0 to 4294967295 (default 0: no limit)");
NUMBER_PARAM(every, sbuf_filter.every, 1, U32_MAX, sbuf_filter_apply_every);
MODULE_PARM_DESC(every, "Record one in N events on each CPU: 1 to 4294967295 (default 1: all)");

/* ----------------------------------------------------------- load, unload --- */

#if SBUF_BUILT_IN
static DEFINE_PER_CPU(struct sbuf_cpu, cpus);
#define NEW_CPUS()	(&cpus)

static void __init free_cpus(void)
{
	sbuf_cpu = NULL;
}
#else
#define NEW_CPUS()	alloc_percpu(struct sbuf_cpu)

/* Parameters stay writable during exit; clear sbuf_cpu under their lock so that setters see NULL */
static void free_cpus(void)
{
	struct sbuf_cpu __percpu *cpus = sbuf_cpu;

	kernel_param_lock(THIS_MODULE);
	sbuf_cpu = NULL;
	kernel_param_unlock(THIS_MODULE);
	free_percpu(cpus);
}
#endif

/* The kernel's limit for one per-CPU allocation */
static_assert(sizeof(struct sbuf_cpu) <= PCPU_MIN_UNIT_SIZE);

#ifdef CONFIG_ARM64
unsigned long sbuf_signature __ro_after_init;
#endif

/* Set up the arrays and start recording */
static int __init begin(void)
{
	int cpu;

	sbuf_cpu = NEW_CPUS();
	if (!sbuf_cpu)
		return -ENOMEM;
#ifdef CONFIG_ARM64
	sbuf_signature = GENMASK_ULL(63, vabits_actual) & ~BIT_ULL(55);
#endif
	for_each_possible_cpu(cpu)
		per_cpu_ptr(sbuf_cpu, cpu)->verify_in = sbuf_verify;
	sbuf_memory_init();
	sbuf_modules_init();
	sbuf_panic_init();
	/* Parameters are already writable */
	kernel_param_lock(THIS_MODULE);
	sbuf_filter_apply_limit();
	sbuf_state_change(STACKBUF_ENABLED, enabled);
	kernel_param_unlock(THIS_MODULE);
	return 0;
}

#if SBUF_BUILT_IN
/*
 * Called by start_kernel() once per-CPU data is at its final place and parameters have been parsed:
 * a save needs nothing else.
 */
void __init stackbuf_early_init(void)
{
	if (begin())
		pr_err("recording cannot be started\n");
}

/*
 * Runs once kprobes work and, from Linux 7 on, RCU can wait for tasks, which ftrace requires when a
 * list of probes is replaced.  kernel/ initialises both, and is linked before lib/.
 */
static int __init set_probes(void)
{
	if (!sbuf_cpu)
		stackbuf_early_init();
	if (!sbuf_cpu)
		return -ENOMEM;
	sbuf_memory_note_time();
	sbuf_worker_resubmit();
	return sbuf_probe_init();
}
core_initcall(set_probes);

static int __init prepare(void)
{
	if (!sbuf_cpu)
		return -ENOMEM;
	/* Again: some machines get the time from a driver */
	sbuf_memory_note_time();
	sbuf_memory_note_instance();
	/* After resources are set up.  An error was reported, and must not keep us from booting */
	sbuf_keep_init();
	return 0;
}
#else
static int __init prepare(void)
{
	int err = begin();

	if (err)
		return err;
	err = sbuf_keep_init() ?: sbuf_probe_init();
	if (!err)
		return 0;
	sbuf_state_change(STACKBUF_ENABLED, false);
	sbuf_panic_exit();
	sbuf_modules_exit();
	/* Before kept memory is unmapped: workers store there, too */
	sbuf_worker_exit();
	sbuf_keep_exit();
	free_cpus();
	return err;
}
#endif

static int __init stackbuf_init(void)
{
	int err = prepare();

	if (err)
		return err;
	sbuf_debugfs_init();
	sbuf_printk(KERN_INFO "INIT stackbuf.\n");
	stackbuf_print();
	if (enabled)
		stackbuf_save();
	return 0;
}

#if SBUF_BUILT_IN
late_initcall_sync(stackbuf_init);
#else
module_init(stackbuf_init);

/*
 * After sbuf_probe_exit() no save can begin: only modules that depend on this one call it, and they
 * were unloaded before.
 */
static void __exit stackbuf_exit(void)
{
	stackbuf_print();
	sbuf_probe_exit();
	sbuf_freeze(STACKBUF_UNLOADED);
	/* Before sbuf_modules_exit(): rendering needs the symbols of modules */
	sbuf_text_flush(NULL);
	sbuf_debugfs_exit();
	sbuf_panic_exit();
	sbuf_modules_exit();
	sbuf_worker_exit();
	sbuf_keep_exit();

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
#endif
