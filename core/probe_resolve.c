// SPDX-License-Identifier: GPL-2.0
/*
 * probe_resolve.c - from the name of a probe to the address of its function
 *
 * A list may hold a thousand names, and the kernel has some 100,000 symbols.  So all names of
 * a list are resolved together, in one pass over the symbols.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ctype.h>
#include <linux/elf.h>
#include <linux/glob.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/string.h>
#include <linux/stringhash.h>
#include <linux/uaccess.h>

#include "function.h"
#include "modules.h"
#include "pair.h"
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

struct sbuf_resolver *sbuf_resolver_create(unsigned int room)
{
	struct sbuf_resolver *resolver;

	return kvzalloc(struct_size(resolver, request, room), GFP_KERNEL);
}

/* Add a request, as @like but for its name */
static int add_request(struct sbuf_resolver *resolver, const char *name, unsigned int len,
		       const struct sbuf_probe_request *like)
{
	struct sbuf_probe_request *request = sbuf_resolver_end(resolver);

	*request = *like;
	request->name = name;
	request->len = len;
	if (resolver->nr == STACKBUF_PROBES_MAX) {
		sbuf_refuse(request, "no room: %d probes are the most", STACKBUF_PROBES_MAX);
		return -ENOSPC;
	}
	resolver->nr++;
	return 0;
}

/* Add requests, as @like, for the names up to @end, without blanks around them */
static int split_list(struct sbuf_resolver *resolver, const char *text, const char *end,
		      const char *separators, const struct sbuf_probe_request *like)
{
	int err = 0;

	while (text < end && !err) {
		const char *next = text, *last;

		while (next < end && !strchr(separators, *next))
			next++;
		while (text < next && (*text == ' ' || *text == '\t'))
			text++;
		for (last = next; last > text && last[-1] == ' '; last--)
			;
		err = last > text ? add_request(resolver, text, last - text, like) : 0;
		text = next + 1;
	}
	return err;
}

#if STACKBUF_PAIR_PAGES
/* Add the places of a pair, whose name is @text: those of an end are separated by blanks */
static int split_pair(struct sbuf_resolver *resolver, const char *text, unsigned int len)
{
	const char *preset = sbuf_pair_preset(text, len), *from = preset ?: text;
	const char *end = from + (preset ? strlen(preset) : len), *middle;
	/* Its number follows when the lock of probes is held */
	struct sbuf_probe_request like = {
		.pair = 1, .role = STACKBUF_PAIR_OPENS, .pair_name = text, .pair_len = len,
		.preset = preset,
	};
	int err;

	/* A place may have colons of its own, but none after what it has as its key */
	middle = memchr(from, preset ? '|' : '@', end - from);
	if (middle && !preset)
		middle = memchr(middle, ':', end - middle);
	if (!middle || !memchr(middle, '@', end - middle)) {
		pr_err("pair: %.*s: OPEN@KEY[@VALUE]:CLOSE@KEY, slab, page, offcpu or wakers is accepted\n",
		       (int)len, text);
		return -EINVAL;
	}
	err = split_list(resolver, from, middle, " ", &like);
	like.role = STACKBUF_PAIR_CLOSES;
	return err ?: split_list(resolver, middle + 1, end, " ", &like);
}

static int split_pairs(struct sbuf_resolver *resolver, const char *text)
{
	const char *end = text + strcspn(text, "\n"), *next;
	int err = 0;

	for (; text < end && !err; text = next + 1) {
		next = memchr(text, ',', end - text) ?: end;
		if (next > text)
			err = split_pair(resolver, text, next - text);
	}
	return err;
}
#else
static inline int split_pairs(struct sbuf_resolver *resolver, const char *text) { return -EINVAL; }
#endif

/* Places, and how many events come after a hit of one */
static int split_triggers(struct sbuf_resolver *resolver, const char *text)
{
	static const struct sbuf_probe_request like = { .role = STACKBUF_TRIGGERS };
	const char *end = text + strcspn(text, "\n"), *count, *digit;
	u64 events = 0;

	while (end > text && end[-1] == ' ')
		end--;
	for (count = end; count > text && isdigit(count[-1]); count--)
		;
	if (count > text && count < end && count[-1] == ':') {
		for (digit = count; digit < end && events <= U32_MAX; digit++)
			events = 10 * events + *digit - '0';
		if (count == text + 1 || events > U32_MAX) {
			pr_err("trigger: %.*s: PLACE[:EVENTS] is accepted\n", (int)(end - text),
			       text);
			return -EINVAL;
		}
		end = count - 1;
	}
	resolver->events = events;
	return split_list(resolver, text, end, ",", &like);
}

int sbuf_resolver_split(struct sbuf_resolver *resolver, const char *text)
{
	static const struct sbuf_probe_request like = {};

	if (resolver->of == SBUF_PAIRS)
		return split_pairs(resolver, text);
	if (resolver->of == SBUF_TRIGGERS)
		return split_triggers(resolver, text);
	resolver->add = text[0] == '+';
	text += resolver->add;
	return split_list(resolver, text, text + strlen(text), ",\n", &like);
}

static struct hlist_head *resolver_head(struct sbuf_resolver *resolver, const char *function,
					size_t len)
{
	u32 hash = full_name_hash(NULL, function, len);

	return &resolver->head[hash % ARRAY_SIZE(resolver->head)];
}

void sbuf_resolver_add(struct sbuf_resolver *resolver, struct sbuf_probe_request *request)
{
	hlist_add_head(&request->node, request->pattern ? &resolver->patterns :
		       resolver_head(resolver, request->function, strlen(request->function)));
}

/* Split [PREFIX:]NAME: return the name, and set *@prefix if there is one */
static const char *split_prefix(char *text, const char **prefix)
{
	char *name = text;

	strsep(&name, ":");
	if (name)
		*prefix = text;
	return name ?: text;
}

/* [GROUP:]EVENT */
static int parse_event(struct sbuf_probe_request *request, char *text)
{
	request->event = split_prefix(text, &request->group);
	if (!text[0] || !request->event[0] || strpbrk(request->event, ":+ \t\"'*?[]{}()/\\"))
		return sbuf_refuse(request, "t:[GROUP:]EVENT is accepted, with @argN");
	return 0;
}

/*
 * @argN: what the object that a pair opens is worth; how many an array closes.  @here: times are
 * those of the stack that closes.  The rest is for presets alone: an argument must be what they
 * take it for
 */
static int parse_value(struct sbuf_probe_request *request, const char *word, unsigned int most)
{
	static const struct { const char *word; u8 kind; } closes[] = {
		{ "here", SBUF_VALUE_HERE }, { "awake", SBUF_VALUE_AWAKE },
		{ "moved", SBUF_VALUE_MOVED },
	}, kinds[] = {
		{ "arg", 0 }, { "cache", SBUF_VALUE_CACHE }, { "order", SBUF_VALUE_ORDER },
		{ "preempted", SBUF_VALUE_PREEMPTED }, { "large", SBUF_VALUE_LARGE },
	};
	unsigned int i, n;

	for (i = 0; i < ARRAY_SIZE(closes) && request->role == STACKBUF_PAIR_CLOSES; i++) {
		if (strcmp(word, closes[i].word) || (i && !request->preset))
			continue;
		request->value = closes[i].kind;
		return 0;
	}
	for (i = 0; i < ARRAY_SIZE(kinds) && request->pair; i++) {
		size_t len = strlen(kinds[i].word);

		if (strncmp(word, kinds[i].word, len) || kstrtouint(word + len, 10, &n) || !n ||
		    n > most || (kinds[i].kind && !request->preset))
			continue;
		request->value = n | kinds[i].kind;
		return 0;
	}
	return sbuf_refuse(request, "only what opens and closes a pair takes a second @argN, and what closes @here");
}

int sbuf_resolve_parse(struct sbuf_probe_request *request)
{
	char *text = request->text, *at, *plus, *colon, *value;
	unsigned int n, most;
	bool event;

	if (request->len >= sizeof(request->text))
		return sbuf_refuse(request, "longer than %zu bytes: give the address, 0x...",
				   sizeof(request->text) - 1);
	memcpy(text, request->name, request->len);
	text[request->len] = '\0';
	event = !strncmp(text, "t:", 2) || !strncmp(text, "tracepoint:", 11);
	most = event ? SBUF_EVENT_ARGUMENTS : SBUF_ARGUMENTS;
	at = text;
	strsep(&at, "@");
	if (at) {
		value = at;
		strsep(&value, "@");
		if (value && parse_value(request, value, most))
			return -EINVAL;
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
	/* A count that is none looks as a function of a module does */
	colon = event ? NULL : strchr(text, ':');
	if (request->role == STACKBUF_TRIGGERS && colon && isdigit(colon[1]))
		return sbuf_refuse(request, "PLACE[:EVENTS] is accepted");
	if (request->pair && !request->tag)
		return sbuf_refuse(request, "what opens and closes a pair needs a key: @argN");
	request->function = "";
	if (event)
		return parse_event(request, strchr(text, ':') + 1);
	if (!strncmp(text, "0x", 2)) {
		if (!kstrtoul(text, 16, &request->addr) && request->addr)
			return 0;
		return sbuf_refuse(request, "no address: 0x and hexadecimal digits are accepted");
	}
	plus = text;
	strsep(&plus, "+");
	if (plus && kstrtouint(plus, 0, &request->offset))
		return sbuf_refuse(request, "no offset: FUNCTION+NUMBER is accepted, up to 0xffffffff");
	/* A ".cold" part is entered by a jump from the middle of its function */
	if (request->tag && (request->offset || strstr(text, ".cold")))
		return sbuf_refuse(request, "@%s is known at a function's beginning only", at);
	request->function = split_prefix(text, &request->module);
	request->pattern = strpbrk(request->function, "*?[");
	if (!text[0] || !request->function[0] ||
	    (request->module && strpbrk(request->module, " \t\"'*?[]{}()/\\")) ||
	    strpbrk(request->function, request->pattern ? ": \t\"'{}()/\\" : ": \t\"']{}()/\\") ||
	    (request->pattern && plus))
		return sbuf_refuse(request, "[MODULE:]FUNCTION[+OFFSET], [MODULE:]PATTERN or 0xADDRESS is accepted, each with @argN or @retaddr");
	return 0;
}

/*
 * Is a function of @module, NULL for the kernel, one that the request names?  Our own are found by
 * their module's name only: those of other modules may have the same.
 */
static bool is_named(const struct sbuf_probe_request *request, const struct module *module)
{
	if (!request->module)
		return !sbuf_modules_is_ours(module);
	return module && !strcmp(request->module, module->name);
}

/* Code that kallsyms has symbols for, but that is no function or a part of one only */
static bool is_no_function(const char *name)
{
	/* Of a module kallsyms has what is_mapping_symbol() knows, too: "$x" on arm64 */
	return *name == '$' || strstr(name, ".cold") || !strncmp(name, "__pfx_", 6) ||
	       !strncmp(name, "__SCT__", 7) || !strncmp(name, "__cfi_", 6);
}

/* Where ftrace may attach, or 0.  A symbol at the end of the text may have no memory behind it */
static unsigned long call_site(unsigned long start)
{
	u32 code[3];

	if (copy_from_kernel_nofault(code, (void *)start, sizeof(code)))
		return 0;
	return sbuf_arch_call_site(start);
}

/*
 * Note in all requests for @function of @module that it is at @addr; @module NULL: the kernel.
 * Code of a module's init, which goes soon, takes kprobes only, and no pattern.
 */
static void note_match(struct sbuf_resolver *resolver, const struct module *module,
		       const char *function, size_t len, unsigned long addr)
{
	bool stays = !module || addr - SBUF_MODULE_TEXT(module) < SBUF_MODULE_TEXT_SIZE(module);
	struct sbuf_probe_request *request;

	hlist_for_each_entry(request, resolver_head(resolver, function, len), node)
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
		/* make_list() has allowed no more patterns than there is room for */
		if (WARN_ON_ONCE(resolver->matches == ARRAY_SIZE(resolver->match)))
			break;
		resolver->match[resolver->matches++] = (struct sbuf_match){
			request,
			sbuf_function_is_ours(function) ? 0 : call_site(addr),
		};
	}
}

/* Add to the list of functions what was matched since the last time.  May sleep */
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
		/* What follows is data */
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
 * Resolve functions of a module.  Preemption is disabled by the caller, and enabled now and
 * then by pause_walk().  Return false if the module changed then.
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
		/* Or there may be no room for those of one more symbol */
		if ((i % SYMBOLS_AT_ONCE == 0 ||
		     resolver->matches + SBUF_PATTERNS_MAX > ARRAY_SIZE(resolver->match)) &&
		    !pause_walk(resolver, module, symbols))
			return false;
	}
	return pause_walk(resolver, module, symbols);
}

int sbuf_resolve_in_module(struct sbuf_resolver *resolver, const struct module *module)
{
	preempt_disable();
	resolve_in(resolver, module);
	preempt_enable();
	return resolver->err;
}

/* Resolve functions of all modules.  Return false if one changed, so that its place is lost */
static bool resolve_in_modules(struct sbuf_resolver *resolver)
{
	const struct module *module = NULL;
	bool whole = true;

	preempt_disable();
	while (whole && (module = sbuf_modules_next(module)))
		if (sbuf_modules_is_one(module) && READ_ONCE(module->state) != MODULE_STATE_GOING)
			whole = resolve_in(resolver, module);
	preempt_enable();
	return whole;
}

/* Resolve all that there is to be resolved, or return false to be called again */
static bool resolve_all(struct sbuf_resolver *resolver)
{
	struct sbuf_probe_request *request, *end = sbuf_resolver_end(resolver);
	bool in_kernel = false, in_modules = false;

	memset(resolver->head, 0, sizeof(resolver->head));
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
	unsigned int nr = sbuf_functions(resolver->list);

	while (!resolve_all(resolver) && !resolver->err)
		sbuf_functions_cut(resolver->list, nr);
	return resolver->err;
}
