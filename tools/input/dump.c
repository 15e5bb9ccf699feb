// SPDX-License-Identifier: GPL-2.0
/*
 * dump.c - a machine's memory in files: identifies the kind of file and finds its pages
 *
 * This file reads raw images, ELF cores and what LiME writes; kdump.c reads the kdump formats.
 * libkdumpfile does not know files that were flattened for a pipe: an unnamed temporary file
 * receives their pieces in order first.
 *
 * A page of the record identifies itself, wherever it is.  Physical addresses identify the pages
 * that page_tables.c finds.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "input/core_file.h"
#include "input/dump.h"
#include "input/kdump.h"
#include "input/vmcoreinfo.h"
#include "stackbuf.h"

/* How often segments whose pages have different alignment may share a part of the file */
#define LAYERS_MAX	4

/* ------------------------------------------------------------------ ELF --- */

static int by_offset(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return compare_u64(x->offset % STACKBUF_PAGE_SIZE, y->offset % STACKBUF_PAGE_SIZE) ?:
		compare_u64(x->offset, y->offset);
}

/*
 * Merge overlapping ranges: segments share parts of the file if the same memory has several
 * mappings.  Return the number of ranges that remain.
 */
static size_t merge(struct range *range, size_t nr)
{
	size_t i, n = 0;

	sort(range, nr, sizeof(*range), by_offset);
	for (i = 0; i < nr; i++) {
		u64 end = range[i].offset + range[i].size;
		struct range *last = &range[n ? n - 1 : 0];

		if (n && (last->offset ^ range[i].offset) % STACKBUF_PAGE_SIZE == 0 &&
		    range[i].offset <= last->offset + last->size) {
			if (end > last->offset + last->size)
				last->size = end - last->offset;
		} else {
			range[n++] = range[i];
		}
	}
	return n;
}

/*
 * Pages of one dump begin at one offset modulo their size; a damaged header may add another.  With
 * segments at every offset, the file would be scanned 4096 times.  Return the number of ranges that
 * fit into LAYERS_MAX times @size bytes.
 */
static size_t limit_layers(const struct range *range, size_t nr, u64 size)
{
	u64 total = 0;
	size_t i;

	for (i = 0; i < nr; i++) {
		total += range[i].size / LAYERS_MAX;
		if (total > size)
			break;
	}
	return i;
}

/*
 * Add a part of physical memory: @size bytes, @filled of them at @offset in the file.  The rest was
 * zero: makedumpfile leaves that out.  An address above 2^62 is none: program headers have -1.
 */
static void add_segments(struct dump_file *f, u64 phys, u64 size, u64 offset, u64 filled)
{
	if (phys >> 62 || size >> 62)
		return;
	if (filled) {
		GROW(f->segment, f->segments);
		f->segment[f->segments++] = (struct segment){ phys, offset, filled };
	}
	if (size > filled) {
		GROW(f->segment, f->segments);
		f->segment[f->segments++] = (struct segment){ phys + filled, SEGMENT_ZEROES,
							      size - filled };
	}
}

/* Add a part of the file, whose first byte has this address: pages begin where the memory's do */
static void add_range(struct dump_file *f, u64 offset, u64 size, u64 address)
{
	u64 skip = -address % STACKBUF_PAGE_SIZE;

	if (offset >= f->size)
		return;
	if (size > f->size - offset)
		size = f->size - offset;
	if (size < skip + STACKBUF_PAGE_SIZE)
		return;
	GROW(f->range, f->ranges);
	f->range[f->ranges].offset = offset + skip;
	f->range[f->ranges++].size = (size - skip) / STACKBUF_PAGE_SIZE * STACKBUF_PAGE_SIZE;
}

static int by_phys(const void *a, const void *b)
{
	const struct segment *x = a, *y = b;

	return compare_u64(x->phys, y->phys) ?: compare_u64(x->offset, y->offset);
}

/*
 * Sort segments, and cut off overlaps: two segments may have the kernel's image.  Return the number
 * of segments that remain.
 */
static size_t order_segments(struct segment *segment, size_t nr)
{
	u64 end = 0, skip;
	size_t i, n = 0;

	sort(segment, nr, sizeof(*segment), by_phys);
	for (i = 0; i < nr; i++) {
		struct segment s = segment[i];

		skip = s.phys < end ? end - s.phys : 0;
		if (skip >= s.size)
			continue;
		s.phys += skip;
		if (s.offset != SEGMENT_ZEROES)
			s.offset += skip;
		s.size -= skip;
		end = s.phys + s.size;
		segment[n++] = s;
	}
	return n;
}

/* Put ranges and segments in order.  Return false if there are too many ranges to scan them all */
static bool order_all(struct dump_file *f)
{
	size_t merged = merge(f->range, f->ranges);

	f->segments = order_segments(f->segment, f->segments);
	f->ranges = limit_layers(f->range, merged, f->size);
	return f->ranges == merged;
}

static int open_elf(struct dump_file *f)
{
	u64 end, most = 0;
	Elf64_Phdr *segment;
	size_t segments, i;
	Elf64_Ehdr head;
	bool whole, all;

	if (read_at(f->fd, &head, sizeof(head), 0) != sizeof(head))
		return failed(f, "%s: is cut: its ELF header is not whole", f->name);
	if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB ||
	    (head.e_machine != EM_X86_64 && head.e_machine != EM_AARCH64))
		return failed(f, "%s: is of another architecture (ELF machine %u, %s, %s-endian): stackbuf records on x86-64 and arm64",
				 f->name, head.e_machine,
				 head.e_ident[EI_CLASS] == ELFCLASS64 ? "64 bit" : "32 bit",
				 head.e_ident[EI_DATA] == ELFDATA2LSB ? "little" : "big");
	if (head.e_type != ET_CORE)
		return failed(f, "%s: is not a dump: an ELF file, but not a core file", f->name);
	f->machine = head.e_machine;
	segment = core_segments(f->fd, &segments, &whole);
	for (i = 0; i < segments; i++) {
		const Elf64_Phdr *p = &segment[i];

		end = p->p_offset + p->p_filesz;
		if (p->p_type != PT_LOAD || end < p->p_offset || end >> 62)
			continue;
		if (end > f->size && end > most)
			most = end;
		add_segments(f, p->p_paddr, p->p_memsz, p->p_offset, p->p_filesz);
		/* /proc/kcore has no physical address of modules and their like */
		add_range(f, p->p_offset, p->p_filesz,
			  p->p_paddr == -1ULL ? p->p_vaddr : p->p_paddr);
	}
	free(segment);
	if (most)
		f->cut = most - f->size;
	f->vmcoreinfo = core_vmcoreinfo(f->fd);
	all = order_all(f);
	/* Count headers or segments that were left out as missing bytes */
	if (!f->cut && (!whole || !all))
		f->cut = 1;
	if (!whole && !f->ranges)
		return failed(f, "%s: is cut or damaged: its program headers cannot be read",
				 f->name);
	return 0;
}

/* ------------------------------------------------------------------- LiME --- */

#define LIME_MAGIC	"EMiL"

/* Before each range of memory; @last is the address of its last byte */
struct lime_head {
	char magic[4];
	u32 version;
	u64 first, last, reserved;
};

static int open_lime(struct dump_file *f)
{
	struct lime_head head;
	u64 at = 0, size;
	ssize_t n;

	while ((n = read_at(f->fd, &head, sizeof(head), at)) == sizeof(head)) {
		if (!at && !memcmp(head.magic, LIME_MAGIC, 4) && head.version != 1)
			return failed(f, "%s: is in LiME's format, version %u: this stackbuf knows version 1",
					 f->name, head.version);
		at += n;
		size = head.last - head.first + 1;
		/* Where the next one begins is not known */
		if (memcmp(head.magic, LIME_MAGIC, 4) || head.version != 1 ||
		    head.last < head.first || !size || size >> 62) {
			f->cut = f->size - (at - n);
			break;
		}
		/* Millions of ranges, damaged or hostile, take little memory */
		if (size >= STACKBUF_PAGE_SIZE) {
			add_segments(f, head.first, size, at, size);
			add_range(f, at, size, head.first);
		}
		if (size > f->size - at) {
			f->cut = size - (f->size - at);
			break;
		}
		at += size;
	}
	if (n < 0)
		return failed(f, "%s: cannot be read: %s", f->name, strerror(errno));
	if (n > 0 && n < (ssize_t)sizeof(head))
		f->cut = sizeof(head) - n;
	if (!order_all(f) && !f->cut)
		f->cut = 1;
	return 0;
}

/* -------------------------------------------------------------- flattened --- */

/* Format of makedumpfile -F and QEMU: a head of one page, then pieces; numbers are big-endian */
#define FLAT_MAGIC	"makedumpfile\0\0\0"
#define FLAT_HEAD	4096

struct flat_piece {
	u64 offset, size;
};

/* Disk space that the pieces may use beyond their size: each uses at least a block */
#define FLAT_WASTE_MAX	(1ULL << 28)

/*
 * Write the pieces of @f to their places in @to.  Return 0, 1 if @f cannot be read, 2 if @to cannot
 * be written, 3 if the pieces are so far apart that they would fill the disk.
 */
static int copy_pieces(struct dump_file *f, int to, char *buf, size_t room)
{
	u64 at = FLAT_HEAD, got = 0, left, offset, looked = 0;
	struct flat_piece piece;
	struct stat st;
	ssize_t n;

	for (;;) {
		n = read_at(f->fd, &piece, sizeof(piece), at);
		if (n < 0)
			return 1;
		if (n < (ssize_t)sizeof(piece)) {
			f->cut = 1;
			return 0;
		}
		at += n;
		offset = be64toh(piece.offset);
		left = be64toh(piece.size);
		/* The last piece has offset -1 */
		if (offset >> 63)
			return 0;
		/* Damaged: the offset of the next piece is unknown */
		if (left > f->size || offset > (1ULL << 62)) {
			f->cut = 1;
			return 0;
		}
		for (; left; left -= n, at += n, offset += n, got += n) {
			n = read_at(f->fd, buf, left < room ? left : room, at);
			if (n < 0)
				return 1;
			if (!n) {
				f->cut = left;
				return 0;
			}
			errno = ENOSPC;
			if (pwrite(to, buf, n, offset) != n)
				return 2;
		}
		if (at - looked < room)
			continue;
		looked = at;
		if (!fstat(to, &st) && st.st_blocks * 512ULL > got + FLAT_WASTE_MAX)
			return 3;
	}
}

/* Replace @f's file by an unnamed one with the pieces in place.  Return 0, or -1 with an error */
static int unflatten(struct dump_file *f)
{
	const char *dir = getenv("TMPDIR") ? getenv("TMPDIR") : "/var/tmp";
	int to = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	size_t room = 1 << 20;
	char *buf = xcalloc(1, room);
	struct stat st;
	int ret = 2;

	if (to >= 0)
		ret = copy_pieces(f, to, buf, room);
	if (!ret && fstat(to, &st))
		ret = 2;
	if (ret == 1)
		failed(f, "%s: cannot be read: %s", f->name, strerror(errno));
	else if (ret == 2)
		failed(f, "%s: is flattened, and cannot be rearranged in %s: %s (set TMPDIR to another directory)",
			  f->name, dir, strerror(errno));
	else if (ret == 3)
		failed(f, "%s: is damaged: flattened, with pieces too far apart to be rearranged",
			  f->name);
	free(buf);
	if (ret) {
		if (to >= 0)
			close(to);
		return -1;
	}
	close(f->fd);
	f->fd = to;
	f->size = st.st_size;
	return 0;
}

/* ------------------------------------------------------------- compressed --- */

/*
 * Return true for one of the files of makedumpfile --split.  Its bitmap has all pages, its
 * descriptors only those of its part, by which libkdumpfile would take one page for another.
 */
static bool is_part(const struct dump_file *f)
{
	/* Of struct disk_dump_header: where the next header is, which is struct kdump_sub_header */
	struct { u64 phys_base; u32 dump_level, split; } sub = { 0 };
	u32 block = 0;

	return read_at(f->fd, &block, sizeof(block), 428) == sizeof(block) &&
	       read_at(f->fd, &sub, sizeof(sub), block) == sizeof(sub) && sub.split == 1;
}

/* ------------------------------------------------------------------ files --- */

/*
 * Return FILE of "FILE@0x80000000", unless a file has the whole name.  Set *@start.  The caller
 * frees the result
 */
static char *without_address(const char *name, u64 *start)
{
	const char *at = strrchr(name, '@');
	struct stat st;
	char *end;

	if (at && at > name && at[1] >= '0' && at[1] <= '9' && stat(name, &st)) {
		*start = strtoull(at + 1, &end, 0);
		if (!*end)
			return xasprintf("%.*s", (int)(at - name), name);
	}
	*start = 0;
	return xstrdup(name);
}

int dump_open(struct dump_file *f, const char *name, bool raw)
{
	char head[16] = "", why[256];
	struct stat st;
	ssize_t n;

	memset(f, 0, sizeof(*f));
	f->name = without_address(name, &f->start);
	raw |= strcmp(f->name, name);
	/* Opening a FIFO would block until a writer opens it */
	f->fd = open(f->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (f->fd < 0)
		return failed(f, "%s: %s%s", f->name, strerror(errno),
				 errno == EACCES || errno == EPERM ? "; run it as root" : "");
	if (!fstat(f->fd, &st) && S_ISDIR(st.st_mode))
		return failed(f, "%s: is a directory: only files are read together", f->name);
	if (fstat(f->fd, &st) || (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode)))
		return failed(f, "%s: is neither a file nor a directory", f->name);
	f->size = S_ISBLK(st.st_mode) ? (u64)lseek(f->fd, 0, SEEK_END) : (u64)st.st_size;
	n = read_at(f->fd, head, sizeof(head), 0);
	if (n < 0)
		return failed(f, "%s: cannot be read: %s", f->name, strerror(errno));
	if (!n)
		return failed(f, "%s: is empty", f->name);
	/* Memory may begin with bytes that look like a file's */
	if (raw)
		memset(head, 0, sizeof(head));
	if (!memcmp(head, FLAT_MAGIC, sizeof(head))) {
		if (unflatten(f))
			return -1;
		memset(head, 0, sizeof(head));
		read_at(f->fd, head, sizeof(head), 0);
	}
	if (!memcmp(head, ELFMAG, SELFMAG)) {
		f->kind = DUMP_ELF;
		return open_elf(f);
	}
	if (!memcmp(head, LIME_MAGIC, strlen(LIME_MAGIC))) {
		f->kind = DUMP_LIME;
		return open_lime(f);
	}
	if (!memcmp(head, "KDUMP   ", 8) || !memcmp(head, "DISKDUMP", 8)) {
		f->kind = DUMP_KDUMP;
		if (*head == 'K' && is_part(f))
			return failed(f, "%s: is a part of a split dump: join the parts by makedumpfile --reassemble PART... DUMP",
					 f->name);
		f->kdump = kd_open(f->fd, f->size, &f->machine, why, sizeof(why));
		if (!f->kdump)
			return failed(f, "%s: %s", f->name, why);
		f->vmcoreinfo = kd_vmcoreinfo(f->kdump);
		return 0;
	}
	f->kind = DUMP_RAW;
	f->range = xcalloc(1, sizeof(*f->range));
	f->range[0].size = f->size / STACKBUF_PAGE_SIZE * STACKBUF_PAGE_SIZE;
	f->ranges = 1;
	return 0;
}

void dump_close(struct dump_file *f)
{
	if (f->kdump)
		kd_close(f->kdump);
	if (f->fd >= 0)
		close(f->fd);
	free(f->range);
	free(f->segment);
	free(f->vmcoreinfo);
	free(f->name);
}

u64 dump_total(const struct dump_file *f)
{
	u64 total = 0;
	size_t i;

	if (f->kind == DUMP_KDUMP)
		return kd_total(f->kdump);
	for (i = 0; i < f->ranges; i++)
		total += f->range[i].size;
	return total;
}

void dump_scan(struct dump_file *f, struct scan *scan)
{
	size_t i;

	if (f->kind == DUMP_KDUMP) {
		kd_scan(f->kdump, scan);
		return;
	}
	posix_fadvise(f->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	for (i = 0; i < f->ranges; i++)
		scan_pages(scan, f->fd, &f->range[i]);
}

int dump_read(struct dump_file *f, u64 where, void *page)
{
	size_t n = STACKBUF_PAGE_SIZE;

	f->bytes_read += n;
	if (f->kind == DUMP_KDUMP)
		return kd_read(f->kdump, where, page);
	return read_at(f->fd, page, n, where) == (ssize_t)n ? 0 : -1;
}

int dump_read_memory(struct dump_file *f, u64 phys, void *page, u64 *where)
{
	const struct segment *s;
	size_t above;

	*where = phys;
	if (f->kind == DUMP_RAW)
		*where -= f->start;
	if (f->kind != DUMP_ELF && f->kind != DUMP_LIME)
		return phys < f->start ? -1 : dump_read(f, *where, page);
	/* The last segment that begins at or before @phys */
	above = first_above(f->segment, f->segments, sizeof(*f->segment), phys);
	if (!above)
		return -1;
	s = &f->segment[above - 1];
	if (phys - s->phys >= s->size || s->size - (phys - s->phys) < STACKBUF_PAGE_SIZE)
		return -1;
	if (s->offset == SEGMENT_ZEROES) {
		memset(page, 0, STACKBUF_PAGE_SIZE);
		return 0;
	}
	*where = s->offset + (phys - s->phys);
	return dump_read(f, *where, page);
}

bool dump_seek(struct dump_file *f)
{
	if (f->kind == DUMP_KDUMP)
		return kd_whole(f->kdump);
	posix_fadvise(f->fd, 0, 0, POSIX_FADV_RANDOM);
	return true;
}
