/* SPDX-License-Identifier: GPL-2.0 */
/*
 * cmd.h - the commands
 */
#ifndef CMD_H
#define CMD_H

#include "args.h"

/* All of these end the program with one line if something goes wrong */

/* Print what is in a record that was read */
void cmd_info(struct session *s, struct output *o, struct args *a);
void cmd_text(struct session *s, struct output *o, struct args *a);
void cmd_log(struct session *s, struct output *o, struct args *a);
void cmd_count(struct session *s, struct output *o, struct args *a);
void cmd_depth(struct session *s, struct output *o, struct args *a);
void cmd_report(struct session *s, struct output *o, struct args *a);
void cmd_life(struct session *s, struct output *o, struct args *a);
void cmd_metrics(struct session *s, struct output *o, struct args *a);

/* These read two records, or none, or while events are recorded */
void cmd_diff(struct args *a);
void cmd_decode(struct args *a);
void cmd_list(struct args *a);
void cmd_watch(struct args *a);
void cmd_pairs(struct args *a);
void cmd_save(struct args *a);

/* Read the source, only what is known before any event if @live; prepare what the output needs */
void cmd_begin(struct session *s, struct args *a, bool live);
void cmd_end(struct session *s, struct args *a);

/*
 * Write formats that are a file of their own: of @event, or with NULL of all totals.  Return
 * false if the format is another one.
 */
bool cmd_profile(const struct output *o, const struct args *a, const struct stackbuf_event *event,
		 size_t nr);

#endif
