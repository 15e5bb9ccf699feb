// SPDX-License-Identifier: GPL-2.0
/*
 * open.c - choose the kind of source: four files, live or copied (arrays.c); the running kernel's
 * memory (kcore.c); dumps and snapshots, with pages anywhere (dumps.c)
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "input/arrays.h"
#include "input/core_file.h"
#include "input/dumps.h"
#include "input/exclude.h"
#include "input/kcore.h"
#include "input/open.h"

#define MODULE		"/sys/module/stackbuf"

/*
 * In older kernels, such as Red Hat's 5.14, lockdown for integrity also closes debugfs, except
 * files that everyone may read.  The kernel's memory can still be read.
 */
static bool only_core_is_open(void)
{
	int file = open(DEBUGFS "/info", O_RDONLY | O_CLOEXEC), core = -1;

	if (file < 0 && errno == EPERM && !geteuid())
		core = open(CORE, O_RDONLY | O_CLOEXEC);
	if (file >= 0)
		close(file);
	if (core >= 0)
		close(core);
	return core >= 0;
}

int source_open(struct source *s, char *const *name, unsigned int names)
{
	const char *only = names == 1 ? name[0] : NULL;
	struct stat st;

	memset(s, 0, sizeof(*s));
	if (!names && !access(DEBUGFS, X_OK) && !only_core_is_open())
		only = DEBUGFS;
	if (!names && !only && geteuid())
		return failed(s, "only root may read the running kernel's memory: run it as root, or name a source with -f");
	if (!names && !only)
		only = CORE;
	if (only && !strcmp(only, CORE))
		return kcore_open(s, CORE, KALLSYMS, MODULE);
	if (names > 1)
		s->name = xasprintf("%s and %u more", name[0], names - 1);
	if (only)
		s->name = xstrdup(only);
	if (only && !stat(only, &st) && S_ISDIR(st.st_mode))
		return arrays_open(s, only);
	return dumps_open(s, name, names);
}
