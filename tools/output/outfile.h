/* SPDX-License-Identifier: GPL-2.0 */
/*
 * outfile.h - a file that appears under its name when it is complete
 */
#ifndef OUTFILE_H
#define OUTFILE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/**
 * struct outfile - a file that is being written
 * @file: where to write
 * @unfinished: its name until it is complete; NULL if it is written directly
 * @target: its name when it is complete
 */
struct outfile {
	FILE *file;
	char *unfinished;
	char *target;
};

/*
 * Begin to write @name; a new file gets @mode.  "-" is standard output.  Symbolic links are
 * followed.  What exists and is not a regular file (a device, a FIFO, a pipe under /dev/fd) is
 * written directly.  A regular file is unchanged until outfile_close() replaces it, even if a
 * signal ends the program.
 *
 * @own is for what a timer writes as root: fail with EACCES if the folder, or a link that leads
 * there, belongs to a user who is neither this one nor root.
 *
 * Return 0, or -1 with errno set.
 */
int outfile_open(struct outfile *out, const char *name, mode_t mode, bool own);

/*
 * Put the file into its place, or remove it if @failed.  Return 0, or -1 with errno set if that
 * was not possible, or if @failed.
 */
int outfile_close(struct outfile *out, int failed);

/* Write a file as a whole, or end the program; a new one gets what umask() leaves of @mode */
void outfile_write(const char *name, mode_t mode, const char *text, size_t len);

#endif
