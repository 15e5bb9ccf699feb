// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_show.c - "info", "text" and "depth": one part of the record
 */
#include "cmd.h"
#include "output/depth.h"
#include "output/info.h"
#include "output/text.h"

void cmd_info(struct session *s, struct output *o, struct args *a)
{
	(void)a;
	session_need_info(s);
	output_info(o, s->source.name, &s->set, s->instance, s->instances);
}

void cmd_text(struct session *s, struct output *o, struct args *a)
{
	session_report_source(s);
	report_count(s->set.changed_text,
		     "page of text was overwritten while it was read and is left out",
		     "pages of text were overwritten while they were read and are left out");
	report_count(s->record.half_texts, "record was half written and is left out",
		     "records were half written and are left out");
	output_text(o, &a->wanted.filter);
}

void cmd_depth(struct session *s, struct output *o, struct args *a)
{
	(void)a;
	session_need_info(s);
	output_depth(o);
}
