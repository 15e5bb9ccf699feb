// SPDX-License-Identifier: GPL-2.0
/*
 * library.c - libraries that few commands need, opened when a command calls them
 */
#include <dlfcn.h>
#include "library.h"

bool library_there(const char *library)
{
	return dlopen(library, RTLD_NOW | RTLD_GLOBAL);
}

void *library_find(const char *library, const char *name)
{
	void *opened = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
	/* LD_PRELOAD precedes it, as for linked libraries */
	void *function = opened ? dlsym(RTLD_DEFAULT, name) : NULL;

	if (!function)
		die(1, "%s: install the package that has this library", dlerror());
	return function;
}
