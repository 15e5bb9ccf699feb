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

#include "internal.h"

unsigned int sb_panic_dump;

/* The events to print.  Static, as a panic cannot allocate */
static struct stackbuf_event sb_last[SB_PANIC_DUMP_MAX];
static unsigned int sb_last_count, sb_last_max;

/* Collect events before this time */
static u64 sb_last_before;

void sb_freeze(u32 why)
{
	if (sb_recording())
		WRITE_ONCE(stackbuf_info.stop_ns, sb_now());
	sb_change_state(why, true);
}

/* Call @use, if given, for all events of a page from time @since on.  Return how many they are */
static unsigned int sb_read_page(const struct stackbuf_events_page *page, u64 since,
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

static unsigned int sb_read_ring(u64 since, void (*use)(const struct stackbuf_event *event))
{
	unsigned int n = 0;
	u32 i;

	for (i = 0; i < SB_EVENT_PAGES; i++)
		if (stackbuf_events[i].page.seq)
			n += sb_read_page(&stackbuf_events[i], since, use);
	return n;
}

static void sb_collect_event(const struct stackbuf_event *event)
{
	if (event->time < sb_last_before && sb_last_count < sb_last_max)
		sb_last[sb_last_count++] = *event;
}

static int sb_by_time(const void *a, const void *b)
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
static void sb_dump_last(unsigned int n)
{
	/* Do not use the current time as upper bound: other CPUs' clocks may be ahead */
	u64 low = 0, high = ~0ULL;
	struct stackbuf_trace trace;
	unsigned int i, j;
	u8 flags;

	if (sb_read_ring(0, NULL) > n) {
		/* Invariant: more than n events since low, at most n since high */
		while (high - low > 1) {
			u64 middle = low + (high - low) / 2;

			if (sb_read_ring(middle, NULL) > n)
				low = middle;
			else
				high = middle;
		}
	}
	sb_last_count = 0;
	sb_last_max = n;
	sb_last_before = ~0ULL;
	sb_read_ring(high, sb_collect_event);
	/* Then of those at time low, until there are n.  If the ring holds at most n: all of it */
	sb_last_before = high;
	sb_read_ring(low, sb_collect_event);
	sort(sb_last, sb_last_count, sizeof(sb_last[0]), sb_by_time, NULL);

	pr_info("the last %u events:\n", sb_last_count);
	for (i = 0; i < sb_last_count; i++) {
		const struct stackbuf_event *event = &sb_last[i];
		char comm[TASK_COMM_LEN], tag[24] = "";
		u64 sec = event->time;
		unsigned long us = do_div(sec, NSEC_PER_SEC) / NSEC_PER_USEC;

		sb_printable(comm, event->comm);
		if (event->tagged)
			snprintf(tag, sizeof(tag), " tag 0x%llx", event->tag);
		pr_info("[%5lu.%06lu] CPU: %u PID: %u Comm: %s stack %u%s\n",
			(unsigned long)sec, us, event->cpu, event->pid, comm, event->id, tag);
		for (j = 0; j < i && sb_last[j].id != event->id; j++)
			;
		if (j < i || !sb_trace_of_id(&trace, event->id, &flags))
			continue;
		for (j = 0; j < trace.depth; j++)
			pr_info(" %pS\n", (void *)trace.pc[j]);
		if (trace.cut)
			pr_info(" (cut at %u frames)\n", trace.depth);
	}
}

void sb_apply_panic_dump(void)
{
	if (sb_panic_dump && kexec_crash_loaded())
		pr_info("panic_dump: a kdump kernel is loaded: nothing is printed at a panic unless crash_kexec_post_notifiers is set\n");
}

static int sb_panic(struct notifier_block *block, unsigned long event, void *message)
{
	sb_freeze(STACKBUF_FROZEN_PANIC);
	if (sb_panic_dump)
		sb_dump_last(sb_panic_dump);
	return NOTIFY_DONE;
}

static int sb_die(struct notifier_block *block, unsigned long event, void *data)
{
	if (event == DIE_OOPS && sb_recording()) {
		sb_freeze(STACKBUF_FROZEN_OOPS);
		pr_info("recording stopped by an oops; write 1 to the parameter enable to go on\n");
	}
	return NOTIFY_DONE;
}

/* Called first, so that what other notifiers do is not recorded */
static struct notifier_block sb_panic_block = {
	.notifier_call = sb_panic,
	.priority = INT_MAX,
};

static struct notifier_block sb_die_block = {
	.notifier_call = sb_die,
	.priority = INT_MAX,
};

int __init sb_init_panic(void)
{
	int err;

	err = register_die_notifier(&sb_die_block);
	if (err)
		return err;
	err = atomic_notifier_chain_register(&panic_notifier_list, &sb_panic_block);
	if (err)
		unregister_die_notifier(&sb_die_block);
	return err;
}

void sb_exit_panic(void)
{
	atomic_notifier_chain_unregister(&panic_notifier_list, &sb_panic_block);
	unregister_die_notifier(&sb_die_block);
}
