// SPDX-License-Identifier: GPL-2.0
/*
 * symbols.c - names for frames
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "symbol/symbols.h"

const char *const name_origins[] = { "text", "snapshot", "kallsyms", "none" };

/* ---------------------- the kernel's list of symbols, live or copied --- */

int kallsyms_open(struct kallsyms *k, const char *path)
{
	memset(k, 0, sizeof(*k));
	k->file = fopen(path, "re");
	return k->file ? 0 : -1;
}

const char *kallsyms_split(char *text, const char **module)
{
	char *after = text + strcspn(text, " \t\n");

	if (*after)
		*after++ = '\0';
	after += strspn(after, " \t");
	after[strcspn(after, "]\n")] = '\0';
	*module = *after == '[' ? after + 1 : "";
	return text;
}

/* Parse "ADDRESS TYPE NAME[\t[MODULE]]".  For some 150,000 lines sscanf() would be slow */
bool kallsyms_next(struct kallsyms *k)
{
	char *end;

	while (fgets(k->line, sizeof(k->line), k->file)) {
		k->addr = strtoull(k->line, &end, 16);
		if (end == k->line || end[0] != ' ' || !end[1] || end[2] != ' ')
			continue;
		k->type = end[1];
		k->name = kallsyms_split(end + 3, &k->module);
		if (*k->name)
			return true;
	}
	return false;
}

bool kallsyms_is_code(const struct kallsyms *k)
{
	return strchr("tTwW", k->type);
}

/* ------------------------------------------------------ names for frames --- */

static int symbol_order(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return compare_u64(x->addr, y->addr) ?: compare_u64(x->order, y->order);
}

static char *copy(const char *text, size_t len)
{
	char *p = xrealloc(NULL, len + 1, 1);
	size_t i;

	/* The text may be from a hostile file, and be printed to a terminal */
	for (i = 0; i < len; i++)
		p[i] = printable_ascii(text[i]);
	p[len] = '\0';
	return p;
}

static void add_symbol(struct symbol_list *list, u64 addr, char *name, char *module, u64 size)
{
	GROW(list->at, list->nr);
	list->at[list->nr] = (struct symbol){ addr, list->nr, name, module, size };
	list->nr++;
}

/* Read "frame ADDRESS NAME", "kernel-offset BYTES" and "host NAME" in a snapshot's page */
static void read_snapshot(struct symbols *s, const char *text)
{
	const char *end = text + strnlen(text, SNAPSHOT_TEXT), *nl;

	for (; (nl = memchr(text, '\n', end - text)); text = nl + 1) {
		char line[SNAPSHOT_LINE], *name;
		size_t len = nl - text;
		u64 addr;

		if (len >= sizeof(line))
			continue;
		memcpy(line, text, len);
		line[len] = '\0';
		if (sscanf(line, "kernel-offset %llx", &s->offset.bytes) == 1)
			s->offset.from = "snapshot";
		if (!strncmp(line, "host ", 5) && line[5] && !s->host)
			s->host = copy(line + 5, strlen(line + 5));
		if (strncmp(line, "frame ", 6))
			continue;
		addr = strtoull(line + 6, &name, 16);
		if (*name++ != ' ' || !*name)
			continue;
		add_symbol(&s->snapshot, addr, copy(name, strlen(name)), NULL, 0);
	}
}

static void free_symbols(struct symbol_list *list)
{
	while (list->nr--) {
		free(list->at[list->nr].name);
		free(list->at[list->nr].module);
	}
	free(list->at);
	*list = (struct symbol_list){ 0 };
}

/* For an address with several names the kernel prints the first in its list */
static void sort_symbols(struct symbol_list *list)
{
	struct symbol *symbol = list->at;
	size_t i, n = 0;

	sort(symbol, list->nr, sizeof(*symbol), symbol_order);
	for (i = 0; i < list->nr; i++) {
		if (n && symbol[n - 1].addr == symbol[i].addr) {
			free(symbol[i].name);
			free(symbol[i].module);
			continue;
		}
		symbol[n++] = symbol[i];
	}
	list->nr = n;
}

/* Add the functions of frames in the text log.  Another module may be at a module's address now */
static void read_texts(struct symbols *s)
{
	const struct stacks *stacks = s->stacks;
	const struct stack *stack;
	size_t i;

	s->stacks = NULL;
	s->text_read = *s->loaded;
	for (i = 0; (stack = stacks_next(stacks, &i)); ) {
		const char *line = stack->text, *end = line ? line + stack->text_len : NULL, *nl;
		unsigned int k;

		for (k = 0; k < stack->nr && line < end; k++, line = nl + 1) {
			struct frame f;

			nl = memchr(line, '\n', end - line);
			if (!nl || *line == '(')
				break;
			/* Several BPF programs may have had the address */
			if (!frame_parse(&f, line, nl - line, false) || !strncmp(line, "bpf_", 4) ||
			    f.offset >= f.size || (stack->stale && f.module_len))
				continue;
			add_symbol(&s->text, stack->addr[k] - f.offset, copy(f.name, f.name_len),
				   copy(f.module, f.module_len), f.size);
		}
	}
	sort_symbols(&s->text);
}

/*
 * kallsyms does not show the end of a module's code.  Assume that its last function ends with the
 * page: no name is better than a wrong one.
 */
static void set_sizes(const struct symbol_list *list)
{
	size_t i;

	for (i = 0; i < list->nr; i++) {
		struct symbol *at = &list->at[i], *next = at + 1;
		bool last = i + 1 == list->nr || strcmp(next->module, at->module);

		at->size = (last ? (at->addr | 4095) + 1 : next->addr) - at->addr;
	}
}

void symbols_read(struct symbols *s)
{
	bool base = false, hidden = true;
	struct kallsyms k;

	if (!s->path || s->read == *s->loaded)
		return;
	free_symbols(&s->kallsyms);
	s->read = *s->loaded;
	if (kallsyms_open(&k, s->path)) {
		report("%s: %m: some frames have no names", s->path);
		s->path = NULL;
		return;
	}
	while (kallsyms_next(&k)) {
		hidden = hidden && !k.addr;
		base = base || (k.addr == s->base_addr && !strcmp(k.name, s->base_symbol));
		if (!k.addr || !kallsyms_is_code(&k))
			continue;
		add_symbol(&s->kallsyms, k.addr, copy(k.name, strlen(k.name)),
			   copy(k.module, strlen(k.module)), 0);
	}
	fclose(k.file);
	if (!base) {
		report("%s %s: some frames have no names", s->path,
		       hidden ? "does not show addresses" : "is of another boot or kernel");
		free_symbols(&s->kallsyms);
		s->path = NULL;
	}
	sort_symbols(&s->kallsyms);
	set_sizes(&s->kallsyms);
}

void symbols_init(struct symbols *s, const struct record *r, const char *kallsyms)
{
	size_t i;

	memset(s, 0, sizeof(*s));
	build_ids_record(&s->ids, &r->info);
	s->path = r->have_info ? kallsyms : NULL;
	s->loaded = &r->info.modules_loaded;
	s->read = KALLSYMS_NOT_READ;
	s->base_addr = r->info.base_addr;
	s->base_symbol = r->info.base_symbol;
	s->stacks = &r->stacks;
	for (i = 0; i < r->snapshots; i++) {
		build_ids_snapshot(&s->ids, r->snapshot[i]);
		read_snapshot(s, r->snapshot[i]);
	}
	sort(s->snapshot.at, s->snapshot.nr, sizeof(*s->snapshot.at), symbol_order);
}

void symbols_free(struct symbols *s)
{
	free_symbols(&s->snapshot);
	free_symbols(&s->text);
	free_symbols(&s->kallsyms);
	free(s->host);
	build_ids_free(&s->ids);
	memset(s, 0, sizeof(*s));
}

/* The last symbol at or below an address */
static const struct symbol *symbol_below(const struct symbol_list *list, u64 addr)
{
	size_t i = first_above(list->at, list->nr, sizeof(*list->at), addr);

	return i ? &list->at[i - 1] : NULL;
}

/* Set @f to the frame of the symbol that covers the address; return false if none does */
static bool frame_by(struct frame *f, const struct symbol_list *list, u64 addr)
{
	const struct symbol *at = symbol_below(list, addr);
	char *text;

	if (!at || addr - at->addr >= at->size)
		return false;
	text = xasprintf("%s+0x%llx/0x%llx%s%s%s", at->name, addr - at->addr, at->size,
			 *at->module ? " [" : "", at->module, *at->module ? "]" : "");
	*f = (struct frame){
		.text = text, .name = text, .name_len = strlen(at->name), .addr = addr,
		.offset = addr - at->addr, .size = at->size, .build_id = "",
		.module = at->module, .module_len = strlen(at->module),
	};
	f->module = text + strlen(text) - (f->module_len ? f->module_len + 1 : 0);
	return true;
}

/* If @stale, another module may be at the address now: do not use a module's name */
static struct frame name_frame(struct symbols *s, u64 addr, bool stale, enum name_origin *from)
{
	const struct symbol *kept = symbol_below(&s->snapshot, addr);
	struct frame f;

	if (kept && kept->addr == addr && !(stale && strchr(kept->name, '['))) {
		*from = NAMES_SNAPSHOT;
		return frame_take(xstrdup(kept->name), addr, false);
	}
	if (s->stacks)
		read_texts(s);
	/* A module loaded since may be at another module's address */
	*from = NAMES_TEXT;
	if (frame_by(&f, &s->text, addr)) {
		if (!f.module_len || (!stale && s->text_read == *s->loaded))
			return f;
		free(f.text);
	}
	symbols_read(s);
	*from = NAMES_KALLSYMS;
	if (frame_by(&f, &s->kallsyms, addr)) {
		if (!f.module_len || !stale)
			return f;
		free(f.text);
	}
	*from = NAMES_NONE;
	return frame_take(xasprintf("0x%016llx", addr), addr, false);
}

void symbols_name(struct symbols *s, struct stack *stack)
{
	unsigned int frames = stack->nr ? stack->nr : stack->lines, i;
	const char *line = stack->text, *end = line ? line + stack->text_len : NULL;
	/* Text may lack outermost frames, if its page was full; never other frames */
	unsigned int lines = stack->lines <= frames ? stack->lines : 0;

	if (stack->frame || !frames)
		return;
	stack->frame = xcalloc(frames, sizeof(*stack->frame));
	stack->named = frames;
	stack->name_origin = NAMES_TEXT;
	for (i = 0; i < lines && line < end; line++) {
		const char *nl = memchr(line, '\n', end - line);

		if (!nl)
			break;
		if (*line != '(') {
			stack->frame[i] = frame_take(copy(line, nl - line),
						     i < stack->nr ? stack->addr[i] : 0, false);
			i++;
		}
		line = nl;
	}
	for (; i < frames; i++) {
		enum name_origin from = NAMES_NONE;

		if (i < stack->nr)
			stack->frame[i] = name_frame(s, stack->addr[i], stack->stale, &from);
		else
			stack->frame[i] = frame_take(copy("?", 1), 0, false);
		/* The stack's origin is that of its least certain name */
		if (from > stack->name_origin)
			stack->name_origin = from;
	}
}
