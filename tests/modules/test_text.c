// SPDX-License-Identifier: GPL-2.0
/*
 * test_text.c - hold back the worker that renders stacks
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>

#include "test.h"

static bool hold_on, hold_began;

/* In the worker, instead of the function that renders */
static void hold_worker(void)
{
	WRITE_ONCE(hold_began, true);
	while (READ_ONCE(hold_on))
		msleep(20);
}

/* As a function that fault injection overrides: it is not single-stepped */
static int hold_handler(struct kprobe *p, struct pt_regs *regs)
{
	if (!READ_ONCE(hold_on))
		return 0;
	instruction_pointer_set(regs, (unsigned long)hold_worker);
	return 1;
}

static struct kprobe hold_probe = {
	.symbol_name = "sbuf_text_flush",
	.pre_handler = hold_handler,
};

/* hold 1: the worker is to wait when it is requested.  "hold 0" lets it go */
int cmd_hold(u64 *arg)
{
	static u64 path = 0x700000;
	unsigned int tries;
	int err;

	if (!arg[0]) {
		WRITE_ONCE(hold_on, false);
		unregister_kprobe(&hold_probe);
		/* It does nothing else in that run: have it come again */
		go(path++, 3, leaf_tag, 0);
		return 0;
	}
	hold_probe.addr = NULL;
	hold_probe.flags = 0;
	err = register_kprobe(&hold_probe);
	if (err)
		return err;
	hold_began = false;
	WRITE_ONCE(hold_on, true);
	/* A new stack has the worker come */
	for (tries = 0; !READ_ONCE(hold_began) && tries < 30000; tries++) {
		go(path++, 3, leaf_tag, 0);
		msleep(20);
	}
	return READ_ONCE(hold_began) ? 0 : -ETIME;
}
