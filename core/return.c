// SPDX-License-Identifier: GPL-2.0
/*
 * return.c - probes where functions return
 *
 * The kernel replaces the return address of a call by that of a trampoline, which calls a handler
 * in return_fprobe.c or return_kretprobe.c, the file that Kbuild chose for this kernel.  In the
 * handler the registers are the caller's again, except for the function's return value.  The stack
 * of the call is recorded: sbuf_arch_enter() restores the registers and the slot of the return
 * address to what they were where the function began.  So the unwinder and recall find what they
 * would find for a probe there, whatever else has replaced this address: if an outer trampoline
 * has, the unwinder identifies it by its slot.
 *
 * With ftrace the functions are in the list of function.c as well.  Without it there are no
 * patterns, so each probe has one function.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mm.h>
#include <linux/sort.h>

#include "function.h"
#include "hit.h"
#include "modules.h"
#include "probe_list.h"

/* ---------------------------------------------------------------- handler --- */

/*
 * A function that ends by calling another one has left its frame when that one begins, and one
 * return ends both.  The kernel then runs their handlers one after the other, with preemption
 * disabled, the innermost call's first.  Their nodes stay in one list until all handlers have run:
 * see rethook_trampoline_handler(), before 5.18 __kretprobe_trampoline_handler().  The same is true
 * of two probes on one function.  All these events get the same time, so that a reader can
 * distinguish them from events of a function that the same instruction calls next and that also
 * fails.
 *
 * Return true for the second and later of these handlers.  Set *@node to the call's own node, or to
 * NULL if it is not found.
 */
static __always_inline bool is_at_once(const struct sbuf_cpu *cpu, const void **node,
				       unsigned long value)
{
	const struct llist_node *one = SBUF_RETURN_NODES(current);
	bool recorded = false;

	while (one && (unsigned long)*node - (unsigned long)one >= SBUF_NODE_MAX) {
		recorded |= one == cpu->return_node;
		one = one->next;
	}
	*node = one;
	/*
	 * The kernel reuses nodes, for the same probe.  A node that was recorded for an earlier
	 * return, and ran before this one now, was recorded again: the return value is the same,
	 * and decides whether to record.  Only STACKBUF_PROBE_TOOK decides by a call's duration.
	 */
	return one && recorded && cpu->return_value == value && cpu->return_time == cpu->time;
}

noinline __no_stack_protector
void sbuf_return_record(const struct sbuf_hooks *own, unsigned long site, unsigned long ret,
			const struct pt_regs *regs, const void *node, unsigned long value)
{
	const unsigned long returned = regs_return_value((struct pt_regs *)regs);
	struct stackbuf_probe *probe = own->probe;
	struct sbuf_recursion handler;
	struct sbuf_cpu *cpu;
	struct pt_regs *at;
	unsigned long was;
	bool at_once;
	s64 id;

	if (unlikely(!sbuf_probe_records(probe))) {
		this_cpu_write(sbuf_cpu->return_node, NULL);
		return;
	}
	if (unlikely(!sbuf_recursion_trylock(&handler, regs))) {
		sbuf_hit_missed(probe, &sbuf_place_of(probe)->returns.missed);
		return;
	}
	cpu = handler.cpu;
	at_once = is_at_once(cpu, &node, returned);
	at = &cpu->call_regs[handler.level];
	was = sbuf_arch_enter(at, regs, site, ret);
	id = sbuf_hit(probe, probe->role, &(const struct sbuf_save) {
		.from = SBUF_REGS, .regs = at, .context = handler.context,
		.at_once = at_once ? SBUF_AT_ONCE : SBUF_LATER,
		.flags = READ_ONCE(probe->how),
		/* As it was at the call, which opened an object with this key */
		.tag = probe->tag == STACKBUF_PROBE_SP ? kernel_stack_pointer(at) : value,
	}, 0, NULL);
	sbuf_arch_leave(at, was);
	if (probe->tag != STACKBUF_PROBE_TOOK) {
		cpu->return_node = id > 0 ? node : NULL;
		cpu->return_time = cpu->time;
		cpu->return_value = returned;
	}
	sbuf_recursion_unlock(&handler);
}

NOKPROBE_SYMBOL(sbuf_return_record);

/* -------------------------------------------------------------------- way --- */

static int by_site(const void *a, const void *b)
{
	const unsigned long *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static bool is_hooked(const struct stackbuf_probe *probe, unsigned long site)
{
	const struct sbuf_hooks *own = sbuf_probe_is_set(probe, STACKBUF_PROBE_BY_RETURN) ?
				       sbuf_place_of(probe)->returns.hooks : NULL;
	unsigned int i;

	for (; own; own = own->next)
		for (i = 0; i < own->room; i++)
			if (own->site[i] == site)
				return true;
	return false;
}

/* Free @own, none of whose functions is hooked, unless the kernel still refers to it */
static void free_hooks(struct sbuf_hooks *own)
{
	static struct stackbuf_probe in_no_list;

	if (own->stuck) {
		WRITE_ONCE(own->probe, &in_no_list);
		sbuf_probe_note_stuck();
		return;
	}
	kvfree(own->hook);
	kvfree(own);
}

/* Return the number of functions that were found for a request; store them in @site unless NULL */
static unsigned int sites_of(const struct sbuf_probe_request *request, u8 list,
			     unsigned long *site)
{
	if (SBUF_HAVE_FUNCTIONS)
		return sbuf_functions_of(list, request->probe, site);
	if (site)
		*site = request->site;
	return 1;
}

/*
 * Return the functions that were found for a request and are not yet hooked; some are if another
 * search found them while their module was being loaded.  The caller frees the result.  NULL if
 * there is no memory
 */
static struct sbuf_hooks *found_for(struct sbuf_probe_request *request, u8 list)
{
	unsigned int n = sites_of(request, list, NULL), i;
	struct sbuf_hooks *own = kvzalloc(struct_size(own, site, n), GFP_KERNEL);

	if (!own)
		return NULL;
	own->probe = request->probe;
	own->least = request->least;
	sites_of(request, list, own->site);
	/* The pattern may have found a function by two names */
	sort(own->site, n, sizeof(*own->site), by_site, NULL);
	for (i = 0; i < n; i++)
		if ((!own->room || own->site[i] != own->site[own->room - 1]) &&
		    !is_hooked(own->probe, own->site[i]))
			own->site[own->room++] = own->site[i];
	return own;
}

static int refuse_return(const struct sbuf_probe_request *request, int err)
{
	static const struct sbuf_reason reason[] = {
		{ -EINVAL, "the kernel allows no probe where it returns (blacklisted)" },
		{ -EINTR, "interrupted" },
		{ -EOPNOTSUPP, "the kernel's trampoline for kretprobes was not found" },
		{ -E2BIG,
		  "this kernel has no fprobe, so each function takes a kretprobe: at most 1000 for one pattern"
		},
		{ }
	};

	return sbuf_refuse_error(request, reason, err);
}

static int set_return(struct sbuf_probe_request *request, u8 list)
{
	struct stackbuf_probe *probe = request->probe;
	struct sbuf_return *returns;
	struct sbuf_hooks *own;
	int err;

	err = request->pattern ? 0 : sbuf_function_add(list, request->site, probe);
	own = err ? NULL : found_for(request, list);
	if (!own)
		return refuse_return(request, -ENOMEM);
	if (!own->room) {
		free_hooks(own);
		return 0;
	}
	/* It may hit at once */
	WRITE_ONCE(probe->how, SBUF_PROBED | SBUF_ENTRY | sbuf_request_flags(request));
	if (!sbuf_probe_is_set(probe, STACKBUF_PROBE_BY_RETURN))
		sbuf_place_take(probe, STACKBUF_PROBE_BY_RETURN);
	err = own->room > sbuf_hooks_most ? -E2BIG : sbuf_hooks_set(own);
	if (err) {
		free_hooks(own);
		return refuse_return(request, err);
	}
	returns = &sbuf_place_of(probe)->returns;
	own->next = returns->hooks;
	smp_store_release(&returns->hooks, own);	/* P3 */
	sbuf_probe_set(probe, request->pattern ? 0 : request->site,
		       request->pattern ? probe->functions : 1);
	return 0;
}

/* As sbuf_hooks_remove(), but also forget nodes: another tracer may reuse their memory */
static void unhook(struct sbuf_hooks *own, const struct module *module)
{
	const unsigned int nr = own->nr;
	int cpu;

	sbuf_hooks_remove(own, module);
	if (own->nr == nr)
		return;
	for_each_possible_cpu(cpu)
		WRITE_ONCE(per_cpu_ptr(sbuf_cpu, cpu)->return_node, NULL);
}

/* Free those whose functions have gone with their modules: a pattern has others */
static void free_unhooked(struct sbuf_return *returns)
{
	struct sbuf_hooks **link = &returns->hooks, *own;

	while ((own = *link)) {
		if (own->nr) {
			link = &own->next;
			continue;
		}
		raw_spin_lock(&sbuf_missed_lock);
		sbuf_add(&returns->missed, sbuf_hooks_missed(own));
		WRITE_ONCE(*link, own->next);	/* P3 */
		raw_spin_unlock(&sbuf_missed_lock);
		free_hooks(own);
	}
}

static void remove_returns(const struct module *module, unsigned long state)
{
	struct stackbuf_probe *probe;
	struct sbuf_hooks *own;

	lockdep_assert_held(&sbuf_probe_mutex);
	for (probe = sbuf_probe_next(NULL); probe; probe = sbuf_probe_next(probe)) {
		struct sbuf_return *returns = &sbuf_place_of(probe)->returns;
		bool lost = false;

		if (!sbuf_probe_is_set(probe, STACKBUF_PROBE_BY_RETURN) ||
		    !(module || !probe->lists))
			continue;
		for (own = returns->hooks; own; own = own->next) {
			unhook(own, module);
			lost |= own->lost;
		}
		free_unhooked(returns);
		if (returns->hooks)
			continue;
		sbuf_probe_clear(probe);
		/* To write its name again is to try again */
		if (lost)
			WRITE_ONCE(probe->state, STACKBUF_PROBE_REFUSED);
	}
}

static unsigned long missed_returns(const struct stackbuf_probe *probe)
{
	const struct sbuf_return *returns = &sbuf_place_of(probe)->returns;
	const struct sbuf_hooks *own = READ_ONCE(returns->hooks);	/* P3 */
	unsigned long missed = READ_ONCE(returns->missed);

	for (; own; own = own->next)
		missed += sbuf_hooks_missed(own);
	return missed;
}

const struct sbuf_way sbuf_return_way = {
	.set = set_return,
	.remove = remove_returns,
	.missed = missed_returns,
};
