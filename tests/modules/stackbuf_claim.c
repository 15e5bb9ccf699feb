// SPDX-License-Identifier: GPL-2.0
/*
 * stackbuf_claim.c - claims memory, as a driver does that keeps something there
 *
 * "start" is its address, "size" its size, both multiples of the page size.  With "wipe" it claims
 * nothing: it overwrites the memory, and loading fails.
 */
#include <linux/io.h>
#include <linux/ioport.h>
#include <linux/module.h>

static unsigned long start, size;
module_param(start, ulong, 0);
module_param(size, ulong, 0);
static bool wipe;
module_param(wipe, bool, 0);

static int __init stackbuf_claim_init(void)
{
	void *at = wipe ? memremap(start, size, MEMREMAP_WC) : NULL;

	if (at) {
		memset(at, 0x5a, size);
		memunmap(at);
		return -EAGAIN;
	}
	return request_mem_region(start, size, "a driver") ? 0 : -EBUSY;
}
module_init(stackbuf_claim_init);

static void __exit stackbuf_claim_exit(void)
{
	release_mem_region(start, size);
}
module_exit(stackbuf_claim_exit);

MODULE_DESCRIPTION("stackbuf: a driver that claims memory");
MODULE_LICENSE("GPL");
