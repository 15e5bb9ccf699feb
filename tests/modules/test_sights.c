// SPDX-License-Identifier: GPL-2.0
/*
 * test_sights.c - what the first events of a stack cost, in each context and at several depths
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/sched/clock.h>
#include <linux/stacktrace.h>
#include <linux/time64.h>

#include "test.h"

#define SIGHTS		3
#define SIGHT_STACKS	16

static unsigned int sight_depth, sight_stack;
static bool sight_by_rbp;
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

/* Levels that each keep an address of the stack in rbp, where their caller's is */
static noinline void next_by_rbp(struct walk *w)
{
	barrier_data(__builtin_frame_address(0));
	if (w->at++ < w->levels)
		next_by_rbp(w);
	else
		w->leaf(w);
	barrier_data(__builtin_frame_address(0));
}

static __always_inline void sight_levels(struct walk *w)
{
	if (sight_by_rbp)
		next_by_rbp(w);
	else
		next(w);
}

/* One stack, in the context that is measured: three events, then a walk */
static void sight_one(void)
{
	struct walk w = { .path = sight_stack, .leaf = leaf_walk };
	unsigned int i;

	sight_levels(&w);
	/* Its walk began here, too: the frames of the levels come on top */
	if (w.id >= sight_depth)
		return;
	w.levels = sight_depth - w.id;
	for (i = 0; i <= SIGHTS; i++) {
		/* Keeps the compiler from unrolling this into calls that return to other places */
		OPTIMIZER_HIDE_VAR(i);
		w.at = 0;
		w.leaf = i < SIGHTS ? leaf_cost : leaf_walk;
		sight_levels(&w);
		if (!w.id)
			return;
		sight_sum[i] += sight_cost;
		sight_max[i] = max(sight_max[i], sight_cost);
	}
	sights_seen++;
}

/* The stacks of a depth in a context; return 1 if that is deeper before they begin */
static __always_inline int sight_all(enum stackbuf_context context, unsigned int depth,
				     unsigned int stacks)
{
	int err;

	sight_depth = depth;
	sights_seen = 0;
	memset(sight_sum, 0, sizeof(sight_sum));
	memset(sight_max, 0, sizeof(sight_max));
	for (sight_stack = 0; sight_stack < stacks; sight_stack++) {
		err = in_context(context, sight_one);
		if (err)
			return err == -EOPNOTSUPP ? 1 : err;
	}
	return sights_seen < stacks;
}

/*
 * sights: the means and maxima of 16 stacks, as "NAME_CONTEXT FRAMES MEAN MAX"; nothing where the
 * stack is deeper in that context before it begins.  Then "rbp FRAMES COST": the third event of one
 * through next_by_rbp()
 */
int cmd_sights(u64 *arg)
{
	static const char *const names[SIGHTS + 1] = { "first", "second", "third", "walk" };
	static const char *const contexts[] = { "task", "softirq", "hardirq", "nmi" };
	static const unsigned int depths[] = { 10, 20, 30, 50 }, rbp_depths[] = { 20, 30, 50, 62 };
	const u64 until = local_clock() + 5 * NSEC_PER_MSEC;
	unsigned int context, d, i;
	int err;

	/* Until cycles stand for the clock, see core/clock.c */
	while (local_clock() < until)
		stackbuf_save();
	sight_by_rbp = false;
	for (context = STACKBUF_TASK; context <= STACKBUF_NMI; context++)
		for (d = 0; d < ARRAY_SIZE(depths); d++) {
			err = sight_all(context, depths[d], SIGHT_STACKS);
			if (err < 0)
				return err;
			for (i = 0; i <= SIGHTS && !err; i++)
				say("%s_%s %u %llu %llu\n", names[i], contexts[context], depths[d],
				    div_u64(sight_sum[i], SIGHT_STACKS), sight_max[i]);
		}
	sight_by_rbp = true;
	for (d = 0; d < ARRAY_SIZE(rbp_depths); d++)
		if (!sight_all(STACKBUF_TASK, rbp_depths[d], 1))
			say("rbp %u %llu\n", rbp_depths[d], sight_max[2]);
	return 0;
}
