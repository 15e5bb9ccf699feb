// SPDX-License-Identifier: GPL-2.0
/*
 * stackbuf_bench - what one event costs, compared with the kernel's own calls
 *
 * Unloading it measures and prints one line per figure to the kernel log:
 *
 *	stackbuf_bench: NAME FRAMES COST
 *
 * COST is the mean of many events, in units of cost_now().  In a machine that
 * counts instructions (stackbuf-vm -i) the unit is one instruction.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kernel.h>
#include <linux/math.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/stacktrace.h>
#include "../stackbuf.h"
#include "test_compat.h"

static int rounds = 2000;
module_param(rounds, int, 0444);
MODULE_PARM_DESC(rounds, "Events of each measurement (default 2000)");

static char *probed;
module_param(probed, charp, 0444);
MODULE_PARM_DESC(probed, "Instead: what a call of int_sqrt() costs, under this name");

static bool event;
module_param(event, bool, 0444);
MODULE_PARM_DESC(event, "With probed: of kfree(NULL), which holds the tracepoint kmem:kfree");

static unsigned long frames[STACKBUF_DEPTH_MAX];
static char text[8192];

/* One function for each call that is measured, run at the depth wanted */
#define BENCH(name, call)			\
	static noinline void bench_##name(void)	\
	{					\
		call;				\
		barrier();			\
	}
#define WALK	stack_trace_save(frames, ARRAY_SIZE(frames), 0)

BENCH(nothing, barrier())
BENCH(walk, WALK)
#ifdef CONFIG_STACKDEPOT
BENCH(depot, stack_depot_save(frames, WALK, GFP_NOWAIT))
#endif
BENCH(text, stack_trace_snprint(text, sizeof(text), frames, WALK, 0))
BENCH(save, stackbuf_save())
BENCH(save_tag, stackbuf_save_tag(4711))
BENCH(probed, int_sqrt(1))
/* It holds the tracepoint kmem:kfree */
BENCH(event, kfree(NULL))

struct bench {
	const char *name;
	void (*run)(void);
};

static const struct bench benches[] = {
	{ "stack_trace_save", bench_walk },
#ifdef CONFIG_STACKDEPOT
	{ "stack_depot_save", bench_depot },
#endif
	{ "stack_trace_snprint", bench_text },
	{ "stackbuf_save", bench_save },
	{ "stackbuf_save_tag", bench_save_tag },
};

static noinline u64 measure(void (*run)(void), int n)
{
	u64 start = 0;
	int i;

	/*
	 * Ten calls to warm up: the first events of a stack cost more.  They come from the
	 * same call as the measured ones, as another return address is another stack.
	 */
	for (i = -10; i < n; i++) {
		/* Keeps the compiler from splitting this into two loops */
		OPTIMIZER_HIDE_VAR(i);
		if (!i)
			start = cost_now();
		run();
	}
	return div_u64(cost_now() - start, n);
}

/* The barrier() prevents a tail call, so each level has a frame */
static noinline u64 deeper(int more, void (*run)(void), int n)
{
	u64 cost = more > 0 ? deeper(more - 1, run, n) : measure(run, n);

	barrier();
	return cost;
}

static unsigned int depth_here;

static noinline void find_depth(void)
{
	depth_here = stack_trace_save(frames, ARRAY_SIZE(frames), 0);
}

/* @inner: frames of the recorded trace that are further inside than the measured function */
static void measure_all(const struct bench *bench, int n, int inner)
{
	/* As short as a stack is here at least, the probed function's included */
	static const int depths[] = { IS_ENABLED(CONFIG_ARM64) ? 14 : 9, 19, 40 };
	u64 nothing = 0;
	int i, d;

	deeper(0, find_depth, 1);
	for (d = 0; d < ARRAY_SIZE(depths); d++) {
		int more = depths[d] - depth_here - inner;

		if (more < 0) {
			pr_err("%d frames are more than %d\n", depth_here + inner, depths[d]);
			continue;
		}
		nothing = deeper(more, bench_nothing, rounds);
		for (i = 0; i < n; i++) {
			pr_info("%s %d %llu\n", bench[i].name, depths[d],
				deeper(more, bench[i].run, rounds) - nothing);
			cond_resched();
		}
	}
}

static int __init bench_init(void)
{
	return probed ? 0 : stack_depot_init();
}
module_init(bench_init);

/* Measure on unload: module_init() functions already run more than nine frames deep */
static void __exit bench_exit(void)
{
	const struct bench bench = { probed, event ? bench_event : bench_probed };

	if (probed)
		measure_all(&bench, 1, 1);
	else
		measure_all(benches, ARRAY_SIZE(benches), 0);
}
module_exit(bench_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Costs of stackbuf and its peers");
