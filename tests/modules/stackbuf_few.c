// SPDX-License-Identifier: GPL-2.0
/* stackbuf_few - stackbuf_many with few symbols */
#define MANY_SYMBOLS	1
#include "stackbuf_many.c"
