/* SPDX-License-Identifier: GPL-2.0 */
/*
 * stackbuf_format.h - the format of the memory that stackbuf.ko writes
 *
 * Debuggers, dump readers and the command "stackbuf" read that memory.  This file needs only
 * fixed-width integers, so user space includes it as well.  The module itself uses the same inline
 * functions to decode events and frames.
 */
#ifndef STACKBUF_FORMAT_H
#define STACKBUF_FORMAT_H

#include <linux/types.h>
#ifdef __KERNEL__
#include <linux/build_bug.h>
#include <linux/compiler.h>
#else
#include <assert.h>
#endif

/**
 * DOC: memory format
 *
 * The record is four arrays of 4 KiB pages, aligned to 4 KiB.  Each page can be found and decoded
 * without the others:
 *
 *   symbol            what                                  kind
 *   stackbuf_info     sizes, state, counters                STACKBUF_INFO
 *   stackbuf_events   the event ring                        STACKBUF_EVENTS
 *   stackbuf_stacks   the stack table                       STACKBUF_STACKS
 *   stackbuf          the text log; its pages begin with a line of text,
 *                     see STACKBUF_TEXT_PAGE_SCAN
 *
 * All integers are little-endian.  At least 8 zero bytes follow each array or end it (info).
 *
 * Any change that would make a reader of the previous version print something wrong or miss
 * something raises STACKBUF_VERSION.  Giving a meaning to a reserved field that was zero does not,
 * as long as zero keeps its meaning.  A reader rejects any version that it does not know.  Version
 * 2 added the pages of probes and of the deepest stacks, and @seq in pages of all kinds.
 */
#define STACKBUF_VERSION	2
#define STACKBUF_PAGE_SIZE	4096
#define STACKBUF_DEPTH_MAX	127	/* most frames kept of one trace */
#define STACKBUF_COMM_LEN	16
#define STACKBUF_BUILD_ID_LEN	20	/* SHA-1, which the kernel's build requests */

/*
 * The magic is ~0x..., bytes "\x89stkbuf\n".  This file and the module's code hold only its
 * complement, so that neither the module's file nor a reader's binary contains the magic: a RAM
 * image is likely to have both in its page cache.
 */
#define STACKBUF_MAGIC_INVERTED	0xf5998a9d948b8c76ULL

/*
 * A build of the module may leave out these parts, with their pages: make PROBES=n DEEPEST=n KEEP=n
 * PAIRS_KB=0.  stackbuf_info.info_size shows which pages exist.
 */
#ifndef STACKBUF_WITH_PROBES
#define STACKBUF_WITH_PROBES	1
#endif
#ifndef STACKBUF_WITH_DEEPEST
#define STACKBUF_WITH_DEEPEST	1
#endif
/* Memory for pairs, in KiB.  A reader finds the number of pages in stackbuf_info.pair_pages */
#ifndef STACKBUF_PAIRS_KB
#define STACKBUF_PAIRS_KB	0
#endif

/**
 * enum stackbuf_kind - contents of a page
 * @STACKBUF_INFO: sizes, state and counters, in the array stackbuf_info
 * @STACKBUF_STACKS: stacks, in the array stackbuf_stacks
 * @STACKBUF_EVENTS: events, in the array stackbuf_events
 * @STACKBUF_PROBES: probes, in the array stackbuf_info
 * @STACKBUF_DEPTHS: deepest stacks, in the array stackbuf_info
 * @STACKBUF_PAIRS: pairs of probes, in the array stackbuf_info
 * @STACKBUF_PAIR_STACKS: stacks that opened objects, in the array stackbuf_info
 * @STACKBUF_PAIR_OPEN: outstanding objects, in the array stackbuf_info
 * @STACKBUF_SNAPSHOT: in files that "stackbuf save" writes, never in memory
 */
enum stackbuf_kind {
	STACKBUF_INFO	= 1,
	STACKBUF_STACKS	= 2,
	STACKBUF_EVENTS	= 3,
	STACKBUF_PROBES	= 4,
	STACKBUF_DEPTHS	= 5,
	STACKBUF_PAIRS	= 6,
	STACKBUF_PAIR_STACKS = 7,
	STACKBUF_PAIR_OPEN = 8,
	STACKBUF_SNAPSHOT = 16,
};

/**
 * struct stackbuf_page - the first 32 bytes of every page except text pages
 * @magic:	~STACKBUF_MAGIC_INVERTED
 * @version:	STACKBUF_VERSION
 * @kind:	enum stackbuf_kind
 * @index:	number of this page in its array
 * @instance:	identifies the load of the module: its CLOCK_REALTIME in ns, equal in all its pages
 * @seq:	in event pages: number of the allocation of this page, counted from 1 over the whole
 *		ring, so higher is newer.  It is 0 while the page is being rebuilt, from before its
 *		events are added to the counts of their stacks until it is ready for new events.  A
 *		copy of a page is valid if @seq was equal, and not 0, before and after copying.  In
 *		other kinds: starts at 1 and increases when a stack is added or evicted, when the
 *		state or the probes change and when a deeper stack is seen, so of two copies in a
 *		memory image the one with the higher @seq is newer; 0 in kept memory
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
#define STACKBUF_FROZEN_PANIC	0x4	/* a panic stopped recording */
#define STACKBUF_UNLOADED	0x8	/* the module was unloaded */
#define STACKBUF_FILTERED	0x10	/* a filter is in force, or an array is being read */
#define STACKBUF_FROZEN_TRIGGER	0x20	/* parameter trigger stopped it */
#define STACKBUF_FROZEN	(STACKBUF_FROZEN_OOPS | STACKBUF_FROZEN_PANIC | STACKBUF_FROZEN_TRIGGER)

/**
 * enum stackbuf_counter - counters of events
 * @STACKBUF_LOST_OFF: not recorded: recording was off or frozen
 * @STACKBUF_LOST_NESTED: not recorded: more than four saves interrupted each other
 * @STACKBUF_LOST_TABLE: not recorded: the table had no room for a new stack
 * @STACKBUF_LOST_PAGE: not recorded: no page of the ring was free
 * @STACKBUF_LOST_EMPTY: not recorded: the unwinder found no frame
 * @STACKBUF_CUT: recorded, with the trace cut at stackbuf_info.frames
 * @STACKBUF_LOST_PRINT: stackbuf_print*() was called in NMI, or with an id that was used before
 * @STACKBUF_WALKED_NEW: recorded by walking: a stack not seen before
 * @STACKBUF_WALKED_ELSEWHERE: recorded by walking: another task's, or one that recall does not know
 * @STACKBUF_WALKED_UNCACHEABLE: recorded by walking: recall cannot be exact for this stack
 * @STACKBUF_WALKED_AGAIN: recorded by walking: the stack was known, but its layout was not
 * @STACKBUF_VERIFIED: recorded by recall, then verified by a walk
 * @STACKBUF_DIFFERED: verified, and recall was wrong; recall is off since then
 * @STACKBUF_EXCLUDED: not recorded: excluded by the parameter pid, cgroup, cpu or comm, or made by
 *	a process that has an array in debugfs open
 * @STACKBUF_NOT_SAMPLED: not recorded: skipped by the parameter every
 * @STACKBUF_OVER_LIMIT: not recorded: the parameter limit was reached
 * @STACKBUF_COUNTERS: number of counters
 *
 * Each CPU counts in slot cpu % STACKBUF_COUNTER_SLOTS; the sum over all slots is the total.
 */
enum stackbuf_counter {
	STACKBUF_LOST_OFF,
	STACKBUF_LOST_NESTED,
	STACKBUF_LOST_TABLE,
	STACKBUF_LOST_PAGE,
	STACKBUF_LOST_EMPTY,
	STACKBUF_CUT,
	STACKBUF_LOST_PRINT,
	STACKBUF_WALKED_NEW,
	STACKBUF_WALKED_ELSEWHERE,
	STACKBUF_WALKED_UNCACHEABLE,
	STACKBUF_WALKED_AGAIN,
	STACKBUF_VERIFIED,
	STACKBUF_DIFFERED,
	STACKBUF_EXCLUDED,
	STACKBUF_NOT_SAMPLED,
	STACKBUF_OVER_LIMIT,
	STACKBUF_COUNTERS = 16
};

#define STACKBUF_COUNTER_PAGES	8
#define STACKBUF_COUNTER_LINES	31	/* slots in a page */
/* The very last slot stays 0 */
#define STACKBUF_COUNTER_SLOTS	(STACKBUF_COUNTER_PAGES * STACKBUF_COUNTER_LINES - 1)

/**
 * struct stackbuf_counters_page - counters, pages 1 to 8 of stackbuf_info
 * @page:	kind STACKBUF_INFO
 * @reserved:	0
 * @slot:	two cache lines per CPU
 */
struct stackbuf_counters_page {
	struct stackbuf_page page;
	__u64 reserved[12];
	__u64 slot[STACKBUF_COUNTER_LINES][STACKBUF_COUNTERS];
};

/**
 * struct stackbuf_filter - which events are recorded; all 0: every event
 * @comm:	events of tasks with this name; "": all
 * @pid:	events of this thread group; 0: all
 * @cpu:	events of this CPU, counted from 1; 0: all
 * @every:	of the events above, on each CPU the first and then every @every-th; 0, 1: all
 * @limit:	of these, at most this number since it was set; 0: all
 * @left:	events until @limit is reached
 * @cgroup:	events of tasks in the cgroup with this id, the inode number of its directory in
 *		cgroup2, and in its descendants; 0: all
 */
struct stackbuf_filter {
	char comm[STACKBUF_COMM_LEN];
	__u32 pid;
	__u32 cpu;
	__u32 every;
	__u32 limit;
	__s64 left;
	__u64 cgroup;
};

/**
 * enum stackbuf_probe_state - state of a probe
 * @STACKBUF_PROBE_NONE: the entry is free
 * @STACKBUF_PROBE_SET: in the code
 * @STACKBUF_PROBE_PENDING: waits for its module
 * @STACKBUF_PROBE_REFUSED: its module was loaded, but the probe could not be set
 */
enum stackbuf_probe_state {
	STACKBUF_PROBE_NONE,
	STACKBUF_PROBE_SET,
	STACKBUF_PROBE_PENDING,
	STACKBUF_PROBE_REFUSED,
};

#define STACKBUF_PROBE_NAME	160

/* Values of stackbuf_probe.tag other than numbers of arguments */
#define STACKBUF_PROBE_RETADDR	255	/* the return address */
#define STACKBUF_PROBE_RETVAL	254	/* the return value */
#define STACKBUF_PROBE_ERROR	253	/* the return value; records errors only */
#define STACKBUF_PROBE_NULL	252	/* the return value; records errors and NULL only */
#define STACKBUF_PROBE_SP	251	/* the stack pointer, unique among calls in progress */
#define STACKBUF_PROBE_TOOK	250	/* duration of the call, ns; may record long calls only */

/**
 * enum stackbuf_probe_way - how a probe is set
 * @STACKBUF_PROBE_BY_KPROBE: by a kprobe
 * @STACKBUF_PROBE_BY_FTRACE: by ftrace, at the beginning of each function that matches
 * @STACKBUF_PROBE_BY_TRACEPOINT: on a tracepoint
 * @STACKBUF_PROBE_BY_RETURN: where each function that matches returns
 */
enum stackbuf_probe_way {
	STACKBUF_PROBE_BY_KPROBE,
	STACKBUF_PROBE_BY_FTRACE,
	STACKBUF_PROBE_BY_TRACEPOINT,
	STACKBUF_PROBE_BY_RETURN,
};

/**
 * struct stackbuf_probe - one probe
 * @addr:	the address probed, at which its traces begin; 0: none, or several
 * @missed:	hits that were not handled.  A kprobe misses hits inside another kprobe's handler;
 *		its count is as of its last hit.  A function's probe misses hits inside a save in
 *		the same context, or on entry to an interrupt of that save
 * @functions:	functions that it is attached to; 1 for a kprobe
 * @left_out:	functions that its pattern has matched so far, but that the kernel does not allow
 *		to be traced, or that a save itself calls
 * @state:	enum stackbuf_probe_state
 * @tag:	argument kept as the tag, counted from 1; STACKBUF_PROBE_RETADDR etc.; or 0: none
 * @way:	enum stackbuf_probe_way
 * @lists:	for the module only
 * @how:	for the module only
 * @pair:	number of its pair, from 1; 0: it belongs to the parameter probe or trigger
 * @role:	in the pair: STACKBUF_PAIR_OPENS or STACKBUF_PAIR_CLOSES; STACKBUF_TRIGGERS; or 0
 * @value:	for the module only
 * @name:	as the user wrote it, NUL-terminated.  If only the name is set, the trigger that
 *		stopped recording was removed since
 */
struct stackbuf_probe {
	__u64 addr;
	__u64 missed;
	__u32 functions;
	__u32 left_out;
	__u8 state;
	__u8 tag;
	__u8 way;
	__u8 lists;
	__u8 how;
	__u8 pair;
	__u8 role;
	__u8 value;
	char name[STACKBUF_PROBE_NAME];
};

#define STACKBUF_PROBE_PAGES	(48 * STACKBUF_WITH_PROBES)
#define STACKBUF_PAGE_PROBES	21
#define STACKBUF_PROBES_MAX	(STACKBUF_PROBE_PAGES * STACKBUF_PAGE_PROBES)

/**
 * struct stackbuf_probes_page - probes, pages of stackbuf_info after the counters
 * @page:	kind STACKBUF_PROBES, index as page of stackbuf_info
 * @probe:	the probes; free entries may lie between them
 * @reserved:	0
 */
struct stackbuf_probes_page {
	struct stackbuf_page page;
	struct stackbuf_probe probe[STACKBUF_PAGE_PROBES];
	__u64 reserved[4];
};

/**
 * struct stackbuf_depth - the deepest stack seen from one place
 * @origin:	the place: address at which its traces begin; 0: the entry is free
 * @seq:	odd while the entry is written; a copy is valid if @seq was equal, and even, before
 *		and after
 * @bytes:	from the stack pointer there to the end of the task's stack; 0: none yet
 * @id:		id of the stack, which may have been evicted from the table
 * @nr:		frames in @frame
 * @cut:	there were more frames, or their place is not known
 * @stale:	code that a frame is in has been unloaded, so other code may be there now
 * @reserved:	0
 * @words:	from the stack pointer in each frame to the end, in units of 8 bytes
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
	__u8 stale;
	__u8 reserved;
	__u16 words[STACKBUF_DEPTH_MAX];
	__u32 frame[STACKBUF_DEPTH_MAX];
};

#define STACKBUF_DEPTH_PAGES	(58 * STACKBUF_WITH_DEEPEST)
#define STACKBUF_PAGE_DEPTHS	5
#define STACKBUF_DEPTHS_MAX	(STACKBUF_DEPTH_PAGES * STACKBUF_PAGE_DEPTHS)

/**
 * struct stackbuf_depths_page - deepest stacks, pages of stackbuf_info after the probes
 * @page:	kind STACKBUF_DEPTHS, index as page of stackbuf_info
 * @depth:	the deepest stacks; free entries may lie between them
 * @reserved:	0
 */
struct stackbuf_depths_page {
	struct stackbuf_page page;
	struct stackbuf_depth depth[STACKBUF_PAGE_DEPTHS];
	__u64 reserved[13];
};

#define STACKBUF_PAIR_OPENS	1	/* in stackbuf_probe.role */
#define STACKBUF_PAIR_CLOSES	2
#define STACKBUF_TRIGGERS	3	/* not in a pair: a hit stops recording */

/**
 * struct stackbuf_pair - probes that open objects and probes that close them
 * @refused:	objects not opened, as no event was recorded or the table was full; arrays not
 *		closed, as they were too long; and 1 for each time that recording was off
 * @reopened:	objects opened while they were open: they had been closed where no probe is
 * @unmatched:	closes of objects that were not open, such as those opened before the pair was set
 * @time:	when it was set, ns, on the clock of events
 * @probes:	number of its probes
 * @parts:	blocks of pages that were partly freed, so that the rest is no longer tracked, and
 *		batches of pages that compaction moved (1 each), whose contents are then open
 *		elsewhere;
 *		2^32 - 1: that number or more
 * @early:	tasks woken before they were switched out; they were opened, but no time is counted
 * @name:	as the user wrote it, NUL-terminated; "": the entry is free
 *
 * The probes of a pair count the hits that they missed.
 */
struct stackbuf_pair {
	__u64 refused;
	__u64 reopened;
	__u64 unmatched;
	__u64 time;
	__u32 probes;
	__u32 parts;
	__u64 early;
	char name[352];
};

#define STACKBUF_PAIRS_MAX	10

/**
 * struct stackbuf_pairs_page - pairs, the page of stackbuf_info after the deepest stacks
 * @page:	kind STACKBUF_PAIRS, index as page of stackbuf_info
 * @pair:	the pairs: number n is in @pair[n - 1]
 * @reserved:	0
 */
struct stackbuf_pairs_page {
	struct stackbuf_page page;
	struct stackbuf_pair pair[STACKBUF_PAIRS_MAX];
	__u64 reserved[8];
};

/* Times are counted by powers of two: below 128 ns, below 256 ns, ..., 2^33 ns (8.6 s) or more */
#define STACKBUF_PAIR_TIMES	28
#define STACKBUF_PAIR_TIME_BITS	6

/**
 * struct stackbuf_pair_stack - times of objects that one stack opened, or closed with @here, in one
 *	pair
 * @stack:	id of the stack, which stays in the table; the number of the pair from bit 32 up;
 *		0: the entry is free
 * @sum:	sum of the times from open to close, ns
 * @longest:	longest of these times, ns
 * @closed:	number of closed objects, by time
 * @reserved:	0
 */
struct stackbuf_pair_stack {
	__u64 stack;
	__u64 sum;
	__u64 longest;
	__u64 closed[STACKBUF_PAIR_TIMES];
	__u64 reserved;
};

#define STACKBUF_PAGE_PAIR_STACKS	15

/**
 * struct stackbuf_pair_stacks_page - stacks that opened objects
 * @page:	kind STACKBUF_PAIR_STACKS, index as page of stackbuf_info
 * @reserved:	0
 * @stack:	the stacks; free entries may lie between them
 */
struct stackbuf_pair_stacks_page {
	struct stackbuf_page page;
	__u64 reserved[28];
	struct stackbuf_pair_stack stack[STACKBUF_PAGE_PAIR_STACKS];
};

#define STACKBUF_PAIR_IN_DOUBT	0x80000000U	/* in stackbuf_pair_object.stack */

/**
 * struct stackbuf_pair_object - an outstanding object, beside its key
 * @time:	when it was opened, ns, on the clock of events
 * @value:	its size, for instance
 * @stack:	number of its struct stackbuf_pair_stack, counted over all pages from 1; 0 while it
 *		is written or closed; with STACKBUF_PAIR_IN_DOUBT if its task may already be awake
 * @uses:	for the module only
 */
struct stackbuf_pair_object {
	__u64 time;
	__u64 value;
	__u32 stack;
	__u32 uses;
};

#define STACKBUF_PAIR_BUCKET	8

/**
 * struct stackbuf_pair_bucket - some outstanding objects, in no order
 * @key:	identifies each object; 0: the place is free
 * @object:	the object of each key
 */
struct stackbuf_pair_bucket {
	__u64 key[STACKBUF_PAIR_BUCKET];
	struct stackbuf_pair_object object[STACKBUF_PAIR_BUCKET];
};

#define STACKBUF_PAGE_PAIR_BUCKETS	15

/**
 * struct stackbuf_pair_open_page - outstanding objects
 * @page:	kind STACKBUF_PAIR_OPEN, index as page of stackbuf_info
 * @reserved:	0
 * @bucket:	the objects
 */
struct stackbuf_pair_open_page {
	struct stackbuf_page page;
	__u64 reserved[28];
	struct stackbuf_pair_bucket bucket[STACKBUF_PAGE_PAIR_BUCKETS];
};

/* The first page holds the pairs, a quarter of all pages the stacks, the rest the open objects */
#define STACKBUF_PAIR_PAGES		(STACKBUF_PAIRS_KB / 4)
#define STACKBUF_PAIR_STACK_PAGES(pages)	((pages) / 4)
union stackbuf_pair_page {
	struct stackbuf_page page;
	struct stackbuf_pairs_page pairs;
	struct stackbuf_pair_stacks_page stacks;
	struct stackbuf_pair_open_page open;
};

#define STACKBUF_MODULES	32

/**
 * struct stackbuf_module - a module that was loaded while stackbuf was loaded
 * @time:	when it was loaded, before its code ran: ns, on the clock of events; 0: free entry
 * @build_id:	its build id, all 0 if unknown
 * @name:	its name, NUL-terminated
 */
struct stackbuf_module {
	__u64 time;
	__u8 build_id[STACKBUF_BUILD_ID_LEN];
	char name[60];
};

/**
 * struct stackbuf_info - the first page that a reader needs, at symbol stackbuf_info
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
 * @base_addr:		virtual address of the kernel's function @base_symbol.  Frames are
 *			stored as distances from it.  Its distance from that symbol in
 *			vmlinux is the offset of KASLR
 * @base_symbol:	name of that function, NUL-terminated
 * @load_ns:		time of loading, ns, on the clock of events and printk
 * @load_realtime_ns:	the same instant on CLOCK_REALTIME, ns
 * @stop_ns:		time when recording stopped, ns; 0 before
 * @nr_cpus:		CPUs that the kernel may bring up
 * @id_bits:		low bits of a stack's id that hold its granule number (page index * 64 +
 *			granule in page); the bits above count the generations of eviction, and
 *			wrap: see STACKBUF_STACK_AGAIN
 * @overwritten:	events overwritten in the ring
 * @evicted:		stacks evicted from the table
 * @evicted_events:	overwritten events that these stacks had counted
 * @text_overwritten:	records overwritten in the text log
 * @text_given_up:	stacks that were evicted, or whose code was freed, before they had a record
 *			in the text log
 * @module_srcversion:	srcversion of stackbuf.ko, "" if unknown
 * @release:		uname -r of the running kernel
 * @kernel_version:	uname -v
 * @filter:		which events are recorded
 * @missed_before:	hits missed by probes that were removed since
 * @depths_full:	walks whose depth was not compared, as @depth had no free entry
 * @module_build_id:	build id of stackbuf.ko, all 0 if unknown
 * @modules_loaded:	modules that were loaded since @load_ns; number n, counted from 0, is
 *			in @module[n % STACKBUF_MODULES]
 * @module:		the modules that were loaded last
 * @module_version:	version of stackbuf.ko, "" if unknown
 * @frames:		most frames kept of one trace; a longer trace is cut there
 * @pair_pages:		number of pages of pairs, at the end of stackbuf_info
 * @trigger:		number of the probe whose hit stops recording, counted from 1; 0: none yet
 * @trigger_left:	events to record from that hit to the stop, as set at the hit
 * @trigger_ns:		time of that hit, ns
 * @expedited:		expedited grace periods for eviction, which interrupt all busy CPUs
 * @kept_at:		physical address of this record's copy in kept memory; 0: none
 * @kept_size:		bytes of kept memory (parameter keep)
 * @reserved:		0
 * @counter:		counters
 * @probe:		probes
 * @depth:		deepest stacks
 * @pair:		pairs: @pair_pages pages; the array is empty when a client compiles this
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
	__u64 text_given_up;
	char module_srcversion[32];
	char release[72];
	char kernel_version[72];
	struct stackbuf_filter filter;
	__u64 missed_before;
	__u64 depths_full;
	__u8 module_build_id[STACKBUF_BUILD_ID_LEN];
	__u32 modules_loaded;
	struct stackbuf_module module[STACKBUF_MODULES];
	char module_version[16];
	__u32 frames;
	__u32 pair_pages;
	__u32 trigger;
	__u32 trigger_left;
	__u64 trigger_ns;
	__u64 expedited;
	__u64 kept_at;
	__u64 kept_size;
	__u8 reserved[736];
	struct stackbuf_counters_page counter[STACKBUF_COUNTER_PAGES];
	struct stackbuf_probes_page probe[STACKBUF_PROBE_PAGES];
	struct stackbuf_depths_page depth[STACKBUF_DEPTH_PAGES];
	union stackbuf_pair_page pair[STACKBUF_PAIR_PAGES];
};

/**
 * struct stackbuf_stacks_page - 4 KiB of the stack table
 * @page:	kind STACKBUF_STACKS
 * @used:	bit n set: granule n (the 64 bytes at n * 64) is in use; bit 0,
 *		this header, is always set
 * @base_addr:	as in stackbuf_info, so that a page can be decoded without stackbuf_info
 * @id_bits:	as in stackbuf_info
 * @reserved:	0
 * @pending:	for the module only: bit n set: the stack at granule n has no text yet
 * @granule:	stacks; each takes consecutive granules
 */
struct stackbuf_stacks_page {
	struct stackbuf_page page;
	__u64 used;
	__u64 base_addr;
	__u32 id_bits;
	__u32 reserved;
	__u64 pending;
	__u8 granule[63][64];
};

/**
 * DOC: flags of a stack
 *
 * STACKBUF_STACK_CUT: the trace had more frames.
 *
 * STACKBUF_STACK_TEXT: the text log has or had its record.  A worker renders it soon after the
 * stack was first seen; until then readers must look up symbols to name its frames.
 *
 * STACKBUF_STACK_EVICTING: for the module only.
 *
 * STACKBUF_STACK_AGAIN: the numbers above id_bits have wrapped, so an older stack may have had
 * this id.
 *
 * STACKBUF_STACK_STALE: the code of a frame was freed, and other code may now be at its address.
 * If equal frames are recorded later, they are a different stack.  Only the text log has the right
 * names.
 *
 * STACKBUF_STACK_FIRST: struct stackbuf_first follows the frames, see stackbuf_first().
 */
#define STACKBUF_STACK_CUT	0x1
#define STACKBUF_STACK_TEXT	0x2
#define STACKBUF_STACK_EVICTING	0x4
#define STACKBUF_STACK_AGAIN	0x8
#define STACKBUF_STACK_STALE	0x10
#define STACKBUF_STACK_FIRST	0x20

/**
 * struct stackbuf_stack - one distinct stack, at the start of a granule
 * @id:		its id; 0 while it is written or evicted.  Valid only if its low id_bits are the
 *		number of this granule
 * @nr:		number of frames, 1 to STACKBUF_DEPTH_MAX
 * @flags:	STACKBUF_STACK_CUT etc.
 * @words:	number of u32 in @frames
 * @hash:	stackbuf_hash() of @frames; a torn copy does not match it
 * @next:	for the module only
 * @count:	events of this stack that are no longer in the ring, so that
 *		its total is @count + its events in the ring
 * @seen:	@seq of the page of its first event, or of the newest event counted in @count
 * @frames:	return addresses, innermost first.  One word holds the signed 32-bit distance from
 *		stackbuf_info.base_addr; an address that does not fit takes three words:
 *		STACKBUF_FRAME_FAR, then its low and its high half
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
 * enum stackbuf_origin - what a stack begins with
 * @STACKBUF_AT_CALL: a return address, or the instruction pointer of registers
 * @STACKBUF_AT_EVENT: a return address at a tracepoint that has a probe
 * @STACKBUF_AT_PROBE: the address of a probe, which is not a return address
 */
enum stackbuf_origin {
	STACKBUF_AT_CALL,
	STACKBUF_AT_EVENT,
	STACKBUF_AT_PROBE,
};

/**
 * struct stackbuf_first - the first event of a stack, after its frames
 * @time:	ns, printk's clock; 0: the rest is not yet written
 * @cpu:	the CPU that recorded it
 * @uncacheable:	1: recall could not be exact when this stack was last walked
 * @origin:	enum stackbuf_origin
 * @pid:	PID of its task in the initial namespace
 * @comm:	the task's command, NUL-terminated
 */
struct stackbuf_first {
	__u64 time;
	__u16 cpu;
	__u8 uncacheable;
	__u8 origin;
	__u32 pid;
	char comm[STACKBUF_COMM_LEN];
};

/**
 * stackbuf_stack_bytes() - size of a stack in the table
 * @words:	its @words
 * @flags:	its @flags
 *
 * Context: Any context.
 * Return: size in bytes, including the padding after the frames.
 */
static inline unsigned int stackbuf_stack_bytes(unsigned int words, unsigned int flags)
{
	unsigned int bytes = sizeof(struct stackbuf_stack) + words * sizeof(__u32);

	return flags & STACKBUF_STACK_FIRST ?
		(bytes + 7) / 8 * 8 + sizeof(struct stackbuf_first) : bytes;
}

/**
 * stackbuf_first() - find the first event of a stack
 * @stack:	a stack with STACKBUF_STACK_FIRST
 *
 * Context: Any context.
 * Return: its struct stackbuf_first.
 */
static inline struct stackbuf_first *stackbuf_first(const struct stackbuf_stack *stack)
{
	return (struct stackbuf_first *)((char *)stack - sizeof(struct stackbuf_first) +
		stackbuf_stack_bytes(stack->words, STACKBUF_STACK_FIRST));
}

/**
 * stackbuf_hash() - the hash of an encoded stack
 * @frames:	encoded frames
 * @words:	number of u32 in @frames
 * @cut:	nonzero if the trace was cut at the limit
 *
 * Context: Any context.
 * Return: 32-bit hash, part of the format.
 */
static inline __u32 stackbuf_hash(const __u32 *frames, unsigned int words, int cut)
{
	__u32 h = cut ? 0x9747b28cU : 0x2545f491U;

	/* The multiplication spreads a frame to higher bits, the shift to lower ones */
#pragma GCC unroll 8
	while (words--) {
		h = (h ^ *frames++) * 0x9e3779b1U;
		h ^= h >> 15;
	}
	return h;
}

/**
 * stackbuf_decode_frame() - decode the first of a stack's frames
 * @frames:	encoded frames; any values are accepted
 * @left:	number of u32 in @frames, not 0
 * @base_addr:	as in struct stackbuf_info
 * @addr:	set to the return address
 *
 * Context: Any context.
 * Return: number of u32 that the frame takes, 1 or 3; 0 if it takes more than @left.
 */
static inline unsigned int stackbuf_decode_frame(const __u32 *frames, unsigned int left,
						 __u64 base_addr, __u64 *addr)
{
	__u32 word = frames[0];

	if (word != STACKBUF_FRAME_FAR) {
		*addr = base_addr + (__s64)(__s32)word;
		return 1;
	}
	if (left < 3)
		return 0;
	*addr = frames[1] | (__u64)frames[2] << 32;
	return 3;
}

/**
 * DOC: events
 *
 * An event is one, two or five 64-bit words.  The first:
 *
 *   bits  0..31   id of the stack, never 0
 *   bits 32..58   time, low 27 bits, ns
 *   bits 59..60   context: STACKBUF_TASK, _SOFTIRQ, _HARDIRQ, _NMI
 *   bits 61..62   form: STACKBUF_SHORT, _TAGGED, _FULL
 *   bit  63       being written: skip the event; its form, and so its length, is valid
 *
 * A word of 0 ends the page.
 *
 *   SHORT    1 word.  Time: ns since the previous event in the page.  Task:
 *            that of the previous event.  No tag.
 *   TAGGED   2 words, the second is the tag.  Otherwise like SHORT.
 *   FULL     5 words: first word, tag, task, comm (two words).
 *            task: bits 0..21 PID, 22..43 TGID (both in the initial
 *            namespace), 44..62 time, high 19 bits; bit 63: the event has a tag.
 *            Time: ns since the page's base time.  comm: 16 bytes, ended by a NUL.
 *
 * An event is FULL if it is the first in its page, if an NMI that interrupted an append recorded
 * it, if it follows such an event, if its task or CPU is another one, or if it is 2^27 ns or more
 * after the previous event.
 *
 * The words after the first are stored before bit 63 is cleared.  A page whose
 * base time is 2^46 ns or more ago, or in the future, is closed.
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

/**
 * enum stackbuf_form - the form of an event, see above
 * @STACKBUF_SHORT: one word
 * @STACKBUF_TAGGED: two words, with a tag
 * @STACKBUF_FULL: five words, with a task
 */
enum stackbuf_form {
	STACKBUF_SHORT	= 1,
	STACKBUF_TAGGED	= 2,
	STACKBUF_FULL	= 3,
};

/**
 * enum stackbuf_context - the context that the code under study ran in
 * @STACKBUF_TASK: a task
 * @STACKBUF_SOFTIRQ: a softirq
 * @STACKBUF_HARDIRQ: a hardirq
 * @STACKBUF_NMI: an NMI
 */
enum stackbuf_context {
	STACKBUF_TASK,
	STACKBUF_SOFTIRQ,
	STACKBUF_HARDIRQ,
	STACKBUF_NMI,
};

/**
 * stackbuf_event_form() - the form of an event
 * @word:	its first word
 *
 * Context: Any context.
 * Return: enum stackbuf_form; 0 if no event begins with this word.
 */
static inline unsigned int stackbuf_event_form(__u64 word)
{
	return word >> STACKBUF_EVENT_FORM_SHIFT & 3;
}

/**
 * stackbuf_event_words() - number of words in an event
 * @word:	its first word
 *
 * Context: Any context.
 * Return: 1, 2 or 5; 1 if no event begins with this word, so that a loop over any words ends.
 */
static inline unsigned int stackbuf_event_words(__u64 word)
{
	/* One hexadecimal digit per form: the module does this for every event of a page */
	return 0x5211 >> 4 * stackbuf_event_form(word) & 7;
}

#define STACKBUF_EVENT_WORDS	504

/**
 * struct stackbuf_events_page - 4 KiB of the event ring, all of one CPU
 * @page:	kind STACKBUF_EVENTS; @page.seq is 0 in a page never used
 * @first:	events that this CPU had recorded before this page: a gap between two of its
 *		pages counts the events overwritten between them.  The total of all CPUs is
 *		stackbuf_info.overwritten + the events in the ring
 * @time:	base time, ns, printk's clock
 * @cpu:	the CPU that recorded these events
 * @owner:	@cpu + 1 while the page is open: events may be added, and it is not reused.  Its
 *		CPU sets @owner to 0 to close it, or the module does if that CPU is offline.
 *		0xffffffff: the module is clearing the page
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

/**
 * struct stackbuf_event - an event, decoded
 * @time:	ns, within 300 ns of printk's clock
 * @tag:	the tag, or 0
 * @id:		id of its stack
 * @pid:	PID of its task in the initial namespace
 * @tgid:	TGID of its task in the initial namespace
 * @cpu:	stackbuf_events_page.cpu
 * @context:	enum stackbuf_context
 * @tagged:	there is a tag
 * @comm:	the task's command
 */
struct stackbuf_event {
	__u64 time;
	__u64 tag;
	__u32 id;
	__u32 pid;
	__u32 tgid;
	__u32 cpu;
	__u8 context;
	__u8 tagged;
	char comm[STACKBUF_COMM_LEN];
};

/**
 * stackbuf_decode_event() - decode an event
 * @event:	the previous event in the page, replaced by the decoded one; may hold anything
 *		before the page's first event, which is FULL
 * @page:	the page
 * @pos:	index of the event's first word in @page.  STACKBUF_EVENT_WRITING must be clear, and
 *		all of its stackbuf_event_words() must be in the page
 *
 * Context: Any context.
 */
static inline void stackbuf_decode_event(struct stackbuf_event *event,
					 const struct stackbuf_events_page *page, unsigned int pos)
{
	const __u64 *at = &page->word[pos];
	const __u64 time_mask = (1ULL << STACKBUF_EVENT_TIME_BITS) - 1;
	const __u32 pid_mask = (1U << STACKBUF_TASK_PID_BITS) - 1;
	__u64 word = at[0], time = word >> STACKBUF_EVENT_TIME_SHIFT & time_mask;

	event->id = (__u32)word;
	event->cpu = page->cpu;
	event->context = word >> STACKBUF_EVENT_CONTEXT_SHIFT & 3;
	event->tagged = stackbuf_event_form(word) == STACKBUF_TAGGED;
	if (stackbuf_event_form(word) == STACKBUF_FULL) {
		__u64 task = at[2], high = task >> STACKBUF_TASK_TIME_SHIFT &
					   ((1U << STACKBUF_TASK_TIME_BITS) - 1);

		event->time = page->time + (high << STACKBUF_EVENT_TIME_BITS | time);
		event->tagged = !!(task & STACKBUF_TASK_TAGGED);
		event->pid = task & pid_mask;
		event->tgid = task >> STACKBUF_TASK_TGID_SHIFT & pid_mask;
		__builtin_memcpy(event->comm, &at[3], STACKBUF_COMM_LEN);
	} else {
		event->time += time;
	}
	event->tag = event->tagged ? at[1] : 0;
}

/**
 * DOC: text log
 *
 * Every page begins with a line that identifies it:
 *
 *   stackbuf text v2 page 3/256 seq 259 instance 0123456789abcdef
 *
 * then whole records, then spaces and a newline up to the end of the page, or
 * NULs in the newest page of the first lap.  A NUL elsewhere means that a record was being
 * copied there.  At every instant each record before a NUL is whole.  A reader that copies a page
 * while the log is written copies it twice: bytes that differ were being written.  A record:
 *
 *   stack 66 [  618.059960] CPU: 2 PID: 1234 Comm: insmod
 *   stackbuf_init+0x1a/0xeda [stackbuf]
 *   do_one_initcall+0x46/0x1e0
 *
 * The first line has the id, and the time, CPU and task of the first event; then one line per frame
 * follows, as %pS prints it.  If the trace was cut or did not fit a page, a line that begins with
 * "(" follows.  Bytes of comm that are not printable are shown as '?'.
 */
#define STACKBUF_TEXT_PAGE_PRINT	"stackbuf text v%u page %u/%u seq %llu instance %016llx\n"
#define STACKBUF_TEXT_PAGE_SCAN		"stackbuf text v%u page %u/%u seq %llu instance %16llx"
#define STACKBUF_TEXT_RECORD_PRINT	"stack %u [%5lu.%06lu] CPU: %u PID: %d Comm: %s\n"

static_assert(sizeof(struct stackbuf_page) == 32, "page header");
static_assert(sizeof(struct stackbuf_counters_page) == STACKBUF_PAGE_SIZE, "loss page");
static_assert(sizeof(struct stackbuf_probes_page) == STACKBUF_PAGE_SIZE, "probes page");
static_assert(sizeof(struct stackbuf_depths_page) == STACKBUF_PAGE_SIZE, "depths page");
static_assert(sizeof(struct stackbuf_module) == 88, "module");
static_assert(sizeof(struct stackbuf_info) ==
	      (1 + STACKBUF_COUNTER_PAGES + STACKBUF_PROBE_PAGES + STACKBUF_DEPTH_PAGES +
	       STACKBUF_PAIR_PAGES) * STACKBUF_PAGE_SIZE, "info pages");
static_assert(sizeof(struct stackbuf_pairs_page) == STACKBUF_PAGE_SIZE, "pairs page");
static_assert(sizeof(struct stackbuf_pair_stacks_page) == STACKBUF_PAGE_SIZE, "pair stacks page");
static_assert(sizeof(struct stackbuf_pair_open_page) == STACKBUF_PAGE_SIZE, "pair open page");
static_assert(sizeof(struct stackbuf_stacks_page) == STACKBUF_PAGE_SIZE, "stacks page");
static_assert(sizeof(struct stackbuf_stack) == 32, "stack");
static_assert(sizeof(struct stackbuf_first) == 32, "first event");
static_assert(sizeof(struct stackbuf_events_page) == STACKBUF_PAGE_SIZE, "events page");

#ifdef __KERNEL__
/* The arrays, see above */
extern char stackbuf[] __aligned(STACKBUF_PAGE_SIZE);
extern struct stackbuf_info stackbuf_info __aligned(STACKBUF_PAGE_SIZE);
extern struct stackbuf_events_page stackbuf_events[] __aligned(STACKBUF_PAGE_SIZE);
extern struct stackbuf_stacks_page stackbuf_stacks[] __aligned(STACKBUF_PAGE_SIZE);
#endif

#endif /* STACKBUF_FORMAT_H */
