// SPDX-License-Identifier: GPL-2.0
/*
 * elf_file.c - the functions and code of a kernel's image or a module's file
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "symbol/symbols.h"
#include "symbol/srcline.h"

static char *debuginfo_path;

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
	.debuginfo_path = &debuginfo_path,
};

/* ------------------------------------------------------------- functions --- */

static void read_sections(struct elf_file *e, Elf *elf)
{
	Elf_Scn *scn = NULL;
	size_t nr = 0, strings = 0;
	const char *name;
	GElf_Shdr shdr;

	elf_getshdrnum(elf, &nr);
	elf_getshdrstrndx(elf, &strings);
	e->section = xcalloc(nr + 1, sizeof(*e->section));
	e->sections = nr;
	while ((scn = elf_nextscn(elf, scn))) {
		size_t i = elf_ndxscn(scn);

		if (i >= nr || !gelf_getshdr(scn, &shdr) || !(shdr.sh_flags & SHF_ALLOC))
			continue;
		name = elf_strptr(elf, strings, shdr.sh_name);
		if (name && !strcmp(name, ".modinfo") && shdr.sh_type != SHT_NOBITS)
			e->modinfo = elf_rawdata(scn, NULL);
		/* libdwfl placed the sections of a module one after the other */
		e->section[i] = (struct elf_section){ shdr.sh_addr + e->elf_bias, shdr.sh_size,
						      shdr.sh_flags & SHF_EXECINSTR };
	}
}

/*
 * Clang's LTO appends ".llvm.HASH" to names of static functions, and kernels up to 6.10 print them
 * without it (kernel/kallsyms.c: cleanup_symbol_name()): hash only the part before it.
 */
#define LTO	".llvm."

static size_t lto_len(const char *name, size_t len)
{
	const char *end = memmem(name, len, LTO, strlen(LTO));

	return end ? (size_t)(end - name) : len;
}

static int by_addr(const void *a, const void *b)
{
	const struct elf_place *x = a, *y = b;

	return compare_u64(x->addr, y->addr) ?: compare_u64(x->function, y->function);
}

static void read_functions(struct elf_file *e)
{
	int i, nr = dwfl_module_getsymtab(e->module);
	size_t n;

	e->functions = 1;
	e->function = xcalloc(nr > 0 ? nr + 1 : 1, sizeof(*e->function));
	for (i = 1; i < nr; i++) {
		GElf_Sym sym;
		GElf_Word shndx;
		GElf_Addr addr;
		const char *name = dwfl_module_getsym_info(e->module, i, &sym, &addr, &shndx, NULL,
							   NULL);
		unsigned int type = GELF_ST_TYPE(sym.st_info);

		if (!name || shndx >= e->sections || type == STT_SECTION || type == STT_FILE)
			continue;
		if (!e->section[shndx].code) {
			if (!strcmp(name, "linux_banner"))
				e->banner_addr = addr;
			continue;
		}
		/* kallsyms omits these labels, too */
		if (!*name || *name == '$' || !strncmp(name, ".L", 2))
			continue;
		e->function[e->functions++] = (struct elf_function){
			.name = name, .addr = addr, .size = sym.st_size, .section = shndx };
	}

	e->by_addr = xcalloc(e->functions, sizeof(*e->by_addr));
	for (n = 1; n < e->functions; n++)
		e->by_addr[n - 1] = (struct elf_place){ e->function[n].addr, n };
	sort(e->by_addr, e->functions - 1, sizeof(*e->by_addr), by_addr);

	for (e->buckets = 64; e->buckets < e->functions; e->buckets *= 2)
		;
	e->bucket = xcalloc(e->buckets, sizeof(*e->bucket));
	for (n = e->functions; --n; ) {
		struct elf_function *f = &e->function[n];
		u32 hash = hash_bytes(f->name, lto_len(f->name, strlen(f->name)));
		u32 *bucket = &e->bucket[hash & (e->buckets - 1)];

		f->next = *bucket;
		*bucket = n;
	}
}

/* Return true if @symbol is the name, or the kernel prints it so */
static bool is_named(const char *symbol, const char *name, size_t len)
{
	return !strncmp(symbol, name, len) &&
	       (!symbol[len] || !strncmp(symbol + len, LTO, strlen(LTO)));
}

u32 elf_file_next_named(const struct elf_file *e, const char *name, size_t len, u32 i)
{
	if (!e->buckets)
		return 0;
	i = i ? e->function[i].next :
		e->bucket[hash_bytes(name, lto_len(name, len)) & (e->buckets - 1)];
	while (i && !is_named(e->function[i].name, name, len))
		i = e->function[i].next;
	return i;
}

/* Position in by_addr[] of the first symbol above an address */
static size_t symbol_above(const struct elf_file *e, u64 addr)
{
	return first_above(e->by_addr, e->functions - 1, sizeof(*e->by_addr), addr);
}

/*
 * For the kernel a function ends at the next symbol that it lists; its list may lack some of the
 * file's symbols.  The file does not show the end of a section's last function: that may be another
 * section of the module or the end of a page.
 */
bool elf_file_size_fits(const struct elf_file *e, const struct elf_function *f, u64 size)
{
	u64 end = f->addr + size;
	bool covers = false;
	size_t i;

	if (end < f->addr)
		return false;
	for (i = symbol_above(e, f->addr); i < e->functions - 1; i++) {
		const struct elf_function *next = &e->function[e->by_addr[i].function];

		if (next->addr >= e->section[f->section].addr + e->section[f->section].size)
			break;
		if (next->addr >= end)
			return next->addr == end;
		covers |= next->addr > f->addr && next->size;
	}
	return size >= f->size && !covers;
}

const struct elf_function *elf_file_function_at(const struct elf_file *e, u64 addr)
{
	static const struct elf_function none = { .name = "?" };
	size_t i = symbol_above(e, addr);

	return i ? &e->function[e->by_addr[i - 1].function] : &none;
}

/* -------------------------------------------------------------- contents --- */

size_t elf_file_read(struct elf_file *e, u64 addr, void *buf, size_t size)
{
	GElf_Addr offset = addr, bias;
	Elf_Scn *scn = dwfl_module_address_section(e->module, &offset, &bias);
	GElf_Shdr shdr;
	Elf_Data *data;

	if (!scn || !gelf_getshdr(scn, &shdr) || shdr.sh_type == SHT_NOBITS)
		return 0;
	data = elf_rawdata(scn, NULL);
	if (!data || !data->d_buf || offset >= data->d_size)
		return 0;
	if (size > data->d_size - offset)
		size = data->d_size - offset;
	memcpy(buf, (char *)data->d_buf + offset, size);
	return size;
}

char *elf_file_build_id(struct elf_file *e)
{
	const unsigned char *bits;
	GElf_Addr addr;
	int n = dwfl_module_build_id(e->module, &bits, &addr);

	return n > 0 ? build_id_hex(bits, n) : NULL;
}

void elf_file_modinfo(struct elf_file *e, const char *key, char *buf, size_t size)
{
	const char *p = e->modinfo ? e->modinfo->d_buf : NULL;
	const char *end = p ? p + e->modinfo->d_size : NULL;
	size_t len = strlen(key);

	*buf = '\0';
	for (; p < end; p += strnlen(p, end - p) + 1)
		if ((size_t)(end - p) > len && !strncmp(p, key, len) && p[len] == '=')
			snprintf(buf, size, "%.*s", (int)(end - p - len - 1), p + len + 1);
}

/* Length of an x86 call through a register or memory, by its ModRM and SIB bytes; 0: no call */
static int indirect_call(const u8 *p)
{
	u8 mod = p[1] >> 6, rm = p[1] & 7;

	if (p[0] != 0xff || (p[1] >> 3 & 7) != 2)
		return 0;
	if (mod == 3)
		return 2;
	if (mod == 0)
		return rm == 5 ? 6 : rm != 4 ? 2 : (p[2] & 7) == 5 ? 7 : 3;
	return (mod == 1 ? 3 : 6) + (rm == 4);
}

bool elf_file_call_before(struct elf_file *e, u64 addr)
{
	/* Space for a ModRM and a SIB byte after the shortest instruction */
	u8 code[8 + 3] = { 0 };
	size_t i, len;
	u32 insn;

	if (e->machine == EM_AARCH64) {
		if (elf_file_read(e, addr - 4, &insn, 4) < 4)
			return true;
		return (insn & 0xfc000000) == 0x94000000 ||	/* bl */
		       (insn & 0xfffffc1f) == 0xd63f0000 ||	/* blr */
		       (insn & 0xfefff800) == 0xd63f0800;	/* blra* */
	}
	if (e->machine != EM_X86_64)
		return true;
	for (len = 8; len >= 2; len--)
		if (elf_file_read(e, addr - len, code + 8 - len, len) == len)
			break;
	if (len < 2)
		return true;
	if (len >= 5 && code[3] == 0xe8) {
		struct elf_section *s = e->section;
		s32 distance;

		memcpy(&distance, code + 4, 4);
		for (i = 0; i < e->sections; i++, s++)
			if (e->relocatable || (s->code && addr + distance >= s->addr &&
					       addr + distance < s->addr + s->size))
				return true;
	}
	for (i = 2; i <= 7 && i <= len; i++)
		if (indirect_call(code + 8 - i) == (int)i)
			return true;
	return false;
}

/* --------------------------------------------------------------- opening --- */

void elf_file_close(struct elf_file *e)
{
	dwarf_units_close(e);
	free(e->section);
	free(e->function);
	free(e->by_addr);
	free(e->bucket);
	free(e->path);
	if (e->dwfl)
		dwfl_end(e->dwfl);
	memset(e, 0, sizeof(*e));
}

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

/* Return true if a section is compressed by zstd, which older libraries do not read */
static bool has_zstd(Elf *elf)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	GElf_Chdr chdr;

	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &shdr) && shdr.sh_flags & SHF_COMPRESSED &&
		    gelf_getchdr(scn, &chdr) && chdr.ch_type == ELFCOMPRESS_ZSTD)
			return true;
	return false;
}

/* Use the file that libdwfl opened.  Return 0, or -1 with *@why set; then @e is closed */
static int take_file(struct elf_file *e, const char *path, char **why)
{
	Dwarf_Addr bias;
	GElf_Ehdr ehdr;
	struct stat st;
	Elf *elf;

	free(*why);
	*why = NULL;
	e->path = xstrdup(path);
	elf = e->module ? dwfl_module_getelf(e->module, &e->elf_bias) : NULL;
	if (!elf || !gelf_getehdr(elf, &ehdr)) {
		*why = xasprintf("%s: %s", path, dwfl_errmsg(-1) ?: "is not an ELF file");
		goto bad;
	}
	e->machine = ehdr.e_machine;
	e->relocatable = ehdr.e_type == ET_REL;
	if (!dwfl_module_getdwarf(e->module, &bias)) {
		if (!stat(path, &st) && ehdr.e_shoff > (u64)st.st_size)
			*why = xasprintf("%s is cut: it has %llu bytes, and its sections are listed at %llu",
					 path, (u64)st.st_size, (u64)ehdr.e_shoff);
		else if (has_zstd(elf))
			*why = xasprintf("%s has debug information compressed by zstd, which libelf here does not read: objcopy --decompress-debug-sections",
					 path);
		else
			*why = xasprintf("%s " NO_DEBUG_INFO, path);
		goto bad;
	}
	read_sections(e, elf);
	read_functions(e);
	return 0;
bad:
	elf_file_close(e);
	return -1;
}

int elf_file_open(struct elf_file *e, const char *name, const char *path, char **why)
{
	struct stat st;

	/* Opening a FIFO would block until a writer opens it */
	if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
		free(*why);
		*why = xasprintf("%s is %s: name the file", path,
				 S_ISDIR(st.st_mode) ? "a directory" : "no regular file");
		return -1;
	}
	e->dwfl = dwfl_begin(&callbacks);
	if (e->dwfl) {
		dwfl_report_begin(e->dwfl);
		e->module = dwfl_report_offline(e->dwfl, name, path, -1);
		dwfl_report_end(e->dwfl, NULL, NULL);
	}
	return take_file(e, path, why);
}

int elf_file_find(struct elf_file *e, const char *name, const char *hex, char **why)
{
	static const char *const suffix[] = { ".debug", "" };
	unsigned char id[64];
	char *path = NULL;
	size_t len = strlen(hex), i;
	int fd;

	if (len < 4 || len % 2 || len > 2 * sizeof(id))
		return -1;
	for (i = 0; i < len / 2; i++)
		id[i] = hex_digit(hex[2 * i]) << 4 | hex_digit(hex[2 * i + 1]);
	for (i = 0; i < 2; i++) {
		path = xasprintf(ELF_DEBUG_DIR "/.build-id/%.2s/%.*s%s", hex, (int)len - 2, hex + 2,
			       suffix[i]);
		if (!access(path, R_OK) && !elf_file_open(e, name, path, why)) {
			free(path);
			return 0;
		}
		free(path);
	}

	path = NULL;
	e->dwfl = dwfl_begin(&callbacks);
	if (!e->dwfl)
		return -1;
	dwfl_report_begin(e->dwfl);
	e->module = dwfl_report_module(e->dwfl, name, 0, ~0ULL);
	if (e->module && !dwfl_module_report_build_id(e->module, id, len / 2, 0)) {
		fd = dwfl_standard_find_debuginfo(e->module, NULL, name, 0, name, NULL, 0, &path);
		if (fd >= 0) {
			/* Replace the placeholder module that had only the id */
			dwfl_report_begin(e->dwfl);
			e->module = dwfl_report_offline(e->dwfl, name, path ?: name, fd);
			dwfl_report_end(e->dwfl, NULL, NULL);
			fd = take_file(e, path ?: name, why);
			free(path);
			return fd;
		}
	}
	dwfl_end(e->dwfl);
	e->dwfl = NULL;
	e->module = NULL;
	return -1;
}
