// SPDX-License-Identifier: GPL-2.0
/*
 * metrics.c - the record's counters in Prometheus's text format, version 0.0.4
 *
 * If a counter becomes smaller, Prometheus assumes that it restarted, and adds its whole value to
 * the previous one.  The record changes while it is read, so one reading may find a little less
 * than the previous one.  Therefore all counters except the probes' misses are never lower than in
 * the replaced file, if that is of the same load of the module.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "output/files.h"

/* A larger file was not written by this program */
#define BEFORE_MAX	(16 << 20)

#define LOADED	"stackbuf_load_time_seconds"

struct metrics {
	FILE *file;
	void *before;	/* tree of struct named: a series, with its value as id */
};

/* ------------------------------------------------------- values before --- */

char *metrics_read(const char *name)
{
	struct stat st;
	FILE *f = strcmp(name, "-") && !stat(name, &st) && S_ISREG(st.st_mode) &&
		st.st_size <= BEFORE_MAX ? fopen(name, "re") : NULL;
	char *text = NULL;
	size_t len;

	if (!f)
		return NULL;
	text = xcalloc(st.st_size + 1, 1);
	len = fread(text, 1, st.st_size, f);
	text[len] = '\0';
	fclose(f);
	return text;
}

/* Remember the series of @text, unless it is of a load other than @loaded */
static void know(struct metrics *m, const char *text, const char *loaded)
{
	const char *line, *end, *blank;
	struct named *known;
	char *series;
	bool is_new;

	if (!text || !strstr(text, loaded))
		return;
	for (line = text; (end = strchr(line, '\n')); line = end + 1) {
		blank = memrchr(line, ' ', end - line);
		if (*line == '#' || !blank || !isdigit(blank[1]))
			continue;
		series = xasprintf("%.*s", (int)(blank - line), line);
		known = named_get(&m->before, series, &is_new);
		if (is_new)
			known->id = strtoull(blank + 1, NULL, 10);
		free(series);
	}
}

/* ------------------------------------------------------------- pieces --- */

static void family(struct metrics *m, const char *name, const char *type, const char *help)
{
	fprintf(m->file, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/*
 * A label's value, escaped.  A frame or probe with an address instead of a name is (unknown): the
 * file is for every user and for another machine, but the kernel's addresses are not.
 */
static char *label(const char *text, size_t len)
{
	bool begins = true;
	char *escaped;
	size_t size, i;
	FILE *f = text_open(&escaped, &size);

	for (i = 0; i < len; i++) {
		if (begins && len - i > 2 && !strncmp(text + i, "0x", 2)) {
			fputs("(unknown)", f);
			while (i + 1 < len && text[i + 1] != ';' && text[i + 1] != '_')
				i++;
			begins = false;
			continue;
		}
		begins = text[i] == ';';
		if (text[i] == '\\' || text[i] == '"')
			putc('\\', f);
		if (text[i] == '\n')
			fputs("\\n", f);
		else
			putc(text[i], f);
	}
	text_close(f);
	return escaped;
}

static void value(struct metrics *m, const char *series, u64 n)
{
	fprintf(m->file, "%s %llu\n", series, n);
}

/* A counter: the file may have been replaced since by a run that read the record later */
static void rising(struct metrics *m, const char *series, u64 n)
{
	const struct named *before = named_get(&m->before, series, NULL);

	value(m, series, before && before->id > n ? before->id : n);
}

static void counter(struct metrics *m, const char *name, const char *help, u64 n)
{
	family(m, name, "counter", help);
	rising(m, name, n);
}

static void gauge(struct metrics *m, const char *name, const char *help, u64 n)
{
	family(m, name, "gauge", help);
	value(m, name, n);
}

static void seconds(struct metrics *m, const char *name, const char *help, u64 ns)
{
	family(m, name, "gauge", help);
	fprintf(m->file, "%s %llu.%09llu\n", name, ns / NSEC_PER_SEC, ns % NSEC_PER_SEC);
}

/* ------------------------------------------------------------ families --- */

struct reason {
	enum stackbuf_counter counter;
	const char *name;
};

static void by_reason(struct metrics *m, const struct record *r, const char *name, const char *help,
		      const struct reason *reason, size_t nr)
{
	char *series;
	size_t i;

	family(m, name, "counter", help);
	for (i = 0; i < nr; i++) {
		series = xasprintf("%s{reason=\"%s\"}", name, reason[i].name);
		rising(m, series, r->lost[reason[i].counter]);
		free(series);
	}
}

static void put_events(struct metrics *m, const struct record *r)
{
	static const struct reason walked[] = {
		{ STACKBUF_WALKED_NEW, "new_stack" },
		{ STACKBUF_WALKED_ELSEWHERE, "other_stack" },
		{ STACKBUF_WALKED_UNCACHEABLE, "unfit" },
		{ STACKBUF_WALKED_AGAIN, "other_layout" },
		{ STACKBUF_DIFFERED, "differed" },
	};
	static const struct reason refused[] = {
		{ STACKBUF_LOST_OFF, "off" },
		{ STACKBUF_LOST_NESTED, "nested" },
		{ STACKBUF_LOST_TABLE, "table_full" },
		{ STACKBUF_LOST_PAGE, "no_page" },
		{ STACKBUF_LOST_EMPTY, "no_frame" },
	};
	static const struct reason left_out[] = {
		{ STACKBUF_EXCLUDED, "filter" },
		{ STACKBUF_NOT_SAMPLED, "sampling" },
		{ STACKBUF_OVER_LIMIT, "limit" },
	};
	u64 recorded = r->info.overwritten + r->events, n = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(walked); i++)
		n += r->lost[walked[i].counter];
	family(m, "stackbuf_events_total", "counter",
	       "Events recorded since the module was loaded.");
	rising(m, "stackbuf_events_total", recorded);
	family(m, "stackbuf_events_recalled_total", "counter",
	       "Events recorded without a walk of the stack.");
	rising(m, "stackbuf_events_recalled_total", recorded > n ? recorded - n : 0);
	by_reason(m, r, "stackbuf_events_walked_total",
		  "Events recorded by a walk of the stack, by reason.", walked, ARRAY_SIZE(walked));
	by_reason(m, r, "stackbuf_events_refused_total", "Events lost, by reason.", refused,
		  ARRAY_SIZE(refused));
	by_reason(m, r, "stackbuf_events_left_out_total",
		  "Events not recorded because of a parameter, by parameter; filter: also those of the record's readers.",
		  left_out, ARRAY_SIZE(left_out));
	counter(m, "stackbuf_events_cut_total", "Events whose trace was cut, as it had more frames than are kept.",
		r->lost[STACKBUF_CUT]);
	counter(m, "stackbuf_events_verified_total", "Recalls that were compared with a walk.",
		r->lost[STACKBUF_VERIFIED]);
	counter(m, "stackbuf_prints_refused_total", "Prints of stacks that were refused.",
		r->lost[STACKBUF_LOST_PRINT]);
}

static void put_ring(struct metrics *m, const struct record *r)
{
	u64 newest = r->events ? r->event[r->events - 1].time : 0;
	u64 since = r->whole_since ?: r->events ? r->event[0].time : 0;
	u64 span = newest > since ? newest - since : 0;

	gauge(m, "stackbuf_ring_size_bytes", "Size of the event ring.", r->info.events_size);
	gauge(m, "stackbuf_ring_events", "Events in the ring.", r->events);
	seconds(m, "stackbuf_ring_span_seconds",
		"Time up to the newest event from which the ring has all events.", span);
	counter(m, "stackbuf_ring_overwritten_total", "Events overwritten in the ring.",
		r->info.overwritten);
}

/* A series must be unique: probes with the same label share one */
static void put_probes(struct metrics *m, const struct record *r)
{
	struct series {
		char *probe;
		u64 missed;
		bool set;
	} *series = NULL;
	struct stackbuf_probe one;
	unsigned int number;
	size_t nr = 0, all = 0, i;
	char *probe;

	for (number = 0; probe_next(r, &number, &one); all++) {
		probe = label(one.name, strlen(one.name));
		for (i = 0; i < nr && strcmp(series[i].probe, probe); i++)
			;
		if (i < nr) {
			free(probe);
		} else {
			GROW(series, nr);
			series[nr++] = (struct series){ .probe = probe };
		}
		series[i].missed += one.missed;
		series[i].set |= one.state == STACKBUF_PROBE_SET;
	}
	gauge(m, "stackbuf_probes", "Probes requested.", all);
	if (nr) {
		family(m, "stackbuf_probe_set", "gauge",
		       "1 if the probe is set, 0 if it is pending or was refused.");
		for (i = 0; i < nr; i++)
			fprintf(m->file, "stackbuf_probe_set{probe=\"%s\"} %d\n", series[i].probe,
				series[i].set);
		family(m, "stackbuf_probe_hits_missed_total", "counter",
		       "Hits of a probe that the kernel did not pass on.");
		for (i = 0; i < nr; i++)
			fprintf(m->file, "stackbuf_probe_hits_missed_total{probe=\"%s\"} %llu\n",
				series[i].probe, series[i].missed);
	}
	counter(m, "stackbuf_removed_probes_hits_missed_total",
		"Hits that the kernel did not pass on, of probes removed since.",
		r->info.missed_before);
	for (i = 0; i < nr; i++)
		free(series[i].probe);
	free(series);
}

/* More events first */
static int by_events(const void *a, const void *b)
{
	const struct stack *x = *(struct stack *const *)a, *y = *(struct stack *const *)b;

	return x->own != y->own ? -compare_u64(x->own, y->own) : compare_u64(x->id, y->id);
}

/*
 * Each id is a series, even if the table has a stack twice: the stack that represents both may be
 * evicted, and the other one's total would be lower.
 */
static void put_stacks(struct metrics *m, const struct output *o)
{
	const struct record *r = o->record;
	struct stack **list = xcalloc(r->stacks.nr + 1, sizeof(*list)), *stack;
	struct output folded = *o;
	const char *text;
	char *series, *name;
	size_t nr = 0, i, len;
	u64 others = 0;

	gauge(m, "stackbuf_stacks", "Stacks in the table.", r->in_table);
	counter(m, "stackbuf_stacks_evicted_total", "Stacks evicted from the table.",
		r->info.evicted);
	counter(m, "stackbuf_evicted_stacks_events_total",
		"Events of evicted stacks, which are in no stack's total.",
		r->info.evicted_events);
	for (i = 0; (stack = stacks_next(&r->stacks, &i)); )
		if (stack->own)
			list[nr++] = stack;
	sort(list, nr, sizeof(*list), by_events);
	if (nr)
		family(m, "stackbuf_stack_events_total", "counter",
		       "Events of one of the most frequent stacks, outermost frame first.");
	folded.format = FORMAT_FOLDED;
	for (i = 0; i < nr; i++) {
		if (i >= o->top) {
			others += list[i]->own;
			continue;
		}
		text = output_stack_text(&folded, list[i], &len);
		name = label(text, len);
		series = xasprintf("stackbuf_stack_events_total{id=\"%u\",stack=\"%s\"}",
				   list[i]->id, name);
		rising(m, series, list[i]->own);
		free(series);
		free(name);
	}
	/* Not a counter: a stack that becomes one of the largest leaves the sum */
	gauge(m, "stackbuf_other_stacks_events", "Events of all stacks that have no series here.",
	      others);
	free(list);
}

void metrics_write(const struct output *o, const char *before)
{
	const struct record *r = o->record;
	const struct stackbuf_info *info = &r->info;
	struct metrics m = { .file = o->file };
	const u32 frozen = STACKBUF_FROZEN | STACKBUF_UNLOADED;
	char *version, *src, *release, *loaded;

	loaded = xasprintf("\n" LOADED " %llu.%09llu\n", info->load_realtime_ns / NSEC_PER_SEC,
			   info->load_realtime_ns % NSEC_PER_SEC);
	know(&m, before, loaded);
	version = label(info->module_version, strlen(info->module_version));
	src = label(info->module_srcversion, strlen(info->module_srcversion));
	release = label(info->release, strlen(info->release));
	family(&m, "stackbuf_build_info", "gauge",
	       "Versions of the module, of the kernel and of the command; always 1.");
	fprintf(m.file,
		"stackbuf_build_info{version=\"%s\",srcversion=\"%s\",release=\"%s\",reader_version=\"%s\"} 1\n",
		version, src, release, VERSION);
	seconds(&m, LOADED,
		"When the module was loaded, Unix time: if it changes, all counters began at 0.",
		info->load_realtime_ns);
	gauge(&m, "stackbuf_recording", "1 if recording is on, 0 if it is off or was stopped.",
	      info->state & STACKBUF_ENABLED && !(info->state & frozen));
	put_events(&m, r);
	put_ring(&m, r);
	put_probes(&m, r);
	put_stacks(&m, o);
	named_free(&m.before);
	free(version);
	free(src);
	free(release);
	free(loaded);
}
