/* SPDX-License-Identifier: GPL-2.0 */
/*
 * depth.h - the deepest stack seen from each place
 */
#ifndef DEPTH_H
#define DEPTH_H

#include "output/output.h"

/* Print the deepest first, as text or JSON */
void output_depth(const struct output *o);

#endif
