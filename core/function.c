// SPDX-License-Identifier: GPL-2.0
/*
 * function.c - probes at the beginnings of any number of functions, by ftrace
 *
 * Each list of probes has an ftrace_ops for every tag that its functions use, so the handler finds
 * all it needs in its ftrace_ops, without a lookup.  Probes of pairs and triggers have their own
 * ftrace_ops, with a handler for each role; it searches for the probe, unless the ftrace_ops has
 * only one function.  A new list is registered beside the old one, and each handler checks that its
 * list is the one that records.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/sort.h>

#include "function.h"
#include "hit.h"
#include "modules.h"
#include "probe_list.h"

/* Tags: none, each argument, the stack pointer, the return address */
#define TAGS	(SBUF_ARGUMENTS + 3)
/* A probe's kind is its role, 0 first, and its tag.  The value KINDS is for return.c's probes */
#define KINDS	((STACKBUF_TRIGGERS + 1) * TAGS)

/**
 * struct function - a function that has a probe
 * @site:	address of ftrace's call in it
 * @kind:	kind_of() its probe
 * @probe:	its probe; NULL: its module was unloaded
 */
struct function {
	unsigned long site;
	unsigned int kind;
	struct stackbuf_probe *probe;
};

/**
 * struct function_ops - attached to the functions in one list that have one kind of probes
 * @ops:	registered with ftrace
 * @list:	the list's bit.  0: the kernel failed to unregister @ops, as when ftrace has died;
 *		it still calls the handler, which then does nothing
 * @tag:	as in struct stackbuf_probe
 * @kind:	as in struct function
 * @nr:		number of functions; 0: not registered
 * @only:	the only function with this @kind in @list; NULL if there are several
 */
struct function_ops {
	struct ftrace_ops ops;
	u8 list, tag, kind;
	unsigned int nr;
	const struct function *only;
};

/**
 * struct list - the functions of a list of probes
 * @function:	the functions; sbuf_functions_attach() sorts them by @site and @kind before handlers
 *		search them
 * @nr:		number of functions
 * @room:	number that fit in @function
 * @of_kind:	one ftrace_ops for each kind
 */
struct list {
	struct function *function;
	unsigned int nr, room;
	struct function_ops of_kind[KINDS];
};

/* By the list's bit; the first one is always empty */
static struct list lists[SBUF_LISTS + 1];

/* Return the index of a probe's ops in list.of_kind */
static inline unsigned int kind_of(const struct stackbuf_probe *probe)
{
	unsigned int tag = probe->tag == STACKBUF_PROBE_SP ? TAGS - 2 :
			   min_t(unsigned int, probe->tag, TAGS - 1);

	return probe->way == STACKBUF_PROBE_BY_RETURN ? KINDS : tag + probe->role * TAGS;
}

/* ---------------------------------------------------------------- handler --- */

/*
 * Sort duplicates next to each other: functions that a probe has twice, by two names or as their
 * module was being loaded, and functions that a pair has twice
 */
static int by_site_and_probe(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	if (x->site != y->site)
		return x->site < y->site ? -1 : 1;
	return (int)x->kind - (int)y->kind ?: (int)x->probe->pair - (int)y->probe->pair ?:
	       x->probe < y->probe ? -1 : x->probe > y->probe;
}

static bool is_at(const struct list *list, const struct function *at,
		  const struct function_ops *own, unsigned long site)
{
	return at < list->function + list->nr && at->site == site && at->kind == own->kind;
}

static noinline const struct function *find_first(const struct function_ops *own,
						  unsigned long site)
{
	const struct list *list = &lists[own->list];
	const struct function *at = list->function;
	unsigned int n = list->nr, half;

	while (n) {
		half = n / 2;
		if (at[half].site < site || (at[half].site == site && at[half].kind < own->kind)) {
			at += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return is_at(list, at, own, site) ? at : NULL;
}

NOKPROBE_SYMBOL(find_first);

/* If a pair has several probes at one site, use only one of them */
static noinline const struct function *find_next(const struct function_ops *own,
						 unsigned long site, const struct function *at)
{
	const struct stackbuf_probe *last = READ_ONCE(at->probe), *probe;

	while (is_at(&lists[own->list], ++at, own, site)) {
		probe = READ_ONCE(at->probe);
		if (!last || !probe || !probe->pair || probe->pair != last->pair)
			return at;
	}
	return NULL;
}

NOKPROBE_SYMBOL(find_next);

/* Iterate over the functions that the list has at @site for @own; NULL ends the iteration */
static __always_inline const struct function *first_of(const struct function_ops *own,
						       unsigned long site)
{
	return likely(own->only) ? own->only : find_first(own, site);
}

static __always_inline const struct function *next_of(const struct function_ops *own,
						      unsigned long site,
						      const struct function *at)
{
	return likely(own->only) ? NULL : find_next(own, site, at);
}

static void count_missed(const struct function_ops *own, unsigned long site)
{
	const struct function *at;

	for (at = first_of(own, site); at; at = next_of(own, site, at)) {
		/* leave_functions() may clear it concurrently */
		struct stackbuf_probe *probe = READ_ONCE(at->probe);

		if (!probe)
			continue;
		sbuf_hit_missed(probe, &probe->missed);
		/* Several probes without a role record one event only */
		if (!probe->role)
			break;
	}
}

NOKPROBE_SYMBOL(count_missed);

static __always_inline void handle(unsigned long site, unsigned long parent,
				   struct ftrace_ops *ops, struct ftrace_regs *fregs,
				   unsigned int role)
{
	const struct function_ops *own = container_of(ops, struct function_ops, ops);
	const struct function *at;
	unsigned long tag = 0, ip, ret;
	struct sbuf_recursion handler;
	struct sbuf_save save;
	struct pt_regs *regs;
	u8 tags = own->tag;

	if (unlikely(!(own->list & READ_ONCE(sbuf_probe_live))))
		return;
	if (unlikely(!sbuf_recursion_trylock(&handler, NULL))) {
		count_missed(own, site);
		return;
	}
	/*
	 * Until here preemption may have been enabled, and use_list() waits only for handlers that
	 * the new list has, too: a trigger that is no longer set must not take the new one's hit
	 */
	if (role == STACKBUF_TRIGGERS && unlikely(!(own->list & READ_ONCE(sbuf_probe_live)))) {
		sbuf_recursion_unlock(&handler);
		return;
	}
	regs = SBUF_REGS_AT_CALL(fregs, &handler.cpu->call_regs[handler.level]);
	/* As ftrace found it: a tracer of returns may have been called before */
	ret = sbuf_arch_exchange_return(regs, parent);
	if (tags == STACKBUF_PROBE_RETADDR)
		tag = sbuf_original_return(SBUF_STRIP(parent), sbuf_arch_call_key(regs));
	else if (tags == STACKBUF_PROBE_SP)
		tag = kernel_stack_pointer(regs);
	else if (tags)
		tag = regs_get_kernel_argument(regs, tags - 1);
	/* ftrace returns to this address */
	ip = instruction_pointer(regs);
	instruction_pointer_set(regs, site);
	save = (struct sbuf_save) {
		.from = SBUF_REGS, .regs = regs, .tag = tag, .context = handler.context,
		.flags = SBUF_PROBED | SBUF_ENTRY | (tags ? SBUF_TAGGED : 0) |
			 (role == STACKBUF_PAIR_OPENS || role == STACKBUF_PAIR_CLOSES ?
			  SBUF_REFERS : 0),
	};
	if (!role)
		sbuf_hit(NULL, 0, &save, 0, NULL);
	/* With a role, each probe of the function handles the hit itself */
	for (at = role ? first_of(own, site) : NULL; at; at = next_of(own, site, at)) {
		const struct stackbuf_probe *probe = READ_ONCE(at->probe);

		/* As in count_missed() */
		if (likely(probe))
			sbuf_hit(probe, role, &save, sbuf_hit_value(probe, regs), NULL);
	}
	sbuf_arch_exchange_return(regs, ret);
	instruction_pointer_set(regs, ip);
	sbuf_recursion_unlock(&handler);
}

#define ROLE_HANDLER(name, role)								\
	static __no_stack_protector							\
	void name(unsigned long site, unsigned long parent, struct ftrace_ops *ops,		\
		  struct ftrace_regs *fregs)							\
	{											\
		handle(site, parent, ops, fregs, role);						\
	}

ROLE_HANDLER(handle_call, 0)
NOKPROBE_SYMBOL(handle_call);
ROLE_HANDLER(handle_open, STACKBUF_PAIR_OPENS)
NOKPROBE_SYMBOL(handle_open);
ROLE_HANDLER(handle_close, STACKBUF_PAIR_CLOSES)
NOKPROBE_SYMBOL(handle_close);
ROLE_HANDLER(handle_trigger, STACKBUF_TRIGGERS)
NOKPROBE_SYMBOL(handle_trigger);

/* ------------------------------------------------------------ which can be --- */

static int set_filter(struct ftrace_ops *ops, unsigned long *site, unsigned int nr, bool remove)
{
#if SBUF_HAS_FILTER_IPS
	return ftrace_set_filter_ips(ops, site, nr, remove, !remove);
#else
	int err = 0;
	unsigned int i;

	/* Each call copies all earlier addresses */
	for (i = 0; i < nr && !err; i++) {
		err = ftrace_set_filter_ip(ops, site[i], remove, !remove && !i);
		cond_resched();
	}
	return err;
#endif
}

int sbuf_ops_remove(struct ftrace_ops *ops, unsigned long *site, unsigned int nr)
{
	return set_filter(ops, site, nr, true);
}

/*
 * Permanent, so that a sysctl cannot silently disable it.  Dynamic, as ftrace sets it for modules,
 * so that unregistering waits for handlers even if we are built in.
 */
#define OPS_FLAGS	(FTRACE_OPS_FL_PERMANENT | FTRACE_OPS_FL_DYNAMIC)

/* Never registered: only tests whether ftrace accepts an address */
static struct ftrace_ops trial = { .func = handle_call };

/*
 * A module cannot list ftrace's call sites, but ftrace refuses any other address.  It searches
 * symbols first, which takes long in a large module, so call this only where the code looks like a
 * call site.
 */
bool sbuf_function_is_site(unsigned long addr)
{
	return !ftrace_set_filter_ip(&trial, addr, 0, 1);
}

/* The functions that the unwinders and the clock call, by prefix of their names */
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
		"bpf_has_frame_pointer",
		"is_ftrace_trampoline", "ftrace_ops_trampoline", "is_bpf_text_address",
		"is_kprobe_", "kretprobe_find_ret_addr", "rcu_is_watching",
		"rcu_read_unlock_special", "irq_work_queue", "arch_irq_work_raise",
		"copy_from_kernel_nofault", "kmem_cache_size",
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
	struct list *l = &lists[list];

	lockdep_assert_held(&sbuf_probe_mutex);
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
	l->function[l->nr++] = (struct function){ site, kind_of(probe), probe };
	return 0;
}

unsigned int sbuf_functions(u8 list)
{
	return lists[list].nr;
}

void sbuf_functions_drop(u8 list, const struct stackbuf_probe *probe)
{
	struct list *l = &lists[list];
	unsigned int i, n = 0;

	for (i = 0; i < l->nr; i++)
		if (l->function[i].probe != probe)
			l->function[n++] = l->function[i];
	l->nr = n;
}

unsigned int sbuf_functions_of(u8 list, const struct stackbuf_probe *probe, unsigned long *site)
{
	const struct list *l = &lists[list];
	unsigned int i, n = 0;

	for (i = 0; i < l->nr; i++) {
		if (l->function[i].probe != probe)
			continue;
		if (site)
			site[n] = l->function[i].site;
		n++;
	}
	return n;
}

int sbuf_functions_copy(u8 list)
{
	const struct list *other = &lists[list ^ SBUF_BOTH_LISTS];
	unsigned int i;
	int err = 0;

	for (i = 0; i < other->nr && !err; i++) {
		struct stackbuf_probe *probe = other->function[i].probe;

		/* give_up() may have refused it */
		if (probe && probe->lists & list && probe->state != STACKBUF_PROBE_REFUSED)
			err = sbuf_function_add(list, other->function[i].site, probe);
	}
	return err;
}

/*
 * Return the sites that have probes of @kind in @l, all or those in a module, each site once, and
 * their number in *@nr.  NULL if out of memory.
 */
static unsigned long *gather(const struct list *l, unsigned int kind, const struct module *module,
			     unsigned int *nr)
{
	unsigned long *site = kvmalloc_array(l->nr ?: 1, sizeof(*site), GFP_KERNEL);
	unsigned int i, n = 0;

	for (i = 0; i < l->nr && site; i++) {
		const struct function *function = &l->function[i];

		if (function->probe && function->kind == kind &&
		    (!module || within_module(function->site, module)) &&
		    (!n || site[n - 1] != function->site))
			site[n++] = function->site;
	}
	*nr = n;
	return site;
}

/*
 * ftrace_free_filter() is not exported everywhere.  This call needs memory: if all tries fail, the
 * memory of the old filter leaks
 */
void sbuf_ops_forget(struct ftrace_ops *ops)
{
	unsigned int tries = 3;

	while (ftrace_set_filter(ops, NULL, 0, 1) == -ENOMEM && --tries)
		;
}

static int attach_kind(struct list *l, u8 list, unsigned int kind)
{
	static const ftrace_func_t handlers[] = {
		handle_call, handle_open, handle_close, handle_trigger,
	};
	struct function_ops *own = &l->of_kind[kind];
	unsigned int tag = kind % TAGS, nr;
	unsigned long *site = gather(l, kind, NULL, &nr);
	int err = 0;

	if (!site)
		return -ENOMEM;
	if (nr && own->nr) {
		/* detach_kind() has failed */
		err = -ENODEV;
	} else if (nr) {
		*own = (struct function_ops){
			.ops = { .func = handlers[kind / TAGS], .flags = OPS_FLAGS },
			.list = list, .kind = kind,
			.tag = tag == TAGS - 1 ? STACKBUF_PROBE_RETADDR :
			       tag == TAGS - 2 ? STACKBUF_PROBE_SP : tag,
		};
		own->only = find_first(own, site[0]);
		if (nr > 1 || find_next(own, site[0], own->only))
			own->only = NULL;
		err = set_filter(&own->ops, site, nr, false) ?: register_ftrace_function(&own->ops);
		if (err) {
			sbuf_ops_forget(&own->ops);
		} else {
			own->nr = nr;
			sbuf_recall_mark_trampoline(own->ops.trampoline, own->ops.trampoline_size,
						    true);
		}
	}
	kvfree(site);
	return err;
}

static void detach_kind(struct function_ops *own)
{
	if (!own->nr)
		return;
	sbuf_recall_mark_trampoline(own->ops.trampoline, own->ops.trampoline_size, false);
	if (unregister_ftrace_function(&own->ops)) {
		WRITE_ONCE(own->only, NULL);
		WRITE_ONCE(own->list, 0);
		sbuf_probe_note_stuck();
		/* Wait for handlers that have found it in the list: first until they have begun */
		if (IS_ENABLED(CONFIG_PREEMPTION))
			synchronize_rcu_tasks();
		synchronize_rcu();
		return;
	}
	sbuf_ops_forget(&own->ops);
	own->nr = 0;
}

int sbuf_functions_attach(u8 list)
{
	/* ftrace calls the last registered first.  Triggers run last, as they stop what follows */
	static const u8 roles[] = {
		STACKBUF_TRIGGERS, STACKBUF_PAIR_OPENS, STACKBUF_PAIR_CLOSES, 0,
	};
	struct list *l = &lists[list];
	unsigned int kind, i, n;
	int err = 0;

	lockdep_assert_held(&sbuf_probe_mutex);
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
	for (kind = 0; kind < KINDS && !err; kind++)
		err = attach_kind(l, list, roles[kind / TAGS] * TAGS + kind % TAGS);
	return err;
}

void sbuf_functions_detach(u8 list)
{
	struct list *l = &lists[list];
	unsigned int kind;

	lockdep_assert_held(&sbuf_probe_mutex);
	for (kind = 0; kind < KINDS; kind++)
		detach_kind(&l->of_kind[kind]);
	sbuf_ops_forget(&trial);
	kvfree(l->function);
	l->function = NULL;
	l->nr = 0;
	l->room = 0;
}

/* Detach @own altogether, as it could not be detached from some functions only */
static void give_up(struct list *l, struct function_ops *own, int err)
{
	unsigned int i;

	pr_err("probe: error %d: %u functions are no longer recorded\n", err, own->nr);
	for (i = 0; i < l->nr; i++)
		if (l->function[i].probe && l->function[i].kind == own->kind)
			WRITE_ONCE(l->function[i].probe->state, STACKBUF_PROBE_REFUSED);
	detach_kind(own);
}

/* -------------------------------------------------------------------- way --- */

static int set_function(struct sbuf_probe_request *request, u8 list)
{
	struct stackbuf_probe *probe = request->probe;
	int err;

	WRITE_ONCE(probe->way, STACKBUF_PROBE_BY_FTRACE);
	/* The functions of a pattern are already in the list */
	err = request->pattern ? 0 : sbuf_function_add(list, request->site, probe);
	if (!err)
		sbuf_probe_set(probe, request->pattern ? 0 : request->site,
			       request->pattern ? probe->functions : 1);
	return err;
}

/*
 * When code is freed, ftrace removes its call sites but keeps them in our filter, and would attach
 * us to other code at that address.
 */
static void leave_functions(const struct module *module)
{
	struct list *l = &lists[sbuf_live_list()];
	unsigned int kind, nr, i;
	unsigned long *site;
	int err;

	for (kind = 0; kind < KINDS; kind++) {
		struct function_ops *own = &l->of_kind[kind];

		if (!own->nr || !own->list)
			continue;
		site = gather(l, kind, module, &nr);
		err = site ? 0 : -ENOMEM;
		if (site && nr && nr < own->nr)
			err = set_filter(&own->ops, site, nr, true);
		/* An empty filter would mean all functions */
		if (err)
			give_up(l, own, err);
		else if (nr == own->nr)
			detach_kind(own);
		else
			own->nr -= nr;
		kvfree(site);
	}
	for (i = 0; i < l->nr; i++) {
		struct function *function = &l->function[i];

		if (function->probe && within_module(function->site, module)) {
			/* 0 if the returns of all were lost */
			if (function->probe->functions)
				function->probe->functions--;
			WRITE_ONCE(function->probe, NULL);
		}
	}
}

static void remove_functions(const struct module *module, unsigned long state)
{
	struct stackbuf_probe *probe;

	if (module)
		leave_functions(module);
	for (probe = sbuf_probe_next(NULL); probe; probe = sbuf_probe_next(probe))
		if (sbuf_probe_is_set(probe, STACKBUF_PROBE_BY_FTRACE) &&
		    !(module ? probe->functions : probe->lists))
			sbuf_probe_clear(probe);
}

const struct sbuf_way sbuf_function_way = {
	.set = set_function,
	.remove = remove_functions,
};
