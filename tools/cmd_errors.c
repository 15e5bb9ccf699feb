// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_errors.c - "errors": finds the function that first returned an error, and its path
 *
 * The errors are in a record, or are those of the running kernel's functions until the command
 * ends.
 */
#include <stdlib.h>
#include <string.h>
#include "cmd.h"
#include "library.h"
#include "live/watch.h"
#include "output/files.h"

/* Minimum number of paths in memory before equal ones are added up */
#define PATHS_MAX	65536

struct paths {
	const struct args *a;
	struct errors errors;
	struct prototypes *prototypes;	/* NULL: unknown, or not needed yet */
	struct patterns passed;		/* for a record: one of these returned the error */
	struct watch *w;		/* NULL: for a record */
	bool list;			/* print each of them, not only the number of equal ones */
	struct error_path *path;
	size_t nr, room;
	u64 usual[ERROR_MAX + 1];	/* errors that were left out */
};

/* ------------------------------------------------------------------ paths --- */

/* Return true if a function that a PATTERN chooses returned the error */
static bool is_chosen(const struct paths *p, const struct error_path *path)
{
	unsigned int i;

	for (i = 0; i < path->stack->named; i++)
		if (error_returned(path, i) &&
		    patterns_match_frame(&p->passed, &path->stack->frame[i]))
			return true;
	return !p->passed.nr;
}

static void take_path(void *arg, const struct error_path *path)
{
	struct paths *p = arg;
	const struct args *a = p->a;

	if (a->errors_out.has[path->error] || !filter_match(&a->wanted.filter, &path->event) ||
	    !is_chosen(p, path))
		return;
	if (a->errors_in.some ? !a->errors_in.has[path->error] : error_is_usual(path->error)) {
		p->usual[path->error] += !a->errors_in.some;
		return;
	}
	if (p->nr == p->room && !p->list && p->room) {
		p->nr = error_paths_merge(p->path, p->nr);
		if (p->nr > p->room / 2)
			p->room *= 2;
	} else if (p->nr == p->room) {
		p->room = p->room ? 2 * p->room : PATHS_MAX;
	}
	p->path = xrealloc(p->path, p->room, sizeof(*p->path));
	p->path[p->nr++] = *path;
}

static bool can_fail(void *arg, const struct frame *f)
{
	struct paths *p = arg;
	char function[512], module[128];

	if (!p->prototypes && library_there(LIBBPF))
		p->prototypes = prototypes_open();
	if (!p->prototypes)
		return true;
	snprintf(function, sizeof(function), "%.*s", (int)f->name_len, f->name);
	snprintf(module, sizeof(module), "%.*s", (int)f->module_len, f->module);
	return prototypes_can_fail(p->prototypes, module, function);
}

/* Oldest first */
static int by_time(const void *a, const void *b)
{
	const struct error_path *x = a, *y = b;

	return compare_u64(x->event.time, y->event.time) ?:
		compare_u64(x->stack->id, y->stack->id);
}

/* The most frequent last, right above the prompt */
static int by_count(const void *a, const void *b)
{
	const struct error_path *x = a, *y = b;

	return compare_u64(x->count, y->count) ?: by_time(a, b);
}

static int most_first(const void *a, const void *b, void *arg)
{
	const struct paths *p = arg;
	unsigned int x = *(const unsigned int *)a, y = *(const unsigned int *)b;

	return compare_u64(p->usual[y], p->usual[x]) ?: compare_u64(x, y);
}

static void report_left_out(struct paths *p)
{
	const struct errors *e = &p->errors;
	unsigned int error[ERROR_MAX + 1], n = 0, i;
	size_t len;
	char *text;
	FILE *f;

	for (i = 0; i <= ERROR_MAX; i++)
		if (p->usual[i])
			error[n++] = i;
	sort_with(error, n, sizeof(*error), most_first, p);
	f = text_open(&text, &len);
	for (i = 0; i < n; i++)
		fprintf(f, "%s%llu of %s", i ? ", " : "", p->usual[error[i]], error_name(error[i]));
	text_close(f);
	if (n)
		report("left out, as they seldom are errors: %s (-e all: with them)", text);
	free(text);
	report_count(e->cannot_fail, "return is left out, of a function that returns no error: void, bool or unsigned",
		     "returns are left out, of functions that return no error: void, bool or unsigned");
	report_count(e->unset, "event has the number of an error as its tag, and no probe that is set now records errors there: it is left out",
		     "events have the number of an error as their tag, and no probe that is set now records errors there: they are left out");
	report_count(e->unnamed, "event has the number of an error as its tag, and its function has no name here: it is left out",
		     "events have the number of an error as their tag, and their functions have no names here: they are left out");
	report_count(e->unsure, "error may be no error but the argument of a call: another probe records it at the same function",
		     "errors may be no errors but arguments of calls: other probes record them at the same functions");
	/* In a live run watch_report_evicted() reported it */
	report_count(p->w ? 0 : e->gone, "event has lost its stack: a path may be cut there",
		     "events have lost their stacks: paths may be cut there");
}

static void write_profile(const struct paths *p, const struct output *o)
{
	struct profile profile = { .total = xcalloc(p->nr + 1, sizeof(*profile.total)) };
	size_t i;

	for (i = 0; i < p->nr; i++) {
		const struct error_path *path = &p->path[i];

		profile.total[profile.nr++] = (struct stack_total){
			.stack = path->stack, .events = path->count,
			.error = error_name(path->error),
		};
		if (!profile.from || path->event.time < profile.from)
			profile.from = path->event.time;
		if (path->last > profile.to)
			profile.to = path->last;
	}
	profile.commands = true;
	profile_write(o, &profile, p->a->flame);
}

static void print_paths(struct paths *p, struct output *o)
{
	u64 last = p->a->wanted.filter.has_last ? p->a->wanted.filter.last : ~0ULL;
	size_t first = 0;

	sort(p->path, p->nr, sizeof(*p->path), by_time);
	if (!p->w && p->nr > last) {
		memmove(p->path, p->path + p->nr - last, last * sizeof(*p->path));
		p->nr = last;
	}
	/* Not for a format that adds up: see check_together() */
	if (!(p->a->given & BIT(OPT_LOG))) {
		p->nr = error_paths_merge(p->path, p->nr);
		sort(p->path, p->nr, sizeof(*p->path), by_count);
	}
	if (o->top && o->top < p->nr)
		first = p->nr - o->top;
	if (o->format == FORMAT_PPROF || o->format == FORMAT_FLAME)
		write_profile(p, o);
	else
		output_errors(o, p->path + first, p->nr - first, p->a->given & BIT(OPT_LOG));
	report_left_out(p);
}

static void free_paths(struct paths *p)
{
	if (p->prototypes)
		prototypes_close(p->prototypes);
	patterns_free(&p->passed);
	errors_free(&p->errors);
	free(p->path);
}

/* Return FUNCTION as the probe of its errors; never freed */
static const char *probe_of(const char *word)
{
	const char *percent = strchr(word, '%');

	if (pattern_event(word) || strpbrk(word, "@+") != (percent ? strchr(percent, '@') : NULL) ||
	    (percent && strcmp(percent, "%return@error") && strcmp(percent, "%return@null")))
		die(EXIT_USAGE, "errors %s: takes functions, as 'ext4_*'; with NULL as an error: 'ext4_*%%return@null'",
		    word);
	return percent ? word : xasprintf("%s%%return@error", word);
}

/* ------------------------------------------------------------ in a record --- */

/* Report why paths may lack events */
static void report_lack(const struct session *s, const struct output *o)
{
	const struct record *r = &s->record;
	u64 missed = probes_missed(r), refused = record_refused(r) + record_left_out(r);
	char when[64];

	if (refused || missed)
		report("%llu events were not recorded and %llu hits missed since the module was loaded: an error may have come from further inside",
		       refused, missed);
	if (r->info.overwritten && s->search.searched)
		report("the ring goes back to %s: earlier returns are not known",
		       output_time(o, r->whole_since ?: s->search.oldest, when, sizeof(when)));
}

/* Return false if no probe of the record is for errors */
static bool find_paths(struct session *s, struct args *a, struct paths *p)
{
	struct record *r = &s->record;
	size_t i;

	p->a = a;
	p->errors.done = take_path;
	p->errors.arg = p;
	p->errors.symbols = &s->symbols;
	p->errors.can_fail = s->source.live ? can_fail : NULL;
	errors_probes(&p->errors, r, true);
	for (i = 0; i < r->events && p->errors.returns.nr; i++)
		errors_event(&p->errors, &r->event[i], output_stack(&a->output, r->event[i].id));
	errors_end(&p->errors);
	return p->errors.returns.nr;
}

struct error_path *cmd_error_paths(struct session *s, struct args *a, size_t *nr)
{
	static struct paths p;

	find_paths(s, a, &p);
	report_left_out(&p);
	*nr = error_paths_merge(p.path, p.nr);
	return p.path;
}

static void read_paths(struct session *s, struct args *a, struct paths *p)
{
	size_t i;

	session_report_missing(s);
	session_choose_functions(s);
	for (i = 0; a->word && a->word[i]; i++)
		patterns_add(&p->passed, probe_of(a->word[i]), false);
	if (!find_paths(s, a, p))
		die(1, "%s: no probe of this record is for errors (probe=FUNCTION%%return@error); to probe functions now: stackbuf errors FUNCTION",
		    s->source.name);
	report_lack(s, &a->output);
	print_paths(p, &a->output);
	if (!p->nr && s->record.events && !s->search.match)
		output_no_event(&a->output);
	else if (!p->nr)
		report("%s: no error: none of the %llu events that the filters select is one of these errors",
		       s->source.name, s->search.match);
}

/* ------------------------------------------------------------------- live --- */

static void take_event(void *arg, const struct stackbuf_event *e, struct stack *stack)
{
	errors_event(arg, e, stack);
}

static void watch_paths(struct session *s, struct args *a, struct paths *p)
{
	struct watch w = {
		.source = &s->source, .o = &a->output, .filter = &a->wanted.filter, .events = true,
		.paths = true, .duration = a->duration, .cgroup = a->cgroup, .overrides.lock = -1,
	};
	size_t i;

	for (i = 0; a->word[i]; i++) {
		watch_add(&w, probe_of(a->word[i]), false);
		patterns_add(&p->errors.returns, w.patterns.pattern[i].text, false);
	}
	cmd_begin_live(s, a, &w.overrides);
	p->w = &w;
	p->a = a;
	p->errors.done = take_path;
	p->errors.arg = p;
	p->errors.symbols = &s->symbols;
	p->errors.can_fail = can_fail;
	errors_probes(&p->errors, &s->record, false);
	if (watch_events(&w, &p->errors, take_event))
		report("an error whose first return was lost seems to come from one of its callers");
	errors_end(&p->errors);
	watch_restore(&w);
	print_paths(p, &a->output);
	if (!p->nr && !w.in_vain)
		report("no error: these functions returned none of these errors, or were not called");
	watch_finish(&w);
	patterns_free(&w.patterns);
}

void cmd_errors(struct args *a)
{
	struct session s = { 0 };
	static struct paths p;

	p.list = a->given & (BIT(OPT_LOG) | BIT(OPT_LAST));
	if (a->command == ERRORS_PATTERN) {
		watch_paths(&s, a, &p);
	} else {
		cmd_begin(&s, a, false);
		read_paths(&s, a, &p);
	}
	cmd_end(&s, a);
	free_paths(&p);
}
