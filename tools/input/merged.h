/* SPDX-License-Identifier: GPL-2.0 */
/*
 * merged.h - records of many machines in one file; docs/format.md describes it
 *
 * Reads what "stackbuf merge" writes.  It trusts no byte of the file.
 */
#ifndef MERGED_H
#define MERGED_H

#include <jansson.h>
#include "record/filter.h"
#include "record/parse.h"

/* The file begins with this, and the version in digits and a newline */
#define MERGED_MAGIC	"stackbuf merged "
#define MERGED_VERSION	1

/* A block: its kind, the CRC-32 of its data, and their length; the data follow */
struct merged_block {
	char kind[4];
	u32 crc;
	u64 len;
};

/* A host's blocks in the order in which they come; the file ends with MERGED_END */
enum merged_kind {
	MERGED_FRAMES, MERGED_STACKS, MERGED_HOST, MERGED_TOTALS, MERGED_TASKS, MERGED_EVENTS,
	MERGED_END, MERGED_KINDS
};

extern const char merged_kind[MERGED_KINDS][5];

/* Flags of a stack, and the bits of an event's first number */
#define MERGED_CUT		1
#define MERGED_GONE		2
#define MERGED_TAGGED		1
#define MERGED_CONTEXT_SHIFT	1
#define MERGED_STACK_SHIFT	3

/* A build of frames that are equal to none of another load of the module */
#define MERGED_LOAD	"load:"

struct merged_part {
	const u8 *data;
	u64 len;
};

/**
 * struct merged_stack - a stack
 * @first: of its frames in merged.index
 * @nr: how many frames
 * @flags: MERGED_CUT and MERGED_GONE
 */
struct merged_stack {
	size_t first;
	u32 nr, flags;
};

/**
 * struct merged_host - one record in the file
 * @part: its blocks; those of frames and stacks hold what no host before had
 * @info: what "info --json" says of the record, with the key "host"
 * @frames: how many frames this host and those before have
 * @stacks: how many stacks
 */
struct merged_host {
	struct merged_part part[MERGED_KINDS];
	json_t *info;
	size_t frames, stacks;
};

/**
 * struct merged_total - the events of a stack on one host
 * @stack: number of the stack in the file
 * @origin: where the names of its frames came from
 * @count: events that the record only counted
 * @in_ring: events that follow one by one
 */
struct merged_total {
	u32 stack;
	enum name_origin origin;
	u64 count, in_ring;
};

/**
 * struct merged - a file that was read
 * @data: the file
 * @size: bytes of it
 * @mapped: it is to be unmapped
 * @frame: frames: "BUILD NAME", not terminated
 * @stack: stacks
 * @index: numbers of their frames
 * @host: the records
 * @error: one line that says what is wrong
 */
struct merged {
	const u8 *data;
	size_t size;
	bool mapped;
	struct merged_part *frame;
	size_t frames, frame_room;
	struct merged_stack *stack;
	size_t stacks, stack_room;
	u32 *index;
	size_t indices, index_room;
	struct merged_host *host;
	size_t hosts, host_room;
	char error[512];
};

/* Does the file begin as one of any version? */
bool merged_is(const char *path);

/* Return 0, or -1 with m->error set, which names the file.  To be closed in both cases */
int merged_open(struct merged *m, const char *path);
int merged_parse(struct merged *m, const char *name, const void *data, size_t size);
void merged_close(struct merged *m);

/* Take a number from @p, or a total.  Return false at the end, or if what follows makes no sense */
bool merged_number(struct merged_part *p, u64 *value);
bool merged_total(const struct merged_host *h, struct merged_part *p, struct merged_total *t);

/* A number or string of a host's information: 0 and "" if it is missing */
u64 merged_info_number(const struct merged_host *h, const char *key);
const char *merged_info_text(const struct merged_host *h, const char *key);

/*
 * Put hosts, stacks and totals into a record, of the hosts that @hosts chooses: a list as
 * "web*,!web7"; NULL: of all.  Return 0, or -1 with m->error set.
 */
int merged_record(struct merged *m, const char *hosts, struct record *r);

/* The events of all hosts of a record, by time */
struct merged_events;
struct merged_events *merged_events(const struct merged *m, const struct record *r);
bool merged_next(struct merged_events *all, struct stackbuf_event *e);
void merged_events_free(struct merged_events *all);

#endif
