// SPDX-License-Identifier: GPL-2.0
/*
 * test_trace.c - traces that the caller owns, printing, bounds of the arrays
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/sched/task.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/stacktrace.h>

#include "test.h"

#define GUARD	0x5ca1ab1edeadbeefULL

static noinline int sleeper(void *data)
{
	sleep_until_stopped();
	return 0;
}

static bool spins;

static noinline int spinner(void *data)
{
	WRITE_ONCE(spins, true);
	while (!kthread_should_stop())
		cpu_relax();
	return 0;
}

static void trace_put(void)
{
	struct stackbuf_trace *t = stackbuf_trace_create(GFP_KERNEL), *c;
	unsigned int i, bad = 0;

	check(t && !t->depth && !t->cut, "trace_create: an empty trace");
	if (!t)
		return;
	for (i = 0; i < STACKBUF_DEPTH_MAX; i++)
		bad += stackbuf_trace_put(t, 0x1000 + i) != 0;
	check(!bad && t->depth == STACKBUF_DEPTH_MAX, "trace_put: takes 127 addresses");
	check(stackbuf_trace_put(t, 1) == -ENOSPC && t->depth == STACKBUF_DEPTH_MAX,
	      "trace_put: the 65th is refused with -ENOSPC");
	for (i = 0; i < STACKBUF_DEPTH_MAX; i++)
		bad += t->pc[i] != 0x1000 + i;
	check(!bad, "trace_put: keeps the addresses in order");
	c = stackbuf_trace_create(GFP_KERNEL);
	if (c) {
		stackbuf_trace_copy(t, c);
		check(c->depth == t->depth && !memcmp(c->pc, t->pc, sizeof(c->pc)),
		      "trace_copy: the same frames");
		stackbuf_trace_zero(c);
		check(!c->depth && !c->cut && t->depth == STACKBUF_DEPTH_MAX,
		      "trace_zero: empties this one only");
	}
	stackbuf_trace_destroy(c);
	stackbuf_trace_destroy(t);
	stackbuf_trace_destroy(NULL);
}

static void trace_save(void)
{
	struct {
		u64 before;
		struct stackbuf_trace t;
		u64 after[4];
		unsigned long ref[REF_MAX];
	} *g = kzalloc(sizeof(*g), GFP_KERNEL);
	struct walk w = { .path = 0x9876543210ULL, .leaf = leaf_trace };
	unsigned int i, bad = 0;

	if (!g)
		return;
	w.arg = &g->t;
	for (w.levels = 1; w.levels <= STACKBUF_DEPTH_MAX + 10; w.levels++) {
		unsigned int want;

		memset(g, 0xa5, sizeof(*g));
		g->before = GUARD;
		for (i = 0; i < ARRAY_SIZE(g->after); i++)
			g->after[i] = GUARD;
		w.at = 0;
		next(&w);
		/* This function and its callers, the levels and leaf_trace() */
		want = stack_trace_save(g->ref, REF_MAX, 0) + 1 + w.levels;
		bad += g->t.depth != min_t(unsigned int, want, STACKBUF_DEPTH_MAX);
		bad += g->t.cut != (want > STACKBUF_DEPTH_MAX);
		bad += !inside(g->t.pc[0], leaf_trace);
		bad += g->before != GUARD;
		for (i = 0; i < ARRAY_SIZE(g->after); i++)
			bad += g->after[i] != GUARD;
		if (bad) {
			say("# level %u depth %u want %u cut %d\n", w.levels, g->t.depth,
			    want, g->t.cut);
			break;
		}
	}
	check(!bad, "trace_save: all depths, cut at 127 and marked, memory around untouched");
	kfree(g);
}

/* Where the kernel cannot walk another task's stack, the calls return -EOPNOTSUPP */
static void trace_task(void)
{
	struct stackbuf_trace *t = stackbuf_trace_create(GFP_KERNEL);
	struct task_struct *asleep, *busy;
	char *text = kzalloc(8192, GFP_KERNEL);
	u32 id = 1;
	int err, i;

	if (!t || !text)
		goto out;
	err = stackbuf_trace_save_task(t, current);
	check(!err && t->depth > 3, "trace_save_task: of the current task");
	check(!err && inside(t->pc[0], trace_task),
	      "trace_save_task: of the current task, from the caller on");

	asleep = kthread_run(sleeper, NULL, "sbasleep");
	/* With one CPU, no other task runs while this one does */
	spins = false;
	busy = num_online_cpus() > 1 ? kthread_create(spinner, NULL, "sbbusy") : NULL;
	if (IS_ERR(asleep) || IS_ERR(busy))
		goto out;
	get_task_struct(asleep);
	if (busy) {
		kthread_bind(busy, smp_processor_id() ? 0 : 1);
		wake_up_process(busy);
	}
	check(came(READ_ONCE(asleep->__state) == TASK_INTERRUPTIBLE && !TEST_IS_ON_CPU(asleep) &&
		   (!busy || READ_ONCE(spins))), "trace_save_task: one task sleeps, the other runs");

	err = stackbuf_trace_save_task(t, asleep);
	stackbuf_trace_snprint(text, 8192, t, STACKBUF_TRACE_LONG);
	if (!SBUF_HAS_SAVE_TASK) {
		check(err == -EOPNOTSUPP && !t->depth,
		      "trace_save_task: -EOPNOTSUPP on this kernel, trace empty");
		err = stackbuf_save_task(asleep, 0x7a5c, &id);
		check(err == -EOPNOTSUPP && !id, "save_task: -EOPNOTSUPP on this kernel, id 0");
		if (busy)
			kthread_stop(busy);
		kthread_stop(asleep);
		put_task_struct(asleep);
		err = stackbuf_save_task(current, 0x7a5f, &id);
		check(!err && id, "save_task: the current task is recorded");
		goto out;
	}
	/* The scheduler's own functions are left out, as in /proc/PID/stack */
	i = !err && !strncmp(text, "sleeper+0x", 10) && strstr(text, "kthread+0x");
	check(i, "trace_save_task: a sleeper's frames lead from where it waits");
	if (!i)
		say("# %d %u frames: %s\n", err, t->depth, text);
	if (busy) {
		err = stackbuf_trace_save_task(t, busy);
		check(err == -EBUSY && !t->depth,
		      "trace_save_task: -EBUSY while it runs, trace empty");
	}

	err = stackbuf_save_task(asleep, 0x7a5c, &id);
	say("task pid %d id %u\n", asleep->pid, id);
	check(!err && id, "save_task: a sleeper is recorded");
	check(!stackbuf_save_task(asleep, 0x7a5d, NULL),
	      "save_task: no place for the id is no error");
	if (busy) {
		id = 1;
		err = stackbuf_save_task(busy, 0x7a5e, &id);
		check(err == -EBUSY && !id, "save_task: -EBUSY while it runs, id 0");
	}
	err = stackbuf_save_task(current, 0x7a5f, &id);
	check(!err && id, "save_task: the current task is recorded");

	if (busy)
		kthread_stop(busy);
	kthread_stop(asleep);
	check(came(!READ_ONCE(asleep->stack)), "trace_save_task: the sleeper's stack is freed");
	err = stackbuf_trace_save_task(t, asleep);
	check(err == -ESRCH && !t->depth,
	      "trace_save_task: -ESRCH when it has exited, trace empty");
	id = 1;
	err = stackbuf_save_task(asleep, 0x7a60, &id);
	check(err == -ESRCH && !id, "save_task: -ESRCH when it has exited, id 0");
	put_task_struct(asleep);
out:
	kfree(text);
	stackbuf_trace_destroy(t);
}

static void trace_snprint_style(struct stackbuf_trace *t, enum stackbuf_trace_style style,
				const char *name)
{
	char *full = kzalloc(16384, GFP_KERNEL), *part = kzalloc(16384, GFP_KERNEL);
	unsigned int lines = 0, bad = 0;
	int len, n, size, i;
	const char *p;

	if (!full || !part)
		goto out;
	len = stackbuf_trace_snprint(full, 16384, t, style);
	for (p = full; *p; p++)
		lines += *p == '\n';
	say("# %s: %d bytes, %u lines, %u frames\n", name, len, lines, t->depth);
	bad = len != strlen(full);
	bad += style == STACKBUF_TRACE_LONG ? lines != t->depth : lines > 1;
	for (i = 0; i < t->depth; i++) {
		char sym[KSYM_SYMBOL_LEN];

		snprintf(sym, sizeof(sym), "%pS", (void *)t->pc[i]);
		bad += !strstr(full, sym);
	}
	say("%s trace_snprint %s: the whole text has every frame\n", bad ? "not ok" : "ok", name);
	bad = 0;
	for (size = 0; size <= len + 2; size++) {
		memset(part, 0x5a, len + 64);
		n = stackbuf_trace_snprint(part, size, t, style);
		bad += n != len;
		if (size) {
			bad += strnlen(part, size) != min(size - 1, len);
			bad += strncmp(part, full, min(size - 1, len));
		}
		for (i = size; i < len + 64; i++)
			bad += part[i] != 0x5a;
		if (bad) {
			say("# size %d returned %d\n", size, n);
			break;
		}
		cond_resched();
	}
	say("%s trace_snprint %s: any size: whole length returned, terminated, nothing beyond\n",
	    bad ? "not ok" : "ok", name);
out:
	kfree(full);
	kfree(part);
}

static void trace_worker(struct worker *wk)
{
	struct stackbuf_trace *t = stackbuf_trace_create(GFP_KERNEL);
	struct walk w = { .path = 0x5a5a, .levels = 4, .leaf = leaf_trace, .arg = t };

	trace_put();
	trace_save();
	trace_task();
	if (!t)
		return;
	next(&w);
	trace_snprint_style(t, STACKBUF_TRACE_LONG, "LONG");
	trace_snprint_style(t, STACKBUF_TRACE_COMPACT, "COMPACT");
	pr_info("trace_print begin\n");
	stackbuf_trace_print(t);
	pr_info("trace_print end\n");
	w.levels = STACKBUF_DEPTH_MAX + 10;
	w.at = 0;
	next(&w);
	pr_info("trace_print_short begin\n");
	stackbuf_trace_print_short(t);
	pr_info("trace_print_short end\n");
	stackbuf_trace_destroy(t);
}

int cmd_trace(u64 *arg)
{
	return on_cpus(0, trace_worker, arg);
}

/* print PATH LEVELS TIMES [ALL]: prints on CPU 0; if ALL is not 0, on all CPUs concurrently */
static void print_worker(struct worker *wk)
{
	u64 i;

	for (i = 0; i < wk->arg[2]; i++) {
		go(wk->arg[0], wk->arg[1], leaf_print, 0);
		/* dump_stack() takes the same lock: its lines must not mix with ours */
		if (wk->arg[3] && wk->cpu)
			go(wk->arg[0], 1, leaf_dump, 0);
		cond_resched();
	}
}

/* Another CPU holds printk's lock until @done is set */
struct keeper {
	bool keeps, done;
	struct completion ended;
};

static int keep_lines(void *arg)
{
	struct keeper *keeper = arg;
	unsigned long flags;

	printk_cpu_sync_get_irqsave(flags);
	WRITE_ONCE(keeper->keeps, true);
	while (!READ_ONCE(keeper->done))
		cpu_relax();
	printk_cpu_sync_put_irqrestore(flags);
	complete(&keeper->ended);
	return 0;
}

/*
 * kept: prints while another CPU holds printk's lock and waits for this CPU, as it might for
 * a lock that this CPU holds
 */
int cmd_kept(u64 *arg)
{
	struct keeper keeper = {};
	struct task_struct *task;
	unsigned long flags;
	u64 began;
	int cpu;

	init_completion(&keeper.ended);
	task = kthread_create(keep_lines, &keeper, "sbtest/keeper");
	if (IS_ERR(task))
		return PTR_ERR(task);
	cpu = get_cpu();
	kthread_bind(task, cpumask_any_but(cpu_online_mask, cpu));
	wake_up_process(task);
	while (!READ_ONCE(keeper.keeps))
		cpu_relax();
	local_irq_save(flags);
	began = ktime_get_ns();
	stackbuf_print();
	/* It is kept until here, so what is printed was printed without it */
	say("kept_us %llu\n", (ktime_get_ns() - began) / NSEC_PER_USEC);
	local_irq_restore(flags);
	WRITE_ONCE(keeper.done, true);
	put_cpu();
	wait_for_completion(&keeper.ended);
	return 0;
}

int cmd_print(u64 *arg)
{
	if (!arg[2])
		arg[2] = 1;
	return on_cpus(arg[3] ? -1 : 0, print_worker, arg);
}

int cmd_printid(u64 *arg)
{
	stackbuf_print_id(arg[0]);
	return 0;
}

/* guards: checks that the zero bytes at the arrays' ends are still zero */
int cmd_guards(u64 *arg)
{
	const void *end[] = {
		/* The very last counters of this one are never used */
		(void *)&stackbuf_info + stackbuf_info.info_size - 8,
		(void *)stackbuf_events + stackbuf_info.events_size,
		(void *)stackbuf_stacks + stackbuf_info.stacks_size,
		stackbuf + stackbuf_info.text_size,
	};
	static const char * const name[] = { "info", "events", "stacks", "text" };
	int i;

	for (i = 0; i < ARRAY_SIZE(end); i++)
		say("%s 8 zero bytes behind %s\n",
		    memchr_inv(end[i], 0, 8) ? "not ok" : "ok", name[i]);
	return 0;
}
