// SPDX-License-Identifier: GPL-2.0
/*
 * info.c - the state of the recorder: sizes, counters, probes, and the loads found
 */
#include <elf.h>
#include <jansson.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "output/output.h"

/* Print one field: as a key of @j, or as a line if @j is NULL */
static void __attribute__((format(printf, 5, 6)))
info_field(const struct output *o, json_t *j, const char *key, const char *label,
	   const char *format, ...)
{
	va_list args;
	char *text;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0)
		return;
	/* A file's name may hold any bytes */
	printable(text);
	if (j)
		json_object_set_new(j, key, json_string(text));
	else
		fprintf(o->file, "%-28s %s\n", label, text);
	free(text);
}

static void info_number(const struct output *o, json_t *j, const char *key, const char *label,
			u64 n)
{
	if (j)
		json_object_set_new(j, key, json_number(n));
	else
		fprintf(o->file, "%-28s %llu\n", label, n);
}

static void info_time(const struct output *o, json_t *j, const char *key, const char *label, u64 ns)
{
	struct output seconds = *o, wall = *o;
	char a[64], b[64];

	seconds.wall = false;
	wall.wall = true;
	if (j)
		json_object_set_new(j, key, json_ns(ns));
	else
		fprintf(o->file, "%-28s %s  (%s)\n", label, output_time(&seconds, ns, a, sizeof(a)),
			output_time(&wall, ns, b, sizeof(b)));
}

struct place {
	const char *name;
	size_t len;
	u64 events;
};

static int by_events(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->events < y->events ? 1 : -(x->events > y->events);
}

/* The functions where stacks begin that recall does not serve, by events */
static void output_unfit(const struct output *o, json_t *j)
{
	struct place *place = NULL;
	size_t places = 0, i, n;
	char line[256] = "";
	struct stack *stack;
	u64 stacks = 0;

	for (i = 0; (stack = stacks_next(&o->record->stacks, &i)); ) {
		struct place here;

		if (!stack->nr || !stack->uncacheable)
			continue;
		stacks++;
		here.name = stack->frame[0].text;
		here.len = stack->frame[0].name_len ?: strlen(here.name);
		here.events = stack_events(stack);
		for (n = 0; n < places; n++)
			if (place[n].len == here.len && !memcmp(place[n].name, here.name, here.len))
				break;
		if (n < places) {
			place[n].events += here.events;
			continue;
		}
		GROW(place, places);
		place[places++] = here;
	}
	info_number(o, j, "stacks_unfit", "  unfit for recall", stacks);
	sort(place, places, sizeof(*place), by_events);
	for (n = 0; n < places && n < 5; n++)
		snprintf(line + strlen(line), sizeof(line) - strlen(line), "%s%.*s %llu",
			 n ? ", " : "", (int)place[n].len, place[n].name, place[n].events);
	if (places)
		info_field(o, j, "unfit_places", "    events by function", "%s%s", line,
			   places > 5 ? ", ..." : "");
	free(place);
}

/* How the record was found in a dump, and the cost of that */
static void output_found(const struct output *o, json_t *j, const struct page_set *set)
{
	if (!set->found_by)
		return;
	if (j && set->scanned)
		json_object_set_new(j, "scan_reason", json_string(set->scanned));
	info_field(o, j, "found_by", "found by", "%s%s%s%s", set->found_by,
		   set->scanned && !j ? "  (" : "", set->scanned && !j ? set->scanned : "",
		   set->scanned && !j ? ")" : "");
	info_number(o, j, "bytes_read", "bytes read", set->bytes_read);
}

/* Offset of the kernel's addresses from those in vmlinux, for debuggers */
static void output_kernel_offset(const struct output *o, json_t *j)
{
	const struct kernel_offset *offset = &o->symbols->offset;

	if (offset->from && j)
		json_object_set_new(j, "kernel_offset_from", json_string(offset->from));
	if (offset->from)
		info_field(o, j, "kernel_offset", "offset of KASLR", "0x%llx%s%s%s", offset->bytes,
			   j ? "" : "  (from ", j ? "" : offset->from, j ? "" : ")");
	else if (!j)
		info_field(o, j, NULL, "offset of KASLR", "unknown: name vmlinux with -k");
}

static void output_filter(const struct output *o, json_t *j, const struct stackbuf_info *info)
{
	const struct stackbuf_filter *f = &info->filter;

	if (f->pid)
		info_number(o, j, "filter_pid", "only process", f->pid);
	if (f->cpu)
		info_number(o, j, "filter_cpu", "only CPU", f->cpu - 1);
	if (f->comm[0])
		info_field(o, j, "filter_comm", "only command", "%s", f->comm);
	if (f->cgroup)
		info_number(o, j, "filter_cgroup", "only cgroup of inode", f->cgroup);
	if (f->every)
		info_number(o, j, "every", "on each CPU one event in", f->every);
	if (!f->limit)
		return;
	if (j) {
		info_number(o, j, "limit", NULL, f->limit);
		info_number(o, j, "limit_left", NULL, f->left);
	} else {
		fprintf(o->file, "%-28s %u%s\n", "limit", f->limit, f->left ? "" : ", reached");
	}
}

static const char *role(const struct stackbuf_probe *probe)
{
	return probe->role == STACKBUF_PAIR_OPENS ? "opens" : "closes";
}

/* Pairs of probes, with the numbers that their probes display */
static void output_pairs(const struct output *o, json_t *j)
{
	const struct record *r = o->record;
	json_t *all = j ? json_array() : NULL;
	struct stackbuf_pair pair;
	unsigned int number = 0;
	struct pair_totals t;

	while (pairs_next(r, &number, &pair)) {
		pairs_read(r, number, PAIR_ALWAYS, &t);
		if (j)
			json_array_append_new(all,
					      json_pack("{s:s,s:i,s:o,s:o,s:b}", "name", t.name,
							"number", number, "open",
							json_number(t.all.open), "closed",
							json_number(t.all.closed), "exact",
							pairs_exact(&t)));
		else
			fprintf(o->file, "pair %-23u %s: %llu open, %llu closed%s\n", number,
				t.name, t.all.open, t.all.closed,
				pairs_exact(&t) ? "" : ", not exact");
		pairs_free(&t);
	}
	if (j)
		json_object_set_new(j, "pairs", all);
}

static void output_probes(const struct output *o, json_t *j)
{
	const struct record *r = o->record;
	static const char *const state[] = {
		[STACKBUF_PROBE_SET] = "set",
		[STACKBUF_PROBE_PENDING] = "pending: its module is not loaded",
		[STACKBUF_PROBE_REFUSED] = "refused when its module was loaded",
	};
	json_t *all = j ? json_array() : NULL;
	u64 missed = probes_missed(r);
	unsigned int i, nr = 0;
	struct stackbuf_probe probe;

	if (!j && !info_has_probes(&r->info)) {
		info_field(o, j, "probes", "probes", "none: the module was built with PROBES=n");
		return;
	}
	for (i = 0; probe_next(r, &i, &probe); ) {
		const char *is = probe.state <= STACKBUF_PROBE_REFUSED ? state[probe.state] :
				 "unknown";

		nr++;
		if (j) {
			json_t *one = json_pack("{s:s,s:s,s:o,s:o,s:o}", "name", probe.name,
						"state", is,
						"functions", json_number(probe.functions),
						"left_out", json_number(probe.left_out),
						"missed", json_number(probe.missed));

			if (probe.addr)
				json_object_set_new(one, "address", json_hex(probe.addr));
			if (probe.pair)
				json_object_set_new(one, role(&probe), json_integer(probe.pair));
			if (probe.role == STACKBUF_TRIGGERS)
				json_object_set_new(one, "stops", json_true());
			json_array_append_new(all, one);
		}
	}
	if (j)
		json_object_set_new(j, "probes", all);
	else
		info_number(o, j, "probes", "probes", nr);
	if (o->record->probes_off)
		info_field(o, j, "probes_off", "probes are not hit", "%s", o->record->probes_off);
	if (o->left)
		info_field(o, j, "left", "left behind", "%s", o->left);
	info_number(o, j, "probes_missed", "hits that probes missed", missed);
	if (missed && !j)
		fprintf(o->file, "%-28s %s\n", "  reason", WHY_MISSED);
	for (i = 0; !j && probe_next(r, &i, &probe); ) {
		fprintf(o->file, "  %-26s ", probe.name);
		if (probe.addr)
			fprintf(o->file, "0x%llx ", probe.addr);
		else if (probe_has_functions(&probe))
			fprintf(o->file, "%u functions, %u left out, ", probe.functions,
				probe.left_out);
		else
			/* A tracepoint has many addresses */
			fputs("- ", o->file);
		fputs(probe.state <= STACKBUF_PROBE_REFUSED ? state[probe.state] : "unknown",
		      o->file);
		if (probe.missed)
			fprintf(o->file, ", missed %llu", probe.missed);
		if (probe.pair)
			fprintf(o->file, ", %s pair %u", role(&probe), probe.pair);
		if (probe.role == STACKBUF_TRIGGERS)
			fputs(", stops recording", o->file);
		fputc('\n', o->file);
	}
}

static void info_instances(const struct output *o, json_t *j, const struct instance *in, size_t nr)
{
	json_t *list = j ? json_array() : NULL;
	u64 stray = 0;
	char when[64], state[64];
	size_t i;

	for (i = 0; i < nr; i++) {
		bool chosen = in[i].id == o->record->instance;

		/* A damaged page may look like a load of its own: count only its pages */
		if (!in[i].have_info && !chosen) {
			stray += in[i].pages;
			continue;
		}
		if (in[i].have_info && in[i].missing)
			snprintf(state, sizeof(state), "%llu pages missing", in[i].missing);
		else
			strcpy(state, in[i].have_info ? "complete" : "without stackbuf_info");
		output_day(in[i].loaded, when, sizeof(when));
		if (j) {
			json_t *one = json_object();

			json_object_set_new(one, "instance", json_sprintf("%016llx", in[i].id));
			json_object_set_new(one, "chosen", json_boolean(chosen));
			json_object_set_new(one, "load_realtime_ns", json_ns(in[i].loaded));
			json_object_set_new(one, "release", json_string(in[i].release));
			json_object_set_new(one, "state", json_string(state));
			json_array_append_new(list, one);
		} else {
			fprintf(o->file, "%-28s %016llx, loaded %s, %s, %s\n",
				chosen ? "found here: this" : "found here as well", in[i].id, when,
				*in[i].release ? in[i].release : "unknown kernel", state);
		}
	}
	if (j)
		json_object_set_new(j, "instances", list);
	info_number(o, j, "stray_pages", "pages of no known instance", stray);
}

/* Which trigger was hit, and when */
static void output_trigger(const struct output *o, json_t *j)
{
	const struct stackbuf_info *info = &o->record->info;
	struct stackbuf_probe probe;

	if (!info->trigger)
		return;
	if (info->trigger <= STACKBUF_PROBES_MAX &&
	    record_probe(o->record, info->trigger - 1, &probe))
		info_field(o, j, "trigger", "trigger that was hit", "%s", probe.name);
	else
		info_field(o, j, "trigger", "trigger that was hit", "unknown");
	info_time(o, j, "trigger_ns", "  hit", info->trigger_ns);
	info_number(o, j, "trigger_left", "  events from then on, at most", info->trigger_left);
}

/*
 * After a trigger's hit: how many of the events until the stop were recorded.  JSON has keys for it
 */
static void trigger_progress(const struct output *o, char *buf, size_t size)
{
	const struct record *r = o->record;
	const struct stackbuf_info *info = &r->info;
	u64 came = 0;
	bool all;

	*buf = '\0';
	if (!info->trigger || !info->trigger_left || o->format == FORMAT_JSON)
		return;
	while (came < r->events && came < info->trigger_left &&
	       r->event[r->events - 1 - came].time > info->trigger_ns)
		came++;
	/* Others may have been overwritten if all in the ring are later than the hit */
	all = came < r->events || came == info->trigger_left || !info->overwritten;
	if (info->state & STACKBUF_FROZEN_TRIGGER)
		snprintf(buf, size, " after %s%llu of %u events", all ? "" : "at least ", came,
			 info->trigger_left);
	else
		snprintf(buf, size, ", a trigger was hit: %s%llu of %u events are still to come",
			 all ? "" : "at most ", info->trigger_left - came, info->trigger_left);
}

const char *output_state(const struct output *o, char *buf, size_t size)
{
	u32 state = o->record->info.state;
	char progress[96];

	if (!o->record->have_info)
		return "unknown";
	trigger_progress(o, progress, sizeof(progress));
	snprintf(buf, size, "%s%s%s%s%s%s", state & STACKBUF_ENABLED ? "enabled" : "disabled",
		 state & STACKBUF_FROZEN_OOPS ? ", frozen by an oops" : "",
		 state & STACKBUF_FROZEN_PANIC ? ", frozen by a panic" : "",
		 state & STACKBUF_FROZEN_TRIGGER ? ", stopped by a trigger" : "", progress,
		 state & STACKBUF_UNLOADED ? ", unloaded" : "");
	return buf;
}

const char *output_machine(const struct stackbuf_info *info)
{
	return info->elf_machine == EM_X86_64 ? "x86-64" :
	       info->elf_machine == EM_AARCH64 ? "arm64" : "unknown";
}

/* Data of the module and the machine from the page of stackbuf_info */
static void output_module(const struct output *o, json_t *j)
{
	const struct record *r = o->record;
	const struct stackbuf_info *info = &r->info;
	u64 newest = r->events ? r->event[r->events - 1].time : 0;

	output_trigger(o, j);
	output_filter(o, j, info);
	info_field(o, j, "release", "kernel", "%s", info->release);
	info_field(o, j, "kernel_version", "kernel version", "%s", info->kernel_version);
	info_field(o, j, "machine", "machine", "%s", output_machine(info));
	info_number(o, j, "cpus", "CPUs", info->nr_cpus);
	info_field(o, j, "srcversion", "module's srcversion", "%s",
	     *info->module_srcversion ? info->module_srcversion : "unknown");
	info_field(o, j, "build_id", "module's build id", "%s",
	     build_ids_find(&o->symbols->ids, "stackbuf", 0) ?: "unknown");
	info_field(o, j, "base_symbol", "base symbol", "%s", info->base_symbol);
	info_field(o, j, "base_address", "base address", "0x%llx", info->base_addr);
	output_kernel_offset(o, j);
	info_time(o, j, "load_ns", "loaded", info->load_ns);
	if (j)
		json_object_set_new(j, "load_realtime_ns", json_ns(info->load_realtime_ns));
	/* Events that other CPUs were recording follow it */
	if (info->stop_ns)
		info_time(o, j, "stop_ns", "stopped",
			  newest && newest > info->stop_ns ? newest : info->stop_ns);
	info_number(o, j, "events_bytes", "event ring, bytes", info->events_size);
	info_number(o, j, "stacks_bytes", "stack table, bytes", info->stacks_size);
	info_number(o, j, "text_bytes", "text log, bytes", info->text_size);
	if (info->kept_at && j) {
		info_field(o, j, "kept_at", NULL, "0x%llx", info->kept_at);
		info_number(o, j, "kept_size", NULL, info->kept_size);
	} else if (info->kept_at) {
		info_field(o, j, NULL, "kept over a reset", "at 0x%llx, %llu KiB of %llu KiB",
			   info->kept_at, (info->info_size + info->events_size +
			   info->stacks_size + info->text_size) >> 10, info->kept_size >> 10);
	}
}

static void output_ring_times(const struct output *o, json_t *j)
{
	const struct record *r = o->record;

	if (!r->events)
		return;
	info_time(o, j, "oldest_ns", "oldest event", r->event[0].time);
	if (r->whole_since)
		info_time(o, j, "whole_since_ns", "all events since", r->whole_since);
	info_time(o, j, "newest_ns", "newest event", r->event[r->events - 1].time);
}

/* Sums for "info" */
struct sums {
	u64 recorded, recalled, refused, per_mib, missing, names[NAMES_NONE + 1];
};

static void add_up(struct sums *sums, const struct output *o)
{
	const struct record *r = o->record;
	u64 walked = r->lost[STACKBUF_DIFFERED];
	struct stack *stack;
	size_t i;

	for (i = 0; (stack = stacks_next(&r->stacks, &i)); ) {
		if (!stack->nr)
			continue;
		symbols_name(o->symbols, stack);
		sums->names[stack->name_origin]++;
	}
	for (i = 0; i <= STACKBUF_LOST_EMPTY; i++)
		sums->refused += r->lost[i];
	for (i = STACKBUF_WALKED_NEW; i <= STACKBUF_WALKED_AGAIN; i++)
		walked += r->lost[i];
	for (i = 0; i < ARRAYS; i++)
		sums->missing += r->missing[i];
	sums->recorded = r->info.overwritten + r->events;
	sums->recalled = sums->recorded > walked ? sums->recorded - walked : 0;
	sums->per_mib = r->used_pages ? r->events * 256 / r->used_pages : 0;
}

/* A number, or a function that prints several */
struct row {
	const char *key, *label;
	enum { OF_RECORD, OF_SET, OF_SUMS } of;
	unsigned int offset, size;
	bool needs_info;	/* shown only if the page of stackbuf_info was found */
	void (*print)(const struct output *o, json_t *j);
};

#define NUMBER(what, type, member)							\
	.of = (what), .offset = offsetof(type, member), .size = sizeof(((type *)0)->member)
#define RECORD(member)	NUMBER(OF_RECORD, struct record, member)
#define INFO(member)	RECORD(info.member), .needs_info = true
#define COUNTER(number)	RECORD(lost[number]), .needs_info = true
#define SET(member)	NUMBER(OF_SET, struct page_set, member)
#define SUM(member)	NUMBER(OF_SUMS, struct sums, member)

static const struct row rows[] = {
	{ "events_recorded", "events recorded", SUM(recorded), .needs_info = true },
	{ "events_recalled", "  of them recalled", SUM(recalled), .needs_info = true },
	{ "events_in_ring", "events in the ring", RECORD(events) },
	{ "events_overwritten", "events overwritten", INFO(overwritten) },
	{ "events_per_mib", "events in a MiB of ring", SUM(per_mib) },
	{ .print = output_ring_times },
	{ "events_refused", "events refused", SUM(refused), .needs_info = true },
	{ "lost_off", "  recording was off", COUNTER(STACKBUF_LOST_OFF) },
	{ "lost_nested", "  nested too deep", COUNTER(STACKBUF_LOST_NESTED) },
	{ "lost_table", "  stack table full", COUNTER(STACKBUF_LOST_TABLE) },
	{ "lost_page", "  no room in the ring", COUNTER(STACKBUF_LOST_PAGE) },
	{ "lost_empty", "  no frame found", COUNTER(STACKBUF_LOST_EMPTY) },
	{ "cut", "traces cut", COUNTER(STACKBUF_CUT) },
	{ "lost_print", "prints refused", COUNTER(STACKBUF_LOST_PRINT) },
	{ "walked_new", "walked: new stack", COUNTER(STACKBUF_WALKED_NEW) },
	{ "walked_elsewhere", "walked: unknown stack", COUNTER(STACKBUF_WALKED_ELSEWHERE) },
	{ "walked_unfit", "walked: unfit for recall", COUNTER(STACKBUF_WALKED_UNCACHEABLE) },
	{ "walked_again", "walked: another layout", COUNTER(STACKBUF_WALKED_AGAIN) },
	{ "verified", "recalled and verified", COUNTER(STACKBUF_VERIFIED) },
	{ "differed", "  recalled wrongly", COUNTER(STACKBUF_DIFFERED) },
	{ "kept_out", "events filtered out", COUNTER(STACKBUF_EXCLUDED) },
	{ "not_sampled", "events not sampled", COUNTER(STACKBUF_NOT_SAMPLED) },
	{ "over_limit", "events over the limit", COUNTER(STACKBUF_OVER_LIMIT) },
	{ .print = output_probes },
	{ .print = output_pairs },
	{ "stacks", "stacks in the table", RECORD(in_table) },
	{ "stacks_evicted", "stacks evicted", INFO(evicted) },
	{ "evicted_events", "  events they had counted", INFO(evicted_events) },
	{ "evict_interrupts", "  times it interrupted busy CPUs", INFO(expedited) },
	{ .print = output_unfit },
	{ "names_text", "  named by the text log", SUM(names[NAMES_TEXT]) },
	{ "names_snapshot", "  named by the snapshot", SUM(names[NAMES_SNAPSHOT]) },
	{ "names_kallsyms", "  named by kallsyms", SUM(names[NAMES_KALLSYMS]) },
	{ "names_none", "  without some names", SUM(names[NAMES_NONE]) },
	{ "texts", "records in the text log", RECORD(texts) },
	{ "texts_overwritten", "records overwritten", INFO(text_overwritten) },
	{ "texts_missing", "stacks not yet rendered", RECORD(not_rendered) },
	{ "texts_given_up", "stacks that went before they were rendered", INFO(text_given_up) },
	{ "half_events", "half-written events", RECORD(half) },
	{ "half_stacks", "half-written stacks", RECORD(half_stacks) },
	{ "half_texts", "half-written texts", RECORD(half_texts) },
	{ "pages_rebuilt", "pages being rebuilt", RECORD(rebuilt) },
	{ "pages_changed", "pages changed while read", SET(changed) },
	{ "pages_damaged", "damaged pages", RECORD(damaged) },
	{ "pages_missing", "missing pages", SUM(missing) },
	{ "unreadable_pages", "unreadable pages", SET(unreadable) },
	{ "cut_bytes", "bytes cut off", SET(cut) },
};

void output_info(const struct output *o, const char *source, const struct page_set *set,
		 const struct instance *instance, size_t instances)
{
	const struct record *r = o->record;
	const struct stackbuf_info *info = &r->info;
	json_t *j = o->format == FORMAT_JSON ? json_object() : NULL;
	const struct row *row;
	struct sums sums = { 0 };
	const void *of[] = { [OF_RECORD] = r, [OF_SET] = set, [OF_SUMS] = &sums };
	char state[256];

	add_up(&sums, o);
	info_field(o, j, "source", "source", "%s", source);
	if (o->symbols->host)
		info_field(o, j, "host", "host", "%s", o->symbols->host);
	output_found(o, j, set);
	info_field(o, j, "reader_version", "reader's version", "%s", VERSION);
	info_field(o, j, "module_version", "module's version", "%s",
		   *info->module_version ? info->module_version : "unknown");
	info_number(o, j, "version", "format version", STACKBUF_VERSION);
	info_field(o, j, "instance", "instance", "%016llx", r->instance);
	info_field(o, j, "state", "state", "%s", output_state(o, state, sizeof(state)));
	if (r->have_info)
		output_module(o, j);
	for (row = rows; row < rows + ARRAY_SIZE(rows); row++) {
		const void *at = (const char *)of[row->of] + row->offset;

		if (row->print)
			row->print(o, j);
		else if (r->have_info || !row->needs_info)
			info_number(o, j, row->key, row->label,
				    row->size == sizeof(u64) ? *(const u64 *)at :
							       *(const unsigned int *)at);
	}
	info_instances(o, j, instance, instances);
	if (j)
		json_print(o, j, NULL, 0);
}
