// SPDX-License-Identifier: GPL-2.0
/*
 * filter.c - selects the events to show
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "record/filter.h"

/* Parse "1,5-9,!7", and with @sizes "ADDRESS/SIZE" */
static bool parse_ranges(struct ranges *r, const char *text, u64 min, u64 max, bool sizes)
{
	struct range one;
	u64 size;

	for (;;) {
		one.not = *text == '!';
		if (!value_number(text + one.not, &text, max, &one.first))
			return false;
		one.last = one.first;
		if (*text == '-') {
			if (!value_number(text + 1, &text, max, &one.last))
				return false;
		} else if (sizes && *text == '/') {
			if (!value_number(text + 1, &text, max, &size) || !size ||
			    size - 1 > max - one.first)
				return false;
			one.last += size - 1;
		}
		if (one.first < min || one.first > one.last)
			return false;
		GROW(r->range, r->nr);
		r->range[r->nr++] = one;
		r->wants |= !one.not;
		if (*text != ',')
			return !*text;
		text++;
	}
}

/* Return true if a value is in a range: one with "!" if @not, else one without */
static bool in_ranges(const struct ranges *r, u64 value, bool not)
{
	size_t i;

	for (i = 0; i < r->nr; i++)
		if (value >= r->range[i].first && value <= r->range[i].last &&
		    r->range[i].not == not)
			return true;
	return false;
}

/* Return true if a list chooses an event with these two numbers, or is empty */
static bool choose_ranges(const struct ranges *r, u64 a, u64 b)
{
	if (in_ranges(r, a, true) || in_ranges(r, b, true))
		return false;
	return !r->wants || in_ranges(r, a, false) || in_ranges(r, b, false);
}

bool filter_single(const struct ranges *r, u32 *value)
{
	if (r->nr != 1 || r->range->not || r->range->first != r->range->last)
		return false;
	*value = r->range->first;
	return true;
}

/* ---------------------------------------------------------------- times --- */

static void shift(const struct time_value *w, u64 *value)
{
	*value = *value > w->earlier ? *value - w->earlier : 0;
	if (__builtin_add_overflow(*value, w->later, value))
		*value = ~0ULL;
}

static void resolve_time(const struct time_value *w, const struct record *r, bool *known,
			 u64 *value)
{
	u64 newest = r->events ? r->event[r->events - 1].time : 0, wall = w->ns;
	struct tm tm;
	time_t sec;

	switch (w->kind) {
	case WHEN_NONE:
	case WHEN_BOOT:
		return;
	case WHEN_BEFORE_NEWEST:
		*value = newest > w->ns ? newest - w->ns : 0;
		break;
	case WHEN_TRIGGER:
		*value = r->info.trigger_ns;
		break;
	case WHEN_DAY:
		sec = info_to_wall(&r->info, newest) / NSEC_PER_SEC;
		localtime_r(&sec, &tm);
		/* Do not add to midnight: the clock may be changed in between */
		tm.tm_hour = w->ns / NSEC_PER_SEC / 3600;
		tm.tm_min = w->ns / NSEC_PER_SEC / 60 % 60;
		tm.tm_sec = w->ns / NSEC_PER_SEC % 60;
		tm.tm_isdst = -1;
		sec = mktime(&tm);
		wall = (sec < 0 ? 0 : sec) * NSEC_PER_SEC + w->ns % NSEC_PER_SEC;
		__attribute__((fallthrough));
	case WHEN_DATE:
		/* Before boot: use the time of boot */
		*value = (s64)wall > info_boot_time(&r->info) ? wall - info_boot_time(&r->info) : 0;
		break;
	}
	*known = true;
	shift(w, value);
}

/* Parse "TIME", or "TIME,SPAN" */
static const char *parse_around(struct filter *f, const char *value)
{
	char *time = xstrdup(value), *comma = strchr(time, ',');
	const char *must = NULL;
	u64 span = NSEC_PER_SEC;

	if (comma) {
		*comma = '\0';
		must = value_duration(&span, comma + 1);
	}
	if (!must)
		must = value_time(&f->given_since, &f->has_since, &f->since, time);
	free(time);
	if (must)
		return "TIME or TIME,SPAN: a time as --since takes it, then seconds, as 0.5, or "
		       "with a unit, as 200ms";
	f->has_until = f->has_since;
	f->until = f->since;
	f->given_until = f->given_since;
	f->given_since.earlier = span;
	f->given_until.later = span;
	if (f->has_since) {
		shift(&f->given_since, &f->since);
		shift(&f->given_until, &f->until);
	}
	return NULL;
}

/* --------------------------------------------------------------- filters --- */

const char *filter_set(struct filter *f, const char *option, const char *value)
{
	if (!strcmp(option, "pid")) {
		if (!parse_ranges(&f->pid, value, 0, (1U << STACKBUF_TASK_PID_BITS) - 1, false))
			return "numbers from 0 to 4194303, as 1, 1,5-9 or '!0' (the others)";
	} else if (!strcmp(option, "cpu")) {
		if (!parse_ranges(&f->cpu, value, 0, 0xffff, false))
			return "numbers from 0 to 65535, as 1, 0,2-3 or '!0' (the others)";
	} else if (!strcmp(option, "stack")) {
		if (!parse_ranges(&f->stack, value, 1, 0xffffffff, false))
			return "ids of stacks, from 1 to 4294967295, as 1, 1,5-9 or '!1' (others)";
	} else if (!strcmp(option, "tag")) {
		if (!parse_ranges(&f->tag, value, 0, ~0ULL, true))
			return "numbers of up to 64 bits, as 123, 0xff,0x200-0x2ff, 0x200/256 "
			       "(ADDRESS/SIZE) or '!0' (the others)";
	} else if (!strcmp(option, "last")) {
		f->has_last = true;
		return value_count(&f->last, value);
	} else if (!strcmp(option, "since")) {
		return value_time(&f->given_since, &f->has_since, &f->since, value);
	} else if (!strcmp(option, "until")) {
		return value_time(&f->given_until, &f->has_until, &f->until, value);
	} else if (!strcmp(option, "around")) {
		return parse_around(f, value);
	} else if (!strcmp(option, "function")) {
		GROW(f->function, f->functions);
		f->function[f->functions++] = xstrdup(value);
	} else if (!strcmp(option, "comm")) {
		if (!*value || (strlen(value) >= STACKBUF_COMM_LEN && !strpbrk(value, "*?[")))
			return "a command's name of 1 to 15 bytes, or a pattern with *, ? and []";
		GROW(f->comm, f->comms);
		f->comm[f->comms++] = xstrdup(value);
	}
	return NULL;
}

static bool is_wall(const struct time_value *w)
{
	return w->kind == WHEN_DAY || w->kind == WHEN_DATE;
}

bool filter_needs_wall(const struct filter *f)
{
	return is_wall(&f->given_since) || is_wall(&f->given_until);
}

bool filter_needs_record(const struct filter *f)
{
	return f->stack.nr || f->given_since.kind > WHEN_BOOT || f->given_until.kind > WHEN_BOOT;
}

const char *filter_resolve(struct filter *f, const struct record *r)
{
	struct stack *stack;
	size_t i;
	int not;

	if (filter_needs_wall(f) && !r->have_info)
		return "times of day need the page of stackbuf_info, which is missing";
	if ((f->given_since.kind == WHEN_TRIGGER || f->given_until.kind == WHEN_TRIGGER) &&
	    (!r->have_info || !r->info.trigger_ns))
		return "no trigger was hit in this record (parameter trigger)";
	resolve_time(&f->given_since, r, &f->has_since, &f->since);
	resolve_time(&f->given_until, r, &f->has_until, &f->until);
	f->stack.nr -= f->stack.added;
	f->stack.added = 0;
	for (i = 0; f->stack.nr && (stack = stacks_next(&r->stacks, &i)); ) {
		for (not = 0; stack->canonical && not < 2; not++) {
			if (!in_ranges(&f->stack, stack->id, not))
				continue;
			GROW(f->stack.range, f->stack.nr);
			f->stack.range[f->stack.nr++] = (struct range){
				stack->canonical->id, stack->canonical->id, not };
			f->stack.added++;
		}
	}
	return NULL;
}

static int by_id(const void *a, const void *b)
{
	return compare_u64(*(const u32 *)a, *(const u32 *)b);
}

void filter_begins(struct filter *f, u32 *id, size_t nr)
{
	sort(id, nr, sizeof(*id), by_id);
	f->begins = id;
	f->nr_begins = nr;
	f->begins_known = true;
}

static bool match_function(const struct filter *f, u32 id)
{
	return !f->begins_known || bsearch(&id, f->begins, f->nr_begins, sizeof(id), by_id);
}

bool filter_stack(const struct filter *f, u32 id)
{
	return choose_ranges(&f->stack, id, id) && match_function(f, id);
}

bool filter_events(const struct filter *f)
{
	return f->pid.nr || f->cpu.nr || f->tag.nr || f->given_since.kind || f->given_until.kind ||
	       f->has_last || f->comms;
}

/* The locale is C: this compares bytes.  A name that looks like a pattern matches itself */
static bool match_comm(const struct filter *f, const char *comm)
{
	size_t i;

	for (i = 0; i < f->comms; i++)
		if (!strcmp(f->comm[i], comm) || !fnmatch(f->comm[i], comm, 0))
			return true;
	return !f->comms;
}

bool filter_meets(const struct filter *f, enum filter_option option,
		  const struct stackbuf_event *e)
{
	switch (option) {
	case FILTER_PID:
		return choose_ranges(&f->pid, e->pid, e->tgid);
	case FILTER_COMM:
		return match_comm(f, e->comm);
	case FILTER_CPU:
		return choose_ranges(&f->cpu, e->cpu, e->cpu);
	case FILTER_TAG:
		return !f->tag.nr || (e->tagged && choose_ranges(&f->tag, e->tag, e->tag));
	case FILTER_SINCE:
		return !f->has_since || e->time >= f->since;
	case FILTER_UNTIL:
		return !f->has_until || e->time <= f->until;
	case FILTER_STACK:
		return choose_ranges(&f->stack, e->id, e->id);
	case FILTER_FUNCTION:
		return match_function(f, e->id);
	default:
		return true;
	}
}

bool filter_match(const struct filter *f, const struct stackbuf_event *e)
{
	int i;

	for (i = 0; i < FILTER_OPTIONS; i++)
		if (!filter_meets(f, i, e))
			return false;
	return true;
}

bool filter_given(const struct filter *f, enum filter_option option)
{
	const bool given[FILTER_OPTIONS] = {
		[FILTER_PID] = f->pid.nr, [FILTER_COMM] = f->comms, [FILTER_CPU] = f->cpu.nr,
		[FILTER_TAG] = f->tag.nr, [FILTER_SINCE] = f->given_since.kind,
		[FILTER_UNTIL] = f->given_until.kind, [FILTER_STACK] = f->stack.nr,
		[FILTER_FUNCTION] = f->begins_known,
	};

	return given[option];
}

size_t filter_last(const struct filter *f, struct stackbuf_event *event, size_t nr)
{
	if (!f->has_last || nr <= f->last)
		return nr;
	memmove(event, event + nr - f->last, f->last * sizeof(*event));
	return f->last;
}

size_t filter_apply(const struct filter *f, struct stackbuf_event *event, size_t nr)
{
	size_t i, n = 0;

	for (i = 0; i < nr; i++)
		if (filter_match(f, &event[i]))
			event[n++] = event[i];
	return filter_last(f, event, n);
}

bool search_event(struct search *s, const struct stackbuf_event *e)
{
	int i, missed = 0, last = 0;

	if (!s->searched || e->time < s->oldest)
		s->oldest = e->time;
	if (!s->searched || e->time > s->newest)
		s->newest = e->time;
	s->searched++;
	s->tagged += e->tagged;
	for (i = 0; i < FILTER_OPTIONS; i++) {
		if (filter_meets(s->filter, i, e)) {
			s->meet[i]++;
			continue;
		}
		missed++;
		last = i;
	}
	s->match += !missed;
	if (missed == 1)
		s->without[last]++;
	return !missed;
}
