// SPDX-License-Identifier: GPL-2.0
/*
 * test_storm.c - a storm of saves from all contexts on all CPUs; tagged events
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/interrupt.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "test.h"

/*
 * Saves attempted and their results, per CPU: this_cpu_inc() is atomic with
 * respect to interrupts and NMIs.
 */
struct tally {
	unsigned long attempted, recorded, refused, wrong, gone;
	unsigned long from[4];	/* attempted in task, softirq, hardirq, NMI */
	unsigned long recalled;	/* recalled in an NMI */
};

static DEFINE_PER_CPU(struct tally, tally);
unsigned int storm_levels;
static unsigned int storm_paths;

static void storm_count(u32 id, int is_right, int context)
{
	this_cpu_inc(tally.attempted);
	this_cpu_inc(tally.from[context]);
	if (!id) {
		this_cpu_inc(tally.refused);
		return;
	}
	this_cpu_inc(tally.recorded);
	switch (is_right) {
	case 0:
		this_cpu_inc(tally.gone);
		break;
	case -1:
		this_cpu_inc(tally.wrong);
	}
}

noinline void storm_save(u64 path, void (*leaf)(struct walk *w), unsigned long tag, int context)
{
	u32 id = go(path, storm_levels, leaf, tag);

	storm_count(id, id ? right(id, path, storm_levels, leaf) : 0, context);
}

static void tally_zero(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		memset(per_cpu_ptr(&tally, cpu), 0, sizeof(tally));
}

static void tally_say(void)
{
	struct tally sum = {};
	int cpu, i;

	for_each_possible_cpu(cpu) {
		const struct tally *t = per_cpu_ptr(&tally, cpu);

		sum.attempted += t->attempted;
		sum.recorded += t->recorded;
		sum.refused += t->refused;
		sum.wrong += t->wrong;
		sum.gone += t->gone;
		sum.recalled += t->recalled;
		for (i = 0; i < 4; i++)
			sum.from[i] += t->from[i];
	}
	say("attempted %lu recorded %lu refused %lu wrong %lu gone %lu task %lu softirq %lu hardirq %lu nmi %lu recalled %lu\n",
	    sum.attempted, sum.recorded, sum.refused, sum.wrong, sum.gone, sum.from[0], sum.from[1],
	    sum.from[2], sum.from[3], sum.recalled);
	for_each_online_cpu(cpu)
		say("cpu%d %lu of %lu\n", cpu, per_cpu(tally, cpu).recorded,
		    per_cpu(tally, cpu).attempted);
}

static u64 mix(u64 x)
{
	x = (x ^ x >> 31) * 0x9e3779b97f4a7c15ULL;
	return x ^ x >> 29;
}

static void storm_nmi(void)
{
	u64 turn = this_cpu_inc_return(nmi_turn);
	struct held *h = this_cpu_ptr(&held);

	/* Seven of eight from held registers, which can be recalled */
	if (h->task == current && turn % 8) {
		u64 before = walks();
		u32 id = stackbuf_save_regs(&h->regs, turn);

		if (id && walks() == before)
			this_cpu_inc(tally.recalled);
		storm_count(id, id ? right_held(id, &h->regs) : 0, STACKBUF_NMI);
		return;
	}
	storm_save(mix(turn) % storm_paths, leaf_save, 0, STACKBUF_NMI);
}

static DEFINE_PER_CPU(struct hrtimer, ticker);
static DEFINE_PER_CPU(struct tasklet_struct, softer);
static u64 tick_ns;

static enum hrtimer_restart storm_tick(struct hrtimer *timer)
{
	u64 now = ktime_get_ns();
	int cpu;

	storm_save(mix(now) % storm_paths, leaf_tag, now, STACKBUF_HARDIRQ);
	if (nmi_on)
		for_each_online_cpu(cpu)
			nmi_send(cpu);
	if (now & 64)
		tasklet_schedule(this_cpu_ptr(&softer));
	/*
	 * Relative to the current time, so that a slow machine has time left for other
	 * work: hrtimer_forward_now() keeps to a grid, and the next tick of the grid may
	 * already be due each time.
	 */
	hrtimer_set_expires(timer, ns_to_ktime(ktime_get_ns() + tick_ns));
	return HRTIMER_RESTART;
}

static void storm_soft(struct tasklet_struct *t)
{
	storm_save(mix(ktime_get_ns()) % storm_paths, leaf_tag, 0, STACKBUF_SOFTIRQ);
}

static void storm_worker(struct worker *wk)
{
	u64 end = ktime_get_ns() + wk->arg[0] * NSEC_PER_MSEC, turn = wk->cpu << 20;
	/* However few a slow machine gets done in that time */
	const u64 least = turn + 600;
	struct hrtimer *timer = this_cpu_ptr(&ticker);
	int cpu;

	/* Without NMIs from tasks, all saves must be calls of storm_save(), which may be probed */
	if (wk->arg[3] > 1)
		hold();
	if (tick_ns) {
		hrtimer_setup(timer, storm_tick, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
		tasklet_setup(this_cpu_ptr(&softer), storm_soft);
		hrtimer_start(timer, ns_to_ktime(tick_ns), HRTIMER_MODE_REL_PINNED_HARD);
	}
	while (ktime_get_ns() < end || turn < least) {
		turn++;
		storm_save(mix(turn) % storm_paths, leaf_save, 0, STACKBUF_TASK);
		for_each_online_cpu(cpu)
			if (wk->arg[3] > 1 && cpu != wk->cpu)
				nmi_send(cpu);
		cond_resched();
	}
	let_go();
	if (tick_ns) {
		hrtimer_cancel(timer);
		tasklet_kill(this_cpu_ptr(&softer));
	}
}

/*
 * storm MS PATHS TICK_US NMI: all CPUs save, interrupted by timers and NMIs.  NMI 1: the
 * timers send NMIs; 2: after each save, a task also sends one to every other CPU
 */
int cmd_storm(u64 *arg)
{
	int err = 0;

	if (!arg[1])
		return -EINVAL;
	storm_paths = arg[1];
	storm_levels = 6;
	tick_ns = arg[2] * NSEC_PER_USEC;
	tally_zero();
	if (arg[3])
		err = nmi_start(storm_nmi);
	if (!err)
		err = on_cpus(-1, storm_worker, arg);
	nmi_stop();
	tally_say();
	return err;
}

/*
 * tags N PATHS LEVELS: on each CPU, N events whose tags count up:
 * 0x5b, CPU (one byte), number (48 bits).  The path is number % PATHS.
 */
static u32 *tag_ids;		/* the last id of each path on each CPU */

static void tags_worker(struct worker *wk)
{
	u64 n = wk->arg[0], paths = wk->arg[1], i;
	u32 *ids = tag_ids + wk->cpu * paths;
	unsigned long none = 0, other = 0, wrong = 0;

	for (i = 0; i < n; i++) {
		u64 tag = 0x5bULL << 56 | (u64)wk->cpu << 48 | i;
		u32 id = go(i % paths, wk->arg[2], leaf_tag, tag);

		if (!id)
			none++;
		else if (right(id, i % paths, wk->arg[2], leaf_tag) != 1)
			wrong++;
		if (ids[i % paths] && ids[i % paths] != id)
			other++;
		ids[i % paths] = id;
		cond_resched();
	}
	say("cpu %d pid %d n %llu none %lu other %lu wrong %lu\n",
	    wk->cpu, current->pid, n, none, other, wrong);
}

int cmd_tags(u64 *arg)
{
	u64 i, paths = arg[1];
	int err, cpu;

	if (!paths || paths > 100000)
		return -EINVAL;
	tag_ids = vzalloc(nr_cpu_ids * paths * sizeof(*tag_ids));
	if (!tag_ids)
		return -ENOMEM;
	pr_info("tags begin\n");
	err = on_cpus(-1, tags_worker, arg);
	pr_info("tags end\n");
	for_each_online_cpu(cpu)
		for (i = 0; i < paths; i++)
			say("path %d %llu id %u\n", cpu, i, tag_ids[cpu * paths + i]);
	vfree(tag_ids);
	return err;
}
