// SPDX-License-Identifier: GPL-2.0
/*
 * dump_kallsyms.c - the kernel's own symbols in a dump
 *
 * The tables are those of kernel/kallsyms.c, made by scripts/kallsyms.c.  Since Linux 6.0
 * VMCOREINFO has their addresses.  A name is a length and that many indices of tokens; the first
 * token begins with the symbol's type.  The tables may be damaged or malicious.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "input/dump_kallsyms.h"
#include "input/page_tables.h"
#include "input/vmcoreinfo.h"
#include "stackbuf.h"

/* No kernel has more symbols, longer names (KSYM_NAME_LEN), or a longer list */
#define SYMBOLS_MAX	(1U << 21)
#define NAME_MAX_BYTES	516
#define BYTES_MAX	(256LL << 20)
#define GIB		(1ULL << 30)
/* RAM begins at most so far below the kernel */
#define MAX_BELOW	(1ULL << 42)

/* The kernel's memory by virtual address */
struct memory {
	struct dump_file *file;
	struct page_tables *tables;
	u64 at;	/* the address of @page, or 1 */
	unsigned char page[STACKBUF_PAGE_SIZE];	/* the page that was last read */
};

static bool read_memory(struct memory *m, u64 addr, void *to, size_t size)
{
	unsigned char *out = to;
	size_t part;

	for (; size; size -= part, addr += part, out += part) {
		u64 at = addr & -(u64)STACKBUF_PAGE_SIZE, where;
		struct mapping mapping;

		if (at != m->at) {
			m->at = 1;
			if (!page_tables_next(m->tables, at, at + STACKBUF_PAGE_SIZE, &mapping) ||
			    mapping.addr != at ||
			    dump_read_memory(m->file, mapping.phys, m->page, &where))
				return false;
			m->at = at;
		}
		part = STACKBUF_PAGE_SIZE - (addr - at);
		if (part > size)
			part = size;
		memcpy(out, m->page + (addr - at), part);
	}
	return true;
}

/* The text of all tokens, indexed by a byte */
struct tokens {
	char text[256][NAME_MAX_BYTES];
};

static bool read_tokens(struct memory *m, struct tokens *t)
{
	u64 index_at, table_at;
	u16 index[256];
	unsigned int i, n;

	if (!vmcoreinfo_symbol(m->file->vmcoreinfo, "kallsyms_token_index", &index_at) ||
	    !vmcoreinfo_symbol(m->file->vmcoreinfo, "kallsyms_token_table", &table_at) ||
	    !read_memory(m, index_at, index, sizeof(index)))
		return false;
	for (i = 0; i < 256; i++)
		for (n = 0; ; n++) {
			if (n == sizeof(t->text[i]) ||
			    !read_memory(m, table_at + index[i] + n, &t->text[i][n], 1))
				return false;
			if (!t->text[i][n])
				break;
		}
	return true;
}

/* Read the name at *@at, which begins with the type, and move *@at past it */
static bool read_name(struct memory *m, const struct tokens *t, u64 *at, char *name)
{
	unsigned char token[NAME_MAX_BYTES], byte;
	unsigned int length, used = 0, i;

	if (!read_memory(m, (*at)++, &byte, 1))
		return false;
	length = byte & 0x7f;
	/* Since 6.1 a long name has two bytes of length */
	if (byte & 0x80) {
		if (!read_memory(m, (*at)++, &byte, 1))
			return false;
		length |= byte << 7;
	}
	if (!length || length > sizeof(token) || !read_memory(m, *at, token, length))
		return false;
	*at += length;
	for (i = 0; i < length; i++) {
		const char *text = t->text[token[i]];
		size_t n = strlen(text);

		if (used + n >= NAME_MAX_BYTES)
			return false;
		memcpy(name + used, text, n);
		used += n;
	}
	name[used] = '\0';
	return used > 1;
}

static bool write_symbols(struct memory *m, FILE *to, const char *wanted, u64 wanted_addr)
{
	const char *info = m->file->vmcoreinfo;
	u64 names, offsets_at, base_at, nr_at, base = 0;
	char name[NAME_MAX_BYTES];
	struct tokens *tokens = xcalloc(1, sizeof(*tokens));
	s32 *offset = NULL;
	bool found = false, based;
	u32 nr, i;

	based = vmcoreinfo_symbol(info, "kallsyms_relative_base", &base_at);
	if (!vmcoreinfo_symbol(info, "kallsyms_names", &names) ||
	    !vmcoreinfo_symbol(info, "kallsyms_offsets", &offsets_at) ||
	    !vmcoreinfo_symbol(info, "kallsyms_num_syms", &nr_at) ||
	    (based && !read_memory(m, base_at, &base, sizeof(base))) ||
	    !read_memory(m, nr_at, &nr, sizeof(nr)) || !nr || nr > SYMBOLS_MAX ||
	    !read_tokens(m, tokens))
		goto out;
	offset = xcalloc(nr, sizeof(*offset));
	if (!read_memory(m, offsets_at, offset, nr * sizeof(*offset)))
		goto out;
	for (i = 0; i < nr && ftell(to) < BYTES_MAX && read_name(m, tokens, &names, name); i++) {
		u64 addr = base + (u32)offset[i];

		/*
		 * Up to 6.14, kernels for x86-64 with several CPUs store addresses of per-CPU
		 * variables here, and negative offsets for all other symbols
		 */
		if (!based)
			/* Since 7.1 an offset is relative to its own address */
			addr = offsets_at + i * sizeof(*offset) + offset[i];
		else if (offset[nr - 1] < 0)
			addr = offset[i] < 0 ? base - 1 - offset[i] : (u64)offset[i];
		found |= addr == wanted_addr && !strcmp(name + 1, wanted);
		fprintf(to, "%016llx %c %s\n", addr, *name, name + 1);
	}
	found &= i == nr;
out:
	free(offset);
	free(tokens);
	return found;
}

static bool symbols_found(struct dump_file *f, FILE *to, const char *name, u64 addr)
{
	struct memory *m = xcalloc(1, sizeof(*m));
	bool found;

	rewind(to);
	if (ftruncate(fileno(to), 0)) {
		free(m);
		return false;
	}
	m->at = 1;
	m->file = f;
	m->tables = page_tables_open(f);
	found = m->tables && write_symbols(m, to, name, addr);
	if (m->tables)
		page_tables_close(m->tables);
	free(m);
	return found;
}

int dump_kallsyms(struct dump_file *f, FILE *to, const char *name, u64 addr)
{
	const u64 guessed = f->start;
	u64 text, offset, most;

	if (!f->vmcoreinfo)
		return -1;
	if (symbols_found(f, to, name, addr))
		return 0;
	if (!f->start_guessed || !vmcoreinfo_symbol(f->vmcoreinfo, "_stext", &text) ||
	    !vmcoreinfo_number(f->vmcoreinfo, "kimage_voffset", &offset))
		return -1;
	/*
	 * PHYS_OFFSET is not where RAM begins if arm64_memblock_init() has moved the linear map, by
	 * KASLR or on a CPU without 52 bits of address.  RAM begins at some GiB below the kernel
	 */
	text -= offset;
	/* Damaged numbers must not make this take hours */
	if (text >> 52)
		return -1;
	most = f->size < MAX_BELOW ? f->size : MAX_BELOW;
	for (f->start = text & -GIB; text - f->start < most; f->start -= GIB) {
		if (symbols_found(f, to, name, addr))
			return 0;
		if (!f->start)
			break;
	}
	f->start = guessed;
	return -1;
}
