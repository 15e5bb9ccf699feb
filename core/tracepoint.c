// SPDX-License-Identifier: GPL-2.0
/*
 * tracepoint.c - probes on tracepoints
 *
 * How a handler is called depends on the kernel: Kbuild chooses the tracepoint_*.c that fits.
 *
 * The place of a tracepoint calls its iterator, which calls all registered functions.  On x86-64,
 * if only one function is registered, the place calls that directly (tracepoint_update_call()).
 * The iterator is not part of the code under study, so traces leave it out.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/string.h>
#include <linux/stringhash.h>
#include <linux/tracepoint.h>

#include "modules.h"
#include "probe_list.h"
#include "symbol.h"

/**
 * struct search - a search for a tracepoint
 * @name:	its name
 * @want:	if not NULL, only this one: that of a group's event
 * @found:	the result, the first one, or NULL
 * @matches:	number of tracepoints that match
 */
struct search {
	const char *name;
	const struct tracepoint *want;
	struct tracepoint *found;
	unsigned int matches;
};

static void match_tracepoint(struct tracepoint *tracepoint, void *arg)
{
	struct search *search = arg;

	if (strcmp(tracepoint->name, search->name) ||
	    (search->want && tracepoint != search->want))
		return;
	if (!search->matches++)
		search->found = tracepoint;
}

/* The kernel does not report the tracepoints of a module with any other taint */
#ifdef TAINT_TEST
#define GOOD_TAINTS	(BIT(TAINT_OOT_MODULE) | BIT(TAINT_CRAP) | BIT(TAINT_UNSIGNED_MODULE) | \
			 BIT(TAINT_TEST))
#else
#define GOOD_TAINTS	(BIT(TAINT_OOT_MODULE) | BIT(TAINT_CRAP) | BIT(TAINT_UNSIGNED_MODULE))
#endif

static void search_module(struct search *search, const struct module *module)
{
	unsigned int i;

	/* Of a wanted one the kernel has reported the event */
	if (!search->want && module->taints & ~GOOD_TAINTS)
		return;
	for (i = 0; i < module->num_tracepoints; i++)
		match_tracepoint(tracepoint_ptr_deref(&module->tracepoints_ptrs[i]), search);
}

/*
 * Search modules.  Return the module of the first match, with a reference, or NULL.  A module that
 * is being loaded is ready when sbuf_tracepoint_set_in() is called for it: before, its static keys
 * are not initialised, and if loading fails then, nothing is reported.
 */
static struct module *search_modules(struct search *search)
{
	const struct module *module = NULL, *first = NULL;

	preempt_disable();
	while ((module = sbuf_modules_next(module))) {
		if (!sbuf_modules_is_one(module) || READ_ONCE(module->state) != MODULE_STATE_LIVE)
			continue;
		search_module(search, module);
		if (first || !search->matches)
			continue;
		if (try_module_get((struct module *)module))
			first = module;
		else
			search->matches = 0;
	}
	preempt_enable();
	return (struct module *)first;
}

int sbuf_tracepoint_find(const char *group, const char *event, struct trace_event_file **file)
{
	struct trace_event_file *found = trace_get_event_file(NULL, group, event);

	if (IS_ERR(found))
		return -ENOENT;
	*file = found;
	return found->event_call->flags & TRACE_EVENT_FL_TRACEPOINT && found->event_call->tp ?
	       0 : -ENOTTY;
}

static u32 module_hash(const struct module *module)
{
	return module ? full_name_hash(NULL, module->name, strlen(module->name)) : 0;
}

/* Record at an event.  @coming: the module that is being loaded and must have it, or NULL */
static int attach(struct sbuf_tracepoint *of, const char *event,
		  const struct trace_event_file *file, const struct module *coming)
{
	struct search search = { .name = event, .want = file ? file->event_call->tp : NULL };
	struct module *module = NULL;
	struct sbuf_symbol symbol;
	int err = -ENOTUNIQ;

	if (coming)
		search_module(&search, coming);
	else
		for_each_kernel_tracepoint(match_tracepoint, &search);
	if (!coming && !search.matches)
		module = search_modules(&search);
	if (!search.matches)
		return -ENOENT;
	if (search.matches > 1)
		goto put;
	of->module = module_hash(coming ?: module);
	of->tracepoint = search.found;
	of->iterator = (unsigned long)search.found->iterator;
	of->size = sbuf_symbol_at(&symbol, of->iterator) ? symbol.size : 0;
	err = sbuf_tracepoint_attach(of, file);
put:
	module_put(module);
	return err;
}

/* Note the result of a request.  Return 0, or an error after logging it */
static int note_result(const struct sbuf_probe_request *request, int err)
{
	static const struct sbuf_reason reason[] = {
		{ -ENOENT,
		  "no such event: see /sys/kernel/tracing/events; its module must be loaded"
		},
		{ -ENOTTY,
		  "the event has no tracepoint of its own: for a system call there is t:raw_syscalls:sys_enter"
		},
		{ -ENOTUNIQ, "several modules have an event of this name: t:GROUP:EVENT" },
		{ -EDESTADDRREQ,
		  "this kernel checks indirect calls: its group is needed, and its module loaded: t:GROUP:EVENT"
		},
		{ -EPERM, SBUF_WOULD_STOP },
		{ }
	};

	if (err)
		return sbuf_refuse_error(request, reason, err);
	sbuf_probe_set(request->probe, 0, 1);
	return 0;
}

int sbuf_tracepoint_set_in(const struct sbuf_probe_request *request, const struct module *module)
{
	struct sbuf_tracepoint *of = &sbuf_place_of(request->probe)->tracepoint;
	int err = -ENOENT;

	/* Other modules may have events with this name, in other groups */
	if (!request->group || of->module == module_hash(module))
		err = attach(of, request->event, NULL, module);
	/* With -ENOENT the tracepoint is in another module */
	return err == -ENOENT ? 0 : note_result(request, err);
}

static int set_tracepoint(struct sbuf_probe_request *request, u8 list)
{
	struct stackbuf_probe *probe = request->probe;
	union sbuf_place *place;

	WRITE_ONCE(probe->how, SBUF_TRACEPOINT | sbuf_request_flags(request));
	place = sbuf_place_take(probe, STACKBUF_PROBE_BY_TRACEPOINT);
	return note_result(request, request->event_err ?:
			   attach(&place->tracepoint, request->event, request->event_file, NULL));
}

/* ---------------------------------------------------------------- removal --- */

static void remove_tracepoints(const struct module *module, unsigned long state)
{
	struct stackbuf_probe *probe;
	unsigned int n = 0;

	lockdep_assert_held(&sbuf_probe_mutex);
	for (probe = sbuf_probe_next(NULL); probe; probe = sbuf_probe_next(probe)) {
		struct sbuf_tracepoint *of = &sbuf_place_of(probe)->tracepoint;

		if (!sbuf_probe_is_set(probe, STACKBUF_PROBE_BY_TRACEPOINT) ||
		    (module ? !within_module((unsigned long)of->tracepoint, module) : probe->lists))
			continue;
		sbuf_tracepoint_detach(of);
		/* This state lasts until its handler has run for the last time */
		WRITE_ONCE(probe->state, STACKBUF_PROBE_NONE);
		n++;
	}
	if (!n)
		return;
	tracepoint_synchronize_unregister();
	for (probe = sbuf_probe_next(NULL); probe; probe = sbuf_probe_next(probe))
		if (probe->state == STACKBUF_PROBE_NONE &&
		    probe->way == STACKBUF_PROBE_BY_TRACEPOINT)
			sbuf_probe_clear(probe);
}

const struct sbuf_way sbuf_tracepoint_way = {
	.set = set_tracepoint,
	.remove = remove_tracepoints,
};
