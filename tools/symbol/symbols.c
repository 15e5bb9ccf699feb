// SPDX-License-Identifier: GPL-2.0
/*
 * symbols.c - names for frames
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "symbol/frame.h"
#include "symbol/kallsyms.h"
#include "symbol/symbols.h"

const char *const name_origins[] = { "text", "snapshot", "kallsyms", "none" };

static int symbol_order(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return compare_u64(x->addr, y->addr) ?: compare_u64(x->order, y->order);
}

static char *copy(const char *text, size_t len)
{
	char *p = xrealloc(NULL, len + 1, 1);
	size_t i;

	/* The text may come from a hostile file, and go to a terminal */
	for (i = 0; i < len; i++)
		p[i] = printable_ascii(text[i]);
	p[len] = '\0';
	return p;
}

/* Read "frame ADDRESS NAME", "kernel-offset BYTES" and "host NAME" in a snapshot's page */
static void read_snapshot(struct symbols *s, const char *text)
{
	const char *end = text + strnlen(text, SNAPSHOT_TEXT), *nl;

	for (; (nl = memchr(text, '\n', end - text)); text = nl + 1) {
		char line[512], *name;
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
		GROW(s->snapshot, s->snapshots);
		s->snapshot[s->snapshots] = (struct symbol){
			.addr = addr, .order = s->snapshots, .name = copy(name, strlen(name)) };
		s->snapshots++;
	}
}

static void free_symbols(struct symbol *symbol, size_t *nr)
{
	while (*nr) {
		--*nr;
		free(symbol[*nr].name);
		free(symbol[*nr].module);
	}
}

/* For an address with several names the kernel prints the first in its list */
static void sort_symbols(struct symbol *symbol, size_t *nr)
{
	size_t i, n = 0;

	for (i = 1; i < *nr; i++)
		if (symbol[i - 1].addr > symbol[i].addr)
			break;
	if (i < *nr)
		sort(symbol, *nr, sizeof(*symbol), symbol_order);
	for (i = 0; i < *nr; i++) {
		if (n && symbol[n - 1].addr == symbol[i].addr) {
			free(symbol[i].name);
			free(symbol[i].module);
			continue;
		}
		symbol[n++] = symbol[i];
	}
	*nr = n;
}

/* The functions that frames in the text log are in.  What a module had may be another's now */
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
			/* Of BPF programs several may have been there */
			if (!frame_parse(&f, line, nl - line) || !f.name_len || f.sizeless ||
			    !strncmp(line, "bpf_", 4) ||
			    f.offset >= f.size || (stack->stale && f.module_len))
				continue;
			GROW(s->text, s->texts);
			s->text[s->texts] = (struct symbol){
				.addr = stack->addr[k] - f.offset, .order = s->texts,
				.name = copy(f.name, f.name_len),
				.module = copy(f.module, f.module_len), .size = f.size };
			s->texts++;
		}
	}
	sort_symbols(s->text, &s->texts);
}

void symbols_read(struct symbols *s)
{
	bool base = false, hidden = true;
	struct kallsyms k;

	if (!s->path || s->read == *s->loaded)
		return;
	free_symbols(s->kallsyms, &s->nr);
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
		GROW(s->kallsyms, s->nr);
		s->kallsyms[s->nr] = (struct symbol){
			.addr = k.addr, .order = s->nr, .name = copy(k.name, strlen(k.name)),
			.module = copy(k.module, strlen(k.module)) };
		s->nr++;
	}
	kallsyms_close(&k);
	if (!base) {
		report("%s %s: some frames have no names", s->path,
		       hidden ? "does not show addresses" : "is of another boot or kernel");
		free_symbols(s->kallsyms, &s->nr);
		s->path = NULL;
	}
	sort_symbols(s->kallsyms, &s->nr);
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
	sort(s->snapshot, s->snapshots, sizeof(*s->snapshot), symbol_order);
}

void symbols_free(struct symbols *s)
{
	free_symbols(s->snapshot, &s->snapshots);
	free(s->snapshot);
	free_symbols(s->text, &s->texts);
	free(s->text);
	free_symbols(s->kallsyms, &s->nr);
	free(s->kallsyms);
	free(s->host);
	build_ids_free(&s->ids);
	memset(s, 0, sizeof(*s));
}

/* The last symbol at or below an address */
static const struct symbol *symbol_below(const struct symbol *symbol, size_t nr, u64 addr)
{
	size_t i = first_above(symbol, nr, sizeof(*symbol), addr);

	return i ? &symbol[i - 1] : NULL;
}

static char *print_name(const struct symbol *at, u64 addr, u64 size)
{
	if (*at->module)
		return xasprintf("%s+0x%llx/0x%llx [%s]", at->name, addr - at->addr, size,
				 at->module);
	return xasprintf("%s+0x%llx/0x%llx", at->name, addr - at->addr, size);
}

/* Return the name as %pS prints it, to be freed, or NULL if no text has its function */
static char *text_name(const struct symbols *s, u64 addr)
{
	const struct symbol *at = symbol_below(s->text, s->texts, addr);

	return at && addr - at->addr < at->size ? print_name(at, addr, at->size) : NULL;
}

/* Return the name as %pS prints it, to be freed, or NULL if no symbol covers the address */
static char *kallsyms_name(const struct symbols *s, u64 addr)
{
	const struct symbol *at = symbol_below(s->kallsyms, s->nr, addr), *next;
	u64 end;

	if (!at)
		return NULL;
	/*
	 * kallsyms does not show where a module's code ends.  Assume that its last function ends
	 * with the page: no name is better than a neighbour's.
	 */
	next = at + 1;
	if (next < s->kallsyms + s->nr && !strcmp(next->module, at->module))
		end = next->addr;
	else
		end = (at->addr | 4095) + 1;
	if (addr >= end)
		return NULL;
	return print_name(at, addr, end - at->addr);
}

/* If @stale, another module may be at the address now: take no module's name */
static char *name_frame(struct symbols *s, u64 addr, bool stale, enum name_origin *from)
{
	const struct symbol *kept = symbol_below(s->snapshot, s->snapshots, addr);
	char *name = NULL;

	if (kept && kept->addr == addr && !(stale && strchr(kept->name, '['))) {
		*from = NAMES_SNAPSHOT;
		return xstrdup(kept->name);
	}
	if (s->stacks)
		read_texts(s);
	*from = NAMES_TEXT;
	name = text_name(s, addr);
	/* What was loaded since may be where another module was */
	if (name && s->text_read != *s->loaded && strchr(name, '[')) {
		free(name);
		name = NULL;
	}
	if (!name) {
		symbols_read(s);
		*from = NAMES_KALLSYMS;
		name = kallsyms_name(s, addr);
	}
	if (name && stale && strchr(name, '[')) {
		free(name);
		name = NULL;
	}
	if (!name)
		*from = NAMES_NONE;
	return name ?: xasprintf("0x%016llx", addr);
}

void symbols_name(struct symbols *s, struct stack *stack)
{
	unsigned int frames = stack->nr ? stack->nr : stack->lines, i;
	const char *line = stack->text, *end = line ? line + stack->text_len : NULL;
	/* Text may lack the outermost frames, if its page had no room; never others */
	unsigned int lines = stack->lines <= frames ? stack->lines : 0;

	if (stack->name || !frames)
		return;
	stack->name = xcalloc(frames, sizeof(*stack->name));
	stack->named = frames;
	stack->name_origin = NAMES_TEXT;
	for (i = 0; i < lines && line < end; line++) {
		const char *nl = memchr(line, '\n', end - line);

		if (!nl)
			break;
		if (*line != '(')
			stack->name[i++] = copy(line, nl - line);
		line = nl;
	}
	for (; i < frames; i++) {
		enum name_origin from = NAMES_NONE;

		if (i < stack->nr)
			stack->name[i] = name_frame(s, stack->addr[i], stack->stale, &from);
		if (!stack->name[i])
			stack->name[i] = copy("?", 1);
		/* The least certain name counts for the stack */
		if (from > stack->name_origin)
			stack->name_origin = from;
	}
}
