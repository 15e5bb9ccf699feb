/* SPDX-License-Identifier: GPL-2.0 */
/*
 * test.h - what the files of stackbuf_test.ko offer each other
 *
 * test_main.c carries out commands; each other file has those of one behaviour.
 */
#ifndef STACKBUF_TEST_H
#define STACKBUF_TEST_H

#include <linux/completion.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/types.h>

#include "../stackbuf.h"
#include "test_compat.h"

/* ------------------------------------------------------------ test_main.c --- */

extern struct dentry *test_dir;	/* in debugfs */

/* Print into the answer to the command */
__printf(1, 2) void say(const char *fmt, ...);

/* A result: "ok" or "not ok" */
void check(bool good, const char *what);

struct worker {
	void (*fn)(struct worker *w);
	int cpu;
	u64 arg[4];
	struct task_struct *task;
	struct completion done;
};

/**
 * on_cpus() - run a function on a thread of its own on each CPU at the same time
 * @only: on this CPU alone, if it is 0 or more
 * @fn: the function
 * @arg: four numbers for it, or NULL
 *
 * Context: Process context.
 * Return: 0, or the error of a thread that could not be started.
 */
int on_cpus(int only, void (*fn)(struct worker *w), const u64 *arg);

/* A command: four numbers, 0 where fewer were given; returns 0 or an error */
typedef int command_fn(u64 *arg);

command_fn cmd_depth, cmd_distinct, cmd_path, cmd_places, cmd_long;	/* test_paths.c */
command_fn cmd_storm, cmd_tags;						/* test_storm.c */
command_fn cmd_context, cmd_nmiprint, cmd_nest;				/* test_context.c */
command_fn cmd_step, cmd_stepmode;					/* test_step.c */
command_fn cmd_turns, cmd_starve, cmd_late, cmd_latesteps;		/* test_ring.c */
command_fn cmd_trace, cmd_print, cmd_kept, cmd_printid, cmd_guards;	/* test_trace.c */
command_fn cmd_regs, cmd_calls;						/* test_regs.c */
command_fn cmd_panic;							/* test_panic.c */

/* Undo what a command left in place; when the module is unloaded */
void nest_end(void);
void step_end(void);
void ring_end(void);

/* ------------------------------------------------------------ test_walk.c --- */

#define REF_MAX		128	/* frames of leaf_twin() */
#define PLACES		32
#define MARGIN		512	/* a function here is shorter than that */

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
	/* Whatever the compiler thinks of it: no tail call */
	barrier();
}

/* Save the stack of a path: @levels functions, then @leaf.  Returns what @leaf left in id */
u32 go(u64 path, unsigned int levels, void (*leaf)(struct walk *w), unsigned long tag);

/* Leaves of a path; each does what its name says */
void leaf_save(struct walk *w);
void leaf_tag(struct walk *w);
void leaf_twin(struct walk *w);
void leaf_print(struct walk *w);
void leaf_dump(struct walk *w);
void leaf_trace(struct walk *w);
void leaf_place(struct walk *w);
void level_place(struct walk *w);

/* Where the frames of the last call of level_place() were */
extern unsigned long place[PLACES];

/*
 * LONG_NAME: a name as long as possible.  With "+0x.../0x... [stackbuf_test]" it needs
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
void LONG_NAME(struct walk *w);

/* Copy the frames of a stack: their number; 0: it is gone; -1: what is there is no stack */
int frames_of(u32 id, unsigned long *pc, bool *cut);

/* Whether @pc is in @fn, the nearest of the functions here below @pc */
bool inside(unsigned long pc, void *fn);

/* 1: the stack of @id is that of the path; 0: it is gone; -1: it is another one */
int right(u32 id, u64 path, unsigned int levels, void *leaf);

/* ------------------------------------------------------------- test_nmi.c --- */

/*
 * Registers of a place in a function that goes on: as often as they are saved until it
 * returns, it is one stack, so that it is recalled also in an NMI and at a breakpoint.
 */
struct held {
	struct task_struct *task;
	struct pt_regs regs;
};

DECLARE_PER_CPU(struct held, held);

/* Take registers here; let_go() is to be called before the function returns */
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

/* 1: the stack of @id begins where the registers do; 0: it is gone; -1: it is another one */
int right_held(u32 id, const struct pt_regs *regs);

/* Walks counted on this CPU: a save that leaves the number as it was recalled its stack */
u64 walks(void);

/* Have @fn called in NMIs, and send one to a CPU; -EOPNOTSUPP where a module cannot */
int nmi_start(void (*fn)(void));
void nmi_stop(void);
void nmi_send(int cpu);

DECLARE_PER_CPU(u64, nmi_turn);
extern bool nmi_on;

/* ----------------------------------------------------------- test_storm.c --- */

extern unsigned int storm_levels;

void storm_save(u64 path, void (*leaf)(struct walk *w), unsigned long tag, int context);

/* ------------------------------------------------------------ test_step.c --- */

#define STEP_PROBES	8192

extern struct kprobe *step_probe[STEP_PROBES];
extern unsigned int step_probes;
extern struct kprobe *step_only;	/* of all these probes, the one that is armed */
extern bool step_armed, step_hit;
extern u32 step_id;			/* of the save at the probe */
extern int step_right;			/* as of right() */
extern u64 step_new;			/* paths that are new each time */
extern unsigned int step_saves, step_none;
extern int step_wrong;

u32 step_save(u64 path, const u64 *arg);

#endif /* STACKBUF_TEST_H */
