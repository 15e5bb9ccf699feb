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

/* Covers the probes; nests inside of the locks of module loading and of parameters */
static DEFINE_MUTEX(sb_probe_mutex);

static inline struct stackbuf_probe *sb_probe(unsigned int i)
{
	return &stackbuf_info.probe[i / STACKBUF_PAGE_PROBES].probe[i % STACKBUF_PAGE_PROBES];
}

#define sb_for_each_probe(probe, i)					\
	for ((i) = 0; (i) < STACKBUF_PROBES_MAX && ((probe) = sb_probe(i)); (i)++)

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
 * the processor leaves a gap at a breakpoint.
 */
static inline enum stackbuf_context sb_probed_context(const struct kprobe *kprobe,
						      const struct pt_regs *regs)
{
	unsigned int count = preempt_count();

#ifdef CONFIG_X86_64
	if (!(kprobe->flags & KPROBE_FLAG_FTRACE) && (unsigned long)(regs + 1) != regs->sp)
		count -= NMI_OFFSET + HARDIRQ_OFFSET;
#endif
	return sb_context_of(count);
}

static int sb_probe_hit(struct kprobe *kprobe, struct pt_regs *regs)
{
	struct stackbuf_probe *probe = container_of((void *)kprobe, struct stackbuf_probe, kprobe);
	unsigned long ip = instruction_pointer(regs), tag = 0;

	if (unlikely(!(probe->lists & READ_ONCE(sb_list))))
		return 0;
	if (probe->tag == STACKBUF_PROBE_RETADDR)
		tag = SB_RETURN_ADDRESS(regs);
	else if (probe->tag)
		tag = regs_get_kernel_argument(regs, probe->tag - 1);
	/* As if before the probed instruction, however the probe is made */
	instruction_pointer_set(regs, (unsigned long)kprobe->addr);
	sb_save_regs(regs, tag, probe->tag, sb_probed_context(kprobe, regs));
	instruction_pointer_set(regs, ip);
	return 0;
}
NOKPROBE_SYMBOL(sb_probe_hit);

/* -------------------------------------------------------------- by name --- */

/**
 * struct sb_wanted - a probe of a list that is being made
 * @name:	as it was given, up to @len
 * @len:	its length
 * @function:	name without offset and tag, or NULL for a bare address
 * @offset:	from the function's beginning
 * @addr:	where it is, without @offset; 0: not found (yet)
 * @found:	how many functions of that name there are
 * @tag:	as in struct stackbuf_probe
 * @probe:	the probe, if there is one
 */
struct sb_wanted {
	const char *name;
	unsigned int len;
	char function[STACKBUF_PROBE_NAME];
	unsigned long offset;
	unsigned long addr;
	unsigned int found;
	u8 tag;
	struct stackbuf_probe *probe;
};

#define sb_refuse(want, fmt, ...) \
	pr_err("probe: %.*s: " fmt "\n", (int)(want)->len, (want)->name, ##__VA_ARGS__)

/* Take a name apart; 0, or -EINVAL with a line in the log */
static int sb_parse_probe(struct sb_wanted *want)
{
	char *text = want->function, *at, *plus;
	unsigned int n;

	if (want->len >= STACKBUF_PROBE_NAME) {
		sb_refuse(want, "longer than %d bytes: give the address, 0x...",
			  STACKBUF_PROBE_NAME - 1);
		return -EINVAL;
	}
	memcpy(text, want->name, want->len);
	text[want->len] = '\0';
	if (!strncmp(text, "t:", 2)) {
		sb_refuse(want, "tracepoints cannot be probed by name: probe the function that calls it, or register a probe of your own that calls stackbuf_save()");
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
	if (!strncmp(text, "0x", 2)) {
		if (kstrtoul(text, 16, &want->addr) || !want->addr) {
			sb_refuse(want, "no address: 0x and hexadecimal digits are accepted");
			return -EINVAL;
		}
		want->found = 1;
		text[0] = '\0';
		return 0;
	}
	plus = strchr(text, '+');
	if (plus) {
		*plus++ = '\0';
		if (kstrtoul(plus, 0, &want->offset)) {
			sb_refuse(want, "no offset: FUNCTION+NUMBER is accepted");
			return -EINVAL;
		}
		if (want->tag && want->offset) {
			sb_refuse(want, "@%s is known at a function's beginning only", at);
			return -EINVAL;
		}
	}
	if (!text[0] || strpbrk(text, " \t\"'*?[]{}()/\\")) {
		sb_refuse(want, "no function: [MODULE:]FUNCTION[+OFFSET] or 0xADDRESS is accepted, each with @argN or @retaddr");
		return -EINVAL;
	}
	return 0;
}

/* A symbol as sprint_symbol() tells it: name+0x12/0x34 [module] */
struct sb_symbol {
	unsigned long start, size;
	char *module;
	char name[KSYM_SYMBOL_LEN];
};

static bool sb_symbol_at(struct sb_symbol *symbol, unsigned long addr)
{
	unsigned long offset;
	char *plus, *slash;

	sprint_symbol(symbol->name, addr);
	symbol->module = strstr(symbol->name, " [");
	if (symbol->module) {
		*symbol->module = '\0';
		symbol->module += 2;
		*strchrnul(symbol->module, ']') = '\0';
	}
	plus = strrchr(symbol->name, '+');
	slash = plus ? strchr(plus, '/') : NULL;
	if (!slash)
		return false;
	*plus++ = '\0';
	*slash++ = '\0';
	if (kstrtoul(plus, 16, &offset) || kstrtoul(slash, 16, &symbol->size) || !symbol->size)
		return false;
	symbol->start = addr - offset;
	return true;
}

static void sb_meet(struct sb_wanted *want, unsigned int n, const struct sb_symbol *symbol)
{
	for (; n > 0; n--, want++)
		if (!strcmp(want->function, symbol->name)) {
			want->addr = symbol->start;
			want->found++;
		}
}

/*
 * Find functions of the kernel itself, all in one pass: kallsyms tells nobody
 * outside of the kernel how many there are of a name, but it names an address.
 * From symbol to symbol through the kernel's text, outwards from a function that
 * is known; data behind it ends the pass.
 */
static int sb_find_functions(struct sb_wanted *want, unsigned int n)
{
	const unsigned long middle = (unsigned long)stack_trace_save;
	const unsigned long end = (unsigned long)hex_asc;
	struct sb_symbol *symbol;
	unsigned long addr;

	symbol = kmalloc(sizeof(*symbol), GFP_KERNEL);
	if (!symbol)
		return -ENOMEM;
	for (addr = middle; addr < end && sb_symbol_at(symbol, addr) && !symbol->module;
	     addr = symbol->start + symbol->size) {
		sb_meet(want, n, symbol);
		cond_resched();
	}
	for (addr = middle; sb_symbol_at(symbol, addr - 1) && !symbol->module;
	     addr = symbol->start) {
		sb_meet(want, n, symbol);
		cond_resched();
	}
	kfree(symbol);
	return 0;
}

/* ------------------------------------------------------------- the list --- */

/* One line for a probe that the kernel refused */
static void sb_explain(const struct sb_wanted *want, int err)
{
	if (err == -ENOENT)
		sb_refuse(want, "no such function");
	else if (err == -EILSEQ)
		sb_refuse(want, "no instruction begins there");
	else if (err == -EOPNOTSUPP)
		sb_refuse(want, "this kernel has no kprobes");
	else if (err == -EINVAL)
		sb_refuse(want, "the kernel allows no probe there (blacklisted, or no code)");
	else
		sb_refuse(want, "the kernel refused it with error %d", err);
}

static int sb_register(struct sb_wanted *want)
{
	struct stackbuf_probe *probe = want->probe;
	struct kprobe *kprobe = sb_kprobe(probe);
	int err;

	memset(kprobe, 0, sizeof(probe->kprobe));
	kprobe->pre_handler = sb_probe_hit;
	kprobe->offset = want->offset;
	if (want->addr)
		kprobe->addr = (void *)want->addr;
	else
		kprobe->symbol_name = want->function;
	err = register_kprobe(kprobe);
	kprobe->symbol_name = NULL;
	if (err)
		return err;
	WRITE_ONCE(probe->addr, (unsigned long)kprobe->addr);
	WRITE_ONCE(probe->state, STACKBUF_PROBE_SET);
	return 0;
}

/* Remove all probes that are in no list */
static void sb_sweep_probes(void)
{
	struct stackbuf_probe *probe;
	struct kprobe **set;
	unsigned int n = 0, i;

	/* If memory is short, one by one */
	set = kvmalloc_array(STACKBUF_PROBES_MAX, sizeof(*set), GFP_KERNEL);
	sb_for_each_probe(probe, i) {
		if (probe->lists || probe->state != STACKBUF_PROBE_SET)
			continue;
		if (set)
			set[n++] = sb_kprobe(probe);
		else
			unregister_kprobe(sb_kprobe(probe));
	}
	if (n)
		unregister_kprobes(set, n);
	kvfree(set);
	sb_for_each_probe(probe, i)
		if (probe->state && !probe->lists) {
			stackbuf_info.missed_before += sb_kprobe(probe)->nmissed;
			WRITE_ONCE(probe->state, STACKBUF_PROBE_NONE);
			memset(probe, 0, sizeof(*probe));
		}
}

/* Split a list; fills @want if it is not NULL; the number of probes */
static unsigned int sb_split_list(const char *text, struct sb_wanted *want)
{
	unsigned int n = 0;

	for (;;) {
		size_t len = strcspn(text, ",\n"), skip = strspn(text, " \t");

		if (len) {
			if (want) {
				want[n].name = text + min(skip, len);
				want[n].len = len - min(skip, len);
				while (want[n].len && want[n].name[want[n].len - 1] == ' ')
					want[n].len--;
			}
			n++;
		}
		if (!text[len])
			return n;
		text += len + 1;
	}
}

static struct stackbuf_probe *sb_probe_named(const char *name, unsigned int len)
{
	struct stackbuf_probe *probe;
	unsigned int i;

	sb_for_each_probe(probe, i)
		if (probe->state && !strncmp(probe->name, name, len) && !probe->name[len])
			return probe;
	return NULL;
}

/* Give a probe that is new its place */
static int sb_place_probe(struct sb_wanted *want, u8 next)
{
	struct stackbuf_probe *probe;
	unsigned int i;

	sb_for_each_probe(probe, i)
		if (!probe->state && !probe->lists)
			break;
	if (i == STACKBUF_PROBES_MAX) {
		sb_refuse(want, "more than %d probes", STACKBUF_PROBES_MAX);
		return -ENOSPC;
	}
	memcpy(probe->name, want->name, want->len);
	probe->name[want->len] = '\0';
	probe->tag = want->tag;
	probe->lists = next;
	want->probe = probe;
	return 0;
}

static int sb_make_list(struct sb_wanted *want, unsigned int n, u8 next)
{
	unsigned int i, unknown = 0;
	int err;

	for (i = 0; i < n; i++) {
		err = sb_parse_probe(&want[i]);
		if (err)
			return err;
		if (want[i].function[0] && !strchr(want[i].function, ':') &&
		    !sb_probe_named(want[i].name, want[i].len))
			unknown++;
	}
	if (unknown) {
		err = sb_find_functions(want, n);
		if (err)
			return err;
	}
	for (i = 0; i < n; i++) {
		/* Again: it may stand twice in this list, which does no harm */
		want[i].probe = sb_probe_named(want[i].name, want[i].len);
		if (want[i].probe) {
			want[i].probe->lists |= next;
			continue;
		}
		if (want[i].found > 1) {
			sb_refuse(&want[i], "there are %u functions of that name: give the address, 0x...",
				  want[i].found);
			return -EINVAL;
		}
		err = sb_place_probe(&want[i], next);
		if (err)
			return err;
		err = sb_register(&want[i]);
		if (err) {
			sb_explain(&want[i], err);
			return err == -ENOENT || err == -ENOMEM ? err : -EINVAL;
		}
	}
	return 0;
}

static int sb_write_list(const char *text)
{
	bool add = text[0] == '+';
	struct stackbuf_probe *probe;
	u8 next = sb_list ^ 0x3;
	struct sb_wanted *want;
	unsigned int n, i;
	int err;

	text += add;
	n = sb_split_list(text, NULL);
	want = kvcalloc(n ?: 1, sizeof(*want), GFP_KERNEL);
	if (!want)
		return -ENOMEM;
	sb_split_list(text, want);

	mutex_lock(&sb_probe_mutex);
	if (add)
		sb_for_each_probe(probe, i)
			if (probe->lists)
				probe->lists |= next;
	err = sb_make_list(want, n, next);
	if (!err) {
		/* From here on the new list counts, and the old one does not */
		WRITE_ONCE(sb_list, next);
		next ^= 0x3;
	}
	sb_for_each_probe(probe, i)
		probe->lists &= ~next;
	sb_sweep_probes();
	mutex_unlock(&sb_probe_mutex);
	kvfree(want);
	return err;
}

/*
 * What insmod was given waits until recording is ready.  The lock of parameters
 * covers these two; a file of a parameter can be written before init and after exit.
 */
static char *sb_first_list;
static enum { SB_PROBES_LATER, SB_PROBES_OPEN, SB_PROBES_CLOSED } sb_probes;

static int sb_set_probe(const char *value, const struct kernel_param *param)
{
	if (!value)
		value = "";
	if (sb_probes == SB_PROBES_OPEN)
		return sb_write_list(value);
	if (sb_probes == SB_PROBES_CLOSED)
		return -ENODEV;
	kfree(sb_first_list);
	sb_first_list = kstrdup(value, GFP_KERNEL);
	return sb_first_list ? 0 : -ENOMEM;
}

static int sb_get_probe(char *buffer, const struct kernel_param *param)
{
	struct stackbuf_probe *probe;
	unsigned int i;
	int len = 0;

	mutex_lock(&sb_probe_mutex);
	sb_for_each_probe(probe, i) {
		if (!probe->state)
			continue;
		if (len + strlen(probe->name) + 6 > PAGE_SIZE) {
			len += sprintf(buffer + len, ",...");
			break;
		}
		len += sprintf(buffer + len, "%s%s", len ? "," : "", probe->name);
	}
	mutex_unlock(&sb_probe_mutex);
	return len + sprintf(buffer + len, "\n");
}

static void sb_free_probe(void *arg)
{
	kfree(sb_first_list);
}

static const struct kernel_param_ops sb_probe_ops = {
	.set = sb_set_probe,
	.get = sb_get_probe,
	.free = sb_free_probe,
};

static int __init sb_init_probe(void)
{
	int err = 0;

	kernel_param_lock(THIS_MODULE);
	if (sb_first_list)
		err = sb_write_list(sb_first_list);
	sb_probes = err ? SB_PROBES_CLOSED : SB_PROBES_OPEN;
	kernel_param_unlock(THIS_MODULE);
	return err;
}

static void sb_exit_probe(void)
{
	kernel_param_lock(THIS_MODULE);
	sb_write_list("");
	sb_probes = SB_PROBES_CLOSED;
	kernel_param_unlock(THIS_MODULE);
}
