// SPDX-License-Identifier: GPL-2.0
/*
 * build_id.c - build ids of the recorded kernel and modules
 */
#include <dirent.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "symbol/symbols.h"

char *build_id_hex(const void *bytes, size_t len)
{
	char *hex = xcalloc(2 * len + 1, 1);
	size_t i;

	for (i = 0; i < len; i++)
		sprintf(hex + 2 * i, "%02x", ((const u8 *)bytes)[i]);
	return hex;
}

char *build_id_of_notes(const char *path)
{
	FILE *f = fopen(path, "re");
	char notes[4096] = "";
	size_t n = f ? fread(notes, 1, sizeof(notes), f) : 0, len;
	const char *id = note_find(notes, n, ELF_NOTE_GNU, NT_GNU_BUILD_ID, &len);

	if (f)
		fclose(f);
	return id ? build_id_hex(id, len) : NULL;
}

static void add(struct build_ids *ids, const char *module, const char *hex, u64 since)
{
	GROW(ids->id, ids->nr);
	ids->id[ids->nr++] = (struct build_id){ xstrdup(module), xstrdup(hex), since };
}

void build_ids_add(struct build_ids *ids, const char *module, const char *hex)
{
	size_t len = strlen(hex), i;

	if (!len || len % 2 || len > BUILD_ID_DIGITS || strspn(hex, "0123456789abcdef") < len)
		return;
	for (i = 0; i < ids->nr; i++)
		if (!ids->id[i].since && !strcmp(ids->id[i].module, module))
			return;
	add(ids, module, hex, 0);
}

/* Return an id of the record in digits, "" if it is unknown */
static char *id_in_record(const u8 *id)
{
	static const u8 unknown[STACKBUF_BUILD_ID_LEN];

	return build_id_hex(id, memcmp(id, unknown, sizeof(unknown)) ? sizeof(unknown) : 0);
}

void build_ids_record(struct build_ids *ids, const struct stackbuf_info *info)
{
	char *hex = id_in_record(info->module_build_id);
	unsigned int i;

	build_ids_add(ids, "stackbuf", hex);
	free(hex);
	for (i = 0; i < STACKBUF_MODULES; i++) {
		const struct stackbuf_module *m = &info->module[i];
		char name[sizeof(m->name) + 1] = "";

		if (!m->time)
			continue;
		memcpy(name, m->name, sizeof(m->name));
		hex = id_in_record(m->build_id);
		add(ids, name, hex, m->time);
		free(hex);
		if (info->modules_loaded > STACKBUF_MODULES && (!ids->from || m->time < ids->from))
			ids->from = m->time;
	}
}

void build_ids_running(struct build_ids *ids)
{
	char *hex = build_id_of_notes("/sys/kernel/notes"), path[512];
	struct dirent *entry;
	DIR *modules;

	if (hex)
		build_ids_add(ids, "", hex);
	free(hex);
	modules = opendir("/sys/module");
	while (modules && (entry = readdir(modules))) {
		snprintf(path, sizeof(path), "/sys/module/%s/notes/.note.gnu.build-id",
			 entry->d_name);
		hex = *entry->d_name == '.' ? NULL : build_id_of_notes(path);
		if (hex)
			build_ids_add(ids, entry->d_name, hex);
		free(hex);
	}
	if (modules)
		closedir(modules);
}

void build_ids_snapshot(struct build_ids *ids, const char *text)
{
	const char *end = text + strnlen(text, SNAPSHOT_TEXT), *nl;

	for (; (nl = memchr(text, '\n', end - text)); text = nl + 1) {
		char line[256], module[64] = "", hex[BUILD_ID_DIGITS + 1];

		snprintf(line, sizeof(line), "%.*s", (int)(nl - text), text);
		if (sscanf(line, "kernel-id %128[0-9a-f]", hex) == 1 ||
		    sscanf(line, "module-id %63[0-9A-Za-z_] %128[0-9a-f]", module, hex) == 2)
			build_ids_add(ids, module, hex);
	}
}

/* Compare in us, the unit of the text log */
static bool is_before(u64 time, u64 since)
{
	return time / 1000 < since / 1000;
}

const char *build_ids_find(const struct build_ids *ids, const char *module, u64 time)
{
	const struct build_id *last = NULL, *then = NULL, *id;
	bool loads = false, differ = false;

	for (id = ids->id; ids->nr && id < ids->id + ids->nr; id++) {
		if (strcmp(id->module, module))
			continue;
		if (!id->since) {
			last = id;
			continue;
		}
		loads = true;
		differ |= then && strcmp(id->hex, then->hex);
		if (!time || (!is_before(time, id->since) && (!then || id->since > then->since)))
			then = id;
	}
	/* No load is known: the kernel, a module loaded before stackbuf, or an unknown load */
	if (!loads)
		then = *module && ids->from && (!time || is_before(time, ids->from)) ? NULL : last;
	else if (!time && differ)
		then = NULL;
	return then && *then->hex ? then->hex : NULL;
}

void build_ids_free(struct build_ids *ids)
{
	while (ids->nr--) {
		free(ids->id[ids->nr].module);
		free(ids->id[ids->nr].hex);
	}
	free(ids->id);
	memset(ids, 0, sizeof(*ids));
}
