// SPDX-License-Identifier: GPL-2.0
/*
 * source.c - where the pages come from: four files, live or copied; the running
 * kernel's memory; a file of pages
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <linux/magic.h>
#include <unistd.h>
#include "source.h"

#define DEBUGFS		"/sys/kernel/debug/stackbuf"
#define CORE		"/proc/kcore"
#define KALLSYMS	"/proc/kallsyms"

static int __attribute__((format(printf, 2, 3))) failed(struct source *s, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(s->error, sizeof(s->error), format, args);
	va_end(args);
	return -1;
}

/* Read up to @size bytes.  Return how many there were, or -1 */
static ssize_t read_at(int fd, void *buf, size_t size, u64 offset)
{
	size_t done = 0;

	/* What is read one after the other was so in memory, at that time */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	while (done < size) {
		ssize_t n = pread(fd, (char *)buf + done, size - done, offset + done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (!n)
			break;
		done += n;
	}
	return done;
}

/* ----------------------------------------------- arrays that may change --- */

static int arrays_read(struct source *s, enum array a, u64 offset, void *buf, size_t size)
{
	ssize_t n = read_at(s->fd[a], buf, size, s->offset[a] + offset);

	if (n < 0)
		return failed(s, "%s: cannot read %s: %s%s", s->name, array_name[a],
			      strerror(errno), s->live ? " (was the module removed?)" : "");
	if ((size_t)n < size)
		return failed(s, "%s: %s is cut: it ends after %llu of %llu bytes", s->name,
			      array_name[a], offset + n, s->size[a]);
	return 0;
}

/* Read the first page of stackbuf_info and from it the arrays' sizes */
static int arrays_sizes(struct source *s)
{
	struct stackbuf_info *info = xcalloc(1, sizeof(*info));
	struct bag bag = { 0 };
	enum page_is is;
	ssize_t n;
	int ret = 0;

	n = read_at(s->fd[ARRAY_INFO], info, STACKBUF_PAGE_SIZE, s->offset[ARRAY_INFO]);
	if (n < 0) {
		ret = failed(s, "%s: cannot read info: %s", s->name, strerror(errno));
		goto out;
	}
	if (!n) {
		ret = failed(s, "%s: info is empty", s->name);
		goto out;
	}
	is = n < (ssize_t)sizeof(struct stackbuf_page) ? PAGE_FOREIGN : bag_add(&bag, info);
	if (is == PAGE_OTHER_VERSION)
		ret = failed(s, "%s: format version %u; this stackbuf knows version %u", s->name,
			     bag.other_version, STACKBUF_VERSION);
	else if (is == PAGE_FOREIGN || info->page.kind != STACKBUF_INFO || info->page.index)
		ret = failed(s, "%s: info is not from stackbuf", s->name);
	else if (n < STACKBUF_PAGE_SIZE)
		ret = failed(s, "%s: info is cut: it ends after %zd bytes", s->name, n);
	else if (!info_sane(info))
		ret = failed(s, "%s: info is damaged: its sizes make no sense", s->name);
	if (ret)
		goto out;
	s->size[ARRAY_INFO] = info->info_size;
	s->size[ARRAY_EVENTS] = info->events_size;
	s->size[ARRAY_STACKS] = info->stacks_size;
	s->size[ARRAY_TEXT] = info->text_size;
out:
	bag_empty(&bag);
	free(info);
	return ret;
}

int source_read_events(struct source *s, size_t index, struct stackbuf_events_page *page)
{
	struct stackbuf_events_page before;
	u64 offset = index * STACKBUF_PAGE_SIZE;
	struct stackbuf_page head;

	/* The number first: with the same one in the end, both copies are of it */
	if (s->ops->read(s, ARRAY_EVENTS, offset, &head, sizeof(head)) ||
	    s->ops->read(s, ARRAY_EVENTS, offset, &before, sizeof(before)) ||
	    s->ops->read(s, ARRAY_EVENTS, offset, page, sizeof(*page)))
		return -1;
	if (head.seq != page->page.seq)
		page->page.seq = 0;
	/* Closed before the second copy began, or it may have grown since */
	page->owner = before.owner;
	events_settle(page, &before);
	return 0;
}

/*
 * Read the text again.  A page whose first line differs now was taken for new
 * records meanwhile, and becomes one without content.  Where it differs further
 * back, a record was being copied there, or came later: the copy ends before it.
 */
static int drop_changed_text(struct source *s, struct bag *bag)
{
	char *page = s->memory[ARRAY_TEXT], *end = page + s->size[ARRAY_TEXT];
	char again[STACKBUF_PAGE_SIZE];

	for (; page < end; page += STACKBUF_PAGE_SIZE) {
		char *nl = memchr(page, '\n', 128);
		size_t len = nl ? nl - page : 1, same = 0;

		if (arrays_read(s, ARRAY_TEXT, page - (char *)s->memory[ARRAY_TEXT], again,
				sizeof(again)))
			return -1;
		if (!*page)
			continue;
		while (same < sizeof(again) && page[same] == again[same])
			same++;
		if (same < len) {
			same = 0;
			bag->changed_text++;
		}
		memset(page + same, 0, sizeof(again) - same);
	}
	return 0;
}

static int drop_changed_events(struct source *s, struct bag *bag)
{
	struct stackbuf_events_page *page = s->memory[ARRAY_EVENTS];
	size_t i, nr = s->size[ARRAY_EVENTS] / STACKBUF_PAGE_SIZE;
	struct stackbuf_page head;

	for (i = 0; i < nr; i++, page++) {
		if (arrays_read(s, ARRAY_EVENTS, i * STACKBUF_PAGE_SIZE, &head, sizeof(head)))
			return -1;
		if (page->page.seq == head.seq)
			continue;
		/* If it was blank, all that it held had been counted before */
		if (page->word[0])
			bag->changed++;
		memset((char *)page + sizeof(head), 0, sizeof(*page) - sizeof(head));
		page->page.seq = 0;
	}
	return 0;
}

/*
 * In an order that loses nothing: a stack stays as long as the ring refers to
 * it, and its text is older than its events.  What was overwritten since the
 * ring was read is seen by its heads; the counters are read after that, so that
 * they hold what was dropped.
 */
static int arrays_load(struct source *s, struct bag *bag)
{
	static const enum array order[] = { ARRAY_STACKS, ARRAY_TEXT };
	unsigned int i, strange = 0;
	const char *page;

	for (i = 0; i < ARRAYS; i++)
		if (!s->memory[i])
			s->memory[i] = xcalloc(s->size[i], 1);
	page = s->memory[ARRAY_EVENTS];
	for (i = 0; i < s->size[ARRAY_EVENTS] / STACKBUF_PAGE_SIZE; i++)
		if (source_read_events(s, i, (void *)(page + i * STACKBUF_PAGE_SIZE)))
			return -1;
	for (i = 0; i < sizeof(order) / sizeof(*order); i++)
		if (arrays_read(s, order[i], 0, s->memory[order[i]], s->size[order[i]]))
			return -1;
	if (drop_changed_text(s, bag) || drop_changed_events(s, bag) ||
	    arrays_read(s, ARRAY_INFO, 0, s->memory[ARRAY_INFO], s->size[ARRAY_INFO]))
		return -1;

	for (i = 0; i < ARRAYS; i++, strange = 0) {
		for (page = s->memory[i]; page < (char *)s->memory[i] + s->size[i];
		     page += STACKBUF_PAGE_SIZE)
			/* Pages of text are blank before they are used for the first time */
			if (bag_add(bag, page) != PAGE_TAKEN && (i != ARRAY_TEXT || *page))
				strange++;
		if (strange == s->size[i] / STACKBUF_PAGE_SIZE)
			return failed(s, "%s: %s is not from stackbuf", s->name, array_name[i]);
	}
	return 0;
}

static void arrays_close(struct source *s)
{
	unsigned int i;

	for (i = 0; i < ARRAYS; i++) {
		free(s->memory[i]);
		if (s->fd[i] >= 0)
			close(s->fd[i]);
	}
}

static const struct source_ops arrays_ops = {
	.load = arrays_load,
	.read = arrays_read,
	.close = arrays_close,
};

/* ----------------------------------------------------------- a directory --- */

static int open_directory(struct source *s, const char *name)
{
	struct statfs fs;
	char path[4096];
	int i;

	s->ops = &arrays_ops;
	s->live = !statfs(name, &fs) && fs.f_type == DEBUGFS_MAGIC;
	for (i = 0; i < ARRAYS; i++) {
		snprintf(path, sizeof(path), "%s/%s", name, array_name[i]);
		s->fd[i] = open(path, O_RDONLY | O_CLOEXEC);
		if (s->fd[i] < 0 && errno == ENOENT)
			return failed(
				s,
				"%s: holds no file \"%s\": a directory must hold text, info, events and stacks",
				name, array_name[i]);
		if (s->fd[i] < 0)
			return failed(s, "%s: %s%s", path, strerror(errno),
				      errno == EACCES || errno == EPERM ? "; run it as root" : "");
	}
	snprintf(path, sizeof(path), "%s/kallsyms", name);
	if (s->live)
		s->kallsyms = strdup(KALLSYMS);
	else if (!access(path, R_OK))
		s->kallsyms = strdup(path);
	return arrays_sizes(s);
}

/* ------------------------------------------------------------ /proc/kcore --- */

/* Where stackbuf_info of the loaded module is; 0 and an error if unknown */
static u64 find_info(struct source *s, const char *kallsyms)
{
	char line[512], type, name[256], module[256];
	FILE *f = fopen(kallsyms, "re");
	unsigned long long addr = 0;
	bool found = false;

	if (!f) {
		failed(s, "%s: %s", kallsyms, strerror(errno));
		return 0;
	}
	while (!found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%llx %c %255s %255s", &addr, &type, name, module) == 4 &&
			!strcmp(name, "stackbuf_info") && !strcmp(module, "[stackbuf]");
	fclose(f);
	if (!found)
		failed(s,
		       "the module stackbuf is not loaded: insmod stackbuf.ko first, or name a source with -f");
	else if (!addr)
		failed(s, "%s does not show addresses; run it as root", kallsyms);
	return found ? addr : 0;
}

/* Find a virtual address in an ELF core file.  Return its offset, 0 if it is not there */
static u64 core_offset(int fd, u64 addr, u64 size)
{
	Elf64_Ehdr head;
	Elf64_Phdr segment;
	unsigned int i;

	if (read_at(fd, &head, sizeof(head), 0) != sizeof(head) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_type != ET_CORE || head.e_phentsize != sizeof(segment))
		return 0;
	for (i = 0; i < head.e_phnum; i++) {
		if (read_at(fd, &segment, sizeof(segment), head.e_phoff + i * sizeof(segment)) !=
		    sizeof(segment))
			return 0;
		if (segment.p_type == PT_LOAD && addr >= segment.p_vaddr &&
		    addr - segment.p_vaddr < segment.p_memsz &&
		    size <= segment.p_memsz - (addr - segment.p_vaddr))
			return segment.p_offset + (addr - segment.p_vaddr);
	}
	return 0;
}

int source_open_core(struct source *s, const char *core, const char *kallsyms)
{
	struct stackbuf_info info;
	u64 addr[ARRAYS];
	int i;

	s->ops = &arrays_ops;
	s->live = true;
	s->name = strdup(core);
	addr[ARRAY_INFO] = find_info(s, kallsyms);
	if (!addr[ARRAY_INFO])
		return -1;
	for (i = 0; i < ARRAYS; i++) {
		s->fd[i] = open(core, O_RDONLY | O_CLOEXEC);
		if (s->fd[i] < 0)
			return failed(s, "%s: %s%s", core, strerror(errno),
				      errno == EACCES || errno == EPERM ?
				      "; run it as root, or kernel lockdown forbids it" : "");
	}
	s->offset[ARRAY_INFO] = core_offset(s->fd[0], addr[ARRAY_INFO], sizeof(info));
	if (!s->offset[ARRAY_INFO])
		return failed(s, "%s: does not hold the module's memory at %#llx", core,
			      addr[ARRAY_INFO]);
	if (arrays_sizes(s) || arrays_read(s, ARRAY_INFO, 0, &info, STACKBUF_PAGE_SIZE))
		return -1;
	addr[ARRAY_EVENTS] = info.events_addr;
	addr[ARRAY_STACKS] = info.stacks_addr;
	addr[ARRAY_TEXT] = info.text_addr;
	for (i = 0; i < ARRAYS; i++) {
		s->offset[i] = core_offset(s->fd[i], addr[i], s->size[i]);
		if (!s->offset[i])
			return failed(s, "%s: does not hold the array %s at %#llx", core,
				      array_name[i], addr[i]);
	}
	s->kallsyms = strdup(kallsyms);
	return 0;
}

/* -------------------------------------------------------- a file of pages --- */

/* How many pages a snapshot says it has; 0 if it does not say */
static unsigned long long pages_said(const struct bag *bag)
{
	unsigned long long pages;
	char text[64];
	size_t i;

	for (i = 0; i < bag->nr; i++) {
		if (bag->page[i].kind != STACKBUF_SNAPSHOT || bag->page[i].index)
			continue;
		memcpy(text, (char *)bag->page[i].data + sizeof(struct stackbuf_page),
		       sizeof(text) - 1);
		text[sizeof(text) - 1] = '\0';
		if (sscanf(text, "pages %llu", &pages) == 1)
			return pages;
	}
	return 0;
}

static int file_load(struct source *s, struct bag *bag)
{
	char *page = s->memory[0], *end = page + s->size[0];
	u64 pages = s->size[0] / STACKBUF_PAGE_SIZE;
	unsigned long long said;

	for (; end - page >= STACKBUF_PAGE_SIZE; page += STACKBUF_PAGE_SIZE)
		bag_add(bag, page);
	if (!bag->nr && bag->other_version)
		return failed(s, "%s: format version %u; this stackbuf knows version %u", s->name,
			      bag->other_version, STACKBUF_VERSION);
	if (!bag->nr)
		return failed(s, "%s: holds no page of stackbuf's memory", s->name);
	said = pages_said(bag);
	if (said > pages)
		return failed(s, "%s: is cut: %llu of %llu pages are there", s->name, pages, said);
	if (s->size[0] % STACKBUF_PAGE_SIZE)
		return failed(s, "%s: is cut: it ends inside a page", s->name);
	return 0;
}

static const struct source_ops file_ops = {
	.load = file_load,
	.close = arrays_close,
};

static int open_file(struct source *s, const char *name, const struct stat *st)
{
	struct bag bag = { 0 };
	enum page_is is;
	ssize_t n;

	s->ops = &file_ops;
	s->fd[0] = open(name, O_RDONLY | O_CLOEXEC);
	if (s->fd[0] < 0)
		return failed(s, "%s: %s", name, strerror(errno));
	if (!st->st_size)
		return failed(s, "%s: is empty", name);
	/* A page at the front tells whether reading all of it makes sense */
	s->memory[0] = xcalloc(1, STACKBUF_PAGE_SIZE);
	n = read_at(s->fd[0], s->memory[0], STACKBUF_PAGE_SIZE, 0);
	if (n < 0)
		return failed(s, "%s: %s", name, strerror(errno));
	is = bag_add(&bag, s->memory[0]);
	bag_empty(&bag);
	if (is == PAGE_FOREIGN)
		return failed(s, "%s: is neither a snapshot nor any other file of stackbuf's pages",
			      name);
	if ((u64)st->st_size > ARRAYS * ARRAY_SIZE_MAX)
		return failed(s, "%s: is too large for a snapshot", name);
	free(s->memory[0]);
	s->memory[0] = xcalloc(st->st_size, 1);
	n = read_at(s->fd[0], s->memory[0], st->st_size, 0);
	if (n < 0)
		return failed(s, "%s: %s", name, strerror(errno));
	s->size[0] = n;
	return 0;
}

/* -------------------------------------------------------------- which one --- */

int source_open(struct source *s, const char *name)
{
	struct stat st;
	int i;

	memset(s, 0, sizeof(*s));
	for (i = 0; i < ARRAYS; i++)
		s->fd[i] = -1;
	if (!name && !access(DEBUGFS, X_OK))
		name = DEBUGFS;
	if (!name && geteuid())
		return failed(
			s,
			"the running kernel's memory may be read by root only: run it as root, or name a source with -f");
	if (!name)
		name = CORE;
	if (!strcmp(name, CORE))
		return source_open_core(s, CORE, KALLSYMS);
	s->name = strdup(name);
	if (stat(name, &st))
		return failed(s, "%s: %s", name, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return open_directory(s, name);
	if (S_ISREG(st.st_mode))
		return open_file(s, name, &st);
	return failed(s, "%s: is neither a file nor a directory", name);
}

void source_close(struct source *s)
{
	if (s->ops)
		s->ops->close(s);
	free(s->name);
	free(s->kallsyms);
	memset(s, 0, sizeof(*s));
}
