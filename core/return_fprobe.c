// SPDX-License-Identifier: GPL-2.0
/*
 * return_fprobe.c - probes on returns with one fprobe for any number of functions
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mm.h>

#include "function.h"
#include "modules.h"
#include "return.h"
#include "unwind.h"

const unsigned int sbuf_hooks_most = UINT_MAX;

static __no_stack_protector void handle_fprobe(struct fprobe *fprobe, unsigned long site,
					       unsigned long ret, struct pt_regs *regs, void *data)
{
	sbuf_return_hit(container_of(fprobe, struct sbuf_hooks, fprobe), site, ret, regs, data,
			data);
}

NOKPROBE_SYMBOL(handle_fprobe);

static __no_stack_protector int handle_entry(struct fprobe *fprobe, unsigned long site,
					     unsigned long ret, struct pt_regs *regs, void *data)
{
	*(u64 *)data = sbuf_pair_now();
	return 0;
}

NOKPROBE_SYMBOL(handle_entry);

int sbuf_hooks_set(struct sbuf_hooks *own)
{
	int err;

	/* As in return_kretprobe.c */
	if (SBUF_HAVE_TRAMPOLINE && !sbuf_trampoline)
		return -EOPNOTSUPP;
	/* As the ftrace_ops in function.c */
	own->fprobe.ops.flags = FTRACE_OPS_FL_PERMANENT;
	own->fprobe.exit_handler = handle_fprobe;
	if (own->probe->tag == STACKBUF_PROBE_TOOK)
		own->fprobe.entry_handler = handle_entry;
	/* Without an entry handler, only for its address, which is in the call's node */
	own->fprobe.entry_data_size = sizeof(u64);
	/* Calls that may be in progress at once */
	own->fprobe.nr_maxactive = 1024 + 64 * min(own->room, 64U);
	err = register_fprobe_ips(&own->fprobe, own->site, own->room);
	own->nr = err ? 0 : own->room;
	return err;
}

void sbuf_hooks_remove(struct sbuf_hooks *own, const struct module *module)
{
	unsigned int i, left = 0;
	int err;

	for (i = 0; i < own->nr; i++) {
		if (module && !within_module(own->site[i], module)) {
			swap(own->site[left], own->site[i]);
			left++;
		}
	}
	if (left == own->nr)
		return;
	/* An empty filter would mean all functions */
	err = left ? sbuf_ops_remove(&own->fprobe.ops, own->site + left, own->nr - left) : 0;
	if (err) {
		pr_err("probe: error %d: returns of %u functions are no longer recorded\n",
		       err, left);
		WRITE_ONCE(own->probe->left_out, own->probe->left_out + left);
		WRITE_ONCE(own->probe->functions, own->probe->functions - left);
		own->lost = true;
		left = 0;
	}
	if (!left)
		own->stuck = unregister_fprobe(&own->fprobe);
	memset(own->site + left, 0, (own->nr - left) * sizeof(*own->site));
	own->nr = left;
}

unsigned long sbuf_hooks_missed(const struct sbuf_hooks *own)
{
	return READ_ONCE(own->fprobe.nmissed);
}
