// SPDX-License-Identifier: GPL-2.0
/*
 * recall_code.c - code that does not change, nor its ORC entries: the kernel's own, a module's
 * while it is loaded, and ftrace's trampolines for our handlers while these are registered
 *
 * With frame pointers the unwinder ends at code that is no longer known, although a CPU may still
 * be in it.
 *
 * An interrupt that arrives during a save runs inside the handler, so a trampoline of ours is on
 * many stacks of interrupts.  The unwinder looks it up by its ftrace_ops (orc_ftrace_find()).
 *
 * Other trampolines, those of kprobes, and BPF programs have entries that change, or none.  They
 * lie in the modules' area too, but in separate pages (__vmalloc_node_range(), execmem_alloc()), so
 * one bit for each page is enough.  kallsyms also knows, but searches a module's symbols one by
 * one, which takes a millisecond for 20,000; and frames are looked at with interrupts off.
 */
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/pgtable.h>

#include "modules.h"
#include "recall.h"

/*
 * Pages of the modules' area with text of modules, and of trampolines.
 *
 * sbuf_recall_mark_module() clears bits before notify_module() raises the epoch, and so does
 * sbuf_recall_mark_trampoline().  A walk reads the epoch before sbuf_recall_is_stable() reads the
 * bits of its frames, and x86 keeps the order of both.  So an entry that was learnt from a bit
 * about to be cleared carries an old epoch.
 */
unsigned long sbuf_code_pages[BITS_TO_LONGS(MODULES_LEN >> PAGE_SHIFT)];

/* Protects sbuf_code_pages; nests inside the lock of the kernel's module notifiers */
static DEFINE_MUTEX(text_pages_mutex);

/* Set or clear the bits of the pages that hold this text and nothing else */
static void mark_text(unsigned long text, unsigned long size, bool is)
{
	unsigned long page = PAGE_ALIGN(text), end = (text + size) & PAGE_MASK;

	if (page < MODULES_VADDR || end > MODULES_END)
		return;
	for (; page < end; page += PAGE_SIZE)
		assign_bit((page - MODULES_VADDR) >> PAGE_SHIFT, sbuf_code_pages, is);
}

void sbuf_recall_mark_module(const struct module *module, unsigned long state)
{
	mutex_lock(&text_pages_mutex);
	mark_text(SBUF_MODULE_TEXT(module), SBUF_MODULE_TEXT_SIZE(module),
		  state != MODULE_STATE_GOING);
	mark_text(SBUF_MODULE_INIT_TEXT(module), SBUF_MODULE_INIT_TEXT_SIZE(module),
		  state == MODULE_STATE_COMING);
	mutex_unlock(&text_pages_mutex);
}

void sbuf_recall_mark_trampoline(unsigned long start, unsigned long size, bool is)
{
	mutex_lock(&text_pages_mutex);
	mark_text(start, PAGE_ALIGN(size), is);
	mutex_unlock(&text_pages_mutex);
	if (is || !size)
		return;
	sbuf_recall_invalidate();
	/*
	 * Unlike a module's code, a trampoline may be on a stack until it is freed, and the
	 * unwinder ends there once ftrace has unlinked it.  That must not happen between a recall
	 * and the walk that verifies it.  No context that interrupted a handler is preempted
	 * between the two, so this wait covers them.
	 */
	sbuf_synchronize_saves(false);
}

/*
 * Mark only modules that are live.  For a module that is being loaded, the notifier is called
 * when it becomes live; if its loading fails, the notifier may not be called, and a mark would
 * stay.  A live module can only be unloaded.  Its state becomes MODULE_STATE_GOING
 * before the notifier is called: if the notifier ran before this function took the mutex, this
 * function sees that state; otherwise the notifier clears what this function sets.
 */
void sbuf_recall_mark_modules(void)
{
	const struct module *module = NULL;

	mutex_lock(&text_pages_mutex);
	preempt_disable();
	while ((module = sbuf_modules_next(module)))
		if (sbuf_modules_is_one(module) && READ_ONCE(module->state) == MODULE_STATE_LIVE)
			mark_text(SBUF_MODULE_TEXT(module), SBUF_MODULE_TEXT_SIZE(module), true);
	preempt_enable();
	mutex_unlock(&text_pages_mutex);
}
