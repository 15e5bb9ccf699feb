// SPDX-License-Identifier: GPL-2.0
/*
 * keep_out.c - not to be recorded while reading
 */
#include <fcntl.h>
#include "input/keep_out.h"

int keep_out(void)
{
	return open(DEBUGFS "/info", O_RDONLY | O_CLOEXEC);
}
