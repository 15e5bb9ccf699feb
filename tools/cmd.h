/* SPDX-License-Identifier: GPL-2.0 */
/*
 * cmd.h - the commands
 */
#ifndef CMD_H
#define CMD_H

#include "live/watch.h"
#include "session.h"

/* All of these end the program with one line if something goes wrong */
void cmd_info(struct session *s, struct output *o, struct args *a);
void cmd_text(struct session *s, struct output *o, struct args *a);
void cmd_log(struct session *s, struct output *o, struct args *a);
void cmd_count(struct session *s, struct output *o, struct args *a);
void cmd_depth(struct session *s, struct output *o, struct args *a);
void cmd_report(struct session *s, struct output *o, struct args *a);
void cmd_life(struct session *s, struct output *o, struct args *a);
void cmd_save(struct session *s, struct output *o, struct args *a);
void cmd_metrics(struct session *s, struct output *o, struct args *a);

/* Two sources; @format has no record yet */
void cmd_diff(const struct args *a, const struct output *format);

/* Text in, text out: no source is read */
void cmd_decode(const struct args *a);

/* "count --list": the running kernel's functions; no source is read */
void cmd_list(const struct args *a, struct output *o);

/* "snoop" and "count PATTERN": first what is known before the source is open, then the rest */
void cmd_watch_prepare(struct watch *w, const struct args *a);
void cmd_watch(struct session *s, struct output *o, struct watch *w);

/*
 * Write formats that are a file of their own: of @event, or with NULL of all totals.  Return
 * false if the format is another one.
 */
bool cmd_profile(const struct output *o, const struct args *a, const struct stackbuf_event *event,
		 size_t nr);

#endif
