// SPDX-License-Identifier: GPL-2.0
/*
 * memory.c - the four arrays, and the counters
 */
#include <linux/elf-em.h>
#include <linux/ktime.h>
#include <linux/smp.h>
#include <linux/stop_machine.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/timex.h>
#include <linux/utsname.h>

#include "memory.h"
#include "modules.h"
#include "table.h"

/* The Makefile checks these first, with better messages */
static_assert(SBUF_EVENT_PAGES >= 1 && STACKBUF_EVENTS_KB <= 262144, "EVENTS_KB: 4 to 262144");
static_assert(SBUF_STACK_PAGES >= 1 && STACKBUF_STACKS_KB <= 262144, "STACKS_KB: 4 to 262144");
static_assert(!(STACKBUF_EVENTS_KB % 4 || STACKBUF_STACKS_KB % 4 || STACKBUF_TEXT_KB % 4 ||
		STACKBUF_PAIRS_KB % 4), "EVENTS_KB etc.: multiples of 4");
/* Lower than the others: crash's printf copies the text to its stack */
static_assert(SBUF_TEXT_PAGES >= 1 && STACKBUF_TEXT_KB <= 4096, "TEXT_KB: 4 to 4096");

/*
 * In .bss, so that the module's file stays small and crash finds them at the
 * right address on every version.  The extra element keeps zero bytes after each
 * array, as crash's gdb reads four bytes where it needs one.
 */
struct stackbuf_info stackbuf_info;
EXPORT_SYMBOL_GPL(stackbuf_info);
struct stackbuf_events_page stackbuf_events[SBUF_EVENT_PAGES + 1];
EXPORT_SYMBOL_GPL(stackbuf_events);
struct stackbuf_stacks_page stackbuf_stacks[SBUF_STACK_PAGES + 1];
EXPORT_SYMBOL_GPL(stackbuf_stacks);
char stackbuf[SBUF_TEXT_PAGES * STACKBUF_PAGE_SIZE + 8];
EXPORT_SYMBOL_GPL(stackbuf);

struct debugfs_blob_wrapper sbuf_arrays[SBUF_ARRAYS] = {
	[SBUF_INFO] = { &stackbuf_info, sizeof(stackbuf_info) },
	[SBUF_EVENTS] = { stackbuf_events, SBUF_EVENT_PAGES * STACKBUF_PAGE_SIZE },
	[SBUF_STACKS] = { stackbuf_stacks, SBUF_STACK_PAGES * STACKBUF_PAGE_SIZE },
	[SBUF_TEXT] = { stackbuf, SBUF_TEXT_PAGES * STACKBUF_PAGE_SIZE },
};

static inline u64 *counter_slots(unsigned int slot)
{
	return stackbuf_info.counter[slot / STACKBUF_COUNTER_LINES]
		.slot[slot % STACKBUF_COUNTER_LINES];
}

/*
 * Atomic, as the caller may migrate or be interrupted, and as CPUs share slots on machines with
 * more than STACKBUF_COUNTER_SLOTS CPUs.
 */
void sbuf_count(enum stackbuf_counter why)
{
	unsigned int slot = raw_smp_processor_id() % STACKBUF_COUNTER_SLOTS;

	sbuf_add(&counter_slots(slot)[why], 1);
}

u64 sbuf_counter(enum stackbuf_counter why)
{
	u64 sum = 0;
	int slot;

	for (slot = 0; slot < STACKBUF_COUNTER_SLOTS; slot++)
		sum += READ_ONCE(counter_slots(slot)[why]);
	return sum;
}

void sbuf_state_change(u32 bits, bool on)
{
	if (on)
		atomic_or(bits, (atomic_t *)&stackbuf_info.state);
	else
		atomic_andnot(bits, (atomic_t *)&stackbuf_info.state);
	sbuf_page_bump_seq(&stackbuf_info.page);
}

static u64 instance __initdata;

static void __init init_page_header(struct stackbuf_page *page, enum stackbuf_kind kind, u32 index)
{
	u64 inverted = STACKBUF_MAGIC_INVERTED;

	/* Keeps the compiler from computing the magic, which would put it into the module's file */
	OPTIMIZER_HIDE_VAR(inverted);
	page->magic = ~inverted;
	page->version = STACKBUF_VERSION;
	page->kind = kind;
	page->index = index;
	page->instance = instance;
	page->seq = kind == STACKBUF_EVENTS ? 0 : 1;
}

void __init sbuf_memory_note_time(void)
{
	struct stackbuf_info *info = &stackbuf_info;

	WRITE_ONCE(info->load_realtime_ns, ktime_get_real_ns() - (sbuf_now() - info->load_ns));
	sbuf_page_bump_seq(&info->page);
}

#if SBUF_BUILT_IN
static void __init set_instance(void *array, size_t size)
{
	struct stackbuf_page *page;

	for (page = array; (void *)page < array + size; page = (void *)page + STACKBUF_PAGE_SIZE)
		page->instance = stackbuf_info.load_realtime_ns;
}

static int __init set_instances(void *unused)
{
	set_instance(&stackbuf_info, sizeof(stackbuf_info));
	set_instance(stackbuf_events, SBUF_EVENT_PAGES * STACKBUF_PAGE_SIZE);
	set_instance(stackbuf_stacks, SBUF_STACK_PAGES * STACKBUF_PAGE_SIZE);
	sbuf_text_note_instance();
	return 0;
}

/* The beginning of 2020: an earlier time is from a clock that was never set */
#define CLOCK_WAS_SET	(1577836800 * NSEC_PER_SEC)

void __init sbuf_memory_note_instance(void)
{
	if (instance > CLOCK_WAS_SET || stackbuf_info.load_realtime_ns < CLOCK_WAS_SET)
		return;
	mutex_lock(&sbuf_table_mutex);
	stop_machine(set_instances, NULL, NULL);
	mutex_unlock(&sbuf_table_mutex);
}
#endif

/*
 * Return a number that no other load has, greater than those of earlier loads.  If built in, we
 * begin before the kernel's clocks run: use the machine's clock, if it has one, and entropy.
 */
static u64 __init new_instance(void)
{
#if SBUF_BUILT_IN
	struct timespec64 now;

	read_persistent_clock64(&now);
	return now.tv_sec * NSEC_PER_SEC + random_get_entropy() % NSEC_PER_SEC + 1;
#else
	return stackbuf_info.load_realtime_ns;
#endif
}

void __init sbuf_memory_init(void)
{
	struct stackbuf_info *info = &stackbuf_info;
	u32 i, index = 0;

	info->load_ns = sbuf_now();
	if (!SBUF_BUILT_IN)
		sbuf_memory_note_time();
	instance = new_instance();
	info->elf_machine = IS_ENABLED(CONFIG_X86_64) ? EM_X86_64 : EM_AARCH64;
	info->info_size = sizeof(stackbuf_info);
	info->events_size = SBUF_EVENT_PAGES * STACKBUF_PAGE_SIZE;
	info->stacks_size = SBUF_STACK_PAGES * STACKBUF_PAGE_SIZE;
	info->text_size = SBUF_TEXT_PAGES * STACKBUF_PAGE_SIZE;
	info->info_addr = (unsigned long)&stackbuf_info;
	info->events_addr = (unsigned long)stackbuf_events;
	info->stacks_addr = (unsigned long)stackbuf_stacks;
	info->text_addr = (unsigned long)stackbuf;
	info->base_addr = (unsigned long)stack_trace_save;
	strscpy(info->base_symbol, "stack_trace_save", sizeof(info->base_symbol));
	info->nr_cpus = num_possible_cpus();
	info->id_bits = SBUF_ID_BITS;
	info->frames = SBUF_FRAMES;
	strscpy(info->module_version, STACKBUF_MODULE_VERSION, sizeof(info->module_version));
#ifdef MODULE
	strscpy(info->module_srcversion, THIS_MODULE->srcversion ?: "",
		sizeof(info->module_srcversion));
	sbuf_modules_build_id(THIS_MODULE, info->module_build_id);
#endif
	strscpy(info->release, init_uts_ns.name.release, sizeof(info->release));
	strscpy(info->kernel_version, init_uts_ns.name.version, sizeof(info->kernel_version));

	init_page_header(&info->page, STACKBUF_INFO, 0);
	for (i = 0; i < STACKBUF_COUNTER_PAGES; i++)
		init_page_header(&info->counter[i].page, STACKBUF_INFO, ++index);
	for (i = 0; i < STACKBUF_PROBE_PAGES; i++)
		init_page_header(&info->probe[i].page, STACKBUF_PROBES, ++index);
	for (i = 0; i < STACKBUF_DEPTH_PAGES; i++)
		init_page_header(&info->depth[i].page, STACKBUF_DEPTHS, ++index);
	info->pair_pages = STACKBUF_PAIR_PAGES;
	for (i = 0; i < STACKBUF_PAIR_PAGES; i++)
		init_page_header(&info->pair[i].page, !i ? STACKBUF_PAIRS :
				 i <= STACKBUF_PAIR_STACK_PAGES(STACKBUF_PAIR_PAGES) ?
				 STACKBUF_PAIR_STACKS : STACKBUF_PAIR_OPEN, ++index);
	for (i = 0; i < SBUF_EVENT_PAGES; i++)
		init_page_header(&stackbuf_events[i].page, STACKBUF_EVENTS, i);
	for (i = 0; i < SBUF_STACK_PAGES; i++) {
		init_page_header(&stackbuf_stacks[i].page, STACKBUF_STACKS, i);
		stackbuf_stacks[i].used = 1;
		stackbuf_stacks[i].base_addr = info->base_addr;
		stackbuf_stacks[i].id_bits = SBUF_ID_BITS;
	}
}
