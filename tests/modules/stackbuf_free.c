// SPDX-License-Identifier: GPL-2.0
/*
 * stackbuf_free.ko - frees one object by each of the kernel's ways, for the recipes
 *
 * Loading it logs where each object was, and which way freed it.  The function that
 * frees has the name of the way, so a stack identifies it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mm.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

/* Before 6.3 the macro has another name */
#ifndef kfree_rcu_mightsleep
#define kfree_rcu_mightsleep(object) kvfree_rcu(object)
#endif

struct object {
	char bytes[184];
	struct rcu_head rcu;
};

static struct kmem_cache *cache;

static void *get_kmalloc(size_t size)
{
	return kzalloc(size, GFP_KERNEL);
}

static void *get_cache(size_t size)
{
	return kmem_cache_zalloc(cache, GFP_KERNEL);
}

static void *get_vmalloc(size_t size)
{
	return vzalloc(size);
}

static void *get_one_page(size_t size)
{
	return (void *)get_zeroed_page(GFP_KERNEL);
}

/* barrier() keeps a function on the stack: the call before it is no tail call */
#define FREE_BY(way, call)					\
	static noinline void free_by_##way(void *object)	\
	{							\
		call;						\
		barrier();					\
	}
FREE_BY(kfree, kfree(object))
FREE_BY(kfree_sensitive, kfree_sensitive(object))
FREE_BY(kmem_cache_free, kmem_cache_free(cache, object))
FREE_BY(kmem_cache_free_bulk, kmem_cache_free_bulk(cache, 1, &object))
FREE_BY(kfree_rcu, kfree_rcu((struct object *)object, rcu))
FREE_BY(kfree_rcu_mightsleep, kfree_rcu_mightsleep((struct object *)object))
FREE_BY(vfree, vfree(object))
FREE_BY(kvfree, kvfree(object))
FREE_BY(free_pages, free_pages((unsigned long)object, 0))

static noinline void free_by_callback(struct rcu_head *rcu)
{
	kfree(container_of(rcu, struct object, rcu));
	barrier();
}

static noinline void free_by_call_rcu(void *object)
{
	call_rcu(&((struct object *)object)->rcu, free_by_callback);
	/* Until the callback, which is in this module, has run */
	rcu_barrier();
}

static const struct {
	const char *name;
	void *(*get)(size_t size);
	void (*free)(void *object);
	size_t size;
} ways[] = {
#define WAY(way, get, size)	{ #way, get, free_by_##way, size }
	WAY(kfree, get_kmalloc, sizeof(struct object)),
	WAY(kfree_sensitive, get_kmalloc, sizeof(struct object)),
	WAY(kmem_cache_free, get_cache, sizeof(struct object)),
	WAY(kmem_cache_free_bulk, get_cache, sizeof(struct object)),
	WAY(kfree_rcu, get_kmalloc, sizeof(struct object)),
	WAY(kfree_rcu_mightsleep, get_kmalloc, sizeof(struct object)),
	WAY(call_rcu, get_kmalloc, sizeof(struct object)),
	WAY(vfree, get_vmalloc, 0x10000),
	WAY(kvfree, get_vmalloc, 0x10000),
	WAY(free_pages, get_one_page, PAGE_SIZE),
};

static int __init stackbuf_free_init(void)
{
	void *object[ARRAY_SIZE(ways)];
	int i, nr;

	cache = KMEM_CACHE(object, 0);
	if (!cache)
		return -ENOMEM;
	/* All at once, so that no two have the same address */
	for (nr = 0; nr < ARRAY_SIZE(ways); nr++) {
		object[nr] = ways[nr].get(ways[nr].size);
		if (!object[nr])
			break;
		pr_info("%s: object at 0x%lx, %zu bytes\n", ways[nr].name,
			(unsigned long)object[nr], ways[nr].size);
	}
	for (i = 0; i < nr; i++)
		ways[i].free(object[i]);
	if (nr == ARRAY_SIZE(ways))
		return 0;
	kmem_cache_destroy(cache);
	return -ENOMEM;
}

static void __exit stackbuf_free_exit(void)
{
	kmem_cache_destroy(cache);
}

module_init(stackbuf_free_init);
module_exit(stackbuf_free_exit);

MODULE_DESCRIPTION("Frees objects, for the tests of stackbuf");
MODULE_LICENSE("GPL");
