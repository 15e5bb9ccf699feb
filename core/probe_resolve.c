// SPDX-License-Identifier: GPL-2.0
/*
 * probe_resolve.c - from the name of a probe to the address of its function
 *
 * A list may hold a thousand names, and the kernel has some 100,000 symbols.  So all names of
 * a list are resolved together, in one pass over the symbols.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/elf.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/string.h>
#include <linux/stringhash.h>

#include "modules.h"
#include "probe_resolve.h"
#include "symbol.h"
#include "tracepoint.h"

int sbuf_refuse(const struct sbuf_probe_request *request, const char *fmt, ...)
{
	struct va_format reason = { .fmt = fmt };
	va_list args;

	va_start(args, fmt);
	reason.va = &args;
	pr_err("probe: %.*s: %pV\n", (int)request->len, request->name, &reason);
	va_end(args);
	return -EINVAL;
}

struct sbuf_resolver *sbuf_resolver_create(unsigned int nr)
{
	struct sbuf_resolver *resolver = kvzalloc(struct_size(resolver, request, nr), GFP_KERNEL);

	if (resolver)
		resolver->nr = nr;
	return resolver;
}

/* Count the names between commas, without blanks around them; put them into @resolver if given */
static unsigned int split_list(const char *text, struct sbuf_resolver *resolver)
{
	unsigned int n = 0;

	for (;;) {
		size_t len = strcspn(text, ",\n"), skip = strspn(text, " \t"), used = len;

		while (used > skip && text[used - 1] == ' ')
			used--;
		if (used > skip) {
			if (resolver) {
				resolver->request[n].name = text + skip;
				resolver->request[n].len = used - skip;
			}
			n++;
		}
		if (!text[len])
			return n;
		text += len + 1;
	}
}

struct sbuf_resolver *sbuf_resolver_of_list(const char *text)
{
	struct sbuf_resolver *resolver = sbuf_resolver_create(split_list(text, NULL));

	if (resolver)
		split_list(text, resolver);
	return resolver;
}

static struct hlist_head *resolver_head(struct sbuf_resolver *resolver, const char *function,
					size_t len)
{
	u32 hash = full_name_hash(NULL, function, len);

	return &resolver->head[hash % ARRAY_SIZE(resolver->head)];
}

void sbuf_resolver_add(struct sbuf_resolver *resolver, struct sbuf_probe_request *request)
{
	hlist_add_head(&request->node,
		       resolver_head(resolver, request->function, strlen(request->function)));
}

/* [GROUP:]EVENT */
static int parse_event(struct sbuf_probe_request *request, char *text)
{
	char *colon = strchr(text, ':');

	request->event = text;
	if (colon) {
		*colon = '\0';
		request->group = text;
		request->event = colon + 1;
	}
	if (!text[0] || !request->event[0] || strpbrk(request->event, ":+ \t\"'*?[]{}()/\\"))
		return sbuf_refuse(request, "t:[GROUP:]EVENT is accepted, with @argN");
	return 0;
}

int sbuf_resolve_parse(struct sbuf_probe_request *request)
{
	char *text = request->text, *at, *plus, *colon;
	unsigned int n, most;
	bool event;

	if (request->len >= sizeof(request->text))
		return sbuf_refuse(request, "longer than %zu bytes: give the address, 0x...",
				   sizeof(request->text) - 1);
	memcpy(text, request->name, request->len);
	text[request->len] = '\0';
	event = !strncmp(text, "t:", 2) || !strncmp(text, "tracepoint:", 11);
	most = event ? SBUF_EVENT_ARGUMENTS : SBUF_ARGUMENTS;
	at = strchr(text, '@');
	if (at) {
		*at++ = '\0';
		if (!event && !strcmp(at, "retaddr")) {
			request->tag = STACKBUF_PROBE_RETADDR;
		} else if (!strncmp(at, "arg", 3) && !kstrtouint(at + 3, 10, &n) && n >= 1 &&
			   n <= most) {
			request->tag = n;
		} else {
			return sbuf_refuse(request,
					   "@arg1 to @arg%d%s is accepted, not @%s", most,
					   event ? "" : " or @retaddr", at);
		}
	}
	request->function = "";
	if (event)
		return parse_event(request, strchr(text, ':') + 1);
	if (!strncmp(text, "0x", 2)) {
		if (!kstrtoul(text, 16, &request->addr) && request->addr)
			return 0;
		return sbuf_refuse(request, "no address: 0x and hexadecimal digits are accepted");
	}
	plus = strchr(text, '+');
	if (plus) {
		*plus++ = '\0';
		if (kstrtouint(plus, 0, &request->offset))
			return sbuf_refuse(request, "no offset: FUNCTION+NUMBER is accepted, up to 0xffffffff");
	}
	/* A ".cold" part is entered by a jump from the middle of its function */
	if (request->tag && (request->offset || strstr(text, ".cold")))
		return sbuf_refuse(request, "@%s is known at a function's beginning only", at);
	request->function = text;
	colon = strchr(text, ':');
	if (colon) {
		*colon = '\0';
		request->module = text;
		request->function = colon + 1;
	}
	if (!text[0] || !request->function[0] || strpbrk(request->function, ": \t\"'*?[]{}()/\\"))
		return sbuf_refuse(request, "[MODULE:]FUNCTION[+OFFSET] or 0xADDRESS is accepted, each with @argN or @retaddr");
	return 0;
}

/*
 * Is a function of @module, NULL for the kernel, one that the request names?  Our own are found by
 * their module's name only: those of other modules may have the same.
 */
static bool is_named(const struct sbuf_probe_request *request, const char *module)
{
	if (!request->module)
		return module != THIS_MODULE->name;
	return module && !strcmp(request->module, module);
}

/* Note in all requests for @function of @module that it is at @addr; @module NULL: the kernel */
static void note_match(struct sbuf_resolver *resolver, const char *module,
		       const char *function, size_t len, unsigned long addr)
{
	struct sbuf_probe_request *request;

	hlist_for_each_entry(request, resolver_head(resolver, function, len), node)
		if (!strcmp(request->function, function) && is_named(request, module)) {
			request->addr = addr;
			request->matches++;
		}
}

/*
 * Resolve functions of the kernel itself.  A module cannot ask kallsyms for all functions of a
 * name, but for the symbol at any address: so go from symbol to symbol through the kernel's
 * text, from a known function in both directions, up to data that follows the text.
 *
 * Of several symbols at one address this finds only the first.  register_probe() leaves the
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
		note_match(resolver, NULL, symbol.name, symbol.len, symbol.start);
		cond_resched();
	}
	for (addr = middle; sbuf_symbol_at(&symbol, addr - 1) && !symbol.of_module;
	     addr = symbol.start) {
		note_match(resolver, NULL, symbol.name, symbol.len, symbol.start);
		cond_resched();
	}
}

/* Symbols of a module to look at before preemption is enabled again: some 20 us */
#define SYMBOLS_AT_ONCE	256

/*
 * Enable preemption for a moment.  Return true if @module is still loaded and still has the same
 * @symbols; if not, nothing of either may be used.
 *
 * The caller holds probe_mutex.  Unloading a module, and replacing the symbols that it has
 * while it is loaded by those that it keeps, both wait for that mutex in sbuf_probe_module().  If
 * either had passed there before, the module's state or the pointer to its symbols shows it.
 * A module that fails early while it is loaded is not announced to sbuf_probe_module(): it is
 * removed from the list and freed after a grace period.
 */
static bool pause_walk(const struct module *module, const struct mod_kallsyms *symbols)
{
	const struct module *at;

	preempt_enable();
	cond_resched();
	preempt_disable();
	for (at = THIS_MODULE; at; at = sbuf_modules_next(at))
		if (at == module)
			return READ_ONCE(module->state) != MODULE_STATE_GOING &&
			       rcu_access_pointer(module->kallsyms) == symbols;
	return false;
}

/*
 * Resolve functions of a module.  Preemption is disabled by the caller, and enabled now and
 * then by pause_walk().  Return false if the module changed then.
 */
static bool resolve_in(struct sbuf_resolver *resolver, const struct module *module)
{
	const struct mod_kallsyms *symbols = rcu_dereference_sched(module->kallsyms);
	unsigned int i;

	for (i = 0; i < resolver->nr; i++) {
		struct sbuf_probe_request *request = &resolver->request[i];

		if (request->module && !strcmp(request->module, module->name))
			request->module_loaded = true;
	}
	for (i = 1; i < symbols->num_symtab; i++) {
		const typeof(symbols->symtab[0]) *symbol = &symbols->symtab[i];
		const char *name = symbols->strtab + symbol->st_name;

		if (symbol->st_shndx != SHN_UNDEF && strchr("tTwW", symbols->typetab[i]))
			note_match(resolver, module->name, name, strlen(name),
				   symbol->st_value);
		if (i % SYMBOLS_AT_ONCE == 0 && !pause_walk(module, symbols))
			return false;
	}
	return pause_walk(module, symbols);
}

void sbuf_resolve_in_module(struct sbuf_resolver *resolver, const struct module *module)
{
	preempt_disable();
	resolve_in(resolver, module);
	preempt_enable();
}

/* Resolve functions of all modules */
static void resolve_in_modules(struct sbuf_resolver *resolver)
{
	struct sbuf_probe_request *request, *end = sbuf_resolver_end(resolver);
	const struct module *module = THIS_MODULE;

	preempt_disable();
	while (module) {
		if (!sbuf_modules_is_one(module) ||
		    READ_ONCE(module->state) == MODULE_STATE_GOING ||
		    resolve_in(resolver, module)) {
			module = sbuf_modules_next(module);
			continue;
		}
		/* The module changed, so its place in the list is lost: start again */
		for (request = resolver->request; request < end; request++) {
			request->module_loaded = false;
			if (hlist_unhashed(&request->node))
				continue;
			request->addr = 0;
			request->matches = 0;
		}
		module = THIS_MODULE;
	}
	preempt_enable();
}

void sbuf_resolve(struct sbuf_resolver *resolver)
{
	bool in_kernel = false, in_modules = false;
	struct sbuf_probe_request *request;

	for (request = resolver->request; request < sbuf_resolver_end(resolver); request++) {
		if (request->probe || !request->function[0] || request->module)
			continue;
		sbuf_resolver_add(resolver, request);
		in_kernel = true;
	}
	if (in_kernel)
		resolve_in_kernel(resolver);
	/* A name without a module means the kernel's own function, if there is one */
	for (request = resolver->request; request < sbuf_resolver_end(resolver); request++) {
		if (request->probe || !request->function[0])
			continue;
		if (request->module)
			sbuf_resolver_add(resolver, request);
		else if (request->matches)
			hlist_del_init(&request->node);
		in_modules |= !request->matches;
	}
	if (in_modules)
		resolve_in_modules(resolver);
}
