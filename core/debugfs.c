// SPDX-License-Identifier: GPL-2.0
/*
 * debugfs.c - files in debugfs: the arrays, and the records that earlier loads left
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/security.h>

#include "filter.h"
#include "keep.h"
#include "probe.h"

static struct dentry *debugfs_dir;

/* Like tracefs, the arrays contain addresses and arguments, so lockdown applies to them, too */
static int open_array(struct inode *inode, struct file *file)
{
	int err = security_locked_down(LOCKDOWN_TRACEFS);

	sbuf_probe_update_missed();
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

static ssize_t write_forget(struct file *file, const char __user *from, size_t count, loff_t *pos)
{
	struct debugfs_blob_wrapper *record;
	unsigned int n;
	int err = kstrtouint_from_user(from, count, 0, &n);

	record = err ? NULL : sbuf_keep_record(n);
	if (!record) {
		pr_err("kept/forget: the number of a file in kept is accepted\n");
		return err ?: -EINVAL;
	}
	sbuf_keep_forget(record);
	return count;
}

static const struct file_operations forget_fops = {
	.owner = THIS_MODULE,
	.open = open_array,
	.release = release_array,
	.write = write_forget,
};

static void __init add_kept_files(void)
{
	struct debugfs_blob_wrapper *record;
	struct dentry *dir;
	char name[12];
	unsigned int n;

	if (!stackbuf_info.kept_at && !sbuf_keep_record(1))
		return;
	dir = debugfs_create_dir("kept", debugfs_dir);
	for (n = 1; (record = sbuf_keep_record(n)); n++) {
		snprintf(name, sizeof(name), "%u", n);
		debugfs_create_file_size(name, 0400, dir, record, &array_fops, record->size);
	}
	debugfs_create_file("forget", 0200, dir, NULL, &forget_fops);
}

/* Errors are ignored: only readers of debugfs need these files */
void __init sbuf_debugfs_init(void)
{
	static const char * const name[] = { "info", "events", "stacks", "text" };
	int i;

	debugfs_dir = debugfs_create_dir("stackbuf", NULL);
	for (i = 0; i < ARRAY_SIZE(name); i++)
		debugfs_create_file(name[i], 0400, debugfs_dir, &sbuf_arrays[i], &array_fops);
	add_kept_files();
}

void sbuf_debugfs_exit(void)
{
	debugfs_remove(debugfs_dir);
}
