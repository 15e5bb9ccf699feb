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

#include "memory.h"
#include "text.h"

#define IDENTITY_MAX	96	/* more than the longest first line of a page */
#define RECORD_MAX	(STACKBUF_PAGE_SIZE - IDENTITY_MAX)
#define DRAFTS		16

enum draft_state { DRAFT_FREE, DRAFT_RENDERING, DRAFT_READY };

struct sbuf_draft {
	atomic_t state;
	unsigned int len;
	u64 time;
	char text[RECORD_MAX];
};

static struct sbuf_draft drafts[DRAFTS];

/* 1 while a context copies drafts, which owns everything below */
static atomic_t log_busy;
static u64 log_seq;			/* pages begun */
static unsigned int log_pos;	/* in the page of log_seq */
static u16 log_records[SBUF_TEXT_PAGES];

static struct sbuf_draft *claim_draft(void)
{
	int i;

	for (i = 0; i < DRAFTS; i++)
		if (atomic_read(&drafts[i].state) == DRAFT_FREE &&
		    atomic_cmpxchg(&drafts[i].state, DRAFT_FREE,
				   DRAFT_RENDERING) == DRAFT_FREE)
			return &drafts[i];
	return NULL;
}

struct sbuf_draft *sbuf_text_claim(struct stackbuf_stack *stack)
{
	u8 had = READ_ONCE(stack->flags);
	struct sbuf_draft *draft;

	if (likely(had & STACKBUF_STACK_TEXT))
		return NULL;
	draft = claim_draft();
	if (draft && cmpxchg(&stack->flags, had, had | STACKBUF_STACK_TEXT) != had) {
		/* Another context claimed the text or changed a flag: the next event tries again */
		atomic_set(&draft->state, DRAFT_FREE);
		draft = NULL;
	}
	return draft;
}

void sbuf_text_printable(char *out, const char *comm)
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
static unsigned int put_symbol(char *text, unsigned int room, unsigned long pc, char *name)
{
	unsigned int len = IS_ENABLED(CONFIG_KALLSYMS) ? sprint_symbol(name, pc) :
			   sprintf(name, "0x%016lx", pc);

	if (len + 1 >= room)
		return 0;
	memcpy(text, name, len);
	text[len] = '\n';
	return len + 1;
}

/* Not inlined: that would add to the stack that sbuf_save_walked() needs */
noinline void sbuf_text_render(struct sbuf_draft *draft, const struct sbuf_event *event,
			       const unsigned long *pc, unsigned int nr, bool cut, char *name)
{
	const struct task_struct *task = sbuf_saved_task(event->save);
	/* Room for the last line, whichever it is */
	const unsigned int size = sizeof(draft->text) - 48;
	char comm[TASK_COMM_LEN];
	unsigned int len, i;
	unsigned long us;
	u64 sec = event->time;

	us = do_div(sec, NSEC_PER_SEC) / NSEC_PER_USEC;
	sbuf_text_printable(comm, task->comm);
	len = scnprintf(draft->text, size, STACKBUF_TEXT_RECORD_PRINT, event->id,
			(unsigned long)sec, us, raw_smp_processor_id(), task->pid, comm);

	for (i = 0; i < nr; i++) {
		unsigned int n = put_symbol(draft->text + len, size - len, pc[i], name);

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
static void put_record(char *to, const char *text, unsigned int len)
{
	WRITE_ONCE(to[0], '\0');
	smp_wmb();	/* X1: the NUL is there before the copy begins, ... */
	memcpy(to + 1, text + 1, len - 1);
	smp_wmb();	/* ... and until it is complete */
	WRITE_ONCE(to[0], text[0]);
}

/* Fill the rest of a page with blanks and a newline, in the order of put_record() */
static void blank_page(char *page, unsigned int pos)
{
	unsigned int last = STACKBUF_PAGE_SIZE - 1;

	if (pos > last)
		return;
	WRITE_ONCE(page[pos], '\0');
	smp_wmb();	/* as in put_record() */
	if (pos < last) {
		memset(page + pos + 1, ' ', last - pos - 1);
		page[last] = '\n';
		smp_wmb();	/* as in put_record() */
	}
	WRITE_ONCE(page[pos], pos < last ? ' ' : '\n');
}

static char *log_page(u64 seq)
{
	return stackbuf + (seq - 1) % SBUF_TEXT_PAGES * STACKBUF_PAGE_SIZE;
}

static void begin_page(void)
{
	char line[IDENTITY_MAX];
	unsigned int len;
	u32 index;
	char *page;

	if (log_seq)
		blank_page(log_page(log_seq), log_pos);

	index = log_seq++ % SBUF_TEXT_PAGES;
	page = log_page(log_seq);
	if (log_seq > SBUF_TEXT_PAGES) {
		/* Older pages follow from the second lap on: a NUL would hide them */
		sbuf_add(&stackbuf_info.text_overwritten, log_records[index]);
		log_records[index] = 0;
		WRITE_ONCE(page[0], '\0');
		smp_wmb();	/* as in put_record() */
		memset(page + 1, ' ', STACKBUF_PAGE_SIZE - 2);
		page[STACKBUF_PAGE_SIZE - 1] = '\n';
	}
	len = scnprintf(line, sizeof(line), STACKBUF_TEXT_PAGE_PRINT, STACKBUF_VERSION, index,
			(unsigned int)SBUF_TEXT_PAGES, log_seq, stackbuf_info.load_realtime_ns);
	put_record(page, line, len);
	log_pos = len;
}

static void append_draft(const struct sbuf_draft *draft)
{
	if (!log_seq || log_pos + draft->len > STACKBUF_PAGE_SIZE)
		begin_page();
	put_record(log_page(log_seq) + log_pos, draft->text, draft->len);
	log_pos += draft->len;
	log_records[(log_seq - 1) % SBUF_TEXT_PAGES]++;
}

static struct sbuf_draft *oldest_ready_draft(void)
{
	struct sbuf_draft *oldest = NULL;
	int i;

	for (i = 0; i < DRAFTS; i++)
		if (atomic_read_acquire(&drafts[i].state) == DRAFT_READY &&
		    (!oldest || drafts[i].time < oldest->time))
			oldest = &drafts[i];
	return oldest;
}

/*
 * The two smp_mb() pair with each other (X5): either this context finds the log free and copies, or
 * the context that has it finds this draft ready when it looks again after it released the log.
 * Not inlined, as sbuf_text_render().
 */
noinline void sbuf_text_publish(struct sbuf_draft *ready)
{
	struct sbuf_draft *draft;

	atomic_set_release(&ready->state, DRAFT_READY);	/* X2 */
	do {
		smp_mb();	/* the draft is ready before the log is checked */
		if (atomic_cmpxchg(&log_busy, 0, 1))
			return;
		while ((draft = oldest_ready_draft())) {
			append_draft(draft);
			atomic_set_release(&draft->state, DRAFT_FREE);	/* X3 */
		}
		atomic_set_release(&log_busy, 0);	/* X4 */
		smp_mb();	/* the log is free before drafts are checked: is one ready? */
	} while (oldest_ready_draft());	/* which one does not matter: a race is harmless */
}
