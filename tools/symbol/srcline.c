// SPDX-License-Identifier: GPL-2.0
/*
 * srcline.c - source lines of frames, from the debug information of the kernel and its modules
 */
#include <ctype.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "symbol/symbols.h"
#include "symbol/srcline.h"

/* Limit of functions with the same name and size */
#define CANDIDATES_MAX	16

/* State of decoding frames */
struct srcline {
	struct debug_files files;	/* the files with their functions */
	/* The common prefix of source paths: of C files, and of assembly */
	char *root[2];
	bool roots_known;	/* there is nothing more to find out about @root */
	void *cache;	/* texts by frame, a tree of struct named */
	u64 decoded;	/* frames that have a source line */
	u64 size_mismatches;	/* frames whose function has another size in the files */
	u64 unknown;	/* frames whose function is not in the files */
	u64 no_line;	/* frames whose code has no line numbers */
};

/* ----------------------------------------------------------------- paths --- */

/* Set the root to the source path of function @symbol, up to @below */
static void find_root(struct srcline *l, int which, const char *symbol, const char *below)
{
	struct debug_file *dbg = l->files.kernel;
	struct dwarf_place place[DWARF_PLACES_MAX];
	const char *file, *end = NULL;
	u32 i = elf_file_next_named(&dbg->elf, symbol, strlen(symbol), 0);
	unsigned int nr;

	if (!i || l->root[which])
		return;
	nr = dwarf_places(&dbg->elf, dbg->elf.function[i].addr, place);
	file = nr ? place[nr - 1].file : NULL;
	if (file)
		end = strstr(file, below);
	if (end)
		l->root[which] = xasprintf("%.*s", (int)(end - file), file);
}

static void find_roots(struct srcline *l)
{
	if (l->roots_known || !l->files.kernel->elf.path)
		return;
	l->roots_known = true;
	find_root(l, 0, "kernel_init", "/init/main.c");
	find_root(l, 1, "startup_64", "/arch/");
	find_root(l, 1, "primary_entry", "/arch/");
	find_root(l, 1, "asm_exc_page_fault", "/arch/");
}

/* Return the path relative to its root, without "directory/.." */
static char *shown_path(const struct srcline *l, const char *path)
{
	char *text, *p;
	size_t i, len;

	if (!path)
		return xstrdup("?");
	text = xstrdup(path);
	while ((p = strstr(text, "/../"))) {
		char *from = p;

		while (from > text && from[-1] != '/')
			from--;
		if (from == p || !strncmp(from, "../", 3))
			break;
		memmove(from, p + 4, strlen(p + 4) + 1);
	}
	for (i = 0; i < 2; i++) {
		len = l->root[i] ? strlen(l->root[i]) : 0;
		if (len && !strncmp(text, l->root[i], len) && text[len] == '/') {
			memmove(text, text + len + 1, strlen(text + len));
			break;
		}
	}
	return text;
}

/* -------------------------------------------------------------- decoding --- */

/* Return " (file:line)" with inlined functions, see srcline_frame(), or NULL */
static char *describe(struct srcline *l, struct debug_file *dbg, u64 addr, enum frame_kind kind,
		      u64 offset)
{
	struct dwarf_place place[DWARF_PLACES_MAX];
	unsigned int i, nr;
	size_t len;
	char *text;
	FILE *out;

	if (kind == FRAME_OPEN)
		kind = offset && elf_file_call_before(&dbg->elf, addr) ? FRAME_RETURN : FRAME_EXACT;
	/* "f+0x0" is an entry, as of a kprobe or a trampoline, unless a call is before it */
	if (kind == FRAME_RETURN && !offset && !elf_file_call_before(&dbg->elf, addr))
		kind = FRAME_EXACT;
	if (kind == FRAME_RETURN)
		addr--;
	nr = dwarf_places(&dbg->elf, addr, place);
	if (!nr)
		return NULL;
	out = text_open(&text, &len);
	for (i = 0; i < nr; i++) {
		char *path = shown_path(l, place[i].file);

		fputs(i ? " (inlined by)" : "", out);
		/* The call at the end of a noreturn function returns into the next function */
		if (nr > 1 || (kind == FRAME_RETURN && !offset))
			fprintf(out, " %s", place[i].function ?:
				elf_file_function_at(&dbg->elf, addr)->name);
		if (place[i].line)
			fprintf(out, " (%s:%d)", path, place[i].line);
		else
			fprintf(out, " (%s:?)", path);
		free(path);
	}
	text_close(out);
	return text;
}

/*
 * Translate a frame's address to its address in the image.  Return 0 if the offset is unknown, or
 * if the image has another function there than the frame's name.
 */
static u64 image_addr(const struct srcline *l, const struct debug_file *dbg, const struct frame *f)
{
	const char *base = l->files.config.base_symbol;
	u32 i = base ? elf_file_next_named(&dbg->elf, base, strlen(base), 0) : 0;
	u64 addr;

	if (!i || !f->addr || dbg != l->files.kernel)
		return 0;
	addr = f->addr - l->files.config.base_addr + dbg->elf.function[i].addr;
	if (!f->name_len)
		return addr;
	for (i = 0; (i = elf_file_next_named(&dbg->elf, f->name, f->name_len, i)); )
		if (dbg->elf.function[i].addr + f->offset == addr &&
		    elf_file_size_fits(&dbg->elf, &dbg->elf.function[i], f->size))
			return addr;
	return 0;
}

const char *srcline_function(const struct srcline *l, u64 addr)
{
	const struct frame f = { .addr = addr };

	addr = l->files.kernel->elf.path ? image_addr(l, l->files.kernel, &f) : 0;
	return addr ? elf_file_function_at(&l->files.kernel->elf, addr)->name : "";
}

/*
 * Get the build id of the frame's kernel or module, "" if unknown.  A reloaded module may have two
 */
static void find_build_id(const struct srcline *l, const struct frame *f,
			  char id[BUILD_ID_DIGITS + 1])
{
	char name[64];
	const char *known;
	size_t n;

	for (n = 0; n < f->build_id_len && n < BUILD_ID_DIGITS; n++)
		id[n] = tolower((unsigned char)f->build_id[n]);
	id[n] = '\0';
	if (n || !f->module_len || !l->files.config.ids)
		return;
	snprintf(name, sizeof(name), "%.*s", (int)f->module_len, f->module);
	known = build_ids_find(l->files.config.ids, name, f->time);
	if (known)
		snprintf(id, BUILD_ID_DIGITS + 1, "%s", known);
}

/* Return true if the function is long enough for the offset.  A return address may be at its end */
static bool holds(const struct elf_file *elf, const struct elf_function *function, u64 offset)
{
	u64 last = function->addr + offset - !!offset;

	return elf_file_function_at(elf, last)->addr == function->addr;
}

int srcline_named(struct srcline *l, const struct frame *f)
{
	char id[BUILD_ID_DIGITS + 1];
	struct debug_file *dbg;
	u32 i = 0;
	int n = 0;

	if (debug_files_kernel(&l->files) || debug_files_check(&l->files))
		return -1;
	find_build_id(l, f, id);
	dbg = debug_files_find(&l->files, f->module, f->module_len, id);
	while (dbg && dbg->elf.path &&
	       (i = elf_file_next_named(&dbg->elf, f->name, f->name_len, i)))
		n += holds(&dbg->elf, &dbg->elf.function[i], f->offset);
	return n;
}

static char *decode(struct srcline *l, struct debug_file *dbg, const struct frame *f,
		    enum frame_kind kind)
{
	char *text = NULL, *answer[CANDIDATES_MAX];
	u64 candidate[CANDIDATES_MAX], addr;
	unsigned int nr = 0, all = 0, answers = 0, i, j;
	bool calls = false, more = false;
	size_t len;
	u32 fn = 0;
	FILE *out;

	addr = image_addr(l, dbg, f);
	if (addr || !f->name_len) {
		if (addr)
			text = describe(l, dbg, addr, kind,
					addr - elf_file_function_at(&dbg->elf, addr)->addr);
		l->no_line += addr && !text;
		l->decoded += !!text;
		return text;
	}
	while ((fn = elf_file_next_named(&dbg->elf, f->name, f->name_len, fn))) {
		const struct elf_function *function = &dbg->elf.function[fn];

		all++;
		if (f->sizeless ? !holds(&dbg->elf, function, f->offset) : f->offset > f->size ||
		    !(elf_file_size_fits(&dbg->elf, function, f->size) ||
		      (l->files.config.force && !nr)))
			continue;
		if (nr < CANDIDATES_MAX)
			candidate[nr++] = function->addr + f->offset;
		else
			more = true;
	}
	if (!all)
		l->unknown++;
	else if (!nr)
		l->size_mismatches++;
	/* Of functions with the same name and size, choose those with a call there */
	for (i = 0; nr > 1 && f->offset && i < nr; i++)
		calls |= elf_file_call_before(&dbg->elf, candidate[i]);
	for (i = 0; i < nr; i++) {
		if (calls && kind == FRAME_RETURN && !elf_file_call_before(&dbg->elf, candidate[i]))
			continue;
		answer[answers] = describe(l, dbg, candidate[i], kind, f->offset) ?: xstrdup("");
		for (j = 0; strcmp(answer[j], answer[answers]); j++)
			;
		if (j < answers)
			free(answer[answers]);
		else
			answers++;
	}
	out = text_open(&text, &len);
	/* The candidate without a line may be the right one */
	for (i = 0; i < answers; i++) {
		if (answers > 1 || *answer[i])
			fprintf(out, "%s%s", i ? " or" : "", *answer[i] ? answer[i] : " (?:?)");
		free(answer[i]);
	}
	if (more)
		fputs(ftell(out) ? " or others" : " (?:?)", out);
	text_close(out);
	if (!len) {
		free(text);
		text = NULL;
	}
	if (nr && !text)
		l->no_line++;
	l->decoded += !!text;
	return text;
}

/* ---------------------------------------------------------------- frames --- */

static void free_text(void *p)
{
	struct named *n = p;

	free(n->data);
	free(n->text);
	free(n);
}

int srcline_frame(struct srcline *l, const struct frame *f, enum frame_kind kind,
		  const char **text)
{
	char key[1024], id[BUILD_ID_DIGITS + 1];
	struct debug_file *dbg;
	struct named *cached;
	bool is_new;
	int n;

	*text = NULL;
	/* If the named image does not match, do not decode frames of modules either */
	if (l->files.config.vmlinux && debug_files_kernel(&l->files))
		return -1;
	find_build_id(l, f, id);
	n = snprintf(key, sizeof(key), "%u %.*s+%llx/%llx[%.*s %s %llx", kind, (int)f->name_len,
		     f->name, f->offset, f->size, (int)f->module_len, f->module, id, f->addr);
	if (n < 0 || (size_t)n >= sizeof(key))
		return 0;
	if (debug_files_check(&l->files))
		return -1;
	cached = named_get(&l->cache, key, NULL);
	if (!cached) {
		dbg = debug_files_find(&l->files, f->module, f->module_len, id);
		if (!dbg)
			return -1;
		find_roots(l);
		cached = named_get(&l->cache, key, &is_new);
		if (dbg->elf.path)
			cached->data = decode(l, dbg, f, kind);
		if (cached->data)
			printable(cached->data);
	}
	*text = cached->data;
	return 0;
}

struct srcline *srcline_open(const struct debug_config *config)
{
	struct srcline *l = xcalloc(1, sizeof(*l));

	debug_files_init(&l->files, config);
	return l;
}

int srcline_ready(struct srcline *l)
{
	return debug_files_kernel(&l->files);
}

int srcline_kernel_offset(struct srcline *l, u64 *offset)
{
	const char *base = l->files.config.base_symbol;
	const struct elf_file *elf = &l->files.kernel->elf;
	u32 i;

	if (debug_files_kernel(&l->files))
		return -1;
	i = base ? elf_file_next_named(elf, base, strlen(base), 0) : 0;
	if (!i)
		return failed(&l->files, "%s has no function %s", elf->path, base ?: "");
	*offset = l->files.config.base_addr - (elf->function[i].addr - elf->elf_bias);
	return 0;
}

void srcline_close(struct srcline *l)
{
	tdestroy(l->cache, free_text);
	debug_files_free(&l->files);
	free(l->root[0]);
	free(l->root[1]);
	free(l);
}

void srcline_set_kernel(struct srcline *l, const char *release, const char *banner, const char *id)
{
	if (!debug_files_announce(&l->files, release, banner, id))
		return;
	tdestroy(l->cache, free_text);
	l->cache = NULL;
}

const char *srcline_error(const struct srcline *l)
{
	return l->files.error;
}

bool srcline_report_missing(const struct srcline *l)
{
	const struct debug_file *dbg, *one, *first = l->files.kernel->next;
	const char *path = l->files.kernel->elf.path ?: "its module";

	for (dbg = first; dbg; dbg = dbg->next) {
		if (!dbg->missing || dbg->elf.path)
			continue;
		/* It may be missing with and without a build id for the same reason */
		for (one = first; one != dbg; one = one->next)
			if (!one->elf.path && one->missing && !strcmp(one->name, dbg->name) &&
			    !strcmp(one->missing, dbg->missing))
				break;
		if (one == dbg)
			report("frames of [%s] stay as they are: %s", dbg->name, dbg->missing);
	}
	if (l->size_mismatches)
		report("distinct frames that stay as they are: %llu, whose functions have another size in %s or its modules: are they of exactly this build? (--force decodes them)",
		    l->size_mismatches, path);
	if (l->unknown)
		report("distinct frames that stay as they are: %llu, as %s or its modules have no such function",
		    l->unknown, path);
	if (l->no_line)
		report("distinct frames that stay as they are: %llu, whose code has no line numbers",
		    l->no_line);
	return l->size_mismatches + l->unknown > l->decoded;
}
