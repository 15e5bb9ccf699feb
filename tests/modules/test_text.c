// SPDX-License-Identifier: GPL-2.0
/*
 * test_text.c - hold back the worker that renders stacks
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/nmi.h>

#include "test.h"

static unsigned int hold_ms;
static bool hold_began;

static int hold_worker(struct kprobe *p, struct pt_regs *regs)
{
	/* CPU 0 has tests to run */
	if (!raw_smp_processor_id() || !READ_ONCE(hold_ms))
		return 0;
	WRITE_ONCE(hold_began, true);
	while (READ_ONCE(hold_ms)) {
		WRITE_ONCE(hold_ms, hold_ms - 1);
		mdelay(1);
		touch_nmi_watchdog();
	}
	return 0;
}

static struct kprobe hold_probe = {
	.symbol_name = "sbuf_text_flush",
	.pre_handler = hold_worker,
};

/* hold MS: a CPU is to stay for so long where the worker begins.  "hold 0" lets it go */
int cmd_hold(u64 *arg)
{
	static u64 path = 0x700000;
	unsigned int tries;
	int err;

	if (!arg[0]) {
		hold_ms = 0;
		unregister_kprobe(&hold_probe);
		return 0;
	}
	hold_probe.addr = NULL;
	hold_probe.flags = 0;
	err = register_kprobe(&hold_probe);
	if (err)
		return err;
	hold_began = false;
	hold_ms = arg[0];
	/* A new stack has the worker come */
	for (tries = 0; !READ_ONCE(hold_began) && tries < 500; tries++) {
		go(path++, 3, leaf_tag, 0);
		msleep(20);
	}
	return READ_ONCE(hold_began) ? 0 : -ETIME;
}
