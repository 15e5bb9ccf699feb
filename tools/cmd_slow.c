// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_slow.c - "latency -L": calls of functions that took longer, by stack
 *
 * Each is an event of a probe FUNCTION%return@took...: the kernel omits calls that took less.
 */
#include <stdlib.h>
#include <string.h>
#include "cmd.h"
#include "input/steady.h"
#include "live/watch.h"
#include "symbol/errors.h"

struct slow {
	const struct args *a;
	struct watch *w;
	struct pair_totals t;
	struct stacks stacks;		/* copies of stacks; @place is the index of the total */
	struct patterns others;		/* of probes that were set before and have a tag */
	u64 unsure;			/* events that may be theirs */
};

static unsigned int column_of(u64 took)
{
	unsigned int i = 0;

	while (i + 1 < STACKBUF_PAIR_TIMES && pairs_time(i + 1) <= took)
		i++;
	return i;
}

static void take_call(void *arg, const struct stackbuf_event *e, struct stack *stack)
{
	struct slow *slow = arg;
	struct pair_total *one;
	struct stack *kept;

	if (!e->tagged || e->tag < slow->a->longer || !filter_match(&slow->a->wanted.filter, e))
		return;
	symbols_name(slow->a->output.symbols, stack);
	if (!watch_wants(slow->w, stack))
		return;
	if (stack->named && patterns_match_frame(&slow->others, stack->frame)) {
		slow->unsure++;
		return;
	}
	kept = stack_keep(&slow->stacks, stack);
	if (kept->place == slow->t.nr) {
		GROW(slow->t.total, slow->t.nr);
		slow->t.total[slow->t.nr++] = (struct pair_total){ .stack = kept };
	}
	one = &slow->t.total[kept->place];
	one->closed++;
	one->sum += e->tag;
	one->times[column_of(e->tag)]++;
	if (one->longest < e->tag)
		one->longest = e->tag;
	slow->t.all.closed++;
	slow->t.all.sum += e->tag;
}

/* Find the functions at which other probes record other numbers, or the same calls */
static void find_others(struct slow *slow, const struct record *r)
{
	const struct patterns *ours = &slow->w->patterns;
	struct stackbuf_probe probe;
	unsigned int i;
	size_t n;

	for (i = 0; probe_next(r, &i, &probe); ) {
		for (n = 0; n < ours->nr && strcmp(ours->pattern[n].text, probe.name); n++)
			;
		if (n == ours->nr && probe.role != STACKBUF_PAIR_CLOSES && probe.tag &&
		    probe.way != STACKBUF_PROBE_BY_TRACEPOINT)
			errors_add_probe(&slow->others, &probe);
	}
}

/* The module takes a 32-bit number */
static char *probe_of(const char *function, u64 ns)
{
	static const struct { u64 ns; const char *name; } units[] = {
		{ NSEC_PER_SEC, "s" }, { NSEC_PER_SEC / 1000, "ms" }, { 1000, "us" }, { 1, "ns" },
	};
	unsigned int i = 0;

	while (ns % units[i].ns)
		i++;
	return xasprintf("%s%%return@took%llu%s", function, ns / units[i].ns, units[i].name);
}

void cmd_slow(struct args *a)
{
	struct session s = { 0 };
	struct slow slow = { .a = a };
	struct watch w = {
		.source = &s.source, .o = &a->output, .filter = &a->wanted.filter, .events = true,
		.duration = a->duration, .overrides.lock = -1,
	};
	u64 missed, refused;
	size_t i;

	if (!args_live(a))
		die(EXIT_USAGE, "--longer probes functions now; for calls recorded by %%return@took: stackbuf -f %s log --tag %llu-0xffffffffffffffff",
		    a->wanted.file.nr ? a->wanted.file.word[0] : "FILE", a->longer);
	if (!a->word || !a->word[0])
		die(EXIT_USAGE, "--longer is about calls: name a FUNCTION (see stackbuf latency -h)");
	for (i = 0; a->word[i]; i++) {
		if (pattern_event(a->word[i]) || strpbrk(a->word[i], "@%+ "))
			die(EXIT_USAGE, "--longer is about calls of functions, as 'ext4_*', not %s",
			    a->word[i]);
		watch_add(&w, probe_of(a->word[i], a->longer), false);
	}
	cmd_begin_live(&s, a, &w.overrides);
	missed = probes_missed(&s.record);
	refused = record_refused(&s.record);
	slow.w = &w;
	find_others(&slow, &s.record);
	snprintf(slow.t.name, sizeof(slow.t.name), "%s%s, %g ms or longer", a->word[0],
		 a->word[1] ? " and more" : "", a->longer / 1e6);
	slow.t.missed = watch_events(&w, &slow, take_call);
	if (!steady_read_info(&s.source, &s.record)) {
		slow.t.missed += probes_missed_since(&s.record, missed);
		slow.t.pair.refused = record_refused(&s.record) - refused;
	}
	report_count(slow.unsure, "event is left out: another probe at its function records numbers, too; remove it (parameters probe, pair and trigger)",
		     "events are left out: other probes at their functions record numbers, too; remove them (parameters probe, pair and trigger)");
	slow.t.missed += slow.unsure;
	slow.t.off = w.off;
	watch_restore(&w);
	cmd_print_pair(a, &slow.t, 0);
	watch_finish(&w);
	patterns_free(&w.patterns);
	patterns_free(&slow.others);
	free(slow.t.total);
	stacks_empty(&slow.stacks);
	cmd_end(&s, a);
}
