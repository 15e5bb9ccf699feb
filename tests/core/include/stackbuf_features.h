/* SPDX-License-Identifier: GPL-2.0 */
/*
 * stackbuf_features.h - what core/features.sh says of a 6.12, as far as these files ask
 */
#ifndef STACKBUF_FEATURES_H
#define STACKBUF_FEATURES_H

#define SBUF_HAS_CACHE_ALLOC_SIZE	0
#define SBUF_HAS_CACHE_FREE_CACHE	1
#define SBUF_HAS_DFL_WQ			0
#define SBUF_HAS_HEX_H			1
#define SBUF_HAS_HK_TYPE		1
#define SBUF_HAS_KMALLOC_NODE		0
#define SBUF_HAS_LARGE_TWICE		1
#define SBUF_HAS_MODULE_MEMORY		1
#define SBUF_HAS_OBJPOOL		1
#define SBUF_HAS_RESERVE_MEM		1
#define SBUF_HAS_SAVE_TASK		1
#define SBUF_HAS_SHEAVES		0
#define SBUF_HAS_SYSCALL_TRACEPOINTS	0

#define SBUF_EVENT_ARGUMENTS \
	{ "kmalloc", "call_site ptr bytes_req bytes_alloc gfp_flags node" }, \
	{ "kfree", "call_site ptr" },

#endif /* STACKBUF_FEATURES_H */
