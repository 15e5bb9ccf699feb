// SPDX-License-Identifier: GPL-2.0
/*
 * recall.c - recall's epoch, and verification: even in production, each CPU also walks one recall
 * in sbuf_verify, and the first difference switches recall off
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpu.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "recall.h"
#include "worker.h"

unsigned long sbuf_recall_epoch __read_mostly = SBUF_HAVE_RECALL;

unsigned int sbuf_verify = 4096;

void sbuf_recall_restart_verify(void *unused)
{
	/* 0 verifies no recall: the countdown would first have to wrap */
	this_cpu_write(sbuf_cpu->verify_in, READ_ONCE(sbuf_verify));
}

void sbuf_recall_apply_verify(void)
{
	int cpu;

	/* Parameters can be written before init and after exit */
	if (!sbuf_cpu)
		return;
	cpus_read_lock();
	on_each_cpu(sbuf_recall_restart_verify, NULL, 1);
	/* Offline CPUs may come back online */
	for_each_possible_cpu(cpu)
		if (!cpu_online(cpu))
			WRITE_ONCE(per_cpu_ptr(sbuf_cpu, cpu)->verify_in, READ_ONCE(sbuf_verify));
	cpus_read_unlock();
}

void sbuf_recall_report(struct work_struct *work)
{
	pr_err("a recalled stack differed from the walked one, so recall is switched off. Please report this\n");
}

enum stackbuf_counter sbuf_recall_verify(u32 recalled, const struct stackbuf_stack *walked)
{
	const struct stackbuf_stack *stack = sbuf_table_stack(recalled);

	if (recalled == walked->id)
		return STACKBUF_VERIFIED;
	/* The stack was dropped from the table after it was recalled */
	if (READ_ONCE(stack->id) != recalled)
		return STACKBUF_WALKED_AGAIN;
	/*
	 * The table may hold equal frames under two ids, see table.c.  Racy: evict.c may drop
	 * the stack and another may take its place.  The id is rechecked below.
	 */
	if (data_race(stack->hash == walked->hash && stack->words == walked->words &&
		      !memcmp(stack->frames, walked->frames, walked->words * sizeof(u32))))
		return STACKBUF_VERIFIED;
	/* T5: the frames were read before the id is read again */
	smp_rmb();
	if (READ_ONCE(stack->id) != recalled)
		return STACKBUF_WALKED_AGAIN;
	if (xchg(&sbuf_recall_epoch, 0))
		sbuf_worker_request(SBUF_WORKER_REPORT);
	return STACKBUF_DIFFERED;
}

void sbuf_recall_invalidate(void)
{
	unsigned long epoch = READ_ONCE(sbuf_recall_epoch);

	/* 0 stays 0; the highest 32-bit epoch is followed by 1.  C4 */
	while (epoch && !try_cmpxchg(&sbuf_recall_epoch, &epoch, (u32)(epoch + 1) ?: 1))
		;
}
