// SPDX-License-Identifier: GPL-2.0
/*
 * stackbuf_patch - replaces stackbuf_test's leaf_tag() by a live patch, which is applied by ftrace
 * at the same place as a probe
 */
#include <linux/livepatch.h>
#include <linux/module.h>

static void patched_leaf_tag(void *walk)
{
}

static struct klp_func functions[] = {
	{ .old_name = "leaf_tag", .new_func = patched_leaf_tag },
	{ }
};

static struct klp_object objects[] = {
	{ .name = "stackbuf_test", .funcs = functions },
	{ }
};

static struct klp_patch patch = { .mod = THIS_MODULE, .objs = objects };

static int __init stackbuf_patch_init(void)
{
	return klp_enable_patch(&patch);
}
module_init(stackbuf_patch_init);

static void __exit stackbuf_patch_exit(void)
{
}
module_exit(stackbuf_patch_exit);

MODULE_DESCRIPTION("A live patch of a function that has a probe");
MODULE_LICENSE("GPL");
MODULE_INFO(livepatch, "Y");
