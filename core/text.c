// SPDX-License-Identifier: GPL-2.0
/*
 * text.c - the text log: every stack as text, once, when first seen
 *
 * A save that sees a stack first renders it into a draft outside the log, as rendering takes long.
 * Copying a draft into the log is quick; one context at a time does it, for all drafts that are
 * ready.  A context that finds the log busy leaves its draft ready and does not wait, as it may be
 * any context: an NMI may have interrupted the one that copies.
 *
 * printf "%s" of the log prints whole records only, at every instant: a record that is being copied
 * begins with a NUL until the copy is complete.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/time64.h>

#include "internal.h"

#define SB_TEXT_IDENTITY_MAX	96	/* more than the longest first line of a page */
#define SB_TEXT_RECORD_MAX	(STACKBUF_PAGE_SIZE - SB_TEXT_IDENTITY_MAX)
#define SB_DRAFTS		16

enum sb_draft_state { SB_DRAFT_FREE, SB_DRAFT_RENDERING, SB_DRAFT_READY };

struct sb_draft {
	atomic_t state;
	unsigned int len;
	u64 time;
	char text[SB_TEXT_RECORD_MAX];
};

static struct sb_draft sb_draft[SB_DRAFTS];

/* 1 while a context copies drafts, which owns everything below */
static atomic_t sb_text_busy;
static u64 sb_text_seq;			/* pages begun */
static unsigned int sb_text_pos;	/* in the page of sb_text_seq */
static u16 sb_text_records[SB_TEXT_PAGES];

static struct sb_draft *sb_claim_draft(void)
{
	int i;

	for (i = 0; i < SB_DRAFTS; i++)
		if (atomic_read(&sb_draft[i].state) == SB_DRAFT_FREE &&
		    atomic_cmpxchg(&sb_draft[i].state, SB_DRAFT_FREE,
				   SB_DRAFT_RENDERING) == SB_DRAFT_FREE)
			return &sb_draft[i];
	return NULL;
}

struct sb_draft *sb_claim_text(struct stackbuf_stack *stack)
{
	u8 had = READ_ONCE(stack->flags);
	struct sb_draft *draft;

	if (likely(had & STACKBUF_STACK_TEXT))
		return NULL;
	draft = sb_claim_draft();
	if (draft && cmpxchg(&stack->flags, had, had | STACKBUF_STACK_TEXT) != had) {
		/* Another context claimed the text or changed a flag: the next event tries again */
		atomic_set(&draft->state, SB_DRAFT_FREE);
		draft = NULL;
	}
	return draft;
}

void sb_printable(char *out, const char *comm)
{
	int i;

	for (i = 0; i < TASK_COMM_LEN - 1 && comm[i]; i++)
		out[i] = comm[i] >= ' ' && comm[i] < 0x7f ? comm[i] : '?';
	out[i] = '\0';
}

/*
 * Print a line as "%pS\n" does; return its length, or 0 if there is no room.  @name is memory for a
 * symbol, as this must not take so much of the stack.
 */
static unsigned int sb_put_symbol(char *text, unsigned int room, unsigned long pc, char *name)
{
	unsigned int len = IS_ENABLED(CONFIG_KALLSYMS) ? sprint_symbol(name, pc) :
			   sprintf(name, "0x%016lx", pc);

	if (len + 1 >= room)
		return 0;
	memcpy(text, name, len);
	text[len] = '\n';
	return len + 1;
}

/* Not inlined: that would add to the stack that sb_save_walked() needs */
noinline void sb_render(struct sb_draft *draft, const struct sb_event *event,
			const unsigned long *pc, unsigned int nr, bool cut, char *name)
{
	const struct task_struct *task = sb_saved_task(event->save);
	/* Room for the last line, whichever it is */
	const unsigned int size = sizeof(draft->text) - 48;
	char comm[TASK_COMM_LEN];
	unsigned int len, i;
	unsigned long us;
	u64 sec = event->time;

	us = do_div(sec, NSEC_PER_SEC) / NSEC_PER_USEC;
	sb_printable(comm, task->comm);
	len = scnprintf(draft->text, size, STACKBUF_TEXT_RECORD_PRINT, event->id,
			(unsigned long)sec, us, raw_smp_processor_id(), task->pid, comm);

	for (i = 0; i < nr; i++) {
		unsigned int n = sb_put_symbol(draft->text + len, size - len, pc[i], name);

		if (!n)
			break;
		len += n;
	}
	if (i < nr)
		len += sprintf(draft->text + len, "(%u more frames do not fit)\n", nr - i);
	else if (cut)
		len += sprintf(draft->text + len, "(cut at %u frames)\n", nr);

	draft->len = len;
	draft->time = event->time;
}

/* Copy a record: the log's printable part ends before it until the copy is complete */
static void sb_text_put(char *to, const char *text, unsigned int len)
{
	WRITE_ONCE(to[0], '\0');
	smp_wmb();	/* the NUL is there before the copy begins, ... */
	memcpy(to + 1, text + 1, len - 1);
	smp_wmb();	/* ... and until it is complete */
	WRITE_ONCE(to[0], text[0]);
}

/* Fill the rest of a page with blanks and a newline, in the order of sb_text_put() */
static void sb_text_blank(char *page, unsigned int pos)
{
	unsigned int last = STACKBUF_PAGE_SIZE - 1;

	if (pos > last)
		return;
	WRITE_ONCE(page[pos], '\0');
	smp_wmb();	/* as in sb_text_put() */
	if (pos < last) {
		memset(page + pos + 1, ' ', last - pos - 1);
		page[last] = '\n';
		smp_wmb();	/* as in sb_text_put() */
	}
	WRITE_ONCE(page[pos], pos < last ? ' ' : '\n');
}

static char *sb_text_page(u64 seq)
{
	return stackbuf + (seq - 1) % SB_TEXT_PAGES * STACKBUF_PAGE_SIZE;
}

static void sb_text_next_page(void)
{
	char line[SB_TEXT_IDENTITY_MAX];
	unsigned int len;
	u32 index;
	char *page;

	if (sb_text_seq)
		sb_text_blank(sb_text_page(sb_text_seq), sb_text_pos);

	index = sb_text_seq++ % SB_TEXT_PAGES;
	page = sb_text_page(sb_text_seq);
	if (sb_text_seq > SB_TEXT_PAGES) {
		/* Older pages follow from the second lap on: a NUL would hide them */
		sb_add(&stackbuf_info.text_overwritten, sb_text_records[index]);
		sb_text_records[index] = 0;
		WRITE_ONCE(page[0], '\0');
		smp_wmb();	/* as in sb_text_put() */
		memset(page + 1, ' ', STACKBUF_PAGE_SIZE - 2);
		page[STACKBUF_PAGE_SIZE - 1] = '\n';
	}
	len = scnprintf(line, sizeof(line), STACKBUF_TEXT_PAGE_PRINT, STACKBUF_VERSION, index,
			(unsigned int)SB_TEXT_PAGES, sb_text_seq, stackbuf_info.load_realtime_ns);
	sb_text_put(page, line, len);
	sb_text_pos = len;
}

static void sb_text_append(const struct sb_draft *draft)
{
	if (!sb_text_seq || sb_text_pos + draft->len > STACKBUF_PAGE_SIZE)
		sb_text_next_page();
	sb_text_put(sb_text_page(sb_text_seq) + sb_text_pos, draft->text, draft->len);
	sb_text_pos += draft->len;
	sb_text_records[(sb_text_seq - 1) % SB_TEXT_PAGES]++;
}

static struct sb_draft *sb_oldest_ready_draft(void)
{
	struct sb_draft *oldest = NULL;
	int i;

	for (i = 0; i < SB_DRAFTS; i++)
		if (atomic_read_acquire(&sb_draft[i].state) == SB_DRAFT_READY &&
		    (!oldest || sb_draft[i].time < oldest->time))
			oldest = &sb_draft[i];
	return oldest;
}

/*
 * The two smp_mb() pair with each other: either this context finds the log free and copies, or the
 * context that has it finds this draft ready when it looks again after it released the log.  Not
 * inlined, as sb_render().
 */
noinline void sb_publish(struct sb_draft *ready)
{
	struct sb_draft *draft;

	atomic_set_release(&ready->state, SB_DRAFT_READY);
	do {
		smp_mb();	/* the draft is ready before the log is checked */
		if (atomic_cmpxchg(&sb_text_busy, 0, 1))
			return;
		while ((draft = sb_oldest_ready_draft())) {
			sb_text_append(draft);
			atomic_set_release(&draft->state, SB_DRAFT_FREE);
		}
		atomic_set_release(&sb_text_busy, 0);
		smp_mb();	/* the log is free before drafts are checked: is one ready? */
	} while (sb_oldest_ready_draft());	/* which one does not matter: a race is harmless */
}
