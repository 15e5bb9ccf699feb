// SPDX-License-Identifier: GPL-2.0
/*
 * probe.c - the live list of probes, and how a new list replaces it
 *
 *  1. All names of the new list are resolved, and its new probes are set.
 *  2. sbuf_probe_live changes: from this instant the new list records and the old one does
 *     not.
 *  3. Probes that are only in the old list are removed.
 *
 * If step 1 fails, its probes are removed again; the old list has recorded throughout.  A probe in
 * both lists stays set throughout.
 *
 * What a probe names decides how it is set.  Probes on tracepoints attach to them (tracepoint.c).
 * Probes at the beginning of functions use ftrace (function.c).  Offsets, addresses and a module's
 * init code take kprobes (kprobe.c), as do all functions if the kernel has no ftrace.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/security.h>
#include <linux/spinlock.h>
#include <linux/stop_machine.h>
#include <linux/string.h>

#include "filter.h"
#include "function.h"
#include "modules.h"
#include "pair.h"
#include "probe_list.h"

/* A new list takes the other bit */
u32 sbuf_probe_live = 0x1;

/* See probe.h */
DEFINE_MUTEX(sbuf_probe_mutex);

union sbuf_place sbuf_places[STACKBUF_PROBES_MAX];

/* NULL if this kernel lacks it */
static const struct sbuf_way *const ways[STACKBUF_PROBE_BY_RETURN + 1] = {
	[STACKBUF_PROBE_BY_KPROBE] = &sbuf_kprobe_way,
#if SBUF_HAVE_FUNCTIONS
	[STACKBUF_PROBE_BY_FTRACE] = &sbuf_function_way,
#endif
#ifdef SBUF_TRACEPOINTS
	[STACKBUF_PROBE_BY_TRACEPOINT] = &sbuf_tracepoint_way,
#endif
#ifdef SBUF_RETURNS
	[STACKBUF_PROBE_BY_RETURN] = &sbuf_return_way,
#endif
};

/* ---------------------------------------------------------------- entries --- */

/* Each page holds STACKBUF_PAGE_PROBES entries */
u32 sbuf_probe_number(const struct stackbuf_probe *probe)
{
	unsigned int page = ((char *)probe - (char *)stackbuf_info.probe) / STACKBUF_PAGE_SIZE;

	return page * STACKBUF_PAGE_PROBES + (probe - stackbuf_info.probe[page].probe) + 1;
}

NOKPROBE_SYMBOL(sbuf_probe_number);

/* Entries that have ever been used, the first ones: a trigger's hit goes through them */
static unsigned int entries_used;

struct stackbuf_probe *sbuf_probe_next(const struct stackbuf_probe *probe)
{
	unsigned int i = probe ? sbuf_probe_number(probe) : 0;

	if (i >= READ_ONCE(entries_used))
		return NULL;
	return &stackbuf_info.probe[i / STACKBUF_PAGE_PROBES].probe[i % STACKBUF_PAGE_PROBES];
}

union sbuf_place *sbuf_place_take(struct stackbuf_probe *probe, enum stackbuf_probe_way way)
{
	union sbuf_place *place = sbuf_place_of(probe);

	memset(place, 0, sizeof(*place));
	place->probe = probe;
	WRITE_ONCE(probe->way, way);
	return place;
}

struct sbuf_probe_request sbuf_probe_request_again(struct stackbuf_probe *probe)
{
	return (struct sbuf_probe_request) {
		.name = probe->name, .len = strlen(probe->name), .probe = probe,
		.pair = probe->pair, .role = probe->role,
		.functions = probe->functions, .left_out = probe->left_out,
	};
}

void sbuf_probes_changed(void)
{
	unsigned int i;

	for (i = 0; i < STACKBUF_PROBE_PAGES; i++)
		sbuf_page_bump_seq(&stackbuf_info.probe[i].page);
}

void sbuf_probe_set(struct stackbuf_probe *probe, unsigned long addr, unsigned int functions)
{
	WRITE_ONCE(probe->functions, functions);
	WRITE_ONCE(probe->addr, addr);
	WRITE_ONCE(probe->state, STACKBUF_PROBE_SET);
}

/* ----------------------------------------------------------------- misses --- */

/*
 * Held while the kernel's miss counts are copied, which may be those of a thousand kretprobes.  So
 * interrupts stay on: only process context waits for it.  Code that runs in any context only tries
 * to acquire it, a limited number of times: the holder may be the code that it interrupted, or run
 * on a CPU that was stopped.  The count then keeps its last value.  A concurrent reader of the
 * record may find a probe's misses twice, here and in missed_before, but always finds them at least
 * once.
 */
DEFINE_RAW_SPINLOCK(sbuf_missed_lock);

static void take_missed(struct stackbuf_probe *probe)
{
	if (ways[probe->way] && ways[probe->way]->missed)
		WRITE_ONCE(probe->missed, ways[probe->way]->missed(probe));
}

/* Return false if sbuf_missed_lock is held */
static bool update_missed(struct stackbuf_probe *probe)
{
	if (!raw_spin_trylock(&sbuf_missed_lock))
		return false;
	/* sbuf_probe_clear() may have run first */
	if (probe->state == STACKBUF_PROBE_SET)
		take_missed(probe);
	raw_spin_unlock(&sbuf_missed_lock);
	return true;
}

void sbuf_probe_update_missed(void)
{
	struct stackbuf_probe *probe;
	unsigned int tries = 1000;

	for (probe = sbuf_probe_next(NULL); probe; probe = sbuf_probe_next(probe))
		while (probe->state == STACKBUF_PROBE_SET && tries && !update_missed(probe) &&
		       --tries)
			cpu_relax();
}

void sbuf_probe_clear(struct stackbuf_probe *probe)
{
	lockdep_assert_held(&sbuf_probe_mutex);
	raw_spin_lock(&sbuf_missed_lock);
	take_missed(probe);
	sbuf_pair_lost(probe, probe->missed);
	stackbuf_info.missed_before += probe->missed;
	WRITE_ONCE(probe->missed, 0);
	WRITE_ONCE(probe->state, STACKBUF_PROBE_PENDING);
	raw_spin_unlock(&sbuf_missed_lock);
	WRITE_ONCE(probe->functions, 0);
	/* All that it matched may have been in a module that was unloaded */
	if (strchr(probe->name, ':'))
		WRITE_ONCE(probe->left_out, 0);
	WRITE_ONCE(probe->addr, 0);
}

/* ---------------------------------------------------------------- setting --- */

int sbuf_refuse_error(const struct sbuf_probe_request *request, const struct sbuf_reason *reason,
		      int err)
{
	for (; reason->err; reason++) {
		if (reason->err != err)
			continue;
		sbuf_refuse(request, "%s", reason->text);
		return err == -EPERM ? -EPERM : -EINVAL;
	}
	sbuf_refuse(request, "the kernel refused it with error %d", err);
	return err;
}

static enum stackbuf_probe_way way_for(const struct sbuf_probe_request *request)
{
	if (request->event)
		return STACKBUF_PROBE_BY_TRACEPOINT;
	if (request->returns)
		return STACKBUF_PROBE_BY_RETURN;
	if (request->pattern || (request->site && !request->offset &&
				 sbuf_function_is_site(request->site)))
		return STACKBUF_PROBE_BY_FTRACE;
	return STACKBUF_PROBE_BY_KPROBE;
}

/* Return why no new probe may be set, or NULL */
static const char *forbidden(void)
{
	/* The kernel may refer to the place that a probe would take */
	if (sbuf_probes_stuck)
		return "ftrace has died";
	return security_locked_down(LOCKDOWN_KPROBES) ?
	       "the kernel is locked down, which forbids probes" : NULL;
}

/*
 * Set the probe of a request that has been resolved and has an entry, or leave it pending if
 * its module is not loaded.  Return 0 or an error, which has been logged.
 */
static int set_probe(struct sbuf_probe_request *request, u8 list)
{
	struct stackbuf_probe *probe = request->probe;
	const char *why = forbidden();
	const struct sbuf_way *way;

	lockdep_assert_held(&sbuf_probe_mutex);
	/* Refuses new probes only.  One that is set stays, as it could not be set again */
	if (why) {
		sbuf_refuse(request, "%s", why);
		return -EPERM;
	}
	if (request->matches > 1 && !request->pattern)
		return sbuf_refuse(request,
				   "%u functions have this name: give the address, 0x...",
				   request->matches);
	if (request->addr && sbuf_modules_is_our_code(request->addr))
		return sbuf_refuse(request, "stackbuf does not probe itself");
	if (request->module && !request->module_loaded) {
		WRITE_ONCE(probe->state, STACKBUF_PROBE_PENDING);
		pr_info_ratelimited("probe: %s waits for a module %s\n", probe->name,
				    request->module);
		return 0;
	}
	if (request->pattern && !SBUF_HAVE_FUNCTIONS) {
		sbuf_refuse(request, "this kernel has no ftrace for patterns: name functions");
		return -EOPNOTSUPP;
	}
	way = ways[way_for(request)];
	if (way && !request->event && (request->pattern || request->returns)) {
		if (!request->matches)
			return sbuf_refuse(request,
					   "no function matches; if it is inlined, probe a caller");
		if (request->pattern ? !probe->functions : !request->site ||
		    (SBUF_HAVE_FUNCTIONS && !sbuf_function_is_site(request->site)))
			return sbuf_refuse(request,
					   "none of the %u functions that match can be traced",
					   request->matches);
	}
	if (way)
		return way->set(request, list);
	if (request->returns) {
		sbuf_refuse(request, "this kernel has neither kretprobes nor fprobes");
		return -EOPNOTSUPP;
	}
	if (!IS_ENABLED(CONFIG_EVENT_TRACING))
		return sbuf_refuse(request, "this kernel has no tracepoints");
	/* Kbuild has built none of the tracepoint_*.c */
	sbuf_refuse(request, SBUF_WOULD_STOP);
	return -EPERM;
}

/* ------------------------------------------------------------------ lists --- */

/* If the probe was refused, and its name was written again, there are two: return the new one */
static struct stackbuf_probe *find_probe(const struct sbuf_probe_request *request)
{
	struct stackbuf_probe *probe, *refused = NULL;

	for (probe = sbuf_probe_next(NULL); probe; probe = sbuf_probe_next(probe)) {
		if (!probe->lists || strncmp(probe->name, request->name, request->len) ||
		    probe->name[request->len] || probe->pair != request->pair ||
		    probe->role != request->role)
			continue;
		if (probe->state != STACKBUF_PROBE_REFUSED)
			return probe;
		refused = probe;
	}
	return refused;
}

static struct stackbuf_probe *free_entry(void)
{
	struct stackbuf_probe *probe = NULL;

	do {
		if (!sbuf_probe_next(probe) && entries_used < STACKBUF_PROBES_MAX)
			WRITE_ONCE(entries_used, entries_used + 1);
		probe = sbuf_probe_next(probe);
	} while (probe && probe->name[0]);
	return probe;
}

/* Put a request's probe in the list @next.  Return false after logging that there is no room */
static bool take_entry(struct sbuf_probe_request *request, u8 next)
{
	/* It may be in the old list, or named earlier in this one */
	struct stackbuf_probe *known = find_probe(request), *probe = free_entry();

	/* To write the name of a refused probe again is to try again: it gets a new entry */
	if (known && !(probe && known->state == STACKBUF_PROBE_REFUSED)) {
		WRITE_ONCE(known->lists, known->lists | next);
		request->probe = known;
		return true;
	}
	if (!probe) {
		sbuf_refuse(request, "no room: at most %d probes, with those of the list that this one replaces",
			    STACKBUF_PROBES_MAX);
		return false;
	}
	if (known)
		WRITE_ONCE(known->lists, known->lists & ~next);
	memcpy(probe->name, request->name, request->len);
	probe->tag = request->tag;
	probe->pair = request->pair;
	probe->role = request->role;
	probe->value = request->value;
	probe->lists = next;
	probe->way = request->returns ? STACKBUF_PROBE_BY_RETURN : 0;
	request->probe = probe;
	request->fresh = true;
	return true;
}

#if STACKBUF_PAIR_PAGES
/* Assign each pair a number, the old one if its name is known.  Return false if none is left */
static bool number_pairs(struct sbuf_resolver *resolver)
{
	struct sbuf_probe_request *request;

	for (request = resolver->request; request < sbuf_resolver_end(resolver); request++) {
		request->pair = sbuf_pair_get(request->pair_name, request->pair_len);
		if (!request->pair) {
			pr_err("pair: %.*s: no room: at most %d pairs of up to %zu bytes, with those that are set\n",
			       (int)request->pair_len, request->pair_name, STACKBUF_PAIRS_MAX,
			       sizeof_field(struct stackbuf_pair, name) - 1);
			return false;
		}
	}
	return true;
}

/* Note which pairs have probes, and forget the rest, none of whose handlers runs any more */
static void settle_pairs(void)
{
	unsigned int probes[STACKBUF_PAIRS_MAX + 1] = { 0 }, i;
	struct stackbuf_pair *pair = stackbuf_info.pair[0].pairs.pair;
	struct stackbuf_probe *probe;

	for (probe = sbuf_probe_next(NULL); probe; probe = sbuf_probe_next(probe))
		if (probe->name[0])
			probes[probe->pair]++;
	/* Set pairs with probes first: removing the last pair clears the state that all share */
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

/* Step 1: put every request in the list @next, and set its probe or leave it pending */
static int make_list(struct sbuf_resolver *resolver, u8 next)
{
	struct sbuf_probe_request *request, *end = sbuf_resolver_end(resolver);
	struct stackbuf_probe *probe;
	unsigned int patterns = 0;
	int err;

	resolver->list = next;
	if (resolver->of == SBUF_PAIRS && !number_pairs(resolver))
		return -ENOSPC;
	for (request = resolver->request; request < end; request++)
		if (!take_entry(request, next))
			return -ENOSPC;
	/* Count patterns that stay, too: a module that is loaded is searched for all of them */
	for (probe = sbuf_probe_next(NULL); probe; probe = sbuf_probe_next(probe))
		patterns += probe->lists & next && strpbrk(probe->name, "*?[");
	if (patterns > SBUF_PATTERNS_MAX) {
		pr_err("probe: %u patterns: at most %d\n", patterns, SBUF_PATTERNS_MAX);
		return -ENOSPC;
	}
	err = sbuf_resolve(resolver);
	for (request = resolver->request; !err && request < end; request++) {
		err = request->fresh ? set_probe(request, next) : 0;
		cond_resched();
	}
	return err ?: sbuf_functions_copy(next);
}

static int set_live_list(void *arg)
{
	const struct sbuf_resolver *resolver = arg;

	/* P1: the list is complete before it becomes live, in one store */
	smp_store_release(&sbuf_probe_live,
			  ((sbuf_probe_live | SBUF_BOTH_LISTS) + 1) | resolver->list);
	if (resolver->of == SBUF_TRIGGERS)
		sbuf_filter_arm(resolver->events);
	return 0;
}

/*
 * Attach to the functions of the new list and make it live.  ftrace calls the handlers of both
 * lists one after the other, with preemption disabled.  Stop the machine, so that the live list
 * does not change between the two calls.  This also makes each trigger's hit count the events that
 * its own list asks for.
 */
static int use_list(struct sbuf_resolver *resolver)
{
	u8 list = resolver->list;
	int err = sbuf_functions_attach(list);

	if (!err && (resolver->of == SBUF_TRIGGERS ||
		     (sbuf_functions(list) && sbuf_functions(list ^ SBUF_BOTH_LISTS)))) {
		/* Wait for tasks that were preempted in the trampoline of the old list alone */
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

/* Take all probes out of a list that no longer records */
static void end_list(u8 list)
{
	struct stackbuf_probe *probe;

	sbuf_functions_detach(list);
	smp_wmb();	/* P1 */
	for (probe = sbuf_probe_next(NULL); probe; probe = sbuf_probe_next(probe))
		WRITE_ONCE(probe->lists, probe->lists & ~list);
}

/* Step 3: remove probes that are in no list, and free their entries */
static void drop_unlisted(void)
{
	struct stackbuf_probe *probe;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ways); i++)
		if (ways[i])
			ways[i]->remove(NULL, 0);
	for (probe = sbuf_probe_next(NULL); probe; probe = sbuf_probe_next(probe)) {
		if (probe->lists)
			continue;
		/* The name of the trigger that stopped recording is part of the record */
		memset(probe, 0, sbuf_probe_number(probe) == READ_ONCE(stackbuf_info.trigger) ?
				 offsetof(struct stackbuf_probe, name) : sizeof(*probe));
	}
	settle_pairs();
	sbuf_probes_changed();
}

int sbuf_probe_write(struct sbuf_resolver *resolver)
{
	u8 old = sbuf_live_list(), next = old ^ SBUF_BOTH_LISTS;
	struct stackbuf_probe *probe;
	int err;

	lockdep_assert_held(&sbuf_probe_mutex);
	if (IS_ERR(resolver))
		return PTR_ERR(resolver);
	for (probe = sbuf_probe_next(NULL); probe; probe = sbuf_probe_next(probe))
		if (probe->lists && (resolver->add || sbuf_probe_param_of(probe) != resolver->of))
			WRITE_ONCE(probe->lists, probe->lists | next);
	err = make_list(resolver, next) ?: use_list(resolver);
	sbuf_filter_update();
	end_list(err ? next : old);
	drop_unlisted();
	return err;
}

bool sbuf_probes_stuck;

void sbuf_probe_note_stuck(void)
{
	if (!sbuf_probes_stuck)
		pr_crit("ftrace has died and still calls this module, which must not be unloaded\n");
	sbuf_probes_stuck = true;
}

void sbuf_probe_remove_all(void)
{
	struct stackbuf_probe *probe;

	for (probe = sbuf_probe_next(NULL); probe; probe = sbuf_probe_next(probe))
		WRITE_ONCE(probe->lists, 0);
	sbuf_functions_detach(sbuf_live_list());
	drop_unlisted();
}

/* ---------------------------------------------------------------- modules --- */

/*
 * Modules that are being loaded, once they were reported.  If loading fails before that, as when a
 * live patch refuses the module, its code is freed without a report
 */
static const struct module *coming[16];
static bool too_many_come;

/* Return false if it was not reported before, as it was already being loaded when we were */
static bool note_coming(const struct module *module, bool comes)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(coming); i++) {
		if (coming[i] != (comes ? NULL : module))
			continue;
		coming[i] = comes ? module : NULL;
		return true;
	}
	too_many_come |= comes;
	return too_many_come;
}

bool sbuf_probe_may_be_in(const struct module *module)
{
	unsigned long state = READ_ONCE(module->state);
	unsigned int i;

	lockdep_assert_held(&sbuf_probe_mutex);
	if (state != MODULE_STATE_COMING || too_many_come)
		return state != MODULE_STATE_GOING;
	for (i = 0; i < ARRAY_SIZE(coming); i++)
		if (coming[i] == module)
			return true;
	return false;
}

/* A pattern has no address of its own, and is matched in every module that is loaded */
static bool is_pattern(const struct stackbuf_probe *probe)
{
	return !probe->addr && (sbuf_probe_is_set(probe, STACKBUF_PROBE_BY_FTRACE) ||
				sbuf_probe_is_set(probe, STACKBUF_PROBE_BY_RETURN));
}

static bool may_be_in_module(const struct stackbuf_probe *probe)
{
	return sbuf_probe_is_pending(probe) || is_pattern(probe);
}

static bool names_module(const struct stackbuf_probe *probe, const struct module *module)
{
	size_t len = strlen(module->name);

	return sbuf_probe_is_pending(probe) && !strncmp(probe->name, module->name, len) &&
	       probe->name[len] == ':';
}

/* Return true if the request names the module or matches something in it */
static bool is_met(const struct sbuf_probe_request *request)
{
	return request->module_loaded || (!request->module && request->matches);
}

/* Count what a request matched in a module as not attached */
static void undo_request(struct sbuf_probe_request *request)
{
	struct stackbuf_probe *probe = request->probe;

	WRITE_ONCE(probe->functions, request->functions);
	WRITE_ONCE(probe->left_out, request->left_out +
		   (request->pattern ? request->matches : 0));
}

/* After an error, undo what was noted and hooked for functions of the module */
static void undo_module(struct sbuf_resolver *resolver, const struct module *module)
{
	struct sbuf_probe_request *request;
	const struct sbuf_way *returns = ways[STACKBUF_PROBE_BY_RETURN];

	for (request = resolver->request; request < sbuf_resolver_end(resolver); request++)
		if (is_met(request) && request->returns)
			undo_request(request);
	/* They are already hooked: remove them as if the module were unloaded */
	if (returns)
		returns->remove(module, MODULE_STATE_GOING);
	for (request = resolver->request; request < sbuf_resolver_end(resolver); request++) {
		struct stackbuf_probe *probe = request->probe;

		if (!is_met(request) || sbuf_probe_is_set(probe, STACKBUF_PROBE_BY_KPROBE))
			continue;
		undo_request(request);
		if (request->functions)
			continue;
		WRITE_ONCE(probe->addr, 0);
		WRITE_ONCE(probe->state, STACKBUF_PROBE_REFUSED);
	}
}

/* Set pending probes and patterns in this module, before any of its code runs */
static void set_pending_probes(const struct module *module)
{
	u8 old = sbuf_live_list(), next = old ^ SBUF_BOTH_LISTS;
	struct sbuf_probe_request *request;
	struct stackbuf_probe *probe;
	struct sbuf_resolver *resolver;
	unsigned int n = 0;
	const char *why;
	int err;

	lockdep_assert_held(&sbuf_probe_mutex);
	for (probe = sbuf_probe_next(NULL); probe; probe = sbuf_probe_next(probe))
		n += may_be_in_module(probe);
	if (!n)
		return;
	why = forbidden();
	resolver = why ? NULL : kvzalloc(struct_size(resolver, request, n), GFP_KERNEL);
	if (!resolver) {
		pr_err("probe: %s: no probe is set in %s\n", why ?: "out of memory", module->name);
		/* Each pattern may have missed a function.  A refused probe can be written again */
		for (probe = sbuf_probe_next(NULL); probe; probe = sbuf_probe_next(probe))
			if (is_pattern(probe))
				WRITE_ONCE(probe->left_out, probe->left_out + 1);
			else if (names_module(probe, module))
				WRITE_ONCE(probe->state, STACKBUF_PROBE_REFUSED);
		return;
	}
	/* @of is zero: set_live_list() must not take it for a list of triggers */
	resolver->list = next;
	for (probe = sbuf_probe_next(NULL); probe; probe = sbuf_probe_next(probe)) {
		if (!may_be_in_module(probe))
			continue;
		request = resolver->request + resolver->nr++;
		*request = sbuf_probe_request_again(probe);
		if (sbuf_resolve_parse(request))
			continue;
		if (request->function[0])
			sbuf_resolver_add(resolver, request);
		else if (request->event && sbuf_probe_is_pending(probe) &&
			 sbuf_tracepoint_set_in(request, module))
			WRITE_ONCE(probe->state, STACKBUF_PROBE_REFUSED);
	}
	/* Find what the requests match in the module; functions are added to the list @next */
	err = sbuf_resolve_in_module(resolver, module);
	for (request = resolver->request; !err && request < sbuf_resolver_end(resolver);
	     request++) {
		bool pending = sbuf_probe_is_pending(request->probe);

		if (!is_met(request) || !(pending || request->returns) ||
		    !set_probe(request, next))
			continue;
		if (request->returns) {
			sbuf_functions_drop(next, request->probe);
			undo_request(request);
		}
		if (pending)
			WRITE_ONCE(request->probe->state, STACKBUF_PROBE_REFUSED);
	}
	/* Attach the functions by a new list: the old one plus these */
	if (!err && sbuf_functions(next)) {
		for (probe = sbuf_probe_next(NULL); probe; probe = sbuf_probe_next(probe))
			if (probe->lists)
				WRITE_ONCE(probe->lists, SBUF_BOTH_LISTS);
		err = sbuf_functions_copy(next) ?: use_list(resolver);
		end_list(err ? next : old);
	} else {
		sbuf_functions_detach(next);
	}
	if (err) {
		pr_err("probe: cannot record functions of %s: error %d\n", module->name, err);
		undo_module(resolver, module);
	}
	kvfree(resolver);
}

void sbuf_probe_module(const struct module *module, unsigned long state)
{
	unsigned int i;
	bool known;

	mutex_lock(&sbuf_probe_mutex);
	known = note_coming(module, state == MODULE_STATE_COMING);
	if (state == (known ? MODULE_STATE_COMING : MODULE_STATE_LIVE))
		set_pending_probes(module);
	/* Only a kprobe may be in init code, which is freed once the module is live */
	for (i = 0; i < ARRAY_SIZE(ways) && state != MODULE_STATE_COMING; i++)
		if (ways[i] && (state == MODULE_STATE_GOING || i == STACKBUF_PROBE_BY_KPROBE))
			ways[i]->remove(module, state);
	sbuf_probes_changed();
	mutex_unlock(&sbuf_probe_mutex);
}
