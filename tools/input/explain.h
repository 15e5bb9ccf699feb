/* SPDX-License-Identifier: GPL-2.0 */
/*
 * explain.h - what a file is that cannot be read here
 */
#ifndef EXPLAIN_H
#define EXPLAIN_H

/* Why a file is nothing that is read here, as "is compressed by gzip: ...", or NULL */
const char *explain_file(int fd);

#endif
