// SPDX-License-Identifier: GPL-2.0
/*
 * arrays.c - sources that have each array in one piece, which may change while it is read: four
 * files in a directory, live or copied, or parts of a file
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <linux/magic.h>
#include <unistd.h>
#include "input/arrays.h"
#include "input/core_file.h"
#include "input/steady.h"

/* Bytes of an array read at a time */
#define PART		((u64)1 << 20)

/* A copy of kallsyms has about 10 MB */
#define KALLSYMS_MAX	(1LL << 28)

struct arrays {
	int fd[ARRAYS];
	u64 offset[ARRAYS];	/* of the array in the file */
	u64 size[ARRAYS];
	void *memory[ARRAYS];
	bool *filled[ARRAYS];	/* by PART: it was read */
};

static int arrays_read(struct source *s, enum array a, u64 offset, void *buf, size_t size)
{
	struct arrays *own = s->own;
	ssize_t n = read_at(own->fd[a], buf, size, own->offset[a] + offset);

	/* Later reads return no older data: docs/design.md, Ordering */
	atomic_thread_fence(memory_order_acquire);
	if (n < 0)
		return failed(s, "%s: cannot read %s: %s%s", s->name, array_name[a],
			      strerror(errno), s->live ? " (was the module removed?)" : "");
	if ((size_t)n < size)
		return failed(s, "%s: %s is cut: it ends after %llu of %llu bytes", s->name,
			      array_name[a], offset + n, own->size[a]);
	return 0;
}

/* Return true if this part of a copied array is a hole.  A file without SEEK_DATA has none */
static bool is_hole(const struct source *s, enum array a, u64 offset, size_t size)
{
	struct arrays *own = s->own;
	struct stat st;
	off_t data;

	if (s->live || fstat(own->fd[a], &st) || offset + size > (u64)st.st_size)
		return false;
	data = lseek(own->fd[a], offset, SEEK_DATA);
	return data < 0 ? errno == ENXIO : (u64)data >= offset + size;
}

/* Read the first page of stackbuf_info and from it the arrays' sizes */
int arrays_read_sizes(struct source *s, struct stackbuf_info *info)
{
	struct arrays *own = s->own;
	struct page_set set = { 0 };
	enum page_is is = PAGE_FOREIGN;
	unsigned int version;
	ssize_t n;

	memset(info, 0, sizeof(*info));
	n = read_at(own->fd[ARRAY_INFO], info, STACKBUF_PAGE_SIZE, own->offset[ARRAY_INFO]);
	if (n < 0)
		return failed(s, "%s: cannot read info: %s", s->name, strerror(errno));
	if (!n)
		return failed(s, "%s: info is empty", s->name);
	if (n >= (ssize_t)sizeof(struct stackbuf_page))
		is = page_set_add(&set, info);
	version = set.other_version;
	page_set_clear(&set);
	if (is == PAGE_OTHER_VERSION)
		return failed(s, "%s: format version %u; this stackbuf knows version %u", s->name,
			      version, STACKBUF_VERSION);
	if (is == PAGE_FOREIGN || info->page.kind != STACKBUF_INFO || info->page.index)
		return failed(s, "%s: info is not from stackbuf", s->name);
	if (n < STACKBUF_PAGE_SIZE)
		return failed(s, "%s: info is cut: it ends after %zd bytes", s->name, n);
	if (!info_sane(info))
		return failed(s, "%s: info is damaged: its sizes make no sense", s->name);
	s->info_size = info->info_size;
	own->size[ARRAY_INFO] = info->info_size;
	own->size[ARRAY_EVENTS] = info->events_size;
	own->size[ARRAY_STACKS] = info->stacks_size;
	own->size[ARRAY_TEXT] = info->text_size;
	return 0;
}

/*
 * Return true if the memory at @offset was read.  Holes were not: do not touch their memory either,
 * because some kernels allocate a page even for a read
 */
static bool is_filled(const struct source *s, enum array a, u64 offset)
{
	struct arrays *own = s->own;

	return own->filled[a][offset / PART];
}

/* Read all of an array except holes, whose memory stays 0 unless it was read before */
static int arrays_read_all(struct source *s, enum array a)
{
	struct arrays *own = s->own;
	u64 offset, size;
	void *to;

	for (offset = 0; offset < own->size[a]; offset += size) {
		size = own->size[a] - offset < PART ? own->size[a] - offset : PART;
		if (!is_filled(s, a, offset) && is_hole(s, a, offset, size))
			continue;
		own->filled[a][offset / PART] = true;
		to = (char *)own->memory[a] + offset;
		if (a == ARRAY_TEXT ? arrays_read(s, a, offset, to, size) :
				      steady_read_pages(s, a, offset / STACKBUF_PAGE_SIZE, to,
							size / STACKBUF_PAGE_SIZE))
			return -1;
	}
	return 0;
}

/* Read a part of an array once more and call @drop for each page with data */
static int read_again(struct source *s, enum array a, struct page_set *set,
		      void (*drop)(struct page_set *set, void *page, const void *again))
{
	struct arrays *own = s->own;
	char *again = xcalloc(PART, 1), *page;
	u64 offset, size, at;
	int ret = 0;

	for (offset = 0; offset < own->size[a] && !ret; offset += size) {
		size = own->size[a] - offset < PART ? own->size[a] - offset : PART;
		if (!is_filled(s, a, offset))
			continue;
		ret = arrays_read(s, a, offset, again, size);
		page = (char *)own->memory[a] + offset;
		for (at = 0; at < size && !ret; at += STACKBUF_PAGE_SIZE)
			drop(set, page + at, again + at);
	}
	free(again);
	return ret;
}

static void drop_changed_text(struct page_set *set, void *page, const void *again)
{
	if (*(char *)page)
		set->changed_text += !text_drop_torn(page, again);
}

static void drop_changed_events(struct page_set *set, void *copy, const void *again)
{
	struct stackbuf_events_page *page = copy;
	const struct stackbuf_page *head = again;

	/* A blank page has nothing to drop */
	if ((!page->page.seq && !page->word[0]) || page->page.seq == head->seq)
		return;
	/* The events of a page that was already blank count as overwritten */
	if (page->word[0])
		set->changed++;
	memset((char *)page + sizeof(*head), 0, sizeof(*page) - sizeof(*head));
	page->page.seq = 0;
}

static void drop_changed_info(struct page_set *set, void *page, const void *again)
{
	(void)set;
	info_drop_torn(page, again);
}

/*
 * Read in an order that loses nothing: ring, stacks, text.  A stack stays while the ring refers to
 * it, and its text is older than its events.  Then read the heads of the ring again, to drop pages
 * overwritten in between; and last the counters, so that they include the dropped events.
 */
static int arrays_load(struct source *s, struct page_set *set)
{
	struct arrays *own = s->own;
	static const enum array order[] = { ARRAY_EVENTS, ARRAY_STACKS, ARRAY_TEXT };
	unsigned int i, strange = 0;
	const char *page;
	u64 offset;

	set->live = s->live;
	for (i = 0; i < ARRAYS && !own->memory[i]; i++) {
		own->memory[i] = xcalloc(own->size[i], 1);
		own->filled[i] = xcalloc(own->size[i] / PART + 1, sizeof(*own->filled[i]));
	}
	memset(own->filled[ARRAY_INFO], true, own->size[ARRAY_INFO] / PART + 1);
	for (i = 0; i < ARRAY_SIZE(order); i++)
		if (arrays_read_all(s, order[i]))
			return -1;
	if (read_again(s, ARRAY_TEXT, set, drop_changed_text) ||
	    read_again(s, ARRAY_EVENTS, set, drop_changed_events) ||
	    arrays_read(s, ARRAY_INFO, 0, own->memory[ARRAY_INFO], own->size[ARRAY_INFO]) ||
	    read_again(s, ARRAY_INFO, set, drop_changed_info))
		return -1;

	for (i = 0; i < ARRAYS; i++, strange = 0) {
		for (offset = 0; offset < own->size[i]; offset += STACKBUF_PAGE_SIZE) {
			page = (char *)own->memory[i] + offset;
			/* Pages of text are blank before their first use */
			if (is_filled(s, i, offset) ?
			    page_set_add(set, page) != PAGE_TAKEN && (i != ARRAY_TEXT || *page) :
			    i != ARRAY_TEXT)
				strange++;
		}
		if (strange == own->size[i] / STACKBUF_PAGE_SIZE)
			return failed(s, "%s: %s is not from stackbuf", s->name, array_name[i]);
	}
	return 0;
}

static void arrays_close(struct source *s)
{
	struct arrays *own = s->own;
	unsigned int i;

	for (i = 0; i < ARRAYS; i++) {
		free(own->memory[i]);
		free(own->filled[i]);
		if (own->fd[i] >= 0)
			close(own->fd[i]);
	}
	free(own);
}

static bool arrays_kernel_offset(const struct source *s, u64 *offset)
{
	return s->live && core_kernel_offset(CORE, offset);
}

static const struct source_ops arrays_ops = {
	.load = arrays_load,
	.read = arrays_read,
	.kernel_offset = arrays_kernel_offset,
	.close = arrays_close,
};

void arrays_start(struct source *s, bool live)
{
	struct arrays *own = xcalloc(1, sizeof(*own));
	unsigned int i;

	for (i = 0; i < ARRAYS; i++)
		own->fd[i] = -1;
	s->ops = &arrays_ops;
	s->own = own;
	s->live = live;
}

u64 arrays_size(const struct source *s, enum array a)
{
	return ((const struct arrays *)s->own)->size[a];
}

void arrays_place(struct source *s, enum array a, int fd, u64 offset)
{
	struct arrays *own = s->own;

	own->fd[a] = fd;
	own->offset[a] = offset;
}

int arrays_open(struct source *s, const char *name)
{
	struct stackbuf_info info;
	struct arrays *own;
	struct statfs fs;
	struct stat st;
	char path[4096];
	int i;

	arrays_start(s, !statfs(name, &fs) && fs.f_type == DEBUGFS_MAGIC);
	own = s->own;
	for (i = 0; i < ARRAYS; i++) {
		snprintf(path, sizeof(path), "%s/%s", name, array_name[i]);
		/* Opening a FIFO would block until a writer opens it */
		own->fd[i] = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (own->fd[i] < 0 && errno == ENOENT)
			return failed(s, "%s: holds no file \"%s\": a directory must hold text, info, events and stacks",
				name, array_name[i]);
		if (own->fd[i] < 0)
			return failed(s, "%s: %s%s", path, strerror(errno),
				      s->live && errno == EPERM && !geteuid() ?
				      ": the kernel is locked down for confidentiality" :
				      errno == EACCES || errno == EPERM ? "; run it as root" : "");
		if (fstat(own->fd[i], &st) || !S_ISREG(st.st_mode))
			return failed(s, "%s: is not a regular file", path);
	}
	snprintf(path, sizeof(path), "%s/kallsyms", name);
	if (s->live)
		s->kallsyms = xstrdup(KALLSYMS);
	else if (!access(path, R_OK) && !stat(path, &st) && S_ISREG(st.st_mode))
		s->kallsyms = xstrdup(path);
	if (!s->live && s->kallsyms && st.st_size > KALLSYMS_MAX)
		return failed(s, "%s: is too large to be a list of the kernel's symbols", path);
	return arrays_read_sizes(s, &info);
}
