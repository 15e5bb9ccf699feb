// SPDX-License-Identifier: GPL-2.0
/*
 * module.c - modules that are loaded and unloaded while stackbuf records
 *
 * A module's code is freed when it is unloaded, that of its init functions when they have
 * returned; then other code may get its addresses.  What stackbuf knows of the code by address
 * is invalidated before that: what recall learnt, and which stack in the table a trace equals.
 */
#include <linux/notifier.h>

#include "recall.h"

static int sb_module_notify(struct notifier_block *block, unsigned long event, void *data)
{
	const struct module *module = data;

	if (event == MODULE_STATE_COMING)
		sb_note_module(module);
	else
		sb_expire_stacks(SB_MODULE_INIT_TEXT(module), SB_MODULE_INIT_TEXT_SIZE(module));
	if (event == MODULE_STATE_GOING)
		sb_expire_stacks(SB_MODULE_TEXT(module), SB_MODULE_TEXT_SIZE(module));
	sb_mark_module(module, event);
	/* A walk in progress has the old epoch; code that is freed is on no stack */
	sb_invalidate_recall();
	return NOTIFY_OK;
}

static struct notifier_block sb_module_notifier = {
	.notifier_call = sb_module_notify,
};

int __init sb_init_modules(void)
{
	int err = register_module_notifier(&sb_module_notifier);

	if (!err)
		sb_mark_modules();
	return err;
}

void sb_exit_modules(void)
{
	unregister_module_notifier(&sb_module_notifier);
}
