/* SPDX-License-Identifier: GPL-2.0 */
/*
 * errors.h - which function returned an error first, and how far up it went
 *
 * Each event of a probe FUNCTION%return@error is one call that returned an error, with its stack.
 * A caller that passes it on is the next such event of the task, with a stack that is the end of
 * the one before: from these follows the path of one error.  What was tried with each: retsnoop
 * (https://github.com/anakryiko/retsnoop) prints such paths live, by entries and returns in BPF.
 */
#ifndef ERRORS_H
#define ERRORS_H

#include "record/parse.h"
#include "symbol/pattern.h"

/* ---------------------------------------------------------- numbers and names --- */

/* What a function returns as an error is -ERROR_MAX to -1 */
#define ERROR_MAX	4095

/* "-EINVAL", "-4000" or, for 0, "NULL" */
const char *error_name(unsigned int error);

/* Which errors */
struct error_set {
	u8 has[ERROR_MAX + 1];
	bool some;	/* it was given */
};

/* Add those in a list as "EINVAL,-12,ENOMEM" or "all".  Return NULL, or what it must be */
const char *error_set_add(void *set, const char *list);

/* Is it seldom one: a call that is to be repeated, or was started and will end later? */
bool error_is_usual(unsigned int error);

/* ----------------------------------------------------------------- paths --- */

/* An error, from the function that returned it first to the last one that passed it on */
struct error_path {
	struct stack *stack;	/* of the first: all others are in it */
	unsigned int error;	/* 1 to ERROR_MAX; 0: NULL */
	u64 returned[2];	/* a bit for each frame of @stack whose function has returned it */
	unsigned int at, from;	/* the last frame of these, and the least that still may */
	struct stackbuf_event event;	/* the first */
	u64 last;	/* the time of the last one */
	u64 count;	/* how many times, once paths were added up */
};

static inline bool error_returned(const struct error_path *p, unsigned int frame)
{
	return p->returned[frame / 64] >> frame % 64 & 1;
}

struct error_stack;
struct error_task;

/* Events that are being put together */
struct errors {
	struct symbols *symbols;
	struct patterns returns;	/* functions whose errors are wanted */
	struct patterns also;	/* functions of which unwanted returns are recorded */
	/* Functions whose calls are recorded with a tag, and the stack that errors have */
	struct patterns others;
	/* Does a function return what can be an error?  NULL: all do */
	bool (*can_fail)(void *arg, const struct frame *function);
	/* Called with each path when it is known how far it went */
	void (*done)(void *arg, const struct error_path *p);
	void *arg;	/* their first argument */

	/* What was left out, or is not certain: events */
	u64 cannot_fail;	/* of functions that return no error */
	u64 unset;	/* with the tag of an error, of a function whose probe is not set now */
	u64 unsure;	/* that may be of a call which was probed, not of its return */
	u64 gone;	/* whose frames are not known */

	struct stacks stacks;	/* all that were seen: copies of those of errors */
	struct error_stack *known;	/* what is known of these, by their place */
	size_t known_nr;	/* how many */
	void *tasks;	/* a tree of struct error_task */
	struct error_task *last;
};

/* Learn from a record which of its probes record errors, which are @wanted or not */
void errors_probes(struct errors *e, const struct record *r, bool wanted);

/* Take the next event, in order of time: of any probe, as they tell where the task has been */
void errors_event(struct errors *e, const struct stackbuf_event *event, struct stack *stack);

/* Nothing follows; frees all but the stacks of paths */
void errors_end(struct errors *e);
void errors_free(struct errors *e);

/* Add up paths that are equal.  Return how many remain, in no order */
size_t error_paths_merge(struct error_path *path, size_t nr);

#endif
