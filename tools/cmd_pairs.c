// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_pairs.c - "leaks", "latency" and "offcpu": the totals of pairs of probes
 *
 * For pairs that are set they print the current totals.  If none is set, the command sets one in
 * the running kernel until it ends.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "cmd.h"
#include "ending.h"
#include "output/files.h"
#include "live/watch.h"

/* The module's filters while the command has a pair set */
#define FILTERS	(BIT(OPT_PID) | BIT(OPT_COMM) | BIT(OPT_CPU))

/* -------------------------------------------------------------- printing --- */

/* The sort key of the command: open objects, or times */
static u64 weight(const struct args *a, const struct pair_total *t)
{
	return a->command == LEAKS ? t->open : t->sum;
}

/* As for count: the largest last, right above the prompt */
static int heaviest_last(const void *x, const void *y, void *arg)
{
	const struct pair_total *s = x, *t = y;
	u64 p = weight(arg, s), q = weight(arg, t);

	if (p != q)
		return p < q ? -1 : 1;
	return compare_u64(t->stack->id, s->stack->id);
}

/*
 * The time, ns, that this share of the closed objects did not exceed: the end of a column, but at
 * most the longest time
 */
static u64 percentile(const struct pair_total *t, unsigned int percent)
{
	u64 want = t->closed / 100 * percent + (t->closed % 100 * percent + 99) / 100, n = 0;
	unsigned int i;

	for (i = 0; i < STACKBUF_PAIR_TIMES - 1; i++) {
		n += t->times[i];
		if (n >= want)
			break;
	}
	return i < STACKBUF_PAIR_TIMES - 1 && pairs_time(i + 1) < t->longest ? pairs_time(i + 1) :
									       t->longest;
}

/*
 * ns with the unit that suits @like, in one of several buffers: all times in a line have one unit
 */
static const char *duration(u64 ns, u64 like)
{
	static char text[8][32];
	static unsigned int next;
	char *buf = text[next++ % 8];

	if (like < 10000)
		snprintf(buf, 32, "%llu ns", ns);
	else if (like < 10000000)
		snprintf(buf, 32, "%.1f us", ns / 1e3);
	else if (like < 10000000000)
		snprintf(buf, 32, "%.1f ms", ns / 1e6);
	else
		snprintf(buf, 32, "%.3f s", ns / 1e9);
	return buf;
}

static void print_histogram(const struct output *o, const struct pair_total *t)
{
	unsigned int i, first = STACKBUF_PAIR_TIMES, last = 0, k;
	u64 most = 1;

	for (i = 0; i < STACKBUF_PAIR_TIMES; i++) {
		if (!t->times[i])
			continue;
		if (first > i)
			first = i;
		last = i;
		if (t->times[i] > most)
			most = t->times[i];
	}
	for (i = first; i <= last && i < STACKBUF_PAIR_TIMES; i++) {
		fprintf(o->file, "    %10s on %12llu |", duration(pairs_time(i), pairs_time(i)),
			t->times[i]);
		for (k = 0; k < t->times[i] * 40 / most; k++)
			putc('*', o->file);
		putc('\n', o->file);
	}
}

static void print_text(const struct output *o, const struct args *a, const struct pair_total *t,
		       u64 now)
{
	size_t len;
	const char *block = output_stack_text(o, t->stack, &len);
	u64 youngest = now > t->newest ? now - t->newest : 0;
	u64 oldest = now > t->oldest ? now - t->oldest : 0;
	u64 mean = t->closed ? t->sum / t->closed : 0;

	if (a->command == LEAKS && t->open == 1)
		fprintf(o->file, "1 open, %llu bytes, for %s\n", t->value,
			duration(oldest, oldest));
	else if (a->command == LEAKS)
		fprintf(o->file, "%llu open, %llu bytes, for %s to %s\n", t->open, t->value,
			duration(youngest, oldest), duration(oldest, oldest));
	else if (t->closed == 1)
		fprintf(o->file, "1 closed, after %s\n", duration(t->sum, t->sum));
	else
		fprintf(o->file, "%llu closed, %s in all, mean %s, 50 %% within %s, 99 %% within %s, longest %s\n",
			t->closed, duration(t->sum, mean), duration(mean, mean),
			duration(percentile(t, 50), mean), duration(percentile(t, 99), mean),
			duration(t->longest, mean));
	fwrite(block, 1, len, o->file);
	if (a->command != LEAKS && a->given & BIT(OPT_VERBOSE) && t->closed > 1)
		print_histogram(o, t);
	putc('\n', o->file);
}

static void print_json(const struct output *o, const struct args *a, const struct pair_totals *all,
		       const struct pair_total *t, u64 now)
{
	json_t *j = json_object(), *times = json_array();
	unsigned int i;

	json_machine(o, j);
	json_object_set_new(j, "pair", json_string(all->name));
	json_object_set_new(j, "exact", json_boolean(pairs_exact(all)));
	if (a->command == LEAKS) {
		json_object_set_new(j, "open", json_number(t->open));
		json_object_set_new(j, "value", json_number(t->value));
		json_object_set_new(j, "oldest", json_ns(now > t->oldest ? now - t->oldest : 0));
		json_object_set_new(j, "newest", json_ns(now > t->newest ? now - t->newest : 0));
	} else {
		json_object_set_new(j, "closed", json_number(t->closed));
		json_object_set_new(j, "sum", json_ns(t->sum));
		json_object_set_new(j, "p50", json_ns(percentile(t, 50)));
		json_object_set_new(j, "p99", json_ns(percentile(t, 99)));
		json_object_set_new(j, "longest", json_ns(t->longest));
		json_object_set_new(j, "early", json_number(all->pair.early));
		for (i = 0; i < STACKBUF_PAIR_TIMES; i++)
			json_array_append_new(times, json_number(t->times[i]));
		json_object_set(j, "times", times);
	}
	json_decref(times);
	output_json(o, j, t->stack);
}

static void print_folded(const struct output *o, struct stack *stack, u64 n)
{
	size_t len;
	const char *block = output_stack_text(o, stack, &len);

	fprintf(o->file, "%.*s %llu\n", (int)len, block, n);
}

/*
 * Print why totals are inexact, on standard error if the format has no place for it.  @idle: waits
 * that are left out
 */
static void print_summary(const struct output *o, const struct args *a,
			  const struct pair_totals *t, u64 idle)
{
	FILE *f = o->format == FORMAT_TEXT ? o->file : stderr;
	char when[64];

	if (f == stderr && pairs_exact(t) && !idle && !t->stopped)
		return;
	fprintf(f, "%s%s: ", f == stderr ? "stackbuf: " : "", t->name);
	if (a->command == LEAKS)
		fprintf(f, "%llu open, %llu bytes", t->all.open, t->all.value);
	else
		fprintf(f, "%llu closed, %s in all", t->all.closed,
			duration(t->all.sum, t->all.sum));
	if (a->command != LEAKS && t->pair.early)
		fprintf(f, ", %llu more were woken before they slept", t->pair.early);
	if (idle)
		fprintf(f, ", %llu of them by kernel threads without work, which are left out (--all)",
			idle);
	if (t->stopped)
		fprintf(f, ", until recording stopped at %s",
			output_time(o, t->stopped, when, sizeof(when)));
	if (pairs_exact(t)) {
		fputs(f == stderr ? "; exact\n" : "; exact\n\n", f);
		return;
	}
	fputs("; not exact:", f);
	if (t->pair.refused)
		fprintf(f, " %llu were not recorded or had no room (PAIRS_KB=);", t->pair.refused);
	if (t->pair.reopened)
		fprintf(f, " %llu were opened again without a close;", t->pair.reopened);
	if (t->pair.parts)
		fprintf(f, " %u were freed in parts or moved;", t->pair.parts);
	if (t->missed)
		fprintf(f, " %llu hits were missed;", t->missed);
	if (t->absent)
		fprintf(f, " %u places are not probed;", t->absent);
	if (t->half)
		fprintf(f, " %u were being written;", t->half);
	if (t->doubt)
		fprintf(f, " %u more may be asleep, or awake already;", t->doubt);
	if (t->lost)
		fprintf(f, " %u pages or probes are missing;", t->lost);
	if (t->copies)
		fprintf(f, " %u pages have two copies that differ;", t->copies);
	if (t->beyond)
		fprintf(f, " the times of %u add up to more than 64 bits;", t->beyond);
	if (t->kept)
		fputs(" the copy may be up to a second older than the reset;", f);
	if (t->off)
		fprintf(f, " %s;", t->off);
	fputs(f == stderr ? "\n" : "\n\n", f);
}

static bool is_in(const struct frame *f, const char *function)
{
	return f->name_len == strlen(function) && !memcmp(f->name, function, f->name_len);
}

/*
 * Return true for a kernel thread that waits for work, asleep in its own function, which kthread()
 * called; or for the module's thread
 */
static bool is_idle(const struct output *o, struct stack *stack)
{
	static const char *const scheduler[] = {
		"__do_trace_sched_switch", "__schedule", "schedule", "io_schedule"
	};
	unsigned int i, k, asleep = 0;

	symbols_name(o->symbols, stack);
	for (i = 0; i < stack->named; i++) {
		const struct frame *f = &stack->frame[i];

		if (f->module_len == 8 && !memcmp(f->module, "stackbuf", 8))
			return true;
		/* Not ret_from_fork: user tasks, and threads that serve them, begin there, too */
		if (is_in(f, "kthread"))
			return i && asleep == i - 1;
		if (is_in(f, "kthreadd"))
			return i && asleep == i;
		for (k = 0; k < ARRAY_SIZE(scheduler); k++)
			if (text_begins_with(f->name, f->name_len, scheduler[k]))
				break;
		asleep += k < ARRAY_SIZE(scheduler) && asleep == i;
	}
	return false;
}

static void print_one(const struct output *o, const struct args *a, const struct pair_totals *t,
		      const struct pair_total *one, u64 now)
{
	if (o->format == FORMAT_TEXT)
		print_text(o, a, one, now);
	else if (o->format == FORMAT_JSON)
		print_json(o, a, t, one, now);
	else if (o->format == FORMAT_FOLDED)
		print_folded(o, one->stack, weight(a, one));
}

void cmd_print_pair(struct args *a, struct pair_totals *t, u64 now)
{
	bool leave_idle = a->command == OFFCPU && !(a->given & (BIT(OPT_IDLE) | BIT(OPT_WAKERS)));
	struct profile p = { .unit = a->command == LEAKS ? "objects" : "ns" };
	struct output *o = &a->output;
	u64 idle = 0;
	size_t i, nr;

	for (i = 0, nr = 0; i < t->nr; i++) {
		struct pair_total *one = &t->total[i];

		if (a->command == LEAKS ? !one->open : !one->closed)
			continue;
		if (leave_idle && is_idle(o, one->stack))
			idle += one->closed;
		else
			t->total[nr++] = *one;
	}
	print_summary(o, a, t, idle);
	sort_with(t->total, nr, sizeof(*t->total), heaviest_last, a);
	p.total = xcalloc(nr + 1, sizeof(*p.total));
	for (i = o->top && o->top < nr ? nr - o->top : 0; i < nr; i++) {
		p.total[p.nr++] = (struct stack_total){
			.stack = t->total[i].stack, .events = weight(a, &t->total[i]),
		};
		print_one(o, a, t, &t->total[i], now);
	}
	if (o->format == FORMAT_FLAME)
		flame_write(o, &p, a->flame);
	free(p.total);
}

static void print_pair(struct session *s, struct args *a, unsigned int number, u64 now)
{
	struct pair_span span = { .until = ~0ULL };
	struct pair_totals t;

	if (a->older)
		span.until = now > a->older ? now - a->older : 0;
	if (a->wanted.filter.has_last)
		span.newest = a->wanted.filter.last;
	pairs_read(&s->record, number, &span, &t);
	cmd_print_pair(a, &t, now);
	pairs_free(&t);
}

/* ------------------------------------------------------------------ pairs --- */

/* Return true if opening, FUNCTION@KEY[@VALUE], and closing are the same place */
static bool is_one_place(const char *open, const char *close)
{
	size_t len = strcspn(open, "@");

	len += open[len] ? 1 + strcspn(open + len + 1, "@") : 0;
	return strlen(close) == len && !strncmp(open, close, len);
}

/* Return true for presets, which have only a name: see stackbuf(4) */
static bool is_preset(const char *name)
{
	static const char *const preset[] = { "slab", "page", "offcpu", "wakers", "contention" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(preset); i++)
		if (!strcmp(name, preset[i]))
			return true;
	return false;
}

/* Return true if only functions are given: the command measures their calls */
static bool is_functions(const struct args *a)
{
	return a->word[0] && !a->word[1] && !is_preset(a->word[0]) && !strpbrk(a->word[0], "@%,");
}

/* Return a list of places, separated by blanks, with @suffix after each; the caller frees it */
static char *with_suffix(const char *places, const char *suffix)
{
	char *text;
	size_t len;
	FILE *out = text_open(&text, &len);

	for (; *places; places += len) {
		len = strcspn(places, " ");
		fprintf(out, "%.*s%s", (int)len, places, len ? suffix : "");
		len += strspn(places + len, " ");
		if (places[len])
			putc(' ', out);
	}
	text_close(out);
	return text;
}

/* Remove the blanks around the words, as the module does: it compares names */
static void trim_words(struct args *a)
{
	static const char *trimmed[3];
	size_t i;

	for (i = 0; a->word && a->word[i] && i + 1 < ARRAY_SIZE(trimmed); i++) {
		const char *word = a->word[i] + strspn(a->word[i], " \t");

		trimmed[i] = xasprintf("%.*s", (int)text_trim(word, strlen(word)), word);
	}
	a->word = a->word ? trimmed : NULL;
}

/* Return the name of the requested pair, NULL: any; the caller frees it */
static char *asked_for(const struct args *a)
{
	if (a->command == OFFCPU)
		return xstrdup(a->given & BIT(OPT_WAKERS) ? "wakers" : "offcpu");
	if (!a->word || !a->word[0])
		return NULL;
	if (!*a->word[0])
		die(EXIT_USAGE, "OPEN is empty (see stackbuf leaks -h)");
	if (a->word[1] && is_one_place(a->word[0], a->word[1]))
		die(EXIT_USAGE, "%s is OPEN and CLOSE: name another place as CLOSE",
		    a->word[1]);
	if (is_functions(a)) {
		char *open = with_suffix(a->word[0], "@sp");
		char *close = with_suffix(a->word[0], "%return@sp");
		char *name = xasprintf("%s:%s", open, close);

		free(open);
		free(close);
		return name;
	}
	return a->word[1] ? xasprintf("%s:%s", a->word[0], a->word[1]) : xstrdup(a->word[0]);
}

/* Set *@number to the next pair with this name, NULL: any; return false if there is none */
static bool next_pair(const struct record *r, unsigned int *number, const char *name)
{
	struct stackbuf_pair pair;

	while (pairs_next(r, number, &pair))
		if (!name || !strncmp(pair.name, name, sizeof(pair.name)))
			return true;
	return false;
}

/* Refuse what the module would refuse, with messages in terms of the command line */
static void check_pair(const struct args *a, const char *name)
{
	const char *command = command_table[a->command].name;
	const struct filter *f = &a->wanted.filter;
	u32 value;

	if ((f->comms && !override_comm(f)) || (f->pid.nr && !filter_single(&f->pid, &value)) ||
	    (f->cpu.nr && !filter_single(&f->cpu, &value)))
		die(EXIT_USAGE, "%s: the kernel selects here: it takes one --comm without *, ? and [], one --pid and one --cpu",
		    command);
	if (filter_single(&f->pid, &value))
		close(override_process(value));
	/* Filters exclude events of the wakers, and with them the times of what they wake */
	if (a->given & BIT(OPT_WAKERS) && a->given & FILTERS)
		die(EXIT_USAGE, "offcpu --wakers takes no --pid, --comm and --cpu, which would exclude wakers of the tasks that are meant");
	/* It begins again each time that the task sleeps or spins, wherever it is by then */
	if (!strcmp(name, "contention") && f->cpu.nr)
		die(EXIT_USAGE, "%s contention takes no --cpu: a task that waits may move to another CPU",
		    command);
	if (a->command == OFFCPU || is_preset(name) || is_functions(a))
		return;
	if (!a->word[1])
		die(EXIT_USAGE, "%s %s: CLOSE is missing, as in: stackbuf %s mutex_lock@arg1 mutex_unlock@arg1",
		    command, name, command);
	if (strchr(a->word[0], ',') || strchr(a->word[1], ','))
		die(EXIT_USAGE, "%s %s %s: several functions are separated by blanks, as in: stackbuf %s 'mutex_lock@arg1 mutex_trylock@arg1' mutex_unlock@arg1",
		    command, a->word[0], a->word[1], command);
	if (!strchr(a->word[0], '@') || !strchr(a->word[1], '@'))
		die(EXIT_USAGE, "%s %s %s: the KEY of both is missing, as in: stackbuf %s mutex_lock@arg1 mutex_unlock@arg1",
		    command, a->word[0], a->word[1], command);
}

/* Replace names of events' arguments by numbers: the module knows only some of them */
static void number_arguments(const struct args *a, char **name)
{
	char *open, *close;

	if (a->command == OFFCPU || !a->word || !a->word[0] || !a->word[1])
		return;
	open = prototypes_number(a->word[0]);
	close = prototypes_number(a->word[1]);
	free(*name);
	*name = xasprintf("%s:%s", open, close);
	free(open);
	free(close);
}

/*
 * Set a pair, wait, read the record again, and remove the pair before anything is printed.  Return
 * when it was read
 */
static u64 watch_pair(struct session *s, const struct args *a, struct overrides *b,
		       const char *name)
{
	u64 now;

	interrupt_catch(SA_RESTART);
	/* If the reader of the output ends, the pair must still be removed */
	signal(SIGPIPE, SIG_IGN);
	override_check(b, &s->record.info);
	override_open(b);
	if (a->given & FILTERS) {
		override_filter(b, &a->wanted.filter);
		override_parameter(b, PARAM_CGROUP, "0");
	}
	override_parameter(b, PARAM_LIMIT, "0");
	override_parameter(b, PARAM_EVERY, "1");
	override_add_pair(b, name);
	if (a->output.format == FORMAT_TEXT && isatty(STDERR_FILENO))
		report("%s is watched%s", name, a->duration ? "" : ": Ctrl-C ends it");
	interrupt_wait(NULL, 0, a->duration ?: ~0ULL);
	session_load(s);
	now = session_now(s);
	if (override_restore(b))
		die(1, "%s", b->error);
	override_close(b);
	signal(SIGPIPE, SIG_DFL);
	interrupt_release();
	return now;
}

void cmd_pairs(struct args *a)
{
	struct overrides b = { .lock = -1 };
	struct session s = { 0 };
	unsigned int number = 0, nr = 0;
	char *name, *only;
	bool live = args_live(a), is_set;
	u64 now;

	if (a->given & BIT(OPT_LONGER)) {
		cmd_slow(a);
		return;
	}
	trim_words(a);
	name = asked_for(a);

	if (live)
		override_load_module(&b);
	cmd_begin(&s, a, false);
	if (live && override_restore_left(b.dir, s.record.info.page.instance))
		session_load(&s);
	now = session_now(&s);
	session_report_missing(&s);
	if (live && name && !next_pair(&s.record, &number, name))
		number_arguments(a, &name);
	number = 0;
	is_set = next_pair(&s.record, &number, name);
	if (live && !is_set) {
		if (!name && a->command == LATENCY)
			die(EXIT_USAGE, "no pair is set: name a FUNCTION, or OPEN and CLOSE (see stackbuf latency -h)");
		check_pair(a, name ?: "slab");
		now = watch_pair(&s, a, &b, name ?: "slab");
	} else if (is_set && a->given & FILTERS) {
		die(1, "%s was set before: its totals are of all tasks and CPUs, and cannot be filtered",
		    name ?: "the pair");
	} else if (live && a->duration) {
		report("%s is set already: objects opened before are included, and --duration is ignored",
		       name ?: "a pair");
	}
	for (number = 0; next_pair(&s.record, &number, name); )
		nr++;
	if (!nr)
		die(1, name ? "%s: the pair %s is not set in this record" :
			      "%s: no pair is set in this record (parameter pair)",
		    s.source.name, name);
	s.record.probes_off = session_probes_off(&s);
	only = output_filters(&s.record.info);
	if (*only && !(a->given & FILTERS))
		report("%s", only);
	free(only);
	if (a->command == LEAKS && !session_knows_now(&s))
		report("ages are counted to the newest event: what the time is here is not known");
	if (nr > 1 && (a->output.format == FORMAT_FLAME || a->output.format == FORMAT_FOLDED))
		die(EXIT_USAGE, "--folded and --flame show one pair: name one of the %u that are set",
		    nr);
	for (number = 0; next_pair(&s.record, &number, name); )
		print_pair(&s, a, number, now);
	cmd_end(&s, a);
	free(name);
}
