/* SPDX-License-Identifier: GPL-2.0 */
/*
 * errors.h - finds the function that first returned an error, and the callers that passed it on
 *
 * Each event of a probe FUNCTION%return@error is one call that returned an error, with its stack.
 * A caller that passes the error on produces the next such event of the task, and its stack is the
 * end of the previous one: from these follows the path of one error.  retsnoop
 * (https://github.com/anakryiko/retsnoop) prints such paths live, from entries and returns in BPF.
 */
#ifndef ERRORS_H
#define ERRORS_H

#include "record/parse.h"
#include "symbol/pattern.h"

/* ---------------------------------------------------------- numbers and names --- */

/* A function returns an error as -ERROR_MAX to -1 */
#define ERROR_MAX	4095

/* "-EINVAL", "-4000" or, for 0, "NULL" */
const char *error_name(unsigned int error);

/* A set of errors */
struct error_set {
	u8 has[ERROR_MAX + 1];
	bool some;	/* the option was given */
};

/*
 * Add the errors of a list, as "EINVAL,-12,ENOMEM" or "all".  Return NULL, or a description of
 * valid lists
 */
const char *error_set_add(void *set, const char *list);

/* Return true if the code seldom means failure: the call is to be repeated, or completes later */
bool error_is_usual(unsigned int error);

/* ----------------------------------------------------------------- paths --- */

/* An error, from the function that first returned it to the last one that passed it on */
struct error_path {
	struct stack *stack;	/* of the first function: all others are in it */
	unsigned int error;	/* 1 to ERROR_MAX; 0: NULL */
	u64 returned[2];	/* a bit for each frame of @stack whose function has returned it */
	unsigned int at, from;	/* the last of these frames, and the first that may follow */
	struct stackbuf_event event;	/* the first event */
	u64 last;	/* time of the last event */
	u64 count;	/* number of equal paths, after error_paths_merge() */
};

static inline bool error_returned(const struct error_path *p, unsigned int frame)
{
	return p->returned[frame / 64] >> frame % 64 & 1;
}

struct error_stack;
struct error_task;

/* State of combining events */
struct errors {
	struct symbols *symbols;
	struct patterns returns;	/* functions whose errors are wanted */
	struct patterns also;	/* functions whose returns are recorded but not wanted */
	/* Functions with a tagged probe on the call: its stacks equal those of errors */
	struct patterns others;
	/* Returns true if a function may return an error.  NULL: all may */
	bool (*can_fail)(void *arg, const struct frame *function);
	/* Called with each path when its end is known */
	void (*done)(void *arg, const struct error_path *p);
	void *arg;	/* first argument of both */

	/* Events that were left out, or are uncertain: */
	u64 cannot_fail;	/* of functions that cannot return an error */
	u64 unset;	/* tagged as an error, but the function has no probe now */
	u64 unnamed;	/* the same, of functions without names here */
	u64 unsure;	/* maybe of a probe on the call, not on its return */
	u64 gone;	/* with unknown frames */

	struct stacks stacks;	/* all stacks seen; those of errors are copies */
	struct error_stack *known;	/* data of these stacks, by their place */
	size_t known_nr;
	void *tasks;	/* a tree of struct error_task */
	struct error_task *last;
};

/* Add a probe as a pattern.  The record may contain any bytes, and none may end the program */
void errors_add_probe(struct patterns *p, const struct stackbuf_probe *probe);

/* Add a record's probes of errors, as @wanted or not */
void errors_probes(struct errors *e, const struct record *r, bool wanted);

/* Add the next event, by time, of any probe: each shows where the task was */
void errors_event(struct errors *e, const struct stackbuf_event *event, struct stack *stack);

/* End all paths; free everything but their stacks */
void errors_end(struct errors *e);
void errors_free(struct errors *e);

/* Add up equal paths.  Return how many remain, unsorted */
size_t error_paths_merge(struct error_path *path, size_t nr);

#endif
