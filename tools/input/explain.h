/* SPDX-License-Identifier: GPL-2.0 */
/*
 * explain.h - identifies files that cannot be read here
 */
#ifndef EXPLAIN_H
#define EXPLAIN_H

/* The reason why a file cannot be read, as "is compressed by gzip: ...", or NULL */
const char *explain_file(int fd);

#endif
