// SPDX-License-Identifier: GPL-2.0
/*
 * test_ring.c - few pages for many CPUs; saves on a CPU that goes offline
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/ftrace.h>
#include <linux/ktime.h>
#include <linux/slab.h>

#include "test.h"

/*
 * turns ROUNDS: the CPUs save one after the other, each until a save was recorded, for up to
 * ten seconds; prints the longest wait and the age of the ring
 */
static u32 turn_id;

static void turn_worker(struct worker *wk)
{
	turn_id = go(wk->cpu, 4, leaf_tag, 0x7042);
}

static u64 ring_age(void)
{
	unsigned int i;
	u64 age = 0;

	for (i = 0; i < stackbuf_info.events_size / STACKBUF_PAGE_SIZE; i++)
		age = max(age, READ_ONCE(stackbuf_events[i].page.seq));
	return age;
}

int cmd_turns(u64 *arg)
{
	unsigned int saves = 0, never = 0, worst = 0;
	int cpu, err;
	u64 round;

	for (round = 0; round < arg[0]; round++) {
		for_each_online_cpu(cpu) {
			ktime_t start = ktime_get();
			unsigned int ms, tries = 0;

			do {
				err = on_cpus(cpu, turn_worker, arg);
				if (err)
					return err;
				saves++;
				ms = ktime_ms_delta(ktime_get(), start);
				if (!turn_id)
					usleep_range(500, 1000);
			} while (!turn_id && ++tries < 100000);
			never += !turn_id;
			worst = max(worst, ms);
		}
	}
	say("saves %u never %u worst %u age %llu\n", saves, never, worst, ring_age());
	return 0;
}

/*
 * starve N: N saves on CPU 0 while all pages of the ring are open, then saves until one gets
 * a page; prints by how much the ring has aged
 */
static unsigned int starve_none, starve_open;

/* How many pages are open, but none of CPU 0's */
static unsigned int others_open(void)
{
	unsigned int i, n = 0;

	for (i = 0; i < stackbuf_info.events_size / STACKBUF_PAGE_SIZE; i++) {
		u32 owner = READ_ONCE(stackbuf_events[i].owner);

		n += owner > 1 && owner != U32_MAX;
	}
	return n;
}

static void starve_worker(struct worker *wk)
{
	unsigned int i, pages = stackbuf_info.events_size / STACKBUF_PAGE_SIZE;
	unsigned long flags;

	starve_none = 0;
	/* Its requests start no worker meanwhile, but one that was requested before may come */
	local_irq_save(flags);
	starve_open = others_open();
	for (i = 0; i < wk->arg[0] && starve_open == pages; i++)
		starve_none += !go(1, 4, leaf_tag, i);
	starve_open = min(starve_open, others_open());
	local_irq_restore(flags);
}

int cmd_starve(u64 *arg)
{
	unsigned int pages = stackbuf_info.events_size / STACKBUF_PAGE_SIZE;
	u64 before = 0, i, k;
	int err = 0;

	for (i = 0; i < 50 && !err; i++) {
		for (k = 1; k <= pages && !err; k++)
			err = on_cpus(k % num_online_cpus(), turn_worker, arg);
		before = ring_age();
		err = err ?: on_cpus(0, starve_worker, arg);
		if (starve_open == pages)
			break;
		msleep(40);
	}
	turn_id = 0;
	for (i = 0; i < 10000 && !err && !turn_id; i++) {
		err = on_cpus(0, turn_worker, arg);
		msleep(20);
	}
	say("pages %u open %u none %u aged %llu recovered %d\n", pages, starve_open, starve_none,
	    ring_age() - before, turn_id != 0);
	return err;
}

/*
 * late N MS: lets each CPU that goes offline save N new stacks, MS apart, in its last
 * function, where it only has to report that it is dead.  "late 0" ends this.
 */
static unsigned int late_saves, late_ms, late_hits;
static u64 late_path;		/* the next that was never saved */

static int late_handler(struct kprobe *p, struct pt_regs *regs)
{
	unsigned int i;

	late_hits++;
	for (i = 0; i < late_saves; i++) {
		storm_save(0x200000 + late_path++, leaf_tag, 0x1a7e, STACKBUF_TASK);
		mdelay(late_ms);
	}
	return 0;
}

static struct kprobe late_probe = {
	.symbol_name = "cpuhp_report_idle_dead",
	.pre_handler = late_handler,
};

int cmd_late(u64 *arg)
{
	int err = 0;

	if (arg[0] && !late_saves) {
		storm_levels = 6;
		late_hits = 0;
		late_ms = arg[1];
		late_probe.addr = NULL;
		late_probe.flags = 0;
		err = register_kprobe(&late_probe);
		if (!err)
			late_saves = arg[0];
	} else if (!arg[0] && late_saves) {
		unregister_kprobe(&late_probe);
		late_saves = 0;
		say("late %u\n", late_hits);
	}
	return err;
}

/*
 * step ADDRESS: adds an instruction of stackbuf for "latesteps"; "step 0" removes them
 *
 * latesteps 1: a CPU that goes offline makes a save in the same place as for "late", and at
 * each of these instructions a second save inside the first.  ftrace calls late_callback()
 * there: kprobes would not be hit inside a kprobe's handler.  "latesteps 0" ends this.
 */
#ifdef CONFIG_DYNAMIC_FTRACE
static struct kprobe *step_probe[8192], *step_armed;
static unsigned int step_probes;
static bool step_hit, late_stepping;
static unsigned int late_steps, late_inner, late_right, late_wrong;

/* Counts as wrong what is none of @path, or was evicted at once */
static void late_save(u64 path)
{
	u32 id = go(path, 6, leaf_tag, 0x1a7e);

	late_wrong += id && right(id, path, 6, leaf_tag) <= 0;
}

static int step_handler(struct kprobe *p, struct pt_regs *regs)
{
	int is;
	u32 id;

	if (READ_ONCE(step_armed) != p)
		return 0;
	WRITE_ONCE(step_armed, NULL);
	step_hit = true;
	id = go(7, 2, leaf_tag, 0x57e9);
	is = id ? right(id, 7, 2, leaf_tag) : 0;
	late_inner += id != 0;
	late_right += is > 0;
	/* A full table may have evicted it, but no id may be wrong */
	late_wrong += is < 0;
	return 0;
}

int cmd_step(u64 *arg)
{
	struct kprobe *p;

	if (!arg[0]) {
		if (step_probes)
			unregister_kprobes(step_probe, step_probes);
		while (step_probes)
			kfree(step_probe[--step_probes]);
		return 0;
	}
	if (step_probes == ARRAY_SIZE(step_probe))
		return -ENOSPC;
	p = kzalloc(sizeof(*p), GFP_KERNEL);
	if (!p)
		return -ENOMEM;
	p->addr = (void *)(unsigned long)arg[0];
	p->pre_handler = step_handler;
	/* No instruction may begin here, or none may be probed */
	if (register_kprobe(p))
		kfree(p);
	else
		step_probe[step_probes++] = p;
	return 0;
}

static notrace void late_callback(unsigned long ip, unsigned long parent,
				  struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	unsigned int i, calls;

	for (i = 0; i < step_probes; i++) {
		step_hit = false;
		WRITE_ONCE(step_armed, step_probe[i]);
		late_save(0x300000 + late_path++);
		/* A few events more, so that a page of the ring fills occasionally */
		for (calls = 0; !step_hit && calls < 3; calls++)
			late_save(5);
		WRITE_ONCE(step_armed, NULL);
		late_steps += step_hit;
	}
}

static struct ftrace_ops late_ops = { .func = late_callback };

int cmd_latesteps(u64 *arg)
{
	static unsigned char place[] = "cpuhp_report_idle_dead";
	int err = 0;

	if (arg[0] && !late_stepping) {
		late_steps = 0;
		late_inner = 0;
		late_right = 0;
		late_wrong = 0;
		err = ftrace_set_filter(&late_ops, place, sizeof(place) - 1, 1) ?:
			register_ftrace_function(&late_ops);
		late_stepping = !err;
	} else if (!arg[0] && late_stepping) {
		unregister_ftrace_function(&late_ops);
		/* Frees the filter */
		ftrace_set_filter(&late_ops, NULL, 0, 1);
		late_stepping = false;
		say("probes %u stepped %u inner %u right %u wrong %u\n", step_probes, late_steps,
		    late_inner, late_right, late_wrong);
	}
	return err;
}
#else
int cmd_step(u64 *arg)
{
	return -EOPNOTSUPP;
}

int cmd_latesteps(u64 *arg)
{
	return -EOPNOTSUPP;
}
#endif

void ring_end(void)
{
	u64 none[4] = {};

	cmd_late(none);
	cmd_latesteps(none);
	cmd_step(none);
}
