// SPDX-License-Identifier: GPL-2.0
/*
 * filter.c - which events are recorded, and how many
 *
 * While no filter is set, and nobody reads, this costs nothing: these set STACKBUF_FILTERED in the
 * state, and
 * only then the one test that every event takes, sb_recording_unfiltered(), fails and leads here.
 *
 * The filters in force are in stackbuf_info.filter, so that memory explains why events are
 * missing.
 */
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "internal.h"

struct sb_filter_settings sb_filter = { .cpu = -1, .every = 1 };

/* Bytes of a task's name to compare: those after its NUL are undefined */
static u64 sb_comm_mask[2];

/*
 * Events of each CPU that the other filters admit.  All CPUs would write to a common count.  So
 * each CPU records its first event and then every N-th of its own, and thus a CPU with few
 * events is not lost beside a busy one.
 */
static DEFINE_PER_CPU(u64, sb_sampled);

/*
 * Processes that have opened an array.  What a reader does, it may do thousands of times a second,
 * and would record over what it came for.  Only its own calls are left out, not what interrupts
 * them.  A process that finds no free entry is recorded as any other, and so is one that was given
 * the open file by another.
 */
#define SB_READERS	8

static struct sb_reader {
	struct task_struct *leader;	/* referenced, so no later process has this address */
	u32 files;
} sb_reader[SB_READERS];

/* Serialises changes of sb_reader and of STACKBUF_FILTERED */
static DEFINE_MUTEX(sb_filtered_lock);

static bool sb_is_reader(const struct task_struct *task)
{
	unsigned int i;

	for (i = 0; i < SB_READERS; i++)
		if (READ_ONCE(sb_reader[i].leader) == task->group_leader)
			return true;
	return false;
}

static bool sb_filter_admits(const struct task_struct *task, enum stackbuf_context context)
{
	struct stackbuf_filter *filter = &stackbuf_info.filter;
	const u64 *comm = (const u64 *)task->comm;
	const u64 *want = (const u64 *)filter->comm;
	u32 pid = READ_ONCE(filter->pid), cpu = READ_ONCE(filter->cpu), every;

	if ((context == STACKBUF_TASK && task == current && sb_is_reader(task)) ||
	    (pid && task->tgid != pid) || (cpu && raw_smp_processor_id() + 1 != cpu) ||
	    /* Racy with sb_apply_filter() and with a rename of the task, harmlessly */
	    data_race((comm[0] & sb_comm_mask[0]) != want[0] ||
		      (comm[1] & sb_comm_mask[1]) != want[1])) {
		sb_count_event(STACKBUF_KEPT_OUT);
		return false;
	}
	every = READ_ONCE(filter->every);
	if (every > 1 && (this_cpu_inc_return(sb_sampled) - 1) % every) {
		sb_count_event(STACKBUF_NOT_SAMPLED);
		return false;
	}
	if (READ_ONCE(filter->limit) &&
	    atomic64_dec_if_positive((atomic64_t *)&filter->left) < 0) {
		sb_count_event(STACKBUF_OVER_LIMIT);
		return false;
	}
	return true;
}

bool sb_admit(const struct task_struct *task, enum stackbuf_context context)
{
	u32 state = READ_ONCE(stackbuf_info.state);

	if (likely(state == (STACKBUF_ENABLED | STACKBUF_FILTERED)))
		return sb_filter_admits(task, context);
	/* The last filter was removed after sb_recording_unfiltered() */
	if (state == STACKBUF_ENABLED)
		return true;
	sb_count_event(STACKBUF_LOST_OFF);
	return false;
}

void sb_undo_admit(void)
{
	if (READ_ONCE(stackbuf_info.filter.limit))
		atomic64_inc((atomic64_t *)&stackbuf_info.filter.left);
}

static void sb_update_filtered(void)
{
	const struct stackbuf_filter *filter = &stackbuf_info.filter;
	bool on = filter->pid || filter->cpu || *filter->comm || filter->every || filter->limit;
	unsigned int i;

	lockdep_assert_held(&sb_filtered_lock);
	for (i = 0; i < SB_READERS; i++)
		on |= sb_reader[i].files;
	sb_change_state(STACKBUF_FILTERED, on);
}

int sb_add_reader(void)
{
	int i, found = -1;

	mutex_lock(&sb_filtered_lock);
	for (i = 0; i < SB_READERS; i++) {
		if (sb_reader[i].leader == current->group_leader) {
			found = i;
			break;
		}
		if (!sb_reader[i].files)
			found = i;
	}
	if (found >= 0) {
		if (!sb_reader[found].files++)
			WRITE_ONCE(sb_reader[found].leader,
				   get_task_struct(current->group_leader));
		sb_update_filtered();
	}
	mutex_unlock(&sb_filtered_lock);
	return found;
}

void sb_remove_reader(int reader)
{
	struct task_struct *leader = NULL;

	if (reader < 0)
		return;
	mutex_lock(&sb_filtered_lock);
	if (!--sb_reader[reader].files) {
		leader = sb_reader[reader].leader;
		WRITE_ONCE(sb_reader[reader].leader, NULL);
	}
	sb_update_filtered();
	mutex_unlock(&sb_filtered_lock);
	if (leader)
		put_task_struct(leader);
}

void sb_apply_filter(void)
{
	struct stackbuf_filter *filter = &stackbuf_info.filter;
	u64 want[2] = {}, mask[2] = {};
	size_t len = strlen(sb_filter.comm);

	/* Before init: it calls sb_apply_limit() when the arrays are ready */
	if (!stackbuf_info.page.instance)
		return;
	memcpy(want, sb_filter.comm, len);
	if (len)
		memset(mask, 0xff, len + 1);
	mutex_lock(&sb_filtered_lock);
	/* A concurrent sb_admit() may see some of both settings, as if each were written alone */
	memcpy(filter->comm, want, sizeof(want));
	memcpy(sb_comm_mask, mask, sizeof(mask));
	WRITE_ONCE(filter->pid, sb_filter.pid);
	WRITE_ONCE(filter->cpu, sb_filter.cpu + 1);
	WRITE_ONCE(filter->every, sb_filter.every > 1 ? sb_filter.every : 0);
	WRITE_ONCE(filter->limit, sb_filter.limit);
	sb_update_filtered();
	mutex_unlock(&sb_filtered_lock);
}

void sb_apply_limit(void)
{
	atomic64_set((atomic64_t *)&stackbuf_info.filter.left, sb_filter.limit);
	sb_apply_filter();
}

void sb_apply_every(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		WRITE_ONCE(*per_cpu_ptr(&sb_sampled, cpu), 0);
	sb_apply_filter();
}
