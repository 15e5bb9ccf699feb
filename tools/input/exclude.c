// SPDX-License-Identifier: GPL-2.0
/*
 * exclude.c - keep our own calls out of the record
 */
#include <fcntl.h>
#include "input/exclude.h"

int exclude_self(void)
{
	return open(DEBUGFS "/info", O_RDONLY | O_CLOEXEC);
}
