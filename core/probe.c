// SPDX-License-Identifier: GPL-2.0
/*
 * probe.c - parameter probe: record the stack whenever a function is called
 *
 * Writing the parameter makes a new list of probes:
 *
 *  1. All names of the new list are resolved, and its new probes are set.
 *  2. sb_live_list changes: from this instant the new list records and the old one does not.
 *  3. Probes that are in the old list only are removed.
 *
 * On an error in step 1 its probes are removed again, and the old list was never interrupted.
 * A probe that is in both lists stays set throughout.
 *
 * Probes are kept in stackbuf_info together with their struct kprobe, so that a dump shows
 * them and the hits that the kernel missed.
 *
 * The kernel does not call a probe's handler inside another one on the same CPU.  So a probe
 * on a function that the recorder calls is harmless: the kernel counts its hits as missed.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "probe.h"
#include "save.h"

/* The bit of stackbuf_probe.lists that says: in the list that records.  A new list is the other */
static u8 sb_live_list = 0x1;
#define SB_BOTH_LISTS	0x3

/*
 * Covers the probes and what the parameter keeps, sb_insmod_list and sb_parameter.  Held while
 * a list is set, which takes seconds, and therefore not inside the lock of parameters: see
 * sb_lock_probes().  Nests inside the locks of module loading.
 */
static DEFINE_MUTEX(sb_probe_mutex);

/* Entry @i, or NULL after the last one */
static inline struct stackbuf_probe *sb_probe(unsigned int i)
{
	if (i >= STACKBUF_PROBES_MAX)
		return NULL;
	return &stackbuf_info.probe[i / STACKBUF_PAGE_PROBES].probe[i % STACKBUF_PAGE_PROBES];
}

static inline struct kprobe *sb_kprobe(struct stackbuf_probe *probe)
{
	return (struct kprobe *)probe->kprobe;
}

static inline struct stackbuf_probe *sb_probe_of(struct kprobe *kprobe)
{
	return container_of((void *)kprobe, struct stackbuf_probe, kprobe);
}

/* The last word of the last entry is part of the zero bytes after stackbuf_info */
static_assert(sizeof(struct kprobe) <= sizeof_field(struct stackbuf_probe, kprobe) - 8);
static_assert(__alignof__(struct kprobe) <= 8);

/*
 * Whether a breakpoint led here, whose handler runs like an NMI's: one level above the code.
 * The handlers of ftrace and of a jump (an optimised probe) run like the code.  A jump saves
 * registers right below the stack pointer (in 5.15 all but ss, in 6.1 with ss), where the
 * processor leaves a gap at a breakpoint.
 */
#ifdef CONFIG_X86_64
static inline bool sb_hit_by_breakpoint(const struct kprobe *kprobe, const struct pt_regs *regs)
{
	/* The optimiser changes flags concurrently, but never this one */
	return !(data_race(kprobe->flags) & KPROBE_FLAG_FTRACE) &&
	       (unsigned long)(regs + 1) != regs->sp && (unsigned long)&regs->ss != regs->sp;
}
#else
static inline bool sb_hit_by_breakpoint(const struct kprobe *kprobe, const struct pt_regs *regs)
{
	return false;
}
#endif

/* What the probed code runs in */
static inline enum stackbuf_context sb_probed_context(const struct kprobe *kprobe,
						      const struct pt_regs *regs)
{
	unsigned int count = preempt_count();

	if (sb_hit_by_breakpoint(kprobe, regs))
		count -= NMI_OFFSET + HARDIRQ_OFFSET;
	return sb_context_of(count);
}

static int sb_probe_hit(struct kprobe *kprobe, struct pt_regs *regs)
{
	struct stackbuf_probe *probe = sb_probe_of(kprobe);
	unsigned long ip = instruction_pointer(regs), tag = 0;

	/* A write of the parameter changes other bits concurrently, never that of the live list */
	if (unlikely(!(data_race(probe->lists) & READ_ONCE(sb_live_list))))
		return 0;
	if (probe->tag == STACKBUF_PROBE_RETADDR)
		tag = sb_return_address(regs);
	else if (probe->tag)
		tag = regs_get_kernel_argument(regs, probe->tag - 1);
	/* As before the probed instruction, whichever way the probe is set */
	instruction_pointer_set(regs, (unsigned long)kprobe->addr);
	sb_save(&(const struct sb_save) {
		.from = SB_REGS, .regs = regs, .tag = tag, .flags = READ_ONCE(probe->how),
		.context = sb_probed_context(kprobe, regs),
	});
	instruction_pointer_set(regs, ip);
	return 0;
}

NOKPROBE_SYMBOL(sb_probe_hit);

/* Mark the pages changed: an older copy of them in a memory image lacks the change */
static void sb_probes_changed(void)
{
	unsigned int i;

	for (i = 0; i < STACKBUF_PROBE_PAGES; i++)
		sb_page_changed(&stackbuf_info.probe[i].page);
}

/* ------------------------------------------------------------ set, remove --- */

/* Log one line for a probe that the kernel refused */
static int sb_explain(const struct sb_probe_request *request, int err)
{
	switch (err) {
	case -ENOENT:
		return sb_refuse(request, "no such function%s", request->function[0] ?
				 "; if it is inlined, probe a caller" : "");
	case -EILSEQ:
		return sb_refuse(request, "no instruction begins there");
	case -EINVAL:
		return sb_refuse(request, "the kernel allows no probe there (blacklisted or data)");
	case -EOPNOTSUPP:
		return sb_refuse(request, "this kernel has no kprobes");
	}
	sb_refuse(request, "the kernel refused it with error %d", err);
	return err;
}

/*
 * Refuse an offset after the end of the function at @start: the kernel would accept it and
 * probe what follows the function.
 */
static int sb_check_offset(const struct sb_probe_request *request, unsigned long start)
{
	struct sb_symbol symbol;

	if (request->offset && sb_symbol_at(&symbol, start) && request->offset >= symbol.size)
		return sb_refuse(request, "the function has 0x%lx bytes: give a smaller offset",
				 symbol.size);
	return 0;
}

/* Whether a probe was set in the function that was resolved: its module may be unloaded since */
static bool sb_is_in_place(const struct sb_probe_request *request)
{
	struct sb_symbol symbol;

	return sb_symbol_at(&symbol, (unsigned long)sb_kprobe(request->probe)->addr) &&
	       symbol.start == request->addr && symbol.of_module;
}

/*
 * Set the probe of a request that has been resolved and has an entry, or leave it pending if
 * its module is not loaded.  Return 0 or an error, which has been logged.
 */
static int sb_register(struct sb_probe_request *request)
{
	struct stackbuf_probe *probe = request->probe;
	struct kprobe *kprobe = sb_kprobe(probe);
	int err;

	/* Refused for new probes only: one that is set may stay, as it could not be set again */
	if (security_locked_down(LOCKDOWN_KPROBES)) {
		sb_refuse(request, "the kernel is locked down, which forbids probes");
		return -EPERM;
	}
	if (request->matches > 1)
		return sb_refuse(request,
				 "there are %u functions of that name: give the address, 0x...",
				 request->matches);
	if (within_module(request->addr, THIS_MODULE))
		return sb_refuse(request, "stackbuf does not probe itself");
	if (request->module && !request->module_loaded) {
		WRITE_ONCE(probe->state, STACKBUF_PROBE_PENDING);
		pr_info_ratelimited("probe: %s waits for a module %s\n", probe->name,
				    request->module);
		return 0;
	}
	err = request->addr ? sb_check_offset(request, request->addr) : 0;
	if (err)
		return err;
	/* It may hit at once.  Without SB_PROBED that is saved like any other registers */
	WRITE_ONCE(probe->how, request->tag ? SB_TAGGED : 0);
	memset(kprobe, 0, sizeof(probe->kprobe));
	kprobe->pre_handler = sb_probe_hit;
	kprobe->offset = request->offset;
	if (request->addr)
		kprobe->addr = (void *)request->addr;
	else if (!request->module)
		kprobe->symbol_name = request->function;
	else
		return sb_explain(request, -ENOENT);
	err = register_kprobe(kprobe);
	kprobe->symbol_name = NULL;
	if (err)
		return sb_explain(request, err);
	if (request->tag && !(kprobe->flags & (KPROBE_FLAG_ON_FUNC_ENTRY | KPROBE_FLAG_FTRACE)))
		err = sb_refuse(request, "arguments are known at a function's beginning only");
	else if (request->module && !sb_is_in_place(request))
		err = sb_explain(request, -ENOENT);
	else if (!request->addr)
		/* Only the kernel's lookup found the function.  Its list does not record yet */
		err = sb_check_offset(request, (unsigned long)kprobe->addr - request->offset);
	if (err) {
		unregister_kprobe(kprobe);
		return err;
	}
	/* Here and not in sb_probe_hit(), as looking up a module's symbols is slow */
	WRITE_ONCE(probe->how, probe->how | SB_PROBED |
		   (sb_is_entry((unsigned long)kprobe->addr) ? SB_ENTRY : 0));
	WRITE_ONCE(probe->addr, (unsigned long)kprobe->addr);
	WRITE_ONCE(probe->state, STACKBUF_PROBE_SET);
	return 0;
}

/* After unregister_kprobe(): the probe is pending until its module is loaded, or it is deleted */
static void sb_clear_kprobe(struct kprobe *kprobe)
{
	struct stackbuf_probe *probe = sb_probe_of(kprobe);

	stackbuf_info.missed_before += kprobe->nmissed;
	WRITE_ONCE(probe->state, STACKBUF_PROBE_PENDING);
	WRITE_ONCE(probe->addr, 0);
	memset(probe->kprobe, 0, sizeof(probe->kprobe));
}

/* Unregister all probes that are set and @obsolete */
static void sb_unregister(bool (*obsolete)(struct stackbuf_probe *probe))
{
	struct stackbuf_probe *probe;
	struct kprobe **set;
	unsigned int n = 0, i;

	/* All in one call, as each waits for a grace period; one by one if memory is short */
	set = kvmalloc_array(STACKBUF_PROBES_MAX, sizeof(*set), GFP_KERNEL);
	for (i = 0; (probe = sb_probe(i)); i++) {
		if (probe->state != STACKBUF_PROBE_SET || !obsolete(probe))
			continue;
		if (set) {
			set[n++] = sb_kprobe(probe);
			continue;
		}
		unregister_kprobe(sb_kprobe(probe));
		sb_clear_kprobe(sb_kprobe(probe));
	}
	if (n)
		unregister_kprobes(set, n);
	/*
	 * Clear these, and do not ask @obsolete again: it may now be true for probes in another
	 * module that is unloaded concurrently.  Those stay in the kernel's list until
	 * sb_probe_module() is called for that module.
	 */
	while (n > 0)
		sb_clear_kprobe(set[--n]);
	kvfree(set);
}

/* ------------------------------------------------------------------ lists --- */

static struct stackbuf_probe *sb_probe_named(const struct sb_probe_request *request)
{
	struct stackbuf_probe *probe;
	unsigned int i;

	for (i = 0; (probe = sb_probe(i)); i++)
		if (probe->name[0] && !strncmp(probe->name, request->name, request->len) &&
		    !probe->name[request->len])
			return probe;
	return NULL;
}

/* Give a new probe a free entry */
static int sb_take_entry(struct sb_probe_request *request, u8 lists)
{
	struct stackbuf_probe *probe;
	unsigned int i;

	for (i = 0; (probe = sb_probe(i)); i++) {
		if (probe->name[0])
			continue;
		memcpy(probe->name, request->name, request->len);
		probe->tag = request->tag;
		probe->lists = lists;
		request->probe = probe;
		return 0;
	}
	sb_refuse(request, "no room: %d probes are the most", STACKBUF_PROBES_MAX);
	return -ENOSPC;
}

/* Step 1: everything that is requested is in the list @next, and set or pending */
static int sb_make_list(struct sb_resolver *resolver, u8 next)
{
	struct sb_probe_request *request;
	int err;

	for (request = resolver->request; request < sb_resolver_end(resolver); request++) {
		err = sb_parse_probe(request);
		if (err)
			return err;
		request->probe = sb_probe_named(request);
	}
	sb_resolve(resolver);
	for (request = resolver->request; request < sb_resolver_end(resolver); request++) {
		/* In the old list, or named before in this one */
		request->probe = sb_probe_named(request);
		if (request->probe) {
			WRITE_ONCE(request->probe->lists, request->probe->lists | next);
			continue;
		}
		err = sb_take_entry(request, next);
		if (!err)
			err = sb_register(request);
		if (err)
			return err;
		cond_resched();
	}
	return 0;
}

static bool sb_is_unlisted(struct stackbuf_probe *probe)
{
	return !probe->lists;
}

/* Step 3: remove probes that are in no list, and free their entries */
static void sb_drop_unlisted(void)
{
	struct stackbuf_probe *probe;
	unsigned int i;

	sb_unregister(sb_is_unlisted);
	for (i = 0; (probe = sb_probe(i)); i++)
		if (!probe->lists)
			memset(probe, 0, sizeof(*probe));
	sb_probes_changed();
}

/* The caller holds sb_probe_mutex */
static int sb_write_list(const char *text)
{
	u8 old = sb_live_list, next = old ^ SB_BOTH_LISTS;
	bool add = text[0] == '+';
	struct stackbuf_probe *probe;
	struct sb_resolver *resolver;
	unsigned int i;
	int err;

	resolver = sb_resolver_of_list(text + add);
	if (!resolver)
		return -ENOMEM;

	if (add)
		for (i = 0; (probe = sb_probe(i)); i++)
			if (probe->lists)
				WRITE_ONCE(probe->lists, probe->lists | next);
	err = sb_make_list(resolver, next);
	if (!err)
		WRITE_ONCE(sb_live_list, next);
	for (i = 0; (probe = sb_probe(i)); i++)
		WRITE_ONCE(probe->lists, probe->lists & ~(err ? next : old));
	sb_drop_unlisted();
	kvfree(resolver);
	return err;
}

/* ---------------------------------------------------------------- modules --- */

static bool sb_is_gone(struct stackbuf_probe *probe)
{
	return kprobe_gone(sb_kprobe(probe));
}

static bool sb_is_pending(const struct stackbuf_probe *probe)
{
	return probe->state == STACKBUF_PROBE_PENDING || probe->state == STACKBUF_PROBE_REFUSED;
}

/* Set the probes that are pending for this module, whose code does not run yet */
static void sb_set_pending(const struct module *module)
{
	struct sb_probe_request *request;
	struct stackbuf_probe *probe;
	struct sb_resolver *resolver;
	unsigned int n = 0, i;

	for (i = 0; (probe = sb_probe(i)); i++)
		n += sb_is_pending(probe);
	if (!n)
		return;
	resolver = sb_resolver_create(n);
	if (!resolver) {
		pr_err("probe: no memory to set probes in %s\n", module->name);
		return;
	}
	request = resolver->request;
	for (i = 0; (probe = sb_probe(i)); i++) {
		if (!sb_is_pending(probe))
			continue;
		request->name = probe->name;
		request->len = strlen(probe->name);
		request->probe = probe;
		if (!sb_parse_probe(request) && request->function[0])
			sb_resolver_add(resolver, request);
		request++;
	}
	sb_resolve_in_module(resolver, module);
	for (request = resolver->request; request < sb_resolver_end(resolver); request++)
		if ((request->module_loaded || (!request->module && request->matches)) &&
		    sb_register(request))
			WRITE_ONCE(request->probe->state, STACKBUF_PROBE_REFUSED);
	kvfree(resolver);
}

static int sb_probe_module(struct notifier_block *block, unsigned long event, void *module)
{
	mutex_lock(&sb_probe_mutex);
	if (event == MODULE_STATE_COMING)
		sb_set_pending(module);
	else
		/* Kprobes' notifier has marked as gone all in the code that is being freed */
		sb_unregister(sb_is_gone);
	sb_probes_changed();
	mutex_unlock(&sb_probe_mutex);
	return NOTIFY_OK;
}

/* After kprobes' own, which learns what of a new module is blacklisted, and what is gone */
static struct notifier_block sb_probe_module_block = {
	.notifier_call = sb_probe_module,
	.priority = -1,
};

/* -------------------------------------------------------------- parameter --- */

/* What insmod was given: written before init, set by it */
static char *sb_insmod_list;

/* The parameter's file can be written before init and after exit */
static enum { SB_BEFORE_INIT, SB_OPEN, SB_CLOSED } sb_parameter;

/*
 * The kernel calls the functions of a parameter under one lock for all parameters of a module.
 * To set a list takes seconds, and "enable" must not wait for it: so release that lock, which
 * protects nothing here, for the time.  What callers rely on holds nevertheless:
 *
 * - The module and the written text stay: the caller has the parameter's file open, which
 *   removing the module waits for, or is loading the module.
 * - param_attr_store(), param_attr_show() and parse_one() (kernel/params.c) use nothing that
 *   the lock covers after the call; they only release it.
 * - sb_probe_mutex serialises calls for this parameter; calls for others use nothing that it
 *   covers.
 *
 * Never take the kernel's lock inside sb_probe_mutex.
 */
static void sb_lock_probes(void)
{
	kernel_param_unlock(THIS_MODULE);
	mutex_lock(&sb_probe_mutex);
}

static void sb_unlock_probes(void)
{
	mutex_unlock(&sb_probe_mutex);
	kernel_param_lock(THIS_MODULE);
}

static int sb_set_probe(const char *value, const struct kernel_param *param)
{
	int err = -ENODEV;

	if (!value)
		value = "";
	sb_lock_probes();
	if (sb_parameter == SB_OPEN) {
		err = sb_write_list(value);
	} else if (sb_parameter == SB_BEFORE_INIT) {
		kfree(sb_insmod_list);
		sb_insmod_list = kstrdup(value, GFP_KERNEL);
		err = sb_insmod_list ? 0 : -ENOMEM;
	}
	sb_unlock_probes();
	return err;
}

static int sb_get_probe(char *buffer, const struct kernel_param *param)
{
	struct stackbuf_probe *probe;
	int len = 0, cut = 0;
	unsigned int i;

	sb_lock_probes();
	for (i = 0; (probe = sb_probe(i)); i++) {
		if (!probe->name[0])
			continue;
		/* With a comma, a newline and the NUL */
		if (len + strlen(probe->name) + 3 > PAGE_SIZE) {
			len = cut + sysfs_emit_at(buffer, cut, ",...");
			break;
		}
		len += sysfs_emit_at(buffer, len, "%s%s", len ? "," : "", probe->name);
		/* The last place that leaves room for ",...", a newline and the NUL */
		if (len + 6 <= PAGE_SIZE)
			cut = len;
	}
	sb_unlock_probes();
	return len + sysfs_emit_at(buffer, len, "\n");
}

static void sb_free_probe(void *arg)
{
	kfree(sb_insmod_list);
}

const struct kernel_param_ops sb_probe_ops = {
	.set = sb_set_probe,
	.get = sb_get_probe,
	.free = sb_free_probe,
};

int __init sb_init_probe(void)
{
	int err;

	err = register_module_notifier(&sb_probe_module_block);
	if (err)
		return err;
	mutex_lock(&sb_probe_mutex);
	if (sb_insmod_list)
		err = sb_write_list(sb_insmod_list);
	sb_parameter = err ? SB_CLOSED : SB_OPEN;
	mutex_unlock(&sb_probe_mutex);
	if (err)
		unregister_module_notifier(&sb_probe_module_block);
	return err;
}

void sb_exit_probe(void)
{
	struct stackbuf_probe *probe;
	unsigned int i;

	unregister_module_notifier(&sb_probe_module_block);
	mutex_lock(&sb_probe_mutex);
	/* Not by sb_write_list(""), which needs memory and could fail */
	for (i = 0; (probe = sb_probe(i)); i++)
		WRITE_ONCE(probe->lists, 0);
	sb_drop_unlisted();
	sb_parameter = SB_CLOSED;
	mutex_unlock(&sb_probe_mutex);
}
