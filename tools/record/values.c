// SPDX-License-Identifier: GPL-2.0
/*
 * values.c - numbers and times as users write them
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "record/filter.h"

bool value_number(const char *text, const char **end, u64 max, u64 *value)
{
	char *stop;

	/* strtoull() accepts blanks and signs */
	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	/* A leading 0 does not make a number octal */
	*value = strtoull(text, &stop, !strncmp(text, "0x", 2) ? 16 : 10);
	*end = stop;
	return !errno && *value <= max;
}

/* Parse an optional fraction like ".059960", up to nine digits */
static bool parse_fraction(const char **text, u64 *ns)
{
	const char *p = *text;
	u64 unit = NSEC_PER_SEC;

	*ns = 0;
	if (*p != '.')
		return true;
	for (p++; *p >= '0' && *p <= '9' && unit > 1; p++) {
		unit /= 10;
		*ns += unit * (*p - '0');
	}
	*text = p;
	return unit < NSEC_PER_SEC;
}

/* Parse seconds with up to nine decimals, to ns; set *@end to the end of it */
static bool parse_seconds(const char *text, const char **end, u64 *ns)
{
	u64 value = 0, part;

	if (*text < '0' || *text > '9')
		return false;
	for (; *text >= '0' && *text <= '9'; text++) {
		value = 10 * value + *text - '0';
		if (value > 10000000000ULL)
			return false;
	}
	if (!parse_fraction(&text, &part))
		return false;
	*ns = value * NSEC_PER_SEC + part;
	*end = text;
	return true;
}

/* Parse exactly @count digits */
static bool parse_digits(const char **text, unsigned int count, int min, int max, int *value)
{
	for (*value = 0; count; count--, ++*text) {
		if (**text < '0' || **text > '9')
			return false;
		*value = 10 * *value + **text - '0';
	}
	return *value >= min && *value <= max;
}

/* Parse "14:03", "14:03:05", "14:03:05.059960" */
static bool parse_time_of_day(const char **text, struct tm *tm, u64 *ns)
{
	*ns = 0;
	if (!parse_digits(text, 2, 0, 23, &tm->tm_hour) || *(*text)++ != ':' ||
	    !parse_digits(text, 2, 0, 59, &tm->tm_min))
		return false;
	if (**text != ':')
		return true;
	++*text;
	return parse_digits(text, 2, 0, 60, &tm->tm_sec) && parse_fraction(text, ns);
}

/* Parse "Z", "+01:00", "-0530" to seconds east of UTC */
static bool parse_zone(const char **text, long *east)
{
	int hours, minutes, sign = **text == '-' ? -1 : 1;

	*east = 0;
	if (*(*text)++ == 'Z')
		return true;
	if (!parse_digits(text, 2, 0, 23, &hours))
		return false;
	*text += **text == ':';
	if (!parse_digits(text, 2, 0, 59, &minutes))
		return false;
	*east = sign * (3600L * hours + 60 * minutes);
	return true;
}

/* Parse "2026-11-22", "2026-11-22 14:03", "2026-11-22T14:03:05.059960+01:00" */
static bool parse_date(const char *text, u64 *ns)
{
	struct tm tm = { .tm_isdst = -1 }, day;
	u64 part = 0;
	time_t sec;
	long east;

	if (!parse_digits(&text, 4, 1970, 9999, &tm.tm_year) || *text++ != '-' ||
	    !parse_digits(&text, 2, 1, 12, &tm.tm_mon) || *text++ != '-' ||
	    !parse_digits(&text, 2, 1, 31, &tm.tm_mday))
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	day = tm;
	if ((*text == ' ' || *text == 'T') && (text++, !parse_time_of_day(&text, &tm, &part)))
		return false;
	/* timegm() turns February 30 into a date in March */
	timegm(&day);
	if (day.tm_mday != tm.tm_mday)
		return false;
	if (*text) {
		if (!strchr("Z+-", *text) || !parse_zone(&text, &east))
			return false;
		sec = timegm(&tm) - east;
	} else {
		sec = mktime(&tm);
	}
	if (*text || sec < 0)
		return false;
	/* From 2262 on: later than all events */
	*ns = sec < LLONG_MAX / (s64)NSEC_PER_SEC ? sec * NSEC_PER_SEC + part : LLONG_MAX;
	return true;
}

/* Parse "10s", "1.5h", "500ms" to ns */
static bool parse_duration(const char *text, u64 *ns)
{
	static const struct {
		const char *name;
		u64 length, divisor;
	} unit[] = {
		{ "us", 1, 1000000 }, { "ms", 1, 1000 }, { "s", 1, 1 }, { "m", 60, 1 },
		{ "h", 3600, 1 }, { "d", 86400, 1 },
	};
	size_t i;

	if (!parse_seconds(text, &text, ns))
		return false;
	for (i = 0; i < ARRAY_SIZE(unit); i++)
		if (!strcmp(text, unit[i].name)) {
			*ns /= unit[i].divisor;
			return !__builtin_mul_overflow(*ns, unit[i].length, ns);
		}
	return false;
}

const char *value_time(struct time_value *w, bool *known, u64 *value, const char *text)
{
	const char *p = text;
	struct tm tm = { 0 };
	u64 part;

	*w = (struct time_value){ .kind = WHEN_BOOT };
	if (parse_seconds(text, &p, &w->ns) && !*p) {
		*known = true;
		*value = w->ns;
		return NULL;
	}
	w->kind = WHEN_TRIGGER;
	if (!strcmp(text, "trigger"))
		return NULL;
	w->kind = WHEN_BEFORE_NEWEST;
	if (*text == '-' && parse_duration(text + 1, &w->ns))
		return NULL;
	w->kind = WHEN_DATE;
	if (parse_date(text, &w->ns))
		return NULL;
	w->kind = WHEN_DAY;
	p = text;
	if (parse_time_of_day(&p, &tm, &part) && !*p) {
		w->ns = (tm.tm_hour * 3600ULL + tm.tm_min * 60 + tm.tm_sec) * NSEC_PER_SEC + part;
		return NULL;
	}
	return "seconds since boot, as 618.059960, a time before the newest event, as -10s, "
	       "or a time of day, as 14:03:05 or '2026-11-22 14:03', or trigger";
}

const char *value_count(void *n, const char *value)
{
	return value_number(value, &value, ~0ULL, n) && !*value && *(u64 *)n ? NULL :
		"a number of events, at least 1";
}

const char *value_duration(void *field, const char *value)
{
	const char *end;
	u64 *ns = field;

	if (!(parse_seconds(value, &end, ns) && !*end) && !parse_duration(value, ns))
		*ns = 0;
	return *ns ? NULL : "seconds, as 5 or 0.5, or with a unit, as 500us, 2m or 1h, more than 0";
}
