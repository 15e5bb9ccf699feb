// SPDX-License-Identifier: GPL-2.0
/*
 * stackbuf_fit - saves from frames that are hard to recall
 *
 *	echo "KIND ROUNDS" >/sys/module/stackbuf_fit/parameters/run
 *
 * makes ROUNDS saves in the writing task, "kthread KIND ROUNDS" in a kernel thread on
 * each CPU in turn.  Each save is reached by one of FIT_PATHS call paths.  A path always
 * has the same functions, but their frame sizes change after every FIT_SAME saves.
 * Kinds:
 *
 *	alloca	frames that grow while the function runs
 *	align	frames that align the stack
 *	tail	functions that are reached by a jump
 *	mixed	all of these
 *	deep	all of these, on call paths longer than a trace may be
 *	end	all of these, with little of the stack left
 *	old	from a function whose frame is larger in stackbuf_fit2
 *	new	in stackbuf_fit2: from that function, called from elsewhere, with
 *		return addresses left where the smaller frame had them
 *
 * Reading "attempted" gives the number of saves, "deepest" the most bytes of a stack at one.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/sched/task_stack.h>
#include <linux/workqueue.h>
#include "../stackbuf.h"

/* stackbuf_fit2 differs in the size of one frame */
#ifndef FIT_WORDS
#define FIT_WORDS	4
#endif
#define FIT_MORE	8

#define FIT_PATHS	50
#define FIT_SAME	8	/* saves of a path before its frame sizes change */
/* Bytes of the stack to leave to the kernel; KASAN makes frames and stacks larger */
#define FIT_LEFT	(IS_ENABLED(CONFIG_KASAN) ? 12288 : 4096)

static atomic64_t attempted, deepest;

struct fit;
typedef int (*fit_function)(struct fit *fit);

struct fit {
	unsigned long path;	/* selects the functions */
	u32 random;		/* state of the generator of their frame sizes */
	int left;		/* functions still to call */
	const fit_function *functions;
	unsigned int nr;	/* of @functions */
	u32 id;
};

static unsigned int fit_random(struct fit *fit, unsigned int below)
{
	fit->random = fit->random * 1103515245 + 12345;
	return (fit->random >> 12) % below;
}

static noinline void fit_save(struct fit *fit)
{
#ifdef CONFIG_ARM64
	unsigned long at = (unsigned long)__builtin_frame_address(0);
#else
	unsigned long at = current_stack_pointer;
#endif
	s64 bytes = (unsigned long)task_stack_page(current) + THREAD_SIZE - at, most;

	atomic64_inc(&attempted);
	do {
		most = atomic64_read(&deepest);
	} while (most < bytes && atomic64_cmpxchg(&deepest, most, bytes) != most);
	fit->id = stackbuf_save();
}

static noinline int fit_next(struct fit *fit)
{
	int ret = 0;

	if (fit->left-- > 0) {
		unsigned long function = fit->path % fit->nr;

		fit->path = fit->path * 6364136223846793005UL + 1442695040888963407UL;
		fit->path ^= fit->path >> 29;
		ret = fit->functions[function](fit);
	} else {
		fit_save(fit);
	}
	barrier();
	return ret;
}

static noinline int fit_plain(struct fit *fit)
{
	int ret = fit_next(fit);

	barrier();
	return ret;
}

/* A function with this variable around the next call */
#define FIT(name, variable, next)				\
	static noinline int fit_##name(struct fit *fit)		\
	{							\
		char variable;					\
		int ret;					\
								\
		barrier_data(local);				\
		ret = next(fit);				\
		barrier_data(local);				\
		return ret;					\
	}
FIT(alloca, *local = __builtin_alloca(8 * (1 + fit_random(fit, 12))), fit_next)
FIT(align16, local[16] __aligned(16), fit_next)
FIT(align64, local[8] __aligned(64), fit_next)
/* With a stack pointer of varying alignment */
FIT(odd, *local = __builtin_alloca(8 * (1 + fit_random(fit, 2))), fit_align16)

static noinline int fit_alloca_loop(struct fit *fit)
{
	int i, n = 1 + fit_random(fit, 5), ret;
	char *more = NULL;

	for (i = 0; i < n; i++) {
		more = __builtin_alloca(8 * (1 + fit_random(fit, 4)));
		barrier_data(more);
	}
	ret = fit_next(fit);
	barrier_data(more);
	return ret;
}

/* With arguments on the stack gcc keeps their address in r10 and copies the return address */
static noinline int fit_align_args_of(struct fit *fit, long b, long c, long d, long e, long f,
				      long g, long h)
{
	char local[16] __aligned(32);
	int ret;

	barrier_data(local);
	ret = fit_next(fit);
	barrier_data(local);
	return ret + b + c + d + e + f + g + h;
}

static noinline int fit_align_args(struct fit *fit)
{
	long is = fit->left;
	int ret = fit_align_args_of(fit, is, is, is, is, is, is + 1, is + 2);

	barrier();
	return ret;
}

static noinline int fit_align_alloca(struct fit *fit)
{
	char local[16] __aligned(32);
	char *more = __builtin_alloca(8 * (1 + fit_random(fit, 7)));
	int ret;

	barrier_data(local);
	barrier_data(more);
	ret = fit_next(fit);
	barrier_data(more);
	barrier_data(local);
	return ret;
}

/* Leave copies of return addresses on the stack, where later calls have their frames */
static noinline int fit_stale(struct fit *fit)
{
	unsigned long stale[32], *frame = __builtin_frame_address(0);
	int i, ret;

	for (i = 0; i < ARRAY_SIZE(stale); i++)
		stale[i] = i & 1 ? (unsigned long)__builtin_return_address(0) :
			   READ_ONCE_NOCHECK(frame[i % 8 + 1]);
	barrier_data(stale);
	ret = fit_next(fit);
	barrier();
	return ret;
}

static noinline int fit_tail(struct fit *fit)
{
	return fit_next(fit);
}

/* Leave stale addresses below the caller's frame, where fit_next() has its own after the jump */
static noinline void fit_dig(void)
{
	unsigned long stale[48];
	int i;

	for (i = 0; i < ARRAY_SIZE(stale); i++)
		stale[i] = i & 1 ? (unsigned long)__builtin_return_address(0) :
			   (unsigned long)&stale[i];
	barrier_data(stale);
}

static noinline int fit_tail_later(struct fit *fit)
{
	fit_dig();
	return fit_next(fit);
}

static noinline int fit_end(struct fit *fit)
{
	char *start = task_stack_page(current), *here = __builtin_frame_address(0);
	/* Leave FIT_LEFT bytes, a varying number of words, and less each time that sizes change */
	unsigned int later = 256 * (7 - fit->random % 8) + 8 * fit_random(fit, 64);
	char *more = __builtin_alloca(here - start - FIT_LEFT - later);
	int ret;

	barrier_data(more);
	ret = fit_next(fit);
	barrier_data(more);
	return ret;
}

static const fit_function fit_allocas[] = { fit_alloca, fit_alloca_loop, fit_plain };
static const fit_function fit_aligns[] = {
	fit_align16, fit_align64, fit_align_args, fit_odd, fit_plain, fit_stale,
};

static const fit_function fit_tails[] = { fit_tail, fit_tail_later, fit_plain };
static const fit_function fit_all[] = {
	fit_plain, fit_alloca, fit_alloca_loop, fit_align16, fit_align64, fit_align_args,
	fit_align_alloca, fit_odd, fit_stale, fit_tail, fit_tail_later,
};

static const struct fit_kind {
	const char *name;
	const fit_function *functions;
	unsigned int nr;
	unsigned int depth;
	bool end;
} fit_kinds[] = {
	{ "alloca", fit_allocas, ARRAY_SIZE(fit_allocas), 8 },
	{ "align", fit_aligns, ARRAY_SIZE(fit_aligns), 6 },
	{ "tail", fit_tails, ARRAY_SIZE(fit_tails), 8 },
	{ "mixed", fit_all, ARRAY_SIZE(fit_all), 7 },
	{ "deep", fit_all, ARRAY_SIZE(fit_all), 40 },
	{ "end", fit_all, ARRAY_SIZE(fit_all), 4, true },
};

static noinline int fit_rounds(const struct fit_kind *kind, unsigned int rounds)
{
	struct fit fit = { .functions = kind->functions, .nr = kind->nr };
	unsigned int i;
	int ret = 0;

	for (i = 0; i < rounds; i++) {
		/* Few to the end: all are recalled there, by frame records as well */
		fit.path = i % (kind->end ? 4 : FIT_PATHS) * 0x9e3779b97f4a7c15UL;
		fit.random = i / (FIT_PATHS * FIT_SAME);
		fit.left = kind->depth;
		ret += kind->end ? fit_end(&fit) : fit_next(&fit);
		if (i % 256 == 0)
			cond_resched();
	}
	return ret;
}

/*
 * fit_replaced() is the function with another frame in stackbuf_fit2.  All return addresses
 * are the same in both modules, and so are the stack slots of those outside of
 * fit_from_one() and fit_from_other().  No register holds an address of the stack, as
 * recall would compare it.  Without __aligned(8) clang aligns an array to 16 bytes, and finds
 * it by a frame pointer.
 */
#define FIT_LOCAL(words) \
	unsigned long __aligned(8) __attribute__((uninitialized)) local[words]

static unsigned long fit_return;	/* return address in fit_from_one() */

static noinline void fit_fill(unsigned long *word, unsigned int nr, unsigned long value)
{
	while (nr--)
		WRITE_ONCE(word[nr], value);
}

static noinline void fit_replaced(struct fit *fit, bool one)
{
	FIT_LOCAL(FIT_WORDS);
	unsigned int nr = FIT_WORDS;

	/* Else clang makes fit_fill() for this number, and what follows it has other addresses */
	OPTIMIZER_HIDE_VAR(nr);
	if (one)
		WRITE_ONCE(fit_return, (unsigned long)__builtin_return_address(0));
	fit_fill(local, nr, READ_ONCE(fit_return));
	if (fit)
		fit_save(fit);
	barrier();
}

#define FIT_FROM(name, words, one)				\
	static noinline void fit_from_##name(struct fit *fit)	\
	{							\
		FIT_LOCAL(words);				\
								\
		barrier_data(local);				\
		fit_replaced(fit, one);				\
		barrier();					\
	}
FIT_FROM(one, 4 + FIT_MORE, true)
FIT_FROM(other, 4, false)

/* One call site, so that both callees return to the same address */
static noinline void fit_by(void (*from)(struct fit *fit), struct fit *fit)
{
	from(fit);
	barrier();
}

static noinline void fit_replace(bool new, unsigned int rounds)
{
	/* Not on the stack, as recall would compare a pointer to it */
	static struct fit fit;

	/* Sets fit_return; without a save, from which recall would learn the new layout */
	if (new)
		fit_from_one(NULL);
	while (rounds--)
		fit_by(new ? fit_from_other : fit_from_one, &fit);
}

static noinline int fit_run(const char *name, unsigned int rounds)
{
	unsigned int i;

	if (!strcmp(name, "old") || !strcmp(name, "new")) {
		fit_replace(*name == 'n', rounds);
		return 0;
	}
	for (i = 0; i < ARRAY_SIZE(fit_kinds); i++)
		if (!strcmp(name, fit_kinds[i].name)) {
			fit_rounds(&fit_kinds[i], rounds);
			return 0;
		}
	return -EINVAL;
}

struct fit_job {
	const char *name;
	unsigned int rounds;
};

static long fit_work(void *data)
{
	const struct fit_job *job = data;

	return fit_run(job->name, job->rounds);
}

static int fit_threads(const char *name, unsigned int rounds)
{
	struct fit_job job = { name, rounds };
	int err = 0, cpu;

	for_each_online_cpu(cpu)
		err = err ?: work_on_cpu(cpu, fit_work, &job);
	return err;
}

static int run_set(const char *value, const struct kernel_param *param)
{
	char name[16];
	unsigned int rounds;

	if (sscanf(value, "kthread %15s %u", name, &rounds) == 2)
		return fit_threads(name, rounds);
	if (sscanf(value, "%15s %u", name, &rounds) == 2)
		return fit_run(name, rounds);
	return -EINVAL;
}

static const struct kernel_param_ops run_ops = { .set = run_set };
module_param_cb(run, &run_ops, NULL, 0200);

static int number_get(char *buf, const struct kernel_param *param)
{
	return sprintf(buf, "%lld\n", atomic64_read(param->arg));
}

static const struct kernel_param_ops number_ops = { .get = number_get };
module_param_cb(attempted, &number_ops, &attempted, 0444);
module_param_cb(deepest, &number_ops, &deepest, 0444);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Saves from frames that are hard to recall, for tests");
