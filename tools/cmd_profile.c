// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_profile.c - formats that are a file of their own
 */
#include "cmd.h"
#include "output/flame.h"
#include "output/pprof.h"

bool cmd_profile(const struct output *o, const struct args *a, const struct stackbuf_event *event,
		 size_t nr)
{
	char error[512];

	if (o->format == FORMAT_PPROF && pprof_write(o, &a->wanted.filter, event, nr))
		die(1, "cannot write: %m");
	if (o->format == FORMAT_FLAME &&
	    flame_write(o, &a->wanted.filter, event, nr, a->flame, error, sizeof(error)))
		die(1, "%s", error);
	return o->format == FORMAT_PPROF || o->format == FORMAT_FLAME;
}
