/* SPDX-License-Identifier: GPL-2.0 */
/*
 * follow.h - print events as they are recorded
 */
#ifndef FOLLOW_H
#define FOLLOW_H

#include "output.h"
#include "source.h"

/*
 * Print what is recorded from now on, and before it what is in the ring if the
 * filter wants --last or --since, until SIGINT, SIGTERM or --until.  Return 0,
 * or -1 with s->error set.
 */
int follow(struct source *s, struct output *o, const struct filter *f);

#endif
