// SPDX-License-Identifier: GPL-2.0
/*
 * test_nmi.c - NMIs sent from CPU to CPU, and registers for them to save
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/smp.h>

#ifdef CONFIG_X86_LOCAL_APIC
#include <asm/apic.h>
#include <asm/nmi.h>
#endif

#include "test.h"

DEFINE_PER_CPU(struct held, held);

void let_go(void)
{
	WRITE_ONCE(this_cpu_ptr(&held)->task, NULL);
	barrier();
}

int right_held(u32 id, const struct pt_regs *regs)
{
	unsigned long pc[STACKBUF_DEPTH_MAX];
	bool cut;
	int nr = frames_of(id, pc, &cut);

	if (nr <= 0)
		return nr;
	return pc[0] == instruction_pointer((struct pt_regs *)regs) && nr > 2 ? 1 : -1;
}

u64 walks(void)
{
	unsigned int slot = raw_smp_processor_id() % STACKBUF_COUNTER_SLOTS;
	const u64 *line = stackbuf_info.counter[slot / STACKBUF_COUNTER_LINES]
					.slot[slot % STACKBUF_COUNTER_LINES];

	return READ_ONCE(line[STACKBUF_WALKED_NEW]) + READ_ONCE(line[STACKBUF_WALKED_ELSEWHERE]) +
	       READ_ONCE(line[STACKBUF_WALKED_UNCACHEABLE]) +
	       READ_ONCE(line[STACKBUF_WALKED_AGAIN]);
}

DEFINE_PER_CPU(u64, nmi_turn);
bool nmi_on;

#ifdef CONFIG_X86_LOCAL_APIC
static void (*nmi_fn)(void);

static int nmi_handler(unsigned int type, struct pt_regs *regs)
{
	/* Nothing else in the virtual machine sends NMIs */
	if (nmi_fn)
		nmi_fn();
	return NMI_HANDLED;
}

int nmi_start(void (*fn)(void))
{
	int err;

	nmi_fn = fn;
	err = register_nmi_handler(NMI_LOCAL, nmi_handler, 0, "stackbuf_test");
	nmi_on = !err;
	return err;
}

static void nmi_arrives(void *unused)
{
}

void nmi_stop(void)
{
	if (!nmi_on)
		return;
	/* A CPU takes an NMI in flight before an interrupt, whenever the host lets it run */
	on_each_cpu(nmi_arrives, NULL, 1);
	msleep(20);
	unregister_nmi_handler(NMI_LOCAL, "stackbuf_test");
	nmi_on = false;
}

void nmi_send(int cpu)
{
	apic->send_IPI(cpu, NMI_VECTOR);
}
#else
int nmi_start(void (*fn)(void))
{
	return -EOPNOTSUPP;
}

void nmi_stop(void)
{
}

void nmi_send(int cpu)
{
}
#endif
