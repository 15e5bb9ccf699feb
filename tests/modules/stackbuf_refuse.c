// SPDX-License-Identifier: GPL-2.0
/*
 * stackbuf_refuse.c - a notifier that lets a module wait while it is loaded, and then refuses it
 *
 * It is called before stackbuf's notifier, as what the kernel does for live patches is.  "name" is
 * the module's name; "waits" reads 1 while it waits, which writing 0 ends.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/string.h>

static char *name = "";
static bool waits, waited;
module_param(name, charp, 0);
module_param(waits, bool, 0600);

static int refuse(struct notifier_block *block, unsigned long state, void *data)
{
	const struct module *module = data;

	if (state != MODULE_STATE_COMING || strcmp(module->name, name))
		return NOTIFY_DONE;
	/* insmod may try again, in another way */
	for (waits = !waited; READ_ONCE(waits);)
		msleep(20);
	waited = true;
	return notifier_from_errno(-EPERM);
}

static struct notifier_block notifier = { .notifier_call = refuse, .priority = INT_MAX };

static int __init stackbuf_refuse_init(void)
{
	return register_module_notifier(&notifier);
}
module_init(stackbuf_refuse_init);

static void __exit stackbuf_refuse_exit(void)
{
	unregister_module_notifier(&notifier);
}
module_exit(stackbuf_refuse_exit);

MODULE_DESCRIPTION("stackbuf: a module that may not be loaded");
MODULE_LICENSE("GPL");
