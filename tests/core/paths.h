/* SPDX-License-Identifier: GPL-2.0 */
/*
 * paths.h - made-up stacks: which frames a path has, and what a tag says of its event
 */
#ifndef PATHS_H
#define PATHS_H

#include <stdint.h>

#define PATH_KEPT		64	/* frames that this build of core keeps of a trace */
#define PATH_FRAMES_MAX		66	/* two more than PATH_KEPT */

#define PATH_FUNCTIONS		1024
#define PATH_BASE		0xffffffff81100000UL	/* stack_trace_save(), in shim.h */
#define PATH_TEXT		(PATH_BASE - 512 * 64)	/* half of them below it, as in life */
#define PATH_FUNCTION_SIZE	64
#define PATH_FAR		1000	/* functions from here on are too far for 32 bits */
#define PATH_FAR_TEXT		0xffff888000000000UL
#define PATH_ENTRY		0	/* the function that all stacks end in */

/* A tag: path, CPU, context, number of the event in its context */
#define TAG(path, cpu, context, number)	\
	((uint64_t)(path) << 44 | (uint64_t)(cpu) << 40 | (uint64_t)(context) << 36 | (number))
#define TAG_PATH(tag)		((uint32_t)((tag) >> 44))
#define TAG_CPU(tag)		((unsigned int)((tag) >> 40 & 15))
#define TAG_CONTEXT(tag)	((unsigned int)((tag) >> 36 & 15))
#define TAG_NUMBER(tag)		((tag) & ((1UL << 36) - 1))

static inline uint64_t path_mix(uint64_t x)
{
	x = (x ^ x >> 31) * 0x9e3779b97f4a7c15UL;
	x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9UL;
	return x ^ x >> 32;
}

static inline unsigned long path_start(unsigned int function)
{
	return (function < PATH_FAR ? PATH_TEXT : PATH_FAR_TEXT) + function * PATH_FUNCTION_SIZE;
}

/* The return address in a function; any, so that frames may look like ids */
static inline unsigned long path_address(unsigned int function)
{
	return path_start(function) + 1 + path_mix(function) % (PATH_FUNCTION_SIZE - 1);
}

/* The function at an address */
static inline unsigned int path_function(unsigned long pc)
{
	return (pc - (pc >= PATH_TEXT ? PATH_TEXT : PATH_FAR_TEXT)) / PATH_FUNCTION_SIZE;
}

/* The frames of a path, the innermost first; return how many */
static inline unsigned int path_frames(uint32_t path, unsigned long *pc)
{
	unsigned int nr = 4 + path_mix(path) % 20, i;

	/* Around the limit */
	if (path % 64 < 4)
		nr = 63 + path % 64;
	/* Few places, as in life */
	pc[0] = path_address(1 + path % 16);
	for (i = 1; i < nr - 1; i++)
		pc[i] = path_address(17 + path_mix((uint64_t)path << 8 | i) %
				     ((path % 32 == 9 ? PATH_FUNCTIONS : PATH_FAR) - 17));
	pc[i] = path_address(PATH_ENTRY);
	return nr;
}

#endif /* PATHS_H */
