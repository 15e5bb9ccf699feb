// SPDX-License-Identifier: GPL-2.0
/*
 * lines.c - source lines of frames, from the debug information of the kernel and
 * its modules
 */
#include <ctype.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <fts.h>
#include <libgen.h>
#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "symbol/build_id.h"
#include "symbol/srcline.h"
#include "util.h"

#define DEBUG_DIR	"/usr/lib/debug"

/* Functions inlined into each other at one place; more are not shown */
#define PLACES_MAX	32

/* Functions of one name and size */
#define CANDIDATES_MAX	16

struct function {
	const char *name;
	const char *file;	/* of a local one, by the symbol table; else NULL */
	u64 addr, size;
	u32 section;
	u32 next;		/* of the same hash, in the order of the symbol table; 0: none */
	bool weak;
};

struct section {
	u64 addr, size;
	bool code;
};

/* A function that has code of its own, in the debug information */
struct subprogram {
	u64 start, end;
	Dwarf_Die die;
};

/* A compilation unit; its bodies are read when a frame is in it */
struct unit {
	Dwarf_Die die;
	bool read;
	struct subprogram *subprogram;
	size_t subprograms, room;
};

struct unit_range {
	u64 start, end;
	u32 unit;
};

/* The kernel's image or a module's file */
struct object {
	char *name;		/* the module's, "" for the kernel itself */
	char *build_id;		/* of what ran, in hexadecimal digits, or NULL if unknown */
	char *path;		/* NULL: there is none that can be used, ... */
	char *missing;		/* ... and why */
	Dwfl *dwfl;
	Dwfl_Module *module;
	GElf_Half machine;
	bool relocatable;
	struct section *section;
	size_t sections;
	struct function *function;	/* the first is none */
	size_t functions, function_room;
	u32 *by_addr;		/* indexes of them */
	u32 *bucket;		/* the same by hash of name */
	size_t buckets;
	u64 banner_addr;	/* of linux_banner */
	bool read_units;
	Dwarf_Addr bias;	/* from addresses in the debug information */
	struct unit *unit;
	size_t units, unit_room;
	struct unit_range *range;
	size_t ranges, range_room;
	struct object *next;
};

/* Files NAME.ko* below a directory */
struct directory {
	char *path;
	bool read;
	char **file;
	size_t files, room;
};

#define DIRECTORIES	4

struct srcline {
	struct srcline_config where;
	char *release;		/* of what is decoded, or NULL if unknown */
	char *announced_release, *announced_banner, *announced_id;
	bool announced;		/* these are not held against the image yet */
	char *mismatch;		/* why what was told does not fit the image, or NULL */
	struct object *objects;	/* the kernel's is the first */
	bool kernel_tried, kernel_usable;
	bool kernel_known;	/* the image is of the build that ran */
	bool reported_unknown, reported_forced;
	struct directory directory[DIRECTORIES];
	char *root[2];		/* of the sources: of C files, of assembly */
	void *cache;
	u64 decoded, size_mismatches, unknown, no_line;
	char error[1024];
};

/* -------------------------------------------------------------- objects --- */

static char *debuginfo_path;

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
	.debuginfo_path = &debuginfo_path,
};

static void read_sections(struct object *o, Elf *elf)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	size_t nr = 0;

	elf_getshdrnum(elf, &nr);
	o->section = xcalloc(nr + 1, sizeof(*o->section));
	o->sections = nr;
	while ((scn = elf_nextscn(elf, scn))) {
		size_t i = elf_ndxscn(scn);

		if (i >= nr || !gelf_getshdr(scn, &shdr) || !(shdr.sh_flags & SHF_ALLOC))
			continue;
		/* libdwfl has placed the sections of a module side by side */
		o->section[i] = (struct section){ shdr.sh_addr, shdr.sh_size,
						  shdr.sh_flags & SHF_EXECINSTR };
	}
}

static int by_addr(const void *a, const void *b, void *object)
{
	const struct function *x = &((struct object *)object)->function[*(const u32 *)a],
			      *y = &((struct object *)object)->function[*(const u32 *)b];

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void read_functions(struct object *o)
{
	int i, nr = dwfl_module_getsymtab(o->module);
	const char *file = NULL;
	size_t n;

	o->functions = 1;
	o->function_room = nr > 0 ? nr + 1 : 1;
	o->function = xcalloc(o->function_room, sizeof(*o->function));
	for (i = 1; i < nr; i++) {
		GElf_Sym sym;
		GElf_Word shndx;
		GElf_Addr addr;
		const char *name = dwfl_module_getsym_info(o->module, i, &sym, &addr, &shndx, NULL,
							   NULL);
		unsigned int type = GELF_ST_TYPE(sym.st_info);

		if (type == STT_FILE)
			file = name;
		if (!name || shndx >= o->sections || type == STT_SECTION || type == STT_FILE)
			continue;
		if (!o->section[shndx].code) {
			if (!strcmp(name, "linux_banner"))
				o->banner_addr = addr;
			continue;
		}
		/* Labels that the kernel's own list leaves out, too */
		if (!*name || *name == '$' || !strncmp(name, ".L", 2))
			continue;
		o->function[o->functions++] = (struct function){
			.name = name, .addr = addr, .size = sym.st_size, .section = shndx,
			.file = GELF_ST_BIND(sym.st_info) == STB_LOCAL ? file : NULL,
			.weak = GELF_ST_BIND(sym.st_info) == STB_WEAK };
	}

	o->by_addr = xcalloc(o->functions, sizeof(*o->by_addr));
	for (n = 1; n < o->functions; n++)
		o->by_addr[n - 1] = n;
	qsort_r(o->by_addr, o->functions - 1, sizeof(*o->by_addr), by_addr, o);

	for (o->buckets = 64; o->buckets < o->functions; o->buckets *= 2)
		;
	o->bucket = xcalloc(o->buckets, sizeof(*o->bucket));
	for (n = o->functions; --n; ) {
		struct function *f = &o->function[n];
		u32 *bucket = &o->bucket[hash_bytes(f->name, strlen(f->name)) & (o->buckets - 1)];

		f->next = *bucket;
		*bucket = n;
	}
}

/* Iterate over functions of a name: i = 0; while ((i = next_named(...))) */
static u32 next_named(const struct object *o, const char *name, size_t len, u32 i)
{
	if (!o->buckets)
		return 0;
	i = i ? o->function[i].next : o->bucket[hash_bytes(name, len) & (o->buckets - 1)];
	while (i && (strncmp(o->function[i].name, name, len) || o->function[i].name[len]))
		i = o->function[i].next;
	return i;
}

/* Position in by_addr[] of the first symbol above an address */
static size_t symbol_above(const struct object *o, u64 addr)
{
	size_t low = 0, high = o->functions - 1;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (o->function[o->by_addr[middle]].addr <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * The kernel counts a function up to the next symbol that it lists, which need
 * not be all that the file has.  Behind the last one of a section only the kernel
 * knows what comes: other sections of a module, or the end of a page.
 */
static bool size_fits(const struct object *o, const struct function *f, u64 size)
{
	u64 end = f->addr + size;
	size_t i;

	if (end < f->addr)
		return false;
	for (i = symbol_above(o, f->addr); i < o->functions - 1; i++) {
		const struct function *next = &o->function[o->by_addr[i]];

		if (next->addr >= o->section[f->section].addr + o->section[f->section].size)
			break;
		if (next->addr >= end)
			return next->addr == end;
	}
	return size >= f->size;
}

static const struct function *function_at(const struct object *o, u64 addr)
{
	static const struct function none = { .name = "?" };
	size_t i = symbol_above(o, addr);

	return i ? &o->function[o->by_addr[i - 1]] : &none;
}

/* Up to @size bytes of the file's memory image; how many there are */
static size_t read_memory(struct object *o, u64 addr, void *buf, size_t size)
{
	GElf_Addr offset = addr, bias;
	Elf_Scn *scn = dwfl_module_address_section(o->module, &offset, &bias);
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

static void object_close(struct object *o)
{
	size_t i;

	for (i = 0; i < o->units; i++)
		free(o->unit[i].subprogram);
	free(o->unit);
	free(o->range);
	free(o->section);
	free(o->function);
	free(o->by_addr);
	free(o->bucket);
	free(o->path);
	if (o->dwfl)
		dwfl_end(o->dwfl);
	o->dwfl = NULL;
	o->unit = NULL;
	o->range = NULL;
	o->section = NULL;
	o->function = NULL;
	o->by_addr = NULL;
	o->bucket = NULL;
	o->path = NULL;
	o->units = 0;
	o->unit_room = 0;
	o->ranges = 0;
	o->range_room = 0;
	o->sections = 0;
	o->functions = 0;
	o->buckets = 0;
	o->read_units = false;
	o->banner_addr = 0;
}

/* An open file, and the name that it is known by.  0, or -1 with o->missing set */
static int object_use(struct object *o, const char *path)
{
	Dwarf_Addr bias;
	GElf_Ehdr ehdr;
	Elf *elf;

	free(o->missing);
	o->missing = NULL;
	o->path = xstrdup(path);
	elf = o->module ? dwfl_module_getelf(o->module, &bias) : NULL;
	if (!elf || !gelf_getehdr(elf, &ehdr)) {
		o->missing = xasprintf("%s: %s", path, dwfl_errmsg(-1) ?: "is no ELF file");
		goto bad;
	}
	o->machine = ehdr.e_machine;
	o->relocatable = ehdr.e_type == ET_REL;
	if (!dwfl_module_getdwarf(o->module, &o->bias)) {
		o->missing = xasprintf("%s has no debug information", path);
		goto bad;
	}
	read_sections(o, elf);
	read_functions(o);
	return 0;
bad:
	object_close(o);
	return -1;
}

static int object_open(struct object *o, const char *path)
{
	const char *name = *o->name ? o->name : "kernel";

	o->dwfl = dwfl_begin(&callbacks);
	if (o->dwfl) {
		dwfl_report_begin(o->dwfl);
		o->module = dwfl_report_offline(o->dwfl, name, path, -1);
		dwfl_report_end(o->dwfl, NULL, NULL);
	}
	return object_use(o, path);
}

static unsigned int unhex(char c)
{
	return c <= '9' ? c - '0' : (c | 32) - 'a' + 10;
}

/* By build id alone: from /usr/lib/debug/.build-id, or by debuginfod */
static int object_find(struct object *o, const char *hex, size_t len)
{
	const char *name = *o->name ? o->name : "kernel";
	static const char *const suffix[] = { ".debug", "" };
	unsigned char id[64];
	char *path = NULL;
	size_t i;
	int fd;

	if (len < 4 || len % 2 || len > 2 * sizeof(id))
		return -1;
	for (i = 0; i < len; i++) {
		if (!isxdigit((unsigned char)hex[i]))
			return -1;
		id[i / 2] = id[i / 2] << 4 | unhex(hex[i]);
	}
	for (i = 0; i < 2; i++) {
		path = xasprintf(DEBUG_DIR "/.build-id/%.2s/%.*s%s", hex, (int)len - 2, hex + 2,
			       suffix[i]);
		if (!access(path, R_OK) && !object_open(o, path)) {
			free(path);
			return 0;
		}
		free(path);
	}

	path = NULL;
	o->dwfl = dwfl_begin(&callbacks);
	if (!o->dwfl)
		return -1;
	dwfl_report_begin(o->dwfl);
	o->module = dwfl_report_module(o->dwfl, name, 0, ~0ULL);
	if (o->module && !dwfl_module_report_build_id(o->module, id, len / 2, 0)) {
		fd = dwfl_standard_find_debuginfo(o->module, NULL, name, 0, name, NULL, 0, &path);
		if (fd >= 0) {
			/* Out with what had only the id */
			dwfl_report_begin(o->dwfl);
			o->module = dwfl_report_offline(o->dwfl, name, path ?: name, fd);
			dwfl_report_end(o->dwfl, NULL, NULL);
			fd = object_use(o, path ?: name);
			free(path);
			return fd;
		}
	}
	dwfl_end(o->dwfl);
	o->dwfl = NULL;
	o->module = NULL;
	return -1;
}

/* Hexadecimal digits, to be freed; NULL if the file has none */
static char *build_id_of(struct object *o)
{
	const unsigned char *bits;
	GElf_Addr addr;
	int n = dwfl_module_build_id(o->module, &bits, &addr);

	return n > 0 ? build_id_hex(bits, n) : NULL;
}

/* -------------------------------------------------------- the debug data --- */

static int by_start(const void *a, const void *b)
{
	const struct unit_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/*
 * Which unit covers what.  .debug_aranges would tell the same, but clang makes none
 * unless asked, and of 2,400 units to read the ranges takes some milliseconds.
 */
static void read_units(struct object *o)
{
	Dwarf *dwarf = dwfl_module_getdwarf(o->module, &o->bias);
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	uint8_t type;

	o->read_units = true;
	while (!dwarf_get_units(dwarf, cu, &cu, NULL, &type, &die, NULL)) {
		Dwarf_Addr base, start, end;
		ptrdiff_t at = 0;

		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		GROW(o->unit, o->units, o->unit_room);
		o->unit[o->units] = (struct unit){ .die = die };
		while ((at = dwarf_ranges(&die, at, &base, &start, &end)) > 0) {
			if (start >= end)
				continue;
			GROW(o->range, o->ranges, o->range_room);
			o->range[o->ranges++] = (struct unit_range){ start, end, o->units };
		}
		o->units++;
	}
	if (o->ranges)
		qsort(o->range, o->ranges, sizeof(*o->range), by_start);
}

static struct unit *unit_at(struct object *o, u64 addr)
{
	size_t low = 0, high;

	if (!o->read_units)
		read_units(o);
	for (high = o->ranges; low < high; ) {
		size_t middle = low + (high - low) / 2;

		if (o->range[middle].start <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low && addr < o->range[low - 1].end ? &o->unit[o->range[low - 1].unit] : NULL;
}

/* Functions with code, wherever they are declared: Rust has them inside of namespaces */
static void read_subprograms(struct unit *u, Dwarf_Die *parent)
{
	Dwarf_Die die;
	int ret = dwarf_child(parent, &die);

	for (; !ret; ret = dwarf_siblingof(&die, &die)) {
		Dwarf_Addr base, start, end;
		ptrdiff_t at = 0;

		switch (dwarf_tag(&die)) {
		case DW_TAG_subprogram:
			while ((at = dwarf_ranges(&die, at, &base, &start, &end)) > 0) {
				GROW(u->subprogram, u->subprograms, u->room);
				u->subprogram[u->subprograms++] = (struct subprogram){ start, end, die };
			}
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
			read_subprograms(u, &die);
			break;
		case DW_TAG_structure_type:
		case DW_TAG_enumeration_type:
			if (dwarf_srclang(&u->die) == DW_LANG_Rust)
				read_subprograms(u, &die);
			break;
		}
	}
}

struct place {
	const char *function, *file;
	int line;
	unsigned int discriminator;
};

/*
 * From a function's body inwards to the innermost inlined function that holds the
 * address, outermost first.  Blocks between them need not have addresses.
 */
static bool inlined_at(Dwarf_Die *parent, u64 addr, Dwarf_Die *path, unsigned int *nr)
{
	Dwarf_Die die;
	int ret = dwarf_child(parent, &die);

	for (; !ret; ret = dwarf_siblingof(&die, &die)) {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_inlined_subroutine && dwarf_haspc(&die, addr) > 0) {
			if (*nr == PLACES_MAX - 1)
				return true;
			path[(*nr)++] = die;
			inlined_at(&die, addr, path, nr);
			return true;
		}
		if (tag == DW_TAG_lexical_block && inlined_at(&die, addr, path, nr))
			return true;
	}
	return false;
}

static const char *die_name(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *name;

	if (!dwarf_attr_integrate(die, DW_AT_name, &attr))
		return NULL;
	name = dwarf_formstring(&attr);
	return name;
}

static unsigned int die_number(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;

	if (!dwarf_attr(die, name, &attr) || dwarf_formudata(&attr, &value))
		return 0;
	return value;
}

/*
 * Where an address of the object is in the source, innermost function first.
 * Return the number of places, 0 if nothing is known of it.
 */
static unsigned int places_at(struct object *o, u64 addr, struct place *place)
{
	struct unit *u;
	Dwarf_Die path[PLACES_MAX];
	unsigned int nr = 0, depth = 0, discriminator = 0;
	Dwarf_Files *files;
	Dwarf_Line *line;
	int number = 0;
	size_t i, file_count;

	addr -= o->bias;
	u = unit_at(o, addr);
	if (!u)
		return 0;
	line = dwarf_getsrc_die(&u->die, addr);
	if (!line)
		return 0;
	if (!u->read) {
		u->read = true;
		read_subprograms(u, &u->die);
	}
	dwarf_lineno(line, &number);
	dwarf_linediscriminator(line, &discriminator);
	place[nr++] = (struct place){ NULL, dwarf_linesrc(line, NULL, NULL), number,
				      discriminator };

	for (i = 0; i < u->subprograms; i++)
		if (addr >= u->subprogram[i].start && addr < u->subprogram[i].end)
			break;
	if (i == u->subprograms)
		return nr;
	inlined_at(&u->subprogram[i].die, addr, path, &depth);
	if (dwarf_getsrcfiles(&u->die, &files, &file_count))
		files = NULL;
	while (depth) {
		Dwarf_Die *die = &path[--depth];
		unsigned int file = die_number(die, DW_AT_call_file);

		place[nr - 1].function = die_name(die);
		place[nr++] = (struct place){
			.file = files ? dwarf_filesrc(files, file, NULL, NULL) : NULL,
			.line = die_number(die, DW_AT_call_line),
			.discriminator = discriminator };
	}
	place[nr - 1].function = die_name(&u->subprogram[i].die);
	return nr;
}

/* ------------------------------------------------------------ the kernel --- */

static void split_root(struct srcline *l, int which, const char *symbol, const char *below)
{
	struct object *o = l->objects;
	struct place place[PLACES_MAX];
	const char *file, *end = NULL;
	u32 i = next_named(o, symbol, strlen(symbol), 0);
	unsigned int nr;

	if (!i || l->root[which])
		return;
	nr = places_at(o, o->function[i].addr, place);
	file = nr ? place[nr - 1].file : NULL;
	if (file)
		end = strstr(file, below);
	if (end)
		l->root[which] = xasprintf("%.*s", (int)(end - file), file);
}

/* "Linux version ..." of the image, or "" if it cannot be read */
static void read_banner(struct object *o, char *banner, size_t size)
{
	size_t n = o->banner_addr ? read_memory(o, o->banner_addr, banner, size - 1) : 0;

	banner[n] = '\0';
	banner[strcspn(banner, "\n")] = '\0';
	if (strncmp(banner, "Linux version ", 14))
		*banner = '\0';
}

/* @text within @banner as whole words */
static bool banner_has(const char *banner, const char *text)
{
	size_t len = strlen(text);
	const char *p;

	for (p = banner; len && (p = strstr(p, text)); p++)
		if ((p == banner || p[-1] == ' ') && (!p[len] || p[len] == ' '))
			return true;
	return false;
}

/*
 * Why the image is not of what ran, to be freed, or NULL.  Sets l->kernel_known if it is
 * certain that it is.
 */
static char *kernel_mismatch(struct srcline *l, const char *release, const char *version,
			   const char *whole, const char *id)
{
	struct object *o = l->objects;
	char banner[512], *its, *why = NULL;

	l->kernel_known = false;
	if (id && *id) {
		its = build_id_of(o);
		if (its && !strcmp(its, id))
			l->kernel_known = true;
		else
			why = xasprintf("%s has %s %s, and that of the kernel that ran is %s",
				      o->path, its ? "build id" : "no build", its ?: "id", id);
		free(its);
	}
	read_banner(o, banner, sizeof(banner));
	if (l->kernel_known || !*banner)
		return why;
	if (release && *release && !banner_has(banner, release)) {
		free(why);
		return xasprintf("%s is of kernel %.*s, not of %s", o->path,
			       (int)strcspn(banner + 14, " "), banner + 14, release);
	}
	if ((version && *version && !banner_has(banner, version)) ||
	    (whole && strncmp(whole, banner, strlen(banner)))) {
		free(why);
		return xasprintf("%s is of another build of this kernel: \"%s\" there, \"%s\" here",
			       o->path, banner, version ?: whole);
	}
	l->kernel_known = !why && ((version && *version) || whole);
	return why;
}

/* Hold the image against what is known of what ran.  0, or -1 if it is not that */
static int check_kernel(struct srcline *l, const char *release, const char *version,
			const char *whole, const char *id)
{
	char *why = kernel_mismatch(l, release, version, whole, id);

	if (!why)
		return 0;
	if (!l->where.force)
		failed(l, "%s (--force takes it nevertheless)", why);
	else if (!l->reported_forced)
		report("%s: it is taken nevertheless (--force)", why);
	l->reported_forced = l->where.force;
	free(why);
	return l->where.force ? 0 : -1;
}

/* Is what is decoded of the kernel that runs here, as far as is known? */
static bool is_running(const struct srcline *l)
{
	struct utsname uts;

	return !uname(&uts) && l->release && !strcmp(l->release, uts.release) &&
	       (!l->where.version || !strcmp(l->where.version, uts.version));
}

static int open_kernel(struct srcline *l)
{
	static const char *const places[] = {
		DEBUG_DIR "/boot/vmlinux-%s", DEBUG_DIR "/boot/vmlinux-%s.debug",
		DEBUG_DIR "/lib/modules/%s/vmlinux", DEBUG_DIR "/lib/modules/%s/vmlinux.debug",
		"/boot/vmlinux-%s", "/lib/modules/%s/vmlinux", "/lib/modules/%s/build/vmlinux",
	};
	struct object *o = l->objects;
	const char *wanted = o->build_id ?: l->announced_id;
	struct utsname uts;
	size_t i;
	char *id;

	if (l->kernel_tried)
		return l->kernel_usable ? 0 : -1;
	l->kernel_tried = true;
	if (l->where.vmlinux) {
		if (object_open(o, l->where.vmlinux))
			return failed(l, "%s", o->missing);
	} else {
		if (!l->release && !wanted && !uname(&uts))
			l->release = xstrdup(uts.release);
		for (i = 0; l->release && !o->path && i < ARRAY_SIZE(places); i++) {
			char *path;

			/* It becomes a part of a path */
			if (strchr(l->release, '/'))
				break;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
			path = xasprintf(places[i], l->release);
#pragma GCC diagnostic pop
			if (!access(path, R_OK))
				object_open(o, path);
			free(path);
		}
		id = wanted ? xstrdup(wanted) :
			      is_running(l) ? build_id_of_notes("/sys/kernel/notes") : NULL;
		if (!o->path && id)
			object_find(o, id, strlen(id));
		free(id);
		if (!o->path)
			return failed(l, "no vmlinux with debug information of %s%s below %s, /boot or /lib/modules: install its debug package, or name the file: -k",
				      l->release ? "kernel " : "build id ",
				      l->release ?: wanted, DEBUG_DIR);
	}
	split_root(l, 0, "kernel_init", "/init/main.c");
	split_root(l, 1, "startup_64", "/arch/");
	split_root(l, 1, "primary_entry", "/arch/");
	split_root(l, 1, "asm_exc_page_fault", "/arch/");
	l->kernel_usable = !check_kernel(l, l->where.release, l->where.version, NULL,
					 o->build_id);
	return l->kernel_usable ? 0 : -1;
}

/* What was told, against the image.  0, or -1 if what goes on from there is of another */
static int check_announced(struct srcline *l)
{
	if (l->announced) {
		l->announced = false;
		free(l->mismatch);
		l->mismatch = NULL;
		if (!open_kernel(l) &&
		    check_kernel(l, l->announced_release, NULL, l->announced_banner, l->announced_id))
			l->mismatch = xstrdup(l->error);
	}
	return l->mismatch ? failed(l, "%s", l->mismatch) : 0;
}

/* ----------------------------------------------------------- the modules --- */

static void read_directory(struct directory *d)
{
	char *const roots[] = { d->path, NULL };
	FTS *fts;
	FTSENT *entry;

	d->read = true;
	if (!d->path)
		return;
	fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_NOSTAT | FTS_COMFOLLOW, NULL);
	while (fts && (entry = fts_read(fts))) {
		if (entry->fts_info == FTS_D || entry->fts_info == FTS_DP)
			continue;
		if (!strstr(entry->fts_name, ".ko"))
			continue;
		GROW(d->file, d->files, d->room);
		d->file[d->files++] = xstrdup(entry->fts_path);
	}
	if (fts)
		fts_close(fts);
}

/* In the names of files of modules "-" and "_" are the same */
static bool is_file_of(const char *path, const char *module)
{
	const char *file = strrchr(path, '/');

	for (file = file ? file + 1 : path; *module; file++, module++)
		if (*file != *module && !(*file == '-' && *module == '_') &&
		    !(*file == '_' && *module == '-'))
			return false;
	return !strncmp(file, ".ko", 3) && (!file[3] || file[3] == '.');
}

/* A value of the module's .modinfo, in @buf; "" if there is none */
static void module_says(struct object *o, const char *key, char *buf, size_t size)
{
	Dwarf_Addr bias;
	Elf *elf = dwfl_module_getelf(o->module, &bias);
	Elf_Scn *scn = NULL;
	size_t strings = 0, len = strlen(key);
	GElf_Shdr shdr;

	*buf = '\0';
	elf_getshdrstrndx(elf, &strings);
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name, *p, *end;
		Elf_Data *data;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, strings, shdr.sh_name);
		if (!name || strcmp(name, ".modinfo"))
			continue;
		data = elf_rawdata(scn, NULL);
		if (!data || !data->d_buf)
			continue;
		end = (const char *)data->d_buf + data->d_size;
		for (p = data->d_buf; p < end; p += strnlen(p, end - p) + 1)
			if ((size_t)(end - p) > len && !strncmp(p, key, len) && p[len] == '=')
				snprintf(buf, size, "%.*s", (int)(end - p - len - 1), p + len + 1);
	}
}

/* Why this file is not the module that ran, to be freed, or NULL.  *@known: it certainly is */
static char *module_mismatch(struct srcline *l, struct object *o, bool *known)
{
	char value[128], *id;

	*known = false;
	module_says(o, "vermagic", value, sizeof(value));
	value[strcspn(value, " ")] = '\0';
	if (*value && l->release && strcmp(value, l->release))
		return xasprintf("%s is for kernel %s, not for %s", o->path, value, l->release);
	module_says(o, "srcversion", value, sizeof(value));
	if (!strcmp(o->name, "stackbuf") && l->where.srcversion && *l->where.srcversion &&
	    *value && strcmp(value, l->where.srcversion))
		return xasprintf("%s has srcversion %s, and %s was loaded", o->path, value,
			       l->where.srcversion);
	if (!o->build_id)
		return NULL;
	id = build_id_of(o);
	*known = id && !strcmp(id, o->build_id);
	free(id);
	return *known ? NULL : xasprintf("%s has another build id than what ran, %s", o->path,
				       o->build_id);
}

/* Take the file that is open, or close it and leave in o->missing why not */
static bool try_module(struct srcline *l, struct object *o, bool force)
{
	bool known;
	char *why = module_mismatch(l, o, &known);

	if (why && !force) {
		object_close(o);
		free(o->missing);
		o->missing = why;
		return false;
	}
	if (why)
		report("%s: it is taken nevertheless (--force)", why);
	else if (!known)
		report("%s: not known to be the build that ran", o->path);
	free(why);
	return true;
}

static bool find_module(struct srcline *l, struct object *o, bool force)
{
	size_t i, n;

	for (i = 0; i < DIRECTORIES; i++) {
		struct directory *d = &l->directory[i];

		if (!d->read)
			read_directory(d);
		for (n = 0; n < d->files; n++)
			if (is_file_of(d->file[n], o->name) && !object_open(o, d->file[n]) &&
			    try_module(l, o, force))
				return true;
	}
	return false;
}

static void open_module(struct srcline *l, struct object *o)
{
	char *notes, *id;
	bool found;

	if (!l->directory[1].path && !open_kernel(l)) {
		char *path = xstrdup(l->objects->path);
		char banner[512];

		l->directory[1].path = xstrdup(dirname(path));
		free(path);
		read_banner(l->objects, banner, sizeof(banner));
		if (!l->release && *banner)
			l->release = xasprintf("%.*s", (int)strcspn(banner + 14, " "), banner + 14);
	}
	if (!l->directory[2].path && l->release && !strchr(l->release, '/')) {
		l->directory[2].path = xasprintf(DEBUG_DIR "/lib/modules/%s", l->release);
		l->directory[3].path = xasprintf("/lib/modules/%s", l->release);
	}
	if (find_module(l, o, false))
		return;
	if (!o->build_id && is_running(l)) {
		notes = xasprintf("/sys/module/%s/notes/.note.gnu.build-id", o->name);
		id = build_id_of_notes(notes);
		free(notes);
	} else {
		id = xstrdup(o->build_id);
	}
	found = id && !object_find(o, id, strlen(id)) && try_module(l, o, false);
	free(id);
	if (found || (l->where.force && find_module(l, o, true)))
		return;
	if (!o->missing)
		o->missing = xasprintf("no %s.ko in %s%s%s", o->name,
				     l->where.modules ?: "the usual places",
				     l->where.modules ? " or the usual places" : "",
				     l->where.modules ? "" : " (name its directory: -m)");
}

/* The build id of what the frame is in, "" if unknown; a module may have had several */
static void wanted_id(const struct srcline *l, const struct frame *f, char id[BUILD_ID_DIGITS + 1])
{
	char name[64];
	const char *known;
	size_t n;

	for (n = 0; n < f->build_id_len && n < BUILD_ID_DIGITS; n++)
		id[n] = tolower((unsigned char)f->build_id[n]);
	id[n] = '\0';
	if (n || !f->module_len || !l->where.ids)
		return;
	snprintf(name, sizeof(name), "%.*s", (int)f->module_len, f->module);
	known = build_ids_find(l->where.ids, name, f->time);
	if (known)
		snprintf(id, BUILD_ID_DIGITS + 1, "%s", known);
}

static struct object *module_of(struct srcline *l, const struct frame *f, const char *id)
{
	struct object **p, *o;

	for (p = &l->objects->next; (o = *p); p = &o->next)
		if (!strncmp(o->name, f->module, f->module_len) && !o->name[f->module_len] &&
		    !strcmp(o->build_id ?: "", id))
			return o;
	o = xcalloc(1, sizeof(*o));
	o->name = xasprintf("%.*s", (int)f->module_len, f->module);
	o->build_id = *id ? xstrdup(id) : NULL;
	*p = o;
	open_module(l, o);
	return o;
}

/* Where the frame is; NULL if all is lost */
static struct object *object_of(struct srcline *l, const struct frame *f, const char *id)
{
	if (f->module_len)
		return module_of(l, f, id);
	if (open_kernel(l))
		return NULL;
	if (!l->kernel_known && !l->reported_unknown && !l->reported_forced)
		report("%s: not known to be the build that ran", l->objects->path);
	l->reported_unknown |= !l->kernel_known;
	return l->objects;
}

/* ---------------------------------------------------------------- frames --- */

bool frame_is_entry(const char *name, size_t len)
{
	static const char *const entry[] = {
		/* x86; of all exceptions only int3 reports the address behind itself */
		"asm_exc_", "asm_sysvec_", "asm_common_interrupt", "asm_spurious_interrupt",
		"xen_asm_exc_", "end_repeat_nmi",
		/* arm64 */
		"el1h_64_", "el1t_64_", "el1_irq", "el1_sync",
	};
	size_t i;

	if (len >= 11 && (!strncmp(name, "asm_exc_int3", len) ||
			  !strncmp(name, "xen_asm_exc_int3", len)))
		return false;
	for (i = 0; i < ARRAY_SIZE(entry); i++)
		if (len >= strlen(entry[i]) && !strncmp(name, entry[i], strlen(entry[i])))
			return true;
	return false;
}

/* Bytes of an x86 call through register or memory, from its ModRM and SIB bytes; 0: none */
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

/* Is the instruction before this address a call?  Where that cannot be told: true */
static bool call_before(struct object *o, u64 addr)
{
	/* Enough room to look at a ModRM and a SIB byte of each */
	u8 code[8 + 3] = { 0 };
	size_t i, len;
	u32 insn;

	if (o->machine == EM_AARCH64) {
		if (read_memory(o, addr - 4, &insn, 4) < 4)
			return true;
		return (insn & 0xfc000000) == 0x94000000 ||	/* bl */
		       (insn & 0xfffffc1f) == 0xd63f0000 ||	/* blr */
		       (insn & 0xfefff800) == 0xd63f0800;	/* blra* */
	}
	if (o->machine != EM_X86_64)
		return true;
	for (len = 8; len >= 2; len--)
		if (read_memory(o, addr - len, code + 8 - len, len) == len)
			break;
	if (len < 2)
		return true;
	if (len >= 5 && code[3] == 0xe8) {
		struct section *s = o->section;
		s32 distance;

		memcpy(&distance, code + 4, 4);
		for (i = 0; i < o->sections; i++, s++)
			if (o->relocatable || (s->code && addr + distance >= s->addr &&
					       addr + distance < s->addr + s->size))
				return true;
	}
	for (i = 2; i <= 7 && i <= len; i++)
		if (indirect_call(code + 8 - i) == (int)i)
			return true;
	return false;
}

/* A path without what all sources have in common, and without "directory/.." */
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

static void append(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void append(char **text, const char *format, ...)
{
	char *more, *old = *text;
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&more, format, args);
	va_end(args);
	if (n < 0)
		return;
	*text = xasprintf("%s%s", old ?: "", more);
	free(more);
	free(old);
}

/* " (file:line)" etc., or NULL */
static char *describe(struct srcline *l, struct object *o, u64 addr, enum frame_kind kind, u64 offset)
{
	struct place place[PLACES_MAX];
	unsigned int i, nr;
	char *text = NULL;

	if (kind == FRAME_OPEN)
		kind = offset && call_before(o, addr) ? FRAME_RETURN : FRAME_EXACT;
	if (kind == FRAME_RETURN)
		addr--;
	nr = places_at(o, addr, place);
	for (i = 0; i < nr; i++) {
		char *path = shown_path(l, place[i].file);

		append(&text, i ? " (inlined by)" : "");
		/* A call at a function's very end returns to the next one, which has the name */
		if (nr > 1 || (kind == FRAME_RETURN && !offset))
			append(&text, " %s", place[i].function ?: function_at(o, addr)->name);
		if (place[i].line)
			append(&text, " (%s:%d)", path, place[i].line);
		else
			append(&text, " (%s:?)", path);
		free(path);
	}
	return text;
}

/*
 * Where a frame's address is in the image, wherever the kernel was loaded; 0 if that
 * is unknown, or if the frame's name belongs to something else.
 */
static u64 image_addr(const struct srcline *l, const struct object *o, const struct frame *f)
{
	const char *base = l->where.base_symbol;
	u32 i = base ? next_named(o, base, strlen(base), 0) : 0;
	u64 addr;

	if (!i || !f->addr || o != l->objects)
		return 0;
	addr = f->addr - l->where.base_addr + o->function[i].addr;
	if (!f->name_len)
		return addr;
	for (i = 0; (i = next_named(o, f->name, f->name_len, i)); )
		if (o->function[i].addr + f->offset == addr &&
		    size_fits(o, &o->function[i], f->size))
			return addr;
	return 0;
}

const char *srcline_function(const struct srcline *l, u64 addr)
{
	const struct frame f = { .addr = addr };

	addr = l->objects->path ? image_addr(l, l->objects, &f) : 0;
	return addr ? function_at(l->objects, addr)->name : "";
}

static char *decode(struct srcline *l, struct object *o, const struct frame *f, enum frame_kind kind)
{
	char *text = NULL, *answer[CANDIDATES_MAX];
	u64 candidate[CANDIDATES_MAX], addr;
	unsigned int nr = 0, all = 0, answers = 0, i, j;
	bool calls = false, more = false;
	u32 fn = 0;

	addr = image_addr(l, o, f);
	if (addr || !f->name_len) {
		text = addr ? describe(l, o, addr, kind, addr - function_at(o, addr)->addr) : NULL;
		l->no_line += addr && !text;
		l->decoded += !!text;
		return text;
	}
	while ((fn = next_named(o, f->name, f->name_len, fn))) {
		const struct function *function = &o->function[fn];

		all++;
		if (f->offset > f->size ||
		    !(size_fits(o, function, f->size) || (l->where.force && !nr)))
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
	/* Of functions with name and size in common, those that call there */
	for (i = 0; nr > 1 && f->offset && i < nr; i++)
		calls |= call_before(o, candidate[i]);
	for (i = 0; i < nr; i++) {
		if (calls && kind == FRAME_RETURN && !call_before(o, candidate[i]))
			continue;
		answer[answers] = describe(l, o, candidate[i], kind, f->offset) ?: xstrdup("");
		for (j = 0; strcmp(answer[j], answer[answers]); j++)
			;
		if (j < answers)
			free(answer[answers]);
		else
			answers++;
	}
	/* One that is without a line may be the right one, too */
	for (i = 0; i < answers; i++) {
		if (answers > 1 || *answer[i])
			append(&text, "%s%s", i ? " or" : "", *answer[i] ? answer[i] : " (?:?)");
		free(answer[i]);
	}
	if (more)
		append(&text, "%s", text ? " or others" : " (?:?)");
	if (nr && !text)
		l->no_line++;
	l->decoded += !!text;
	return text;
}

/* --------------------------------------------------------------- compat --- */

/* As "addr2line -i -e FILE ADDRESS", on one line */
static char *addr2line(struct srcline *l, struct object *o, u64 addr)
{
	size_t len = l->root[0] ? strlen(l->root[0]) : 0;
	struct place place[PLACES_MAX];
	unsigned int i, nr = places_at(o, addr, place);
	char *text = NULL;

	/* Without lines, what the symbol table tells */
	if (!nr)
		return xasprintf("%s:?", function_at(o, addr)->file ?: "??");
	for (i = 0; i < nr; i++) {
		const char *file = place[i].file ?: "??";

		if (len && !strncmp(file, l->root[0], len) && file[len] == '/')
			file += len + 1;
		append(&text, "%s%s:", i ? " " : "", file);
		if (place[i].line)
			append(&text, "%d", place[i].line);
		else
			append(&text, "?");
		if (place[i].line && place[i].discriminator)
			append(&text, " (discriminator %u)", place[i].discriminator);
	}
	return text;
}

/*
 * The first symbol of the name, whatever its size; in a module its distance from its
 * section, looked up in the first section that is long enough.
 */
static char *decode_compat(struct srcline *l, struct object *o, const struct frame *f)
{
	u32 fn = 0;
	size_t i;
	u64 addr;

	do {
		fn = next_named(o, f->name, f->name_len, fn);
	} while (fn && o->function[fn].weak);
	if (!fn)
		return NULL;
	addr = o->function[fn].addr + f->offset;
	if (o->relocatable)
		addr -= o->section[o->function[fn].section].addr;
	for (i = 0; i < o->sections; i++) {
		const struct section *s = &o->section[i];
		u64 start = o->relocatable ? 0 : s->addr;

		if (s->code && addr >= start && addr - start < s->size)
			return addr2line(l, o, addr - start + s->addr);
	}
	return NULL;
}

/* ------------------------------------------------------------ everything --- */

struct cached {
	char *key;
	char *text;
};

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct cached *)a)->key, ((const struct cached *)b)->key);
}

static void free_cached(void *p)
{
	struct cached *c = p;

	free(c->key);
	free(c->text);
	free(c);
}

#define COMPAT	(FRAME_OPEN + 1)

static int frame_text(struct srcline *l, const struct frame *f, unsigned int kind, const char **text)
{
	char key[1024], id[BUILD_ID_DIGITS + 1];
	struct cached wanted = { .key = key }, *c, **found;
	struct object *o;
	int n;

	*text = NULL;
	/* A file that was named and does not fit is an error for frames of modules, too */
	if (l->where.vmlinux && open_kernel(l))
		return -1;
	wanted_id(l, f, id);
	n = snprintf(key, sizeof(key), "%u %.*s+%llx/%llx[%.*s %s %llx", kind, (int)f->name_len,
		     f->name, f->offset, f->size, (int)f->module_len, f->module, id, f->addr);
	if (n < 0 || (size_t)n >= sizeof(key))
		return 0;
	if (check_announced(l))
		return -1;
	found = tfind(&wanted, &l->cache, by_key);
	if (found) {
		*text = (*found)->text;
		return 0;
	}
	o = object_of(l, f, id);
	if (!o)
		return -1;
	c = xcalloc(1, sizeof(*c));
	c->key = xstrdup(key);
	if (o->path)
		c->text = kind == COMPAT ? decode_compat(l, o, f) : decode(l, o, f, kind);
	/* It comes from a file and goes to a terminal */
	if (c->text)
		printable(c->text);
	tsearch(c, &l->cache, by_key);
	*text = c->text;
	return 0;
}

int srcline_frame(struct srcline *l, const struct frame *f, enum frame_kind kind, const char **text)
{
	return frame_text(l, f, kind, text);
}

int srcline_compat(struct srcline *l, const struct frame *f, const char **text)
{
	return frame_text(l, f, COMPAT, text);
}

struct srcline *srcline_open(const struct srcline_config *where)
{
	struct srcline *l = xcalloc(1, sizeof(*l));

	l->where = *where;
	l->release = xstrdup(where->release);
	l->objects = xcalloc(1, sizeof(*l->objects));
	l->objects->name = xstrdup("");
	l->objects->build_id = xstrdup(where->ids ? build_ids_find(where->ids, "", 0) : NULL);
	l->directory[0].path = xstrdup(where->modules);
	return l;
}

int srcline_ready(struct srcline *l)
{
	return open_kernel(l);
}

/* All but the kernel's image: modules, where to look for them, and what was found out */
static void forget(struct srcline *l)
{
	struct object *o, *next;
	size_t i, n;

	for (o = l->objects->next; o; o = next) {
		next = o->next;
		object_close(o);
		free(o->missing);
		free(o->build_id);
		free(o->name);
		free(o);
	}
	l->objects->next = NULL;
	for (i = 1; i < DIRECTORIES; i++) {
		for (n = 0; n < l->directory[i].files; n++)
			free(l->directory[i].file[n]);
		free(l->directory[i].file);
		free(l->directory[i].path);
		l->directory[i] = (struct directory){ 0 };
	}
	tdestroy(l->cache, free_cached);
	l->cache = NULL;
}

void srcline_close(struct srcline *l)
{
	struct object *kernel = l->objects;
	size_t n;

	forget(l);
	for (n = 0; n < l->directory[0].files; n++)
		free(l->directory[0].file[n]);
	free(l->directory[0].file);
	free(l->directory[0].path);
	object_close(kernel);
	free(kernel->missing);
	free(kernel->build_id);
	free(kernel->name);
	free(kernel);
	free(l->release);
	free(l->announced_release);
	free(l->announced_banner);
	free(l->announced_id);
	free(l->mismatch);
	free(l->root[0]);
	free(l->root[1]);
	free(l);
}

void srcline_set_kernel(struct srcline *l, const char *release, const char *banner, const char *id)
{
	/* A later line of the kernel that the banner was of */
	bool same = !banner && l->announced_release && !strcmp(release, l->announced_release);

	/* What follows may have an image where what came before had none */
	if (!l->where.vmlinux && !l->where.release && !l->objects->path &&
	    (!l->release || strcmp(l->release, release))) {
		forget(l);
		l->kernel_tried = false;
		free(l->release);
		l->release = xstrdup(release);
	}
	if (!same) {
		free(l->announced_release);
		free(l->announced_banner);
		free(l->announced_id);
		l->announced_release = xstrdup(release);
		l->announced_banner = xstrdup(banner);
		l->announced_id = NULL;
	}
	if (id) {
		free(l->announced_id);
		l->announced_id = xstrdup(id);
	}
	l->announced = true;
}

const char *srcline_error(const struct srcline *l)
{
	return l->error;
}

bool srcline_report_missing(const struct srcline *l)
{
	const struct object *o;
	const char *path = l->objects->path ?: "its module";

	for (o = l->objects->next; o; o = o->next)
		if (o->missing && !o->path)
			report("frames of [%s] stay as they are: %s", o->name, o->missing);
	if (l->size_mismatches)
		report("%llu distinct frames stay as they are: their functions have another size in %s or its modules: are these of this very build? (--force decodes them)",
		    l->size_mismatches, path);
	if (l->unknown)
		report("%llu distinct frames stay as they are: %s or its modules have no such function",
		    l->unknown, path);
	if (l->no_line)
		report("%llu distinct frames stay as they are: their code has no line numbers",
		    l->no_line);
	return l->size_mismatches + l->unknown > l->decoded;
}

static bool name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '$';
}

static size_t hex_number(const char *text, size_t len, u64 *value)
{
	size_t n;

	if (len < 3 || text[0] != '0' || text[1] != 'x')
		return 0;
	*value = 0;
	for (n = 2; n < len && isxdigit((unsigned char)text[n]); n++) {
		if (n >= 18)
			return 0;
		*value = *value << 4 | unhex(text[n]);
	}
	return n > 2 ? n : 0;
}

size_t frame_parse(struct frame *f, const char *text, size_t len)
{
	size_t n = 0, at, digits;

	*f = (struct frame){ .name = text, .module = "", .build_id = "" };
	while (n < len && name_char(text[n]))
		n++;
	if (!n || n > 511 || n >= len || text[n] != '+')
		return 0;
	f->name_len = n++;
	digits = hex_number(text + n, len - n, &f->offset);
	n += digits;
	if (!digits || n >= len || text[n++] != '/')
		return 0;
	digits = hex_number(text + n, len - n, &f->size);
	n += digits;
	if (!digits)
		return 0;

	if (n + 3 > len || text[n] != ' ' || text[n + 1] != '[')
		return n;
	at = n + 2;
	while (at < len && (isalnum((unsigned char)text[at]) || text[at] == '_' || text[at] == '-'))
		at++;
	digits = at - n - 2;
	if (!digits || digits > 63 || at >= len)
		return n;
	if (text[at] == ' ') {
		size_t id = ++at;

		while (at < len && isxdigit((unsigned char)text[at]))
			at++;
		if (at == id || at - id > 128)
			return n;
		f->build_id = text + id;
		f->build_id_len = at - id;
	}
	if (at >= len || text[at] != ']') {
		f->build_id_len = 0;
		return n;
	}
	f->module = text + n + 2;
	f->module_len = digits;
	return at + 1;
}
