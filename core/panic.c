// SPDX-License-Identifier: GPL-2.0
/*
 * panic.c - stop recording when the machine goes down, and print the last events
 *
 * An oops or a panic stops recording, so that later events do not overwrite those that led to it.
 * If a kdump kernel is loaded, a panic jumps to it without calling notifiers; then the other CPUs
 * are stopped, and no events follow.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kdebug.h>
#include <linux/kexec.h>
#include <linux/math64.h>
#include <linux/notifier.h>
#include <linux/panic_notifier.h>
#include <linux/time64.h>

#include "keep.h"
#include "memory.h"
#include "panic.h"
#include "probe.h"
#include "ring.h"
#include "table.h"

unsigned int sbuf_panic_dump;

/* The last events so far, oldest first.  Static, as a panic cannot allocate */
static struct stackbuf_event last_event[SBUF_PANIC_DUMP_MAX];
static unsigned int last_count, last_max;

void sbuf_freeze(u32 why)
{
	sbuf_probe_update_missed();
	if (sbuf_recording())
		WRITE_ONCE(stackbuf_info.stop_ns, sbuf_now());
	sbuf_state_change(why, true);
}

/*
 * Keep @event if there is room, or if it is newer than the oldest one, which it replaces.  Pages
 * are read newest first, so once there is no room, the first comparison rejects nearly all events.
 * Only the page that a CPU has open, or has left last, may hold newer events.  At worst each event
 * of one page per CPU moves all events that are kept: a second for 256 CPUs and 1000 events.
 */
static void note_last(const struct stackbuf_event *event)
{
	unsigned int i;

	if (last_count < last_max) {
		for (i = last_count++; i && last_event[i - 1].time > event->time; i--)
			last_event[i] = last_event[i - 1];
	} else {
		if (event->time <= last_event[0].time)
			return;
		for (i = 0; i + 1 < last_count && last_event[i + 1].time <= event->time; i++)
			last_event[i] = last_event[i + 1];
	}
	last_event[i] = *event;
}

static void read_events_page(const struct stackbuf_events_page *page)
{
	struct stackbuf_event event = {};
	unsigned int pos;
	u64 word;

	for (pos = 0; pos < STACKBUF_EVENT_WORDS && (word = page->word[pos]);
	     pos += stackbuf_event_words(word)) {
		if (word & STACKBUF_EVENT_WRITING)
			continue;
		stackbuf_decode_event(&event, page, pos);
		note_last(&event);
	}
}

/*
 * Print the last @n events, oldest first, each stack below its first event.  The ring is read once,
 * from its newest page on.
 */
static void print_last(unsigned int n)
{
	const u64 head = atomic64_read(&sbuf_ring_head);
	/* Static, as last_event is */
	static struct stackbuf_trace trace;
	unsigned int i, j;
	u8 flags;

	last_count = 0;
	last_max = n;
	for (i = 0; i < SBUF_EVENT_PAGES; i++) {
		const struct stackbuf_events_page *page =
			&stackbuf_events[(head + SBUF_EVENT_PAGES - i) % SBUF_EVENT_PAGES];

		if (page->page.seq)
			read_events_page(page);
	}

	pr_info("the last %u events:\n", last_count);
	for (i = 0; i < last_count; i++) {
		const struct stackbuf_event *event = &last_event[i];
		char comm[TASK_COMM_LEN], tag[24] = "";
		u64 sec = event->time;
		unsigned long us = do_div(sec, NSEC_PER_SEC) / NSEC_PER_USEC;

		sbuf_text_printable(comm, event->comm);
		if (event->tagged)
			snprintf(tag, sizeof(tag), " tag 0x%llx", event->tag);
		pr_info("[%5lu.%06lu] CPU: %u PID: %u Comm: %s stack %u%s\n",
			(unsigned long)sec, us, event->cpu, event->pid, comm, event->id, tag);
		for (j = 0; j < i && last_event[j].id != event->id; j++)
			;
		if (j < i || !sbuf_table_trace(&trace, event->id, &flags))
			continue;
		for (j = 0; j < trace.depth; j++)
			pr_info(" %pS\n", (void *)trace.pc[j]);
		if (trace.cut)
			pr_info(" (cut at %u frames)\n", trace.depth);
	}
}

void sbuf_panic_apply_dump(void)
{
	if (sbuf_panic_dump && kexec_crash_loaded())
		pr_info("panic_dump: a kdump kernel is loaded, so nothing is printed at a panic unless crash_kexec_post_notifiers is set\n");
}

static int freeze_on_panic(struct notifier_block *block, unsigned long event, void *message)
{
	static atomic_t entered;

	sbuf_freeze(STACKBUF_FROZEN_PANIC);
	/* A panic in a notifier, even in the code below, calls this function again */
	if (atomic_xchg(&entered, 1))
		return NOTIFY_DONE;
	sbuf_text_flush_panic();
	sbuf_keep_stopped(true);
	if (sbuf_panic_dump)
		print_last(sbuf_panic_dump);
	return NOTIFY_DONE;
}

static int freeze_on_oops(struct notifier_block *block, unsigned long event, void *data)
{
	if (event == DIE_OOPS && sbuf_recording()) {
		sbuf_freeze(STACKBUF_FROZEN_OOPS);
		sbuf_keep_stopped(false);
		pr_info("recording stopped by an oops; write 1 to the parameter enable to resume\n");
	}
	return NOTIFY_DONE;
}

/* Called first, so that events of other notifiers are not recorded */
static struct notifier_block panic_notifier = {
	.notifier_call = freeze_on_panic,
	.priority = INT_MAX,
};

static struct notifier_block oops_notifier = {
	.notifier_call = freeze_on_oops,
	.priority = INT_MAX,
};

void __init sbuf_panic_init(void)
{
	/* These fail only if they are registered already */
	register_die_notifier(&oops_notifier);
	atomic_notifier_chain_register(&panic_notifier_list, &panic_notifier);
}

void sbuf_panic_exit(void)
{
	atomic_notifier_chain_unregister(&panic_notifier_list, &panic_notifier);
	unregister_die_notifier(&oops_notifier);
}
