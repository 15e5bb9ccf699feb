// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_metrics.c - "metrics": counters for Prometheus
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cmd.h"
#include "output/metrics.h"
#include "output/outfile.h"

/* Series of stacks unless --top says otherwise: each costs the server memory */
#define METRICS_TOP	10

void cmd_metrics(struct session *s, struct output *o, struct args *a)
{
	const char *name = a->to ?: "-";
	struct outfile out;
	char *before;

	session_load_steady(s);
	session_report_missing(s);
	session_need_info(s);
	if (!o->top)
		o->top = METRICS_TOP;
	/* Its reader is another user */
	if (outfile_open(&out, name, 0644, true))
		die(1, "%s: cannot be written: %s%s", name, strerror(errno), errno == EACCES ?
		    " (also where another user owns the folder, or a link to it)" : "");
	before = metrics_read(name);
	o->file = out.file;
	metrics_write(o, before);
	if (outfile_close(&out, ferror(out.file)))
		die(1, "%s: cannot be written: %m", name);
	o->file = stdout;
	free(before);
}
