// SPDX-License-Identifier: GPL-2.0
/*
 * test_sights.c - what the first events of a stack cost, in each context and at several depths
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/stacktrace.h>

#include "test.h"

#define SIGHTS		3
#define SIGHT_STACKS	16

static unsigned int sight_depth, sight_stack;
static u64 sight_cost, sight_sum[SIGHTS + 1], sight_max[SIGHTS + 1];
static unsigned int sights_seen;

static void leaf_cost(struct walk *w)
{
	u64 start = cost_now();

	w->id = stackbuf_save();
	sight_cost = cost_now() - start;
}

static void leaf_walk(struct walk *w)
{
	static unsigned long pc[STACKBUF_DEPTH_MAX];
	u64 start = cost_now();

	w->id = stack_trace_save(pc, ARRAY_SIZE(pc), 0);
	sight_cost = cost_now() - start;
}

/* One stack, in the context that is measured: three events, then a walk */
static void sight_one(void)
{
	struct walk w = { .path = sight_stack, .leaf = leaf_walk };
	unsigned int i;

	next(&w);
	/* Its walk began here, too: the frames of the levels come on top */
	if (w.id >= sight_depth)
		return;
	w.levels = sight_depth - w.id;
	for (i = 0; i <= SIGHTS; i++) {
		/* Keeps the compiler from unrolling this into calls that return to other places */
		OPTIMIZER_HIDE_VAR(i);
		w.at = 0;
		w.leaf = i < SIGHTS ? leaf_cost : leaf_walk;
		next(&w);
		if (!w.id)
			return;
		sight_sum[i] += sight_cost;
		sight_max[i] = max(sight_max[i], sight_cost);
	}
	sights_seen++;
}

/*
 * sights: the means and maxima of 16 stacks, as "NAME_CONTEXT FRAMES MEAN MAX"; nothing where the
 * stack is deeper in that context before it begins
 */
int cmd_sights(u64 *arg)
{
	static const char *const names[SIGHTS + 1] = { "first", "second", "third", "walk" };
	static const char *const contexts[] = { "task", "softirq", "hardirq", "nmi" };
	static const unsigned int depths[] = { 10, 20, 30, 50 };
	unsigned int context, d, i;
	int err;

	for (context = STACKBUF_TASK; context <= STACKBUF_NMI; context++)
		for (d = 0; d < ARRAY_SIZE(depths); d++) {
			sight_depth = depths[d];
			sights_seen = 0;
			memset(sight_sum, 0, sizeof(sight_sum));
			memset(sight_max, 0, sizeof(sight_max));
			for (sight_stack = 0; sight_stack < SIGHT_STACKS; sight_stack++) {
				err = in_context(context, sight_one);
				if (err == -EOPNOTSUPP)
					break;
				if (err)
					return err;
			}
			for (i = 0; i <= SIGHTS && sights_seen == SIGHT_STACKS; i++)
				say("%s_%s %u %llu %llu\n", names[i], contexts[context], depths[d],
				    div_u64(sight_sum[i], SIGHT_STACKS), sight_max[i]);
		}
	return 0;
}
