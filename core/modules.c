// SPDX-License-Identifier: GPL-2.0
/*
 * modules.c - modules that are loaded and unloaded while stackbuf records
 *
 * A module's code is freed when it is unloaded, and its init code when its init function has
 * returned; then other code may get its addresses.  Before that, stackbuf invalidates what it knows
 * about the code by address: what recall has learnt, and the stacks in the table that contain it.
 */
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/preempt.h>
#include <linux/string.h>
#include <asm/sections.h>

#include "memory.h"
#include "modules.h"
#include "probe.h"
#include "recall.h"
#include "symbol.h"

/*
 * The linker puts a module's build id into a note of its read-only data, without a symbol, so
 * search for the head of that note.  With several matches, or none, the id stays
 * unknown.  Debug kernels poison the gaps between constants, hence the unchecked reads.
 */
void sbuf_modules_build_id(const struct module *module, u8 *id)
{
	unsigned long end, at = sbuf_module_rodata(module, &end), found = 0;

	for (; at + 2 * sizeof(u64) + STACKBUF_BUILD_ID_LEN <= end; at += sizeof(u32)) {
		/* Sizes of name and id; type 3 (NT_GNU_BUILD_ID), "GNU" */
		if (READ_ONCE_NOCHECK(*(unsigned long *)at) !=
		    ((u64)STACKBUF_BUILD_ID_LEN << 32 | 4) ||
		    READ_ONCE_NOCHECK(*(unsigned long *)(at + sizeof(u64))) != 0x554e4700000003)
			continue;
		if (found)
			return;
		found = at + 2 * sizeof(u64);
	}
	if (found)
		memcpy(id, (void *)found, STACKBUF_BUILD_ID_LEN);
}

/*
 * A client may be rebuilt and loaded again while stackbuf stays loaded: record which build ran
 * when.  A dump may be taken at any point here, so an entry is valid only while its time is not 0.
 */
static void note_module(const struct module *module)
{
	static DEFINE_MUTEX(lock);
	struct stackbuf_info *info = &stackbuf_info;
	struct stackbuf_module *entry;

	mutex_lock(&lock);
	entry = &info->module[info->modules_loaded % STACKBUF_MODULES];
	WRITE_ONCE(entry->time, 0);
	smp_wmb();	/* M1: a reader sees it free before it changes, ... */
	memset(entry->build_id, 0, sizeof(entry->build_id));
	sbuf_modules_build_id(module, entry->build_id);
	strscpy(entry->name, module->name, sizeof(entry->name));
	WRITE_ONCE(info->modules_loaded, info->modules_loaded + 1);
	smp_wmb();	/* ... and whole before it is valid */
	WRITE_ONCE(entry->time, sbuf_now());
	sbuf_page_bump_seq(&info->page);
	mutex_unlock(&lock);
}

/*
 * On x86-64 the list's head is the only entry outside the modules' area.  Elsewhere a module's
 * entry is data of the module: kallsyms has a symbol for it or, without CONFIG_KALLSYMS_ALL, for
 * its last function.  At the head, the fields that would locate that function are unrelated data,
 * which sanitizers must not check; no function's symbol is there.
 */
noinline __no_sanitize_address __no_kcsan bool sbuf_modules_is_one(const struct module *module)
{
	unsigned long text, end;
	struct sbuf_symbol symbol;

	if (IS_ENABLED(CONFIG_X86_64))
		return (unsigned long)module >= MODULES_VADDR &&
		       READ_ONCE(module->state) != MODULE_STATE_UNFORMED;
	if (sbuf_symbol_at(&symbol, (unsigned long)&module->list) && symbol.of_module)
		return true;
	if (IS_ENABLED(CONFIG_KALLSYMS_ALL))
		return false;
	text = SBUF_MODULE_TEXT(module);
	end = text + SBUF_MODULE_TEXT_SIZE(module);
	return end > text && sbuf_symbol_at(&symbol, end - 1) && symbol.of_module &&
	       symbol.start >= text && symbol.start < end;
}

#if SBUF_BUILT_IN
/* The list's head, which no function of the kernel returns; NULL: no module was loaded yet */
static const struct list_head *modules_head;

/* The head is the only entry in the kernel's own data */
static void note_head(const struct module *module)
{
	const struct list_head *at = &module->list;

	if (READ_ONCE(modules_head))
		return;
	preempt_disable();
	while ((char *)at < _sdata || (char *)at >= _edata)
		at = READ_ONCE(at->next);
	preempt_enable();
	WRITE_ONCE(modules_head, at);
}

const struct module *sbuf_modules_next(const struct module *module)
{
	const struct list_head *head = READ_ONCE(modules_head), *at = module ? &module->list : head;

	if (!head)
		return NULL;
	at = READ_ONCE(at->next);
	return at == head ? NULL : list_entry(at, struct module, list);
}

bool sbuf_modules_is_our_code(unsigned long addr)
{
	struct sbuf_symbol symbol;

	return sbuf_symbol_at(&symbol, addr) && !symbol.of_module &&
	       (!strncmp(symbol.name, "sbuf_", 5) || !strncmp(symbol.name, "stackbuf_", 9));
}
#else
static inline void note_head(const struct module *module) { }

const struct module *sbuf_modules_next(const struct module *module)
{
	const struct list_head *next;

	if (!module)
		return THIS_MODULE;
	next = READ_ONCE(module->list.next);
	return next == &THIS_MODULE->list ? NULL : list_entry(next, struct module, list);
}

bool sbuf_modules_is_our_code(unsigned long addr)
{
	return within_module(addr, THIS_MODULE);
}
#endif

static int notify_module(struct notifier_block *block, unsigned long event, void *data)
{
	const struct module *module = data;
	const bool coming = event == MODULE_STATE_COMING;

	note_head(module);
	if (coming)
		note_module(module);
	sbuf_evict_expire(SBUF_MODULE_INIT_TEXT(module), SBUF_MODULE_INIT_TEXT_SIZE(module),
			  coming);
	if (event != MODULE_STATE_LIVE)
		sbuf_evict_expire(SBUF_MODULE_TEXT(module), SBUF_MODULE_TEXT_SIZE(module), coming);
	sbuf_recall_mark_module(module, event);
	/* A walk in progress has the old epoch; code that is freed is on no stack */
	sbuf_recall_invalidate();
	if (event != MODULE_STATE_GOING)
		sbuf_probe_module(module, event);
	return NOTIFY_OK;
}

static int notify_going(struct notifier_block *block, unsigned long event, void *data)
{
	if (event == MODULE_STATE_GOING)
		sbuf_probe_module(data, event);
	return NOTIFY_OK;
}

/* After kprobes' notifier, which updates its blacklist and marks probes in freed code as gone */
static struct notifier_block module_notifier = {
	.notifier_call = notify_module,
	.priority = -1,
};

/*
 * Before kprobes' notifier, which frees what executes the probed instructions and leaves the
 * breakpoints there: a task may still be in the module, called through sysfs, and would skip them.
 */
static struct notifier_block going_notifier = {
	.notifier_call = notify_going,
	.priority = 1,
};

void __init sbuf_modules_init(void)
{
	/* These fail only if they are registered already */
	register_module_notifier(&module_notifier);
	register_module_notifier(&going_notifier);
	sbuf_recall_mark_modules();
}

void sbuf_modules_exit(void)
{
	unregister_module_notifier(&going_notifier);
	unregister_module_notifier(&module_notifier);
}
