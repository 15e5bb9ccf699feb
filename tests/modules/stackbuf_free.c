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

static noinline void free_by_kfree(void *object)
{
	kfree(object);
	barrier();
}

static noinline void free_by_kfree_sensitive(void *object)
{
	kfree_sensitive(object);
	barrier();
}

static noinline void free_by_kmem_cache_free(void *object)
{
	kmem_cache_free(cache, object);
	barrier();
}

static noinline void free_by_kmem_cache_free_bulk(void *object)
{
	kmem_cache_free_bulk(cache, 1, &object);
	barrier();
}

static noinline void free_by_kfree_rcu(void *object)
{
	kfree_rcu((struct object *)object, rcu);
	barrier();
}

static noinline void free_by_kfree_rcu_mightsleep(void *object)
{
	kfree_rcu_mightsleep((struct object *)object);
	barrier();
}

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

static noinline void free_by_vfree(void *object)
{
	vfree(object);
	barrier();
}

static noinline void free_by_kvfree(void *object)
{
	kvfree(object);
	barrier();
}

static noinline void free_by_free_pages(void *object)
{
	free_pages((unsigned long)object, 0);
	barrier();
}

static const struct {
	const char *name;
	void *(*get)(size_t size);
	void (*free)(void *object);
	size_t size;
} ways[] = {
	{ "kfree", get_kmalloc, free_by_kfree, sizeof(struct object) },
	{ "kfree_sensitive", get_kmalloc, free_by_kfree_sensitive, sizeof(struct object) },
	{ "kmem_cache_free", get_cache, free_by_kmem_cache_free, sizeof(struct object) },
	{ "kmem_cache_free_bulk", get_cache, free_by_kmem_cache_free_bulk, sizeof(struct object) },
	{ "kfree_rcu", get_kmalloc, free_by_kfree_rcu, sizeof(struct object) },
	{ "kfree_rcu_mightsleep", get_kmalloc, free_by_kfree_rcu_mightsleep,
	  sizeof(struct object) },
	{ "call_rcu", get_kmalloc, free_by_call_rcu, sizeof(struct object) },
	{ "vfree", get_vmalloc, free_by_vfree, 0x10000 },
	{ "kvfree", get_vmalloc, free_by_kvfree, 0x10000 },
	{ "free_pages", get_one_page, free_by_free_pages, PAGE_SIZE },
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

MODULE_AUTHOR("stackbuf");
MODULE_DESCRIPTION("Frees objects, for the tests of stackbuf");
MODULE_LICENSE("GPL");
