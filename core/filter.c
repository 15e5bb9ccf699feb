// SPDX-License-Identifier: GPL-2.0
/*
 * filter.c - which events are recorded, and how many
 *
 * Filters cost nothing while there are none: STACKBUF_FILTERED in the state makes
 * the one test fail that every event takes, sb_recording(), and what is decided
 * here is decided for those events only.
 *
 * What is in force stands in stackbuf_info.filter, so that memory tells why
 * events are missing.
 */

/* Parameters */
u32 sb_filter_pid;
int sb_filter_cpu = -1;
static char sb_filter_comm[TASK_COMM_LEN];
u32 sb_filter_every = 1;
u32 sb_filter_limit;

/* Bytes of a task's name to compare: behind its end there may be anything */
static u64 sb_comm_mask[2];

/*
 * Events of each CPU that the other filters let pass.  A count for all CPUs would
 * be a line that all write to; so each CPU keeps its first event and then every
 * N-th of its own, and a place that few pass is not lost beside a busy one.
 */
static DEFINE_PER_CPU(u64, sb_sampled);

static bool sb_filter_admits(const struct task_struct *task)
{
	struct stackbuf_filter *filter = &stackbuf_info.filter;
	const u64 *comm = (const u64 *)task->comm;
	const u64 *want = (const u64 *)filter->comm;
	u32 pid = READ_ONCE(filter->pid), cpu = READ_ONCE(filter->cpu), every;

	if ((pid && task->tgid != pid) || (cpu && raw_smp_processor_id() + 1 != cpu) ||
	    /* Either may be changed just now: as in sb_apply_filter() */
	    data_race((comm[0] & sb_comm_mask[0]) != want[0] ||
		      (comm[1] & sb_comm_mask[1]) != want[1])) {
		sb_lost(STACKBUF_KEPT_OUT);
		return false;
	}
	every = READ_ONCE(filter->every);
	if (every > 1 && (this_cpu_inc_return(sb_sampled) - 1) % every) {
		sb_lost(STACKBUF_NOT_SAMPLED);
		return false;
	}
	if (READ_ONCE(filter->limit) &&
	    atomic64_dec_if_positive((atomic64_t *)&filter->left) < 0) {
		sb_lost(STACKBUF_OVER_LIMIT);
		return false;
	}
	return true;
}

/**
 * sb_admit() - whether an event is recorded, where sb_recording() said no
 * @task: whose it is
 *
 * Context: Any, preemption disabled until it is recorded.
 * Return: true if it is; then sb_readmit() tells what it was lost for after all.
 *	False if not; then it is counted.
 */
bool sb_admit(const struct task_struct *task)
{
	u32 state = READ_ONCE(stackbuf_info.state);

	if (likely(state == (STACKBUF_ENABLED | STACKBUF_FILTERED)))
		return sb_filter_admits(task);
	/* The last filter went just now */
	if (state == STACKBUF_ENABLED)
		return true;
	sb_lost(STACKBUF_LOST_OFF);
	return false;
}

/* An event that was admitted was lost: another may come in its place */
void sb_readmit(void)
{
	if (READ_ONCE(stackbuf_info.filter.limit))
		atomic64_inc((atomic64_t *)&stackbuf_info.filter.left);
}

/*
 * Bring what was written to the parameters into force.  Writers of parameters
 * keep each other off.
 */
void sb_apply_filter(void)
{
	struct stackbuf_filter *filter = &stackbuf_info.filter;
	u64 want[2] = {}, mask[2] = {};
	size_t len = strlen(sb_filter_comm);

	/* sb_init_memory() calls when the arrays are ready */
	if (!stackbuf_info.page.instance)
		return;
	memcpy(want, sb_filter_comm, len);
	if (len)
		memset(mask, 0xff, len + 1);
	/* Who is in the middle of it sees some of both, as if one by one were written */
	memcpy(filter->comm, want, sizeof(want));
	memcpy(sb_comm_mask, mask, sizeof(mask));
	WRITE_ONCE(filter->pid, sb_filter_pid);
	WRITE_ONCE(filter->cpu, sb_filter_cpu + 1);
	WRITE_ONCE(filter->every, sb_filter_every > 1 ? sb_filter_every : 0);
	WRITE_ONCE(filter->limit, sb_filter_limit);
	sb_change_state(STACKBUF_FILTERED,
			filter->pid || filter->cpu || len || filter->every || filter->limit);
}

/* Also when the same limit is written again: so many from now on */
void sb_apply_limit(void)
{
	atomic64_set((atomic64_t *)&stackbuf_info.filter.left, sb_filter_limit);
	sb_apply_filter();
}

void sb_apply_every(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		WRITE_ONCE(*per_cpu_ptr(&sb_sampled, cpu), 0);
	sb_apply_filter();
}

static int sb_set_comm(const char *value, const struct kernel_param *param)
{
	size_t len = value ? strcspn(value, "\n") : 0;

	if (!value || len >= TASK_COMM_LEN || value[len + !!value[len]]) {
		pr_err("comm: a command's name of up to %d bytes is accepted, not '%.*s'\n",
		       TASK_COMM_LEN - 1, (int)len, value);
		return -EINVAL;
	}
	memset(sb_filter_comm, 0, sizeof(sb_filter_comm));
	memcpy(sb_filter_comm, value, len);
	sb_apply_filter();
	return 0;
}

static int sb_get_comm(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%s\n", sb_filter_comm);
}

const struct kernel_param_ops sb_comm_ops = {
	.set = sb_set_comm,
	.get = sb_get_comm,
};
