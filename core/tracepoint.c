// SPDX-License-Identifier: GPL-2.0
/*
 * tracepoint.c - probes on tracepoints
 *
 * The same functions are registered for all tracepoints, whose own types differ: the calling
 * conventions of x86-64 and arm64 have integers and pointers in registers, in order, whatever their
 * types, and the caller frees what it put on the stack.  A kernel that checks indirect calls
 * (CONFIG_CFI_CLANG, since 6.18 CONFIG_CFI) stops at a call of a function of another type, so there
 * it is not done.  From 6.5 on each tracepoint has an empty function of its type, probestub, which
 * is registered with our data as its first argument, and ftrace is attached to that.  Before,
 * events have such a function, class->probe, which writes them to a trace file: it is registered
 * with a file of ours that is switched off, so that it returns at once
 * (trace_trigger_soft_disabled(), which reads the file's flags alone), and has a kprobe, as it is
 * notrace.  A counter of perf's would be of the right type, too, but misses without a word what
 * comes inside of another's handler (perf_swevent_get_recursion_context()).
 *
 * The place of a tracepoint calls its iterator, which calls all functions that are registered; on
 * x86-64 it calls the only one directly if there is no other (tracepoint_update_call()).  The
 * iterator is no frame of the place, and left out of traces.
 */
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/preempt.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "call.h"
#include "function.h"
#include "modules.h"
#include "probe.h"
#include "tracepoint.h"

#if IS_ENABLED(CONFIG_TRACEPOINTS) && IS_ENABLED(CONFIG_EVENT_TRACING)

/* Inside of a walk of ours, as lock_acquire may be: each would come by there again */
static __always_inline bool is_in_walk(const struct sbuf_cpu *cpu, enum stackbuf_context context)
{
	int nest = READ_ONCE(cpu->nest);

	return unlikely(nest > 0 && nest <= SBUF_NESTING &&
			READ_ONCE(cpu->scratch[nest - 1].walks_in) == 1 + context);
}

#if SBUF_EVENTS_BY_REGS

static void lose_event(const struct sbuf_event_probe *of)
{
	sbuf_count(STACKBUF_LOST_NESTED);
	if (of->probe->role == STACKBUF_TRIGGERS)
		sbuf_filter_trigger(sbuf_probe_number(of->probe));
	else
		sbuf_pair_lost(of->probe, 1);
}

NOKPROBE_SYMBOL(lose_event);

/*
 * Save the stack from the registers at the beginning of a function of the tracepoint's type.  They
 * may be those of @cpu and @context already
 */
static __always_inline void save_event(const struct sbuf_event_probe *of, struct pt_regs *regs,
				       struct pt_regs *at, enum stackbuf_context context)
{
	unsigned int flags = READ_ONCE(of->probe->how);
	unsigned long tag = 0, value = 0;

	if (of->probe->tag)
		tag = regs_get_kernel_argument(regs, of->probe->tag);
	if (of->probe->value & SBUF_VALUE_ARGUMENT)
		value = regs_get_kernel_argument(regs, of->probe->value & SBUF_VALUE_ARGUMENT);
	sbuf_arch_regs_of_caller(at, regs);
	if (instruction_pointer(at) - of->iterator <= of->size) {
#if SBUF_HAVE_RECORDS
		const unsigned long *record = (const unsigned long *)*sbuf_arch_saved_bp(at);

		*(unsigned long *)sbuf_arch_saved_bp(at) = record[0];
		at->sp = sbuf_caller_sp(record);
		instruction_pointer_set(at, SBUF_STRIP(record[1]));
#else
		flags |= SBUF_SKIP;
#endif
	}
	sbuf_hit(of->probe, &(const struct sbuf_save) {
		.from = SBUF_REGS, .regs = at, .tag = tag, .flags = flags, .context = context,
	}, value);
}
#endif

#if !SBUF_CHECKED_CALLS
/* Return as sbuf_save(): 0 for what is lost */
static __always_inline s64 save_event(const struct sbuf_event_probe *of, unsigned long tag,
				      const unsigned long *frame)
{
	const struct sbuf_cpu *cpu = raw_cpu_ptr(sbuf_cpu);
	enum stackbuf_context context = sbuf_context_of(preempt_count());
	unsigned int flags = READ_ONCE(of->probe->how);

	if (is_in_walk(cpu, context)) {
		sbuf_count(STACKBUF_LOST_NESTED);
		return 0;
	}
	if (SBUF_STRIP(frame[1]) - of->iterator <= of->size) {
		/* A walk that follows records may begin one further out */
		if (SBUF_HAVE_RECORDS)
			frame = (const unsigned long *)frame[0];
		else
			flags |= SBUF_SKIP;
	}
	return sbuf_save(&(const struct sbuf_save) {
		.from = SBUF_FRAME, .frame = frame, .tag = tag, .flags = flags, .context = context,
	});
}

/* Apart, so that a walk leaves out this frame */
static noinline void save_alone(const struct sbuf_event_probe *of, unsigned long tag,
				const unsigned long *frame)
{
	if (SBUF_EVENTS_PREEMPTIBLE)
		preempt_disable_notrace();
	if (likely(sbuf_probe_records(of->probe)))
		save_event(of, tag, frame);
	if (SBUF_EVENTS_PREEMPTIBLE)
		preempt_enable_notrace();
}

NOKPROBE_SYMBOL(save_alone);

/* @arg: the arguments, counted from 1; what has the number 0 is none, and 0 */
static noinline void save_for_role(const struct sbuf_event_probe *of, const unsigned long *frame,
				   const unsigned long *arg)
{
	const struct stackbuf_probe *probe = of->probe;
	const struct sbuf_event_probe *closer;
	unsigned long key = arg[probe->tag];

	if (SBUF_EVENTS_PREEMPTIBLE)
		preempt_disable_notrace();
	if (likely(sbuf_probe_records(probe))) {
		sbuf_hit_role(probe, key, arg[probe->value & SBUF_VALUE_ARGUMENT],
			      sbuf_hit_is_event(probe) ? save_event(of, key, frame) : 0);
		closer = READ_ONCE(of->closer);
		if (closer)
			sbuf_pair_close(closer->probe, arg[closer->probe->tag],
					arg[closer->probe->value & SBUF_VALUE_ARGUMENT], 0);
	}
	if (SBUF_EVENTS_PREEMPTIBLE)
		preempt_enable_notrace();
}

NOKPROBE_SYMBOL(save_for_role);

static noinline __no_stack_protector void handle_role(void *of, unsigned long arg1,
						      unsigned long arg2, unsigned long arg3,
						      unsigned long arg4, unsigned long arg5)
{
	const unsigned long arg[] = { 0, arg1, arg2, arg3, arg4, arg5 };

	save_for_role(of, __builtin_frame_address(0), arg);
}

NOKPROBE_SYMBOL(handle_role);

/* What is registered: a function for each argument that may be the tag */
#define HANDLER(name, tag)								\
static noinline __no_stack_protector void name(void *of, unsigned long arg1,	\
					       unsigned long arg2, unsigned long arg3,	\
					       unsigned long arg4, unsigned long arg5)	\
{											\
	save_alone(of, tag, __builtin_frame_address(0));				\
}

HANDLER(handle_event, 0)
HANDLER(handle_arg1, arg1)
HANDLER(handle_arg2, arg2)
HANDLER(handle_arg3, arg3)
HANDLER(handle_arg4, arg4)
HANDLER(handle_arg5, arg5)

NOKPROBE_SYMBOL(handle_event);
NOKPROBE_SYMBOL(handle_arg1);
NOKPROBE_SYMBOL(handle_arg2);
NOKPROBE_SYMBOL(handle_arg3);
NOKPROBE_SYMBOL(handle_arg4);
NOKPROBE_SYMBOL(handle_arg5);

static void *const handler[SBUF_EVENT_ARGUMENTS + 1] = {
	handle_event, handle_arg1, handle_arg2, handle_arg3, handle_arg4, handle_arg5,
};

static inline void *handler_of(const struct sbuf_event_probe *of)
{
	return of->probe->role ? (void *)handle_role : handler[of->probe->tag];
}

/*
 * The probe that was attached last of those that open.  Where its tracepoint closes as well, as
 * sched_switch does for times off CPU, its handler does both: a handler less, and no iterator, are
 * 90 instructions.  A pair's probes come and go together.  Under probe_mutex
 */
static struct sbuf_event_probe *opener;

static int attach(struct sbuf_event_probe *of, const struct trace_event_file *file)
{
	const struct stackbuf_probe *probe = of->probe;
	int err;

	/* A probe that comes again with its module may find its pair in another order */
	of->opener = NULL;
	of->closer = NULL;
	if (opener && opener->tracepoint == of->tracepoint && !opener->closer &&
	    opener->probe->pair == probe->pair && probe->role == STACKBUF_PAIR_CLOSES &&
	    !sbuf_hit_is_event(probe)) {
		of->opener = opener;
		/* P2: all that the handler reads of it is set */
		smp_store_release(&opener->closer, of);
		return 0;
	}
	err = tracepoint_probe_register(of->tracepoint, handler_of(of), of);
	if (!err && probe->role == STACKBUF_PAIR_OPENS)
		opener = of;
	return err;
}

void sbuf_tracepoint_remove(struct sbuf_event_probe *of)
{
	if (of->opener) {
		/* Unless that has gone before */
		if (of->opener->closer == of)
			WRITE_ONCE(of->opener->closer, NULL);
		return;
	}
	if (opener == of)
		opener = NULL;
	tracepoint_probe_unregister(of->tracepoint, handler_of(of), of);
}

#elif SBUF_EVENTS_BY_STUB

static void handle_stub(unsigned long site, unsigned long parent, struct ftrace_ops *ops,
			struct ftrace_regs *fregs)
{
	struct sbuf_event_probe *of = (void *)ftrace_regs_get_argument(fregs, 0);
	struct sbuf_call call;
	struct pt_regs *at;

	/* The kernel's own probes register stubs, too */
	if (unlikely(!sbuf_probe_owns(of) || !sbuf_probe_records(of->probe)))
		return;
	if (unlikely(!sbuf_call_begin(&call))) {
		sbuf_add(&of->probe->missed, 1);
		return;
	}
	at = &call.cpu->call_regs[call.level];
	if (is_in_walk(call.cpu, call.context))
		lose_event(of);
	else
		save_event(of, SBUF_REGS_AT_CALL(fregs, at), at, call.context);
	sbuf_call_end(&call);
}

NOKPROBE_SYMBOL(handle_stub);

static struct ftrace_ops stub_ops = { .func = handle_stub, .flags = FTRACE_OPS_FL_PERMANENT };
/* Those that are attached, in no order.  Under probe_mutex */
static struct sbuf_event_probe *attached;

static bool is_attached(unsigned long site)
{
	struct sbuf_event_probe *of = attached;

	while (of && of->site != site)
		of = of->next;
	return of;
}

static void leave_stub(struct sbuf_event_probe *of)
{
	struct sbuf_event_probe **at = &attached;

	while (*at != of)
		at = &(*at)->next;
	*at = of->next;
	/* An empty filter would mean all functions */
	if (!attached) {
		unregister_ftrace_function(&stub_ops);
		sbuf_ops_forget(&stub_ops);
	} else if (!is_attached(of->site)) {
		ftrace_set_filter_ip(&stub_ops, of->site, 1, 0);
	}
}

void sbuf_tracepoint_remove(struct sbuf_event_probe *of)
{
	tracepoint_probe_unregister(of->tracepoint, of->tracepoint->probestub, of);
	leave_stub(of);
}

static int attach(struct sbuf_event_probe *of, const struct trace_event_file *file)
{
	int err = 0;

	of->site = sbuf_arch_call_site((unsigned long)of->tracepoint->probestub);
	if (!of->site)
		return -EPERM;
	if (!is_attached(of->site))
		err = ftrace_set_filter_ip(&stub_ops, of->site, 0, 0);
	if (!err && !attached)
		err = register_ftrace_function(&stub_ops);
	if (err) {
		if (!attached)
			sbuf_ops_forget(&stub_ops);
		return err == -EINVAL ? -EPERM : err;
	}
	of->next = attached;
	attached = of;
	err = tracepoint_probe_register(of->tracepoint, of->tracepoint->probestub, of);
	if (err)
		leave_stub(of);
	return err;
}

#elif SBUF_EVENTS_BY_OWN

static int handle_own(struct kprobe *kprobe, struct pt_regs *regs)
{
	struct sbuf_event_probe *of = container_of(kprobe, struct sbuf_event_probe, kprobe);
	struct sbuf_cpu *cpu = this_cpu_ptr(sbuf_cpu);
	enum stackbuf_context context;

	/* Other events, and other files of this one, have the same function */
	if (regs_get_kernel_argument(regs, 0) != (unsigned long)&of->file)
		return 0;
	WRITE_ONCE(of->probe->missed, kprobe->nmissed);
	if (unlikely(!sbuf_probe_records(of->probe)))
		return 0;
	context = sbuf_kprobe_context(kprobe, regs);
	if (is_in_walk(cpu, context))
		lose_event(of);
	else
		save_event(of, regs, &cpu->call_regs[context], context);
	return 0;
}

NOKPROBE_SYMBOL(handle_own);

void sbuf_tracepoint_remove(struct sbuf_event_probe *of)
{
	void *own = of->file.event_call->class->probe;

	tracepoint_probe_unregister(of->tracepoint, own, &of->file);
	/* Of a call that has begun, before what it reads is used for something else */
	tracepoint_synchronize_unregister();
	unregister_kprobe(&of->kprobe);
	WRITE_ONCE(of->probe->missed, of->kprobe.nmissed);
}

static int attach(struct sbuf_event_probe *of, const struct trace_event_file *file)
{
	int err;

	if (!file)
		return -EDESTADDRREQ;
	/* Another module with that event has come meanwhile */
	if (file->event_call->tp != of->tracepoint)
		return -ENOENT;
	/* Its own way of being registered might mean another function */
	if (file->event_call->class->reg != trace_event_reg || !file->event_call->class->probe)
		return -EPERM;
	of->file.event_call = file->event_call;
	of->file.flags = EVENT_FILE_FL_SOFT_DISABLED;
	of->kprobe.addr = file->event_call->class->probe;
	of->kprobe.pre_handler = handle_own;
	err = register_kprobe(&of->kprobe);
	if (err)
		return err;
	err = tracepoint_probe_register(of->tracepoint, file->event_call->class->probe, &of->file);
	if (err)
		unregister_kprobe(&of->kprobe);
	return err;
}

#else

static inline int attach(struct sbuf_event_probe *of,
			 const struct trace_event_file *file) { return -EPERM; }

void sbuf_tracepoint_remove(struct sbuf_event_probe *of) { }

#endif

/* ----------------------------------------------------------------- search --- */

/**
 * struct search - for a tracepoint
 * @name:	its name
 * @found:	what was found
 */
struct search {
	const char *name;
	struct tracepoint *found;
};

static void match_tracepoint(struct tracepoint *tracepoint, void *arg)
{
	struct search *search = arg;

	if (!search->found && !strcmp(tracepoint->name, search->name))
		search->found = tracepoint;
}

/* The tracepoints of a module with any other of these are not announced */
#ifdef TAINT_TEST
#define GOOD_TAINTS	(BIT(TAINT_OOT_MODULE) | BIT(TAINT_CRAP) | BIT(TAINT_UNSIGNED_MODULE) | \
			 BIT(TAINT_TEST))
#else
#define GOOD_TAINTS	(BIT(TAINT_OOT_MODULE) | BIT(TAINT_CRAP) | BIT(TAINT_UNSIGNED_MODULE))
#endif

static void search_module(struct search *search, const struct module *module)
{
	unsigned int i;

	for (i = 0; i < module->num_tracepoints && !(module->taints & ~GOOD_TAINTS); i++)
		match_tracepoint(tracepoint_ptr_deref(&module->tracepoints_ptrs[i]), search);
}

/*
 * Search modules.  Return the module, with a reference, or NULL.  One that is being loaded is not
 * ready for it until it is announced: its static keys are not initialised, and if loading fails
 * before, nothing is said.
 */
static struct module *search_modules(struct search *search)
{
	const struct module *module = NULL;

	preempt_disable();
	while ((module = sbuf_modules_next(module))) {
		if (!sbuf_modules_is_one(module) || READ_ONCE(module->state) != MODULE_STATE_LIVE)
			continue;
		search_module(search, module);
		if (search->found && try_module_get((struct module *)module))
			break;
		search->found = NULL;
	}
	preempt_enable();
	return (struct module *)module;
}

int sbuf_tracepoint_find(const char *group, const char *event, struct trace_event_file **file)
{
	struct trace_event_file *found = trace_get_event_file(NULL, group, event);
	bool has;

	if (IS_ERR(found))
		return -ENOENT;
	has = found->event_call->flags & TRACE_EVENT_FL_TRACEPOINT && found->event_call->tp;
	if (has && SBUF_EVENTS_BY_OWN)
		*file = found;
	else
		trace_put_event_file(found);
	return has ? 0 : -ENOTTY;
}

int sbuf_tracepoint_set(struct sbuf_event_probe *of, const char *event,
			struct trace_event_file *file, const struct module *coming)
{
	struct search search = { .name = event };
	struct module *module = NULL;
	struct sbuf_symbol symbol;
	int err;

	if (coming)
		search_module(&search, coming);
	else
		for_each_kernel_tracepoint(match_tracepoint, &search);
	if (!coming && !search.found)
		module = search_modules(&search);
	if (!search.found)
		return -ENOENT;
	of->tracepoint = search.found;
	of->iterator = (unsigned long)search.found->iterator;
	of->size = sbuf_symbol_at(&symbol, of->iterator) ? symbol.size : 0;
	err = attach(of, file);
	module_put(module);
	return err;
}

/* ---------------------------------------------------------------- modules --- */

bool sbuf_tracepoint_is_in(const struct sbuf_event_probe *of, const struct module *module)
{
	unsigned int i;

	for (i = 0; i < module->num_tracepoints; i++)
		if (tracepoint_ptr_deref(&module->tracepoints_ptrs[i]) == of->tracepoint)
			return true;
	return false;
}

static int notify_tracepoints(struct notifier_block *block, unsigned long state, void *data)
{
	const struct tp_module *tracepoints = data;

	sbuf_probe_events(tracepoints->mod, state == MODULE_STATE_COMING);
	return NOTIFY_OK;
}

/* While a module goes, this one comes before the kernel checks that nothing is registered */
static struct notifier_block tracepoint_notifier = {
	.notifier_call = notify_tracepoints,
};

int __init sbuf_tracepoint_init(void)
{
	return register_tracepoint_module_notifier(&tracepoint_notifier);
}

void sbuf_tracepoint_exit(void)
{
	unregister_tracepoint_module_notifier(&tracepoint_notifier);
}

#endif
