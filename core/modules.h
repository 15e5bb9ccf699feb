/* SPDX-License-Identifier: GPL-2.0 */
/*
 * modules.h - the modules that are loaded
 */
#ifndef STACKBUF_MODULES_H
#define STACKBUF_MODULES_H

#include <linux/init.h>
#include <linux/module.h>

int __init sbuf_modules_init(void);
void sbuf_modules_exit(void);

/* Copy a module's build id, of STACKBUF_BUILD_ID_LEN bytes; or leave @id as it is */
void sbuf_modules_build_id(const struct module *module, u8 *id);

/*
 * The entry after @module in the kernel's list of modules, which is read under RCU, as the kernel
 * itself does; @module NULL: the first one, which is ours if we are a module.  NULL: no more.
 */
const struct module *sbuf_modules_next(const struct module *module);
/* Is it a module, and not the list's head?  Not an unformed one */
bool sbuf_modules_is_one(const struct module *module);

/* Are we this one? */
static inline bool sbuf_modules_is_ours(const struct module *module)
{
	return module && module == THIS_MODULE;
}

/*
 * Is this code of ours?  Built into the kernel, that of functions with our prefixes: of the others
 * most are inlined.  Process context.
 */
bool sbuf_modules_is_our_code(unsigned long addr);

#endif /* STACKBUF_MODULES_H */
