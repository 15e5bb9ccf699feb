// SPDX-License-Identifier: GPL-2.0
/*
 * session.c - a source, and the record of one load of the module from it
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "cmd.h"
#include "input/exclude.h"
#include "input/folded.h"
#include "input/open.h"
#include "input/steady.h"
#include "live/watch.h"
#include "symbol/pattern.h"

/* Limit of attempts to read data that changes */
#define LOAD_TRIES	5
#define NOT_MEMORY	"--scan, --instance, --follow, --lines and -k are for the record of one machine"

/* --------------------------------------------------------------- reading --- */

/*
 * Keep only events that the output may show.  Commands apply the rest of the filter: --stack,
 * --function and times that depend on the record are known only after reading it.
 */
static void choose_events(struct session *s)
{
	const struct wanted *w = s->wanted;

	if (!filter_events(&w->filter) || filter_needs_record(&w->filter) || w->all)
		return;
	s->choice.matches = search_event;
	s->choice.search = &s->search;
	s->choice.last = w->last;
}

static void check_times(const struct filter *f)
{
	if (f->has_since && f->has_until && f->since > f->until)
		die(EXIT_USAGE, "--since is later than --until: no event can match both");
}

/* --------------------------------------------------------- folded stacks --- */

/* Return true if the sources are folded stacks.  All of them must be, or none */
static bool all_folded(const struct wanted *w)
{
	const struct words *file = &w->file;
	const char *folded = NULL, *other = NULL;
	unsigned int i;

	for (i = 0; i < file->nr; i++)
		*(folded_is(file->word[i], w->totals) ? &folded : &other) = file->word[i];
	if (folded && other)
		die(1, "%s: holds folded stacks, and %s does not: they are not added up", folded,
		    other);
	return folded;
}

static void open_folded(struct session *s)
{
	const struct wanted *w = s->wanted;

	s->source.name = w->file.nr == 1 ? xstrdup(w->file.word[0]) :
		xasprintf("%s and %u more", w->file.word[0], w->file.nr - 1);
	s->folded = true;
	if (!w->totals && folded_is_pipe(w->file.word[0]))
		die(1, "%s: is a pipe: from one, folded stacks alone are read, by count and diff: name a file",
		    s->source.name);
	if (!w->totals)
		die(1, "%s: holds folded stacks, which count and diff read",
		    s->source.name);
	if (filter_events(&w->filter))
		die(1, "%s: holds folded stacks, which are totals: no filter can choose among events",
		    s->source.name);
	if (w->scan || w->instance)
		die(1, "%s: holds folded stacks: " NOT_MEMORY, s->source.name);
}

/* --------------------------------------------------------------- reading --- */

/* Add the newest of the records that earlier loads left: its pages have the time of its load */
static void add_kept(struct words *file)
{
	static const char directory[] = DEBUGFS "/kept";
	struct stackbuf_page page = { 0 };
	char name[sizeof(directory) + 16], newest[sizeof(name)] = "";
	u64 instance = 0;
	unsigned int i;
	FILE *f;

	for (i = 1; i < 100; i++) {
		snprintf(name, sizeof(name), "%s/%u", directory, i);
		f = fopen(name, "re");
		if (!f)
			break;
		if (fread(&page, sizeof(page), 1, f) == 1 && page.instance > instance) {
			instance = page.instance;
			memcpy(newest, name, sizeof(name));
		}
		fclose(f);
	}
	if (!*newest)
		die(1, "%s: no record from before a reset is kept, or it is not readable: see the parameter keep in stackbuf(4)",
		    directory);
	file->word = xrealloc(file->word, file->nr + 1, sizeof(*file->word));
	file->word[file->nr++] = xstrdup(newest);
}

void session_open(struct session *s, struct wanted *wanted)
{
	if (wanted->kept)
		add_kept(&wanted->file);
	s->wanted = wanted;
	s->search.filter = &wanted->filter;
	/* Options that need no record are checked without one */
	check_times(&wanted->filter);
	s->excluded = exclude_self();
	if (all_folded(wanted)) {
		open_folded(s);
		return;
	}
	if (source_open(&s->source, wanted->file.word, wanted->file.nr))
		die(1, "%s", s->source.error);
	if (wanted->scan)
		s->source.scan = "--scan";
	choose_events(s);
}

static void load_pages(struct session *s)
{
	page_set_clear(&s->set);
	free(s->instance);
	s->instance = NULL;
	if (s->source.ops->load(&s->source, &s->set))
		die(1, "%s", s->source.error);
	s->instances = page_set_instances(&s->set, &s->instance);
}

/* The load of the module with this id, 0: the default one; NULL if there is none */
static const struct instance *find_instance(const struct session *s, u64 wanted)
{
	size_t i;

	for (i = 0; i < s->instances && wanted; i++)
		if (s->instance[i].id == wanted)
			return &s->instance[i];
	return wanted ? NULL : instance_default(s->instance, s->instances);
}

/* The page tables lead to only one load: scan the dump if another one is wanted */
static void scan_for_instance(struct session *s, u64 wanted)
{
	if (find_instance(s, wanted) || !s->set.found_by || s->set.scanned)
		return;
	s->source.scan = "--instance";
	load_pages(s);
}

static void load(struct session *s)
{
	struct filter *filter = &s->wanted->filter;
	const char *wrong;
	size_t i;

	s->search = (struct search){ .filter = filter };
	if (s->folded) {
		folded_read(s->wanted->file.word, s->wanted->file.nr, &s->record);
		filter_resolve(filter, &s->record);
		return;
	}
	record_free(&s->record);
	load_pages(s);
	scan_for_instance(s, s->wanted->instance);
	s->chosen = find_instance(s, s->wanted->instance);
	if (!s->chosen)
		die(1, "%s: holds no instance %llx; \"stackbuf info\" lists those it holds",
		    s->source.name, s->wanted->instance);
	if (s->source.ops->fetch && s->source.ops->fetch(&s->source, &s->set, s->chosen->id))
		die(1, "%s", s->source.error);
	record_parse(&s->record, &s->set, s->chosen->id, s->choice.search ? &s->choice : NULL);
	duplicates_merge(&s->record);
	wrong = filter_resolve(filter, &s->record);
	if (wrong)
		die(1, "%s: %s", s->source.name, wrong);
	check_times(filter);
	for (i = 0; i < s->record.events && !s->choice.search; i++)
		search_event(&s->search, &s->record.event[i]);
}

void session_load(struct session *s)
{
	load(s);
	/*
	 * A file is read completely now, and a pager may take long: allow the module to be unloaded
	 */
	if (s->excluded >= 0)
		close(s->excluded);
	s->excluded = -1;
}

void session_load_steady(struct session *s)
{
	unsigned int tries;

	for (tries = 1;
	     tries < LOAD_TRIES && s->source.ops && s->source.ops->read &&
	     (s->set.changed || s->record.rebuilt);
	     tries++)
		session_load(s);
}

void session_load_info(struct session *s)
{
	if (steady_read_info(&s->source, &s->record))
		die(1, "%s", s->source.error);
}

void session_close(struct session *s)
{
	symbols_free(&s->symbols);
	record_free(&s->record);
	page_set_clear(&s->set);
	source_close(&s->source);
	free(s->instance);
}

void session_need_info(const struct session *s)
{
	if (!s->record.have_info)
		die(1, "%s: the page of stackbuf_info is missing or damaged", s->source.name);
}

/* ------------------------------------------------------------- reporting --- */

void session_report_source(const struct session *s)
{
	if (s->set.cut)
		report("%s is cut: %llu bytes or more are missing at its end", s->source.name,
		       s->set.cut);
	report_count(s->set.unreadable, "page cannot be read", "pages cannot be read");
	report_count(s->set.left_out, "page is beyond the limit and was not read",
	     "pages are beyond the limit and were not read");
	report_count(s->set.copies_left_out, "copy of a page is beyond the limit and is left out: totals may be too small",
		     "copies of pages are beyond the limit and are left out: totals may be too small");
	if (s->set.other_pages)
		report("%llu pages of format version %u are left out; this stackbuf knows version %u",
		       s->set.other_pages, s->set.other_version, STACKBUF_VERSION);
	report_count(s->set.changed_text, "page of text was overwritten while it was read and is left out",
	     "pages of text were overwritten while they were read and are left out");
	if (s->instances > 1)
		report("this is instance %016llx%s; %zu more in %s: see info and --instance",
		       s->chosen->id, s->chosen == s->instance ? ", the newest" : "",
		       s->instances - 1, s->source.name);
}

void session_report_unsure(const struct session *s)
{
	const struct record *r = &s->record;
	u64 unsure = (u64)(s->set.changed + r->rebuilt) * PAGE_EVENTS_MAX + r->half;

	if (unsure)
		report("totals may be too small, by at most %llu events in all", unsure);
}

void session_report_sampled(const struct session *s)
{
	const u64 *lost = s->record.lost;

	report_count(lost[STACKBUF_NOT_SAMPLED], "event was left out by sampling: no total has it",
		     "events were left out by sampling: no total has them");
	report_count(lost[STACKBUF_OVER_LIMIT], "event was left out as the limit was reached: no total has it",
		     "events were left out as the limit was reached: no total has them");
}

void session_report_evicted(const struct session *s)
{
	const struct stackbuf_info *info = &s->record.info;

	if (info->evicted_events)
		report("%s: up to %llu events are in no total: their stacks were evicted from the table",
		       s->source.name, info->evicted_events);
}

static void report_missing_pages(u64 pages)
{
	report_count(pages, "page is missing", "pages are missing");
}

void session_report_missing_of(const struct session *s, enum array a)
{
	session_report_source(s);
	report_missing_pages(s->record.missing[a]);
}

void session_report_missing(const struct session *s)
{
	const struct record *rec = &s->record;

	if (s->folded)
		return;
	session_report_source(s);
	report_missing_pages((u64)rec->missing[ARRAY_INFO] + rec->missing[ARRAY_EVENTS] +
			     rec->missing[ARRAY_STACKS] + rec->missing[ARRAY_TEXT]);
	report_count(rec->outlived, "page of these was found only as an old copy and is left out",
	     "pages of these were found only as old copies and are left out");
	report_count(s->set.changed, "page of events was overwritten while it was read and is left out",
	     "pages of events were overwritten while they were read and are left out");
	report_count(rec->rebuilt, "page was about to be reused: its events are only counted",
	     "pages were about to be reused: their events are only counted");
	report_count(rec->damaged, "page of events is damaged: what follows the damage is left out",
	     "pages of events are damaged: what follows the damage is left out");
	report_count(rec->half, "event was half written and is left out",
	     "events were half written and are left out");
	/* A running module may be storing one */
	if (!s->source.live)
		report_count(rec->half_stacks, "stack of the table is damaged or half written: it and its total are left out",
			     "stacks of the table are damaged or half written: they and their totals are left out");
	if (!rec->have_info)
		report("the page of stackbuf_info is missing or damaged");
}

/* --------------------------------------------------- data for the output --- */

void session_add_names(struct session *s)
{
	const struct stack *stack;
	bool missing = false;
	size_t i;

	for (i = 0; !missing && (stack = stacks_next(&s->record.stacks, &i)); )
		missing = stack->lines < stack->nr;
	if (missing && s->record.have_info)
		source_find_kallsyms(&s->source, &s->record.info);
	symbols_init(&s->symbols, &s->record, s->source.kallsyms);
}

/*
 * Add the ids of the record's stacks that begin in this function.  Return false if there are none
 */
static bool choose_function(struct session *s, const char *text, u32 **id, size_t *nr)
{
	struct patterns one = { 0 };
	struct stack *stack;
	size_t i, before = *nr;

	patterns_add(&one, text, false);
	if (one.pattern->event && strcmp(one.pattern->function, "*"))
		report("--function %s: stacks do not name their tracepoint: those of all tracepoints are selected",
		       text);
	for (i = 0; (stack = stacks_next(&s->record.stacks, &i)); )
		if (patterns_match_stack(&one, &s->symbols, stack)) {
			GROW(*id, *nr);
			(*id)[(*nr)++] = stack->id;
		}
	patterns_free(&one);
	return *nr > before;
}

void session_choose_functions(struct session *s)
{
	struct filter *f = &s->wanted->filter;
	size_t nr = 0, missing = 0, nameless = 0, size, i;
	const struct stack *stack;
	char *names, *why;
	FILE *out;
	u32 *id = NULL;

	if (!f->functions)
		return;
	out = text_open(&names, &size);
	for (i = 0; i < f->functions; i++)
		if (!choose_function(s, f->function[i], &id, &nr))
			fprintf(out, "%s%s", missing++ ? ", " : "", f->function[i]);
	text_close(out);
	for (i = 0; (stack = stacks_next(&s->record.stacks, &i)); )
		nameless += stack->nr && !(stack->named && stack->frame[0].name_len);
	report_count(nameless, "stack has no names, so --function could not find it",
		     "stacks have no names, so --function could not find them");
	why = xasprintf("%s: no stack begins in %.256s (%zu were searched): not probed, not called, or inlined into its callers",
			s->source.name, names, s->record.stacks.nr);
	if (missing == f->functions)
		die(1, "%s", why);
	if (missing)
		report("%s", why);
	free(why);
	free(names);
	filter_begins(f, id, nr);
}

void session_add_origin(struct session *s)
{
	struct build_ids *ids = &s->symbols.ids;
	char host[HOST_NAME_MAX + 1] = "";

	/* "(none)" is Linux's own name for a machine without one */
	if (s->source.live && !gethostname(host, sizeof(host) - 1) && *host &&
	    strcmp(host, "(none)"))
		s->symbols.host = printable(xstrdup(host));
	if (s->source.live)
		build_ids_running(ids);
	/* A dump has the id of its own kernel; the record may be of an earlier boot */
	else if (!s->record.have_info || !strcmp(s->source.linux_release, s->record.info.release))
		build_ids_add(ids, "", s->source.linux_build_id);
}

void session_add_kernel_offset(struct session *s, const struct debug_config *debug)
{
	struct kernel_offset *offset = &s->symbols.offset;
	const char *release = s->source.linux_release;
	struct srcline *lines;

	if (debug->vmlinux && s->record.have_info) {
		lines = session_open_srcline(s, debug, false);
		if (srcline_kernel_offset(lines, &offset->bytes))
			die(1, "%s", srcline_error(lines));
		offset->from = "vmlinux";
		srcline_close(lines);
		return;
	}
	/* The record may be of an earlier boot; the dump's VMCOREINFO is not */
	if (!s->source.live &&
	    (s->chosen != s->instance || strcmp(release, s->record.info.release)))
		return;
	if (source_kernel_offset(&s->source, &offset->bytes))
		offset->from = "VMCOREINFO";
}

struct srcline *session_open_srcline(const struct session *s, const struct debug_config *debug,
				     bool frames)
{
	const struct stackbuf_info *info = &s->record.info;
	struct debug_config config = *debug;
	struct srcline *lines;

	if (s->folded)
		die(1, "%s: holds folded stacks: " NOT_MEMORY, s->source.name);
	config.ids = &s->symbols.ids;
	if (s->record.have_info) {
		config.release = info->release;
		config.version = info->kernel_version;
		config.srcversion = info->module_srcversion;
		config.base_symbol = info->base_symbol;
		config.base_addr = info->base_addr;
	}
	if (!s->record.have_info && *s->source.linux_release)
		config.release = s->source.linux_release;
	lines = srcline_open(&config);
	/* Fail before printing anything or setting a probe */
	if ((s->record.stacks.nr || frames) && srcline_ready(lines))
		die(1, "%s", srcline_error(lines));
	return lines;
}

const char *session_probes_off(const struct session *s)
{
	struct kprobe_sites kprobes = { 0 };
	struct stackbuf_probe probe;
	const char *why;
	unsigned int i;

	for (i = 0; s->source.live && probe_next(&s->record, &i, &probe); )
		kprobe_sites_add(&kprobes, &probe);
	why = probes_off(&kprobes);
	kprobe_sites_free(&kprobes);
	return why;
}

/*
 * The running kernel's clock of events, ns, or 0 if the kernel hides it.  No clock of user space
 * equals it: it stops while the machine is suspended, and is not adjusted
 */
static u64 kernel_clock(void)
{
	FILE *f = fopen("/sys/kernel/debug/sched/debug", "re");
	unsigned long long ms, ns = 0, now = 0;
	char line[256];

	while (f && !now && fgets(line, sizeof(line), f))
		if (sscanf(line, "cpu_clk : %llu.%llu", &ms, &ns) == 2)
			now = ms * 1000000 + ns;
	if (f)
		fclose(f);
	return now;
}

/* 2020: a machine without a clock that runs on a battery begins in 1970 */
#define CLOCK_WAS_SET	(1577836800 * NSEC_PER_SEC)

void session_report_wall(const struct session *s)
{
	const struct stackbuf_info *info = &s->record.info;
	u64 clock = s->source.live ? kernel_clock() : 0;
	struct timespec now;
	s64 off;

	if (!s->record.have_info)
		return;
	if (info->load_realtime_ns < CLOCK_WAS_SET)
		report("times of day are wrong: the machine's clock was not set when the module was loaded");
	if (!clock || clock_gettime(CLOCK_REALTIME, &now))
		return;
	off = now.tv_sec * NSEC_PER_SEC + now.tv_nsec - info_to_wall(info, clock);
	if (off > (s64)NSEC_PER_SEC * 2 || off < -(s64)NSEC_PER_SEC * 2)
		report("times of day are %lld s off: the machine slept, or its clock was set, since the module was loaded",
		       (long long)off / (s64)NSEC_PER_SEC);
}

bool session_knows_now(const struct session *s)
{
	return s->record.info.stop_ns || (s->source.live && kernel_clock());
}

u64 session_now(const struct session *s)
{
	u64 now = s->record.events ? s->record.event[s->record.events - 1].time : 0, clock;

	if (s->record.info.stop_ns)
		return s->record.info.stop_ns;
	clock = s->source.live ? kernel_clock() : 0;
	return clock > now ? clock : now;
}
