// SPDX-License-Identifier: GPL-2.0
/*
 * params.c - what user space writes and reads: module parameters and debugfs
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/moduleparam.h>
#include <linux/security.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/threads.h>

#include "recall.h"
#include "probe.h"

/* Before init there is nothing to record into: stackbuf_init() applies this when there is */
bool sbuf_enable = true;

static int set_enable(const char *value, const struct kernel_param *param)
{
	bool enable;

	if (!value || kstrtobool(value, &enable)) {
		pr_err("enable: 0 or 1 is accepted, not '%.*s'\n",
		       value ? (int)strcspn(value, "\n") : 0, value);
		return -EINVAL;
	}
	sbuf_enable = enable;
	/* The arrays are not ready yet; or loading failed, and recording stays off */
	if (!stackbuf_info.page.instance)
		return 0;
	/* Both also end the freeze of an oops.  After a panic no task runs that could write */
	if (enable) {
		sbuf_state_change(STACKBUF_FROZEN_OOPS, false);
		sbuf_state_change(STACKBUF_ENABLED, true);
		WRITE_ONCE(stackbuf_info.stop_ns, 0);
	} else {
		bool was_running = sbuf_recording();

		/* In one step, or recording would resume in between */
		sbuf_state_change(STACKBUF_FROZEN_OOPS | STACKBUF_ENABLED, false);
		if (was_running)
			WRITE_ONCE(stackbuf_info.stop_ns, sbuf_now());
	}
	return 0;
}

static int get_enable(char *buffer, const struct kernel_param *param)
{
	bool on = stackbuf_info.page.instance ? sbuf_recording() : sbuf_enable;

	return sysfs_emit(buffer, "%d\n", on);
}

static const struct kernel_param_ops enable_ops = {
	.set = set_enable,
	.get = get_enable,
};

module_param_cb(enable, &enable_ops, NULL, 0644);
MODULE_PARM_DESC(enable, "Record: 0 or 1 (default 1). After an oops it reads 0; write 1 to resume");

/* A parameter that is a number */
struct number {
	int *value;		/* its variable, int or unsigned int */
	s64 min;		/* least value accepted */
	s64 max;		/* greatest value accepted; 0: the highest number of a CPU */
	void (*apply)(void);	/* called after the parameter was written, or NULL */
};

static int set_number(const char *value, const struct kernel_param *param)
{
	const struct number *number = param->arg;
	s64 max = number->max ?: nr_cpu_ids - 1;
	s64 n;

	if (!value || kstrtoll(value, 0, &n) || n < number->min || n > max) {
		pr_err("%s: a number from %lld to %lld is accepted, not '%.*s'\n", param->name,
		       number->min, max, value ? (int)strcspn(value, "\n") : 0, value);
		return -EINVAL;
	}
	WRITE_ONCE(*number->value, n);
	if (number->apply)
		number->apply();
	return 0;
}

static int get_number(char *buffer, const struct kernel_param *param)
{
	const struct number *number = param->arg;

	return sysfs_emit(buffer, number->min < 0 ? "%d\n" : "%u\n", *number->value);
}

static const struct kernel_param_ops number_ops = {
	.set = set_number,
	.get = get_number,
};

#define NUMBER_PARAM(name, variable, min, max, apply)					\
	static const struct number number_##name = {				\
		(int *)&(variable), min, max, apply					\
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
		 "Events to print to the kernel log at a panic: 0 to 1000 (default 0)");
NUMBER_PARAM(verify, sbuf_verify, 0, SBUF_VERIFY_MAX, sbuf_recall_apply_verify);
MODULE_PARM_DESC(verify,
		 "Verify one in N recalled stacks by a walk: 1 to 1000000 (default 4096); 0: none");

#if STACKBUF_WITH_PROBES
/* For root only: an address may have been written */
module_param_cb(probe, &sbuf_probe_ops, NULL, 0600);
MODULE_PARM_DESC(probe,
		 "Record where these are called: [MODULE:]FUNCTION[+OFFSET] or 0xADDRESS, each with @argN or @retaddr for a tag, comma-separated; +... adds (default none)");
#endif

NUMBER_PARAM(pid, sbuf_filter.pid, 0, PID_MAX_LIMIT, sbuf_filter_apply);
MODULE_PARM_DESC(pid, "Record this process (thread group) only: its PID (default 0: all)");
NUMBER_PARAM(cpu, sbuf_filter.cpu, -1, 0, sbuf_filter_apply);
MODULE_PARM_DESC(cpu, "Record on this CPU only: its number (default -1: all)");
module_param_cb(comm, &comm_ops, NULL, 0644);
MODULE_PARM_DESC(comm, "Record tasks of this name only: up to 15 bytes (default \"\": all)");
NUMBER_PARAM(limit, sbuf_filter.limit, 0, U32_MAX, sbuf_filter_apply_limit);
MODULE_PARM_DESC(limit,
		 "Record N more events, then none: 0 to 4294967295 (default 0: no limit)");
NUMBER_PARAM(every, sbuf_filter.every, 1, U32_MAX, sbuf_filter_apply_every);
MODULE_PARM_DESC(every, "Record one in N events of each CPU: 1 to 4294967295 (default 1: all)");

/* ---------------------------------------------------------------- debugfs --- */

static struct dentry *debugfs_dir;
static struct debugfs_blob_wrapper debugfs_array[] = {
	{ stackbuf, SBUF_TEXT_PAGES * STACKBUF_PAGE_SIZE },
	{ &stackbuf_info, sizeof(stackbuf_info) },
	{ stackbuf_events, SBUF_EVENT_PAGES * STACKBUF_PAGE_SIZE },
	{ stackbuf_stacks, SBUF_STACK_PAGES * STACKBUF_PAGE_SIZE },
};

/* The arrays hold addresses and arguments, like tracefs, and are locked down like it */
static int open_array(struct inode *inode, struct file *file)
{
	int err = security_locked_down(LOCKDOWN_TRACEFS);

	if (!err)
		file->private_data = (void *)(long)sbuf_filter_add_reader();
	return err;
}

static int release_array(struct inode *inode, struct file *file)
{
	sbuf_filter_remove_reader((long)file->private_data);
	return 0;
}

/* Recording continues while this copies: readers check their copies */
static ssize_t read_array(struct file *file, char __user *to, size_t count, loff_t *pos)
{
	const struct debugfs_blob_wrapper *array = file_inode(file)->i_private;

	return simple_read_from_buffer(to, count, pos, array->data, array->size);
}

static const struct file_operations array_fops = {
	/* The kernel reads this struct when a file is closed, so open files keep the module */
	.owner = THIS_MODULE,
	.open = open_array,
	.release = release_array,
	.read = read_array,
	.llseek = default_llseek,
};

/* Errors are ignored: without debugfs, only its readers miss something */
void __init sbuf_debugfs_init(void)
{
	static const char * const name[] = { "text", "info", "events", "stacks" };
	int i;

	debugfs_dir = debugfs_create_dir("stackbuf", NULL);
	for (i = 0; i < ARRAY_SIZE(debugfs_array); i++)
		debugfs_create_file(name[i], 0400, debugfs_dir, &debugfs_array[i],
				    &array_fops);
}

void sbuf_debugfs_exit(void)
{
	debugfs_remove(debugfs_dir);
}
