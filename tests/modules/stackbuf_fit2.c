// SPDX-License-Identifier: GPL-2.0
/*
 * stackbuf_fit2 - stackbuf_fit with a larger frame in fit_replaced()
 */
#define FIT_WORDS	12
#include "stackbuf_fit.c"
