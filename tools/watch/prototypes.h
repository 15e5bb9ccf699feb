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

/* With the name of a tracepoint behind it, a "function" whose first parameter is data */
#define PROTOTYPES_EVENT	"btf_trace_"

/*
 * Set *@parameter to the declarations of a function's parameters, as "struct file *file"; it is
 * valid until the next call.  @module is "" for the kernel itself.  Return how many there are, or
 * -1 if that is not known.
 */
int prototypes_find(struct prototypes *p, const char *module, const char *function,
		    char *const **parameter);

#endif
