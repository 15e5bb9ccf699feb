// SPDX-License-Identifier: GPL-2.0
/*
 * stackbuf_test.ko - a client of stackbuf with many callers, for the tests
 *
 * A line written to /sys/kernel/debug/stackbuf_test/run is a command with up to
 * four numbers, see commands[].  The write returns when the command has finished;
 * reading the file then gives its results: "ok ..." and "not ok ..." for what only
 * the kernel can check, and figures for the scripts to check.
 *
 * The callers are sixteen functions that call each other in the order given by the
 * nibbles of a number, the "path": each path is another stack, and the frames of a
 * stack identify its path.  Every id that stackbuf returns is looked up in its table
 * immediately, and the stack there is compared with the path.
 *
 * Only for the virtual machine of the tests: it panics on command.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "test.h"

#define OUT_SIZE	0x100000

static struct dentry *test_dir;
static DEFINE_MUTEX(run_lock);	/* one command at a time; protects out and out_len */
static char *out;		/* output of the last command */
static size_t out_len;
static DEFINE_RAW_SPINLOCK(out_lock);	/* serializes say() */

__printf(1, 2) void say(const char *fmt, ...)
{
	unsigned long flags;
	va_list args;

	va_start(args, fmt);
	/* Workers may print concurrently */
	raw_spin_lock_irqsave(&out_lock, flags);
	out_len += vscnprintf(out + out_len, OUT_SIZE - out_len, fmt, args);
	raw_spin_unlock_irqrestore(&out_lock, flags);
	va_end(args);
}

void check(bool good, const char *what)
{
	say("%s %s\n", good ? "ok" : "not ok", what);
}

/* ------------------------------------------------------------- threads --- */

static int worker_thread(void *data)
{
	struct worker *w = data;

	w->fn(w);
	complete(&w->done);
	sleep_until_stopped();
	return 0;
}

int on_cpus(int only, void (*fn)(struct worker *w), const u64 *arg)
{
	struct worker *all = kcalloc(nr_cpu_ids, sizeof(*all), GFP_KERNEL);
	int cpu, err = all ? 0 : -ENOMEM;

	if (err)
		return err;
	for_each_online_cpu(cpu) {
		struct worker *w = &all[cpu];

		if (only >= 0 && cpu != only)
			continue;
		w->fn = fn;
		w->cpu = cpu;
		if (arg)
			memcpy(w->arg, arg, sizeof(w->arg));
		init_completion(&w->done);
		w->task = kthread_create(worker_thread, w, "sbtest/%d", cpu);
		if (IS_ERR(w->task)) {
			err = PTR_ERR(w->task);
			w->task = NULL;
			break;
		}
		kthread_bind(w->task, cpu);
	}
	for_each_online_cpu(cpu)
		if (all[cpu].task)
			wake_up_process(all[cpu].task);
	for_each_online_cpu(cpu) {
		if (!all[cpu].task)
			continue;
		wait_for_completion(&all[cpu].done);
		kthread_stop(all[cpu].task);
	}
	kfree(all);
	return err;
}

/* -------------------------------------------------------------- the file --- */

#define COMMAND(name)	{ #name, cmd_##name }
static const struct {
	const char *name;
	command_fn *fn;
} commands[] = {
	COMMAND(depth), COMMAND(distinct), COMMAND(path), COMMAND(places), COMMAND(long),
	COMMAND(storm), COMMAND(tags), COMMAND(context), COMMAND(nmiprint), COMMAND(nest),
	COMMAND(step), COMMAND(turns), COMMAND(starve), COMMAND(late), COMMAND(latesteps),
	COMMAND(trace), COMMAND(print), COMMAND(kept), COMMAND(printid), COMMAND(guards),
	COMMAND(regs), COMMAND(replaced), COMMAND(later), COMMAND(calls), COMMAND(panic),
	COMMAND(sights), COMMAND(hold),
};

static ssize_t run_write(struct file *file, const char __user *from, size_t size, loff_t *pos)
{
	char line[128], name[16];
	u64 arg[4] = {};
	int i, err = -EINVAL;

	if (size >= sizeof(line) || copy_from_user(line, from, size))
		return -EINVAL;
	line[size] = 0;
	if (sscanf(line, "%15s %lli %lli %lli %lli", name, &arg[0], &arg[1], &arg[2], &arg[3]) < 1)
		return -EINVAL;
	mutex_lock(&run_lock);
	out_len = 0;
	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(name, commands[i].name))
			err = commands[i].fn(arg);
	mutex_unlock(&run_lock);
	return err ?: size;
}

static ssize_t run_read(struct file *file, char __user *to, size_t size, loff_t *pos)
{
	ssize_t n;

	mutex_lock(&run_lock);
	n = simple_read_from_buffer(to, size, pos, out, out_len);
	mutex_unlock(&run_lock);
	return n;
}

static const struct file_operations run_fops = {
	.owner = THIS_MODULE,
	.write = run_write,
	.read = run_read,
	.llseek = default_llseek,
};

static int __init stackbuf_test_init(void)
{
	out = vmalloc(OUT_SIZE);
	if (!out)
		return -ENOMEM;
	test_dir = debugfs_create_dir("stackbuf_test", NULL);
	debugfs_create_file("run", 0600, test_dir, NULL, &run_fops);
	return 0;
}

static void __exit stackbuf_test_exit(void)
{
	debugfs_remove(test_dir);
	nest_end();
	ring_end();
	vfree(out);
}

module_init(stackbuf_test_init);
module_exit(stackbuf_test_exit);

MODULE_DESCRIPTION("Callers of stackbuf for its tests");
MODULE_LICENSE("GPL");
