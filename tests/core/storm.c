// SPDX-License-Identifier: GPL-2.0
/*
 * storm.c - saves of made-up stacks on all CPUs and in all contexts; what they leave in memory is
 * checked where everything is stopped, at random instants, and at the end
 */
#include <unistd.h>

#include <shim.h>

#include "core/pair.h"
#include "core/save.h"
#include "core/worker.h"
#include "check.h"
#include "paths.h"

#define CONTEXTS	5	/* a softirq interrupts a task, ..., an NMI an NMI */
#define STACK_OF_CONTEXT	3272UL
#define TASKS		3	/* of a CPU */

static unsigned int seconds, cold, cpus = 3, paths = 2000;
static bool quiet;	/* no filters, no CPU goes offline */
#define SIGNAL_US	100	/* mean time between signals */
#define CHECK_NS	5000000	/* time between checks */
#define HOOK_MASK	255	/* one in so many calls of the kernel is interrupted */

/* Frames of all paths, made once */
static struct path {
	unsigned int nr;
	unsigned long pc[PATH_FRAMES_MAX];
} *path;

struct context {
	u64 random, number, attempted, refused, gone, right, wrong, opened, closed, maybe_closed;
	u64 *recorded;		/* by path */
	struct { u32 id, path; } earlier[16];
	struct task_struct sleeper;
};

static struct cpu {
	struct context context[CONTEXTS];
	struct task_struct task[TASKS];
	bool parked, park;
	pthread_t thread;
} cpu_of[SHIM_CPUS];

static bool stop;
/* Which random numbers are drawn; what the host makes of them is another each time */
static u64 seed;

/* Counts it in a variable of the function */
#define PROBLEM(fmt, ...)	(problems++, printf("problem: " fmt "\n", ##__VA_ARGS__))

static inline u32 next_random(struct context *c)
{
	c->random ^= c->random << 13;
	c->random ^= c->random >> 7;
	c->random ^= c->random << 17;
	return c->random >> 16;
}

/* Whether an id stands for a path's stack: 1; -1 if not; 0 if it is no stack's any more */
static int right(u32 id, const struct path *p)
{
	unsigned int nr = min(p->nr, (unsigned int)PATH_KEPT);
	struct stackbuf_trace trace;
	u8 flags;

	if (!sbuf_table_trace(&trace, id, &flags) || flags & STACKBUF_STACK_AGAIN)
		return 0;
	return trace.depth == nr && trace.cut == (p->nr > nr) &&
	       !memcmp(trace.pc, p->pc, nr * sizeof(*p->pc)) ? 1 : -1;
}

/* Outstanding objects, for any CPU and context to close */
static u64 mailbox[64];

static const struct stackbuf_probe opens = { .pair = 1, .role = STACKBUF_PAIR_OPENS };
static const struct stackbuf_probe closes = { .pair = 1, .role = STACKBUF_PAIR_CLOSES };

/* Odd while recording is off: pairs then close nothing, and count nothing */
static unsigned int pauses;

/* As a handler: a grace period waits for all of it, and interrupts may not wait for one */
static u32 save_and_open(struct context *c, struct pt_regs *regs, u64 tag)
{
	/* Of this context alone */
	u64 own = c - cpu_of[shim_cpu].context + CONTEXTS * shim_cpu + 1;
	u64 key = own << 48 | c->number, was;
	unsigned int pause;
	unsigned long flags;
	u32 id;

	raw_local_irq_save(flags);
	id = stackbuf_save_regs(regs, tag);
	/* Without one, whether that is counted depends on the filters, which change meanwhile */
	if (id)
		sbuf_pair_open(&opens, key, 1, id);
	raw_local_irq_restore(flags);
	if (!id)
		return 0;
	c->opened++;
	was = xchg(&mailbox[next_random(c) % 64], key);
	if (was) {
		pause = smp_load_acquire(&pauses);
		sbuf_pair_close(&closes, was, 0, 0);
		smp_rmb();
		if (pause & 1 || READ_ONCE(pauses) != pause)
			c->maybe_closed++;
		else
			c->closed++;
	}
	return id;
}

/*
 * Objects that were closed are in the sums, outstanding ones in the table, or they were refused.
 * Of @maybe_closed, those that a pause left are outstanding
 */
static unsigned int check_pair(u64 opened, u64 closed, u64 maybe_closed)
{
	const struct stackbuf_pair *pair = &stackbuf_info.pair[0].pairs.pair[0];
	u64 open = 0, in_sums = 0, all_closed;
	unsigned int i, k, n, problems = 0;
	struct stackbuf_trace trace;
	u8 flags;

	for (i = 1; i < STACKBUF_PAIR_PAGES; i++) {
		const union stackbuf_pair_page *page = &stackbuf_info.pair[i];
		bool stacks = page->page.kind == STACKBUF_PAIR_STACKS;

		for (k = 0; stacks && k < STACKBUF_PAGE_PAIR_STACKS; k++) {
			const struct stackbuf_pair_stack *stack = &page->stacks.stack[k];

			for (n = 0; n < STACKBUF_PAIR_TIMES; n++)
				in_sums += stack->closed[n];
			if (stack->stack && !sbuf_table_trace(&trace, (u32)stack->stack, &flags))
				PROBLEM("stack %u of a pair is gone", (u32)stack->stack);
		}
		for (k = 0; !stacks && k < STACKBUF_PAGE_PAIR_BUCKETS; k++) {
			const struct stackbuf_pair_bucket *bucket = &page->open.bucket[k];

			for (n = 0; n < STACKBUF_PAIR_BUCKET; n++)
				open += bucket->key[n] && bucket->object[n].stack;
		}
	}
	all_closed = in_sums + pair->unmatched;
	printf("opened %llu closed %llu open %llu refused %llu unmatched %llu reopened %llu, of %llu to %llu closed\n",
	       opened, in_sums, open, pair->refused, pair->unmatched, pair->reopened, closed,
	       closed + maybe_closed);
	if (opened != in_sums + open + pair->refused ||
	    all_closed < closed || all_closed > closed + maybe_closed ||
	    pair->unmatched > pair->refused || pair->reopened)
		PROBLEM("a pair's sums do not agree");
	return problems;
}

static void save(unsigned int level)
{
	struct context *c = &cpu_of[shim_cpu].context[level];
	enum stackbuf_context context = min(level, (unsigned int)STACKBUF_NMI);
	char *end = (char *)current->stack + THREAD_SIZE - level * STACK_OF_CONTEXT;
	u32 random = next_random(c), which = random >> 12, id = 0;
	struct pt_regs regs SBUF_UNINITIALIZED;
	const struct path *p;
	u64 tag;

	which = random % cold ? which % 16 * 7 : which % paths;
	p = &path[which];
	tag = TAG(which, shim_cpu, context, ++c->number);
	c->attempted++;
	if (random >> 28 == 15) {
		c->sleeper.path = which;
		/* Never recalled: also where RCU does not watch */
		if (!level)
			xchg(&shim_rcu_idle[shim_cpu], random >> 11 & 1);
		stackbuf_save_task(&c->sleeper, tag, &id);
		if (!level)
			xchg(&shim_rcu_idle[shim_cpu], 0);
	} else {
		path_build(p->pc, p->nr, end, random, &regs);
		if (random >> 28 == 13)
			id = save_and_open(c, &regs, tag);
		else if (random >> 28 == 14)
			id = sbuf_save(&(const struct sbuf_save) {
				.from = SBUF_REGS, .regs = &regs,
				.context = sbuf_context_of(preempt_count()),
			});
		else
			id = stackbuf_save_regs(&regs, tag);
	}
	if (!id) {
		c->refused++;
		return;
	}
	c->recorded[which]++;
	/* Now or later, when it may have been evicted */
	if (!(random >> 8 & 15)) {
		unsigned int slot = random >> 4 & 15, other = c->earlier[slot].path;
		int is = random & 1 ? right(id, p) : right(c->earlier[slot].id, &path[other]);

		c->right += is > 0;
		c->gone += !is;
		c->wrong += is < 0;
		c->earlier[slot].id = id;
		c->earlier[slot].path = which;
	}
}

static bool may_save(void)
{
	return !READ_ONCE(stop) && !cpu_of[shim_cpu].parked;
}

static bool on_irq(void)
{
	struct context *c = &cpu_of[shim_cpu].context[2];

	if (!may_save())
		return false;
	save(2);
	if (next_random(c) & 1)
		save(2);
	return next_random(c) & 1;
}

static void on_softirq(void)
{
	save(1);
}

static void on_nmi(void)
{
	if (may_save())
		save(in_nmi() > NMI_OFFSET ? 4 : 3);
}

/* The kernel's own functions are where interrupts and NMIs come without a signal */
static void on_hook(void)
{
	static __thread u64 calls;
	u64 random;

	/* Between lookup and append, as append reads the clock: eviction must wait for that */
	if (!rcu_is_watching() && !(next_random(&cpu_of[shim_cpu].context[0]) & 7))
		usleep(300);
	/* More often in what has interrupted something: five saves inside each other are rare */
	if (++calls & (preempt_count() >> 8 ? HOOK_MASK >> 4 : HOOK_MASK))
		return;
	random = path_mix(calls ^ (u64)shim_cpu << 32);
	if (random & 256)
		shim_run_nmi();
	else if (!shim_irq_off)
		shim_take_irq();
	else
		shim_irq_pending = 1;
}

static void *cpu_thread(void *arg)
{
	struct cpu *cpu = arg;
	struct context *c = &cpu->context[0];
	unsigned int turn = 0;

	shim_cpu_starts(cpu - cpu_of, &cpu->task[0]);
	while (!READ_ONCE(stop)) {
		save(0);
		if (++turn % 16)
			continue;
		current = &cpu->task[next_random(c) % TASKS];
		/* Clocks of CPUs differ, and a page's time is limited */
		if (!(turn % 8192))
			shim_clock_skew += next_random(c) % 16 ?
				next_random(c) % 16 * 40000000 : 1UL << 46;
		if (READ_ONCE(cpu->park)) {
			cpu->parked = true;
			barrier();
			shim_cpu_goes_offline(&stop);
			barrier();
			cpu->parked = false;
		}
	}
	shim_cpu_ends();
	return NULL;
}

static struct check_arrays now, copy;

static void init_cpus(void)
{
	unsigned int i, k, n;

	path = calloc(paths, sizeof(*path));
	for (i = 0; i < paths; i++)
		path[i].nr = path_frames(i, path[i].pc);
	for (i = 0; i < cpus; i++) {
		struct cpu *cpu = &cpu_of[i];

		for (k = 0; k < CONTEXTS; k++) {
			struct context *c = &cpu->context[k];

			c->random = path_mix(i * CONTEXTS + k + 1 + seed);
			c->recorded = calloc(paths, sizeof(*c->recorded));
			c->sleeper.pid = 2000 + i * 10 + k;
			c->sleeper.tgid = c->sleeper.pid;
			snprintf(c->sleeper.comm, TASK_COMM_LEN, "t%04d", c->sleeper.pid);
		}
		for (n = 0; n < TASKS; n++) {
			struct task_struct *task = &cpu->task[n];

			task->pid = 1000 + i * 10 + n;
			task->tgid = task->pid;
			task->group_leader = task;
			snprintf(task->comm, TASK_COMM_LEN, "t%04d", task->pid);
			task->stack = aligned_alloc(THREAD_SIZE, THREAD_SIZE);
			memset(task->stack, 0, THREAD_SIZE);
		}
	}
}

/* What user space does meanwhile */
static void change_settings(u32 random)
{
	struct task_struct *task = &cpu_of[random % cpus].task[random / 16 % TASKS];
	u64 name;

	switch (random >> 8 & 15) {
	case 0:
		sbuf_filter.every = random >> 12 & 3;
		sbuf_filter_apply_every();
		break;
	case 1:
		sbuf_filter.limit = random >> 12 & 1 ? 1000 : 0;
		sbuf_filter_apply_limit();
		break;
	case 2:
		sbuf_filter.pid = random >> 12 & 1 ? task->pid : 0;
		sbuf_filter_apply();
		break;
	case 3:
		sbuf_filter.cpu = random >> 12 & 1 ? random % cpus : -1;
		sbuf_filter_apply();
		break;
	case 4:
		/* A module was unloaded */
		sbuf_evict_expire(path_address(random % PATH_FAR), 64, random >> 20 & 1);
		sbuf_recall_invalidate();
		break;
	case 5:
		WRITE_ONCE(pauses, pauses + 1);
		smp_mb();
		sbuf_state_change(STACKBUF_ENABLED, false);
		usleep(100);
		sbuf_state_change(STACKBUF_ENABLED, true);
		smp_store_release(&pauses, pauses + 1);
		break;
	case 6:
		WRITE_ONCE(sbuf_verify, 1 + (random >> 12) % 64);
		sbuf_recall_apply_verify();
		break;
	default:
		/* A task is renamed, racing with saves; the rest of its name is not checked */
		memcpy(&name, task->comm, sizeof(name));
		name = (name & ~(255UL << 48)) | (u64)('a' + random % 26) << 48 | (u64)'-' << 40;
		data_race((*(u64 *)task->comm = name));
	}
	/* Most of the time all is recorded */
	if (random >> 20 & 1) {
		sbuf_filter = (struct sbuf_filter) { .cpu = -1, .every = 1 };
		sbuf_filter_apply_limit();
	}
}

/* The state of the ring, to find the cause of a problem by */
static void say_pages(const struct stackbuf_events_page *page)
{
	unsigned int i, pos, n;

	printf("head %lld, lost for want of a page %llu\n",
	       (long long)atomic64_read(&sbuf_ring_head),
	       (unsigned long long)sbuf_counter(STACKBUF_LOST_PAGE));
	for (i = 0; i < SBUF_EVENT_PAGES; i++, page++) {
		for (pos = 0, n = 0; pos < STACKBUF_EVENT_WORDS && page->word[pos]; n++)
			pos += stackbuf_event_words(page->word[pos]);
		printf("page %u: seq %llu, CPU %u, owner %d, events %llu to %llu\n", i,
		       (unsigned long long)page->page.seq, page->cpu, (int)page->owner,
		       (unsigned long long)page->first, (unsigned long long)page->first + n);
	}
}

static unsigned int check_now(void)
{
	unsigned int problems = 0;

#ifndef __SANITIZE_THREAD__
	shim_stop();
	check_copy(&copy, &now);
	shim_go_on();
	problems = check_arrays(&copy, false, NULL, paths);
	if (!problems)
		problems = check_live(stackbuf_events, SBUF_EVENT_PAGES);
#endif
	return problems;
}

static unsigned int conduct(u64 end)
{
	const struct work_struct *evict = &sbuf_worker[SBUF_WORKER_EVICT];
	struct context c = { .random = path_mix(seed) };
	u64 next_check = 0, next_settings = 0, was_new = 0, was_full = 0;
	u32 was_runs = 0;
	unsigned int problems = 0;

	while (shim_monotonic() < end && !problems) {
		u32 random = next_random(&c);
		u64 now = shim_monotonic(), full = sbuf_counter(STACKBUF_LOST_TABLE);

		if (sbuf_counter(STACKBUF_WALKED_NEW) != was_new) {
			was_new = sbuf_counter(STACKBUF_WALKED_NEW);
			was_full = full;
			was_runs = READ_ONCE(evict->runs);
		} else if (full - was_full > 5000000 &&
			   (READ_ONCE(evict->runs) - was_runs > 2 || full - was_full > 500000000)) {
			/* Eviction had its turns, if not an idle processor of the host */
			PROBLEM("no room was made for any of %llu stacks", full - was_full);
		}

		pthread_kill(cpu_of[random % cpus].thread, random & 64 ? SIGUSR1 : SIGUSR2);
		usleep(random % (2 * SIGNAL_US));
		if (now >= next_check) {
			problems = check_now();
			next_check = shim_monotonic() + CHECK_NS;
		}
		if (!quiet && now >= next_settings) {
			change_settings(next_random(&c));
			next_settings = now + 1000000;
		}
		/* The highest CPU goes offline for the second half */
		if (!quiet && cpus > 2 && end - now < seconds * 500000000UL)
			WRITE_ONCE(cpu_of[cpus - 1].park, true);
	}
	return problems;
}

/* storm SECONDS N [CPUS [PATHS [quiet]]]: one in N saves is of any stack, the others of sixteen */
int main(int argc, char **argv)
{
	u64 attempted = 0, refused = 0, gone = 0, is_right = 0, wrong = 0, lost;
	u64 all = 0, opened = 0, closed = 0, maybe_closed = 0, walked;
	unsigned int problems, i, k, n;
	u64 *recorded, start;

	if (argc < 3)
		return 2;
	seconds = atoi(argv[1]);
	cold = atoi(argv[2]);
	if (argc > 3)
		cpus = atoi(argv[3]);
	if (argc > 4)
		paths = atoi(argv[4]);
	quiet = argc > 5;
	if (cpus < 1 || cpus > SHIM_CPUS || !cold || paths < 128)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	seed = strtoull(getenv("SEED") ?: "1", NULL, 10) ?: 1;
	printf("SEED=%llu\n", seed);

	init_cpus();
	shim_init(cpus);
	now = CHECK_ARRAYS;
	check_copy(&copy, &now);
	shim_hook = on_hook;
	shim_irq = on_irq;
	shim_softirq = on_softirq;
	shim_nmi = on_nmi;
	start = shim_monotonic();
	for (i = 0; i < cpus; i++)
		pthread_create(&cpu_of[i].thread, NULL, cpu_thread, &cpu_of[i]);
	while (READ_ONCE(shim_online) != BIT(cpus) - 1)
		usleep(100);
	problems = conduct(start + seconds * 1000000000UL);
	WRITE_ONCE(stop, true);
	start = shim_monotonic() - start;
	if (problems)
		goto end;
	shim_finish();
	for (i = 0; i < cpus; i++)
		pthread_join(cpu_of[i].thread, NULL);

	recorded = calloc(paths, sizeof(*recorded));
	for (i = 0; i < cpus; i++) {
		for (k = 0; k < CONTEXTS; k++) {
			struct context *c = &cpu_of[i].context[k];

			attempted += c->attempted;
			refused += c->refused;
			gone += c->gone;
			is_right += c->right;
			wrong += c->wrong;
			opened += c->opened;
			closed += c->closed;
			maybe_closed += c->maybe_closed;
			for (n = 0; n < paths; n++) {
				recorded[n] += c->recorded[n];
				all += c->recorded[n];
			}
		}
	}
	check_copy(&copy, &now);
	problems = check_arrays(&copy, true, recorded, paths) +
		   check_pair(opened, closed, maybe_closed);
	lost = sbuf_counter(STACKBUF_LOST_OFF) + sbuf_counter(STACKBUF_LOST_NESTED) +
	       sbuf_counter(STACKBUF_LOST_TABLE) + sbuf_counter(STACKBUF_LOST_PAGE) +
	       sbuf_counter(STACKBUF_LOST_EMPTY) + sbuf_counter(STACKBUF_EXCLUDED) +
	       sbuf_counter(STACKBUF_NOT_SAMPLED) + sbuf_counter(STACKBUF_OVER_LIMIT);
	for (i = 0; i < cpus; i++) {
		u64 tried = 0, got = READ_ONCE(per_cpu_ptr(sbuf_cpu, i)->recorded);

		for (k = 0; k < CONTEXTS; k++)
			tried += cpu_of[i].context[k].attempted;
		printf("CPU %u recorded %llu of %llu\n", i, got, tried);
		/*
		 * Where there are fewer pages than CPUs, too.  In a few seconds that is the
		 * choice of the host.
		 */
		if (seconds >= 8 && tried > 100000 && got < tried / 1000)
			PROBLEM("CPU %u records nothing", i);
	}
	printf("attempted %llu recorded %llu refused %llu in %llu ms\n", attempted, all, refused,
	       start / 1000000);
	printf("right %llu gone %llu wrong %llu\n", is_right, gone, wrong);
	walked = sbuf_counter(STACKBUF_WALKED_NEW) + sbuf_counter(STACKBUF_WALKED_ELSEWHERE) +
		 sbuf_counter(STACKBUF_WALKED_UNCACHEABLE) + sbuf_counter(STACKBUF_WALKED_AGAIN) +
		 sbuf_counter(STACKBUF_VERIFIED);
	if (cold > 1000 && all - walked < all / 4)
		PROBLEM("only %llu of %llu saves were recalled", all - walked, all);
	if (attempted != all + refused || lost != refused || sbuf_ring_recorded() != all)
		PROBLEM("attempted %llu, recorded %llu, by the CPUs %llu, refused %llu, counted %llu",
			attempted, all, sbuf_ring_recorded(), refused, lost);
	if (wrong || sbuf_counter(STACKBUF_DIFFERED))
		PROBLEM("%llu ids stood for another stack, %llu recalled stacks were wrong",
			wrong, sbuf_counter(STACKBUF_DIFFERED));
end:
	if (problems) {
		say_pages(copy.at[1]);
		printf("problems %u\n", problems);
	}
	fflush(stdout);
	_exit(problems != 0);
}
