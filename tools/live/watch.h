/* SPDX-License-Identifier: GPL-2.0 */
/*
 * watch.h - "snoop", "count PATTERN", "errors PATTERN" and "latency -L": probe functions while the
 * command runs
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

/* Functions that match the patterns */
struct matches {
	char **name;		/* "[module:]function[@...]" or "t:group:event[@...]", in order */
	size_t nr;
	size_t ambiguous;	/* names left out because several functions share them */
	char example[128];	/* one such name, or "" */
};

/*
 * Choose functions and events.  Names, and unless @expand globs that the module accepts, are passed
 * on as they are.  Other globs and regular expressions are matched with the functions in the file
 * @kallsyms, except those that the files @blacklist and @available (ftrace's list) exclude, and
 * with the directories of events in @events.  @kallsyms is read only if needed; @blacklist and
 * @available may be missing.  Ends the program if @kallsyms or @events cannot be read.
 */
void patterns_choose(struct patterns *p, const char *kallsyms, const char *blacklist,
		     const char *available, const char *events, bool expand, struct matches *c);
void matches_free(struct matches *c);

/* ------------------------------------------------------------ override --- */

/* The running module's parameters, overridden until the command ends, and ending it on request */

/* The parameters' directory, unless STACKBUF_PARAMETERS is set */
#define PARAMETERS	"/sys/module/stackbuf/parameters"

/* Parameters that are overridden in addition to "probe" */
enum parameter { PARAM_PID, PARAM_CPU, PARAM_COMM, PARAM_LIMIT, PARAM_EVERY, PARAM_CGROUP,
		 PARAM_PAIR, PARAMETERS_NR };

/* Where kprobes are that the kernel can switch off */
struct kprobe_sites {
	u64 *addr;
	size_t nr;
	/* Functions with probes on their returns, and where those that have no pattern are */
	struct patterns returns;
	u64 *return_addr;
	size_t return_addrs;
	/* Some kernels take kprobes for these: core/tracepoint_own.c */
	bool tracepoints;
};

/* Parameters that were set, and their values before */
struct overrides {
	const char *dir;		/* directory of the parameters */
	int lock;			/* the file of "probe", locked during the command, or -1 */
	char *before[PARAMETERS_NR];	/* parameters to restore; NULL: unchanged */
	char *list;			/* the list of probes to restore; NULL: unchanged */
	u64 *addr;			/* addresses of the probes that were set, from the record */
	size_t addrs;
	struct kprobe_sites kprobes;	/* those of them that may be kprobes */
	u64 functions;			/* number of functions with probes */
	u64 left_out;			/* matching functions not traceable or used by a save */
	bool unlisted;			/* some probes are on several functions, not in @addr */
	char **pending;			/* names of probes that wait for their module */
	size_t pendings;
	struct refusal {		/* names that the module refused, and its reasons */
		const char *name;
		char *why;
	} *refusal;
	size_t refused;
	u64 instance;			/* id of the module's load */
	ino_t inode;			/* of its directory of parameters */
	json_t *note;			/* note to leave behind if the command is killed, or NULL */
	char reply[512];		/* the module's reason for refusing a value, or "" */
	char error[512];		/* error message, one line */
};

/* Functions that return void end the program on failure */

/* The parameters' directory */
const char *override_dir(void);

/* Load the module unless it is loaded already, or not found */
void override_load_module(struct overrides *p);

/* End the program unless the module records */
void override_check(struct overrides *p, const struct stackbuf_info *info);

/*
 * Refuse to run while another command does.  Parameters set after this are restored at exit(),
 * unless override_restore() did so before.
 */
void override_open(struct overrides *p);
void override_parameter(struct overrides *p, enum parameter which, const char *value);

/* Return a file descriptor of a process; end if there is none: the module filters by process */
int override_process(u32 pid);
/* Set the module's filters; clear those that @f does not limit to one process, CPU or command */
void override_filter(struct overrides *p, const struct filter *f);

/* The command name that the kernel can compare: without *, ? and []; else NULL */
const char *override_comm(const struct filter *f);

void override_add_pair(struct overrides *p, const char *name);	/* to the pairs that are set */

/*
 * Add to the list of probes.  With @all, the module must accept every name; otherwise names that it
 * refuses are left out and counted.  A signal ends it early.  Return 0, or -1 with p->error set.
 */
int override_set(struct overrides *p, struct source *s, const struct matches *c, bool all);

/*
 * Describe the parameters that a killed command left set, as "comm, probe: set by process 1
 * (stackbuf snoop x), which was killed"; the caller frees it.  NULL: none
 */
char *override_left(const char *dir, u64 instance);

/* Set them back, and report it.  Return true if there were any */
bool override_restore_left(const char *dir, u64 instance);

/*
 * Record that @name had the value @before and that @set is about to be written; @set is NULL for a
 * value written in several parts
 */
void left_note(struct overrides *p, const char *name, const char *before, const char *set);

/* Remove the note, the second if it is this command's.  Safe in a signal handler */
void left_drop(void);
void left_forget(const struct overrides *p);

/*
 * Return the process that left the note; the caller frees it.  Set *@parameters to the values
 * before and those set, by parameter name.  NULL: this load of the module has no note
 */
char *left_read(const char *dir, u64 instance, json_t **parameters);

/*
 * Restore only the list of probes, or the list and the other parameters.  Return as override_set()
 */
int override_remove(struct overrides *p);
int override_restore(struct overrides *p);
void override_close(struct overrides *p);

/* Note where a probe is, if it may be made of kprobes */
void kprobe_sites_add(struct kprobe_sites *k, const struct stackbuf_probe *probe);
void kprobe_sites_free(struct kprobe_sites *k);

/* The reason why the running kernel does not hit one of these, or NULL */
const char *probes_off(const struct kprobe_sites *k);

/* --------------------------------- print events as they are recorded --- */

/* Hooks for commands that do more than print the events */
struct follow_hooks {
	void *arg;	/* first argument of all hooks */
	bool quiet;	/* do not report lost events: @rest does */
	bool own_ids;	/* keep the ids of equal stacks, see stack_canonical() */
	/* Called when all later events will be passed to @event, which returns false to end */
	void (*begin)(void *arg);
	bool (*event)(void *arg, const struct stackbuf_event *e);
	/* Called after each round with the number of lost events; returns true to end */
	bool (*enough)(void *arg, u64 lost);
	/* Called before the remaining events of the ring are passed */
	void (*end)(void *arg);
	/* Called last: lost events, and events whose stacks were evicted before they were read */
	void (*rest)(void *arg, u64 lost, u64 evicted);
};

/*
 * Print new events until SIGINT, SIGTERM, SIGHUP or --until; with --last or --since, first those in
 * the ring.  With @hooks, which may be NULL, the caller must have caught the signals.  Ends the
 * program if the source cannot be read.
 */
void follow_events(struct source *s, struct output *o, const struct filter *f,
		   const struct follow_hooks *hooks);

/* -------------------------------------------------------- prototypes --- */

/* The parameters of the running kernel's functions, if it has BTF */

struct prototypes;

/* Each BTF file is read when one of its functions is first looked up */
struct prototypes *prototypes_open(void);
void prototypes_close(struct prototypes *p);

/*
 * Set *@parameter to the declarations of the parameters of a function or event, as "struct file
 * *file", valid until the next call.  @name is as in struct matches.  Return their number, or -1 if
 * it is unknown.
 */
int prototypes_find(struct prototypes *p, const char *name, char *const **parameter);

/*
 * Replace the names of events' arguments in places separated by blanks, as in "t:kmem:kmalloc@ptr",
 * by numbers.  An unknown name stays: the module may know it.  The caller frees the result
 */
char *prototypes_number(const char *places);

/*
 * Return true if a function may return an error, or if that is unknown.  One that returns void, a
 * structure, or a type without room for a negative number cannot: bool, unsigned int and shorter,
 * or such an enumeration.
 */
bool prototypes_can_fail(struct prototypes *p, const char *module, const char *function);

/* ------------------------------------------------------------- watch --- */

/* A command that probes functions */
struct watch {
	struct source *source;
	struct output *o;		/* its record has the page of stackbuf_info */
	const struct filter *filter;	/* the options given besides functions */
	struct patterns patterns;	/* the functions */
	u64 number;			/* snoop: end after this number of events; 0: never */
	bool offsets, verbose, per_process, timestamp;
	bool events;			/* count only events read, not the table's totals */
	bool paths;			/* errors: the CPU is that of an error's first return */
	const char *flame, *cgroup;	/* of --flame and --cgroup, or NULL */
	u64 interval;			/* count: ns between totals; 0: only at the end */
	u64 duration;			/* ns; 0: until interrupted */

	/* The rest is for snoop.c and stackcount.c */
	struct matches matches;
	struct overrides overrides;
	u64 cgroup_id;		/* of @cgroup; 0: all */
	int pidfd;
	u64 started;		/* CLOCK_MONOTONIC, ns */
	bool filtered;		/* the kernel does not apply all of the filter */
	const char *off;	/* why probes were not hit, reported; or NULL */
	bool in_vain;		/* all functions were in modules that were never loaded */
	bool unlisted;		/* it is unknown which functions the kernel does not let probe */
	u64 missed, lost[STACKBUF_COUNTERS];
};

/* Events of poll() for a pipe or a socket without a reader */
#define NO_READER	(POLLERR | POLLHUP)

/* Return true if the format adds up events by command */
bool watch_sums(const struct watch *w);

/*
 * The commands: each event, totals, or a list.  On an error they end the program with one line:
 * exit() restores the parameters.
 */
void snoop_run(struct watch *w);
void stackcount_run(struct watch *w);
void list_run(struct watch *w);

/*
 * Choose the running kernel's functions, with @expand by their names; report each pattern that
 * finds none.
 */
void watch_functions(struct watch *w, bool expand);

/* Report functions that patterns match but that cannot be probed */
void watch_report_left_out(const struct watch *w);

/*
 * Pass each event and its stack to @event until watch_over(), except the command's own events.
 * Return how many were overwritten, or lost their stacks, before they were read.
 */
u64 watch_events(struct watch *w, void *arg,
		 void (*event)(void *arg, const struct stackbuf_event *e, struct stack *stack));

/* Add a function or a pattern to be probed; end if the kernel would read it in another way */
void watch_add(struct watch *w, const char *text, bool regex);

/* The steps of a command, in this order */
void watch_prepare(struct watch *w);	/* choose functions, set filters */
void watch_begin(struct watch *w);	/* set probes */
void watch_end(struct watch *w);	/* restore probes, but not yet filters */
/* Restore filters, unless that is done: call it before output that a pager may hold up */
void watch_restore(struct watch *w);
void watch_finish(struct watch *w);	/* watch_restore(); report missed hits */

/*
 * Return true if it is time to end: --duration, an interrupt, the process of --pid or the output's
 * reader has ended
 */
bool watch_over(const struct watch *w);

/* Wait until watch_over() may return true, but at most @ns; ~0ULL: no limit */
void watch_wait(const struct watch *w, u64 ns);

/* CLOCK_MONOTONIC, ns */
u64 watch_now(void);

/*
 * Return true if this process caused the event.  A probe on a function that this process calls to
 * read and print would otherwise produce events without end.
 */
bool watch_own(const struct stackbuf_event *e);

/* Return true if the stack begins in one of the functions */
bool watch_wants(struct watch *w, struct stack *stack);

/* Report events whose stacks were evicted before their frames were read */
void watch_report_evicted(u64 events);

/* Print a frame's name, with its offset if w->offsets */
void watch_frame(const struct watch *w, const struct frame *f);

#endif
