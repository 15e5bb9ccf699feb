/* SPDX-License-Identifier: GPL-2.0 */
/*
 * watch.h - "snoop", "count PATTERN", "errors PATTERN" and "latency -L": events of functions that
 * have probes for the time of the command
 */
#ifndef WATCH_H
#define WATCH_H

#include <jansson.h>
#include <poll.h>
#include <stddef.h>
#include "input/source.h"
#include "output/output.h"
#include "symbol/pattern.h"

/* ------------------------------------------------------------ choose --- */

/* Functions that match */
struct matches {
	char **name;		/* "[module:]function[@...]" or "t:group:event[@...]", in order */
	size_t nr;
	size_t ambiguous;	/* names left out because several functions have them */
	char example[128];	/* one of these, or "" */
};

/*
 * Take names as they are, and unless @expand the globs that the module takes; match other globs and
 * regular expressions with the functions in the file @kallsyms, which is read only for these,
 * without what the files @blacklist and @available (of ftrace; each may be missing) exclude, and
 * with the directories of events in @events.  Ends the program if @kallsyms or @events cannot be
 * read.
 */
void patterns_choose(struct patterns *p, const char *kallsyms, const char *blacklist,
		     const char *available, const char *events, bool expand, struct matches *c);
void matches_free(struct matches *c);

/* ------------------------------------------------------------ override --- */

/*
 * The running module's parameters, overridden for the time of a command, and its end on
 * request
 */

/* Where the parameters are, if STACKBUF_PARAMETERS does not say otherwise */
#define PARAMETERS	"/sys/module/stackbuf/parameters"

/* Parameters that are overridden in addition to "probe" */
enum parameter { PARAM_PID, PARAM_CPU, PARAM_COMM, PARAM_LIMIT, PARAM_EVERY, PARAM_CGROUP,
		 PARAM_PAIR, PARAMETERS_NR };

/* What is set, and what was set before */
struct overrides {
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
	u64 instance;			/* which load of the module it is */
	json_t *note;			/* what a command that is killed leaves, or NULL */
	char reply[512];		/* why the module has refused a value, or "" */
	char error[512];		/* one line that says what went wrong */
};

/* What returns nothing ends the program if it fails */

/* Where the parameters are */
const char *override_dir(void);

/* Load the module if it is not loaded and can be found */
void override_load_module(struct overrides *p);

/* The module must record */
void override_check(struct overrides *p, const struct stackbuf_info *info);

/*
 * override_open() refuses a second command.  What is set after it is restored at exit(), unless
 * override_restore() has done so before.
 */
void override_open(struct overrides *p);
void override_parameter(struct overrides *p, enum parameter which, const char *value);

/* The filters that the kernel has: one process or thread, one CPU, one command; of others, none */
void override_filter(struct overrides *p, const struct filter *f);

/* The command whose name the kernel can compare: without *, ? and []; else NULL */
const char *override_comm(const struct filter *f);

void override_add_pair(struct overrides *p, const char *name);	/* to those that are set */

/*
 * Add to the list of probes.  If @all, every name must be accepted; else those that the module
 * refuses are left out, and counted.  A signal ends it early.  Return 0, or -1 with p->error set.
 */
int override_set(struct overrides *p, struct source *s, const struct matches *c, bool all);

/*
 * What a command that was killed has left, as "comm, probe: set by process 1 (stackbuf snoop x),
 * which was killed", to be freed; NULL: nothing.  @only: of this parameter alone
 */
char *override_left(const char *dir, u64 instance, const char *only);

/* Note that @name was @before and @set is written; NULL: another value, in several writes */
void left_note(struct overrides *p, const char *name, const char *before, const char *set);

/* Remove the note.  Safe in a signal handler */
void left_forget(const struct overrides *p);

/*
 * The process that made the note, to be freed, and by name of each parameter its value before and
 * the one that was set; NULL: there is no note for this load of the module
 */
char *left_read(const char *dir, u64 instance, json_t **parameters);

/* Restore the list; restore the list and the other parameters.  Return as override_set() */
int override_remove(struct overrides *p);
int override_restore(struct overrides *p);
void override_close(struct overrides *p);

/* Why the running kernel does not hit kprobes that are set at these addresses; or NULL */
const char *probes_off(const u64 *addr, size_t nr);

/* --------------------------------- print events as they are recorded --- */

/* For commands that do not just print the events */
struct follow_hooks {
	void *arg;	/* first argument of all functions */
	bool quiet;	/* do not report lost events; @rest does */
	bool own_ids;	/* keep the id of a stack that equals another one, see stack_canonical() */
	/* All later events will be passed to @event, which returns false if no more are wanted */
	void (*begin)(void *arg);
	bool (*event)(void *arg, const struct stackbuf_event *e);
	/* After each round, with the number of lost events: returns true to end */
	bool (*enough)(void *arg, u64 lost);
	/* Before the events that are still in the ring are passed */
	void (*end)(void *arg);
	/* Last: events that were lost, and those whose stacks were evicted before they were read */
	void (*rest)(void *arg, u64 lost, u64 evicted);
};

/*
 * Print what is recorded from now on, until SIGINT, SIGTERM, SIGHUP or --until; before that, with
 * --last or --since, what is in the ring.  With @hooks, which may be NULL, the caller must have
 * caught the signals.  Ends the program if the source cannot be read.
 */
void follow_events(struct source *s, struct output *o, const struct filter *f,
		   const struct follow_hooks *hooks);

/* -------------------------------------------------------- prototypes --- */

/* The parameters of the running kernel's functions, where it has BTF */

struct prototypes;

/* To be closed; each file of BTF is read when a function of it is looked up */
struct prototypes *prototypes_open(void);
void prototypes_close(struct prototypes *p);

/*
 * Set *@parameter to the declarations of what a function or an event is called with, as
 * "struct file *file"; it is valid until the next call.  @name is as in struct matches.  Return how
 * many there are, or -1 if that is not known.
 */
int prototypes_find(struct prototypes *p, const char *name, char *const **parameter);

/*
 * Places that blanks separate, with names of events' arguments, as in "t:kmem:kmalloc@ptr",
 * replaced by numbers.  A name that is not known stays: the module may know it.  To be freed
 */
char *prototypes_number(const char *places);

/*
 * May a function return an error?  Not one that returns nothing, a structure, or less than it takes
 * to hold a negative number: bool, unsigned int and shorter, or such an enumeration.  True if that
 * is not known.
 */
bool prototypes_can_fail(struct prototypes *p, const char *module, const char *function);

/* ------------------------------------------------------------- watch --- */

/* A command that watches functions */
struct watch {
	struct source *source;
	struct output *o;		/* its record holds the page of stackbuf_info */
	const struct filter *filter;	/* what was given beside functions */
	struct patterns patterns;	/* the functions */
	u64 number;			/* snoop: end after this number of events; 0: never */
	bool offsets, verbose, per_process, timestamp;
	bool events;			/* only events that were read, not totals of the table */
	const char *flame, *cgroup;	/* of --flame and --cgroup, or NULL */
	u64 interval;			/* count: ns between totals; 0: at the end only */
	u64 duration;			/* ns; 0: until interrupted */

	/* The rest is for snoop.c and stackcount.c */
	struct matches matches;
	struct overrides overrides;
	u64 cgroup_id;		/* of @cgroup; 0: all */
	int pidfd;
	u64 started;		/* CLOCK_MONOTONIC, ns */
	bool filtered;		/* the filter has a part that the kernel does not apply */
	bool reported_off;
	bool in_vain;		/* all functions waited for modules that were not loaded */
	bool unlisted;		/* which functions the kernel excludes from probes is not known */
	u64 missed, lost[STACKBUF_COUNTERS];
};

/* Is the format one that adds up events by command? */
bool watch_sums(const struct watch *w);

/*
 * The commands: each event, totals, or a list.  What goes wrong ends the program where it does,
 * with one line: exit() restores what was overridden.
 */
void snoop_run(struct watch *w);
void stackcount_run(struct watch *w);
void list_run(struct watch *w);

/*
 * Choose the running kernel's functions, @expand: by their names; report each pattern that has
 * found none.
 */
void watch_functions(struct watch *w, bool expand);

/* Report what patterns match and is left out of the functions chosen */
void watch_report_left_out(const struct watch *w);

/*
 * Pass each event but the command's own, with its stack, to @event, as long as it is watched.
 * Return how many were overwritten before they were read.
 */
u64 watch_events(struct watch *w, void *arg,
		 void (*event)(void *arg, const struct stackbuf_event *e, struct stack *stack));

/* Their steps, in this order */
void watch_prepare(struct watch *w);	/* choose functions; change nothing */
void watch_begin(struct watch *w);	/* set filters and probes */
void watch_end(struct watch *w);	/* restore probes, but not yet filters */
void watch_finish(struct watch *w);	/* restore filters; report what was missed */

/* Is it time to end: --duration, an interrupt, no process of --pid or reader of the output? */
bool watch_over(const struct watch *w);

/* Wait until watch_over() may be true, for @ns at most; ~0ULL: without limit */
void watch_wait(const struct watch *w, u64 ns);

/* CLOCK_MONOTONIC, ns */
u64 watch_now(void);

/*
 * Is it an event of this process?  A probe on a function that this process calls to read and print
 * would produce events without end.
 */
bool watch_own(const struct stackbuf_event *e);

/* Does the stack begin in one of the functions? */
bool watch_wants(struct watch *w, struct stack *stack);

/* Report events of stacks of which no frames were read */
void watch_report_evicted(u64 events);

/* Print a frame's name, with its offset if w->offsets */
void watch_frame(const struct watch *w, const struct frame *f);

#endif
