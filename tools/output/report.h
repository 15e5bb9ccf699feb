/* SPDX-License-Identifier: GPL-2.0 */
/*
 * report.h - one page to pass on: what was recorded and lost, flame graph, events over time, stacks
 */
#ifndef REPORT_H
#define REPORT_H

#include "output/output.h"

/* More events are too much for a browser: the newest are in the page */
#define REPORT_EVENTS_MAX	1000000

/**
 * report_write() - write a report, one HTML file that refers to no other
 * @o: the record, and whether source lines are wanted
 * @info: what "info --json" prints
 * @event: the events chosen, in order of time
 * @nr: how many
 * @name: the file, as outfile_open() takes it
 * @error: is set if it cannot be written
 * @size: bytes of @error
 *
 * Return: 0, or -1 with @error set.
 */
int report_write(const struct output *o, const char *info, const struct stackbuf_event *event,
		 size_t nr, const char *name, char *error, size_t size);

#endif
