/* SPDX-License-Identifier: GPL-2.0 */
/*
 * spool.h - pushes that were not sent yet, and what was pushed before, in a folder
 */
#ifndef SPOOL_H
#define SPOOL_H

#include "push/delta.h"

/**
 * struct push - one push: a profile, and how it is sent
 * @sequence: its number
 * @key: identifies it: the same however often it is sent
 * @query: of the URL
 * @body: the profile
 * @size: its bytes
 * @events: events in it
 * @again: it was sent before, without an answer
 */
struct push {
	u64 sequence;
	char *key, *query;
	void *body;
	size_t size;
	u64 events;
	bool again;
};

void push_free(struct push *p);

/**
 * struct spool - the folder
 * @dir: its name
 * @limit: bytes of profiles, beyond which the oldest are dropped
 * @fd: the folder, locked
 * @error: one line that says what went wrong
 */
struct spool {
	char *dir;
	u64 limit;
	int fd;
	char error[512];
};

/* All of these return 0, or -1 with s->error set */

/* Open the folder, create it if necessary, and read the state, which is all 0 if there is none */
int spool_open(struct spool *s, const char *dir, u64 limit, struct push_state *state);
void spool_close(struct spool *s);

/*
 * Store a push and the state that follows from it: both or neither, also if the machine stops in
 * between.  Drop the oldest pushes if there is no room; @state counts them.
 */
int spool_add(struct spool *s, const struct push *p, struct push_state *state);

/* The oldest push, to be freed; return 1 if there is none */
int spool_first(struct spool *s, struct push *p);

/*
 * Note that it may have arrived, before it is sent: the command may be killed before it has the
 * answer.  Then: it did not arrive, @p->again is false again; it was taken: remove it; it was
 * refused: put it aside.
 */
int spool_mark_again(struct spool *s, struct push *p);
int spool_unmark_again(struct spool *s, struct push *p);
int spool_remove(struct spool *s, const struct push *p);
int spool_put_aside(struct spool *s, const struct push *p);

/* How many pushes wait */
size_t spool_waiting(struct spool *s);

#endif
