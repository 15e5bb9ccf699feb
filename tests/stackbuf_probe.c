// SPDX-License-Identifier: GPL-2.0
/*
 * stackbuf_probe - save a stack whenever one of the functions named is called
 *
 * insmod stackbuf_probe.ko functions=dput,vfs_read,...; unloading prints
 *
 *	stackbuf_probe: attempted N missed M
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kprobes.h>
#include <linux/module.h>
#include "../stackbuf.h"

static char *functions[32];
static int nr_functions;
module_param_array(functions, charp, &nr_functions, 0444);
MODULE_PARM_DESC(functions, "Functions to probe");

static struct kprobe probes[32];
static DEFINE_PER_CPU(unsigned long, attempted);

static int save(struct kprobe *probe, struct pt_regs *regs)
{
	unsigned long ip = instruction_pointer(regs);

	/* As if before the probed instruction, however the probe is made */
	instruction_pointer_set(regs, (unsigned long)probe->addr);
	this_cpu_inc(attempted);
	stackbuf_save_regs(regs, probe - probes);
	instruction_pointer_set(regs, ip);
	return 0;
}

NOKPROBE_SYMBOL(save);

static void report(int n)
{
	unsigned long sum = 0, missed = 0;
	int i;

	for (i = 0; i < n; i++) {
		unregister_kprobe(&probes[i]);
		missed += probes[i].nmissed;
	}
	for_each_possible_cpu(i)
		sum += per_cpu(attempted, i);
	pr_info("attempted %lu missed %lu\n", sum, missed);
}

static int __init probe_init(void)
{
	int i, err;

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
