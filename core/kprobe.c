// SPDX-License-Identifier: GPL-2.0
/*
 * kprobe.c - probes at any instruction: offsets, addresses, a module's init code; and functions
 * that have no ftrace call site
 *
 * The kernel does not call a kprobe's handler inside that of another kprobe on the same CPU.  So a
 * probe on a function that the recorder calls is harmless: the kernel counts its hits as missed.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "hit.h"
#include "modules.h"
#include "probe_list.h"
#include "symbol.h"

static __no_stack_protector int handle_kprobe(struct kprobe *kprobe, struct pt_regs *regs)
{
	struct stackbuf_probe *probe = container_of(kprobe, struct sbuf_kprobe, kprobe)->probe;
	unsigned long ip = instruction_pointer(regs), tag = 0;

	WRITE_ONCE(probe->missed, READ_ONCE(kprobe->nmissed));
	if (unlikely(!sbuf_probe_records(probe)))
		return 0;
	if (probe->tag == STACKBUF_PROBE_RETADDR)
		tag = sbuf_original_return(SBUF_STRIP(sbuf_arch_return_address(regs)),
					   sbuf_arch_call_key(regs));
	else if (probe->tag == STACKBUF_PROBE_SP)
		tag = kernel_stack_pointer(regs);
	else if (probe->tag)
		tag = regs_get_kernel_argument(regs, probe->tag - 1);
	/* As before the probed instruction, however the kernel implements the probe */
	instruction_pointer_set(regs, (unsigned long)kprobe->addr);
	sbuf_hit(probe, probe->role, &(const struct sbuf_save) {
		.from = SBUF_REGS, .regs = regs, .tag = tag, .flags = READ_ONCE(probe->how),
		.context = sbuf_kprobe_context(kprobe, regs),
	}, sbuf_hit_value(probe, regs), NULL);
	instruction_pointer_set(regs, ip);
	return 0;
}

NOKPROBE_SYMBOL(handle_kprobe);

static int refuse_kprobe(const struct sbuf_probe_request *request, int err)
{
	static const struct sbuf_reason reason[] = {
		{ -ENOENT, "no such function; if it is inlined, probe a caller" },
		{ -EILSEQ, "no instruction begins there" },
		{ -EINVAL, "the kernel allows no probe there (blacklisted or data)" },
		{ -EOPNOTSUPP, "this kernel has no kprobes" },
		{ }
	};

	if (err == -ENOENT && !request->function[0])
		return sbuf_refuse(request, "no such function");
	return sbuf_refuse_error(request, reason, err);
}

/*
 * Refuse an offset past the end of the function at @start: the kernel would accept it and probe
 * the code after the function.
 */
static int check_offset(const struct sbuf_probe_request *request, unsigned long start)
{
	struct sbuf_symbol symbol;

	if (request->offset && sbuf_symbol_at(&symbol, start) && request->offset >= symbol.size)
		return sbuf_refuse(request, "the function has 0x%lx bytes: give a smaller offset",
				   symbol.size);
	return 0;
}

/* Return true if the probe is in the resolved function: its module may have been unloaded since */
static bool is_in_place(const struct sbuf_probe_request *request, const struct kprobe *kprobe)
{
	struct sbuf_symbol symbol;

	return sbuf_symbol_at(&symbol, (unsigned long)kprobe->addr) &&
	       symbol.start == request->addr && symbol.of_module;
}

/* Check where the kernel has set the probe, before its list records */
static int check_kprobe(const struct sbuf_probe_request *request, const struct kprobe *kprobe)
{
	if (request->tag && !(kprobe->flags & (KPROBE_FLAG_ON_FUNC_ENTRY | KPROBE_FLAG_FTRACE)))
		return sbuf_refuse(request, "arguments are known only at the beginning of a function");
	if (request->module && !is_in_place(request, kprobe))
		return refuse_kprobe(request, -ENOENT);
	/* Without an address, only the kernel's lookup found the function */
	return request->addr ? 0 :
	       check_offset(request, (unsigned long)kprobe->addr - request->offset);
}

/* In one call, as each call waits for a grace period */
static void unregister(struct kprobe **kprobe, unsigned int n)
{
	unregister_kprobes(kprobe, n);
	/* The kernel clears it if it failed: ftrace, which calls some kprobes, may have died */
	while (n-- > 0)
		if (!kprobe[n]->addr)
			sbuf_probe_note_stuck();
}

static int set_kprobe(struct sbuf_probe_request *request, u8 list)
{
	struct stackbuf_probe *probe = request->probe;
	struct kprobe *kprobe;
	bool ours;
	int err = check_offset(request, request->addr);

	if (err)
		return err;
	/* It may be hit at once.  Without SBUF_PROBED a hit is saved like any other registers */
	WRITE_ONCE(probe->how, sbuf_request_flags(request));
	kprobe = &sbuf_place_take(probe, STACKBUF_PROBE_BY_KPROBE)->kprobe.kprobe;
	if (!request->addr && request->module)
		return refuse_kprobe(request, -ENOENT);
	kprobe->pre_handler = handle_kprobe;
	kprobe->offset = request->offset;
	kprobe->addr = (void *)request->addr;
	kprobe->symbol_name = request->addr ? NULL : request->function;
	err = register_kprobe(kprobe);
	kprobe->symbol_name = NULL;
	/*
	 * 7.1 reports success where it could not arm the kprobe, which it then does not know.  It
	 * does know one whose code has gone since
	 */
	if (!err && enable_kprobe(kprobe)) {
		unregister_kprobe(kprobe);
		err = -ENODEV;
	}
	/* The name matched only a function of ours */
	ours = !request->addr && sbuf_modules_is_our_code((unsigned long)kprobe->addr);
	if (err)
		return refuse_kprobe(request, ours ? -ENOENT : err);
	err = ours ? refuse_kprobe(request, -ENOENT) : check_kprobe(request, kprobe);
	if (err) {
		unregister(&kprobe, 1);
		return err;
	}
	/* Here and not in handle_kprobe(), as looking up a module's symbols is slow */
	WRITE_ONCE(probe->how, probe->how | SBUF_PROBED |
		   (sbuf_symbol_is_entry((unsigned long)kprobe->addr) ? SBUF_ENTRY : 0));
	sbuf_probe_set(probe, (unsigned long)kprobe->addr, 1);
	return 0;
}

/*
 * Kprobes' notifier has marked those in init code that is being freed as gone, except one that was
 * registered at this moment
 */
static bool is_leaving(struct kprobe *kprobe, const struct module *module, unsigned long state)
{
	const unsigned long addr = (unsigned long)kprobe->addr;

	return within_module_init(addr, module) ||
	       (state == MODULE_STATE_GOING ? within_module(addr, module) : kprobe_gone(kprobe));
}

static void remove_kprobes(const struct module *module, unsigned long state)
{
	/* Under sbuf_probe_mutex */
	static struct kprobe *set[STACKBUF_PROBES_MAX];
	struct stackbuf_probe *probe;
	unsigned int n = 0;

	lockdep_assert_held(&sbuf_probe_mutex);
	for (probe = sbuf_probe_next(NULL); probe; probe = sbuf_probe_next(probe)) {
		struct kprobe *kprobe = &sbuf_place_of(probe)->kprobe.kprobe;

		if (sbuf_probe_is_set(probe, STACKBUF_PROBE_BY_KPROBE) &&
		    (module ? is_leaving(kprobe, module, state) : !probe->lists))
			set[n++] = kprobe;
	}
	unregister(set, n);
	/*
	 * Clear only these.  Probes in another module's init code may be gone as well, and stay
	 * in the kernel's list until sbuf_probe_module() is called for that module.
	 */
	while (n-- > 0)
		sbuf_probe_clear(container_of(set[n], struct sbuf_kprobe, kprobe)->probe);
}

#ifdef CONFIG_ARM64
/*
 * With sbuf_probe_mutex, or with preemption off: unregistering a kprobe waits for a grace period,
 * and only then its entry may be taken for another place
 */
u32 sbuf_kprobe_replaced(const u32 *at)
{
	struct stackbuf_probe *probe;

	for (probe = sbuf_probe_next(NULL); probe; probe = sbuf_probe_next(probe)) {
		const struct kprobe *kprobe = &sbuf_place_of(probe)->kprobe.kprobe;

		if (sbuf_probe_is_set(probe, STACKBUF_PROBE_BY_KPROBE) &&
		    READ_ONCE(kprobe->addr) == at)
			return READ_ONCE(kprobe->opcode);
	}
	return 0;
}

NOKPROBE_SYMBOL(sbuf_kprobe_replaced);
#endif

static unsigned long missed_by_kprobe(const struct stackbuf_probe *probe)
{
	return READ_ONCE(sbuf_place_of(probe)->kprobe.kprobe.nmissed);
}

#if SBUF_HAVE_TRAMPOLINE
/* Registering a kprobe looks the address up, even if it is refused.  It is never armed */
static unsigned long __init address_of(const char *name)
{
	struct kprobe kprobe = { .symbol_name = name, .flags = KPROBE_FLAG_DISABLED };

	if (!register_kprobe(&kprobe))
		unregister_kprobe(&kprobe);
	return (unsigned long)kprobe.addr;
}

void __init sbuf_kprobe_init(void)
{
	sbuf_trampoline = IS_ENABLED(CONFIG_RETHOOK) ? address_of("arch_rethook_trampoline") :
			  address_of("__kretprobe_trampoline") ?: address_of("kretprobe_trampoline");
	if (IS_ENABLED(CONFIG_FUNCTION_GRAPH_TRACER))
		sbuf_graph_trampoline = address_of("return_to_handler");
}
#endif

const struct sbuf_way sbuf_kprobe_way = {
	.set = set_kprobe,
	.remove = remove_kprobes,
	.missed = missed_by_kprobe,
};
