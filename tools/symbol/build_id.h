/* SPDX-License-Identifier: GPL-2.0 */
/*
 * build_id.h - build ids of the kernel and of modules that ran
 */
#ifndef BUILD_ID_H
#define BUILD_ID_H

#include "record/parse.h"

/* Hexadecimal digits of the longest id */
#define BUILD_ID_DIGITS	128

/* The id of what ran */
struct build_id {
	char *module;	/* its name, "" for the kernel itself */
	char *hex;	/* the id in hexadecimal digits, "" if unknown */
	u64 since;	/* when it was loaded, ns since boot; 0: it is what was loaded last */
};

/* Ids of what ran */
struct build_ids {
	struct build_id *id;
	size_t nr;
	/* Loads of modules before this time are unknown, ns since boot; 0: all are known */
	u64 from;
};

/* Hexadecimal digits of @len bytes, to be freed */
char *build_id_hex(const void *bytes, size_t len);

/* The build id in a file of notes, as sysfs has them: digits to be freed, NULL if there is none */
char *build_id_of_notes(const char *path);

/* Add the id of what was loaded last, unless it is malformed or the module has one already */
void build_ids_add(struct build_ids *ids, const char *module, const char *hex);

/* Add those in the record itself: stackbuf.ko's, and of modules that were loaded after it */
void build_ids_record(struct build_ids *ids, const struct stackbuf_info *info);

/* Add those of the kernel that runs here and of its modules */
void build_ids_running(struct build_ids *ids);

/* Add those in a snapshot's page: lines "kernel-id HEX" and "module-id NAME HEX" */
void build_ids_snapshot(struct build_ids *ids, const char *text);

/* The id of what ran at @time, ns since boot or 0 if unknown: digits, or NULL if unknown */
const char *build_ids_find(const struct build_ids *ids, const char *module, u64 time);

void build_ids_free(struct build_ids *ids);

#endif
