// SPDX-License-Identifier: GPL-2.0
/*
 * panic.c - stop recording when the machine goes down, and print the last events
 *
 * An oops and a panic stop recording, so that events that follow do not overwrite those that led
 * there.  If a kdump kernel is loaded, a panic jumps to it without calling notifiers; then the
 * other CPUs are stopped, and no events follow.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kdebug.h>
#include <linux/kexec.h>
#include <linux/math64.h>
#include <linux/notifier.h>
#include <linux/panic_notifier.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/time64.h>

#include "keep.h"
#include "memory.h"
#include "panic.h"
#include "probe.h"
#include "table.h"
#include "text.h"

unsigned int sbuf_panic_dump;

/* The events to print.  Static, as a panic cannot allocate */
static struct stackbuf_event last_event[SBUF_PANIC_DUMP_MAX];
static unsigned int last_count, last_max;

/* Collect events before this time */
static u64 last_before;

void sbuf_freeze(u32 why)
{
	sbuf_probe_update_missed();
	if (sbuf_recording())
		WRITE_ONCE(stackbuf_info.stop_ns, sbuf_now());
	sbuf_state_change(why, true);
}

/* Call @use, if given, for all events of a page from time @since on.  Return how many they are */
static unsigned int read_events_page(const struct stackbuf_events_page *page, u64 since,
				     void (*use)(const struct stackbuf_event *event))
{
	struct stackbuf_event event = {};
	unsigned int pos, n = 0;
	u64 word;

	for (pos = 0; pos < STACKBUF_EVENT_WORDS && (word = page->word[pos]);
	     pos += stackbuf_event_words(word)) {
		if (word & STACKBUF_EVENT_WRITING)
			continue;
		stackbuf_decode_event(&event, page, pos);
		if (event.time < since)
			continue;
		n++;
		if (use)
			use(&event);
	}
	return n;
}

static unsigned int read_ring(u64 since, void (*use)(const struct stackbuf_event *event))
{
	unsigned int n = 0;
	u32 i;

	for (i = 0; i < SBUF_EVENT_PAGES; i++)
		if (stackbuf_events[i].page.seq)
			n += read_events_page(&stackbuf_events[i], since, use);
	return n;
}

static void collect_event(const struct stackbuf_event *event)
{
	if (event->time < last_before && last_count < last_max)
		last_event[last_count++] = *event;
}

static int by_time(const void *a, const void *b)
{
	const struct stackbuf_event *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

/*
 * Print the last @n events, oldest first, each stack below its first event.
 *
 * There is no memory to sort all events, and time does not matter: so a binary search, which
 * reads the ring some sixty times, finds the time since which there are @n.  Of several events
 * at exactly that time some may be left out.  They can be many, as the clock of a CPU may not
 * advance until its next tick.
 */
static void print_last(unsigned int n)
{
	/* Do not use the current time as upper bound: other CPUs' clocks may be ahead */
	u64 low = 0, high = ~0ULL;
	/* As the above */
	static struct stackbuf_trace trace;
	unsigned int i, j;
	u8 flags;

	if (read_ring(0, NULL) > n) {
		/* Invariant: more than n events since low, at most n since high */
		while (high - low > 1) {
			u64 middle = low + (high - low) / 2;

			if (read_ring(middle, NULL) > n)
				low = middle;
			else
				high = middle;
		}
	}
	last_count = 0;
	last_max = n;
	last_before = ~0ULL;
	read_ring(high, collect_event);
	/* Then of those at time low, until there are n.  If the ring holds at most n: all of it */
	last_before = high;
	read_ring(low, collect_event);
	sort(last_event, last_count, sizeof(last_event[0]), by_time, NULL);

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
		pr_info("panic_dump: a kdump kernel is loaded: nothing is printed at a panic unless crash_kexec_post_notifiers is set\n");
}

static int freeze_on_panic(struct notifier_block *block, unsigned long event, void *message)
{
	sbuf_freeze(STACKBUF_FROZEN_PANIC);
	sbuf_text_flush_panic();
	sbuf_keep_stopped();
	if (sbuf_panic_dump)
		print_last(sbuf_panic_dump);
	return NOTIFY_DONE;
}

static int freeze_on_oops(struct notifier_block *block, unsigned long event, void *data)
{
	if (event == DIE_OOPS && sbuf_recording()) {
		sbuf_freeze(STACKBUF_FROZEN_OOPS);
		sbuf_keep_stopped();
		pr_info("recording stopped by an oops; write 1 to the parameter enable to go on\n");
	}
	return NOTIFY_DONE;
}

/* Called first, so that what other notifiers do is not recorded */
static struct notifier_block panic_notifier = {
	.notifier_call = freeze_on_panic,
	.priority = INT_MAX,
};

static struct notifier_block oops_notifier = {
	.notifier_call = freeze_on_oops,
	.priority = INT_MAX,
};

int __init sbuf_panic_init(void)
{
	int err;

	err = register_die_notifier(&oops_notifier);
	if (err)
		return err;
	err = atomic_notifier_chain_register(&panic_notifier_list, &panic_notifier);
	if (err)
		unregister_die_notifier(&oops_notifier);
	return err;
}

void sbuf_panic_exit(void)
{
	atomic_notifier_chain_unregister(&panic_notifier_list, &panic_notifier);
	unregister_die_notifier(&oops_notifier);
}
