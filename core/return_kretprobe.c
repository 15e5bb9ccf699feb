// SPDX-License-Identifier: GPL-2.0
/*
 * return_kretprobe.c - probes on returns with a kretprobe for each function
 */
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>

#include "modules.h"
#include "probe.h"
#include "return.h"
#include "symbol.h"
#include "unwind.h"

/* Hooking each function takes some 10 ms: ext4, with 600, takes some seconds */
#define HOOKS_MAX	1000
const unsigned int sbuf_hooks_most = HOOKS_MAX;

/**
 * struct sbuf_hook - hook of one function
 * @kretprobe:	the kernel's part
 * @of:		the struct that has this hook; NULL if the hook is not set
 */
struct sbuf_hook {
	struct kretprobe kretprobe;
	struct sbuf_hooks *of;
};

static __no_stack_protector int handle_kretprobe(struct kretprobe_instance *instance,
						 struct pt_regs *regs)
{
	const struct kretprobe *kretprobe = get_kretprobe(instance);
	const struct sbuf_hook *hook = container_of(kretprobe, struct sbuf_hook, kretprobe);

	/* NULL if it was unregistered concurrently, without rethooks */
	if (kretprobe)
		sbuf_return_hit(hook->of, hook->of->site[hook - hook->of->hook],
				SBUF_KRETPROBE_RET(instance, regs), regs,
				SBUF_KRETPROBE_NODE(instance), (const u64 *)instance->data);
	return 0;
}

NOKPROBE_SYMBOL(handle_kretprobe);

static __no_stack_protector int handle_entry(struct kretprobe_instance *instance,
					     struct pt_regs *regs)
{
	*(u64 *)instance->data = sbuf_pair_now();
	return 0;
}

NOKPROBE_SYMBOL(handle_entry);

static int set_one(struct sbuf_hooks *own, unsigned int i)
{
	struct sbuf_hook *hook = &own->hook[i];
	struct sbuf_symbol symbol;
	int err;

	hook->of = own;
	hook->kretprobe.handler = handle_kretprobe;
	if (own->probe->tag == STACKBUF_PROBE_TOOK) {
		hook->kretprobe.entry_handler = handle_entry;
		hook->kretprobe.data_size = sizeof(u64);
	}
	/* Calls that may be in progress at once */
	hook->kretprobe.maxactive = 64 + 1024 / own->room;
	hook->kretprobe.kp.addr = (void *)(sbuf_symbol_at(&symbol, own->site[i]) ? symbol.start :
								       own->site[i]);
	err = fatal_signal_pending(current) ? -EINTR : register_kretprobe(&hook->kretprobe);
	/* As in set_kprobe() */
	if (!err && enable_kprobe(&hook->kretprobe.kp)) {
		unregister_kretprobe(&hook->kretprobe);
		err = -ENODEV;
	}
	if (err)
		hook->of = NULL;
	else
		own->nr++;
	return err;
}

int sbuf_hooks_set(struct sbuf_hooks *own)
{
	unsigned int i;
	int err = 0;

	/* The walk could not resolve outer frames */
	if (SBUF_HAVE_TRAMPOLINE && !sbuf_trampoline)
		return -EOPNOTSUPP;
	own->hook = kvcalloc(own->room, sizeof(*own->hook), GFP_KERNEL);
	if (!own->hook)
		return -ENOMEM;
	for (i = 0; i < own->room && !err; i++) {
		err = set_one(own, i);
		cond_resched();
	}
	if (err)
		sbuf_hooks_remove(own, NULL);
	return err;
}

void sbuf_hooks_remove(struct sbuf_hooks *own, const struct module *module)
{
	/* Under sbuf_probe_mutex */
	static struct kretprobe *gone[HOOKS_MAX];
	unsigned int i, n = 0;

	for (i = 0; i < own->room; i++)
		if (own->hook[i].of && (!module || within_module(own->site[i], module)))
			gone[n++] = &own->hook[i].kretprobe;
	/* All in one call, as each call waits for a grace period */
	unregister_kretprobes(gone, n);
	own->nr -= n;
	while (n-- > 0) {
		struct sbuf_hook *hook = container_of(gone[n], struct sbuf_hook, kretprobe);

		/* The kernel clears it if it failed */
		own->stuck |= !hook->kretprobe.kp.addr;
		hook->of = NULL;
		own->site[hook - own->hook] = 0;
	}
}

unsigned long sbuf_hooks_missed(const struct sbuf_hooks *own)
{
	unsigned long missed = 0;
	unsigned int i;

	for (i = 0; i < own->room; i++)
		missed += READ_ONCE(own->hook[i].kretprobe.nmissed) +
			  READ_ONCE(own->hook[i].kretprobe.kp.nmissed);
	return missed;
}
