// SPDX-License-Identifier: GPL-2.0
/*
 * stackbuf_event - a module with a tracepoint
 *
 * Writing N to the parameter run comes by it N times, with numbers from 1.
 */
#include <linux/kernel.h>
#include <linux/module.h>

#define CREATE_TRACE_POINTS
#include "stackbuf_event_trace.h"

static noinline void number_events(unsigned int n)
{
	unsigned int i;

	for (i = 1; i <= n; i++)
		trace_stackbuf_numbered(NULL, i);
}

static int run(const char *value, const struct kernel_param *param)
{
	unsigned int n;
	int err = kstrtouint(value, 0, &n);

	if (!err)
		number_events(n);
	return err;
}

static const struct kernel_param_ops run_ops = { .set = run };
module_param_cb(run, &run_ops, NULL, 0200);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A tracepoint, for tests");
