// SPDX-License-Identifier: GPL-2.0
/*
 * source.c - operations of all sources of pages
 */
#include <stdlib.h>
#include <string.h>
#include "input/source.h"

bool source_kernel_offset(const struct source *s, u64 *offset)
{
	return s->ops && s->ops->kernel_offset(s, offset);
}

void source_find_kallsyms(struct source *s, const struct stackbuf_info *info)
{
	if (!s->kallsyms && s->ops && s->ops->find_kallsyms)
		s->ops->find_kallsyms(s, info);
}

void source_close(struct source *s)
{
	if (s->ops)
		s->ops->close(s);
	free(s->name);
	free(s->kallsyms);
	memset(s, 0, sizeof(*s));
}
