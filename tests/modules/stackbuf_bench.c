// SPDX-License-Identifier: GPL-2.0
/*
 * stackbuf_bench - what one event costs, compared with the kernel's own calls
 *
 * Unloading it measures and prints one line per figure to the kernel log; with
 * the parameter pairs, loading it does:
 *
 *	stackbuf_bench: NAME FRAMES COST
 *
 * COST is the mean of many events, in units of cost_now().  In a machine that
 * counts instructions (stackbuf-vm -i) the unit is one instruction.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/math.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/stacktrace.h>
#include "../stackbuf.h"
#include "test_compat.h"

static int rounds = 2000;
module_param(rounds, int, 0444);
MODULE_PARM_DESC(rounds, "Events of each measurement (default 2000)");

static int pairs;
module_param(pairs, int, 0444);
MODULE_PARM_DESC(pairs,
		 "Instead: so often, events per ms of one CPU and of two, for rounds events each");

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

/*
 * Threads on one CPU each, started together, for the same number of events.  alone() shares
 * nothing between CPUs: it shows what the machine itself loses with two CPUs busy.
 */

static noinline void alone(unsigned long *memory)
{
	int i;

	for (i = 0; i < 100; i++)
		WRITE_ONCE(memory[i % 16], READ_ONCE(memory[i % 16]) + i);
}

struct job {
	bool save;
	u64 start, end;
	unsigned long memory[32] ____cacheline_aligned;
};

static atomic_t waiting;

static int worker(void *data)
{
	struct job *job = data;
	int i;

	atomic_dec(&waiting);
	while (atomic_read(&waiting) > 0)
		cpu_relax();
	job->start = ktime_get_ns();
	for (i = 0; i < rounds; i++) {
		if (job->save)
			stackbuf_save();
		else
			alone(job->memory);
		if (i % 1000 == 0)
			cond_resched();
	}
	WRITE_ONCE(job->end, ktime_get_ns());
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

/* Events per ms of @threads CPUs, or an error */
static long throughput(bool save, int threads)
{
	static struct job jobs[2];
	struct task_struct *task[2];
	u64 start = U64_MAX, end = 0;
	int i;

	atomic_set(&waiting, threads);
	for (i = 0; i < threads; i++) {
		jobs[i].save = save;
		jobs[i].end = 0;
		task[i] = kthread_create(worker, &jobs[i], "worker/%d", i);
		if (IS_ERR(task[i]))
			return PTR_ERR(task[i]);
		kthread_bind(task[i], i);
	}
	for (i = 0; i < threads; i++)
		wake_up_process(task[i]);
	for (i = 0; i < threads; i++) {
		while (!READ_ONCE(jobs[i].end))
			schedule_timeout_uninterruptible(1);
		kthread_stop(task[i]);
		start = min(start, jobs[i].start);
		end = max(end, jobs[i].end);
	}
	return div64_u64((u64)rounds * threads * NSEC_PER_MSEC, end - start);
}

/* Alternate between the four measurements, as the speed of the host varies */
static int measure_pairs(void)
{
	long rate[4];
	int i, n;

	if (num_online_cpus() < 2)
		return -EINVAL;
	/* Wrap the ring first: reusing a page costs more than the first use */
	for (n = 0; n < 8; n++)
		throughput(true, 2);
	for (n = 0; n < pairs; n++) {
		for (i = 0; i < ARRAY_SIZE(rate); i++) {
			rate[i] = throughput(i >= 2, 1 + i % 2);
			if (rate[i] < 0)
				return rate[i];
		}
		pr_info("pair %ld %ld %ld %ld\n", rate[0], rate[1], rate[2], rate[3]);
	}
	return 0;
}

static int __init bench_init(void)
{
	if (pairs)
		return measure_pairs();
	return probed ? 0 : stack_depot_init();
}
module_init(bench_init);

/* Measure on unload: module_init() functions already run more than nine frames deep */
static void __exit bench_exit(void)
{
	const struct bench bench = { probed, event ? bench_event : bench_probed };

	if (pairs)
		return;
	if (probed)
		measure_all(&bench, 1, 1);
	else
		measure_all(benches, ARRAY_SIZE(benches), 0);
}
module_exit(bench_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Costs of stackbuf and its peers");
