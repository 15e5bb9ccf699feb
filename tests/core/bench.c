// SPDX-License-Identifier: GPL-2.0
/*
 * bench.c - what recall and an append take on a processor, in nanoseconds and cycles of its time
 * stamp counter, also while another one records the same stack, beside a walk of the same stack
 * along its frame pointers
 *
 * Prints a line for each: KIND FRAMES warm|cold, and then first quartile, median and third quartile
 * in ns, and the median in cycles.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <unistd.h>
#include <x86intrin.h>

#include <shim.h>

#include "core/save.h"
#include "paths.h"

#define ROUNDS	201
#define BATCH	2000	/* calls timed at once, warm */
#define STACKS	3

static struct task_struct task = { .pid = 1000, .tgid = 1000, .comm = "bench" };

/* Of a stack whose functions have frame pointers, and of one of the same depth without */
static struct stack {
	unsigned int frames;
	struct pt_regs with, without;
	struct task_struct with_task, without_task;
} stacks[STACKS] = { { .frames = 9 }, { .frames = 19 }, { .frames = 40 } };

/* The same stacks, of the other CPU's tasks */
static struct stack others[STACKS];

/* The n-th function that unwind_next_frame() in shim.c takes for one of this kind */
static unsigned long address(unsigned int n, unsigned int kind)
{
	return path_address(30 + 3 * n + kind);
}

/* As path_build(): frames of one kind, below the registers of user mode */
static void build(struct task_struct *of, struct pt_regs *regs, unsigned int frames,
		  unsigned int kind)
{
	struct pt_regs *user;
	unsigned long *at, bp = 0, pc = path_address(PATH_ENTRY);
	unsigned int n;

	*of = task;
	of->stack = aligned_alloc(THREAD_SIZE, THREAD_SIZE);
	memset(of->stack, 0, THREAD_SIZE);
	user = (struct pt_regs *)((char *)of->stack + THREAD_SIZE) - 1;
	user->cs = 0x33;
	user->ip = 0x400000;
	at = (unsigned long *)user;
	for (n = frames - 1; n; n--) {
		*--at = pc;
		pc = address(n, kind);
		if (kind == 2) {
			*--at = bp;
			bp = (unsigned long)at;
		} else {
			at -= path_function(pc) / 3 % 3;
		}
	}
	*regs = (struct pt_regs) {
		.ip = pc, .sp = (unsigned long)at, .bp = bp, .cs = __KERNEL_CS,
		.flags = X86_EFLAGS_IF,
	};
}

/*
 * The least that a walk along frame pointers can be: as perf's, each frame must lie above the one
 * before, within the stack.
 */
static noinline unsigned int walk(const struct pt_regs *regs, unsigned long *pc)
{
	const unsigned long *end = (unsigned long *)((char *)current->stack + THREAD_SIZE) - 1;
	const unsigned long *at = (unsigned long *)regs->sp, *next;
	unsigned int n = 0;

	pc[n++] = regs->ip;
	for (next = (unsigned long *)regs->bp; next >= at && next < end && n < STACKBUF_DEPTH_MAX;
	     next = (unsigned long *)READ_ONCE(next[0])) {
		pc[n++] = READ_ONCE(next[1]);
		at = next + 2;
	}
	return n;
}

static unsigned long sink[STACKBUF_DEPTH_MAX];
static __thread u64 failed;

static noinline void do_save(struct stack *s)
{
	current = &s->without_task;
	failed += !stackbuf_save_regs(&s->without, 0);
}

static noinline void do_save_pointers(struct stack *s)
{
	current = &s->with_task;
	failed += !stackbuf_save_regs(&s->with, 0);
}

static noinline void do_recall(struct stack *s)
{
	const struct sbuf_save save = { .from = SBUF_REGS, .regs = &s->without };
	u32 id;

	current = &s->without_task;
	failed += !sbuf_recall(sbuf_unwind_start(&save), &id);
}

static noinline void do_walk(struct stack *s)
{
	current = &s->with_task;
	failed += walk(&s->with, sink) != s->frames;
}

static noinline void do_clock(struct stack *s)
{
	sink[0] = sbuf_now();
}

static noinline void do_nothing(struct stack *s)
{
	current = &s->with_task;
	barrier();
}

static const struct kind {
	const char *name;
	void (*call)(struct stack *s);
	bool beside;		/* while the other CPU records the same stack */
} kinds[] = {
	{ "save", do_save }, { "save_pointers", do_save_pointers }, { "recall", do_recall },
	{ "walk", do_walk }, { "clock", do_clock }, { "nothing", do_nothing },
	{ "beside", do_save, true },
};

/* The stack that the other CPU is to record, and the one that it records; -1: none */
static int wanted = -1, recorded;

static void *run_other(void *unused)
{
	int i, n;

	shim_cpu_starts(1, &task);
	for (;;) {
		_mm_pause();
		i = smp_load_acquire(&wanted);
		if (i != recorded)
			smp_store_release(&recorded, i);
		for (n = 0; n < 100 && i >= 0; n++)
			do_save(&others[i]);
		if (failed)
			_exit(1);
	}
	return NULL;
}

static void let_other(int i)
{
	smp_store_release(&wanted, i);
	while (smp_load_acquire(&recorded) != i)
		;
}

#define KINDS	ARRAY_SIZE(kinds)

static double took[KINDS][STACKS][ROUNDS], ns_of_cycle;

static int compare(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return a < b ? -1 : a > b;
}

/* Everything of this program that a call may use: its code, data, and the stacks */
static void evict_caches(void)
{
	extern char __executable_start[], _end[];
	const char *at;
	unsigned int i;

	for (at = __executable_start; at < _end; at += 64)
		_mm_clflush(at);
	for (i = 0; i < STACKS; i++)
		for (at = 0; at < (char *)THREAD_SIZE; at += 64) {
			_mm_clflush((char *)stacks[i].with_task.stack + (size_t)at);
			_mm_clflush((char *)stacks[i].without_task.stack + (size_t)at);
		}
	_mm_mfence();
}

static double cycles_of(const struct kind *kind, struct stack *s, unsigned int calls)
{
	unsigned int unused;
	u64 start;

	_mm_lfence();
	start = __rdtsc();
	_mm_lfence();
	while (calls--)
		kind->call(s);
	return __rdtscp(&unused) - start;
}

static void measure(bool cold)
{
	unsigned int round, k, i;

	for (round = 0; round < ROUNDS; round++)
		for (i = 0; i < STACKS; i++)
			for (k = 0; k < KINDS; k++) {
				unsigned int calls = cold ? 1 : BATCH;

				if (cold && kinds[k].beside)
					continue;
				if (cold)
					evict_caches();
				let_other(kinds[k].beside ? i : -1);
				took[k][i][round] = cycles_of(&kinds[k], &stacks[i], calls) / calls;
			}
	for (i = 0; i < STACKS; i++)
		for (k = 0; k < KINDS; k++) {
			double *t = took[k][i];

			if (cold && kinds[k].beside)
				continue;
			qsort(t, ROUNDS, sizeof(*t), compare);
			printf("%s %u %s %.1f %.1f %.1f %.0f\n", kinds[k].name, stacks[i].frames,
			       cold ? "cold" : "warm", t[ROUNDS / 4] * ns_of_cycle,
			       t[ROUNDS / 2] * ns_of_cycle, t[ROUNDS * 3 / 4] * ns_of_cycle,
			       t[ROUNDS / 2]);
		}
}

static u64 walks(void)
{
	return sbuf_counter(STACKBUF_WALKED_NEW) + sbuf_counter(STACKBUF_WALKED_AGAIN);
}

static void *run(void *unused)
{
	u64 start, cycles, walked;
	unsigned int i, k;
	pthread_t other;

	shim_cpu_starts(0, &task);
	start = shim_monotonic();
	cycles = __rdtsc();
	while (shim_monotonic() - start < 200000000)
		;
	ns_of_cycle = (double)(shim_monotonic() - start) / (__rdtsc() - cycles);
	for (i = 0; i < STACKS; i++) {
		build(&stacks[i].with_task, &stacks[i].with, stacks[i].frames, 2);
		build(&stacks[i].without_task, &stacks[i].without, stacks[i].frames, 0);
		build(&others[i].without_task, &others[i].without, stacks[i].frames, 0);
		/* The first events walk, and teach recall */
		for (k = 0; k < 4; k++) {
			do_save(&stacks[i]);
			do_save_pointers(&stacks[i]);
		}
	}
	pthread_create(&other, NULL, run_other, NULL);
	for (i = 0; i < STACKS; i++)
		let_other(i);
	let_other(-1);
	walked = walks();
	measure(false);
	measure(true);
	walked = walks() - walked;
	if (failed || walked) {
		fprintf(stderr, "bench: %llu calls failed, %llu walked\n", failed, walked);
		_exit(1);
	}
	printf("tsc %.3f\n", 1 / ns_of_cycle);
	fflush(stdout);
	_exit(0);
}

int main(void)
{
	pthread_t thread;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
		fputs("bench: two processors are needed\n", stderr);
		return 1;
	}
	shim_init(2);
	shim_silent = true;
	pthread_create(&thread, NULL, run, NULL);
	pthread_join(thread, NULL);
	return 1;
}
