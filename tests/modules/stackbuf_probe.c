// SPDX-License-Identifier: GPL-2.0
/*
 * stackbuf_probe - save a stack whenever one of the given functions is called
 *
 * insmod stackbuf_probe.ko functions=dput,vfs_read,...; unloading prints
 *
 *	stackbuf_probe: attempted N missed M cost C P X
 *
 * With walk=1 it takes the stacks with stack_trace_save() instead.  C is the mean cost of an event
 * without the probe itself, in units of the cycle counter; of 100 events 99 take at most P, and all
 * take at most X.  Interrupts are off meanwhile, so they are not measured as well.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/irqflags.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/stacktrace.h>
#include <linux/timex.h>
#include "../stackbuf.h"

static char *functions[32];
static int nr_functions;
module_param_array(functions, charp, &nr_functions, 0444);

static bool walk;
module_param(walk, bool, 0444);

static struct kprobe probes[32];
static DEFINE_PER_CPU(unsigned long, attempted);
static DEFINE_PER_CPU(u64, cycles);
/* How many took so long, in steps of 16: where one CPU runs at a time */
static unsigned int took_so_long[8192];
static unsigned long longest;
/* Allocated: the kernel has only 8 KiB for the static per-CPU data of all modules */
static unsigned long __percpu *trace;

static int save(struct kprobe *probe, struct pt_regs *regs)
{
	unsigned long ip = instruction_pointer(regs), flags, took;
	u64 start;

	/* Point to the probed instruction, whichever way kprobes implement this probe */
	instruction_pointer_set(regs, (unsigned long)probe->addr);
	this_cpu_inc(attempted);
	raw_local_irq_save(flags);
	start = get_cycles();
	if (walk)
		stack_trace_save(this_cpu_ptr(trace), STACKBUF_DEPTH_MAX, 0);
	else
		stackbuf_save_regs(regs, probe - probes);
	took = get_cycles() - start;
	raw_local_irq_restore(flags);
	this_cpu_add(cycles, took);
	/* Racy where several CPUs run: they are looked at where one does */
	data_race(took_so_long[min(took / 16, ARRAY_SIZE(took_so_long) - 1)]++);
	/* Likewise */
	data_race(longest = max(longest, took));
	instruction_pointer_set(regs, ip);
	return 0;
}

NOKPROBE_SYMBOL(save);

static void report(int n)
{
	unsigned long sum = 0, missed = 0, most = 0;
	unsigned int at = 0;
	u64 took = 0;
	int i;

	for (i = 0; i < n; i++) {
		unregister_kprobe(&probes[i]);
		missed += probes[i].nmissed;
	}
	free_percpu(trace);
	for_each_possible_cpu(i) {
		sum += per_cpu(attempted, i);
		took += per_cpu(cycles, i);
	}
	while (at < ARRAY_SIZE(took_so_long) && most < sum - sum / 100)
		most += took_so_long[at++];
	pr_info("attempted %lu missed %lu cost %llu %u %lu\n", sum, missed,
		sum ? div64_u64(took, sum) : 0, 16 * at, longest);
}

static int __init probe_init(void)
{
	int i, err;

	trace = __alloc_percpu(STACKBUF_DEPTH_MAX * sizeof(*trace), sizeof(*trace));
	if (!trace)
		return -ENOMEM;
	for (i = 0; i < nr_functions; i++) {
		probes[i].symbol_name = functions[i];
		probes[i].pre_handler = save;
		err = register_kprobe(&probes[i]);
		if (err) {
			pr_err("no probe on %s: %d\n", functions[i], err);
			report(i);
			return err;
		}
	}
	return 0;
}
module_init(probe_init);

static void __exit probe_exit(void)
{
	report(nr_functions);
}
module_exit(probe_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Saves from probes, for tests");
