/* SPDX-License-Identifier: GPL-2.0 */
/*
 * learn.h - which kernel a log is of
 */
#ifndef LEARN_H
#define LEARN_H

#include "symbol/srcline.h"

/* Take from a line, if it says so, which kernel the lines that follow are of */
void learn_kernel(struct srcline *l, const char *line, size_t len);

#endif
