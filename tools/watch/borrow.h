/* SPDX-License-Identifier: GPL-2.0 */
/*
 * borrow.h - the running module's parameters, borrowed for the time of a command, and its end on
 * request
 */
#ifndef BORROW_H
#define BORROW_H

#include <poll.h>
#include <signal.h>
#include "watch/pattern.h"
#include "input/source.h"

/* Where the parameters are, if STACKBUF_PARAMETERS does not say otherwise */
#define PARAMETERS	"/sys/module/stackbuf/parameters"

/* Parameters that are borrowed in addition to "probe" */
enum parameter { PARAM_PID, PARAM_CPU, PARAM_COMM, PARAM_LIMIT, PARAM_EVERY, PARAM_CGROUP,
		 PARAM_PAIR, PARAMETERS_NR };

/* What is set, and what was set before */
struct borrowed {
	const char *dir;		/* where the parameters are */
	int lock;			/* against a second command: probe's file, or -1 */
	char *before[PARAMETERS_NR];	/* parameters to restore; NULL: unchanged */
	char *list;			/* the list of probes to restore; NULL: unchanged */
	u64 *addr;			/* addresses of the probes that were set, by the record */
	size_t addrs;
	u64 *kprobe;			/* those that are kprobes */
	size_t kprobes;
	u64 functions;			/* what the probes are attached to */
	u64 left_out;			/* that match, but cannot be traced or belong to a save */
	bool unlisted;			/* there are probes on several functions, not in @addr */
	char **pending;			/* names of probes that wait for their module */
	size_t pendings;
	struct refusal {		/* names that the module refused, and its reasons */
		const char *name;
		char *why;
	} *refusal;
	size_t refused;
	char reply[512];		/* why the module has refused a value, or "" */
	char error[512];		/* one line that says what went wrong */
};

/* What returns nothing ends the program if it fails */

/* Load the module if it is not loaded and can be found */
void borrow_load_module(struct borrowed *p);

/* The module must record */
void borrow_check(const struct borrowed *p, const struct stackbuf_info *info);

/*
 * borrow_open() refuses a second command.  What is set after it is restored at exit(), unless
 * borrow_restore() has done so before.
 */
void borrow_open(struct borrowed *p);
void borrow_parameter(struct borrowed *p, enum parameter which, const char *value);
void borrow_add_pair(struct borrowed *p, const char *name);	/* to those that are set */

/*
 * Add to the list of probes.  If @all, every name must be accepted; else those that the module
 * refuses are left out, and counted.  A signal ends it early.  Return 0, or -1 with p->error set.
 */
int borrow_set(struct borrowed *p, struct source *s, const struct matches *c, bool all);

/* Restore the list; restore the list and the other parameters.  Return as borrow_set() */
int borrow_remove(struct borrowed *p);
int borrow_restore(struct borrowed *p);
void borrow_close(struct borrowed *p);

/* Why the running kernel does not hit kprobes that are set at these addresses; or NULL */
const char *probes_off(const u64 *addr, size_t nr);

/* ------------------------------ an end on request: SIGINT, SIGTERM, SIGHUP --- */

/* Set by the signals, and by a command that has reached its end */
extern volatile sig_atomic_t interrupted;

/*
 * Catch the signals.  From then on they set @interrupted and interrupt what waits, and also
 * what writes unless @flags has SA_RESTART.
 */
void interrupt_catch(int flags);

/* The signals end the program again */
void interrupt_release(void);

/* Wait for a signal, or for one of @file, for @ns at most; ~0ULL: without limit */
void interrupt_wait(struct pollfd *file, unsigned int files, u64 ns);

#endif
