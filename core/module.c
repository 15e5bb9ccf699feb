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

static int notify_module(struct notifier_block *block, unsigned long event, void *data)
{
	const struct module *module = data;

	if (event == MODULE_STATE_COMING)
		sbuf_memory_note_module(module);
	else
		sbuf_evict_expire(SBUF_MODULE_INIT_TEXT(module),
				  SBUF_MODULE_INIT_TEXT_SIZE(module));
	if (event == MODULE_STATE_GOING)
		sbuf_evict_expire(SBUF_MODULE_TEXT(module), SBUF_MODULE_TEXT_SIZE(module));
	sbuf_recall_mark_module(module, event);
	/* A walk in progress has the old epoch; code that is freed is on no stack */
	sbuf_recall_invalidate();
	return NOTIFY_OK;
}

static struct notifier_block module_notifier = {
	.notifier_call = notify_module,
};

int __init sbuf_modules_init(void)
{
	int err = register_module_notifier(&module_notifier);

	if (!err)
		sbuf_recall_mark_modules();
	return err;
}

void sbuf_modules_exit(void)
{
	unregister_module_notifier(&module_notifier);
}
