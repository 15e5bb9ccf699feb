/* SPDX-License-Identifier: GPL-2.0 */
/*
 * depth.h - the deepest stack seen from each place
 */
#ifndef DEPTH_H
#define DEPTH_H

#include "output/output.h"

/* As text or JSON, the deepest first */
void output_depth(const struct output *o);

#endif
