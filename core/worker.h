/* SPDX-License-Identifier: GPL-2.0 */
/*
 * worker.h - workers for work that an event cannot do itself
 */
#ifndef STACKBUF_WORKER_H
#define STACKBUF_WORKER_H

#include <linux/workqueue.h>

enum sbuf_worker {
	SBUF_WORKER_TEXT,	/* text.c: a stack has no text yet */
	SBUF_WORKER_EVICT,	/* evict.c: the stack table fills up */
	SBUF_WORKER_SHARE,	/* ring.c: all pages are open */
	SBUF_WORKER_RECYCLE,	/* recall_cache.c: half of the cache is full */
	SBUF_WORKER_REPORT,	/* recall.c: a recalled stack was wrong */
	SBUF_WORKERS
};

/* The workers' functions, in the files named above */
/* Render pending stacks; @work may be NULL.  Process context */
void sbuf_text_flush(struct work_struct *work);
void sbuf_evict_stacks(struct work_struct *work);
void sbuf_ring_share_pages(struct work_struct *work);
void sbuf_cache_recycle_half(struct work_struct *work);
void sbuf_recall_report(struct work_struct *work);

/* An element without a function is unused */
extern struct work_struct sbuf_worker[SBUF_WORKERS];

/* Request that a worker starts */
void sbuf_worker_request(enum sbuf_worker what);
/* Pass on requests of a CPU that was going offline */
void sbuf_worker_resubmit(void);
/* Wait until no worker runs or is requested.  Process context, after the last save */
void sbuf_worker_exit(void);

#endif /* STACKBUF_WORKER_H */
