// SPDX-License-Identifier: GPL-2.0
/*
 * filter.c - which events to show
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include "filter.h"
#include "same.h"

static bool number(const char *text, u64 max, u64 *value)
{
	char *end;

	/* strtoull() takes blanks and signs as well */
	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	/* A 0 in front does not make it octal */
	*value = strtoull(text, &end, !strncmp(text, "0x", 2) ? 16 : 10);
	return !errno && !*end && *value <= max;
}

/* Seconds, with up to nine decimals, to ns */
static bool seconds(const char *text, u64 *ns)
{
	unsigned int digits = 0;
	u64 value = 0;

	if (*text < '0' || *text > '9')
		return false;
	for (; *text >= '0' && *text <= '9'; text++) {
		value = 10 * value + *text - '0';
		if (value > 10000000000ULL)
			return false;
	}
	if (*text == '.') {
		for (text++; *text >= '0' && *text <= '9' && digits < 9; text++, digits++)
			value = 10 * value + *text - '0';
		if (!digits)
			return false;
	}
	while (digits++ < 9)
		value *= 10;
	*ns = value;
	return !*text;
}

const char *filter_number(const char *value, u64 *n)
{
	return number(value, ~0ULL, n) && *n ? NULL : "a number of events, at least 1";
}

const char *filter_seconds(const char *value, u64 *ns)
{
	return seconds(value, ns) && *ns ? NULL : "seconds, as 5 or 0.5, more than 0";
}

const char *filter_set(struct filter *f, const char *option, const char *value)
{
	u64 n;

	if (!strcmp(option, "pid")) {
		f->has_pid = true;
		if (!number(value, (1U << STACKBUF_TASK_PID_BITS) - 1, &n))
			return "a number from 0 to 4194303";
		f->pid = n;
	} else if (!strcmp(option, "cpu")) {
		f->has_cpu = true;
		if (!number(value, 0xffff, &n))
			return "a number from 0 to 65535";
		f->cpu = n;
	} else if (!strcmp(option, "stack")) {
		f->has_stack = true;
		if (!number(value, 0xffffffff, &n) || !n)
			return "the id of a stack, from 1 to 4294967295";
		f->stack = n;
	} else if (!strcmp(option, "tag")) {
		f->has_tag = true;
		if (!number(value, ~0ULL, &f->tag))
			return "a number of up to 64 bits, as 123 or 0xff";
	} else if (!strcmp(option, "last")) {
		f->has_last = true;
		return filter_number(value, &f->last);
	} else if (!strcmp(option, "since")) {
		f->has_since = true;
		if (!seconds(value, &f->since))
			return "seconds since boot, as 618 or 618.059960";
	} else if (!strcmp(option, "until")) {
		f->has_until = true;
		if (!seconds(value, &f->until))
			return "seconds since boot, as 618 or 618.059960";
	} else if (!strcmp(option, "comm")) {
		f->comm = value;
		if (!*value || (strlen(value) >= STACKBUF_COMM_LEN && !strpbrk(value, "*?[")))
			return "a command's name of 1 to 15 bytes, or a pattern with *, ? and []";
	}
	return NULL;
}

void filter_resolve(struct filter *f, const struct record *r)
{
	struct stack *stack = f->has_stack ? stacks_find(&r->stacks, f->stack) : NULL;

	f->first = stack ? same_first(stack)->id : 0;
}

bool filter_stack(const struct filter *f, u32 id)
{
	return !f->has_stack || id == f->stack || (f->first && id == f->first);
}

bool filter_events(const struct filter *f)
{
	return f->has_pid || f->has_cpu || f->has_tag || f->has_since || f->has_until ||
	       f->has_last || f->comm;
}

bool filter_match(const struct filter *f, const struct event *e)
{
	if (f->has_pid && e->pid != f->pid && e->tgid != f->pid)
		return false;
	if (f->has_cpu && e->cpu != f->cpu)
		return false;
	if (!filter_stack(f, e->stack))
		return false;
	if (f->has_tag && (!e->tagged || e->tag != f->tag))
		return false;
	if (f->has_since && e->time < f->since)
		return false;
	if (f->has_until && e->time > f->until)
		return false;
	/* Byte by byte: the locale is C.  A name may look like a pattern */
	return !f->comm || !strcmp(f->comm, e->comm) || !fnmatch(f->comm, e->comm, 0);
}

size_t filter_last(const struct filter *f, struct event *event, size_t nr)
{
	if (!f->has_last || nr <= f->last)
		return nr;
	memmove(event, event + nr - f->last, f->last * sizeof(*event));
	return f->last;
}

size_t filter_apply(const struct filter *f, struct event *event, size_t nr)
{
	size_t i, n = 0;

	for (i = 0; i < nr; i++)
		if (filter_match(f, &event[i]))
			event[n++] = event[i];
	return filter_last(f, event, n);
}
