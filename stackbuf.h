/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The calls and the memory format of stackbuf
 *
 * Part 1 is the memory format: what stackbuf.ko leaves in memory, for anything
 * that reads it (a debugger, a dump reader, the command "stackbuf").  It needs
 * nothing but fixed-width integers, so user space includes this file as well.
 *
 * Part 2 is the calls, for kernel code that records or prints stacks.
 */
#ifndef STACKBUF_H
#define STACKBUF_H

#include <linux/types.h>
#ifdef __KERNEL__
#include <linux/build_bug.h>
#include <linux/compiler.h>
#else
#include <assert.h>
#endif

/* ------------------------------------------------- 1. the memory format --- */

/*
 * Four arrays, each of 4 KiB pages aligned to 4 KiB, each page found and
 * understood by itself:
 *
 *   symbol            what                                  kind
 *   stackbuf_info     sizes, state, counters                STACKBUF_INFO
 *   stackbuf_events   the event ring                        STACKBUF_EVENTS
 *   stackbuf_stacks   the stack table                       STACKBUF_STACKS
 *   stackbuf          the text log; its pages begin with a line of text,
 *                     see STACKBUF_TEXT_PAGE_SCAN
 *
 * All integers are little-endian.  At least 8 zero bytes follow each array, or
 * are its last ones (stackbuf_info).
 *
 * STACKBUF_VERSION is raised by every change that would make a reader of the
 * version before print something wrong or miss something; giving a meaning to
 * a reserved field that was zero does not, as long as zero keeps its meaning.
 * A reader refuses any version that it does not know.  2 came with the pages of
 * probes and of the deepest stacks, and with @seq in pages of all kinds.
 */
#define STACKBUF_VERSION	2
#define STACKBUF_PAGE_SIZE	4096
#define STACKBUF_DEPTH_MAX	64	/* frames kept of one trace */
#define STACKBUF_COMM_LEN	16
#define STACKBUF_BUILD_ID_LEN	20	/* SHA-1, which the kernel's build asks for */

/*
 * The magic is stored as its complement here and in the module's code, so
 * that neither the module's file nor a reader's binary, both likely to be in
 * the page cache of a RAM image, holds it: ~0x..., bytes "\x89stkbuf\n".
 */
#define STACKBUF_MAGIC_INVERTED	0xf5998a9d948b8c76ULL

/*
 * Parts that a build of the module may leave out, with their pages: make PROBES=n DEEPEST=n.
 * stackbuf_info.info_size shows which pages there are.
 */
#ifndef STACKBUF_WITH_PROBES
#define STACKBUF_WITH_PROBES	1
#endif
#ifndef STACKBUF_WITH_DEEPEST
#define STACKBUF_WITH_DEEPEST	1
#endif

enum stackbuf_kind {
	STACKBUF_INFO	= 1,
	STACKBUF_STACKS	= 2,
	STACKBUF_EVENTS	= 3,
	STACKBUF_PROBES	= 4,	/* probes, in the array stackbuf_info */
	STACKBUF_DEPTHS	= 5,	/* deepest stacks, likewise */
	STACKBUF_SNAPSHOT = 16,	/* in files that "stackbuf save" writes, never in memory */
};

/**
 * struct stackbuf_page - the first 32 bytes of every page but those of text
 * @magic:	~STACKBUF_MAGIC_INVERTED
 * @version:	STACKBUF_VERSION
 * @kind:	enum stackbuf_kind
 * @index:	number of this page in its array
 * @instance:	tells one load of the module from another: its CLOCK_REALTIME
 *		in ns; the same in all pages of a load
 * @seq:	event pages: which taking of a page this is, counted from 1 over
 *		the whole ring, so higher is newer; 0 while the page is being
 *		rebuilt: from before its events are added to the counts of
 *		their stacks until it is ready for new ones.  A copy of a page
 *		is good when @seq was the same, and not 0, before and after
 *		copying.  Other kinds: counted from 1, and up when stacks come or
 *		go, when the state or the probes change and when a deeper stack is
 *		seen, so that of two copies in a memory image the higher is newer
 */
struct stackbuf_page {
	__u64 magic;
	__u16 version;
	__u16 kind;
	__u32 index;
	__u64 instance;
	__u64 seq;
};

/* State bits of struct stackbuf_info.state */
#define STACKBUF_ENABLED	0x1	/* parameter enable */
#define STACKBUF_FROZEN_OOPS	0x2	/* an oops stopped recording */
#define STACKBUF_FROZEN_PANIC	0x4	/* a panic did */
#define STACKBUF_UNLOADED	0x8	/* the module was removed */
#define STACKBUF_FILTERED	0x10	/* stackbuf_info.filter is in force */

/*
 * Events and texts that were lost, by reason, counted by CPU.  A CPU counts
 * in slot cpu % STACKBUF_LOSS_SLOTS; the sum over all slots is the total.
 */
enum stackbuf_loss {
	STACKBUF_LOST_OFF,	/* event: recording was off or frozen */
	STACKBUF_LOST_NESTED,	/* event: more than four saves inside each other */
	STACKBUF_LOST_TABLE,	/* event: no room for a new stack in the table */
	STACKBUF_LOST_PAGE,	/* event: no page of the ring to be had */
	STACKBUF_LOST_EMPTY,	/* event: the unwinder found no frame at all */
	STACKBUF_CUT,		/* event recorded, its trace cut at 64 frames */
	STACKBUF_LOST_PRINT,	/* stackbuf_print*() called in NMI, or of an id used again */
	STACKBUF_WALKED_NEW,	/* event recorded by walking: stack not seen before */
	STACKBUF_WALKED_ELSEWHERE, /* not on the task's own stack, or from other registers */
	STACKBUF_WALKED_UNFIT,	/* a stack that recall cannot be exact for */
	STACKBUF_WALKED_AGAIN,	/* known, but its layout was not, or was another */
	STACKBUF_VERIFIED,	/* recalled, and walked to compare */
	STACKBUF_DIFFERED,	/* of these, recalled wrongly: recall is off since */
	STACKBUF_KEPT_OUT,	/* event: not of the pid, cpu or comm asked for */
	STACKBUF_NOT_SAMPLED,	/* event: left out by every */
	STACKBUF_OVER_LIMIT,	/* event: limit was reached */
	STACKBUF_LOSSES = 16
};

#define STACKBUF_LOSS_PAGES	8
#define STACKBUF_LOSS_LINES	31	/* slots in a page */
/* The very last slot stays 0 */
#define STACKBUF_LOSS_SLOTS	(STACKBUF_LOSS_PAGES * STACKBUF_LOSS_LINES - 1)

/**
 * struct stackbuf_loss_page - loss counters, pages 1 to 8 of stackbuf_info
 * @page:	kind STACKBUF_INFO
 * @reserved:	0
 * @slot:	two cache lines a CPU
 */
struct stackbuf_loss_page {
	struct stackbuf_page page;
	__u64 reserved[12];
	__u64 slot[STACKBUF_LOSS_LINES][STACKBUF_LOSSES];
};

/**
 * struct stackbuf_filter - which events are recorded; all 0: every event
 * @comm:	those of tasks of this name; "": all
 * @pid:	those of this thread group; 0: all
 * @cpu:	those of this CPU, counted from 1; 0: all
 * @every:	of these, on each CPU the first and then one in so many; 0, 1: all
 * @limit:	of these, so many since it was set; 0: all
 * @left:	events until @limit is reached
 */
struct stackbuf_filter {
	char comm[STACKBUF_COMM_LEN];
	__u32 pid;
	__u32 cpu;
	__u32 every;
	__u32 limit;
	__s64 left;
};

/* State of a probe */
enum stackbuf_probe_state {
	STACKBUF_PROBE_NONE,	/* the entry is free */
	STACKBUF_PROBE_SET,	/* in the code */
	STACKBUF_PROBE_PENDING,	/* waits for its module */
	STACKBUF_PROBE_REFUSED,	/* its module came, but the probe could not be set */
};

#define STACKBUF_PROBE_NAME	160
#define STACKBUF_PROBE_RETADDR	255	/* in stackbuf_probe.tag */

/**
 * struct stackbuf_probe - one probe
 * @addr:	the address probed, at which its traces begin; 0: none
 * @state:	enum stackbuf_probe_state
 * @tag:	argument kept as the tag, counted from 1; STACKBUF_PROBE_RETADDR; or
 *		0: none
 * @lists:	the module's own
 * @how:	likewise
 * @reserved:	0
 * @name:	as it was given, NUL-terminated
 * @kprobe:	the kernel's struct kprobe.  At stackbuf_probes_page.missed_offset of
 *		this struct it counts (64 bits) the hits that the kernel did not pass
 *		on, as it does not inside of another probe
 */
struct stackbuf_probe {
	__u64 addr;
	__u8 state;
	__u8 tag;
	__u8 lists;
	__u8 how;
	__u8 reserved[4];
	char name[STACKBUF_PROBE_NAME];
	__u64 kprobe[20];
};

#define STACKBUF_PROBE_PAGES	(84 * STACKBUF_WITH_PROBES)
#define STACKBUF_PAGE_PROBES	12
#define STACKBUF_PROBES_MAX	(STACKBUF_PROBE_PAGES * STACKBUF_PAGE_PROBES)

/**
 * struct stackbuf_probes_page - probes, pages of stackbuf_info behind the losses
 * @page:	kind STACKBUF_PROBES, index as page of stackbuf_info
 * @missed_offset: see struct stackbuf_probe
 * @reserved:	0
 * @probe:	the probes; free entries may lie between them
 */
struct stackbuf_probes_page {
	struct stackbuf_page page;
	__u32 missed_offset;
	__u32 reserved[7];
	struct stackbuf_probe probe[STACKBUF_PAGE_PROBES];
};

/**
 * struct stackbuf_depth - the deepest stack seen from one place
 * @origin:	the place: address at which its traces begin; 0: the entry is free
 * @seq:	odd while the entry is written; a copy is good if it was the same,
 *		and even, before and after
 * @bytes:	from the stack pointer there to the end of the task's stack; 0: none yet
 * @id:		id of the stack, which need not be in the table any more
 * @nr:		frames in @frame
 * @cut:	there were more, or they could not be told
 * @reserved:	0
 * @words:	from the stack pointer in each frame to the end, in 8 bytes
 * @frame:	as in struct stackbuf_stack, but one word each: STACKBUF_FRAME_FAR for
 *		an address that does not fit
 */
struct stackbuf_depth {
	__u64 origin;
	__u32 seq;
	__u32 bytes;
	__u32 id;
	__u8 nr;
	__u8 cut;
	__u8 reserved[2];
	__u16 words[STACKBUF_DEPTH_MAX];
	__u32 frame[STACKBUF_DEPTH_MAX];
};

#define STACKBUF_DEPTH_PAGES	(32 * STACKBUF_WITH_DEEPEST)
#define STACKBUF_PAGE_DEPTHS	9
#define STACKBUF_DEPTHS_MAX	(STACKBUF_DEPTH_PAGES * STACKBUF_PAGE_DEPTHS)

/**
 * struct stackbuf_depths_page - deepest stacks, pages of stackbuf_info behind the probes
 * @page:	kind STACKBUF_DEPTHS, index as page of stackbuf_info
 * @depth:	the deepest stacks; free entries may lie between them
 * @reserved:	0
 */
struct stackbuf_depths_page {
	struct stackbuf_page page;
	struct stackbuf_depth depth[STACKBUF_PAGE_DEPTHS];
	__u64 reserved[49];
};

#define STACKBUF_MODULES	32

/**
 * struct stackbuf_module - a module that was loaded while stackbuf was
 * @time:	when, before its code ran: ns, on the clock of events.  0: the entry is free
 * @build_id:	its build id, all 0 if unknown
 * @name:	its name, NUL-terminated
 */
struct stackbuf_module {
	__u64 time;
	__u8 build_id[STACKBUF_BUILD_ID_LEN];
	char name[60];
};

/**
 * struct stackbuf_info - what a reader must know first, at symbol stackbuf_info
 * @page:		kind STACKBUF_INFO, index 0
 * @elf_machine:	EM_X86_64 (62) or EM_AARCH64 (183)
 * @state:		STACKBUF_ENABLED etc.
 * @info_size:		bytes of stackbuf_info
 * @events_size:	bytes of stackbuf_events
 * @stacks_size:	bytes of stackbuf_stacks
 * @text_size:		bytes of stackbuf
 * @info_addr:		virtual address of stackbuf_info
 * @events_addr:	virtual address of stackbuf_events
 * @stacks_addr:	virtual address of stackbuf_stacks
 * @text_addr:		virtual address of stackbuf
 * @base_addr:		virtual address of the kernel's function @base_symbol:
 *			its distance to the same symbol in vmlinux is what
 *			KASLR added.  Frames are kept as distances from it
 * @base_symbol:	name of that function, NUL-terminated
 * @load_ns:		time of loading, ns, on the clock of events and printk
 * @load_realtime_ns:	the same instant on CLOCK_REALTIME, ns
 * @stop_ns:		time of freezing or removal, ns; 0 before
 * @nr_cpus:		CPUs that the kernel may bring up
 * @id_bits:		low bits of a stack's id that tell its place: granule
 *			(page index * 64 + granule in page); those above are
 *			a count of the rounds that made room, which starts
 *			again from 0: see STACKBUF_STACK_AGAIN
 * @overwritten:	events overwritten in the ring
 * @evicted:		stacks dropped from the table to make room
 * @evicted_events:	overwritten events that these stacks had counted
 * @text_overwritten:	records overwritten in the text log
 * @reserved0:		0
 * @module_srcversion:	srcversion of stackbuf.ko, "" if unknown
 * @release:		uname -r of the running kernel
 * @kernel_version:	uname -v
 * @filter:		which events are recorded
 * @missed_before:	hits missed of probes that are removed
 * @depths_full:	walks whose depth was not looked at, as there was no room
 * @module_build_id:	build id of stackbuf.ko, all 0 if unknown
 * @modules_loaded:	modules that were loaded since; number n, counted from 0, is in
 *			@module[n % STACKBUF_MODULES]
 * @module:		the last ones of these
 * @reserved:		0
 * @loss:		loss counters
 * @probe:		probes
 * @depth:		deepest stacks
 */
struct stackbuf_info {
	struct stackbuf_page page;
	__u32 elf_machine;
	__u32 state;
	__u64 info_size;
	__u64 events_size;
	__u64 stacks_size;
	__u64 text_size;
	__u64 info_addr;
	__u64 events_addr;
	__u64 stacks_addr;
	__u64 text_addr;
	__u64 base_addr;
	char base_symbol[32];
	__u64 load_ns;
	__u64 load_realtime_ns;
	__u64 stop_ns;
	__u32 nr_cpus;
	__u32 id_bits;
	__u64 overwritten;
	__u64 evicted;
	__u64 evicted_events;
	__u64 text_overwritten;
	__u64 reserved0;
	char module_srcversion[32];
	char release[72];
	char kernel_version[72];
	struct stackbuf_filter filter;
	__u64 missed_before;
	__u64 depths_full;
	__u8 module_build_id[STACKBUF_BUILD_ID_LEN];
	__u32 modules_loaded;
	struct stackbuf_module module[STACKBUF_MODULES];
	__u8 reserved[808];
	struct stackbuf_loss_page loss[STACKBUF_LOSS_PAGES];
	struct stackbuf_probes_page probe[STACKBUF_PROBE_PAGES];
	struct stackbuf_depths_page depth[STACKBUF_DEPTH_PAGES];
};

/**
 * struct stackbuf_stacks_page - 4 KiB of the stack table
 * @page:	kind STACKBUF_STACKS
 * @used:	bit n set: granule n (the 64 bytes at n * 64) is in use; bit 0,
 *		this header, is always set
 * @base_addr:	as in stackbuf_info, so that a page can be read without it
 * @id_bits:	likewise
 * @reserved:	0
 * @granule:	stacks; each takes as many granules in a row as it needs
 */
struct stackbuf_stacks_page {
	struct stackbuf_page page;
	__u64 used;
	__u64 base_addr;
	__u32 id_bits;
	__u32 reserved[3];
	__u8 granule[63][64];
};

#define STACKBUF_STACK_CUT	0x1	/* the trace had more frames */
/*
 * Text written, or being written.  Without it the text is outstanding because
 * too many CPUs were rendering at once; the stack's next event tries again.
 */
#define STACKBUF_STACK_TEXT	0x2
#define STACKBUF_STACK_LEAVING	0x4	/* the module's own */
/* All numbers above id_bits were used before: an older stack may have had the id */
#define STACKBUF_STACK_AGAIN	0x8
/*
 * Code of a frame is gone, and other code may be at its address now: a stack with equal
 * frames that is recorded later is another one.  Only the text log has the right names
 */
#define STACKBUF_STACK_STALE	0x10

/**
 * struct stackbuf_stack - one distinct stack, at the start of a granule
 * @id:		its id; 0 while it is written or dropped.  Valid only when its
 *		low id_bits name this very granule
 * @nr:		number of frames, 1 to STACKBUF_DEPTH_MAX
 * @flags:	STACKBUF_STACK_CUT etc.
 * @words:	number of u32 in @frames
 * @hash:	stackbuf_hash() over it; tells a whole copy from a torn one
 * @next:	the module's own; meaningless to readers
 * @count:	events of this stack that are no longer in the ring, so that
 *		its total is @count + its events in the ring
 * @seen:	page sequence number of its first event or of the newest one
 *		counted in @count
 * @frames:	return addresses, innermost first: one word holds the signed
 *		32-bit distance from stackbuf_info.base_addr; where it does not
 *		fit: STACKBUF_FRAME_FAR, then the low and the high half
 *		of the address
 */
struct stackbuf_stack {
	__u32 id;
	__u8  nr;
	__u8  flags;
	__u16 words;
	__u32 hash;
	__u32 next;
	__u64 count;
	__u64 seen;
	__u32 frames[];
};

#define STACKBUF_FRAME_FAR	0x80000000U
#define STACKBUF_GRANULE	64

/**
 * stackbuf_hash() - the hash of an encoded stack
 * @frames:	encoded frames
 * @words:	how many
 * @cut:	whether the trace was cut at the limit
 *
 * Return: 32-bit hash, part of the format.
 */
static inline __u32 stackbuf_hash(const __u32 *frames, unsigned int words, int cut)
{
	__u32 h = cut ? 0x9747b28cU : 0x2545f491U;

	/* A multiply spreads a frame upwards, the shift brings it down again */
	while (words--) {
		h = (h ^ *frames++) * 0x9e3779b1U;
		h ^= h >> 15;
	}
	return h;
}

/*
 * An event is one to five 64-bit words.  The first:
 *
 *   bits  0..31   id of the stack, never 0
 *   bits 32..58   time, low 27 bits, ns
 *   bits 59..60   context: STACKBUF_TASK, _SOFTIRQ, _HARDIRQ, _NMI
 *   bits 61..62   form: STACKBUF_SHORT, _TAGGED, _FULL
 *   bit  63       being written: skip it, its length is right
 *
 * A word of 0 ends the page.
 *
 *   SHORT    1 word.  Time: ns since the event before it in the page.  Task:
 *            as the event before it.  No tag.
 *   TAGGED   2 words, the second is the tag.  Else as SHORT.
 *   FULL     5 words: first word, tag, task, comm (two words).
 *            task: bits 0..21 PID, 22..43 TGID (both in the initial
 *            namespace), 44..62 time, high 19 bits; bit 63: there is a tag.
 *            Time: ns since the page's base time.  comm: 16 bytes, ended by a NUL.
 *
 * A page's first event is FULL, and so is one that was recorded while another
 * was being appended (from an NMI), the one after that, one of another task or
 * CPU, and one whose time is 2^27 ns or more after the event before it.
 *
 * The words behind the first are stored before bit 63 is cleared.  A page whose
 * base time is 2^46 ns or more ago, or in the future, is left for a new one.
 */
#define STACKBUF_EVENT_TIME_SHIFT	32
#define STACKBUF_EVENT_TIME_BITS	27
#define STACKBUF_EVENT_CONTEXT_SHIFT	59
#define STACKBUF_EVENT_FORM_SHIFT	61
#define STACKBUF_EVENT_WRITING		0x8000000000000000ULL
#define STACKBUF_TASK_PID_BITS		22
#define STACKBUF_TASK_TGID_SHIFT	22
#define STACKBUF_TASK_TIME_SHIFT	44
#define STACKBUF_TASK_TIME_BITS		19
#define STACKBUF_TASK_TAGGED		0x8000000000000000ULL

enum stackbuf_form {
	STACKBUF_SHORT	= 1,
	STACKBUF_TAGGED	= 2,
	STACKBUF_FULL	= 3,
};

enum stackbuf_context {
	STACKBUF_TASK,
	STACKBUF_SOFTIRQ,
	STACKBUF_HARDIRQ,
	STACKBUF_NMI,
};

#define STACKBUF_EVENT_WORDS	504

/**
 * struct stackbuf_events_page - 4 KiB of the event ring, all of one CPU
 * @page:	kind STACKBUF_EVENTS; @page.seq is 0 in a page never used
 * @first:	events that this CPU had recorded before this page, so that a gap
 *		to its page before tells what was overwritten in between.  The
 *		total of all is stackbuf_info.overwritten + all that is in the ring
 * @time:	base time, ns, printk's clock
 * @cpu:	whose events these are
 * @owner:	@cpu + 1 while the page may still grow, else 0.  Only its CPU
 *		ends that, or the module for a CPU that is offline, and only then
 *		the page can be reused.  0xffffffff: the module clears the page
 * @reserved:	0
 * @word:	the events
 */
struct stackbuf_events_page {
	struct stackbuf_page page;
	__u64 first;
	__u64 time;
	__u32 cpu;
	__u32 owner;
	__u64 reserved;
	__u64 word[STACKBUF_EVENT_WORDS];
};

/*
 * The text log.  Every page begins with a line that says which it is:
 *
 *   stackbuf text v2 page 3/256 seq 259 instance 0123456789abcdef
 *
 * then whole records, then spaces and a newline up to the end of the page, or
 * NULs in the newest page of the first lap.  A NUL in an earlier place means
 * that a record was being copied there.  At an instant every record in front of
 * a NUL is whole; who copies while the log is written does it twice, and what
 * differs was being written.  A record:
 *
 *   stack 66 [  618.059960] CPU: 2 PID: 1234 Comm: insmod
 *   stackbuf_init+0x1a/0xeda [stackbuf]
 *   do_one_initcall+0x46/0x1e0
 *
 * id, time, CPU and task of the first event, then a line a frame as %pS prints
 * it.  Where the trace was cut, or did not fit a page, a line that begins with
 * "(" says so.  Bytes of comm that are not printable are shown as '?'.
 */
#define STACKBUF_TEXT_PAGE_PRINT	"stackbuf text v%u page %u/%u seq %llu instance %016llx\n"
#define STACKBUF_TEXT_PAGE_SCAN		"stackbuf text v%u page %u/%u seq %llu instance %16llx"
#define STACKBUF_TEXT_RECORD_PRINT	"stack %u [%5lu.%06lu] CPU: %u PID: %d Comm: %s\n"

static_assert(sizeof(struct stackbuf_page) == 32, "page header");
static_assert(sizeof(struct stackbuf_loss_page) == STACKBUF_PAGE_SIZE, "loss page");
static_assert(sizeof(struct stackbuf_probes_page) == STACKBUF_PAGE_SIZE, "probes page");
static_assert(sizeof(struct stackbuf_depths_page) == STACKBUF_PAGE_SIZE, "depths page");
static_assert(sizeof(struct stackbuf_module) == 88, "module");
static_assert(sizeof(struct stackbuf_info) ==
	      (1 + STACKBUF_LOSS_PAGES + STACKBUF_PROBE_PAGES + STACKBUF_DEPTH_PAGES) *
	      STACKBUF_PAGE_SIZE, "info pages");
static_assert(sizeof(struct stackbuf_stacks_page) == STACKBUF_PAGE_SIZE, "stacks page");
static_assert(sizeof(struct stackbuf_stack) == 32, "stack");
static_assert(sizeof(struct stackbuf_events_page) == STACKBUF_PAGE_SIZE, "events page");

/* -------------------------------------------------------- 2. the calls --- */

#ifdef __KERNEL__

struct pt_regs;
struct task_struct;

/* The arrays, see above */
extern char stackbuf[] __aligned(STACKBUF_PAGE_SIZE);
extern struct stackbuf_info stackbuf_info __aligned(STACKBUF_PAGE_SIZE);
extern struct stackbuf_events_page stackbuf_events[] __aligned(STACKBUF_PAGE_SIZE);
extern struct stackbuf_stacks_page stackbuf_stacks[] __aligned(STACKBUF_PAGE_SIZE);

/* Bytes of the stack that a save takes at most */
#ifdef CONFIG_KASAN
#define STACKBUF_STACK_BYTES	4096
#else
#define STACKBUF_STACK_BYTES	1280
#endif

/**
 * stackbuf_save() - record the caller's stack
 *
 * Keeps the return addresses from the caller on, with time, CPU and task.  A
 * stack that is seen for the first time is also rendered into the text log.
 *
 * Context: Any, NMI included, whatever locks are held.  Takes no lock that
 *	another context may hold, allocates nothing, never sleeps or prints.
 *	There must be STACKBUF_STACK_BYTES left of the stack.
 * Return: the stack's id, which never is 0; or 0 when the event was not
 *	recorded, which stackbuf_info then has counted (enum stackbuf_loss).
 */
u32 stackbuf_save(void);

/**
 * stackbuf_save_tag() - record the caller's stack and a word of its choice
 * @tag: kept in the event as it is: an object's address, a length, ...
 *
 * Context: As stackbuf_save().
 * Return: As stackbuf_save().
 */
u32 stackbuf_save_tag(unsigned long tag);

/**
 * stackbuf_save_regs() - record the stack that saved registers describe
 * @regs: registers of the current task, saved on this CPU, as a kprobe or an
 *	exception handler gets them; the trace begins at their instruction
 *	pointer
 * @tag: as for stackbuf_save_tag()
 *
 * On x86 a kprobe's handler gets an instruction pointer behind the breakpoint, where
 * the stack may look otherwise: instruction_pointer_set() the probe's address for the
 * time of the call.
 *
 * On arm64 a function has no frame in its beginning, in leaves, and behind what has
 * one.  There the caller is taken from the link register; but behind a jump, past
 * a part that has a frame, it is left out, as the kernel's own traces do.
 *
 * Context: As stackbuf_save(); on the CPU and in the task of @regs.
 * Return: As stackbuf_save().
 */
u32 stackbuf_save_regs(struct pt_regs *regs, unsigned long tag);

/**
 * stackbuf_save_task() - record another task's stack
 * @task: the task; the caller holds a reference.  The current task is allowed
 * @tag: as for stackbuf_save_tag()
 * @id: where the stack's id goes, or NULL
 *
 * The event counts as one of @task, and of the CPU that records it.
 *
 * Context: As stackbuf_save(), but not NMI.
 * Return: 0, also when recording is off and @id became 0; -EBUSY while @task
 *	runs on a CPU; -ESRCH if it has exited and has no stack; -EOPNOTSUPP
 *	where the kernel exports no way to walk another task's stack.
 */
int stackbuf_save_task(struct task_struct *task, unsigned long tag, u32 *id);

/**
 * stackbuf_print() - print the caller's stack to the kernel log
 *
 * As dump_stack() does: a line "Stack trace(BYTES):", then a line a frame,
 * lines of other CPUs kept out, unless one of them prints for more than 100 ms:
 * then they may mix.  BYTES is the length of the frames' text as
 * the text log would hold it.  Nothing is recorded.
 *
 * Context: Any but NMI, where it returns at once and is counted
 *	(STACKBUF_LOST_PRINT).  With any lock held, a runqueue's too: it waits for
 *	no other CPU for more than 100 ms, with interrupts as the caller has them.
 */
void stackbuf_print(void);

/**
 * stackbuf_print_id() - print a stack that was saved before
 * @id: what stackbuf_save() returned
 *
 * An id that is not in the table any more, or never was, gives one line that
 * says so.  So does a stack whose id an older stack may have had
 * (STACKBUF_STACK_AGAIN): the id may stand for that one.  That is counted as
 * STACKBUF_LOST_PRINT.  It takes 2^(32 - id_bits) rounds of making room in the
 * table, 262,144 with its default size and 1,024 with the largest.
 *
 * Context: As stackbuf_print().
 */
void stackbuf_print_id(u32 id);

/*
 * A trace of the caller's own, with the calls of FreeBSD's stack(9); see the
 * table in docs/stack9.md.  Nothing of it goes into the record.
 */

/**
 * struct stackbuf_trace - one trace
 * @depth: number of frames in @pc
 * @cut: the stack had more frames than fit
 * @pc: return addresses, innermost first
 */
struct stackbuf_trace {
	unsigned int depth;
	bool cut;
	unsigned long pc[STACKBUF_DEPTH_MAX];
};

enum stackbuf_trace_style {
	STACKBUF_TRACE_LONG,	/* a line a frame, as %pS prints it */
	STACKBUF_TRACE_COMPACT,	/* all frames on one line */
};

/**
 * stackbuf_trace_create() - allocate an empty trace
 * @gfp: as for kmalloc()
 *
 * Context: As kmalloc() with @gfp.  A struct stackbuf_trace may as well be
 *	embedded or static and emptied by stackbuf_trace_zero().
 * Return: the trace, or NULL when memory is short.
 */
struct stackbuf_trace *stackbuf_trace_create(gfp_t gfp);

/**
 * stackbuf_trace_destroy() - free what stackbuf_trace_create() returned
 * @trace: the trace, or NULL
 *
 * Context: As kfree().
 */
void stackbuf_trace_destroy(struct stackbuf_trace *trace);

/**
 * stackbuf_trace_put() - append an address
 * @trace: the trace
 * @pc: the address
 *
 * Context: Any; the caller keeps others off @trace.
 * Return: 0, or -ENOSPC when the trace is full.
 */
int stackbuf_trace_put(struct stackbuf_trace *trace, unsigned long pc);

/**
 * stackbuf_trace_copy() - copy a trace
 * @src: from
 * @dst: to
 *
 * Context: Any.
 */
void stackbuf_trace_copy(const struct stackbuf_trace *src, struct stackbuf_trace *dst);

/**
 * stackbuf_trace_zero() - empty a trace
 * @trace: the trace
 *
 * Context: Any.
 */
void stackbuf_trace_zero(struct stackbuf_trace *trace);

/**
 * stackbuf_trace_save() - take the caller's stack
 * @trace: where to; what it held is replaced
 *
 * Context: Any.
 */
void stackbuf_trace_save(struct stackbuf_trace *trace);

/**
 * stackbuf_trace_save_task() - take another task's stack
 * @trace: where to; empty after an error
 * @task: the task; the caller holds a reference.  The current task is allowed
 *
 * Context: Any but NMI.
 * Return: 0, -EBUSY, -ESRCH or -EOPNOTSUPP as stackbuf_save_task().
 */
int stackbuf_trace_save_task(struct stackbuf_trace *trace, struct task_struct *task);

/**
 * stackbuf_trace_print() - print a trace to the kernel log, a line a frame
 * @trace: the trace
 *
 * Context: As stackbuf_print().
 */
void stackbuf_trace_print(const struct stackbuf_trace *trace);

/**
 * stackbuf_trace_print_short() - print all frames on one line
 * @trace: the trace
 *
 * A record of the kernel log holds about 1,000 bytes: a line that would grow
 * longer goes on in the next.
 *
 * Context: As stackbuf_print().
 */
void stackbuf_trace_print_short(const struct stackbuf_trace *trace);

/**
 * stackbuf_trace_snprint() - render a trace into memory
 * @buf: where to; always terminated if @size is not 0
 * @size: bytes at @buf
 * @trace: the trace
 * @style: one frame a line, or all on one
 *
 * Context: Any.
 * Return: bytes that the whole text takes without the terminating NUL, as
 *	snprintf(); @size or more means that the text was cut.
 */
int stackbuf_trace_snprint(char *buf, size_t size, const struct stackbuf_trace *trace,
			   enum stackbuf_trace_style style);

/*
 * A call in the last place of a function would be a jump, and the function would
 * be missing from the trace: have something follow the call.
 */
#ifndef STACKBUF_RECORDER
#define stackbuf_save() \
	({ u32 __stackbuf_id = stackbuf_save(); barrier(); __stackbuf_id; })
#define stackbuf_save_tag(tag) \
	({ u32 __stackbuf_id = stackbuf_save_tag(tag); barrier(); __stackbuf_id; })
#define stackbuf_print() \
	({ stackbuf_print(); barrier(); })
#define stackbuf_save_task(task, tag, id) \
	({ int __stackbuf_err = stackbuf_save_task(task, tag, id); barrier(); __stackbuf_err; })
#define stackbuf_trace_save(trace) \
	({ stackbuf_trace_save(trace); barrier(); })
#define stackbuf_trace_save_task(trace, task) \
	({ int __stackbuf_err = stackbuf_trace_save_task(trace, task); barrier(); __stackbuf_err; })
#endif

#endif /* __KERNEL__ */
#endif /* STACKBUF_H */
