// SPDX-License-Identifier: GPL-2.0
/*
 * stackbuf_return.c - functions that return what they are told
 *
 * "run NAME VALUE TIMES" calls the function of that name with VALUE, so often: int, long, pointer,
 * u32; outer, which returns what inner does, which returns what int does; again, which calls itself
 * VALUE times; asleep, which sleeps for VALUE ms or more, or if that is negative, until "wake" is
 * 1.  The parameter "calls" is how many calls of these functions there were, "ns" how long the last
 * run took, "slow" how many of its calls took a second or more.  "bare": 1 sets an fprobe, or where
 * the kernel has none a kretprobe, on return_int() that does nothing, 0 removes it.
 * "dead": 1 makes ftrace believe that it has died, 0 that it lives.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sched/clock.h>
#include <linux/string.h>

#include "test_compat.h"

static atomic_t called;
static u64 ns;
module_param(ns, ullong, 0400);
static unsigned int slow;
module_param(slow, uint, 0400);
static bool wake;
module_param(wake, bool, 0600);

/* Where the result is the argument, clang drops the return value although it is used */
static noinline __noclone int return_int(long value)
{
	atomic_inc(&called);
	OPTIMIZER_HIDE_VAR(value);
	return value;
}

static noinline __noclone long return_long(long value)
{
	atomic_inc(&called);
	OPTIMIZER_HIDE_VAR(value);
	return value;
}

static noinline __noclone void *return_pointer(long value)
{
	atomic_inc(&called);
	OPTIMIZER_HIDE_VAR(value);
	return (void *)value;
}

static noinline __noclone u32 return_u32(long value)
{
	atomic_inc(&called);
	OPTIMIZER_HIDE_VAR(value);
	return value;
}

static noinline __noclone int return_inner(long value)
{
	int result = return_int(value);

	atomic_inc(&called);
	barrier();
	return result;
}

static noinline __noclone int return_outer(long value)
{
	int result = return_inner(value);

	atomic_inc(&called);
	barrier();
	return result;
}

/* Calls a function three times, which fails each time, and passes on the last error alone */
static noinline __noclone int return_tries(long value)
{
	int i, result = 0;

	for (i = 0; i < 3; i++) {
		result = return_inner(value);
		/* One instruction calls it each time */
		OPTIMIZER_HIDE_VAR(i);
	}
	atomic_inc(&called);
	return result;
}

/* Each ends by calling the next one, which gets its frame */
static noinline __noclone int return_end(long value)
{
	atomic_inc(&called);
	return return_inner(value);
}

static noinline __noclone int return_tail(long value)
{
	atomic_inc(&called);
	return return_end(value);
}

/* Another error than the one it got */
static noinline __noclone int return_changed(long value)
{
	int result = return_inner(value);

	atomic_inc(&called);
	barrier();
	return result < 0 ? -EIO : result;
}

/* Calls one function that fails, and then, by the same instruction, another one that fails, too */
static noinline __noclone int return_others(long value)
{
	int (*function[])(long) = { return_inner, return_int };
	int (**next)(long) = function, result = 0;

	while (next < function + ARRAY_SIZE(function)) {
		/* One instruction calls both */
		OPTIMIZER_HIDE_VAR(next);
		result = (*next++)(value);
		barrier();
	}
	atomic_inc(&called);
	return result;
}

static noinline __noclone int return_again(long value)
{
	int result = value > 1 ? return_again(value - 1) : 0;

	atomic_inc(&called);
	barrier();
	return result + 1;
}

static noinline __noclone int return_asleep(long value)
{
	/* Clocks of two CPUs may differ a little */
	const u64 end = local_clock() + (value + 1) * NSEC_PER_MSEC;
	int result = -EINTR;

	atomic_inc(&called);
	while (value < 0 && !READ_ONCE(wake))
		msleep(20);
	/* On a busy host jiffies lag behind, and a sleep that begins then ends early */
	for (; (s64)(end - local_clock()) > 0; value = 1)
		msleep(value);
	/* clang leaves a constant to the caller, and returns anything */
	OPTIMIZER_HIDE_VAR(result);
	return result;
}

/* The result is used: compilers drop the return value of a static function otherwise */
static __always_inline long call(const char *name, long value)
{
	if (!strcmp(name, "int"))
		return return_int(value);
	if (!strcmp(name, "long"))
		return return_long(value);
	if (!strcmp(name, "pointer"))
		return (long)return_pointer(value);
	if (!strcmp(name, "u32"))
		return return_u32(value);
	/* A function of the kernel that returns an unsigned int: the low half of this value */
	if (!strcmp(name, "ms"))
		return jiffies_to_msecs((u32)value / (MSEC_PER_SEC / HZ));
	if (!strcmp(name, "outer"))
		return return_outer(value);
	if (!strcmp(name, "tries"))
		return return_tries(value);
	if (!strcmp(name, "tail"))
		return return_tail(value);
	if (!strcmp(name, "changed"))
		return return_changed(value);
	if (!strcmp(name, "others"))
		return return_others(value);
	if (!strcmp(name, "again"))
		return return_again(value);
	return strcmp(name, "asleep") ? 0 : return_asleep(value);
}

/* The kernel calls this with a lock that another caller would wait for */
static int run(const char *text, const struct kernel_param *param)
{
	char name[16];
	int times, i;
	long value, returned;
	u64 begin, from;

	if (sscanf(text, "%15s %li %d", name, &value, &times) != 3)
		return -EINVAL;
	kernel_param_unlock(THIS_MODULE);
	slow = 0;
	begin = local_clock();
	for (i = 0; i < times; i++) {
		from = local_clock();
		returned = call(name, value);
		slow += local_clock() - from >= NSEC_PER_SEC;
		/* Used */
		OPTIMIZER_HIDE_VAR(returned);
		cond_resched();
	}
	ns = local_clock() - begin;
	kernel_param_lock(THIS_MODULE);
	return 0;
}

#if TEST_HAVE_FPROBE
static void handle_fprobe(struct fprobe *fprobe, unsigned long site, unsigned long ret,
			  struct pt_regs *regs, void *data)
{
}

static struct fprobe bare_fprobe = { .exit_handler = handle_fprobe };
#define set_bare()	register_fprobe(&bare_fprobe, "return_int", NULL)
#define clear_bare()	unregister_fprobe(&bare_fprobe)
#else
static int handle_bare(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	return 0;
}

static struct kretprobe bare_kretprobe = { .handler = handle_bare };

static int set_bare(void)
{
	bare_kretprobe.kp.addr = (void *)return_int;
	return register_kretprobe(&bare_kretprobe);
}

#define clear_bare()	unregister_kretprobe(&bare_kretprobe)
#endif

static int set_hook(const char *text, const struct kernel_param *param)
{
	static bool is_set;
	bool on;
	int err = kstrtobool(text, &on);

	if (err || on == is_set)
		return err;
	if (on)
		err = set_bare();
	else
		clear_bare();
	is_set = on && !err;
	return err;
}

/* As if ftrace had found code that it did not expect: it refuses everything from then on */
static int set_dead(const char *text, const struct kernel_param *param)
{
	static struct kprobe data = { .symbol_name = "ftrace_disabled" };
	bool dead;
	int err = kstrtobool(text, &dead);

	/* It is refused, as this is data, but its address is found */
	if (err || !register_kprobe(&data) || !data.addr)
		return err ?: -ENOENT;
	WRITE_ONCE(*(int *)data.addr, dead);
	data.addr = NULL;
	data.flags = 0;
	return 0;
}

static int get_calls(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%d\n", atomic_read(&called));
}

static const struct kernel_param_ops run_ops = { .set = run }, bare_ops = { .set = set_hook },
				     dead_ops = { .set = set_dead },
				     calls_ops = { .get = get_calls };
module_param_cb(dead, &dead_ops, NULL, 0200);
module_param_cb(bare, &bare_ops, NULL, 0200);
module_param_cb(run, &run_ops, NULL, 0200);
module_param_cb(calls, &calls_ops, NULL, 0400);

MODULE_DESCRIPTION("stackbuf: functions that return what they are told");
MODULE_LICENSE("GPL");
