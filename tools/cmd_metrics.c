// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_metrics.c - "metrics": counters for Prometheus
 */
#include <stdlib.h>
#include "cmd.h"
#include "output/metrics.h"
#include "output/outfile.h"

/* Series of stacks unless --top says otherwise: each costs the server memory */
#define METRICS_TOP	10

void cmd_metrics(struct session *s, struct output *o, struct args *a)
{
	const char *name = a->to ?: "-";
	char *before = metrics_read(name);
	struct outfile out;

	session_load_steady(s);
	session_report_missing(s);
	session_need_info(s);
	if (!o->top)
		o->top = METRICS_TOP;
	/* Its reader is another user */
	if (outfile_open(&out, name, 0644))
		die(1, "%s: cannot be written: %m", name);
	o->file = out.file;
	metrics_write(o, before);
	if (outfile_close(&out, ferror(out.file)))
		die(1, "%s: cannot be written: %m", name);
	o->file = stdout;
	free(before);
}
