// SPDX-License-Identifier: GPL-2.0
/*
 * probe_resolve.c - resolve the names of probes to the addresses of functions
 *
 * A list may hold a thousand names, and the kernel has some 100,000 symbols.  So all names in
 * a list are resolved together, in one pass over the symbols.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/elf.h>
#include <linux/glob.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/string.h>
#include <linux/stringhash.h>
#include <linux/uaccess.h>

#include "function.h"
#include "modules.h"
#include "probe_resolve.h"
#include "symbol.h"

void sbuf_resolver_add(struct sbuf_resolver *resolver, struct sbuf_probe_request *request)
{
	const char *name = request->function;

	if (request->pattern)
		hlist_add_head(&request->node, &resolver->patterns);
	else
		hash_add(resolver->functions, &request->node,
			 full_name_hash(NULL, name, strlen(name)));
}

/*
 * Return true if the request may name a function of @module, or of the kernel if that is NULL.
 * stackbuf's functions are found only with their module's name, as those of other modules may have
 * the same names.
 */
static bool is_named(const struct sbuf_probe_request *request, const struct module *module)
{
	if (!request->module)
		return !sbuf_modules_is_ours(module);
	return module && !strcmp(request->module, module->name);
}

/* Return true if a symbol of code is not a function, or only a part of one */
static bool is_no_function(const char *name)
{
	/* A module's kallsyms include what is_mapping_symbol() detects: "$x" on arm64 */
	return *name == '$' || strstr(name, ".cold") || !strncmp(name, "__pfx_", 6) ||
	       !strncmp(name, "__SCT__", 7) || !strncmp(name, "__cfi_", 6);
}

/*
 * Return where ftrace may attach, or 0; without ftrace, where a kprobe goes.  A symbol at the end
 * of the text may have no memory after it
 */
static unsigned long call_site(unsigned long start)
{
	u32 code[3];

	if (copy_from_kernel_nofault(code, (void *)start, sizeof(code)))
		return 0;
	return SBUF_HAVE_FUNCTIONS ? sbuf_arch_call_site(start) :
				     sbuf_arch_after_pad(start);
}

/*
 * Note in all requests for @function of @module, or of the kernel if that is NULL, that it is at
 * @addr.  A module's init code is freed soon: it takes only kprobes, and matches no pattern.
 */
static void note_match(struct sbuf_resolver *resolver, const struct module *module,
		       const char *function, size_t len, unsigned long addr)
{
	bool stays = !module || addr - SBUF_MODULE_TEXT(module) < SBUF_MODULE_TEXT_SIZE(module);
	struct sbuf_probe_request *request;

	hash_for_each_possible(resolver->functions, request, node,
			       full_name_hash(NULL, function, len))
		if (!strcmp(request->function, function) && is_named(request, module)) {
			request->addr = addr;
			request->site = stays ? call_site(addr) : 0;
			request->matches++;
		}
	if (!stays)
		return;
	hlist_for_each_entry(request, &resolver->patterns, node) {
		if (!glob_match(request->function, function) || !is_named(request, module) ||
		    sbuf_modules_is_ours(module) || is_no_function(function))
			continue;
		/* make_list() has limited the number of patterns, so there is room */
		if (WARN_ON_ONCE(resolver->matches == ARRAY_SIZE(resolver->match)))
			break;
		resolver->match[resolver->matches++] = (struct sbuf_match){
			request,
			sbuf_function_is_ours(function) ? 0 : call_site(addr),
		};
	}
}

/* Add the functions matched since the last call to the list of functions.  May sleep */
static void use_matches(struct sbuf_resolver *resolver)
{
	unsigned int i;

	for (i = 0; i < resolver->matches; i++) {
		const struct sbuf_match *match = &resolver->match[i];
		struct stackbuf_probe *probe = match->request->probe;

		match->request->matches++;
		cond_resched();
		if (!match->site || !sbuf_function_is_site(match->site)) {
			probe->left_out++;
			continue;
		}
		if (!resolver->err)
			resolver->err = sbuf_function_add(resolver->list, match->site, probe);
		probe->functions++;
	}
	resolver->matches = 0;
	cond_resched();
}

/*
 * Resolve functions of the kernel itself.  A module cannot ask kallsyms for all functions with a
 * name, only for the symbol at an address.  So walk the symbols of the kernel's text in both
 * directions, starting from a known function, up to the data that follows the text.
 *
 * If several symbols share an address, this finds only the first.  set_kprobe() leaves the
 * others to the kernel's own lookup by name.
 */
static void resolve_in_kernel(struct sbuf_resolver *resolver)
{
	const unsigned long middle = (unsigned long)stack_trace_save;
	const unsigned long end = (unsigned long)hex_asc;
	struct sbuf_symbol symbol;
	unsigned long addr;

	for (addr = middle; addr < end && sbuf_symbol_at(&symbol, addr) && !symbol.of_module;
	     addr = symbol.start + symbol.size) {
		/* Data follows */
		if (!strcmp(symbol.name, "_etext"))
			break;
		note_match(resolver, NULL, symbol.name, symbol.len, symbol.start);
		use_matches(resolver);
	}
	for (addr = middle; sbuf_symbol_at(&symbol, addr - 1) && !symbol.of_module;
	     addr = symbol.start) {
		note_match(resolver, NULL, symbol.name, symbol.len, symbol.start);
		use_matches(resolver);
	}
}

/* How many symbols of a module to look at with preemption disabled: some 20 us */
#define SYMBOLS_AT_ONCE	256

/*
 * Enable preemption for a moment.  Return true if @module is still loaded and still has the same
 * @symbols; otherwise neither may be used any more.
 *
 * The caller holds sbuf_probe_mutex.  Unloading a module, and replacing its symbols by the smaller
 * set that it keeps once it is loaded, both wait for that mutex in sbuf_probe_module().  If either
 * had already passed there, the module's state or its pointer to the symbols shows it.  A module
 * that fails early during loading is not reported to sbuf_probe_module(): it is removed from the
 * list and freed after a grace period.
 */
static bool pause_walk(struct sbuf_resolver *resolver, const struct module *module,
		       const struct mod_kallsyms *symbols)
{
	const struct module *at = NULL;

	preempt_enable();
	use_matches(resolver);
	preempt_disable();
	while ((at = sbuf_modules_next(at)))
		if (at == module)
			return READ_ONCE(module->state) != MODULE_STATE_GOING &&
			       rcu_access_pointer(module->kallsyms) == symbols;
	return false;
}

/*
 * Resolve functions of a module.  The caller disables preemption, and pause_walk() enables it now
 * and then.  Return false if the module changed in between.
 */
static bool resolve_in(struct sbuf_resolver *resolver, const struct module *module)
{
	const struct mod_kallsyms *symbols = rcu_dereference_sched(module->kallsyms);
	struct sbuf_probe_request *request;
	unsigned int i;

	for (request = resolver->request; request < sbuf_resolver_end(resolver); request++)
		if (request->module && !strcmp(request->module, module->name))
			request->module_loaded = true;
	for (i = 1; i < symbols->num_symtab; i++) {
		const typeof(symbols->symtab[0]) *symbol = &symbols->symtab[i];
		const char *name = symbols->strtab + symbol->st_name;

		if (symbol->st_shndx != SHN_UNDEF && strchr("tTwW", symbols->typetab[i]))
			note_match(resolver, module, name, strlen(name), symbol->st_value);
		/* Pause also if the matches of one more symbol might not fit */
		if ((i % SYMBOLS_AT_ONCE == 0 ||
		     resolver->matches + SBUF_PATTERNS_MAX > ARRAY_SIZE(resolver->match)) &&
		    !pause_walk(resolver, module, symbols))
			return false;
	}
	return pause_walk(resolver, module, symbols);
}

int sbuf_resolve_in_module(struct sbuf_resolver *resolver, const struct module *module)
{
	lockdep_assert_held(&sbuf_probe_mutex);
	preempt_disable();
	resolve_in(resolver, module);
	preempt_enable();
	return resolver->err;
}

/* Resolve functions of all modules.  Return false if one changed, so that the walk cannot resume */
static bool resolve_in_modules(struct sbuf_resolver *resolver)
{
	const struct module *module = NULL;
	bool whole = true;

	preempt_disable();
	while (whole && (module = sbuf_modules_next(module)))
		if (sbuf_modules_is_one(module) && sbuf_probe_may_be_in(module))
			whole = resolve_in(resolver, module);
	preempt_enable();
	return whole;
}

/* Resolve all fresh requests.  Return false if it must be called again */
static bool resolve_all(struct sbuf_resolver *resolver)
{
	struct sbuf_probe_request *request, *end = sbuf_resolver_end(resolver);
	bool in_kernel = false, in_modules = false;

	hash_init(resolver->functions);
	resolver->patterns.first = NULL;
	for (request = resolver->request; request < end; request++) {
		if (!request->fresh || !request->function[0])
			continue;
		request->module_loaded = false;
		request->addr = 0;
		request->site = 0;
		request->matches = 0;
		request->probe->functions = 0;
		request->probe->left_out = 0;
		INIT_HLIST_NODE(&request->node);
		if (request->module)
			continue;
		sbuf_resolver_add(resolver, request);
		in_kernel = true;
	}
	if (in_kernel)
		resolve_in_kernel(resolver);
	/* A name without a module means the kernel's own function, if there is one */
	for (request = resolver->request; request < end; request++) {
		if (!request->fresh || !request->function[0])
			continue;
		if (request->module)
			sbuf_resolver_add(resolver, request);
		else if (request->matches && !request->pattern)
			hlist_del_init(&request->node);
		in_modules |= !request->matches || request->pattern;
	}
	return !in_modules || resolve_in_modules(resolver);
}

int sbuf_resolve(struct sbuf_resolver *resolver)
{
	lockdep_assert_held(&sbuf_probe_mutex);
	/* Nothing is attached to the list's functions yet */
	while (!resolve_all(resolver) && !resolver->err)
		sbuf_functions_detach(resolver->list);
	return resolver->err;
}
