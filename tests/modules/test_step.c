// SPDX-License-Identifier: GPL-2.0
/*
 * test_step.c - a save at every instruction of a save
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "test.h"

/*
 * step ADDRESS PATH LEVELS TAG: imitates an NMI at this instruction of stackbuf.  A
 * probe there copies all four arrays, as a dump at this moment would have them, and
 * saves.  "step 0" removes the probes.
 */
struct kprobe *step_probe[STEP_PROBES];
unsigned int step_probes;
static void *step_copy;		/* info, events, stacks, text */
static size_t step_size;
bool step_armed, step_hit;
static bool step_recalled;
u32 step_id;
int step_right;
static unsigned int step_mode;	/* STEP_HELD etc. */
u64 step_new;
struct kprobe *step_only;
static struct task_struct *step_task;	/* stackbuf's workers may come there, too */
static struct debugfs_blob_wrapper step_blob;

#define STEP_HELD	1	/* the probe saves held registers, to be recalled */
#define STEP_TABLE	2	/* the table is full */
#define STEP_RING	4	/* no page of the ring can be taken */
#define STEP_LATE	8	/* only add the probe; "latesteps" runs it on a dying CPU */

static int step_handler(struct kprobe *p, struct pt_regs *regs)
{
	const void *info = &stackbuf_info;
	void *to = step_copy;

	/* Pages of pairs follow what the compiler knows of */
	OPTIMIZER_HIDE_VAR(info);
	if (!READ_ONCE(step_armed) || (step_only ? step_only != p : step_task != current))
		return 0;
	step_armed = false;
	step_hit = true;
	if (step_only) {
		step_id = go(7, 2, leaf_tag, 0x57e9);
		step_right = step_id ? right(step_id, 7, 2, leaf_tag) : 0;
		return 0;
	}
	memcpy(to, info, stackbuf_info.info_size);
	to += stackbuf_info.info_size;
	memcpy(to, stackbuf_events, stackbuf_info.events_size);
	to += stackbuf_info.events_size;
	memcpy(to, stackbuf_stacks, stackbuf_info.stacks_size);
	to += stackbuf_info.stacks_size;
	/* A worker may write on another CPU: as a reader that copies until two copies agree */
	do
		memcpy(to, stackbuf, stackbuf_info.text_size);
	while (memcmp(to, stackbuf, stackbuf_info.text_size));
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

/* Mark every page of the ring that is not open as owned, or release them all again */
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

void step_end(void)
{
	if (step_probes)
		unregister_kprobes(step_probe, step_probes);
	while (step_probes)
		kfree(step_probe[--step_probes]);
}

/* After the file with it is gone */
void step_free(void)
{
	vfree(step_copy);
}

/* A page of the ring holds fewer events of one task than this */
#define STEP_SAVES	260

unsigned int step_saves, step_none;
int step_wrong;

u32 step_save(u64 path, const u64 *arg)
{
	u32 id = go(path, arg[2], leaf_tag, arg[3]);
	int is = id ? right(id, path, arg[2], leaf_tag) : 0;

	step_saves++;
	step_none += !id;
	/* A full table may have evicted it */
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
	/* Recall learns the stack within three saves; if the table is full, wait for eviction */
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
	step_task = current;
	WRITE_ONCE(step_armed, true);
	calls = 0;
	step_save(step_mode & STEP_TABLE ? 0x100000 + step_new++ : wk->arg[1], wk->arg);
	/* If the table is full, alternate with new paths: these make a CPU close its page */
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

int cmd_step(u64 *arg)
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
		debugfs_create_blob("snapshot", 0400, test_dir, &step_blob);
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

/* stepmode MODE: sets STEP_HELD etc. for the steps that follow */
int cmd_stepmode(u64 *arg)
{
	step_mode = arg[0];
	return 0;
}
