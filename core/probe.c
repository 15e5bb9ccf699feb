// SPDX-License-Identifier: GPL-2.0
/*
 * probe.c - parameter probe: record the stack whenever a function is called
 *
 * A write of the parameter makes a new list.  First all of it is looked up and
 * set, then the new list takes the old one's place at one instant, and last what
 * is in the old one only is removed.  If anything is wrong, what is new is
 * removed again and the old list never stopped.  What is in both stays as it is.
 *
 * Probes stand in stackbuf_info, the kernel's struct kprobe included, so that a
 * dump tells them and the hits that the kernel missed.
 *
 * The kernel does not run a probe's handler inside of another's on a CPU, so a
 * probe on what the recorder itself calls is harmless: such hits are missed, and
 * counted by the kernel.
 */

#define SB_PROBE_TEXT_MAX	4096	/* of a list that is written or read */

/* Bits of stackbuf_probe.lists: a list is made under the one that is not in force */
static u8 sb_list = 0x1;

/*
 * Covers the probes, and of their parameter sb_first_list and sb_probes.  Held for as long as
 * a list is set, hence not inside of the lock of parameters: sb_lock_probes().  Nests inside
 * of the locks of module loading.
 */
static DEFINE_MUTEX(sb_probe_mutex);

/* Number @i, or NULL behind the last */
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

/* The last word of the last one is the zero bytes behind the array */
static_assert(sizeof(struct kprobe) <= sizeof_field(struct stackbuf_probe, kprobe) - 8);
static_assert(__alignof__(struct kprobe) <= 8);

/*
 * What the probed code ran in.  A breakpoint's handler runs like an NMI's, one
 * level above the code.  A jump's (an optimised probe) and ftrace's run like the
 * code; a jump's is told by registers saved right below the stack pointer, where
 * the processor leaves a gap at a breakpoint.  In 5.15 a jump saves no ss, in 6.1 it does.
 */
static inline enum stackbuf_context sb_probed_context(const struct kprobe *kprobe,
						      const struct pt_regs *regs)
{
	unsigned int count = preempt_count();

#ifdef CONFIG_X86_64
	/* The optimiser changes flags meanwhile, but not those that are asked for here */
	if (!(data_race(kprobe->flags) & KPROBE_FLAG_FTRACE) &&
	    (unsigned long)(regs + 1) != regs->sp && (unsigned long)&regs->ss != regs->sp)
		count -= NMI_OFFSET + HARDIRQ_OFFSET;
#endif
	return sb_context_of(count);
}

/* What a copy of their pages in a memory image would not tell */
static void sb_probes_changed(void)
{
	unsigned int i;

	for (i = 0; i < STACKBUF_PROBE_PAGES; i++)
		sb_page_changed(&stackbuf_info.probe[i].page);
}

static int sb_probe_hit(struct kprobe *kprobe, struct pt_regs *regs)
{
	struct stackbuf_probe *probe = container_of((void *)kprobe, struct stackbuf_probe, kprobe);
	unsigned long ip = instruction_pointer(regs), tag = 0;

	/* Lists are made while probes hit; the bit in force stays what it is */
	if (unlikely(!(data_race(probe->lists) & READ_ONCE(sb_list))))
		return 0;
	if (probe->tag == STACKBUF_PROBE_RETADDR)
		tag = sb_return_address(regs);
	else if (probe->tag)
		tag = regs_get_kernel_argument(regs, probe->tag - 1);
	/* As if before the probed instruction, however the probe is made */
	instruction_pointer_set(regs, (unsigned long)kprobe->addr);
	sb_save_regs(regs, tag, READ_ONCE(probe->how), sb_probed_context(kprobe, regs));
	instruction_pointer_set(regs, ip);
	return 0;
}

NOKPROBE_SYMBOL(sb_probe_hit);

/* -------------------------------------------------------------- by name --- */

/**
 * struct sb_wanted - a probe that is being looked for
 * @name:	as it was given, up to @len
 * @len:	its length
 * @text:	a copy of it, taken apart
 * @function:	its function; "" for a bare address
 * @module:	the function's module; NULL for one of the kernel itself or, if that
 *		has none, of any module
 * @offset:	from the function's beginning
 * @addr:	the function's or the bare address; 0: not found
 * @found:	how many functions of that name there are
 * @loaded:	its module is there
 * @tag:	as in struct stackbuf_probe
 * @probe:	its place
 * @node:	in struct sb_names
 */
struct sb_wanted {
	const char *name;
	unsigned int len;
	char text[STACKBUF_PROBE_NAME];
	const char *function;
	const char *module;
	unsigned int offset;
	unsigned long addr;
	unsigned int found;
	bool loaded;
	u8 tag;
	struct stackbuf_probe *probe;
	struct hlist_node node;
};

/* All that are looked for, by hash of the function's name */
struct sb_names {
	struct hlist_head head[256];
	unsigned int nr;
	struct sb_wanted want[];
};

static __printf(2, 3) void sb_refuse(const struct sb_wanted *want, const char *fmt, ...)
{
	struct va_format why = { .fmt = fmt };
	va_list args;

	va_start(args, fmt);
	why.va = &args;
	pr_err("probe: %.*s: %pV\n", (int)want->len, want->name, &why);
	va_end(args);
}

static struct sb_names *sb_make_names(unsigned int nr)
{
	struct sb_names *names = kvzalloc(struct_size(names, want, nr), GFP_KERNEL);

	if (names)
		names->nr = nr;
	return names;
}

static struct hlist_head *sb_names_head(struct sb_names *names, const char *function,
					size_t len)
{
	return &names->head[full_name_hash(NULL, function, len) % ARRAY_SIZE(names->head)];
}

static void sb_look_for(struct sb_names *names, struct sb_wanted *want)
{
	hlist_add_head(&want->node, sb_names_head(names, want->function, strlen(want->function)));
}

/* Take a name apart; 0, or -EINVAL with a line in the log */
static int sb_parse_probe(struct sb_wanted *want)
{
	char *text = want->text, *at, *plus, *colon;
	unsigned int n;

	if (want->len >= sizeof(want->text)) {
		sb_refuse(want, "longer than %zu bytes: give the address, 0x...",
			  sizeof(want->text) - 1);
		return -EINVAL;
	}
	memcpy(text, want->name, want->len);
	text[want->len] = '\0';
	if (!strncmp(text, "t:", 2)) {
		sb_refuse(want, "tracepoints have no probes by name: probe a function that is called there, or register a probe of your own that calls stackbuf_save()");
		return -EINVAL;
	}
	at = strchr(text, '@');
	if (at) {
		*at++ = '\0';
		if (!strcmp(at, "retaddr")) {
			want->tag = STACKBUF_PROBE_RETADDR;
		} else if (!strncmp(at, "arg", 3) && !kstrtouint(at + 3, 10, &n) && n >= 1 &&
			   n <= SB_ARGUMENTS) {
			want->tag = n;
		} else {
			sb_refuse(want, "@arg1 to @arg%d or @retaddr is accepted, not @%s",
				  SB_ARGUMENTS, at);
			return -EINVAL;
		}
	}
	want->function = "";
	if (!strncmp(text, "0x", 2)) {
		if (!kstrtoul(text, 16, &want->addr) && want->addr)
			return 0;
		sb_refuse(want, "no address: 0x and hexadecimal digits are accepted");
		return -EINVAL;
	}
	plus = strchr(text, '+');
	if (plus) {
		*plus++ = '\0';
		if (kstrtouint(plus, 0, &want->offset)) {
			sb_refuse(want, "no offset: FUNCTION+NUMBER is accepted, up to 0xffffffff");
			return -EINVAL;
		}
	}
	/* What gcc split off is no function that is called */
	if (want->tag && (want->offset || strstr(text, ".cold"))) {
		sb_refuse(want, "@%s is known at a function's beginning only", at);
		return -EINVAL;
	}
	want->function = text;
	colon = strchr(text, ':');
	if (colon) {
		*colon = '\0';
		want->module = text;
		want->function = colon + 1;
	}
	if (!text[0] || !want->function[0] || strpbrk(want->function, ": \t\"'*?[]{}()/\\")) {
		sb_refuse(want, "[MODULE:]FUNCTION[+OFFSET] or 0xADDRESS is accepted, each with @argN or @retaddr");
		return -EINVAL;
	}
	return 0;
}

/* A function of the kernel, or of @module */
static void sb_meet(struct sb_names *names, const char *module, const char *function,
		    size_t len, unsigned long addr)
{
	struct sb_wanted *want;

	hlist_for_each_entry(want, sb_names_head(names, function, len), node)
		if (!strcmp(want->function, function) &&
		    (!want->module || (module && !strcmp(want->module, module)))) {
			want->addr = addr;
			want->found++;
		}
}

/*
 * Functions of the kernel itself, all in one pass.  kallsyms tells nobody outside
 * of the kernel how many functions bear a name, but it names any address: so go
 * from symbol to symbol through the kernel's text, outwards from a function that
 * is known, up to data that lies behind it.
 *
 * Of several symbols of one address this meets the first only.  The others are
 * left to the kernel's own search for a name, sb_register().
 */
static int sb_find_in_kernel(struct sb_names *names)
{
	const unsigned long middle = (unsigned long)stack_trace_save;
	const unsigned long end = (unsigned long)hex_asc;
	struct sb_symbol *symbol;
	unsigned long addr;

	symbol = kmalloc(sizeof(*symbol), GFP_KERNEL);
	if (!symbol)
		return -ENOMEM;
	for (addr = middle; addr < end && sb_symbol_at(symbol, addr) && !symbol->of_module;
	     addr = symbol->start + symbol->size) {
		sb_meet(names, NULL, symbol->name, symbol->len, symbol->start);
		cond_resched();
	}
	for (addr = middle; sb_symbol_at(symbol, addr - 1) && !symbol->of_module;
	     addr = symbol->start) {
		sb_meet(names, NULL, symbol->name, symbol->len, symbol->start);
		cond_resched();
	}
	kfree(symbol);
	return 0;
}

/* Symbols of a module that are looked at with preemption off: some 20 us */
#define SB_SYMBOLS_AT_ONCE	256

/*
 * Enable preemption for a moment.  Return whether @module is still loaded and has the same
 * @symbols; if not, nothing of it may be used.
 *
 * sb_probe_mutex keeps a module that is loaded where it is: its removal, or the switch from
 * the symbols of its loading to those that it keeps, waits in sb_probe_module(), unless it
 * was there before, which its state or the pointer tells.  A module that fails early while
 * it is loaded is not announced: it leaves the list, from which on a grace period passes.
 */
static bool sb_pause(const struct module *module, const struct mod_kallsyms *symbols)
{
	const struct list_head *own = &THIS_MODULE->list, *at = own;

	preempt_enable();
	cond_resched();
	preempt_disable();
	do {
		if (at == &module->list)
			return READ_ONCE(module->state) != MODULE_STATE_GOING &&
			       rcu_access_pointer(module->kallsyms) == symbols;
		at = READ_ONCE(at->next);
	} while (at != own);
	return false;
}

/*
 * Functions of a module.  The caller has preemption off, which is on for moments.
 * Return false if the module changed meanwhile.
 */
static bool sb_find_in_module(struct sb_names *names, const struct module *module)
{
	const struct mod_kallsyms *symbols = rcu_dereference_sched(module->kallsyms);
	unsigned int i;

	for (i = 0; i < names->nr; i++)
		if (names->want[i].module && !strcmp(names->want[i].module, module->name))
			names->want[i].loaded = true;
	for (i = 1; i < symbols->num_symtab; i++) {
		const typeof(symbols->symtab[0]) *symbol = &symbols->symtab[i];
		const char *name = symbols->strtab + symbol->st_name;

		if (symbol->st_shndx != SHN_UNDEF && strchr("tTwW", symbols->typetab[i]))
			sb_meet(names, module->name, name, strlen(name), symbol->st_value);
		if (i % SB_SYMBOLS_AT_ONCE == 0 && !sb_pause(module, symbols))
			return false;
	}
	return sb_pause(module, symbols);
}

/*
 * Whether an entry of the modules' list is a module: the list's head is none, and one that
 * is unformed nobody finds.  kallsyms knows a module's data, which its entry is part of,
 * or without CONFIG_KALLSYMS_ALL the last of its functions; where the head has data of
 * others, which sanitizers do not know, there are none.
 */
static noinline __no_sanitize_address __no_kcsan bool sb_is_module(const struct module *module)
{
	unsigned long text, end;
	struct sb_symbol symbol;

	if (sb_symbol_at(&symbol, (unsigned long)&module->list) && symbol.of_module)
		return true;
	if (IS_ENABLED(CONFIG_KALLSYMS_ALL))
		return false;
	text = SB_MODULE_TEXT(module);
	end = text + SB_MODULE_TEXT_SIZE(module);
	return end > text && sb_symbol_at(&symbol, end - 1) && symbol.of_module &&
	       symbol.start >= text && symbol.start < end;
}

/*
 * All modules' functions, too.  The modules' list is read as the kernel itself
 * reads it, under RCU, from the one entry that we know: our own.
 */
static void sb_find_in_modules(struct sb_names *names)
{
	const struct list_head *own = &THIS_MODULE->list, *at = own;
	struct sb_wanted *want;
	bool again = false;

	preempt_disable();
	do {
		struct module *module = list_entry(at, struct module, list);

		if (!sb_is_module(module) || READ_ONCE(module->state) == MODULE_STATE_GOING ||
		    sb_find_in_module(names, module)) {
			at = READ_ONCE(at->next);
			again = false;
			continue;
		}
		/* Its place in the list is lost with it: start again, from nothing */
		for (want = names->want; want < names->want + names->nr; want++) {
			want->loaded = false;
			if (hlist_unhashed(&want->node))
				continue;
			want->addr = 0;
			want->found = 0;
		}
		at = own;
		again = true;
	} while (again || at != own);
	preempt_enable();
}

/* ------------------------------------------------------------- the list --- */

/* One line for a probe that the kernel refused */
static int sb_explain(const struct sb_wanted *want, int err)
{
	switch (err) {
	case -ENOENT:
		sb_refuse(want, "no such function");
		return err;
	case -EILSEQ:
		sb_refuse(want, "no instruction begins there");
		break;
	case -EINVAL:
		sb_refuse(want, "the kernel allows no probe there (blacklisted, or no code)");
		break;
	case -EOPNOTSUPP:
		sb_refuse(want, "this kernel has no kprobes");
		break;
	default:
		sb_refuse(want, "the kernel refused it with error %d", err);
		return err;
	}
	return -EINVAL;
}

/* The kernel takes an offset after the end of the function at @start, and probes what is there */
static int sb_check_offset(const struct sb_wanted *want, unsigned long start)
{
	struct sb_symbol *symbol;
	int err = 0;

	if (!want->offset)
		return 0;
	symbol = kmalloc(sizeof(*symbol), GFP_KERNEL);
	if (!symbol)
		return -ENOMEM;
	if (sb_symbol_at(symbol, start) && want->offset >= symbol->size) {
		sb_refuse(want, "the function has 0x%lx bytes: give a smaller offset",
			  symbol->size);
		err = -EINVAL;
	}
	kfree(symbol);
	return err;
}

/* Whether a probe of a module is where it should be: that module may have gone */
static bool sb_is_there(const struct sb_wanted *want)
{
	struct sb_symbol *symbol;
	bool is;

	symbol = kmalloc(sizeof(*symbol), GFP_KERNEL);
	if (!symbol)
		return false;
	is = sb_symbol_at(symbol, (unsigned long)sb_kprobe(want->probe)->addr) &&
		symbol->start == want->addr && symbol->of_module;
	kfree(symbol);
	return is;
}

/* Set a probe that has its place; its state tells whether it waits for its module */
static int sb_register(struct sb_wanted *want)
{
	struct stackbuf_probe *probe = want->probe;
	struct kprobe *kprobe = sb_kprobe(probe);
	int err;

	/* What is set already may stay, or nobody could give it back */
	if (security_locked_down(LOCKDOWN_KPROBES)) {
		sb_refuse(want, "the kernel is locked down, which forbids probes");
		return -EPERM;
	}
	if (want->found > 1) {
		sb_refuse(want, "there are %u functions of that name: give the address, 0x...",
			  want->found);
		return -EINVAL;
	}
	if (within_module(want->addr, THIS_MODULE)) {
		sb_refuse(want, "stackbuf does not probe itself");
		return -EINVAL;
	}
	if (want->module && !want->loaded) {
		WRITE_ONCE(probe->state, STACKBUF_PROBE_PENDING);
		return 0;
	}
	err = want->addr ? sb_check_offset(want, want->addr) : 0;
	if (err)
		return err;
	/* It may hit at once; until more is known, it is a save as any other */
	WRITE_ONCE(probe->how, want->tag ? SB_TAGGED : 0);
	memset(kprobe, 0, sizeof(probe->kprobe));
	kprobe->pre_handler = sb_probe_hit;
	kprobe->offset = want->offset;
	if (want->addr)
		kprobe->addr = (void *)want->addr;
	else if (!want->module)
		kprobe->symbol_name = want->function;
	else
		return sb_explain(want, -ENOENT);
	err = register_kprobe(kprobe);
	kprobe->symbol_name = NULL;
	if (err)
		return sb_explain(want, err);
	if (want->tag && !(kprobe->flags & (KPROBE_FLAG_ON_FUNC_ENTRY | KPROBE_FLAG_FTRACE))) {
		sb_refuse(want, "arguments are known at a function's beginning only");
		err = -EINVAL;
	} else if (want->module && !sb_is_there(want)) {
		err = sb_explain(want, -ENOENT);
	} else if (!want->addr) {
		/* The kernel found the function; in a list that is not in force yet */
		err = sb_check_offset(want, (unsigned long)kprobe->addr - want->offset);
	}
	if (err) {
		unregister_kprobe(kprobe);
		return err;
	}
	/* Here and not where it hits, as symbols of a module take long: see sb_is_entry() */
	WRITE_ONCE(probe->how, probe->how | SB_PROBED |
		   (sb_is_entry((unsigned long)kprobe->addr) ? SB_ENTRY : 0));
	WRITE_ONCE(probe->addr, (unsigned long)kprobe->addr);
	WRITE_ONCE(probe->state, STACKBUF_PROBE_SET);
	return 0;
}

/* A probe that was taken out of the code: it waits for its module, or its place is given up */
static void sb_forget_kprobe(struct kprobe *kprobe)
{
	struct stackbuf_probe *probe = container_of((void *)kprobe, struct stackbuf_probe, kprobe);

	stackbuf_info.missed_before += kprobe->nmissed;
	WRITE_ONCE(probe->state, STACKBUF_PROBE_PENDING);
	WRITE_ONCE(probe->addr, 0);
	memset(probe->kprobe, 0, sizeof(probe->kprobe));
}

/* Take all probes out of the code that are @no_more */
static void sb_unregister(bool (*no_more)(struct stackbuf_probe *probe))
{
	struct stackbuf_probe *probe;
	struct kprobe **set;
	unsigned int n = 0, i;

	/* All at once, as each time takes a grace period; one by one if memory is short */
	set = kvmalloc_array(STACKBUF_PROBES_MAX, sizeof(*set), GFP_KERNEL);
	for (i = 0; (probe = sb_probe(i)); i++) {
		if (probe->state != STACKBUF_PROBE_SET || !no_more(probe))
			continue;
		if (set) {
			set[n++] = sb_kprobe(probe);
			continue;
		}
		unregister_kprobe(sb_kprobe(probe));
		sb_forget_kprobe(sb_kprobe(probe));
	}
	if (n)
		unregister_kprobes(set, n);
	/*
	 * These and no others: another module may have gone meanwhile.  Its probes are still
	 * in the kernel's list until its own notifier gets here.
	 */
	while (n > 0)
		sb_forget_kprobe(set[--n]);
	kvfree(set);
}

static bool sb_in_no_list(struct stackbuf_probe *probe)
{
	return !probe->lists;
}

static struct stackbuf_probe *sb_probe_named(const struct sb_wanted *want)
{
	struct stackbuf_probe *probe;
	unsigned int i;

	for (i = 0; (probe = sb_probe(i)); i++)
		if (probe->name[0] && !strncmp(probe->name, want->name, want->len) &&
		    !probe->name[want->len])
			return probe;
	return NULL;
}

/* Give a probe that is new its place */
static int sb_place_probe(struct sb_wanted *want, u8 lists)
{
	struct stackbuf_probe *probe;
	unsigned int i;

	for (i = 0; (probe = sb_probe(i)); i++) {
		if (probe->name[0])
			continue;
		memcpy(probe->name, want->name, want->len);
		probe->tag = want->tag;
		probe->lists = lists;
		want->probe = probe;
		return 0;
	}
	sb_refuse(want, "no room: %d probes are the most", STACKBUF_PROBES_MAX);
	return -ENOSPC;
}

/* Find out where those are whose probe is not set */
static int sb_find(struct sb_names *names)
{
	bool in_kernel = false, in_modules = false;
	struct sb_wanted *want;
	int err;

	for (want = names->want; want < names->want + names->nr; want++) {
		if (want->probe || !want->function[0])
			continue;
		if (!want->module) {
			sb_look_for(names, want);
			in_kernel = true;
		}
	}
	if (in_kernel) {
		err = sb_find_in_kernel(names);
		if (err)
			return err;
	}
	/* The kernel's own function is meant, if there is one */
	for (want = names->want; want < names->want + names->nr; want++) {
		if (want->probe || !want->function[0])
			continue;
		if (want->module)
			sb_look_for(names, want);
		else if (want->found)
			hlist_del_init(&want->node);
		in_modules |= !want->found;
	}
	if (in_modules)
		sb_find_in_modules(names);
	return 0;
}

static int sb_make_list(struct sb_names *names, u8 next)
{
	struct sb_wanted *want;
	int err;

	for (want = names->want; want < names->want + names->nr; want++) {
		err = sb_parse_probe(want);
		if (err)
			return err;
		want->probe = sb_probe_named(want);
	}
	err = sb_find(names);
	if (err)
		return err;
	for (want = names->want; want < names->want + names->nr; want++) {
		/* From the old list, or from this one, where it stood before */
		want->probe = sb_probe_named(want);
		if (want->probe) {
			WRITE_ONCE(want->probe->lists, want->probe->lists | next);
			continue;
		}
		err = sb_place_probe(want, next);
		if (!err)
			err = sb_register(want);
		if (err)
			return err;
		cond_resched();
	}
	return 0;
}

/* Names between commas, blanks around them; fills @names if it is not NULL */
static unsigned int sb_split_list(const char *text, struct sb_names *names)
{
	unsigned int n = 0;

	for (;;) {
		size_t len = strcspn(text, ",\n"), skip = strspn(text, " \t"), used = len;

		while (used > skip && text[used - 1] == ' ')
			used--;
		if (used > skip) {
			if (names) {
				names->want[n].name = text + skip;
				names->want[n].len = used - skip;
			}
			n++;
		}
		if (!text[len])
			return n;
		text += len + 1;
	}
}

/* Those that are in no list go, and their places are free */
static void sb_drop_unlisted(void)
{
	struct stackbuf_probe *probe;
	unsigned int i;

	sb_unregister(sb_in_no_list);
	for (i = 0; (probe = sb_probe(i)); i++)
		if (!probe->lists)
			memset(probe, 0, sizeof(*probe));
	sb_probes_changed();
}

/* The caller holds sb_probe_mutex */
static int sb_write_list(const char *text)
{
	bool add = text[0] == '+';
	struct stackbuf_probe *probe;
	u8 next = sb_list ^ 0x3;
	struct sb_names *names;
	unsigned int i;
	int err;

	text += add;
	names = sb_make_names(sb_split_list(text, NULL));
	if (!names)
		return -ENOMEM;
	sb_split_list(text, names);

	if (add)
		for (i = 0; (probe = sb_probe(i)); i++)
			if (probe->lists)
				WRITE_ONCE(probe->lists, probe->lists | next);
	err = sb_make_list(names, next);
	if (!err) {
		/* From here on the new list counts, and the old one does not */
		WRITE_ONCE(sb_list, next);
		next ^= 0x3;
	}
	for (i = 0; (probe = sb_probe(i)); i++)
		WRITE_ONCE(probe->lists, probe->lists & ~next);
	sb_drop_unlisted();
	kvfree(names);
	return err;
}

/* ------------------------------------------------ modules come and go --- */

static bool sb_is_gone(struct stackbuf_probe *probe)
{
	return kprobe_gone(sb_kprobe(probe));
}

static bool sb_waits(const struct stackbuf_probe *probe)
{
	return probe->state == STACKBUF_PROBE_PENDING || probe->state == STACKBUF_PROBE_REFUSED;
}

/* Set the probes that wait for this module */
static void sb_module_comes(const struct module *module)
{
	struct stackbuf_probe *probe;
	struct sb_names *names;
	unsigned int n = 0, i;

	for (i = 0; (probe = sb_probe(i)); i++)
		n += sb_waits(probe);
	if (!n)
		return;
	names = sb_make_names(n);
	if (!names) {
		pr_err("probe: no memory to set probes in %s\n", module->name);
		return;
	}
	n = 0;
	for (i = 0; (probe = sb_probe(i)); i++) {
		struct sb_wanted *want = &names->want[n];

		if (!sb_waits(probe))
			continue;
		want->name = probe->name;
		want->len = strlen(probe->name);
		want->probe = probe;
		n++;
		if (!sb_parse_probe(want) && want->function[0])
			sb_look_for(names, want);
	}
	preempt_disable();
	sb_find_in_module(names, module);
	preempt_enable();
	for (i = 0; i < n; i++) {
		struct sb_wanted *want = &names->want[i];

		if ((want->loaded || (!want->module && want->found)) && sb_register(want))
			WRITE_ONCE(want->probe->state, STACKBUF_PROBE_REFUSED);
	}
	kvfree(names);
}

static int sb_probe_module(struct notifier_block *block, unsigned long event, void *module)
{
	mutex_lock(&sb_probe_mutex);
	if (event == MODULE_STATE_COMING)
		sb_module_comes(module);
	else
		/* All of a module's code, or that of its init functions: the kernel said so */
		sb_unregister(sb_is_gone);
	sb_probes_changed();
	mutex_unlock(&sb_probe_mutex);
	return NOTIFY_OK;
}

/* After kprobes' own, which knows then what of the module is not to be probed, or gone */
static struct notifier_block sb_probe_module_block = {
	.notifier_call = sb_probe_module,
	.priority = -1,
};

/* -------------------------------------------------------- the parameter --- */

/*
 * What insmod was given waits until recording is ready; a file of a parameter can be
 * written before init and after exit.
 */
static char *sb_first_list;
static enum { SB_PROBES_LATER, SB_PROBES_OPEN, SB_PROBES_CLOSED } sb_probes;

/*
 * The kernel calls a parameter's functions under one lock for all parameters of a module.
 * A list takes seconds to set, and "enable" must not wait for it: so let go of that lock,
 * which covers nothing here.  What else it is good for still holds:
 *
 * - the module and the text written stay, as the caller has the parameter's file open,
 *   which the module's removal waits for, or is loading the module;
 * - param_attr_store(), param_attr_show() and parse_one() (kernel/params.c) use nothing
 *   that the lock covers after the call, and only release it;
 * - two calls for this parameter are kept apart by sb_probe_mutex, and those for others
 *   use none of what it covers.
 *
 * Never the other way round, the kernel's lock inside of sb_probe_mutex.
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
	if (sb_probes == SB_PROBES_OPEN) {
		err = sb_write_list(value);
	} else if (sb_probes == SB_PROBES_LATER) {
		kfree(sb_first_list);
		sb_first_list = kstrdup(value, GFP_KERNEL);
		err = sb_first_list ? 0 : -ENOMEM;
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
		/* The last place with room for ",...", a newline and the NUL */
		if (len + 6 <= PAGE_SIZE)
			cut = len;
	}
	sb_unlock_probes();
	return len + sysfs_emit_at(buffer, len, "\n");
}

static void sb_free_probe(void *arg)
{
	kfree(sb_first_list);
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
	if (sb_first_list)
		err = sb_write_list(sb_first_list);
	sb_probes = err ? SB_PROBES_CLOSED : SB_PROBES_OPEN;
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
	/* An empty list would want memory, and may not be refused here */
	for (i = 0; (probe = sb_probe(i)); i++)
		WRITE_ONCE(probe->lists, 0);
	sb_drop_unlisted();
	sb_probes = SB_PROBES_CLOSED;
	mutex_unlock(&sb_probe_mutex);
}
