/* SPDX-License-Identifier: GPL-2.0 */
/*
 * test.h - the interfaces between the files of stackbuf_test.ko
 *
 * test_main.c runs commands; each other file has the commands for one behaviour.
 */
#ifndef STACKBUF_TEST_H
#define STACKBUF_TEST_H

#include <linux/completion.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/types.h>

#include "../stackbuf.h"
#include "test_compat.h"

/* ------------------------------------------------------------ test_main.c --- */

/* Append to the output of the command */
__printf(1, 2) void say(const char *fmt, ...);

/* Append a result: "ok WHAT" or "not ok WHAT" */
void check(bool good, const char *what);

struct worker {
	void (*fn)(struct worker *w);
	int cpu;
	u64 arg[4];
	struct task_struct *task;
	struct completion done;
};

/**
 * on_cpus() - run a function in a thread on each CPU concurrently
 * @only: if 0 or more, run it on this CPU alone
 * @fn: the function
 * @arg: four numbers for it, or NULL
 *
 * Context: Process context.  Sleeps until all threads have finished.
 * Return: 0, or the error of a thread that could not be started.
 */
int on_cpus(int only, void (*fn)(struct worker *w), const u64 *arg);

/* Inlined, so that a thread's stack begins with the function that calls this */
static __always_inline void sleep_until_stopped(void)
{
	while (!kthread_should_stop()) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (!kthread_should_stop())
			schedule();
		__set_current_state(TASK_RUNNING);
	}
}

/* Waits for what others bring about: false if it does not come within five minutes */
#define came(condition) ({						\
	unsigned int tries = 15000;					\
	while (!(condition) && --tries)					\
		msleep(20);						\
	tries > 0;							\
})

/* A command: four numbers, 0 where fewer were given; returns 0 or an error */
typedef int command_fn(u64 *arg);

command_fn cmd_depth, cmd_distinct, cmd_path, cmd_places, cmd_long;	/* test_paths.c */
command_fn cmd_storm, cmd_tags;						/* test_storm.c */
command_fn cmd_context, cmd_nmiprint, cmd_nest;				/* test_context.c */
command_fn cmd_turns, cmd_starve, cmd_late, cmd_step, cmd_latesteps;	/* test_ring.c */
command_fn cmd_trace, cmd_print, cmd_kept, cmd_printid, cmd_guards;	/* test_trace.c */
command_fn cmd_regs, cmd_calls, cmd_replaced, cmd_later;		/* test_regs.c */
command_fn cmd_panic;							/* test_panic.c */
command_fn cmd_sights;							/* test_sights.c */
command_fn cmd_hold;							/* test_text.c */

/* Undo what commands left in place; called when the module is unloaded */
void nest_end(void);
void ring_end(void);

/* ------------------------------------------------------------ test_walk.c --- */

#define REF_MAX		192	/* frames of leaf_twin() */
#define PLACES		32
#define MARGIN		512	/* longer than any function here */

struct walk {
	u64 path;		/* one nibble per level, the lowest is called first */
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

extern void (*const steps[16])(struct walk *w);

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
	barrier(); /* prevents a tail call */
}

/* Call @levels functions as @path says, then @leaf.  Returns the id that @leaf stored. */
u32 go(u64 path, unsigned int levels, void (*leaf)(struct walk *w), unsigned long tag);

/* Leaves of a path */
void leaf_save(struct walk *w);
void leaf_tag(struct walk *w);
void leaf_twin(struct walk *w);
void leaf_print(struct walk *w);
void leaf_dump(struct walk *w);
void leaf_trace(struct walk *w);
void leaf_place(struct walk *w);
void level_place(struct walk *w);

/* Places of the frames of the last level_place() */
extern unsigned long place[PLACES], variable[PLACES];

/*
 * LONG_NAME: a name almost as long as possible.  With "+0x.../0x... [stackbuf_test]" it needs
 * more than KSYM_NAME_LEN bytes.  KSYM_NAME_LEN was 128 before b8a94bfb3395 ("kallsyms:
 * increase maximum kernel symbol length to 512"), 6.1.
 */
#define GLUE2(a, b)	a##b
#define GLUE(a, b)	GLUE2(a, b)
/* sparse refuses longer names */
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
void LONG_NAME(struct walk *w);

/*
 * Look up the stack of @id and copy its frames.  Returns their number, 0 if it was evicted,
 * -1 if the table has no valid stack there.
 */
int frames_of(u32 id, unsigned long *pc, bool *cut);

/* Whether @pc is in @fn, if @fn is the nearest function of this module below @pc */
bool inside(unsigned long pc, void *fn);

/* 1: the stack of @id is that of the path; 0: it was evicted; -1: it is another one */
int right(u32 id, u64 path, unsigned int levels, void *leaf);

/* --------------------------------------------------------- test_context.c --- */

/* Run a function once in this context, and wait.  -EOPNOTSUPP: NMIs cannot be sent here */
int in_context(enum stackbuf_context context, void (*fn)(void));

/* ------------------------------------------------------------- test_nmi.c --- */

/*
 * Registers of one place in a function.  Until that function returns, each save of them has
 * the same stack, so that saves in NMIs can be recalled.
 */
struct held {
	struct task_struct *task;
	struct pt_regs regs;
};

DECLARE_PER_CPU(struct held, held);

/* Record the registers here; call let_go() before the function returns */
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

void let_go(void);

/* 1: the stack of @id begins at the registers' ip; 0: it was evicted; -1: it is another one */
int right_held(u32 id, const struct pt_regs *regs);

/* Walks counted on this CPU: a save that does not change it recalled its stack */
u64 walks(void);

/* Call @fn in each NMI; -EOPNOTSUPP where a module cannot handle NMIs */
int nmi_start(void (*fn)(void));
void nmi_stop(void);
void nmi_send(int cpu);

DECLARE_PER_CPU(u64, nmi_turn);
extern bool nmi_on;

/* ----------------------------------------------------------- test_storm.c --- */

extern unsigned int storm_levels;

void storm_save(u64 path, void (*leaf)(struct walk *w), unsigned long tag, int context);

#endif /* STACKBUF_TEST_H */
