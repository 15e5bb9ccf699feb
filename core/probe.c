// SPDX-License-Identifier: GPL-2.0
/*
 * probe.c - parameter probe: record the stack whenever a function is called
 *
 * Writing the parameter makes a new list of probes:
 *
 *  1. All names of the new list are resolved, and its new probes are set.
 *  2. sbuf_probe_live changes: from this instant the new list records and the old one does
 *     not.
 *  3. Probes that are in the old list only are removed.
 *
 * On an error in step 1 its probes are removed again, and the old list was never interrupted.
 * A probe that is in both lists stays set throughout.
 *
 * Functions as a whole are attached by ftrace (function.c); offsets, addresses, code of a module's
 * init, and all where the kernel has no ftrace, by kprobes.
 *
 * The kernel does not call a kprobe's handler inside another one on the same CPU.  So a probe
 * on a function that the recorder calls is harmless: the kernel counts its hits as missed.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/stop_machine.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "call.h"
#include "function.h"
#include "modules.h"
#include "probe.h"
#include "probe_resolve.h"
#include "save.h"
#include "tracepoint.h"

/* A new list is the other one */
u32 sbuf_probe_live = 0x1;

/*
 * Protects the probes, param_state and, until that is PARAM_OPENING, what insmod was given.  Held
 * while a list is set, which takes seconds, and therefore not inside the lock of parameters: see
 * set_probe_param().  Nests inside the locks of module loading.
 */
static DEFINE_MUTEX(probe_mutex);

/* What the kernel knows of a probe, beside its entry */
static union place {
	struct {
		struct stackbuf_probe *probe;
		struct kprobe kprobe;
	};
	struct sbuf_event_probe event;
} place[STACKBUF_PROBES_MAX];

static inline u8 live_list(void)
{
	return sbuf_probe_live & SBUF_BOTH_LISTS;
}

/* Pages hold a number of entries each */
u32 sbuf_probe_number(const struct stackbuf_probe *probe)
{
	unsigned int page = ((char *)probe - (char *)stackbuf_info.probe) / STACKBUF_PAGE_SIZE;

	return page * STACKBUF_PAGE_PROBES + (probe - stackbuf_info.probe[page].probe) + 1;
}

NOKPROBE_SYMBOL(sbuf_probe_number);

/* The entry after @probe, the first one after NULL; or NULL after the last one */
static inline struct stackbuf_probe *next_probe(const struct stackbuf_probe *probe)
{
	unsigned int i = probe ? sbuf_probe_number(probe) : 0;

	if (i >= STACKBUF_PROBES_MAX)
		return NULL;
	return &stackbuf_info.probe[i / STACKBUF_PAGE_PROBES].probe[i % STACKBUF_PAGE_PROBES];
}

static inline union place *place_of(const struct stackbuf_probe *probe)
{
	return &place[sbuf_probe_number(probe) - 1];
}

static __no_stack_protector int handle_hit(struct kprobe *kprobe, struct pt_regs *regs)
{
	struct stackbuf_probe *probe = container_of(kprobe, union place, kprobe)->probe;
	unsigned long ip = instruction_pointer(regs), tag = 0;

	WRITE_ONCE(probe->missed, kprobe->nmissed);
	if (unlikely(!sbuf_probe_records(probe)))
		return 0;
	if (probe->tag == STACKBUF_PROBE_RETADDR)
		tag = sbuf_arch_return_address(regs);
	else if (probe->tag)
		tag = regs_get_kernel_argument(regs, probe->tag - 1);
	/* As before the probed instruction, whichever way the probe is set */
	instruction_pointer_set(regs, (unsigned long)kprobe->addr);
	sbuf_hit(probe, &(const struct sbuf_save) {
		.from = SBUF_REGS, .regs = regs, .tag = tag, .flags = READ_ONCE(probe->how),
		.context = sbuf_kprobe_context(kprobe, regs),
	}, sbuf_hit_value(probe, regs));
	instruction_pointer_set(regs, ip);
	return 0;
}

NOKPROBE_SYMBOL(handle_hit);

/* Mark the pages changed: an older copy of them in a memory image lacks the change */
static void mark_probes_changed(void)
{
	unsigned int i;

	for (i = 0; i < STACKBUF_PROBE_PAGES; i++)
		sbuf_page_changed(&stackbuf_info.probe[i].page);
}

/* ------------------------------------------------------------ set, remove --- */

/* Log one line for a probe that the kernel refused with @err, and return what the writer gets */
static int explain_refusal(const struct sbuf_probe_request *request, int err)
{
	static const struct { int err; bool of_event; const char *text; } reason[] = {
		{ -ENOENT, false, "no such function; if it is inlined, probe a caller" },
		{ -EILSEQ, false, "no instruction begins there" },
		{ -EINVAL, false, "the kernel allows no probe there (blacklisted or data)" },
		{ -EOPNOTSUPP, false, "this kernel has no kprobes" },
		{ -ENOENT, true,
		  "no such event: see /sys/kernel/tracing/events; its module must be loaded"
		},
		{ -ENOTTY, true,
		  "the event has no tracepoint of its own: for a system call there is t:raw_syscalls:sys_enter"
		},
		{ -EDESTADDRREQ, true,
		  "this kernel checks indirect calls: its group is needed, and its module loaded: t:GROUP:EVENT"
		},
		{ -EPERM, true,
		  "this kernel checks indirect calls, and would stop at ours: probe a function that is called there"
		},
		{ -EOPNOTSUPP, true, "this kernel has no tracepoints" },
	};
	unsigned int i;

	if (err == -ENOENT && !request->event && !request->function[0])
		return sbuf_refuse(request, "no such function");
	for (i = 0; i < ARRAY_SIZE(reason); i++) {
		if (reason[i].err != err || reason[i].of_event != !!request->event)
			continue;
		sbuf_refuse(request, "%s", reason[i].text);
		return err == -EPERM ? -EPERM : -EINVAL;
	}
	sbuf_refuse(request, "the kernel refused it with error %d", err);
	return err;
}

/*
 * Refuse an offset after the end of the function at @start: the kernel would accept it and
 * probe what follows the function.
 */
static int check_offset(const struct sbuf_probe_request *request, unsigned long start)
{
	struct sbuf_symbol symbol;

	if (request->offset && sbuf_symbol_at(&symbol, start) && request->offset >= symbol.size)
		return sbuf_refuse(request, "the function has 0x%lx bytes: give a smaller offset",
				   symbol.size);
	return 0;
}

/* Return true if the probe is in the function that was resolved: its module may be gone since */
static bool is_in_place(const struct sbuf_probe_request *request)
{
	struct sbuf_symbol symbol;

	return sbuf_symbol_at(&symbol, (unsigned long)place_of(request->probe)->kprobe.addr) &&
	       symbol.start == request->addr && symbol.of_module;
}

static inline bool is_set(const struct stackbuf_probe *probe, enum stackbuf_probe_way way)
{
	return probe->state == STACKBUF_PROBE_SET && probe->way == way;
}

/* Set to record where this instance of the probe is: it may hit at once */
static void take_place(struct stackbuf_probe *probe, enum stackbuf_probe_way way)
{
	memset(place_of(probe), 0, sizeof(place[0]));
	place_of(probe)->probe = probe;
	WRITE_ONCE(probe->way, way);
}

/* Note what has become of a request for an event.  Return 0 or an error, which has been logged */
static int note_event(const struct sbuf_probe_request *request)
{
	if (request->event_err)
		return explain_refusal(request, request->event_err);
	WRITE_ONCE(request->probe->functions, 1);
	WRITE_ONCE(request->probe->state, STACKBUF_PROBE_SET);
	return 0;
}

static inline unsigned int common_flags(const struct sbuf_probe_request *request)
{
	return (request->tag ? SBUF_TAGGED : 0) |
	       (request->role == STACKBUF_PAIR_OPENS || request->value & SBUF_VALUE_HERE ?
		SBUF_REFERS : 0);
}

/* Set the probe of a request for an event.  Return 0 or an error, which has been logged */
static int register_event(struct sbuf_probe_request *request)
{
	struct stackbuf_probe *probe = request->probe;

	WRITE_ONCE(probe->how, SBUF_EVENT | common_flags(request));
	take_place(probe, STACKBUF_PROBE_BY_EVENT);
	if (!request->event_err)
		request->event_err = sbuf_tracepoint_set(&place_of(probe)->event, request->event,
							 request->event_file, NULL);
	return note_event(request);
}

/* Of a pattern, whose functions are in the list already.  Return 0 or an error, as above */
static int register_pattern(const struct sbuf_probe_request *request)
{
	struct stackbuf_probe *probe = request->probe;

	WRITE_ONCE(probe->way, STACKBUF_PROBE_BY_FTRACE);
	if (!SBUF_HAVE_FUNCTIONS) {
		sbuf_refuse(request, "this kernel has no ftrace for patterns: name functions");
		return -EOPNOTSUPP;
	}
	if (!request->matches)
		return sbuf_refuse(request,
				   "no function matches; if it is inlined, probe a caller");
	if (!probe->functions)
		return sbuf_refuse(request, "none of the %u functions that match can be traced",
				   request->matches);
	WRITE_ONCE(probe->state, STACKBUF_PROBE_SET);
	return 0;
}

/* Add a function to the list that is made.  Return 0, an error, or 1 if it takes a kprobe */
static int register_function(const struct sbuf_probe_request *request, u8 list)
{
	struct stackbuf_probe *probe = request->probe;
	int err;

	if (!request->site || request->offset || !sbuf_function_is_site(request->site))
		return 1;
	err = sbuf_function_add(list, request->site, probe);
	if (err)
		return err;
	WRITE_ONCE(probe->way, STACKBUF_PROBE_BY_FTRACE);
	WRITE_ONCE(probe->functions, 1);
	WRITE_ONCE(probe->addr, request->site);
	WRITE_ONCE(probe->state, STACKBUF_PROBE_SET);
	return 0;
}

/*
 * Set the probe of a request that has been resolved and has an entry, or leave it pending if
 * its module is not loaded.  Return 0 or an error, which has been logged.
 */
static int register_probe(struct sbuf_probe_request *request, u8 list)
{
	struct stackbuf_probe *probe = request->probe;
	struct kprobe *kprobe = &place_of(probe)->kprobe;
	bool ours;
	int err;

	lockdep_assert_held(&probe_mutex);
	/* Refused for new probes only: one that is set may stay, as it could not be set again */
	if (security_locked_down(LOCKDOWN_KPROBES)) {
		sbuf_refuse(request, "the kernel is locked down, which forbids probes");
		return -EPERM;
	}
	if (request->event)
		return register_event(request);
	if (request->matches > 1 && !request->pattern)
		return sbuf_refuse(request,
				   "there are %u functions of that name: give the address, 0x...",
				   request->matches);
	if (request->addr && sbuf_modules_is_our_code(request->addr))
		return sbuf_refuse(request, "stackbuf does not probe itself");
	if (request->module && !request->module_loaded) {
		WRITE_ONCE(probe->state, STACKBUF_PROBE_PENDING);
		pr_info_ratelimited("probe: %s waits for a module %s\n", probe->name,
				    request->module);
		return 0;
	}
	if (request->pattern)
		return register_pattern(request);
	err = check_offset(request, request->addr) ?: register_function(request, list);
	if (err <= 0)
		return err;
	/* It may hit at once.  Without SBUF_PROBED that is saved like any other registers */
	WRITE_ONCE(probe->how, common_flags(request));
	take_place(probe, STACKBUF_PROBE_BY_KPROBE);
	if (!request->addr && request->module)
		return explain_refusal(request, -ENOENT);
	kprobe->pre_handler = handle_hit;
	kprobe->offset = request->offset;
	kprobe->addr = (void *)request->addr;
	kprobe->symbol_name = request->addr ? NULL : request->function;
	err = register_kprobe(kprobe);
	kprobe->symbol_name = NULL;
	/* By a name that only a function of ours has */
	ours = !request->addr && sbuf_modules_is_our_code((unsigned long)kprobe->addr);
	if (err)
		return explain_refusal(request, ours ? -ENOENT : err);
	if (ours)
		err = explain_refusal(request, -ENOENT);
	else if (request->tag &&
		 !(kprobe->flags & (KPROBE_FLAG_ON_FUNC_ENTRY | KPROBE_FLAG_FTRACE)))
		err = sbuf_refuse(request, "arguments are known at a function's beginning only");
	else if (request->module && !is_in_place(request))
		err = explain_refusal(request, -ENOENT);
	else if (!request->addr)
		/* Only the kernel's lookup found the function.  Its list does not record yet */
		err = check_offset(request, (unsigned long)kprobe->addr - request->offset);
	if (err) {
		unregister_kprobe(kprobe);
		return err;
	}
	/* Here and not in handle_hit(), as looking up a module's symbols is slow */
	WRITE_ONCE(probe->how, probe->how | SBUF_PROBED |
		   (sbuf_symbol_is_entry((unsigned long)kprobe->addr) ? SBUF_ENTRY : 0));
	WRITE_ONCE(probe->addr, (unsigned long)kprobe->addr);
	WRITE_ONCE(probe->functions, 1);
	WRITE_ONCE(probe->state, STACKBUF_PROBE_SET);
	return 0;
}

/*
 * Held for some instructions, with interrupts off, while the kernel's counts of misses are taken
 * over.  Code that runs in any context only tries it, for a while: the holder may be the code that
 * it has interrupted, or be on a CPU that was stopped.  Then a count is as old as its last reading.
 * What reads the record meanwhile may find a probe's misses twice, here and in missed_before, but
 * at least once.
 */
static DEFINE_RAW_SPINLOCK(missed_lock);

/* Return false if it is held */
static bool update_missed(struct stackbuf_probe *probe)
{
	unsigned long flags;

	if (!raw_spin_trylock_irqsave(&missed_lock, flags))
		return false;
	/* Unless clear_probe() came before */
	if (is_set(probe, STACKBUF_PROBE_BY_KPROBE))
		WRITE_ONCE(probe->missed, place_of(probe)->kprobe.nmissed);
	raw_spin_unlock_irqrestore(&missed_lock, flags);
	return true;
}

void sbuf_probe_update_missed(void)
{
	struct stackbuf_probe *probe;
	unsigned int tries = 1000;

	for (probe = next_probe(NULL); probe && tries; probe = next_probe(probe)) {
		if (!is_set(probe, STACKBUF_PROBE_BY_KPROBE))
			continue;
		while (!update_missed(probe) && --tries)
			cpu_relax();
	}
}

/* After it was removed: the probe is pending until its module is loaded, or it is deleted */
static void clear_probe(struct stackbuf_probe *probe)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&missed_lock, flags);
	if (probe->way == STACKBUF_PROBE_BY_KPROBE)
		probe->missed = place_of(probe)->kprobe.nmissed;
	sbuf_pair_lost(probe, probe->missed);
	stackbuf_info.missed_before += probe->missed;
	WRITE_ONCE(probe->missed, 0);
	WRITE_ONCE(probe->state, STACKBUF_PROBE_PENDING);
	raw_spin_unlock_irqrestore(&missed_lock, flags);
	WRITE_ONCE(probe->functions, 0);
	/* If all that it matches was in a module that is gone */
	if (strchr(probe->name, ':'))
		WRITE_ONCE(probe->left_out, 0);
	WRITE_ONCE(probe->addr, 0);
}

/* Unregister the probes on tracepoints that are set and in no list, or in @module if given */
static void unregister_events(const struct module *module)
{
	struct stackbuf_probe *probe;
	unsigned int n = 0;

	for (probe = next_probe(NULL); probe; probe = next_probe(probe)) {
		if (!is_set(probe, STACKBUF_PROBE_BY_EVENT) ||
		    (module ? !sbuf_tracepoint_is_in(&place_of(probe)->event, module) :
			      probe->lists))
			continue;
		sbuf_tracepoint_remove(&place_of(probe)->event);
		/* Until its handler has run for the last time */
		WRITE_ONCE(probe->state, STACKBUF_PROBE_NONE);
		n++;
	}
	if (!n)
		return;
	tracepoint_synchronize_unregister();
	for (probe = next_probe(NULL); probe; probe = next_probe(probe))
		if (probe->state == STACKBUF_PROBE_NONE && probe->way == STACKBUF_PROBE_BY_EVENT)
			clear_probe(probe);
}

/* Unregister the kprobes that are set and in no list, or in code that is @gone */
static void unregister_probes(bool gone)
{
	/* Under probe_mutex */
	static struct kprobe *set[STACKBUF_PROBES_MAX];
	struct stackbuf_probe *probe;
	unsigned int n = 0;

	lockdep_assert_held(&probe_mutex);
	for (probe = next_probe(NULL); probe; probe = next_probe(probe))
		if (is_set(probe, STACKBUF_PROBE_BY_KPROBE) &&
		    (gone ? kprobe_gone(&place_of(probe)->kprobe) : !probe->lists))
			set[n++] = &place_of(probe)->kprobe;
	/* All in one call, as each waits for a grace period */
	unregister_kprobes(set, n);
	/*
	 * Clear only these.  Probes in another module that is unloaded concurrently may be gone as
	 * well, and stay in the kernel's list until sbuf_probe_module() is called for that module.
	 */
	while (n-- > 0)
		clear_probe(container_of(set[n], union place, kprobe)->probe);
}

/* ------------------------------------------------------------------ lists --- */

static struct stackbuf_probe *find_probe(const struct sbuf_probe_request *request)
{
	struct stackbuf_probe *probe;

	for (probe = next_probe(NULL); probe; probe = next_probe(probe))
		if (probe->lists && !strncmp(probe->name, request->name, request->len) &&
		    !probe->name[request->len] && probe->pair == request->pair &&
		    probe->role == request->role)
			return probe;
	return NULL;
}

/* Give a new probe a free entry.  Return false if there is none, which has been logged */
static bool take_entry(struct sbuf_probe_request *request, u8 lists)
{
	struct stackbuf_probe *probe;

	for (probe = next_probe(NULL); probe; probe = next_probe(probe)) {
		if (probe->name[0])
			continue;
		memcpy(probe->name, request->name, request->len);
		probe->tag = request->tag;
		probe->pair = request->pair;
		probe->role = request->role;
		probe->value = request->value;
		probe->lists = lists;
		request->probe = probe;
		request->fresh = true;
		return true;
	}
	sbuf_refuse(request, "no room: %d probes are the most", STACKBUF_PROBES_MAX);
	return false;
}

#if STACKBUF_PAIR_PAGES
/* Give each pair a number: false if there is none left.  Those of names are kept in @pair */
static bool number_pairs(struct sbuf_resolver *resolver)
{
	struct sbuf_probe_request *request;

	for (request = resolver->request; request < sbuf_resolver_end(resolver); request++) {
		request->pair = sbuf_pair_get(request->pair_name, request->pair_len);
		if (!request->pair) {
			pr_err("pair: %.*s: no room: %d pairs of up to %zu bytes are the most\n",
			       (int)request->pair_len, request->pair_name, STACKBUF_PAIRS_MAX,
			       sizeof_field(struct stackbuf_pair, name) - 1);
			return false;
		}
	}
	return true;
}

/* Note which pairs have probes, and forget those that have none: their handlers are gone */
static void settle_pairs(void)
{
	unsigned int probes[STACKBUF_PAIRS_MAX + 1] = { 0 }, i;
	struct stackbuf_pair *pair = stackbuf_info.pair[0].pairs.pair;
	struct stackbuf_probe *probe;

	for (probe = next_probe(NULL); probe; probe = next_probe(probe))
		if (probe->name[0])
			probes[probe->pair]++;
	/* First those that have some: the last one that goes clears what all share */
	for (i = 0; i < STACKBUF_PAIRS_MAX; i++)
		if (pair[i].name[0] && probes[i + 1] && pair[i].probes != probes[i + 1])
			sbuf_pair_set(i + 1, probes[i + 1]);
	for (i = 0; i < STACKBUF_PAIRS_MAX; i++)
		if (pair[i].name[0] && !probes[i + 1])
			sbuf_pair_set(i + 1, 0);
}
#else
static inline bool number_pairs(struct sbuf_resolver *resolver) { return true; }
static inline void settle_pairs(void) { }
#endif

/* Step 1: everything that is requested is in the list @next, and set or pending */
static int make_list(struct sbuf_resolver *resolver, u8 next)
{
	struct sbuf_probe_request *request, *end = sbuf_resolver_end(resolver);
	struct stackbuf_probe *probe;
	unsigned int patterns = 0;
	int err;

	resolver->list = next;
	if (resolver->of == SBUF_PAIRS && !number_pairs(resolver))
		return -ENOSPC;
	for (request = resolver->request; request < end; request++) {
		/* In the old list, or named before in this one */
		request->probe = find_probe(request);
		if (request->probe)
			WRITE_ONCE(request->probe->lists, request->probe->lists | next);
		else if (!take_entry(request, next))
			return -ENOSPC;
	}
	/* Those that stay, too: a module that comes is searched for all */
	for (probe = next_probe(NULL); probe; probe = next_probe(probe))
		patterns += probe->lists & next && strpbrk(probe->name, "*?[");
	if (patterns > SBUF_PATTERNS_MAX) {
		pr_err("probe: %u patterns: %d are the most\n", patterns, SBUF_PATTERNS_MAX);
		return -ENOSPC;
	}
	err = sbuf_resolve(resolver);
	for (request = resolver->request; !err && request < end; request++) {
		err = request->fresh ? register_probe(request, next) : 0;
		cond_resched();
	}
	return err ?: sbuf_functions_copy(next);
}

static int set_live_list(void *arg)
{
	const struct sbuf_resolver *resolver = arg;

	/* P1: in one step, when the list is made */
	smp_store_release(&sbuf_probe_live,
			  ((sbuf_probe_live | SBUF_BOTH_LISTS) + 1) | resolver->list);
	if (resolver->of == SBUF_TRIGGERS)
		sbuf_filter_arm(resolver->events);
	return 0;
}

/*
 * Attach to the functions of the list that was made, and have that be the one that records.  ftrace
 * calls the handlers of both lists one after the other, with preemption disabled: stop the machine,
 * so that not one asks before and the other after.  And a hit of an old trigger counts as the old
 * list said, one of a new trigger as the new one.
 */
static int use_list(struct sbuf_resolver *resolver)
{
	u8 list = resolver->list;
	int err = sbuf_functions_attach(list);

	if (!err && (resolver->of == SBUF_TRIGGERS ||
		     (sbuf_functions(list) && sbuf_functions(list ^ SBUF_BOTH_LISTS)))) {
		/* For tasks that were preempted in a trampoline of the old list's alone */
		if (IS_ENABLED(CONFIG_PREEMPTION))
			synchronize_rcu_tasks();
		err = stop_machine(set_live_list, resolver, NULL);
	} else if (!err) {
		set_live_list(resolver);
	}
	if (err == -EBUSY)
		pr_err("probe: ftrace is switched off: sysctl kernel.ftrace_enabled=1\n");
	else if (err)
		pr_err("probe: ftrace refused the functions with error %d\n", err);
	return err;
}

/* A list does not record any more: no probe is in it */
static void end_list(u8 list)
{
	struct stackbuf_probe *probe;

	sbuf_functions_detach(list);
	smp_wmb();	/* P1 */
	for (probe = next_probe(NULL); probe; probe = next_probe(probe))
		WRITE_ONCE(probe->lists, probe->lists & ~list);
}

/* Step 3: remove probes that are in no list, and free their entries */
static void drop_unlisted(void)
{
	struct stackbuf_probe *probe;

	unregister_probes(false);
	unregister_events(NULL);
	for (probe = next_probe(NULL); probe; probe = next_probe(probe)) {
		if (probe->lists)
			continue;
		if (is_set(probe, STACKBUF_PROBE_BY_FTRACE))
			clear_probe(probe);
		/* The name of the one that stopped recording is part of the record */
		memset(probe, 0, sbuf_probe_number(probe) == READ_ONCE(stackbuf_info.trigger) ?
				 offsetof(struct stackbuf_probe, name) : sizeof(*probe));
	}
	settle_pairs();
	mark_probes_changed();
}

/* Free what parse_list() has returned, under its conditions */
static void free_list(struct sbuf_resolver *resolver)
{
	struct sbuf_probe_request *request;

	if (IS_ERR_OR_NULL(resolver))
		return;
	for (request = resolver->request; request < sbuf_resolver_end(resolver); request++)
		sbuf_tracepoint_put(request->event_file);
	kvfree(resolver);
}

/* What a list asks for, as far as no lock of ours is needed, for write_list(); or an error */
static struct sbuf_resolver *parse_list(const char *text, enum sbuf_probe_list of)
{
	struct sbuf_resolver *resolver = sbuf_resolver_create(SBUF_REQUESTS_MAX);
	struct sbuf_probe_request *request;
	int err;

	if (!resolver)
		return ERR_PTR(-ENOMEM);
	resolver->of = of;
	err = sbuf_resolver_split(resolver, text);
	for (request = resolver->request; !err && request < sbuf_resolver_end(resolver);
	     request++) {
		err = sbuf_resolve_parse(request);
		if (!err && request->group)
			request->event_err = sbuf_tracepoint_find(request->group, request->event,
								  &request->event_file);
	}
	if (!err)
		return resolver;
	free_list(resolver);
	return ERR_PTR(err);
}

static enum sbuf_probe_list param_of(const struct stackbuf_probe *probe)
{
	return probe->role == STACKBUF_TRIGGERS ? SBUF_TRIGGERS :
	       probe->role ? SBUF_PAIRS : SBUF_PROBES;
}

/* Make a list from parse_list(), if that is no error, the one that records */
static int write_list(struct sbuf_resolver *resolver)
{
	u8 old = live_list(), next = old ^ SBUF_BOTH_LISTS;
	struct stackbuf_probe *probe;
	int err;

	lockdep_assert_held(&probe_mutex);
	if (IS_ERR(resolver))
		return PTR_ERR(resolver);
	for (probe = next_probe(NULL); probe; probe = next_probe(probe))
		if (probe->lists && (resolver->add || param_of(probe) != resolver->of))
			WRITE_ONCE(probe->lists, probe->lists | next);
	err = make_list(resolver, next) ?: use_list(resolver);
	sbuf_filter_update();
	end_list(err ? next : old);
	drop_unlisted();
	return err;
}

/* ---------------------------------------------------------------- modules --- */

static bool is_pending(const struct stackbuf_probe *probe)
{
	return probe->state == STACKBUF_PROBE_PENDING || probe->state == STACKBUF_PROBE_REFUSED;
}

/* A pattern has no address of its own, and matches in every module that comes */
static bool may_be_in_module(const struct stackbuf_probe *probe)
{
	return is_pending(probe) || (is_set(probe, STACKBUF_PROBE_BY_FTRACE) && !probe->addr);
}

/* Is it a request that the module has something for, or that names the module? */
static bool is_met(const struct sbuf_probe_request *request)
{
	return request->module_loaded || (!request->module && request->matches);
}

/* After an error: functions of the module are not attached */
static void undo_module(struct sbuf_resolver *resolver)
{
	struct sbuf_probe_request *request;

	for (request = resolver->request; request < sbuf_resolver_end(resolver); request++) {
		struct stackbuf_probe *probe = request->probe;

		if (!is_met(request) || is_set(probe, STACKBUF_PROBE_BY_KPROBE))
			continue;
		WRITE_ONCE(probe->functions, request->functions);
		WRITE_ONCE(probe->left_out, request->left_out +
			   (request->pattern ? request->matches : 0));
		if (request->functions)
			continue;
		WRITE_ONCE(probe->addr, 0);
		WRITE_ONCE(probe->state, STACKBUF_PROBE_REFUSED);
	}
}

/* Set the probes that are pending for this module, whose code does not run yet, and patterns */
static void set_pending_probes(const struct module *module)
{
	u8 old = live_list(), next = old ^ SBUF_BOTH_LISTS;
	struct sbuf_probe_request *request;
	struct stackbuf_probe *probe;
	struct sbuf_resolver *resolver;
	unsigned int n = 0;
	int err;

	lockdep_assert_held(&probe_mutex);
	for (probe = next_probe(NULL); probe; probe = next_probe(probe))
		n += may_be_in_module(probe);
	if (!n)
		return;
	resolver = sbuf_resolver_create(n);
	if (!resolver) {
		pr_err("probe: no memory to set probes in %s\n", module->name);
		/* There may be a function for each that is set, a pattern */
		for (probe = next_probe(NULL); probe; probe = next_probe(probe))
			if (is_set(probe, STACKBUF_PROBE_BY_FTRACE) && may_be_in_module(probe))
				WRITE_ONCE(probe->left_out, probe->left_out + 1);
		return;
	}
	/* Zeroed, it is no list of triggers: see set_live_list() */
	resolver->list = next;
	for (probe = next_probe(NULL); probe; probe = next_probe(probe)) {
		if (!may_be_in_module(probe))
			continue;
		request = resolver->request + resolver->nr++;
		*request = (struct sbuf_probe_request) {
			.name = probe->name, .len = strlen(probe->name), .probe = probe,
			.pair = probe->pair, .role = probe->role,
			.functions = probe->functions, .left_out = probe->left_out,
		};
		if (!sbuf_resolve_parse(request) && request->function[0])
			sbuf_resolver_add(resolver, request);
	}
	/* What the module brings for pending probes; functions come into the list @next */
	err = sbuf_resolve_in_module(resolver, module);
	for (request = resolver->request; !err && request < sbuf_resolver_end(resolver); request++)
		if (is_met(request) && is_pending(request->probe) && register_probe(request, next))
			WRITE_ONCE(request->probe->state, STACKBUF_PROBE_REFUSED);
	/* Functions are attached as a new list, which is the old one and these */
	if (!err && sbuf_functions(next)) {
		for (probe = next_probe(NULL); probe; probe = next_probe(probe))
			if (probe->lists)
				WRITE_ONCE(probe->lists, SBUF_BOTH_LISTS);
		err = sbuf_functions_copy(next) ?: use_list(resolver);
		end_list(err ? next : old);
	} else {
		sbuf_functions_detach(next);
	}
	if (err) {
		pr_err("probe: functions of %s are not recorded: error %d\n", module->name, err);
		undo_module(resolver);
	}
	kvfree(resolver);
}

/* Detach functions from the code of a module that goes */
static void leave_module(const struct module *module)
{
	struct stackbuf_probe *probe;

	sbuf_functions_leave(live_list(), module);
	for (probe = next_probe(NULL); probe; probe = next_probe(probe))
		if (is_set(probe, STACKBUF_PROBE_BY_FTRACE) && !probe->functions)
			clear_probe(probe);
	/* Kprobes' notifier has marked as gone all in the code that is being freed */
	unregister_probes(true);
}

void sbuf_probe_module(const struct module *module, unsigned long state)
{
	mutex_lock(&probe_mutex);
	if (state == MODULE_STATE_COMING)
		set_pending_probes(module);
	else if (state == MODULE_STATE_GOING)
		leave_module(module);
	else
		unregister_probes(true);
	mark_probes_changed();
	mutex_unlock(&probe_mutex);
}

/* Set the probes on events that were removed as their module went, if this one has them */
static void set_pending_events(const struct module *module)
{
	struct stackbuf_probe *probe;

	for (probe = next_probe(NULL); probe; probe = next_probe(probe)) {
		struct sbuf_probe_request request = {
			.name = probe->name, .len = strlen(probe->name), .probe = probe,
			.pair = probe->pair, .role = probe->role,
		};

		if (!is_pending(probe) || probe->way != STACKBUF_PROBE_BY_EVENT ||
		    sbuf_resolve_parse(&request))
			continue;
		/* Of another module, if this one does not have it */
		request.event_err = sbuf_tracepoint_set(&place_of(probe)->event, request.event,
							NULL, module);
		if (request.event_err != -ENOENT && note_event(&request))
			WRITE_ONCE(probe->state, STACKBUF_PROBE_REFUSED);
	}
}

void sbuf_probe_events(const struct module *module, bool coming)
{
	mutex_lock(&probe_mutex);
	if (coming)
		set_pending_events(module);
	else
		unregister_events(module);
	mark_probes_changed();
	mutex_unlock(&probe_mutex);
}

/* -------------------------------------------------------------- parameter --- */

struct sbuf_probe_param sbuf_probe_param, sbuf_pair_param = { .list = SBUF_PAIRS },
			sbuf_trigger_param = { .list = SBUF_TRIGGERS };

/*
 * The parameters' files can be written before init and after exit.  What is written before is only
 * noted; while that is set, writes are refused.
 */
static enum { PARAM_EARLY, PARAM_OPENING, PARAM_OPEN, PARAM_CLOSED } param_state;

/* Built in, @value is of the kernel's command line, which stays; memory cannot be allocated yet */
static void free_early(char *text)
{
	if (!SBUF_BUILT_IN)
		kfree(text);
}

static int note_early(struct sbuf_probe_param *list, const char *value)
{
	/* Init did not come so far */
	if (SBUF_BUILT_IN && slab_is_available())
		return -ENODEV;
	free_early(list->insmod);
	list->insmod = SBUF_BUILT_IN ? (char *)value : kstrdup(value, GFP_KERNEL);
	return list->insmod ? 0 : -ENOMEM;
}

/*
 * The kernel calls the functions of a parameter under one lock for all parameters of a module.
 * To set a list takes seconds, and "enable" must not wait for it: so release that lock, which
 * protects nothing here, for the time.  What callers rely on holds nevertheless:
 *
 * - The module and the written text stay: the caller has the parameter's file open, which
 *   removing the module waits for, or is loading the module.
 * - param_attr_store(), param_attr_show() and parse_one() (kernel/params.c) use nothing that
 *   the lock covers after the call; they only release it.
 * - probe_mutex serialises calls for this parameter; calls for others use nothing that it
 *   covers.
 *
 * Never take the kernel's lock inside probe_mutex.
 */
static int set_probe_param(const char *value, const struct kernel_param *param)
{
	struct sbuf_probe_param *list = param->arg;
	struct sbuf_resolver *resolver = NULL;
	int err = -ENODEV;

	if (!value)
		value = "";
	kernel_param_unlock(THIS_MODULE);
	/* It takes event_mutex, inside of which the kernel may have us take probe_mutex */
	if (READ_ONCE(param_state) == PARAM_OPEN)
		resolver = parse_list(value, list->list);
	mutex_lock(&probe_mutex);
	if (param_state == PARAM_EARLY)
		err = note_early(list, value);
	else if (param_state == PARAM_OPEN && resolver)
		err = write_list(resolver);
	else if (param_state != PARAM_CLOSED)
		err = -EBUSY;
	if (err == -EBUSY && !resolver)
		pr_err("what insmod was given is being set: write the list again\n");
	mutex_unlock(&probe_mutex);
	free_list(resolver);
	kernel_param_lock(THIS_MODULE);
	return err;
}

bool sbuf_probe_owns(const void *data)
{
	return data - (const void *)place < sizeof(place);
}

NOKPROBE_SYMBOL(sbuf_probe_owns);

/* What a name of a list takes with a comma, a newline and the NUL; those that do not fit: ",..." */
static int emit_name(char *buffer, int *len, int *cut, const char *name)
{
	if (*len + strlen(name) + 3 > PAGE_SIZE) {
		*len = *cut + sysfs_emit_at(buffer, *cut, ",...");
		return -ENOSPC;
	}
	*len += sysfs_emit_at(buffer, *len, "%s%s", *len ? "," : "", name);
	/* The last place that leaves room for ",...", a newline and the NUL */
	if (*len + 6 <= PAGE_SIZE)
		*cut = *len;
	return 0;
}

static int get_probe_param(char *buffer, const struct kernel_param *param)
{
	const struct sbuf_probe_param *list = param->arg;
	struct stackbuf_probe *probe;
	int len = 0, cut = 0, err = 0;
	unsigned int i;

	kernel_param_unlock(THIS_MODULE);
	mutex_lock(&probe_mutex);
	sbuf_probe_update_missed();
	for (i = 0; STACKBUF_PAIR_PAGES && i < STACKBUF_PAIRS_MAX && !err; i++) {
		const char *name = stackbuf_info.pair[0].pairs.pair[i].name;

		if (list->list == SBUF_PAIRS && name[0])
			err = emit_name(buffer, &len, &cut, name);
	}
	for (probe = next_probe(NULL); probe && !err; probe = next_probe(probe))
		if (list->list != SBUF_PAIRS && probe->lists && param_of(probe) == list->list)
			err = emit_name(buffer, &len, &cut, probe->name);
	if (list->list == SBUF_TRIGGERS && len && !err && sbuf_filter_trigger_events())
		len += sysfs_emit_at(buffer, len, ":%u", sbuf_filter_trigger_events());
	mutex_unlock(&probe_mutex);
	kernel_param_lock(THIS_MODULE);
	return len + sysfs_emit_at(buffer, len, "\n");
}

static void free_probe_param(void *arg)
{
	free_early(((struct sbuf_probe_param *)arg)->insmod);
}

const struct kernel_param_ops sbuf_probe_ops = {
	.set = set_probe_param,
	.get = get_probe_param,
	.free = free_probe_param,
};

void sbuf_probe_exit(void)
{
	struct stackbuf_probe *probe;

	mutex_lock(&probe_mutex);
	/* Not by write_list(""), which needs memory and could fail */
	for (probe = next_probe(NULL); probe; probe = next_probe(probe))
		WRITE_ONCE(probe->lists, 0);
	sbuf_functions_detach(live_list());
	drop_unlisted();
	WRITE_ONCE(param_state, PARAM_CLOSED);
	mutex_unlock(&probe_mutex);
	sbuf_tracepoint_exit();
}

/* Set what insmod was given.  What is refused does not stop a kernel from booting */
static int __init set_early(struct sbuf_probe_param *list)
{
	struct sbuf_resolver *resolver;
	int err;

	if (!list->insmod)
		return 0;
	resolver = parse_list(list->insmod, list->list);
	mutex_lock(&probe_mutex);
	err = write_list(resolver);
	mutex_unlock(&probe_mutex);
	free_list(resolver);
	free_early(list->insmod);
	list->insmod = NULL;
	if (err && SBUF_BUILT_IN)
		pr_err("nothing of this list is set: write it again to the parameter's file\n");
	return SBUF_BUILT_IN ? 0 : err;
}

int __init sbuf_probe_init(void)
{
	int err = sbuf_tracepoint_init();

	if (err)
		return err;
	mutex_lock(&probe_mutex);
	WRITE_ONCE(param_state, PARAM_OPENING);
	mutex_unlock(&probe_mutex);
	err = set_early(&sbuf_probe_param) ?: set_early(&sbuf_pair_param) ?:
	      set_early(&sbuf_trigger_param);
	if (err) {
		sbuf_probe_exit();
		return err;
	}
	mutex_lock(&probe_mutex);
	WRITE_ONCE(param_state, PARAM_OPEN);
	mutex_unlock(&probe_mutex);
	return 0;
}
