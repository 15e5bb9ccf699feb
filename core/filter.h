/* SPDX-License-Identifier: GPL-2.0 */
/*
 * filter.h - which events are recorded, and how many
 */
#ifndef STACKBUF_FILTER_H
#define STACKBUF_FILTER_H

#include "memory.h"

/* Filter parameters */
struct sbuf_filter {
	u32 pid;	/* record this thread group; 0: all */
	int cpu;	/* record on this CPU; -1: all */
	u32 every;	/* of these, record on each CPU the first one and then one in @every */
	u32 limit;	/* of these, record at most @limit; 0: all */
	u64 cgroup;	/* record tasks in the cgroup of this id, and below; 0: all */
	char comm[TASK_COMM_LEN];	/* record tasks of this name, NUL-terminated; "": all */
};

/* Written under the lock of parameters; takes effect at sbuf_filter_apply() */
extern struct sbuf_filter sbuf_filter;

/*
 * Decide whether an event of @task is to be recorded while sbuf_recording_unfiltered() is false.
 * If not, count it.  Preemption is disabled until sbuf_filter_settle() is called for an event that
 * was admitted.
 */
enum sbuf_admission sbuf_filter_admit(const struct task_struct *task,
				      enum stackbuf_context context);
/* If an event that was admitted was lost, another may take its place */
void sbuf_filter_settle(enum sbuf_admission as, bool recorded);
/*
 * The current process opens an array: do not record its own calls until sbuf_filter_remove_reader()
 * is called with the value returned here.  Process context.
 */
int sbuf_filter_add_reader(void);
void sbuf_filter_remove_reader(int reader);

/* The probe with this number, a trigger, was hit: stop recording some events later.  Any context */
void sbuf_filter_trigger(u32 number);
/*
 * Record @events events after the next hit of a trigger.  Forget an earlier hit, unless it has
 * stopped recording.  Called while the machine is stopped; afterwards call sbuf_filter_update() in
 * process context.
 */
void sbuf_filter_arm(u32 events);
void sbuf_filter_update(void);
u32 sbuf_filter_trigger_events(void);
/* Let recording, which is off, resume until the next hit.  Process context */
void sbuf_filter_arm_again(void);

/*
 * Apply what was written to sbuf_filter.  The second also restarts the count of events up to the
 * limit, even if the limit is unchanged, and the third the count up to the next sample.  Process
 * context, under the lock of parameters.
 */
void sbuf_filter_apply(void);
void sbuf_filter_apply_limit(void);
void sbuf_filter_apply_every(void);

#endif /* STACKBUF_FILTER_H */
