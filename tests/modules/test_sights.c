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
/* Events before the third one that is measured */
static unsigned int sight_more;
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

/* Its return address is replaced, so that no stack through it is recalled */
static noinline void next_replaced(struct walk *w)
{
	next(w);
	barrier_data(w);
}

static __always_inline void sight_levels(struct walk *w)
{
	if (sight_more)
		next_replaced(w);
	else if (sight_by_rbp)
		next_by_rbp(w);
	else
		next(w);
}

/* One stack, in the context that is measured: three events, then a walk */
static void sight_one(void)
{
	struct walk w = { .path = sight_stack, .leaf = leaf_walk };
	unsigned int more = sight_more, i;

	sight_levels(&w);
	/* Its walk began here, too: the frames of the levels come on top */
	if (w.id >= sight_depth)
		return;
	w.levels = sight_depth - w.id;
	for (i = 0; i <= SIGHTS;) {
		/* Keeps the compiler from unrolling this into calls that return to other places */
		OPTIMIZER_HIDE_VAR(i);
		w.at = 0;
		w.leaf = i < SIGHTS ? leaf_cost : leaf_walk;
		sight_levels(&w);
		if (!w.id)
			return;
		if (i == SIGHTS - 1 && more && more--)
			continue;
		sight_sum[i] += sight_cost;
		sight_max[i] = max(sight_max[i], sight_cost);
		i++;
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

/* Prints "NAME_WHERE FRAMES MEAN MAX" of what sight_all() measures, from the event @from on */
static __always_inline int say_sights(enum stackbuf_context context, const char *where,
				      unsigned int depth, unsigned int stacks, unsigned int from)
{
	static const char *const names[SIGHTS + 1] = { "first", "second", "third", "walk" };
	int err = sight_all(context, depth, stacks);
	unsigned int i;

	for (i = from; i <= SIGHTS && !err; i++)
		say("%s_%s %u %llu %llu\n", sight_more && i < SIGHTS ? "event" : names[i], where,
		    depth, div_u64(sight_sum[i], stacks), sight_max[i]);
	return min(err, 0);
}

/*
 * sights: the means and maxima of 16 stacks, as "NAME_CONTEXT FRAMES MEAN MAX"; nothing where the
 * stack is deeper in that context before it begins.  Then "NAME_rbp" of one through next_by_rbp();
 * and "event_unserved" of stacks that are never recalled, as return addresses are replaced
 */
int cmd_sights(u64 *arg)
{
	static const char *const contexts[] = { "task", "softirq", "hardirq", "nmi" };
	static const unsigned int depths[] = { 10, 20, 30, 50 }, rbp_depths[] = { 20, 30, 50, 62 };
	struct kretprobe p = { .kp.addr = (void *)next_replaced };
	const u64 until = local_clock() + 5 * NSEC_PER_MSEC;
	unsigned int context, d;
	int err = 0;

	/* Until cycles stand for the clock, see core/clock.c */
	while (local_clock() < until)
		stackbuf_save();
	sight_by_rbp = false;
	for (context = STACKBUF_TASK; context <= STACKBUF_NMI; context++)
		for (d = 0; d < ARRAY_SIZE(depths) && !err; d++)
			err = say_sights(context, contexts[context], depths[d], SIGHT_STACKS, 0);
	sight_by_rbp = true;
	for (d = 0; d < ARRAY_SIZE(rbp_depths) && !err; d++)
		err = say_sights(STACKBUF_TASK, "rbp", rbp_depths[d], 1, 0);
	sight_by_rbp = false;
	if (!err)
		err = register_kretprobe(&p);
	if (err)
		return err;
	sight_more = 32;
	for (d = 0; d < ARRAY_SIZE(depths) && !err; d++)
		err = say_sights(STACKBUF_TASK, "unserved", depths[d], SIGHT_STACKS, SIGHTS - 1);
	sight_more = 0;
	unregister_kretprobe(&p);
	return err;
}
