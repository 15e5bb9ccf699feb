// SPDX-License-Identifier: GPL-2.0
/*
 * stackbuf_test.ko - a user of stackbuf with many callers, for the tests
 *
 * A line written to /sys/kernel/debug/stackbuf_test/run is a command with up to
 * four numbers, see commands[].  It has been carried out when the write returns;
 * reading the file gives what it found: "ok ..." and "not ok ..." for what only
 * the kernel can check, and figures for the scripts to check.
 *
 * The callers are sixteen functions that call each other as the nibbles of a
 * number say: a "path" of so many levels is one stack, and the next number is
 * another.  So the frames of a stack tell which path it was, and every id that
 * stackbuf returns is looked up in its table at once and held against that.
 *
 * Only for the virtual machine of the tests: it panics on command.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/completion.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/ftrace.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/panic_notifier.h>
#include <linux/percpu.h>
#include <linux/sched/task.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/stacktrace.h>
#include <linux/timer.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#ifdef CONFIG_X86_LOCAL_APIC
#include <asm/apic.h>
#include <asm/nmi.h>
#endif

#include "../stackbuf.h"
#include "test_compat.h"

#define OUT_SIZE	0x100000
#define REF_MAX		128
#define MARGIN		512	/* a function here is shorter than that */
#define GUARD		0x5ca1ab1edeadbeefULL

static struct dentry *dir;
static DEFINE_MUTEX(run_lock);	/* one command at a time; covers what follows */
static char *out;		/* what the last command found */
static size_t out_len;

static __printf(1, 2) void say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	out_len += vscnprintf(out + out_len, OUT_SIZE - out_len, fmt, args);
	va_end(args);
}

static void check(bool good, const char *what)
{
	say("%s %s\n", good ? "ok" : "not ok", what);
}

/* -------------------------------------------------------------- callers --- */

struct walk {
	u64 path;		/* a nibble a level, the lowest is called first */
	unsigned int levels;
	unsigned int at;
	void (*leaf)(struct walk *w);
	unsigned long tag;
	u32 id;
	unsigned long sum;
	unsigned int nr_ref;
	unsigned long *ref;	/* the kernel's own trace, taken by leaf_twin() */
	void *arg;
};

static void (*const steps[16])(struct walk *w);

static __always_inline unsigned int nibble(u64 path, unsigned int level)
{
	return (path >> (level % 16 * 4)) & 15;
}

static __always_inline void next(struct walk *w)
{
	if (w->at < w->levels)
		steps[nibble(w->path, w->at++)](w);
	else
		w->leaf(w);
	/* Whatever the compiler thinks of it: no tail call */
	barrier();
}

/* Each adds a number of its own, or the compiler makes one function of all */
#define STEP(n)						\
	static noinline void step_##n(struct walk *w)	\
	{						\
		next(w);				\
		w->sum += 1000 + (n);			\
	}
STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7)
STEP(8) STEP(9) STEP(10) STEP(11) STEP(12) STEP(13) STEP(14) STEP(15)

static void (*const steps[16])(struct walk *w) = {
	step_0, step_1, step_2, step_3, step_4, step_5, step_6, step_7,
	step_8, step_9, step_10, step_11, step_12, step_13, step_14, step_15,
};

static noinline void leaf_save(struct walk *w)
{
	w->id = stackbuf_save();
	barrier();
}

static noinline void leaf_tag(struct walk *w)
{
	w->id = stackbuf_save_tag(w->tag);
	w->sum++;
}

static noinline void leaf_twin(struct walk *w)
{
	w->nr_ref = stack_trace_save(w->ref, REF_MAX, 0);
	w->id = stackbuf_save_tag(w->tag);
	w->sum += 2;
}

static noinline void leaf_print(struct walk *w)
{
	stackbuf_print();
	w->sum += 3;
}

static noinline void leaf_dump(struct walk *w)
{
	dump_stack();
	w->sum += 4;
}

static noinline void leaf_trace(struct walk *w)
{
	stackbuf_trace_save(w->arg);
	w->sum += 5;
}

/*
 * A name as long as they come: with "+0x.../0x... [stackbuf_test]" it needs
 * more than KSYM_NAME_LEN bytes.  These were 128 before b8a94bfb3395 ("kallsyms: increase
 * maximum kernel symbol length to 512"), 6.1.
 */
#define GLUE2(a, b)	a##b
#define GLUE(a, b)	GLUE2(a, b)
/* sparse takes no longer ones */
#ifdef __CHECKER__
#define N50		a_short_name
#else
#define N50		a_name_of_fifty_bytes_that_goes_on_and_on_and_on_an
#endif
#define N100		GLUE(N50, N50)
#define N200		GLUE(N100, N100)
#define N400		GLUE(N200, N200)
#if KSYM_NAME_LEN < 512
#define LONG_NAME	GLUE(long_, N100)
#else
#define LONG_NAME	GLUE(long_, GLUE(N400, N50))
#endif

static noinline void LONG_NAME(struct walk *w)
{
	if (w->at++ < w->levels)
		LONG_NAME(w);
	else
		w->leaf(w);
	w->sum += 6;
}

/* Where frames are: their own word, and by which stackbuf names the places of callers */
#define PLACES	32
static unsigned long place[PLACES];

static noinline void leaf_place(struct walk *w)
{
	w->id = stackbuf_save();
	w->sum += 7;
}

static noinline void level_place(struct walk *w)
{
	unsigned long frame = (unsigned long)__builtin_frame_address(0);
	unsigned int at = w->at++;

	if (at < w->levels)
		level_place(w);
	else
		w->leaf(w);
	/* A caller's frame begins behind the return address; on arm64 with its record */
	if (IS_ENABLED(CONFIG_ARM64))
		place[at] = frame;
	else if (at)
		place[at - 1] = frame + 2 * sizeof(long);
	w->sum += 8;
}

static u32 go(u64 path, unsigned int levels, void (*leaf)(struct walk *w), unsigned long tag)
{
	struct walk w = { .path = path, .levels = levels, .leaf = leaf, .tag = tag };

	next(&w);
	return w.id;
}

/* -------------------------------------------------- looking into the table --- */

/*
 * Finds the stack of an id and copies its frames.  Returns their number, 0 when
 * it is gone, -1 when what is there is no stack.
 */
static int frames_of(u32 id, unsigned long *pc, bool *cut)
{
	u64 granules = READ_ONCE(stackbuf_info.stacks_size) / STACKBUF_GRANULE;
	u32 place = id & ((1ULL << READ_ONCE(stackbuf_info.id_bits)) - 1);
	unsigned int i, n = 0, nr, words;
	const struct stackbuf_stack *s;
	u32 hash;

	if (place >= granules || place % 64 == 0)
		return -1;
	s = (void *)stackbuf_stacks + (size_t)place * STACKBUF_GRANULE;
	if (READ_ONCE(s->id) != id)
		return 0;
	smp_rmb(); /* the id before what it stands for */
	nr = READ_ONCE(s->nr);
	words = READ_ONCE(s->words);
	hash = READ_ONCE(s->hash);
	*cut = READ_ONCE(s->flags) & STACKBUF_STACK_CUT;
	if (!nr || nr > STACKBUF_DEPTH_MAX || words < nr || words > 3 * nr ||
	    place % 64 + DIV_ROUND_UP(sizeof(*s) + 4 * words, 64) > 64 ||
	    stackbuf_hash(s->frames, words, *cut) != hash)
		n = -1U;
	for (i = 0; n != -1U && n < nr && i < words; n++) {
		if (s->frames[i] == STACKBUF_FRAME_FAR) {
			pc[n] = (u64)s->frames[i + 2] << 32 | s->frames[i + 1];
			i += 3;
		} else {
			pc[n] = READ_ONCE(stackbuf_info.base_addr) + (s32)s->frames[i++];
		}
	}
	smp_rmb(); /* what it stood for before the id */
	if (READ_ONCE(s->id) != id)
		return 0;
	return n == nr && i == words ? nr : -1;
}

/* Is pc inside fn?  Of the functions here fn then is the nearest below. */
static bool inside(unsigned long pc, void *fn)
{
	return pc > (unsigned long)fn && pc - (unsigned long)fn < MARGIN;
}

/* 1: the stack of id is that of the path; 0: gone; -1: another one */
static int right(u32 id, u64 path, unsigned int levels, void *leaf)
{
	unsigned long pc[STACKBUF_DEPTH_MAX];
	unsigned int i, k, best;
	bool cut;
	int nr = frames_of(id, pc, &cut);

	if (nr <= 0)
		return nr;
	if (!inside(pc[0], leaf))
		return -1;
	for (i = 0; i < levels && i + 1 < nr; i++) {
		best = 16;
		for (k = 0; k < 16; k++)
			if (inside(pc[i + 1], steps[k]) &&
			    (best == 16 || (unsigned long)steps[k] > (unsigned long)steps[best]))
				best = k;
		if (best != nibble(path, levels - 1 - i))
			return -1;
	}
	return i == levels || cut ? 1 : -1;
}

/* ------------------------------------------------------------- threads --- */

struct worker {
	void (*fn)(struct worker *w);
	int cpu;
	u64 arg[4];
	struct task_struct *task;
	struct completion done;
};

static int worker_thread(void *data)
{
	struct worker *w = data;

	w->fn(w);
	complete(&w->done);
	while (!kthread_should_stop()) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (!kthread_should_stop())
			schedule();
		__set_current_state(TASK_RUNNING);
	}
	return 0;
}

/* Runs fn on a thread of its own on each CPU at once, or on one CPU (>= 0) */
static int on_cpus(int only, void (*fn)(struct worker *w), const u64 *arg)
{
	struct worker *all = kcalloc(nr_cpu_ids, sizeof(*all), GFP_KERNEL);
	int cpu, err = all ? 0 : -ENOMEM;

	if (err)
		return err;
	for_each_online_cpu(cpu) {
		struct worker *w = &all[cpu];

		if (only >= 0 && cpu != only)
			continue;
		w->fn = fn;
		w->cpu = cpu;
		if (arg)
			memcpy(w->arg, arg, sizeof(w->arg));
		init_completion(&w->done);
		w->task = kthread_create(worker_thread, w, "sbtest/%d", cpu);
		if (IS_ERR(w->task)) {
			err = PTR_ERR(w->task);
			w->task = NULL;
			break;
		}
		kthread_bind(w->task, cpu);
	}
	for_each_online_cpu(cpu)
		if (all[cpu].task)
			wake_up_process(all[cpu].task);
	for_each_online_cpu(cpu) {
		if (!all[cpu].task)
			continue;
		wait_for_completion(&all[cpu].done);
		kthread_stop(all[cpu].task);
	}
	kfree(all);
	return err;
}

/* ------------------------------------------- commands: paths and depths --- */

/* depth FROM TO: is each trace what the kernel itself unwinds, up to the limit? */
static void depth_worker(struct worker *wk)
{
	unsigned long *ref = kcalloc(REF_MAX + STACKBUF_DEPTH_MAX, sizeof(*ref), GFP_KERNEL);
	unsigned long *pc = ref + REF_MAX;
	unsigned int depth;

	if (!ref)
		return;
	for (depth = wk->arg[0]; depth <= wk->arg[1]; depth++) {
		struct walk w = {
			.path = 0x0123456789abcdefULL, .levels = depth,
			.leaf = leaf_twin, .ref = ref, .tag = depth,
		};
		const char *bad = "";
		bool cut = false;
		int nr;

		next(&w);
		nr = frames_of(w.id, pc, &cut);
		if (!w.id)
			bad = " not recorded";
		else if (nr <= 0)
			bad = " not in the table";
		else if (nr != min_t(int, w.nr_ref, STACKBUF_DEPTH_MAX))
			bad = " number of frames";
		else if (cut != (w.nr_ref > STACKBUF_DEPTH_MAX))
			bad = " cut mark";
		else if (!inside(pc[0], leaf_twin) || pc[0] <= ref[0])
			bad = " first frame";
		else if (memcmp(pc + 1, ref + 1, (nr - 1) * sizeof(*pc)))
			bad = " frames";
		say("depth %u id %u frames %u of %u cut %d %s%s\n", depth, w.id, nr,
		    w.nr_ref, cut, *bad ? "BAD" : "good", bad);
	}
	kfree(ref);
}

static int cmd_depth(u64 *arg)
{
	return on_cpus(0, depth_worker, arg);
}

static int cmp_u32(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return x < y ? -1 : x > y;
}

/*
 * distinct N LEVELS OTHERS: N paths, each twice: N ids, the same ones the second
 * time.  After each, so many saves of a path that stays the same.
 */
static void distinct_worker(struct worker *wk)
{
	unsigned int n = wk->arg[0], levels = wk->arg[1], i, k, nr = 0;
	unsigned int none = 0, differ = 0, wrong = 0, gone = 0, same = 0;
	u32 *ids = vzalloc(n * sizeof(*ids));

	if (!ids)
		return;
	for (i = 0; i < 2 * n; i++) {
		/* Both rounds by this one call, which is part of the path */
		u32 id = go(i % n, levels, leaf_save, 0);

		if (!id) {
			none++;
		} else {
			int found = right(id, i % n, levels, leaf_save);

			gone += found == 0;
			wrong += found < 0;
		}
		if (i >= n)
			differ += id != ids[i % n];
		ids[i % n] = id;
		for (k = 0; k < wk->arg[2]; k++)
			go(0x99, 2, leaf_tag, k);
		cond_resched();
	}
	for (i = 0; i < n; i++)
		if (ids[i])
			ids[nr++] = ids[i];
	sort(ids, nr, sizeof(*ids), cmp_u32, NULL);
	for (i = 1; i < nr; i++)
		same += ids[i] == ids[i - 1];
	say("distinct %u none %u differ %u wrong %u gone %u same %u\n",
	    n, none, differ, wrong, gone, same);
	vfree(ids);
}

static int cmd_distinct(u64 *arg)
{
	return on_cpus(0, distinct_worker, arg);
}

/* path KEY LEVELS TAG TIMES: one path, so often; the last id */
static void path_worker(struct worker *wk)
{
	u32 id = 0;
	u64 i;

	for (i = 0; i < wk->arg[3]; i++) {
		id = go(wk->arg[0], wk->arg[1], leaf_tag, wk->arg[2]);
		cond_resched();
	}
	say("id %u\n", id);
}

static int cmd_path(u64 *arg)
{
	if (!arg[3])
		arg[3] = 1;
	return on_cpus(0, path_worker, arg);
}

/* places LEVELS: how far each frame lies from the stack's end, from the innermost on */
static void places_worker(struct worker *wk)
{
	struct walk w = { .levels = wk->arg[0], .leaf = leaf_place };
	unsigned long end = (unsigned long)task_stack_page(current) + THREAD_SIZE;
	unsigned int i;

	level_place(&w);
	say("id %u\n", w.id);
	for (i = w.levels; i-- > 0;)
		say("place %lu\n", end - place[i]);
}

static int cmd_places(u64 *arg)
{
	return arg[0] < PLACES ? on_cpus(0, places_worker, arg) : -ERANGE;
}

/* long TIMES: a function with a name of the greatest length, calling itself */
static void long_worker(struct worker *wk)
{
	struct walk w = { .levels = wk->arg[0], .leaf = leaf_tag, .tag = 0x1049 };

	LONG_NAME(&w);
	say("id %u\n", w.id);
}

static int cmd_long(u64 *arg)
{
	return on_cpus(0, long_worker, arg);
}

/* ------------------------------------------------- commands: storm, tags --- */

/*
 * What was tried and what came of it, counted by CPU: the increment of a
 * per-CPU variable is one instruction, so interrupts do not tear it.
 */
struct tally {
	unsigned long attempted, recorded, refused, wrong, gone;
	unsigned long from[4];	/* attempted in task, softirq, hardirq, NMI */
	unsigned long recalled;	/* recorded in an NMI, by recall */
};

static DEFINE_PER_CPU(struct tally, tally);
static unsigned int storm_paths, storm_levels;

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

static void storm_save(u64 path, void (*leaf)(struct walk *w), unsigned long tag, int context)
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

/*
 * Registers of a place in a function that goes on: as often as they are saved until it
 * returns, it is one stack, so that it is recalled also in an NMI and at a breakpoint.
 */
struct held {
	struct task_struct *task;
	struct pt_regs regs;
};

static DEFINE_PER_CPU(struct held, held);

static __always_inline void hold(void)
{
	struct held *h = this_cpu_ptr(&held);
	unsigned long ip, sp, fp;

	memset(&h->regs, 0, sizeof(h->regs));
#ifdef CONFIG_ARM64
	asm volatile("0: adr %0, 0b; mov %1, sp; mov %2, x29" : "=&r" (ip), "=&r" (sp), "=r" (fp));
	h->regs.pc = ip;
	h->regs.sp = sp;
	h->regs.regs[29] = fp;
	h->regs.pstate = PSR_MODE_EL1h;
#else
	asm volatile("0: leaq 0b(%%rip), %0; movq %%rsp, %1; movq %%rbp, %2" :
		     "=&r" (ip), "=&r" (sp), "=r" (fp));
	h->regs.ip = ip;
	h->regs.sp = sp;
	h->regs.bp = fp;
	h->regs.cs = __KERNEL_CS;
#endif
	barrier();
	WRITE_ONCE(h->task, current);
}

static void let_go(void)
{
	WRITE_ONCE(this_cpu_ptr(&held)->task, NULL);
	barrier();
}

/* 1: the stack of @id begins where the registers do; 0: gone; -1: another one */
static int right_held(u32 id, const struct pt_regs *regs)
{
	unsigned long pc[STACKBUF_DEPTH_MAX];
	bool cut;
	int nr = frames_of(id, pc, &cut);

	if (nr <= 0)
		return nr;
	return pc[0] == instruction_pointer((struct pt_regs *)regs) && nr > 2 ? 1 : -1;
}

/* Walks counted on this CPU: a save that leaves it as it was recalled its stack */
static u64 walks(void)
{
	unsigned int slot = raw_smp_processor_id() % STACKBUF_LOSS_SLOTS;
	const u64 *line = stackbuf_info.loss[slot / STACKBUF_LOSS_LINES]
					.slot[slot % STACKBUF_LOSS_LINES];

	return READ_ONCE(line[STACKBUF_WALKED_NEW]) + READ_ONCE(line[STACKBUF_WALKED_ELSEWHERE]) +
	       READ_ONCE(line[STACKBUF_WALKED_UNFIT]) + READ_ONCE(line[STACKBUF_WALKED_AGAIN]);
}

/* NMIs, sent from CPU to CPU */

static DEFINE_PER_CPU(u64, nmi_turn);
static bool nmi_on;

#ifdef CONFIG_X86_LOCAL_APIC
static void (*nmi_fn)(void);

static int nmi_handler(unsigned int type, struct pt_regs *regs)
{
	/* All NMIs are ours: nothing else in the virtual machine sends any */
	if (nmi_fn)
		nmi_fn();
	return NMI_HANDLED;
}

static int nmi_start(void (*fn)(void))
{
	int err;

	nmi_fn = fn;
	err = register_nmi_handler(NMI_LOCAL, nmi_handler, 0, "stackbuf_test");
	nmi_on = !err;
	return err;
}

static void nmi_stop(void)
{
	if (!nmi_on)
		return;
	msleep(20);	/* those that are on the way */
	unregister_nmi_handler(NMI_LOCAL, "stackbuf_test");
	nmi_on = false;
}

static void nmi_send(int cpu)
{
	apic->send_IPI(cpu, NMI_VECTOR);
}
#else
static int nmi_start(void (*fn)(void))
{
	return -EOPNOTSUPP;
}

static void nmi_stop(void)
{
}

static void nmi_send(int cpu)
{
}
#endif

static void storm_nmi(void)
{
	u64 turn = this_cpu_inc_return(nmi_turn);
	struct held *h = this_cpu_ptr(&held);

	/* Mostly what is recalled */
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
	 * From now on, so that a slow machine gets on with its work as well.
	 * hrtimer_forward_now() would keep to a grid, of which the next line may be right
	 * ahead, each time.
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
	struct hrtimer *timer = this_cpu_ptr(&ticker);
	int cpu;

	/* Else each save is a call of storm_save(), which may be probed */
	if (wk->arg[3] > 1)
		hold();
	if (tick_ns) {
		hrtimer_setup(timer, storm_tick, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
		tasklet_setup(this_cpu_ptr(&softer), storm_soft);
		hrtimer_start(timer, ns_to_ktime(tick_ns), HRTIMER_MODE_REL_PINNED_HARD);
	}
	while (ktime_get_ns() < end) {
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
 * storm MS PATHS TICK_US NMI: all CPUs save, with timers and NMIs over it; NMI 1: the timer
 * sends them, 2: each save as well, to the other CPUs
 */
static int cmd_storm(u64 *arg)
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
static u32 *tag_ids;		/* of each CPU and path, the id */

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
	/* Written by several threads at once, but never longer than this */
	mutex_lock(&run_lock);
	say("cpu %d pid %d n %llu none %lu other %lu wrong %lu\n",
	    wk->cpu, current->pid, n, none, other, wrong);
	mutex_unlock(&run_lock);
}

static int cmd_tags(u64 *arg)
{
	u64 i, paths = arg[1];
	int err, cpu;

	if (!paths || paths > 100000)
		return -EINVAL;
	tag_ids = vzalloc(nr_cpu_ids * paths * sizeof(*tag_ids));
	if (!tag_ids)
		return -ENOMEM;
	pr_info("tags begin\n");
	/* The workers say something */
	mutex_unlock(&run_lock);
	err = on_cpus(-1, tags_worker, arg);
	mutex_lock(&run_lock);
	pr_info("tags end\n");
	for_each_online_cpu(cpu)
		for (i = 0; i < paths; i++)
			say("path %d %llu id %u\n", cpu, i, tag_ids[cpu * paths + i]);
	vfree(tag_ids);
	return err;
}

/* ----------------------------------------------------- commands: contexts --- */

#define CONTEXT_LEVELS	3

static DECLARE_COMPLETION(context_done);
static u32 context_id;
static void (*context_fn)(void);

static void context_save(void)
{
	context_id = go(0x321, CONTEXT_LEVELS, leaf_tag, 0xc0ffee);
}

static void context_print(void)
{
	go(0x321, CONTEXT_LEVELS, leaf_print, 0);
	stackbuf_print_id(1);
}

static void context_run(void)
{
	context_fn();
	complete(&context_done);
}

static void context_timer(struct timer_list *t)
{
	context_run();
}

static void context_tasklet(struct tasklet_struct *t)
{
	context_run();
}

static void context_irq_work(struct irq_work *work)
{
	context_run();
}

static enum hrtimer_restart context_hrtimer(struct hrtimer *timer)
{
	context_run();
	return HRTIMER_NORESTART;
}

static DEFINE_TIMER(c_timer, context_timer);
static DECLARE_TASKLET(c_tasklet, context_tasklet);
/* Otherwise PREEMPT_RT runs it in a thread */
static struct irq_work c_irq_work = IRQ_WORK_INIT_HARD(context_irq_work);
static DEFINE_RAW_SPINLOCK(c_lock);

static void context_say(const char *name, int want)
{
	say("context %s id %u right %d want %d\n", name, context_id,
	    right(context_id, 0x321, CONTEXT_LEVELS, leaf_tag), want);
	context_id = 0;
}

/* context: a save from each, with the context that its event must show */
static int cmd_context(u64 *arg)
{
	struct hrtimer timer;
	unsigned long flags;
	int err;

	context_fn = context_save;
	context_save();
	context_say("task", STACKBUF_TASK);

	preempt_disable();
	context_save();
	preempt_enable();
	context_say("preempt_disable", STACKBUF_TASK);

	raw_spin_lock_irqsave(&c_lock, flags);
	context_save();
	raw_spin_unlock_irqrestore(&c_lock, flags);
	context_say("raw_spinlock", STACKBUF_TASK);

	mod_timer(&c_timer, jiffies + 1);
	wait_for_completion(&context_done);
	timer_delete_sync(&c_timer);
	context_say("timer", STACKBUF_SOFTIRQ);

	tasklet_schedule(&c_tasklet);
	wait_for_completion(&context_done);
	tasklet_kill(&c_tasklet);
	context_say("tasklet", STACKBUF_SOFTIRQ);

	hrtimer_setup_on_stack(&timer, context_hrtimer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	hrtimer_start(&timer, ms_to_ktime(1), HRTIMER_MODE_REL_HARD);
	wait_for_completion(&context_done);
	hrtimer_cancel(&timer);
	destroy_hrtimer_on_stack(&timer);
	context_say("hrtimer", STACKBUF_HARDIRQ);

	irq_work_queue(&c_irq_work);
	wait_for_completion(&context_done);
	irq_work_sync(&c_irq_work);
	context_say("irq_work", STACKBUF_HARDIRQ);

	err = nmi_start(context_save);
	if (err)
		return err == -EOPNOTSUPP ? 0 : err;
	preempt_disable();
	nmi_send(smp_processor_id());
	preempt_enable();
	nmi_stop();
	context_say("nmi", STACKBUF_NMI);
	return 0;
}

/* nmiprint: stackbuf_print() and stackbuf_print_id(), once each, in an NMI */
static int cmd_nmiprint(u64 *arg)
{
	int err = nmi_start(context_print);

	if (err)
		return err;
	preempt_disable();
	nmi_send(smp_processor_id());
	preempt_enable();
	nmi_stop();
	return 0;
}

/*
 * nest N: a save in a save in a save, N deep.  A function of the kernel that
 * every capture calls is traced; the callback saves, so it comes back here.
 */
#ifdef CONFIG_DYNAMIC_FTRACE
#ifdef CONFIG_UNWINDER_ORC
#define WALKER	"__unwind_start"
#else
#define WALKER	"stack_trace_save"
#endif

static unsigned int nest_depth, nest_max;
static u64 nest_path;
static struct task_struct *nest_task;
static u32 nest_ids[16];

static notrace void nest_callback(unsigned long ip, unsigned long parent,
				  struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	unsigned int depth = nest_depth;

	if (current != nest_task || in_interrupt() || depth >= nest_max)
		return;
	nest_depth++;
	/* Always a new stack, so that it is walked */
	nest_ids[depth] = go(nest_path++, 8, leaf_tag, 0x4e570000 + depth);
	/* The walk calls the function more than once: each level nests once */
	nest_depth = nest_max;
}

static struct ftrace_ops nest_ops = { .func = nest_callback };

static int cmd_nest(u64 *arg)
{
	unsigned int i;
	int err;

	if (arg[0] < 1 || arg[0] > ARRAY_SIZE(nest_ids))
		return -EINVAL;
	memset(nest_ids, 0, sizeof(nest_ids));
	err = ftrace_set_filter(&nest_ops, WALKER, sizeof(WALKER) - 1, 1);
	if (err)
		return err;
	nest_task = NULL;
	err = register_ftrace_function(&nest_ops);
	if (err)
		return err;
	nest_max = arg[0];
	nest_depth = 1;
	preempt_disable();
	nest_task = current;
	barrier();
	nest_ids[0] = go(nest_path++, 8, leaf_tag, 0x4e570000);
	barrier();
	nest_task = NULL;
	preempt_enable();
	unregister_ftrace_function(&nest_ops);
	for (i = 0; i < arg[0]; i++)
		say("nest %u id %u\n", i + 1, nest_ids[i]);
	return 0;
}

static void nest_end(void)
{
	/* Frees the filter; ftrace_free_filter() is for modules from 6.2 on only */
	ftrace_set_filter(&nest_ops, NULL, 0, 1);
}
#else
static int cmd_nest(u64 *arg)
{
	return -EOPNOTSUPP;
}

static void nest_end(void)
{
}
#endif

/*
 * step ADDRESS PATH LEVELS TAG: as if an NMI came at this instruction of
 * stackbuf.  A probe there keeps a copy of all four arrays, as a dump taken in
 * this instant would, and saves.  "step 0" removes the probes.
 */
static struct kprobe *step_probe[8192];
static unsigned int step_probes;
static void *step_copy;		/* info, events, stacks, text */
static size_t step_size;
static bool step_armed, step_hit, step_recalled;
static u32 step_id;
static int step_right;		/* as of right() */
static unsigned int step_mode;	/* STEP_HELD etc. */
static u64 step_new;		/* paths that are new each time */
static struct kprobe *step_only;	/* of all these probes, the one that is armed */
static struct debugfs_blob_wrapper step_blob;

#define STEP_HELD	1	/* the save from there is recalled */
#define STEP_TABLE	2	/* the table is full */
#define STEP_RING	4	/* the ring as well: all pages are open */
#define STEP_LATE	8	/* "latesteps" does them all, on a dying CPU */

static int step_handler(struct kprobe *p, struct pt_regs *regs)
{
	void *to = step_copy;

	if (!READ_ONCE(step_armed) || (step_only && step_only != p))
		return 0;
	step_armed = false;
	step_hit = true;
	if (step_only) {
		step_id = go(7, 2, leaf_tag, 0x57e9);
		step_right = step_id ? right(step_id, 7, 2, leaf_tag) : 0;
		return 0;
	}
	memcpy(to, &stackbuf_info, stackbuf_info.info_size);
	to += stackbuf_info.info_size;
	memcpy(to, stackbuf_events, stackbuf_info.events_size);
	to += stackbuf_info.events_size;
	memcpy(to, stackbuf_stacks, stackbuf_info.stacks_size);
	to += stackbuf_info.stacks_size;
	memcpy(to, stackbuf, stackbuf_info.text_size);
	if (step_mode & STEP_HELD) {
		struct held *h = this_cpu_ptr(&held);
		u64 before = walks();

		step_id = stackbuf_save_regs(&h->regs, 0x57e9);
		step_recalled = step_id && walks() == before;
		step_right = step_id ? right_held(step_id, &h->regs) : 0;
	} else {
		step_id = go(7, 2, leaf_tag, 0x57e9);
		step_right = step_id ? right(step_id, 7, 2, leaf_tag) : 0;
	}
	return 0;
}

/* Close every page of the ring that is not open, or let them be taken again */
static unsigned int ring_shut(bool shut)
{
	unsigned int i, n = 0;

	for (i = 0; i < stackbuf_info.events_size / STACKBUF_PAGE_SIZE; i++) {
		u32 *owner = &stackbuf_events[i].owner;

		n += shut ? cmpxchg(owner, 0, U32_MAX) == 0 || *owner == U32_MAX :
		     cmpxchg(owner, U32_MAX, 0) == U32_MAX;
	}
	return n;
}

static void step_end(void)
{
	if (step_probes)
		unregister_kprobes(step_probe, step_probes);
	while (step_probes)
		kfree(step_probe[--step_probes]);
}

/* A page of the ring holds fewer events of one task than this */
#define STEP_SAVES	260

static unsigned int step_saves, step_none;
static int step_wrong;

static u32 step_save(u64 path, const u64 *arg)
{
	u32 id = go(path, arg[2], leaf_tag, arg[3]);
	int is = id ? right(id, path, arg[2], leaf_tag) : 0;

	step_saves++;
	step_none += !id;
	/* In a table that is full it may have had to make room */
	step_wrong += id && (is < 0 || (!is && !(step_mode & STEP_TABLE)));
	return id;
}

/* A new stack, then a known one until a page of the ring is full */
static void step_worker(struct worker *wk)
{
	const struct held *h = this_cpu_ptr(&held);
	unsigned int calls, tries;

	step_hit = false;
	step_recalled = false;
	step_id = 0;
	step_saves = 0;
	step_none = 0;
	step_wrong = 0;
	hold();
	/* Learnt by the second time; a table that is full makes room meanwhile */
	for (calls = 0, tries = 0; step_mode & STEP_HELD && calls < 3 && tries < 50; tries++) {
		u32 id = stackbuf_save_regs((struct pt_regs *)&h->regs, 0x57e9);

		calls += !!id;
		step_saves++;
		step_none += !id;
		if (!id)
			msleep(20);
	}
	if (step_mode & STEP_TABLE)
		step_save(5, wk->arg);
	for (tries = 0; step_mode & STEP_TABLE && tries < 400; tries++)
		if (!step_save(0x100000 + step_new++, wk->arg))
			break;
	if (step_mode & STEP_RING)
		ring_shut(true);
	WRITE_ONCE(step_armed, true);
	calls = 0;
	step_save(step_mode & STEP_TABLE ? 0x100000 + step_new++ : wk->arg[1], wk->arg);
	/* In a full table a new one each second time: it gives up the page that 5 came into */
	while (!step_hit && calls++ < STEP_SAVES) {
		if (step_mode & STEP_TABLE && calls % 2 == 0)
			step_save(0x100000 + step_new++, wk->arg);
		else if (!step_save(5, wk->arg) && !(step_mode & STEP_TABLE))
			break;
	}
	WRITE_ONCE(step_armed, false);
	let_go();
	ring_shut(false);
	say("hit %d wrong %d inner %u right %d recalled %d saves %u none %u\n", step_hit,
	    step_wrong, step_id, step_right, step_recalled, step_saves, step_none);
}

static int cmd_step(u64 *arg)
{
	struct kprobe *p;
	int err;

	if (!arg[0]) {
		step_end();
		return 0;
	}
	if (!step_copy) {
		step_size = stackbuf_info.info_size + stackbuf_info.events_size +
			    stackbuf_info.stacks_size + stackbuf_info.text_size;
		if (step_size > (8 << 20))
			return -EFBIG;
		step_copy = vzalloc(step_size);
		if (!step_copy)
			return -ENOMEM;
		step_blob.data = step_copy;
		step_blob.size = step_size;
		debugfs_create_blob("snapshot", 0400, dir, &step_blob);
	}
	if (step_probes && (unsigned long)step_probe[step_probes - 1]->addr == arg[0]) {
		err = enable_kprobe(step_probe[step_probes - 1]);
		p = step_probe[step_probes - 1];
	} else {
		if (step_probes == ARRAY_SIZE(step_probe))
			return -ENOSPC;
		p = kzalloc(sizeof(*p), GFP_KERNEL);
		if (!p)
			return -ENOMEM;
		p->addr = (void *)(unsigned long)arg[0];
		p->pre_handler = step_handler;
		err = register_kprobe(p);
		if (err) {
			kfree(p);
			/* No instruction begins here, or none may be probed */
			say("none %d\n", err);
			return 0;
		}
		step_probe[step_probes++] = p;
	}
	if (!err && !(step_mode & STEP_LATE)) {
		err = on_cpus(0, step_worker, arg);
		disable_kprobe(p);
	}
	return err;
}

/* stepmode MODE: what steps are like from now on, STEP_HELD etc. */
static int cmd_stepmode(u64 *arg)
{
	step_mode = arg[0];
	return 0;
}

/* --------------------------------------- commands: the ring, dying CPUs --- */

/*
 * turns ROUNDS: the CPUs save one after the other, each until it was recorded, for up to a
 * second: how long each waited, and how much the ring has aged
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

static int cmd_turns(u64 *arg)
{
	unsigned int saves = 0, never = 0, worst = 0;
	int cpu, err;
	u64 round;

	for (round = 0; round < arg[0]; round++) {
		for_each_online_cpu(cpu) {
			ktime_t start = ktime_get();
			unsigned int ms;

			do {
				err = on_cpus(cpu, turn_worker, arg);
				if (err)
					return err;
				saves++;
				ms = ktime_ms_delta(ktime_get(), start);
				if (!turn_id)
					usleep_range(500, 1000);
			} while (!turn_id && ms < 1000);
			never += !turn_id;
			worst = max(worst, ms);
		}
	}
	say("saves %u never %u worst %u age %llu\n", saves, never, worst, ring_age());
	return 0;
}

/*
 * starve N: N saves on CPU 0 while the others have all pages of the ring, then one that
 * gets a page: how much the ring has aged
 */
static unsigned int starve_none, starve_open;

static void starve_worker(struct worker *wk)
{
	unsigned int i, pages = stackbuf_info.events_size / STACKBUF_PAGE_SIZE;
	unsigned long flags;

	starve_open = 0;
	starve_none = 0;
	/* Nothing that is asked for is done meanwhile */
	local_irq_save(flags);
	for (i = 0; i < pages; i++) {
		u32 owner = READ_ONCE(stackbuf_events[i].owner);

		starve_open += owner > 1 && owner != U32_MAX;
	}
	for (i = 0; i < wk->arg[0] && starve_open == pages; i++)
		starve_none += !go(1, 4, leaf_tag, i);
	local_irq_restore(flags);
}

static int cmd_starve(u64 *arg)
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
	for (i = 0; i < 100 && !err && !turn_id; i++) {
		err = on_cpus(0, turn_worker, arg);
		msleep(20);
	}
	say("pages %u open %u none %u aged %llu recovered %d\n", pages, starve_open, starve_none,
	    ring_age() - before, turn_id != 0);
	return err;
}

/*
 * late N MS: from now on a CPU that goes offline saves N new stacks, MS apart, where it has
 * nothing more to do than to report that it is dead.  "late 0": no more
 */
static unsigned int late_saves, late_ms, late_hits;

static int late_handler(struct kprobe *p, struct pt_regs *regs)
{
	unsigned int i;

	late_hits++;
	for (i = 0; i < late_saves; i++) {
		storm_save(0x200000 + step_new++, leaf_tag, 0x1a7e, STACKBUF_TASK);
		mdelay(late_ms);
	}
	return 0;
}

static struct kprobe late_probe = {
	.symbol_name = "cpuhp_report_idle_dead",
	.pre_handler = late_handler,
};

static int cmd_late(u64 *arg)
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
 * latesteps 1: at each instruction that "step" named with STEP_LATE, a CPU that goes offline
 * saves in the middle of another save, where it has nothing more to do than to report that it
 * is dead.  ftrace calls it there, as a probe's handler runs no other probe's.  "latesteps 0":
 * no more.
 */
#ifdef CONFIG_DYNAMIC_FTRACE
static bool late_stepping;
static unsigned int late_steps, late_inner, late_right, late_wrong;

static notrace void late_callback(unsigned long ip, unsigned long parent,
				  struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	static const u64 known[4] = { 0, 5, 6, 0x1a7e };
	unsigned int i, calls;

	step_saves = 0;
	step_none = 0;
	step_wrong = 0;
	for (i = 0; i < step_probes; i++) {
		step_only = step_probe[i];
		step_hit = false;
		step_id = 0;
		WRITE_ONCE(step_armed, true);
		step_save(0x300000 + step_new++, known);
		/* Enough for a page of the ring to fill, once in a while */
		for (calls = 0; !step_hit && calls < 3; calls++)
			step_save(5, known);
		WRITE_ONCE(step_armed, false);
		late_steps += step_hit;
		late_inner += step_id != 0;
		late_right += step_id && step_right > 0;
		/* As in step_save(): the table may be full, but no stack may be another */
		late_wrong += step_id && step_right < 0;
	}
	step_only = NULL;
	late_wrong += step_wrong;
}

static struct ftrace_ops late_ops = { .func = late_callback };

static int cmd_latesteps(u64 *arg)
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
		say("probes %u stepped %u inner %u right %u wrong %u saves %u none %u\n", step_probes,
		    late_steps, late_inner, late_right, late_wrong, step_saves, step_none);
	}
	return err;
}
#else
static int cmd_latesteps(u64 *arg)
{
	return -EOPNOTSUPP;
}
#endif

/* ------------------------------------------- commands: stack(9), printing --- */

static noinline int sleeper(void *data)
{
	while (!kthread_should_stop()) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (!kthread_should_stop())
			schedule();
		__set_current_state(TASK_RUNNING);
	}
	return 0;
}

static noinline int spinner(void *data)
{
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
	check(!bad && t->depth == STACKBUF_DEPTH_MAX, "trace_put: takes 64 addresses");
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
	for (w.levels = 1; w.levels <= 80; w.levels++) {
		unsigned int want;

		memset(g, 0xa5, sizeof(*g));
		g->before = GUARD;
		for (i = 0; i < ARRAY_SIZE(g->after); i++)
			g->after[i] = GUARD;
		w.at = 0;
		next(&w);
		/* This function's callers, and leaf_trace(), and the levels */
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
	check(!bad, "trace_save: depths 1 to 80, cut at 64 and marked, memory around untouched");
	kfree(g);
}

/* Where the kernel offers no way to walk another task's stack, the calls say so */
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
	/* On one CPU nobody else runs */
	busy = num_online_cpus() > 1 ? kthread_create(spinner, NULL, "sbbusy") : NULL;
	if (IS_ERR(asleep) || IS_ERR(busy))
		goto out;
	get_task_struct(asleep);
	if (busy) {
		kthread_bind(busy, smp_processor_id() ? 0 : 1);
		wake_up_process(busy);
	}
	msleep(50);

	err = stackbuf_trace_save_task(t, asleep);
	stackbuf_trace_snprint(text, 8192, t, STACKBUF_TRACE_LONG);
	if (!OTHER_TASKS) {
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
	for (i = 0; i < 100 && READ_ONCE(asleep->stack); i++)
		msleep(20);
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
	w.levels = 80;
	w.at = 0;
	next(&w);
	pr_info("trace_print_short begin\n");
	stackbuf_trace_print_short(t);
	pr_info("trace_print_short end\n");
	stackbuf_trace_destroy(t);
}

static int cmd_trace(u64 *arg)
{
	return on_cpus(0, trace_worker, arg);
}

/* print PATH LEVELS TIMES: on one CPU; with a fourth number: on all at once */
static void print_worker(struct worker *wk)
{
	u64 i;

	for (i = 0; i < wk->arg[2]; i++) {
		go(wk->arg[0], wk->arg[1], leaf_print, 0);
		/* What dump_stack() prints keeps out as well */
		if (wk->arg[3] && wk->cpu)
			go(wk->arg[0], 1, leaf_dump, 0);
		cond_resched();
	}
}

/* Another CPU keeps printk's lock until "done", or for three seconds */
struct keeper {
	bool keeps, done;
	struct completion ended;
};

static int keep_lines(void *arg)
{
	u64 until = ktime_get_ns() + 3 * NSEC_PER_SEC;
	struct keeper *keeper = arg;
	unsigned long flags;

	printk_cpu_sync_get_irqsave(flags);
	WRITE_ONCE(keeper->keeps, true);
	while (!READ_ONCE(keeper->done) && ktime_get_ns() < until)
		cpu_relax();
	printk_cpu_sync_put_irqrestore(flags);
	complete(&keeper->ended);
	return 0;
}

/* Print while printk's lock is kept by a CPU that waits for us, as if by a lock that we hold */
static int cmd_kept(u64 *arg)
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
	say("kept_us %llu\n", (ktime_get_ns() - began) / NSEC_PER_USEC);
	local_irq_restore(flags);
	WRITE_ONCE(keeper.done, true);
	put_cpu();
	wait_for_completion(&keeper.ended);
	return 0;
}

static int cmd_print(u64 *arg)
{
	if (!arg[2])
		arg[2] = 1;
	return on_cpus(arg[3] ? -1 : 0, print_worker, arg);
}

static int cmd_printid(u64 *arg)
{
	stackbuf_print_id(arg[0]);
	return 0;
}

/* guards: are the zero bytes at the arrays' ends still there? */
static int cmd_guards(u64 *arg)
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

/*
 * regs: a probe's registers recorded, beginning at the probed instruction: at each one
 * of a function that needs no frame and of one that does
 */
static noinline void regs_target(struct walk *w)
{
	w->sum += 7;
	barrier();
}

static noinline void regs_framed(struct walk *w)
{
	regs_target(w);
	w->sum += 8;
	regs_target(w);
	w->sum += 9;
}

/* calls N LEVELS: N paths, each once, that save nothing; with pauses, for who makes room */
static void calls_worker(struct worker *wk)
{
	u64 i;

	for (i = 0; i < wk->arg[0]; i++) {
		go(i, wk->arg[1], regs_target, 0);
		if (i % 16 == 15)
			usleep_range(500, 1000);
	}
}

static int cmd_calls(u64 *arg)
{
	return on_cpus(0, calls_worker, arg);
}

static u32 regs_id;

static int regs_handler(struct kprobe *p, struct pt_regs *regs)
{
	unsigned long ip = instruction_pointer(regs);

	instruction_pointer_set(regs, (unsigned long)p->addr);
	regs_id = stackbuf_save_regs(regs, 0x4e65);
	instruction_pointer_set(regs, ip);
	return 0;
}

static noinline void regs_at(void (*leaf)(struct walk *w), unsigned long offset,
			     unsigned int *probed, unsigned int *wrong)
{
	struct kprobe p = { .addr = (void *)leaf + offset, .pre_handler = regs_handler };
	unsigned long pc[STACKBUF_DEPTH_MAX] = {};
	bool cut;
	int nr;

	/* Not where no instruction begins, or none that can be probed */
	if (register_kprobe(&p))
		return;
	regs_id = 0;
	go(0x21, 2, leaf, 0);
	unregister_kprobe(&p);
	/* Padding behind the end */
	if (!regs_id)
		return;
	++*probed;
	nr = frames_of(regs_id, pc, &cut);
	if (nr > 4 && pc[0] == (unsigned long)p.addr && inside(pc[1], step_2) &&
	    inside(pc[2], step_1))
		return;
	++*wrong;
	say("# %ps+%lu: id %u nr %d %pS %pS %pS %pS\n", leaf, offset, regs_id, nr, (void *)pc[0],
	    (void *)pc[1], (void *)pc[2], (void *)pc[3]);
}

static int cmd_regs(u64 *arg)
{
	void (*const leaf[])(struct walk *w) = { regs_target, regs_framed };
	unsigned int i, probed, wrong;
	unsigned long offset, size;
	char name[KSYM_SYMBOL_LEN];

	for (i = 0; i < ARRAY_SIZE(leaf); i++) {
		sprint_symbol(name, (unsigned long)leaf[i]);
		if (sscanf(strchr(name, '/') ?: "", "/0x%lx", &size) != 1)
			return -EINVAL;
		probed = 0;
		wrong = 0;
		for (offset = 0; offset < size && offset < 128; offset++)
			regs_at(leaf[i], offset, &probed, &wrong);
		say("# %ps: %u instructions, wrong at %u\n", leaf[i], probed, wrong);
		check(probed > i * 3 + 1 && !wrong, "regs begin at the probe");
	}
	return 0;
}

/* ------------------------------------------------------ commands: the end --- */

static int late_panic(struct notifier_block *nb, unsigned long action, void *data)
{
	pr_emerg("save after panic gives id %u\n", go(0x77, 2, leaf_tag, 0xdead));
	return 0;
}

/* Behind everybody else's, the recorder's included */
static struct notifier_block panic_nb = { .notifier_call = late_panic, .priority = INT_MIN };

static atomic_t panic_ready;
static u64 panic_others;	/* events of the others so far */
static bool panic_near;		/* the others go on without being preempted */

/* After stackbuf stopped recording: the others are to try for a while */
static int late_die(struct notifier_block *nb, unsigned long action, void *data)
{
	u64 wanted = READ_ONCE(panic_others) + 100;
	unsigned int ms;

	for (ms = 0; action == DIE_OOPS && READ_ONCE(panic_others) < wanted && ms < 5000; ms++)
		mdelay(1);
	return NOTIFY_DONE;
}

static struct notifier_block die_nb = { .notifier_call = late_die, .priority = INT_MIN };

static void panic_worker(struct worker *wk)
{
	u64 i;

	atomic_inc(&panic_ready);
	if (wk->cpu) {
		/* Saves on and on, also while the other one panics */
		for (i = 0;; i++) {
			go(i % 50, 4, leaf_tag, 0xbULL << 56 | i);
			WRITE_ONCE(panic_others, i);
			if (!READ_ONCE(panic_near))
				cond_resched();
			else if (!preempt_count())
				preempt_disable();
		}
	}
	while (atomic_read(&panic_ready) < num_online_cpus())
		cpu_relax();
	for (i = 0; i < wk->arg[0]; i++) {
		go(i % 10, 4, leaf_tag, 0xaULL << 56 | i);
		while (i == wk->arg[0] / 2 && num_online_cpus() > 1 &&
		       READ_ONCE(panic_others) < 500)
			cpu_relax();
	}
	/*
	 * A worker that would run there may wait for this CPU, for ever as it does not answer
	 * any more: one that frees a module's init code has it unmapped everywhere
	 */
	WRITE_ONCE(panic_near, true);
	i = READ_ONCE(panic_others) + 3;
	while (num_online_cpus() > 1 && READ_ONCE(panic_others) < i)
		cpu_relax();
	/* Where clocks need ticks, this CPU's falls behind those of the others */
	local_irq_disable();
	mdelay(50);
	if (wk->arg[1])
		/* Not an address, and the compiler must not know */
		WRITE_ONCE(*(int *)READ_ONCE(wk->arg[1]), 0);
	panic("stackbuf_test was told to");
}

/*
 * panic N [ADDRESS]: N events, then the end of it, by an oops at the address or
 * by panic(), while the other CPUs go on saving
 */
static int cmd_panic(u64 *arg)
{
	atomic_notifier_chain_register(&panic_notifier_list, &panic_nb);
	register_die_notifier(&die_nb);
	return on_cpus(-1, panic_worker, arg);
}

/* -------------------------------------------------------------- the file --- */

static const struct {
	const char *name;
	int (*fn)(u64 *arg);
} commands[] = {
	{ "depth", cmd_depth },
	{ "distinct", cmd_distinct },
	{ "path", cmd_path },
	{ "places", cmd_places },
	{ "long", cmd_long },
	{ "storm", cmd_storm },
	{ "tags", cmd_tags },
	{ "context", cmd_context },
	{ "nmiprint", cmd_nmiprint },
	{ "nest", cmd_nest },
	{ "step", cmd_step },
	{ "stepmode", cmd_stepmode },
	{ "turns", cmd_turns },
	{ "starve", cmd_starve },
	{ "late", cmd_late },
	{ "latesteps", cmd_latesteps },
	{ "trace", cmd_trace },
	{ "print", cmd_print },
	{ "kept", cmd_kept },
	{ "printid", cmd_printid },
	{ "guards", cmd_guards },
	{ "regs", cmd_regs },
	{ "calls", cmd_calls },
	{ "panic", cmd_panic },
};

static ssize_t run_write(struct file *file, const char __user *from, size_t size, loff_t *pos)
{
	char line[128], name[16];
	u64 arg[4] = {};
	int i, err = -EINVAL;

	if (size >= sizeof(line) || copy_from_user(line, from, size))
		return -EINVAL;
	line[size] = 0;
	if (sscanf(line, "%15s %lli %lli %lli %lli", name, &arg[0], &arg[1], &arg[2], &arg[3]) < 1)
		return -EINVAL;
	mutex_lock(&run_lock);
	out_len = 0;
	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(name, commands[i].name))
			err = commands[i].fn(arg);
	mutex_unlock(&run_lock);
	return err ?: size;
}

static ssize_t run_read(struct file *file, char __user *to, size_t size, loff_t *pos)
{
	ssize_t n;

	mutex_lock(&run_lock);
	n = simple_read_from_buffer(to, size, pos, out, out_len);
	mutex_unlock(&run_lock);
	return n;
}

static const struct file_operations run_fops = {
	.owner = THIS_MODULE,
	.write = run_write,
	.read = run_read,
	.llseek = default_llseek,
};

static int __init stackbuf_test_init(void)
{
	out = vmalloc(OUT_SIZE);
	if (!out)
		return -ENOMEM;
	dir = debugfs_create_dir("stackbuf_test", NULL);
	debugfs_create_file("run", 0600, dir, NULL, &run_fops);
	return 0;
}

static void __exit stackbuf_test_exit(void)
{
	u64 none[4] = {};

	debugfs_remove(dir);
	nest_end();
	cmd_latesteps(none);
	step_end();
	if (late_saves)
		unregister_kprobe(&late_probe);
	vfree(step_copy);
	vfree(out);
}

module_init(stackbuf_test_init);
module_exit(stackbuf_test_exit);

MODULE_AUTHOR("stackbuf");
MODULE_DESCRIPTION("Callers of stackbuf for its tests");
MODULE_LICENSE("GPL");
