// SPDX-License-Identifier: GPL-2.0
/*
 * stackbuf_kunit.c - KUnit tests of the calls
 */
#include <kunit/test.h>
#include <linux/hardirq.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>
#include <linux/stackbuf.h>
#include <linux/string.h>

static noinline u32 path_a(unsigned long tag)
{
	return stackbuf_save_tag(tag);
}

static noinline u32 path_b(unsigned long tag)
{
	u32 id = path_a(tag);

	barrier();
	return id;
}

/* The stack with this id, as readers find it: by the granule in its id */
static const struct stackbuf_stack *stack_of(u32 id)
{
	u32 granule = id & ((1U << stackbuf_info.id_bits) - 1);

	return (const void *)((char *)stackbuf_stacks + granule * STACKBUF_GRANULE);
}

static void same_path_same_id(struct kunit *test)
{
	u32 id[3];
	int i, n = ARRAY_SIZE(id);

	/* Or the compiler makes three calls of the loop */
	OPTIMIZER_HIDE_VAR(n);
	for (i = 0; i < n; i++)
		id[i] = path_a(i);
	KUNIT_EXPECT_NE(test, id[0], 0U);
	KUNIT_EXPECT_EQ(test, id[0], id[1]);
	KUNIT_EXPECT_EQ(test, id[0], id[2]);
	KUNIT_EXPECT_NE(test, id[0], path_b(0));
}

static void the_table_has_it(struct kunit *test)
{
	u32 id = path_b(0);

	KUNIT_ASSERT_NE(test, id, 0U);
	KUNIT_EXPECT_EQ(test, stack_of(id)->id, id);
	KUNIT_EXPECT_GT(test, stack_of(id)->words, 1);
}

/* How many events the ring has with tags from @first on, up to @n */
static unsigned int tagged(unsigned long first, unsigned int n)
{
	struct stackbuf_event event = {};
	unsigned int found = 0;
	u32 i, pos;
	u64 word;

	for (i = 0; i < stackbuf_info.events_size / STACKBUF_PAGE_SIZE; i++) {
		const struct stackbuf_events_page *page = &stackbuf_events[i];

		for (pos = 0; pos < STACKBUF_EVENT_WORDS && (word = READ_ONCE(page->word[pos]));
		     pos += stackbuf_event_words(word)) {
			stackbuf_decode_event(&event, page, pos);
			found += event.tagged && event.tag - first < n;
		}
	}
	return found;
}

static void each_call_is_one_event(struct kunit *test)
{
	/* No address, and no tag of another run */
	const unsigned long first = 0x5b00000000000000UL + (local_clock() & 0xffffffffffffUL);
	unsigned int i;

	for (i = 0; i < 100; i++)
		path_a(first + i);
	KUNIT_EXPECT_EQ(test, tagged(first, 100), 100U);
}

static void with_interrupts_off(struct kunit *test)
{
	unsigned long flags;
	u32 id;

	local_irq_save(flags);
	id = path_a(0);
	local_irq_restore(flags);
	KUNIT_EXPECT_NE(test, id, 0U);
}

static noinline void take_trace(struct stackbuf_trace *trace)
{
	stackbuf_trace_save(trace);
}

static void a_trace_begins_with_its_caller(struct kunit *test)
{
	struct stackbuf_trace *trace = stackbuf_trace_create(GFP_KERNEL);
	char *text = kunit_kzalloc(test, 4096, GFP_KERNEL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, trace);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, text);
	take_trace(trace);
	KUNIT_EXPECT_GT(test, trace->depth, 2U);
	stackbuf_trace_snprint(text, 4096, trace, STACKBUF_TRACE_LONG);
	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, strstr(text, "take_trace+0x"));
	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, strstr(text, "a_trace_begins_with_its_caller+0x"));
	KUNIT_EXPECT_PTR_EQ(test, strstr(text, "stackbuf_trace_save"), (char *)NULL);
	stackbuf_trace_zero(trace);
	KUNIT_EXPECT_EQ(test, trace->depth, 0U);
	stackbuf_trace_destroy(trace);
}

static void another_task(struct kunit *test)
{
	u32 id = 1;

	/* This one runs: it is saved as the caller */
	KUNIT_EXPECT_EQ(test, stackbuf_save_task(current, 0, &id), 0);
	KUNIT_EXPECT_NE(test, id, 0U);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(same_path_same_id),
	KUNIT_CASE(the_table_has_it),
	KUNIT_CASE(each_call_is_one_event),
	KUNIT_CASE(with_interrupts_off),
	KUNIT_CASE(a_trace_begins_with_its_caller),
	KUNIT_CASE(another_task),
	{}
};

static struct kunit_suite suite = {
	.name = "stackbuf",
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KUnit tests of stackbuf");
