/* SPDX-License-Identifier: GPL-2.0 */
/*
 * probe.h - the running module's parameters, borrowed for the time of a command
 */
#ifndef PROBE_H
#define PROBE_H

#include "live/pattern.h"
#include "input/source.h"

/* Where the parameters are, if STACKBUF_PARAMETERS does not say otherwise */
#define PARAMETERS	"/sys/module/stackbuf/parameters"

/* Those that are borrowed beside "probe" */
enum parameter { PARAM_PID, PARAM_CPU, PARAM_COMM, PARAM_LIMIT, PARAM_EVERY, PARAMETERS_NR };

/**
 * struct probes - what is set, and what was set before
 * @dir: where the parameters are
 * @lock: the file of parameter probe, locked against others that do the same; or -1
 * @before: values to go back to; NULL: as it was
 * @list: the list of probes to go back to; NULL: as it was
 * @addr: where the probes are that were set; the module tells
 * @addrs: how many
 * @pending: of those that were set, how many wait for their module
 * @refused: names that the module refused one by one
 * @why: what it said of the first, and its name
 * @error: one line that says what went wrong
 */
struct probes {
	const char *dir;
	int lock;
	char *before[PARAMETERS_NR];
	char *list;
	u64 *addr;
	size_t addrs, room;
	size_t pending;
	size_t refused;
	char why[256];
	char error[512];
};

/* Load the module if it is not loaded and can be found.  Return 0, or -1 with p->error set */
int probes_load_module(struct probes *p);

/*
 * All below: 0, or -1 with p->error set.  probes_open() also refuses a second one
 * at a time.  Whatever is set from then on is restored at exit(), if
 * probes_restore() has not done it before.
 */
int probes_open(struct probes *p);
int probes_parameter(struct probes *p, enum parameter which, const char *value);

/*
 * Add to the list in force.  If @all, each must be taken; else those that the
 * module refuses are left out, and counted.  A signal (stop) ends it early.
 */
int probes_set(struct probes *p, struct source *s, const struct matches *c, bool all);

/* The list as it was, then the other parameters */
int probes_remove(struct probes *p);
int probes_restore(struct probes *p);
void probes_close(struct probes *p);

/* Why the running kernel does not hit probes that are set at these addresses; or NULL */
const char *probes_off(const u64 *addr, size_t nr);

/* Hits that the kernel missed since loading */
u64 probes_missed(const struct record *r);

#endif
