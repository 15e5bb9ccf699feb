// SPDX-License-Identifier: GPL-2.0
/*
 * stackbuf_return.c - functions that return what they are told
 *
 * "run NAME VALUE TIMES" calls the function of that name with VALUE, so often: int, long, pointer,
 * u32; outer, which returns what inner does, which returns what int does; again, which calls itself
 * VALUE times; asleep, which sleeps VALUE ms.  The parameter "calls" is how many calls of these
 * functions there were.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/string.h>

static atomic_t called;

static noinline __noclone int return_int(long value)
{
	atomic_inc(&called);
	return value;
}

static noinline __noclone long return_long(long value)
{
	atomic_inc(&called);
	return value;
}

static noinline __noclone void *return_pointer(long value)
{
	atomic_inc(&called);
	return (void *)value;
}

static noinline __noclone u32 return_u32(long value)
{
	atomic_inc(&called);
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

static noinline __noclone int return_again(long value)
{
	int result = value > 1 ? return_again(value - 1) : 0;

	atomic_inc(&called);
	barrier();
	return result + 1;
}

static noinline __noclone int return_asleep(long value)
{
	atomic_inc(&called);
	msleep(value);
	return -EINTR;
}

static void call(const char *name, long value)
{
	if (!strcmp(name, "int"))
		return_int(value);
	else if (!strcmp(name, "long"))
		return_long(value);
	else if (!strcmp(name, "pointer"))
		return_pointer(value);
	else if (!strcmp(name, "u32"))
		return_u32(value);
	else if (!strcmp(name, "outer"))
		return_outer(value);
	else if (!strcmp(name, "again"))
		return_again(value);
	else if (!strcmp(name, "asleep"))
		return_asleep(value);
}

/* The kernel calls this with a lock that another caller would wait for */
static int run(const char *text, const struct kernel_param *param)
{
	char name[16];
	int times, i;
	long value;

	if (sscanf(text, "%15s %li %d", name, &value, &times) != 3)
		return -EINVAL;
	kernel_param_unlock(THIS_MODULE);
	for (i = 0; i < times; i++) {
		call(name, value);
		cond_resched();
	}
	kernel_param_lock(THIS_MODULE);
	return 0;
}

static int get_calls(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%d\n", atomic_read(&called));
}

static const struct kernel_param_ops run_ops = { .set = run }, calls_ops = { .get = get_calls };
module_param_cb(run, &run_ops, NULL, 0200);
module_param_cb(calls, &calls_ops, NULL, 0400);

MODULE_DESCRIPTION("stackbuf: functions that return what they are told");
MODULE_LICENSE("GPL");
