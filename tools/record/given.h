/* SPDX-License-Identifier: GPL-2.0 */
/*
 * given.h - numbers and times as users write them
 *
 * What returns text returns NULL, or what the value must be.
 */
#ifndef GIVEN_H
#define GIVEN_H

#include "util.h"

/**
 * struct given_time - a time as it was given
 * @kind: what @ns counts from
 * @ns: ns since boot, before the newest event, since midnight (local time), or since 1970
 * @earlier: ns by which the time that is meant is earlier; of --around
 * @later: or later
 */
struct given_time {
	enum { WHEN_NONE, WHEN_BOOT, WHEN_BEFORE_NEWEST, WHEN_TRIGGER, WHEN_DAY, WHEN_DATE } kind;
	u64 ns, earlier, later;
};

/* A number at the beginning of @text, decimal or hexadecimal; *@end is what follows */
bool given_number(const char *text, const char **end, u64 max, u64 *value);

/* A number from 1 */
const char *given_count(const char *value, u64 *n);

/* Seconds, or with a unit, to ns */
const char *given_duration(const char *value, u64 *ns);

/* A point in time; *@value is ns since boot, and *@known set, if it does not depend on a record */
const char *given_time(struct given_time *w, bool *known, u64 *value, const char *text);

#endif
