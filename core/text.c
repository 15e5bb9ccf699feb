// SPDX-License-Identifier: GPL-2.0
/*
 * text.c - the text log: every stack as text, once, soon after it was first seen
 *
 * Rendering takes a dozen times as long as walking, so no event waits for it: a worker, which can
 * be preempted, renders the pending stacks of the table one by one.  Stacks are rendered at once
 * only if it would be too late afterwards: when code in a stack is about to be freed
 * (sbuf_evict_expire()), at the end of loading and of unloading, and at a panic.
 *
 * sbuf_table_mutex protects the log and the memory of a record.  A panic takes no lock: the
 * other CPUs have stopped, perhaps in the middle of a record.
 *
 * At any instant, printf "%s" of the log prints only whole records: a record that is being copied
 * begins with a NUL until the copy is complete.
 */
#include <linux/hash.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>

#include "table.h"
#include "worker.h"

#define IDENTITY_MAX	96	/* more than the longest first line of a page */
#define RECORD_MAX	(STACKBUF_PAGE_SIZE - IDENTITY_MAX)

static char record[RECORD_MAX];

/* Bytes written, as if the log were endless.  At a page's beginning, the page is not begun yet */
static u64 log_at;
static u16 log_records[SBUF_TEXT_PAGES];

/* While a record is being appended: the stack's granule, and log_at once the record is complete */
static bool log_busy;
static u32 log_granule;
static u64 log_then;

void sbuf_text_printable(char *out, const char *comm)
{
	int i;

	for (i = 0; i < TASK_COMM_LEN - 1 && comm[i]; i++)
		out[i] = comm[i] >= ' ' && comm[i] < 0x7f ? comm[i] : '?';
	out[i] = '\0';
}

/*
 * Lines of the kernel's own functions, indexed by a hash of the address.  Stacks have most of their
 * frames in common, and a lookup takes 6,000 instructions.  Modules, trampolines, BPF programs and
 * code without a name are left out, as other code may replace them.
 */
static struct line {
	unsigned long pc;
	u32 len;
	char text[52];
} known_line[256];

/* Append a line as "%pS\n" prints it.  Return its length, or 0 if there is no room */
static unsigned int put_symbol(char *text, unsigned int room, unsigned long pc)
{
	static char name[KSYM_SYMBOL_LEN + 1];
	struct line *line = &known_line[hash_long(pc, ilog2(ARRAY_SIZE(known_line)))];
	const char *from = line->text;
	unsigned int len = line->len;

	if (!pc || line->pc != pc) {
		from = name;
		len = sprint_symbol(name, pc);
		name[len++] = '\n';
		/* A panic may stop this halfway */
		WRITE_ONCE(line->pc, 0);
		barrier();
		if (pc && len <= sizeof(line->text) && name[len - 2] != ']' &&
		    strncmp(name, "0x", 2) && strncmp(name, "bpf_", 4)) {
			memcpy(line->text, name, len);
			line->len = len;
			barrier();
			WRITE_ONCE(line->pc, pc);
		}
	}
	if (len >= room)
		return 0;
	memcpy(text, from, len);
	return len;
}

/* Render a stack and its first event into @record.  Return the length */
static unsigned int render_record(const struct stackbuf_stack *stack)
{
	const struct stackbuf_first *first = stackbuf_first(stack);
	static unsigned long pc[SBUF_FRAMES];
	/* Leaves room for the last line */
	const unsigned int size = sizeof(record) - 48;
	char comm[TASK_COMM_LEN];
	unsigned int len, nr, i;
	u64 sec = first->time;
	unsigned long us;

	us = do_div(sec, NSEC_PER_SEC) / NSEC_PER_USEC;
	sbuf_text_printable(comm, first->comm);
	len = scnprintf(record, size, STACKBUF_TEXT_RECORD_PRINT, stack->id, (unsigned long)sec,
			us, first->cpu, first->pid, comm);

	nr = sbuf_trace_decode(pc, stack->frames, stack->words);
	for (i = 0; i < nr; i++) {
		unsigned int n = put_symbol(record + len, size - len, pc[i]);

		if (!n)
			break;
		len += n;
	}
	if (i < nr)
		len += sprintf(record + len, "(%u more frames do not fit%s)\n", nr - i,
			       stack->flags & STACKBUF_STACK_CUT ? "; cut" : "");
	else if (stack->flags & STACKBUF_STACK_CUT)
		len += sprintf(record + len, "(cut at %u frames)\n", nr);
	return len;
}

/* Copy a record: the log's printable part ends before it until the copy is complete */
static void put_record(char *to, const char *text, unsigned int len)
{
	WRITE_ONCE(to[0], '\0');
	sbuf_keep(SBUF_TEXT, to, 1);
	smp_wmb();	/* X1: the NUL is there before the copy begins, ... */
	memcpy(to + 1, text + 1, len - 1);
	sbuf_keep(SBUF_TEXT, to + 1, len - 1);
	smp_wmb();	/* ... and until it is complete */
	WRITE_ONCE(to[0], text[0]);
	sbuf_keep(SBUF_TEXT, to, 1);
}

#define PAGE_LAST	(STACKBUF_PAGE_SIZE - 1)

/* Put a NUL into a page, and fill the rest of it with blanks and a newline */
static void blank_page(char *page, unsigned int pos)
{
	WRITE_ONCE(page[pos], '\0');
	sbuf_keep(SBUF_TEXT, page + pos, 1);
	smp_wmb();	/* as in put_record() */
	if (pos < PAGE_LAST) {
		memset(page + pos + 1, ' ', PAGE_LAST - pos - 1);
		page[PAGE_LAST] = '\n';
		sbuf_keep(SBUF_TEXT, page + pos + 1, PAGE_LAST - pos);
	}
}

static char *log_place(void)
{
	return stackbuf + log_at % (SBUF_TEXT_PAGES * STACKBUF_PAGE_SIZE);
}

/* A panic may stop this anywhere; the next call then begins the same page */
static void begin_page(void)
{
	unsigned int used = log_at % STACKBUF_PAGE_SIZE, len;
	char line[IDENTITY_MAX];
	u32 index;
	char *page;

	if (used) {
		page = log_place();
		blank_page(page - used, used);
		smp_wmb();	/* as in put_record() */
		WRITE_ONCE(*page, used < PAGE_LAST ? ' ' : '\n');
		sbuf_keep(SBUF_TEXT, page, 1);
		barrier();	/* L6 */
		WRITE_ONCE(log_at, log_at + STACKBUF_PAGE_SIZE - used);
	}
	page = log_place();
	index = (page - stackbuf) / STACKBUF_PAGE_SIZE;
	if (log_at >= SBUF_TEXT_PAGES * STACKBUF_PAGE_SIZE) {
		/* From the second lap on, older pages follow, which a NUL would hide */
		sbuf_add(&stackbuf_info.text_overwritten, log_records[index]);
		log_records[index] = 0;
		blank_page(page, 0);
	}
	len = scnprintf(line, sizeof(line), STACKBUF_TEXT_PAGE_PRINT, STACKBUF_VERSION, index,
			(unsigned int)SBUF_TEXT_PAGES, log_at / STACKBUF_PAGE_SIZE + 1,
			stackbuf_info.page.instance);
	put_record(page, line, len);
	barrier();	/* L6 */
	WRITE_ONCE(log_at, log_at + len);
}

static void end_record(u32 granule)
{
	log_records[(log_at - 1) / STACKBUF_PAGE_SIZE % SBUF_TEXT_PAGES]++;
	sbuf_table_set_flag(sbuf_table_at(granule), STACKBUF_STACK_TEXT, true);
	sbuf_table_end_pending(granule);
	barrier();	/* L6 */
	WRITE_ONCE(log_busy, false);
}

static void render(u32 granule)
{
	unsigned int len = render_record(sbuf_table_at(granule));
	unsigned int used = log_at % STACKBUF_PAGE_SIZE;
	bool was_busy = log_busy;

	log_granule = granule;
	log_then = ~0ULL;
	barrier();	/* L6 */
	WRITE_ONCE(log_busy, true);
	barrier();
	/* If a panic stopped the last record, begin_page() blanks its remains */
	if (!used || used + len > STACKBUF_PAGE_SIZE || was_busy)
		begin_page();
	log_then = log_at + len;
	put_record(log_place(), record, len);
	barrier();	/* L6 */
	WRITE_ONCE(log_at, log_then);
	barrier();
	end_record(granule);
}

void sbuf_text_render(u32 granule)
{
	lockdep_assert_held(&sbuf_table_mutex);
	if (sbuf_table_next_pending(granule) == granule)
		render(granule);
}

void sbuf_text_flush(struct work_struct *work)
{
	unsigned long rested = jiffies;
	u32 granule = 0;

	/* The next pass finds stacks that are added at lower granules in the meantime */
	do {
		mutex_lock(&sbuf_table_mutex);
		granule = sbuf_table_next_pending(granule) ?: sbuf_table_next_pending(0);
		if (granule)
			render(granule);
		mutex_unlock(&sbuf_table_mutex);
		/*
		 * Sleep now and then, however many new stacks there are: when the kernel sets
		 * probes, it waits until all tasks have slept (synchronize_rcu_tasks()).
		 */
		if (granule && time_after(jiffies, rested + HZ / 100)) {
			schedule_timeout_uninterruptible(1);
			rested = jiffies;
		}
		cond_resched();
	} while (granule);
}

/* At a panic, for at most a second, as users wait for the machine to reboot */
void sbuf_text_flush_panic(void)
{
	/* local_clock() may stand still while interrupts are off */
	u64 until = ktime_get_mono_fast_ns() + NSEC_PER_SEC;
	u32 granule = 0;

	if (log_busy && log_at == log_then)
		end_record(log_granule);
	while (ktime_get_mono_fast_ns() < until && (granule = sbuf_table_next_pending(granule)))
		render(granule);
}

#if SBUF_BUILT_IN
void __init sbuf_text_note_instance(void)
{
	static const char before[] = " instance ";
	char digits[17], *at;
	u32 i;

	snprintf(digits, sizeof(digits), "%016llx", stackbuf_info.page.instance);
	for (i = 0; i < SBUF_TEXT_PAGES; i++) {
		at = strnstr(stackbuf + i * STACKBUF_PAGE_SIZE, before, IDENTITY_MAX);
		if (at)
			memcpy(at + strlen(before), digits, strlen(digits));
	}
}
#endif
