// SPDX-License-Identifier: GPL-2.0
/*
 * watch.c - common code of "snoop", "count", "errors" and "latency -L": temporary probes
 */
#include <errno.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <time.h>
#include <unistd.h>
#include "ending.h"
#include "input/steady.h"
#include "live/watch.h"
#include "symbol/errors.h"

#define BLACKLIST	"/sys/kernel/debug/kprobes/blacklist"
#define AVAILABLE	"/sys/kernel/tracing/available_filter_functions"
#define EVENTS		"/sys/kernel/tracing/events"

/* ----------------------------------------------------- choosing functions --- */

/* Return true if --cpu chooses one of the machine's CPUs */
static bool some_cpu(const struct filter *f, u32 cpus)
{
	const struct filter only = { .cpu = f->cpu };
	struct stackbuf_event e = { 0 };

	while (e.cpu < cpus && !filter_match(&only, &e))
		e.cpu++;
	return e.cpu < cpus;
}

/*
 * A cgroup's id is the inode number of its directory.  Its path is relative to the mount point, as
 * in /proc/PID/cgroup, or a path to the directory.
 */
static void find_cgroup(struct watch *w)
{
	static const char *const base[] = { "", "/sys/fs/cgroup/", "/sys/fs/cgroup/unified/" };
	struct statfs fs;
	struct stat st;
	char *path;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(base); i++) {
		path = xasprintf("%s%s", base[i], w->cgroup);
		if (!statfs(path, &fs) && fs.f_type == CGROUP2_SUPER_MAGIC && !stat(path, &st) &&
		    S_ISDIR(st.st_mode))
			w->cgroup_id = st.st_ino;
		free(path);
		if (w->cgroup_id)
			return;
	}
	die(1, "%s: no cgroup: give its directory, as /sys/fs/cgroup/system.slice/ssh.service, or what /proc/PID/cgroup shows after 0::",
	    w->cgroup);
}

static void check_filter(struct watch *w)
{
	u32 pid, cpu, cpus = w->o->record->info.nr_cpus;
	const struct filter *f = w->filter;

	if (w->cgroup)
		find_cgroup(w);
	if (filter_single(&f->pid, &pid))
		w->pidfd = override_process(pid);
	if (filter_single(&f->cpu, &cpu) && cpu >= cpus)
		die(1, "there is no CPU %u: this machine has %u, from 0", cpu, cpus);
	if (!some_cpu(f, cpus))
		die(1, "--cpu: none of these exists: this machine has %u, from 0", cpus);
	w->filtered = (f->pid.nr && !filter_single(&f->pid, &pid)) ||
		      (f->cpu.nr && !filter_single(&f->cpu, &cpu)) ||
		      (f->comms && !override_comm(f)) || f->tag.nr;
}

/* ----------------------------------------------- patterns without a match --- */

/* The reason why no function that a pattern matches can be probed; NULL if one can */
static char *why_none(const struct pattern *p, bool expanded)
{
	char *module, *why = NULL;

	if (p->kind == PATTERN_NAME || p->chosen || (!expanded && pattern_is_for_module(p)))
		return NULL;
	if (p->event)
		return xasprintf("%s: no event with a tracepoint matches: stackbuf count -l 't:*' lists them",
				 p->text);
	if (p->matched)
		return xasprintf("%s: none of the %zu functions that match can be probed", p->text,
				 p->matched);
	module = p->module ? xasprintf("/sys/module/%s", p->module) : NULL;
	if (module && access(module, F_OK))
		why = xasprintf("%s: no function matches: no module %s is loaded", p->text,
				p->module);
	free(module);
	return why ?: xasprintf("%s: no function matches; if it is inlined, probe a caller",
				p->text);
}

/* Report each pattern that finds nothing; if it is the only pattern, as the error */
static void check_patterns(struct watch *w, bool expanded)
{
	size_t i;

	for (i = 0; i < w->patterns.nr; i++) {
		char *why = why_none(&w->patterns.pattern[i], expanded);

		if (why && w->patterns.nr == 1)
			die(1, "%s", why);
		if (why)
			report("%s", why);
		free(why);
	}
	if (!w->matches.nr)
		die(1, "none of the patterns has a function to probe");
}

void watch_functions(struct watch *w, bool expand)
{
	w->unlisted = access(BLACKLIST, R_OK) && access(AVAILABLE, R_OK);
	patterns_choose(&w->patterns, "/proc/kallsyms", BLACKLIST, AVAILABLE, EVENTS, expand,
			&w->matches);
	check_patterns(w, expand);
}

void watch_report_left_out(const struct watch *w)
{
	const struct matches *c = &w->matches;

	if (c->ambiguous)
		report("%zu names are left out, as several functions share each: %s, ...",
		       c->ambiguous, c->example);
}

/* End the program if a function in NAME@argN does not have that argument, as far as BTF shows */
static void check_argument(struct prototypes *prototypes, const char *name)
{
	const char *at = strstr(name, "@arg");
	char *const *parameter;
	int n = atoi(at + 4), nr = prototypes_find(prototypes, name, &parameter);

	if (nr < 0 || n <= nr || (nr && !strcmp(parameter[nr - 1], "...")))
		return;
	die(1, "%s: it has %d arguments: stackbuf count -l %.*s shows them", name, nr,
	    (int)(at - name), name);
}

static void check_arguments(struct watch *w)
{
	struct prototypes *prototypes = NULL;
	size_t i;

	for (i = 0; i < w->matches.nr; i++) {
		if (!strstr(w->matches.name[i], "@arg") || strpbrk(w->matches.name[i], "*?["))
			continue;
		prototypes = prototypes ?: prototypes_open();
		check_argument(prototypes, w->matches.name[i]);
	}
	if (prototypes)
		prototypes_close(prototypes);
}

void watch_add(struct watch *w, const char *text, bool regex)
{
	patterns_add(&w->patterns, text, regex);
	/* Its glob_match() has neither; fnmatch(), with which we match again, has both */
	if (!regex && (strstr(text, "[^") || strstr(text, "[[")))
		die(EXIT_USAGE, "%s: the kernel's patterns have no [^...] and no classes: write [!...], [a-z]",
		    text);
}

void watch_prepare(struct watch *w)
{
	const struct stackbuf_info *info = &w->o->record->info;
	const struct matches *c = &w->matches;
	struct filter filter = *w->filter;
	char cgroup[24];

	w->pidfd = -1;
	interrupt_catch(0);
	/* If the reader of a pipe ends, the probes must still be removed */
	signal(SIGPIPE, SIG_IGN);
	override_check(&w->overrides, info);
	check_filter(w);
	/* Without ftrace the module takes no patterns of functions */
	watch_functions(w, !access(EVENTS, R_OK) && access(AVAILABLE, R_OK));
	check_arguments(w);
	if (c->nr > STACKBUF_PROBES_MAX)
		die(1, "%zu functions match; the module takes %u probes", c->nr,
		    STACKBUF_PROBES_MAX);
	watch_report_left_out(w);
	override_open(&w->overrides);
	/*
	 * Before anything is read: a probe that was set before may be at the same function, and
	 * what it records of others from then on would count
	 */
	snprintf(cgroup, sizeof(cgroup), "%llu", w->cgroup_id);
	if (w->paths)
		filter.cpu.nr = 0;
	override_filter(&w->overrides, &filter);
	override_parameter(&w->overrides, PARAM_CGROUP, cgroup);
	override_parameter(&w->overrides, PARAM_LIMIT, "0");
	override_parameter(&w->overrides, PARAM_EVERY, "1");
}

bool watch_sums(const struct watch *w)
{
	return w->o->format == FORMAT_FOLDED || w->o->format == FORMAT_PPROF ||
	       w->o->format == FORMAT_FLAME;
}

bool watch_own(const struct stackbuf_event *e)
{
	return e->tgid == (u32)getpid();
}

bool watch_wants(struct watch *w, struct stack *stack)
{
	const struct overrides *p = &w->overrides;

	if (stack->origin == STACKBUF_AT_EVENT)
		return patterns_have_event(&w->patterns);
	/* The innermost frame of a probe's event is the probed address */
	if (stack->nr && bsearch(&stack->addr[0], p->addr, p->addrs, sizeof(u64), order_u64))
		return true;
	return (p->pendings || p->unlisted) && stack->origin == STACKBUF_AT_PROBE &&
	       patterns_match_stack(&w->patterns, w->o->symbols, stack);
}

void watch_report_evicted(u64 events)
{
	if (events)
		report("up to %llu events are not among these: their stacks were evicted before they were read",
		       events);
}

/* --------------------------------------------------- from begin to finish --- */

/* Report once that probes are not hit: at the beginning or, if it happened later, at the end */
static void report_off(struct watch *w)
{
	if (w->off)
		return;
	w->off = probes_off(&w->overrides.kprobes);
	if (w->off)
		report("%s", w->off);
}

/* Report the names that the module refused: each given name, and the first of the matched ones */
static void report_refused(const struct watch *w)
{
	const struct overrides *p = &w->overrides;
	const char *first = NULL;
	size_t i, n, others = 0;

	for (i = 0; i < p->refused; i++) {
		const struct refusal *one = &p->refusal[i];

		for (n = 0; n < w->patterns.nr; n++)
			if (!strcmp(one->name, w->patterns.pattern[n].text))
				break;
		if (n < w->patterns.nr) {
			report("left out: %s", one->why);
		} else {
			first = first ?: one->why;
			others++;
		}
	}
	if (others)
		report("%zu of %zu functions are left out, as the kernel refused them: %s%s",
		       others, w->matches.nr, first, others > 1 ? ", ..." : "");
}

/* Report each probe that is not set yet: its module's name may be misspelt */
static void report_pending(const struct overrides *p)
{
	size_t i;

	for (i = 0; i < p->pendings; i++)
		report("%s is pending: it waits for a module %.*s, which is not loaded",
		       p->pending[i], (int)strcspn(p->pending[i], ":"), p->pending[i]);
}

/* Return the end of a probe's name, as @arg1 or %return; "" if it records only stacks */
static const char *kind_of(const char *name)
{
	return name + strcspn(name, "@%");
}

/* Return true if a probe may be hit where ours is.  Two patterns: if one matches the other */
static bool is_at_ours(const struct overrides *p, const struct pattern *ours,
		       const struct stackbuf_probe *probe)
{
	struct patterns all = { 0 };
	const struct pattern *other;
	bool at;

	if (probe->addr && bsearch(&probe->addr, p->addr, p->addrs, sizeof(u64), order_u64))
		return true;
	if (ours->event || ours->addr || probe->way == STACKBUF_PROBE_BY_TRACEPOINT)
		return false;
	errors_add_probe(&all, probe);
	other = all.pattern;
	at = !(ours->module && other->module && strcmp(ours->module, other->module)) &&
	     !other->addr && (pattern_matches_name(ours, other->function) ||
			      pattern_matches_name(other, ours->function));
	patterns_free(&all);
	return at;
}

/*
 * For probes at one place that record the same, the module makes one event; for others, and for
 * triggers and pairs, one each.  Commands that watch returns tell these apart
 */
static void report_twice(const struct watch *w)
{
	static const char *const parameter[] = {
		"probe", [STACKBUF_PAIR_OPENS] = "pair", [STACKBUF_TRIGGERS] = "trigger",
	};
	const struct patterns *ours = &w->patterns;
	struct stackbuf_probe probe;
	unsigned int i;
	size_t n;

	for (i = 0; probe_next(w->o->record, &i, &probe); ) {
		if (probe.role >= ARRAY_SIZE(parameter) || !parameter[probe.role])
			continue;
		for (n = 0; n < ours->nr; n++) {
			const struct pattern *one = &ours->pattern[n];

			if (!strstr(one->text, "%return") &&
			    (probe.role || strcmp(kind_of(one->text), kind_of(probe.name))) &&
			    is_at_ours(&w->overrides, one, &probe))
				break;
		}
		if (n < ours->nr)
			report("the probe %s records calls of %s, too, so that they may count twice: remove it from the parameter %s",
			       probe.name, ours->pattern[n].text, parameter[probe.role]);
	}
}

void watch_begin(struct watch *w)
{
	struct overrides *p = &w->overrides;
	bool names_only = true;
	size_t i;

	memcpy(w->lost, w->o->record->lost, sizeof(w->lost));
	w->missed = probes_missed(w->o->record);
	for (i = 0; i < w->patterns.nr; i++)
		names_only = names_only && w->patterns.pattern[i].kind == PATTERN_NAME;
	if (override_set(p, w->source, &w->matches, names_only))
		die(1, "%s%s", p->error, strstr(p->error, "no such function") ?
		    " (stackbuf count -l lists functions)" : "");
	sort(p->addr, p->addrs, sizeof(u64), order_u64);
	if (p->refused == 1 && w->matches.nr == 1)
		die(1, "%s", p->refusal->why);
	report_refused(w);
	if (p->refused && p->refused == w->matches.nr)
		die(1, "none of the patterns has a function to probe");
	report_pending(p);
	if (p->left_out)
		report("%llu more functions match and are left out: the kernel does not let them be traced, or stackbuf calls them for each event",
		       p->left_out);
	report_twice(w);
	report_off(w);
	w->started = watch_now();
}

u64 watch_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

/* Besides signals, these end it: the output lost its reader, the process of --pid ended */
#define ENDS(w)	{									\
	{ .fd = STDOUT_FILENO },							\
	{ .fd = (w)->pidfd, .events = POLLIN },						\
}

bool watch_over(const struct watch *w)
{
	struct pollfd p[] = ENDS(w);

	return interrupted || (w->duration && watch_now() - w->started >= w->duration) ||
	       (poll(p, ARRAY_SIZE(p), 0) > 0 &&
		(p[0].revents & NO_READER || p[1].revents & POLLIN));
}

void watch_wait(const struct watch *w, u64 ns)
{
	struct pollfd p[] = ENDS(w);

	interrupt_wait(p, ARRAY_SIZE(p), ns);
}

/* Return true if a function's module was loaded since stackbuf was, even if only briefly */
static bool was_loaded(const struct stackbuf_info *info, const char *function)
{
	size_t len = strcspn(function, ":"), i;
	char *path = xasprintf("/sys/module/%.*s", (int)len, function);
	bool loaded = !access(path, F_OK);

	for (i = 0; i < STACKBUF_MODULES; i++)
		loaded |= info->module[i].time && !strncmp(info->module[i].name, function, len) &&
			  !info->module[i].name[len];
	free(path);
	return loaded;
}

/* Return true if all functions were in modules that were never loaded */
static bool waits_in_vain(const struct watch *w)
{
	struct record *r = xcalloc(1, sizeof(*r));
	bool none = w->overrides.pendings && w->overrides.pendings == w->matches.nr &&
		    !steady_read_info(w->source, r);
	size_t i;

	for (i = 0; none && i < w->overrides.pendings; i++)
		none = !was_loaded(&r->info, w->overrides.pending[i]);
	record_free(r);
	free(r);
	return none;
}

void watch_end(struct watch *w)
{
	report_off(w);
	w->in_vain = waits_in_vain(w);
	if (override_remove(&w->overrides))
		die(1, "%s", w->overrides.error);
}

void watch_restore(struct watch *w)
{
	if (override_restore(&w->overrides))
		die(1, "%s", w->overrides.error);
}

void watch_finish(struct watch *w)
{
	static const char *const refused[] = {
		[STACKBUF_LOST_OFF] = "events were not recorded: recording was switched off",
		[STACKBUF_LOST_NESTED] = "events were not recorded: nested too deep",
		[STACKBUF_LOST_TABLE] = "events were not recorded: the stack table was full",
		[STACKBUF_LOST_PAGE] = "events were not recorded: no page of the ring was free",
		[STACKBUF_LOST_EMPTY] = "events were not recorded: no frame was found",
	};
	struct pollfd reader = { .fd = STDOUT_FILENO };
	struct record *r = xcalloc(1, sizeof(*r));
	unsigned int i;

	watch_restore(w);
	if (!access(w->overrides.dir, F_OK)) {
		if (steady_read_info(w->source, r))
			die(1, "%s", w->source->error);
		for (i = 0; i < ARRAY_SIZE(refused); i++)
			report_count(r->lost[i] - w->lost[i], refused[i], refused[i]);
		report_count(probes_missed_since(r, w->missed), "call was missed: " WHY_MISSED,
			     "calls were missed: " WHY_MISSED);
		record_free(r);
	}
	free(r);
	if (w->in_vain)
		die(1, "no probe was set: the module for %s was not loaded",
		    w->overrides.pending[0]);
	override_close(&w->overrides);
	matches_free(&w->matches);
	if (w->pidfd >= 0)
		close(w->pidfd);
	/* All is restored.  If the output has no reader, end by SIGPIPE as other programs do */
	fflush(stdout);
	if (ferror(stdout) && poll(&reader, 1, 0) > 0 && reader.revents & NO_READER) {
		signal(SIGPIPE, SIG_DFL);
		raise(SIGPIPE);
	}
}

void watch_frame(const struct watch *w, const struct frame *f)
{
	fwrite(f->text, 1, f->size && !w->offsets ? f->name_len : strcspn(f->text, "/ "),
	       w->o->file);
}

/* ------------------------------------------------------------ each event --- */

struct watched {
	struct watch *w;
	void (*event)(void *arg, const struct stackbuf_event *e, struct stack *stack);
	void *arg;
	u64 lost;
};

static void begin(void *arg)
{
	struct watch *w = ((struct watched *)arg)->w;

	/*
	 * Many functions have more stacks than texts: read symbols now, not when the user waits for
	 * the end
	 */
	symbols_read(w->o->symbols);
	watch_begin(w);
	if (w->o->format == FORMAT_TEXT)
		report("%llu functions are watched%s", w->overrides.functions,
		       w->duration ? "" : ": Ctrl-C ends it");
}

static bool take_event(void *arg, const struct stackbuf_event *e)
{
	struct watched *ctx = arg;
	struct stack *stack = stacks_find(&ctx->w->o->record->stacks, e->id);

	if (stack && !watch_own(e))
		ctx->event(ctx->arg, e, stack);
	return true;
}

static bool enough(void *arg, u64 lost)
{
	(void)lost;
	return watch_over(((struct watched *)arg)->w);
}

static void end(void *arg)
{
	watch_end(((struct watched *)arg)->w);
}

static void rest(void *arg, u64 lost, u64 evicted)
{
	((struct watched *)arg)->lost = lost + evicted;
	watch_report_evicted(evicted);
}

u64 watch_events(struct watch *w, void *arg,
		 void (*event)(void *arg, const struct stackbuf_event *e, struct stack *stack))
{
	struct watched ctx = { .w = w, .event = event, .arg = arg };
	const struct follow_hooks hooks = {
		.arg = &ctx, .begin = begin, .event = take_event, .enough = enough, .end = end,
		.rest = rest,
	};
	const struct filter all = { 0 };

	watch_prepare(w);
	follow_events(w->source, w->o, &all, &hooks);
	return ctx.lost;
}
