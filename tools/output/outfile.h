/* SPDX-License-Identifier: GPL-2.0 */
/*
 * outfile.h - a file that appears under its name when it is complete
 */
#ifndef OUTFILE_H
#define OUTFILE_H

#include <stdio.h>
#include <sys/types.h>

/**
 * struct outfile - a file that is being written
 * @file: where to write
 * @unfinished: the name it has until it is complete; NULL: written directly
 * @target: the name it gets
 */
struct outfile {
	FILE *file;
	char *unfinished;
	char *target;
};

/*
 * Begin to write @name, with @mode if it becomes a file.  "-" is standard output.
 * Symbolic links are followed.  What is there and no regular file (a device, a FIFO,
 * a pipe under /dev/fd) is written directly; a regular file is replaced by
 * outfile_close(), and is as before until then, also if a signal ends the program.
 * Return 0, or -1 with errno set.
 */
int outfile_open(struct outfile *out, const char *name, mode_t mode);

/*
 * Put the file into its place; @failed: do not, as what was written is not complete.
 * Return 0, or -1 with errno set if that was not possible, or @failed.
 */
int outfile_close(struct outfile *out, int failed);

#endif
