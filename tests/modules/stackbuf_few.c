// SPDX-License-Identifier: GPL-2.0
/* stackbuf_few - stackbuf_many with a single added symbol */
#define MANY_SYMBOLS	1
#include "stackbuf_many.c"
