/* SPDX-License-Identifier: GPL-2.0 */
/*
 * prototypes.h - the parameters of the running kernel's functions, where it has BTF
 */
#ifndef PROTOTYPES_H
#define PROTOTYPES_H

#include <stddef.h>

struct prototypes;

/* To be closed; each file of BTF is read when a function of it is looked up */
struct prototypes *prototypes_open(void);
void prototypes_close(struct prototypes *p);

/*
 * Set *@parameter to the declarations of what a function or an event is called with, as
 * "struct file *file"; it is valid until the next call.  @name is as in struct matches.  Return how
 * many there are, or -1 if that is not known.
 */
int prototypes_find(struct prototypes *p, const char *name, char *const **parameter);

#endif
