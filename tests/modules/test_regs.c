// SPDX-License-Identifier: GPL-2.0
/*
 * test_regs.c - stacks saved from a probe's registers, at every instruction of a function
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/sched/task_stack.h>

#include "test.h"

/*
 * regs: probes each instruction of a function that needs no frame and of one that does; each
 * stack saved from the probe's registers must begin at the probed instruction
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

/* calls N LEVELS: calls N paths without a save, for probes; pauses let the evict worker run */
static void calls_worker(struct worker *wk)
{
	u64 i;

	for (i = 0; i < wk->arg[0]; i++) {
		go(i, wk->arg[1], regs_target, 0);
		if (i % 16 == 15)
			usleep_range(500, 1000);
	}
}

int cmd_calls(u64 *arg)
{
	return on_cpus(0, calls_worker, arg);
}

static u32 regs_id;
static unsigned int followed;

/* A stack that recall knows, with frame pointers that lead nowhere */
static void save_astray(struct pt_regs regs)
{
	unsigned long stack = (unsigned long)task_stack_page(current);
	const unsigned long astray[] = {
		0, 8, PAGE_SIZE, stack - 64, stack - THREAD_SIZE, stack + THREAD_SIZE - 8, -16, -1,
	};
	unsigned long pc[STACKBUF_DEPTH_MAX] = {};
	bool cut;
	int i;

	/* It would complain in the log */
	if (IS_ENABLED(CONFIG_UNWINDER_FRAME_POINTER))
		return;
	stackbuf_save_regs(&regs, 0);
	for (i = 0; i < ARRAY_SIZE(astray); i++) {
#ifdef CONFIG_X86_64
		regs.bp = astray[i];
#else
		regs.regs[29] = astray[i];
#endif
		if (frames_of(stackbuf_save_regs(&regs, 0), pc, &cut) < 1 ||
		    pc[0] != instruction_pointer(&regs))
			followed++;
	}
}

static int regs_handler(struct kprobe *p, struct pt_regs *regs)
{
	unsigned long ip = instruction_pointer(regs);

	instruction_pointer_set(regs, (unsigned long)p->addr);
	regs_id = stackbuf_save_regs(regs, 0x4e65);
	save_astray(*regs);
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

	/* No instruction begins here, or it cannot be probed */
	if (register_kprobe(&p))
		return;
	regs_id = 0;
	go(0x21, 2, leaf, 0);
	unregister_kprobe(&p);
	/* Padding after the function's end: never executed */
	if (!regs_id)
		return;
	++*probed;
	nr = frames_of(regs_id, pc, &cut);
	if (nr > 4 && pc[0] == (unsigned long)p.addr && inside(pc[1], steps[2]) &&
	    inside(pc[2], steps[1]))
		return;
	++*wrong;
	say("# %ps+%lu: id %u nr %d %pS %pS %pS %pS\n", leaf, offset, regs_id, nr, (void *)pc[0],
	    (void *)pc[1], (void *)pc[2], (void *)pc[3]);
}

int cmd_regs(u64 *arg)
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
	check(!followed, "a frame pointer that leads nowhere");
	return 0;
}

static bool walked, recalled;

/* Saves one stack twice while r13 may be its cfa, see regs_fit(), and twice when it is not */
static int later_handler(struct kprobe *p, struct pt_regs *regs)
{
	struct pt_regs copy = *regs;
	u64 before;

	instruction_pointer_set(&copy, (unsigned long)p->addr);
#ifdef CONFIG_X86_64
	/* Not where a function begins: there no register can matter */
	instruction_pointer_set(&copy, *(unsigned long *)copy.sp);
	copy.sp += 8;
	copy.r13 = copy.sp;
	/* What some function has left there, as number() its buffer, would keep it out as well */
	copy.r10 = 0;
#endif
	stackbuf_save_regs(&copy, 0);
	before = walks();
	stackbuf_save_regs(&copy, 0);
	walked = walks() == before + 1;
#ifdef CONFIG_X86_64
	copy.r13 = 0;
#endif
	stackbuf_save_regs(&copy, 0);
	before = walks();
	stackbuf_save_regs(&copy, 0);
	recalled = walks() == before;
	return 0;
}

/* later: registers that keep a walk out of recall do not keep out the next one of that stack */
int cmd_later(u64 *arg)
{
	struct kprobe p = { .addr = (void *)regs_target, .pre_handler = later_handler };
	int err = register_kprobe(&p);

	if (err)
		return err;
	go(0x41, 3, regs_target, 0);
	unregister_kprobe(&p);
	check(walked || !IS_ENABLED(CONFIG_UNWINDER_ORC), "such a register keeps it out");
	check(recalled, "without it is recalled");
	return 0;
}

static unsigned int others;

/* Saves its stack as one that was called, and as one that was interrupted at that instruction */
static noinline void replaced_target(struct walk *w)
{
	unsigned long pc[STACKBUF_DEPTH_MAX] = {};
	struct pt_regs regs;
	u32 first = 0, id;
	bool cut;
	int i;

	preempt_disable();
	hold();
	regs = this_cpu_ptr(&held)->regs;
	for (i = 0; i < 4; i++) {
		/* One call at one address: clang unrolls loops whose number of rounds it knows */
		OPTIMIZER_HIDE_VAR(i);
		id = stackbuf_save();
		first = first ?: id;
		others += id != first;
		if (frames_of(id, pc, &cut) <= 0)
			others++;
		instruction_pointer_set(&regs, pc[0]);
		stackbuf_save_regs(&regs, 0);
	}
	let_go();
	preempt_enable();
}

/* replaced: a walk from registers that sees a trampoline teaches no other walk */
int cmd_replaced(u64 *arg)
{
	struct kretprobe p = { .kp.addr = (void *)replaced_target };
	int err = register_kretprobe(&p);

	if (err)
		return err;
	others = 0;
	go(0x31, 2, replaced_target, 0);
	unregister_kretprobe(&p);
	check(!others && !p.nmissed, "a replaced return address is not recalled");
	return 0;
}
