/* SPDX-License-Identifier: GPL-2.0 */
/*
 * modules.h - the modules that are loaded
 */
#ifndef STACKBUF_MODULES_H
#define STACKBUF_MODULES_H

#include <linux/init.h>
#include <linux/module.h>

void __init sbuf_modules_init(void);
void sbuf_modules_exit(void);

/* Copy a module's build id, of STACKBUF_BUILD_ID_LEN bytes; leave @id unchanged if unknown */
void sbuf_modules_build_id(const struct module *module, u8 *id);

/*
 * Return the entry after @module in the kernel's list of modules, or NULL at its end.  If @module
 * is NULL, return the first one, which is ours if we are a module.  Call under RCU, as the kernel
 * reads its list.
 */
const struct module *sbuf_modules_next(const struct module *module);
/* Return true if it is a module, and neither unformed nor the list's head */
bool sbuf_modules_is_one(const struct module *module);

/* Return true if @module is stackbuf */
static inline bool sbuf_modules_is_ours(const struct module *module)
{
	return module && module == THIS_MODULE;
}

/*
 * Return true if @addr is in our code.  If built in, that means functions with our prefixes; most
 * of the others are inlined.  Process context.
 */
bool sbuf_modules_is_our_code(unsigned long addr);

#endif /* STACKBUF_MODULES_H */
