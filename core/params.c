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
bool sb_enable = true;

static int sb_set_enable(const char *value, const struct kernel_param *param)
{
	bool enable;

	if (!value || kstrtobool(value, &enable)) {
		pr_err("enable: 0 or 1 is accepted, not '%.*s'\n",
		       value ? (int)strcspn(value, "\n") : 0, value);
		return -EINVAL;
	}
	sb_enable = enable;
	/* The arrays are not ready yet; or loading failed, and recording stays off */
	if (!stackbuf_info.page.instance)
		return 0;
	/* Both also end the freeze of an oops.  After a panic no task runs that could write */
	if (enable) {
		sb_change_state(STACKBUF_FROZEN_OOPS, false);
		sb_change_state(STACKBUF_ENABLED, true);
		WRITE_ONCE(stackbuf_info.stop_ns, 0);
	} else {
		bool was_running = sb_recording();

		/* In one step, or recording would resume in between */
		sb_change_state(STACKBUF_FROZEN_OOPS | STACKBUF_ENABLED, false);
		if (was_running)
			WRITE_ONCE(stackbuf_info.stop_ns, sb_now());
	}
	return 0;
}

static int sb_get_enable(char *buffer, const struct kernel_param *param)
{
	bool on = stackbuf_info.page.instance ? sb_recording() : sb_enable;

	return sysfs_emit(buffer, "%d\n", on);
}

static const struct kernel_param_ops sb_enable_ops = {
	.set = sb_set_enable,
	.get = sb_get_enable,
};

module_param_cb(enable, &sb_enable_ops, NULL, 0644);
MODULE_PARM_DESC(enable, "Record: 0 or 1 (default 1). After an oops it reads 0; write 1 to resume");

/* A parameter that is a number */
struct sb_number {
	int *value;		/* its variable, int or unsigned int */
	s64 min;		/* least value accepted */
	s64 max;		/* greatest value accepted; 0: the highest number of a CPU */
	void (*apply)(void);	/* called after the parameter was written, or NULL */
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
	if (number->apply)
		number->apply();
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

#define SB_NUMBER(name, variable, min, max, apply)					\
	static const struct sb_number sb_number_##name = {				\
		(int *)&(variable), min, max, apply					\
	};										\
	module_param_cb(name, &sb_number_ops, (void *)&sb_number_##name, 0644)

static int sb_set_comm(const char *value, const struct kernel_param *param)
{
	size_t len = value ? strcspn(value, "\n") : 0;

	if (!value || len >= TASK_COMM_LEN || value[len + !!value[len]]) {
		pr_err("comm: a command's name of up to %d bytes is accepted, not '%.*s'\n",
		       TASK_COMM_LEN - 1, (int)len, value);
		return -EINVAL;
	}
	memset(sb_filter.comm, 0, sizeof(sb_filter.comm));
	memcpy(sb_filter.comm, value, len);
	sb_apply_filter();
	return 0;
}

static int sb_get_comm(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%s\n", sb_filter.comm);
}

static const struct kernel_param_ops sb_comm_ops = {
	.set = sb_set_comm,
	.get = sb_get_comm,
};

SB_NUMBER(panic_dump, sb_panic_dump, 0, SB_PANIC_DUMP_MAX, sb_apply_panic_dump);
MODULE_PARM_DESC(panic_dump,
		 "Events to print to the kernel log at a panic: 0 to 1000 (default 0)");
SB_NUMBER(verify, sb_verify, 0, SB_VERIFY_MAX, sb_apply_verify);
MODULE_PARM_DESC(verify,
		 "Verify one in N recalled stacks by a walk: 1 to 1000000 (default 4096); 0: none");

#if STACKBUF_WITH_PROBES
/* For root only: an address may have been written */
module_param_cb(probe, &sb_probe_ops, NULL, 0600);
MODULE_PARM_DESC(probe,
		 "Record where these are called: [MODULE:]FUNCTION[+OFFSET] or 0xADDRESS, each with @argN or @retaddr for a tag, comma-separated; +... adds (default none)");
#endif

SB_NUMBER(pid, sb_filter.pid, 0, PID_MAX_LIMIT, sb_apply_filter);
MODULE_PARM_DESC(pid, "Record this process (thread group) only: its PID (default 0: all)");
SB_NUMBER(cpu, sb_filter.cpu, -1, 0, sb_apply_filter);
MODULE_PARM_DESC(cpu, "Record on this CPU only: its number (default -1: all)");
module_param_cb(comm, &sb_comm_ops, NULL, 0644);
MODULE_PARM_DESC(comm, "Record tasks of this name only: up to 15 bytes (default \"\": all)");
SB_NUMBER(limit, sb_filter.limit, 0, U32_MAX, sb_apply_limit);
MODULE_PARM_DESC(limit,
		 "Record N more events, then none: 0 to 4294967295 (default 0: no limit)");
SB_NUMBER(every, sb_filter.every, 1, U32_MAX, sb_apply_every);
MODULE_PARM_DESC(every, "Record one in N events of each CPU: 1 to 4294967295 (default 1: all)");

/* ---------------------------------------------------------------- debugfs --- */

static struct dentry *sb_debugfs_dir;
static struct debugfs_blob_wrapper sb_debugfs_array[] = {
	{ stackbuf, SB_TEXT_PAGES * STACKBUF_PAGE_SIZE },
	{ &stackbuf_info, sizeof(stackbuf_info) },
	{ stackbuf_events, SB_EVENT_PAGES * STACKBUF_PAGE_SIZE },
	{ stackbuf_stacks, SB_STACK_PAGES * STACKBUF_PAGE_SIZE },
};

/* The arrays hold addresses and arguments, like tracefs, and are locked down like it */
static int sb_open_array(struct inode *inode, struct file *file)
{
	int err = security_locked_down(LOCKDOWN_TRACEFS);

	if (!err)
		file->private_data = (void *)(long)sb_add_reader();
	return err;
}

static int sb_release_array(struct inode *inode, struct file *file)
{
	sb_remove_reader((long)file->private_data);
	return 0;
}

/* Recording continues while this copies: readers check their copies */
static ssize_t sb_read_array(struct file *file, char __user *to, size_t count, loff_t *pos)
{
	const struct debugfs_blob_wrapper *array = file_inode(file)->i_private;

	return simple_read_from_buffer(to, count, pos, array->data, array->size);
}

static const struct file_operations sb_array_fops = {
	/* The kernel reads this struct when a file is closed, so open files keep the module */
	.owner = THIS_MODULE,
	.open = sb_open_array,
	.release = sb_release_array,
	.read = sb_read_array,
	.llseek = default_llseek,
};

/* Errors are ignored: without debugfs, only its readers miss something */
void __init sb_init_debugfs(void)
{
	static const char * const name[] = { "text", "info", "events", "stacks" };
	int i;

	sb_debugfs_dir = debugfs_create_dir("stackbuf", NULL);
	for (i = 0; i < ARRAY_SIZE(sb_debugfs_array); i++)
		debugfs_create_file(name[i], 0400, sb_debugfs_dir, &sb_debugfs_array[i],
				    &sb_array_fops);
}

void sb_exit_debugfs(void)
{
	debugfs_remove(sb_debugfs_dir);
}
