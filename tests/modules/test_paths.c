// SPDX-License-Identifier: GPL-2.0
/*
 * test_paths.c - commands that save many paths, deep ones and long names
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/stacktrace.h>
#include <linux/vmalloc.h>

#include "test.h"

/* depth FROM TO: compares each trace, up to the limit, with what the kernel itself unwinds */
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
		else if (nr != min_t(int, w.nr_ref, stackbuf_info.frames))
			bad = " number of frames";
		else if (cut != (w.nr_ref > stackbuf_info.frames))
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

int cmd_depth(u64 *arg)
{
	return on_cpus(0, depth_worker, arg);
}

static int cmp_u32(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return x < y ? -1 : x > y;
}

/*
 * distinct N LEVELS OTHERS: saves N paths twice, and counts ids that are shared between paths
 * or differ the second time.  After each save, OTHERS saves of one fixed path.
 */
static void distinct_worker(struct worker *wk)
{
	unsigned int n = wk->arg[0], levels = wk->arg[1], i, k, nr = 0;
	unsigned int none = 0, differ = 0, wrong = 0, gone = 0, same = 0;
	u32 *ids = vzalloc(n * sizeof(*ids));

	if (!ids)
		return;
	for (i = 0; i < 2 * n; i++) {
		/* One call for both rounds, as its return address is part of the stack */
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

int cmd_distinct(u64 *arg)
{
	return on_cpus(0, distinct_worker, arg);
}

/* path KEY LEVELS TAG TIMES: saves path KEY that often; prints the last id */
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

int cmd_path(u64 *arg)
{
	if (!arg[3])
		arg[3] = 1;
	return on_cpus(0, path_worker, arg);
}

/* places LEVELS: distances of frames and of variables in them from the stack's end */
static void places_worker(struct worker *wk)
{
	struct walk w = { .levels = wk->arg[0], .leaf = leaf_place };
	unsigned long end = (unsigned long)task_stack_page(current) + THREAD_SIZE;
	unsigned int i;

	level_place(&w);
	say("id %u\n", w.id);
	for (i = w.levels; i-- > 0;)
		say("place %lu %lu\n", end - place[i], end - variable[i]);
}

int cmd_places(u64 *arg)
{
	return arg[0] < PLACES ? on_cpus(0, places_worker, arg) : -ERANGE;
}

/* long TIMES: saves below a function with the longest name, which calls itself */
static void long_worker(struct worker *wk)
{
	struct walk w = { .levels = wk->arg[0], .leaf = leaf_tag, .tag = 0x1049 };

	LONG_NAME(&w);
	say("id %u\n", w.id);
}

int cmd_long(u64 *arg)
{
	return on_cpus(0, long_worker, arg);
}
