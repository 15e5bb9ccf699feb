/* SPDX-License-Identifier: GPL-2.0 */
/*
 * merge.h - write records of many machines into one file; input/merged.h reads it
 */
#ifndef MERGE_H
#define MERGE_H

#include "input/merged.h"
#include "output/output.h"

/* Write one record as a merged file; @info: what "info --json" says, with the key "host" */
void merge_record(FILE *f, const struct output *o, const json_t *info);

/**
 * struct merge - a merged file that is being written; zeroed but for @file
 * @file: where to write
 * @frame: tree of the frames that were written
 * @frames: how many
 * @stack: tree of the stacks that were written
 * @stacks: how many
 * @load: tree of the loads of the module whose records are there
 * @hosts: how many records
 */
struct merge {
	FILE *file;
	void *frame, *stack, *load;
	u32 frames, stacks;
	u64 hosts;
};

void merge_begin(struct merge *w);

/*
 * Add the hosts of a file; of a load of the module that is there already, standard error names the
 * record.  Return how many hosts were left out.
 */
unsigned int merge_add(struct merge *w, const struct merged *m);

/* Write the last block, and free the trees.  What cannot be written, @w->file knows */
void merge_end(struct merge *w);

#endif
