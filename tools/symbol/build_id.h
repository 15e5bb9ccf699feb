/* SPDX-License-Identifier: GPL-2.0 */
/*
 * buildid.h - build ids of the kernel and of modules that ran
 */
#ifndef BUILDID_H
#define BUILDID_H

#include "record/parse.h"

/* Hexadecimal digits of the longest id */
#define BUILD_ID_DIGITS	128

/**
 * struct build_id - the id of what ran
 * @module: its name, "" for the kernel itself
 * @hex: the id in hexadecimal digits, "" if unknown
 * @since: when it was loaded, ns since boot; 0: what is loaded last
 */
struct build_id {
	char *module, *hex;
	u64 since;
};

/**
 * struct build_ids - ids of what ran
 * @id: the ids
 * @nr: how many
 * @room: how many fit @id
 * @from: loads of modules before this time are not known; 0: all are, ns since boot
 */
struct build_ids {
	struct build_id *id;
	size_t nr, room;
	u64 from;
};

/* Hexadecimal digits of @len bytes, to be freed */
char *build_id_hex(const void *bytes, size_t len);

/* Of a file of notes, as sysfs has them: to be freed; NULL if there is none */
char *build_id_of_notes(const char *path);

/* What is loaded last: the first such id of a module counts.  Takes none that makes no sense */
void build_ids_add(struct build_ids *ids, const char *module, const char *hex);

/* Those in the record itself: stackbuf.ko's, and modules that were loaded after it */
void build_ids_record(struct build_ids *ids, const struct stackbuf_info *info);

/* Those of the kernel that runs here and of the modules that it has loaded */
void build_ids_running(struct build_ids *ids);

/* Those in the text of a snapshot's page: lines "kernel-id HEX" and "module-id NAME HEX" */
void build_ids_snapshot(struct build_ids *ids, const char *text);

/* What ran at a time, in ns since boot, or 0 if that is unknown: digits, or NULL if unknown */
const char *build_ids_find(const struct build_ids *ids, const char *module, u64 time);

void build_ids_free(struct build_ids *ids);

#endif
