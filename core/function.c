// SPDX-License-Identifier: GPL-2.0
/*
 * function.c - probes at the beginnings of functions, any number of them, by ftrace
 *
 * Each list of probes has an ftrace_ops for every tag that its functions ask for: so the handler
 * knows all that it needs by which one was called, and looks nothing up.  A new list is registered
 * beside the old one, and each handler asks whether its list is the one that records.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bsearch.h>
#include <linux/mm.h>
#include <linux/sort.h>

#include "call.h"
#include "function.h"
#include "probe.h"

#if SBUF_HAVE_FUNCTIONS

/* None, each argument, the return address */
#define TAGS	(SBUF_ARGUMENTS + 2)

/**
 * struct function - one that has a probe
 * @site:	where ftrace's call is
 * @tag:	the tag of its probe, as tag_index()
 * @probe:	its probe; NULL: its module is gone
 */
struct function {
	unsigned long site;
	unsigned int tag;
	struct stackbuf_probe *probe;
};

/**
 * struct function_ops - attached to the functions of one list with one tag
 * @ops:	as ftrace knows it
 * @list:	the list's bit
 * @tag:	as in struct stackbuf_probe
 * @nr:		functions; 0: not registered
 */
struct function_ops {
	struct ftrace_ops ops;
	u8 list;
	u8 tag;
	unsigned int nr;
};

/**
 * struct list - the functions of a list of probes
 * @function:	in order of @site and @tag from sbuf_functions_attach() on, when handlers may search
 *		it
 * @nr:		how many there are
 * @room:	how many fit @function
 * @of_tag:	what is registered
 */
struct list {
	struct function *function;
	unsigned int nr, room;
	struct function_ops of_tag[TAGS];
};

static struct list lists[SBUF_LISTS];

static inline struct list *list_of(u8 list)
{
	return &lists[list - 1];
}

/* Where a tag has its ops */
static inline unsigned int tag_index(u8 tag)
{
	return min_t(unsigned int, tag, TAGS - 1);
}

/* ---------------------------------------------------------------- handler --- */

static int by_site(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	if (x->site != y->site)
		return x->site < y->site ? -1 : 1;
	return (int)x->tag - (int)y->tag;
}

/* Functions that a probe has twice, by two names or as their module was being loaded, together */
static int by_site_and_probe(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return by_site(a, b) ?: x->probe < y->probe ? -1 : x->probe > y->probe;
}

static void count_missed(const struct function_ops *own, unsigned long site)
{
	const struct list *list = list_of(own->list);
	const struct function key = { .site = site, .tag = tag_index(own->tag) };
	struct stackbuf_probe *probe = NULL;
	struct function *found;

	found = bsearch(&key, list->function, list->nr, sizeof(key), by_site);
	/* sbuf_functions_leave() may take it away meanwhile */
	if (found)
		probe = READ_ONCE(found->probe);
	if (probe)
		sbuf_add(&probe->missed, 1);
}

static void handle_call(unsigned long site, unsigned long parent, struct ftrace_ops *ops,
			struct ftrace_regs *fregs)
{
	const struct function_ops *own = container_of(ops, struct function_ops, ops);
	unsigned long tag = 0, ip;
	struct sbuf_call call;
	struct pt_regs *regs;
	u8 tags = own->tag;

	if (unlikely(own->list != READ_ONCE(sbuf_probe_live_list)))
		return;
	if (unlikely(!sbuf_call_begin(&call))) {
		count_missed(own, site);
		return;
	}
	regs = SBUF_REGS_AT_CALL(fregs, &call.cpu->call_regs[call.level]);
	if (tags == STACKBUF_PROBE_RETADDR)
		/* Before a tracer of returns replaces it */
		tag = parent;
	else if (tags)
		tag = regs_get_kernel_argument(regs, tags - 1);
	/* ftrace returns to what this holds */
	ip = instruction_pointer(regs);
	instruction_pointer_set(regs, site);
	sbuf_save(&(const struct sbuf_save) {
		  .from = SBUF_REGS, .regs = regs, .tag = tag, .context = call.context,
		  .flags = SBUF_PROBED | SBUF_ENTRY | (tags ? SBUF_TAGGED : 0),
	});
	instruction_pointer_set(regs, ip);
	sbuf_call_end(&call);
}

NOKPROBE_SYMBOL(handle_call);

/* ------------------------------------------------------------ which can be --- */

static int set_filter(struct ftrace_ops *ops, unsigned long *site, unsigned int nr, bool remove)
{
#if SBUF_HAVE_FILTER_IPS
	return ftrace_set_filter_ips(ops, site, nr, remove, !remove);
#else
	int err = 0;
	unsigned int i;

	for (i = 0; i < nr && !err; i++) {
		err = ftrace_set_filter_ip(ops, site[i], remove, !remove && !i);
		cond_resched();
	}
	return err;
#endif
}

/* ftrace_free_filter() is not exported everywhere */
static void free_filter(struct ftrace_ops *ops)
{
	ftrace_set_filter(ops, NULL, 0, 1);
}

/*
 * Permanent: sysctl cannot switch it off without a word.  Dynamic, as ftrace sets it for modules:
 * then unregistering waits for handlers, if we are built in, too.
 */
#define OPS_FLAGS	(FTRACE_OPS_FL_PERMANENT | FTRACE_OPS_FL_DYNAMIC)

/* Never registered */
static struct ftrace_ops trial = { .func = handle_call };

/*
 * A module cannot ask for the places that ftrace knows, but ftrace refuses all others: after a
 * search through symbols that takes long in a large module, so ask only where the code fits.
 */
bool sbuf_function_is_site(unsigned long addr)
{
	return !ftrace_set_filter_ip(&trial, addr, 0, 1);
}

/* What the unwinders and the clock call, by the beginnings of their names */
bool sbuf_function_is_ours(const char *name)
{
	static const char *const ours[] = {
		"unwind_", "__unwind_", "orc_", "__orc_find", "stack_access_ok", "get_stack_info",
		"in_task_stack", "in_entry_stack", "in_irq_stack", "in_exception_stack",
		"stack_trace_save", "stack_trace_consume", "arch_stack_walk", "on_accessible_stack",
		"local_clock", "sched_clock", "ftrace_graph_ret_addr", "ftrace_graph_get_ret_stack",
		"kernel_text_address", "__kernel_text_address", "core_kernel_text",
		"is_module_text_address", "__module_text_address", "__module_address", "mod_find",
		"in_gate_area_no_mm", "__is_insn_slot_addr", "bpf_ksym_find", "__rcu_read_",
		"is_ftrace_trampoline", "ftrace_ops_trampoline", "is_bpf_text_address",
		"is_kprobe_", "kretprobe_find_ret_addr", "rcu_is_watching",
		"rcu_read_unlock_special", "irq_work_queue", "arch_irq_work_raise",
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ours); i++)
		if (!strncmp(name, ours[i], strlen(ours[i])))
			return true;
	return false;
}

/* ------------------------------------------------------------------- lists --- */

int sbuf_function_add(u8 list, unsigned long site, struct stackbuf_probe *probe)
{
	struct list *l = list_of(list);

	if (l->nr == l->room) {
		unsigned int room = l->room ? 2 * l->room : 64;
		struct function *more = kvmalloc_array(room, sizeof(*more), GFP_KERNEL);

		if (!more)
			return -ENOMEM;
		if (l->nr)
			memcpy(more, l->function, l->nr * sizeof(*more));
		kvfree(l->function);
		l->function = more;
		l->room = room;
	}
	l->function[l->nr++] = (struct function){ site, tag_index(probe->tag), probe };
	return 0;
}

unsigned int sbuf_functions(u8 list)
{
	return list_of(list)->nr;
}

void sbuf_functions_cut(u8 list, unsigned int nr)
{
	list_of(list)->nr = nr;
}

int sbuf_functions_copy(u8 list)
{
	const struct list *other = list_of(list ^ (BIT(SBUF_LISTS) - 1));
	unsigned int i;
	int err = 0;

	for (i = 0; i < other->nr && !err; i++) {
		struct stackbuf_probe *probe = other->function[i].probe;

		if (probe && probe->lists & list)
			err = sbuf_function_add(list, other->function[i].site, probe);
	}
	return err;
}

/*
 * Gather the sites of a list with a tag, of which a function may have several probes, that are in
 * @size bytes from @start; their number is in *@nr.  NULL if there is no memory.
 */
static unsigned long *gather(const struct list *l, unsigned int tag, unsigned long start,
			     unsigned long size, unsigned int *nr)
{
	unsigned long *site = kvmalloc_array(l->nr ?: 1, sizeof(*site), GFP_KERNEL);
	unsigned int i, n = 0;

	for (i = 0; i < l->nr && site; i++) {
		const struct function *function = &l->function[i];

		if (function->probe && function->tag == tag &&
		    function->site - start < size && (!n || site[n - 1] != function->site))
			site[n++] = function->site;
	}
	*nr = n;
	return site;
}

static int attach_tag(struct list *l, u8 list, unsigned int tag)
{
	struct function_ops *own = &l->of_tag[tag];
	unsigned long *site;
	unsigned int nr;
	int err = 0;

	site = gather(l, tag, 0, ULONG_MAX, &nr);
	if (!site)
		return -ENOMEM;
	if (nr) {
		*own = (struct function_ops){
			.ops = { .func = handle_call, .flags = OPS_FLAGS },
			.list = list, .tag = tag == TAGS - 1 ? STACKBUF_PROBE_RETADDR : tag,
		};
		err = set_filter(&own->ops, site, nr, false) ?: register_ftrace_function(&own->ops);
		if (err)
			free_filter(&own->ops);
		else
			own->nr = nr;
	}
	kvfree(site);
	return err;
}

static void detach_tag(struct function_ops *own)
{
	if (!own->nr)
		return;
	unregister_ftrace_function(&own->ops);
	free_filter(&own->ops);
	own->nr = 0;
}

int sbuf_functions_attach(u8 list)
{
	struct list *l = list_of(list);
	unsigned int tag, i, n;
	int err = 0;

	if (!l->nr)
		return 0;
	sort(l->function, l->nr, sizeof(*l->function), by_site_and_probe, NULL);
	for (i = 0, n = 0; i < l->nr; i++) {
		if (n && !by_site_and_probe(&l->function[n - 1], &l->function[i]))
			l->function[i].probe->functions--;
		else
			l->function[n++] = l->function[i];
	}
	l->nr = n;
	for (tag = 0; tag < TAGS && !err; tag++)
		err = attach_tag(l, list, tag);
	return err;
}

void sbuf_functions_detach(u8 list)
{
	struct list *l = list_of(list);
	unsigned int tag;

	for (tag = 0; tag < TAGS; tag++)
		detach_tag(&l->of_tag[tag]);
	free_filter(&trial);
	kvfree(l->function);
	l->function = NULL;
	l->nr = 0;
	l->room = 0;
}

/* There was no memory to change what @own is attached to */
static void give_up(struct list *l, struct function_ops *own)
{
	unsigned int i;

	pr_err("probe: no memory: %u functions are not recorded any more\n", own->nr);
	for (i = 0; i < l->nr; i++)
		if (l->function[i].probe && l->function[i].probe->tag == own->tag)
			WRITE_ONCE(l->function[i].probe->state, STACKBUF_PROBE_REFUSED);
	detach_tag(own);
}

/*
 * ftrace forgets the places of code that is freed, but not that this was attached there, and would
 * attach it to other code at that address.
 */
void sbuf_functions_leave(u8 list, const struct module *module)
{
	unsigned long start = SBUF_MODULE_TEXT(module), size = SBUF_MODULE_TEXT_SIZE(module);
	struct list *l = list_of(list);
	unsigned int tag, nr, i;
	unsigned long *site;

	for (tag = 0; tag < TAGS; tag++) {
		struct function_ops *own = &l->of_tag[tag];

		if (!own->nr)
			continue;
		site = gather(l, tag, start, size, &nr);
		/* An empty filter would mean all functions */
		if (site && nr == own->nr)
			detach_tag(own);
		else if (!site || (nr && set_filter(&own->ops, site, nr, true)))
			give_up(l, own);
		else
			own->nr -= nr;
		kvfree(site);
	}
	for (i = 0; i < l->nr; i++) {
		struct function *function = &l->function[i];

		if (function->probe && function->site - start < size) {
			function->probe->functions--;
			WRITE_ONCE(function->probe, NULL);
		}
	}
}

#endif
