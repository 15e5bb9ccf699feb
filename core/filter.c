// SPDX-License-Identifier: GPL-2.0
/*
 * filter.c - which events are recorded, and how many
 *
 * This costs nothing while no filter is set and no array is open.  A filter or a reader sets
 * STACKBUF_FILTERED in the state; only then does sbuf_recording_unfiltered(), the one test that
 * every event takes, fail and lead here.
 *
 * The filters in force are in stackbuf_info.filter, so that memory explains why events are
 * missing.
 */
#include <linux/cgroup.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "filter.h"
#include "panic.h"

struct sbuf_filter sbuf_filter = { .cpu = -1, .every = 1 };

/* Bytes of a task's name to compare: those after its NUL are undefined */
static u64 comm_mask[2];

/*
 * Events of each CPU that the other filters admit.  CPUs would contend for a common count, so each
 * CPU records its first event and then every N-th of its own.  So a busy CPU does not hide one with
 * few events.
 */
static DEFINE_PER_CPU(u64, sampled_events);

/*
 * The processes that have opened an array.  A reader may make thousands of calls per second, and
 * recording them would overwrite the events that it reads.  Only its own calls are excluded, not
 * interrupts in them.  A process that finds no free entry is recorded like any other, and so is one
 * that received the open file from another process.
 */
#define READERS	32

/* Their group leaders, with a reference, so that no later process has this address; NULL: free */
static struct task_struct *readers[READERS];

/* Serialises changes of readers and of STACKBUF_FILTERED */
static DEFINE_MUTEX(filtered_lock);

static bool is_reader(const struct task_struct *task)
{
	unsigned int i;

	for (i = 0; i < READERS; i++)
		if (READ_ONCE(readers[i]) == task->group_leader)
			return true;
	return false;
}

/*
 * @id is a cgroup of cgroup2.  RCU protects the cgroups of a task, and waits for us, as preemption
 * is disabled.  Where RCU does not watch an idle CPU, its task does not change its cgroup.
 */
static bool is_in_cgroup(const struct task_struct *task, u64 id)
{
#ifdef CONFIG_CGROUPS
	struct cgroup *cgroup = rcu_dereference_raw(task->cgroups)->dfl_cgrp;

	/* Early during boot the root has no node, and no id */
	for (; cgroup; cgroup = cgroup_parent(cgroup))
		if (cgroup->kn && cgroup_id(cgroup) == id)
			return true;
#endif
	return false;
}

/*
 * Events to record after a hit; how many are still to be admitted, and to be recorded; and 1 once
 * hit, as only the first hit counts
 */
static u32 trigger_events;
static atomic64_t trigger_left, trigger_due;
static atomic_t trigger_hit;

static void stop(void)
{
	if (!(READ_ONCE(stackbuf_info.state) & STACKBUF_FROZEN_TRIGGER))
		sbuf_freeze(STACKBUF_FROZEN_TRIGGER);
}

static bool is_counting_down(void)
{
	/* F2: before trigger_left */
	return smp_load_acquire(&stackbuf_info.trigger) &&
		!(READ_ONCE(stackbuf_info.state) & STACKBUF_FROZEN_TRIGGER);
}

void sbuf_filter_trigger(u32 number)
{
	u32 events = READ_ONCE(trigger_events);

	if (!sbuf_recording() || atomic_cmpxchg(&trigger_hit, 0, 1))
		return;
	atomic64_set(&trigger_left, events);
	atomic64_set(&trigger_due, events);
	WRITE_ONCE(stackbuf_info.trigger_left, events);
	WRITE_ONCE(stackbuf_info.trigger_ns, sbuf_now());
	/* F1, F2: after what is left, before events are counted and update_filtered() looks */
	if (cmpxchg(&stackbuf_info.trigger, 0, number))
		return;
	if (events)
		sbuf_state_change(STACKBUF_FILTERED, true);
	else
		stop();
}

NOKPROBE_SYMBOL(sbuf_filter_trigger);

/* An event that was admitted within the limit is not recorded: another may take its place */
static void undo_limit(void)
{
	atomic64_add_unless((atomic64_t *)&stackbuf_info.filter.left, 1,
			    READ_ONCE(stackbuf_info.filter.limit));
}

static enum sbuf_admission passes_filters(const struct task_struct *task,
					  enum stackbuf_context context)
{
	struct stackbuf_filter *filter = &stackbuf_info.filter;
	const u64 *comm = (const u64 *)task->comm, *want = (const u64 *)filter->comm;
	u32 pid = READ_ONCE(filter->pid), cpu = READ_ONCE(filter->cpu), every;
	u64 cgroup = READ_ONCE(filter->cgroup);

	if ((context == STACKBUF_TASK && task == current && is_reader(task)) ||
	    (cgroup && !is_in_cgroup(task, cgroup)) || (pid && task->tgid != pid) ||
	    (cpu && raw_smp_processor_id() + 1 != cpu) ||
	    /* Racy with sbuf_filter_apply() and with a rename of the task, harmlessly */
	    data_race((comm[0] & comm_mask[0]) != want[0] || (comm[1] & comm_mask[1]) != want[1])) {
		sbuf_count(STACKBUF_EXCLUDED);
		return SBUF_NOT_ADMITTED;
	}
	every = READ_ONCE(filter->every);
	if (every > 1 && (this_cpu_inc_return(sampled_events) - 1) % every) {
		sbuf_count(STACKBUF_NOT_SAMPLED);
		return SBUF_NOT_SAMPLED;
	}
	if (READ_ONCE(filter->limit) && atomic64_dec_if_positive((atomic64_t *)&filter->left) < 0) {
		/* No event can finish the countdown any more */
		if (is_counting_down())
			stop();
		sbuf_count(STACKBUF_OVER_LIMIT);
		return SBUF_NOT_SAMPLED;
	}
	if (likely(!is_counting_down()))
		return SBUF_ADMITTED;
	if (atomic64_dec_if_positive(&trigger_left) >= 0)
		return SBUF_COUNTED_DOWN;
	undo_limit();
	sbuf_count(STACKBUF_LOST_OFF);
	return SBUF_NOT_SAMPLED;
}

enum sbuf_admission sbuf_filter_admit(const struct task_struct *task, enum stackbuf_context context)
{
	u32 state = READ_ONCE(stackbuf_info.state);

	if (likely(state == (STACKBUF_ENABLED | STACKBUF_FILTERED)))
		return passes_filters(task, context);
	/* The last filter was removed after sbuf_recording_unfiltered() */
	if (state == STACKBUF_ENABLED)
		return SBUF_ADMITTED;
	sbuf_count(STACKBUF_LOST_OFF);
	return SBUF_NOT_ADMITTED;
}

void sbuf_filter_settle(enum sbuf_admission as, bool recorded)
{
	if (!recorded)
		undo_limit();
	if (likely(as != SBUF_COUNTED_DOWN))
		return;
	if (!recorded)
		atomic64_inc(&trigger_left);
	else if (atomic64_dec_and_test(&trigger_due))
		stop();
}

static void update_filtered(void)
{
	const struct stackbuf_filter *filter = &stackbuf_info.filter;
	bool on = filter->pid || filter->cpu || *filter->comm || filter->every || filter->limit ||
		filter->cgroup;
	unsigned int i;

	lockdep_assert_held(&filtered_lock);
	for (i = 0; i < READERS; i++)
		on |= !!readers[i];
	sbuf_state_change(STACKBUF_FILTERED, on || is_counting_down());
	smp_mb();	/* F1: a hit either sets the bit after the change, or is found here */
	if (is_counting_down())
		sbuf_state_change(STACKBUF_FILTERED, true);
}

/* Wait for the next hit.  No hit is in progress */
static void wait_for_hit(void)
{
	WRITE_ONCE(stackbuf_info.trigger, 0);
	WRITE_ONCE(stackbuf_info.trigger_ns, 0);
	atomic_set(&trigger_hit, 0);
}

void sbuf_filter_arm_again(void)
{
	mutex_lock(&filtered_lock);
	/* Wait for hits and events that found recording on */
	synchronize_rcu();
	wait_for_hit();
	sbuf_state_change(STACKBUF_FROZEN_TRIGGER, false);
	update_filtered();
	mutex_unlock(&filtered_lock);
}

u32 sbuf_filter_trigger_events(void)
{
	return READ_ONCE(trigger_events);
}

void sbuf_filter_arm(u32 events)
{
	WRITE_ONCE(trigger_events, events);
	/* Once stopped, recording stays off until enable=1 */
	if (!(READ_ONCE(stackbuf_info.state) & STACKBUF_FROZEN_TRIGGER))
		wait_for_hit();
}

void sbuf_filter_update(void)
{
	mutex_lock(&filtered_lock);
	update_filtered();
	mutex_unlock(&filtered_lock);
}

int sbuf_filter_add_reader(void)
{
	int i;

	mutex_lock(&filtered_lock);
	for (i = 0; i < READERS && readers[i]; i++)
		;
	if (i < READERS) {
		WRITE_ONCE(readers[i], get_task_struct(current->group_leader));
		update_filtered();
	}
	mutex_unlock(&filtered_lock);
	return i;
}

void sbuf_filter_remove_reader(int reader)
{
	if (reader == READERS)
		return;
	mutex_lock(&filtered_lock);
	put_task_struct(xchg(&readers[reader], NULL));
	update_filtered();
	mutex_unlock(&filtered_lock);
}

void sbuf_filter_apply(void)
{
	struct stackbuf_filter *filter = &stackbuf_info.filter;
	u64 want[2] = {}, mask[2] = {};
	size_t len = strlen(sbuf_filter.comm);

	/* Before init, which calls sbuf_filter_apply_limit() once the arrays are ready */
	if (!stackbuf_info.page.instance)
		return;
	memcpy(want, sbuf_filter.comm, len);
	if (len)
		memset(mask, 0xff, len + 1);
	mutex_lock(&filtered_lock);
	/*
	 * A concurrent sbuf_filter_admit() may see a mix of old and new settings, as if each had
	 * been written separately
	 */
	memcpy(filter->comm, want, sizeof(want));
	memcpy(comm_mask, mask, sizeof(mask));
	WRITE_ONCE(filter->cgroup, sbuf_filter.cgroup);
	WRITE_ONCE(filter->pid, sbuf_filter.pid);
	WRITE_ONCE(filter->cpu, sbuf_filter.cpu + 1);
	WRITE_ONCE(filter->every, sbuf_filter.every > 1 ? sbuf_filter.every : 0);
	WRITE_ONCE(filter->limit, sbuf_filter.limit);
	update_filtered();
	mutex_unlock(&filtered_lock);
}

void sbuf_filter_apply_limit(void)
{
	atomic64_t *left = (atomic64_t *)&stackbuf_info.filter.left;

	/*
	 * An event may find the old limit with the new number, or the reverse, and no order avoids
	 * that.  So without a limit enough are left for any event.
	 */
	if (sbuf_filter.limit)
		atomic64_set(left, sbuf_filter.limit);
	sbuf_filter_apply();
	if (!sbuf_filter.limit)
		atomic64_set(left, U32_MAX);
}

void sbuf_filter_apply_every(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		WRITE_ONCE(*per_cpu_ptr(&sampled_events, cpu), 0);
	sbuf_filter_apply();
}
