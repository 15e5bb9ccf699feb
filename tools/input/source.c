// SPDX-License-Identifier: GPL-2.0
/*
 * source.c - the sources of pages: four files, live or copied; the running kernel's memory; dumps
 * and snapshots, which hold pages anywhere
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <linux/magic.h>
#include <unistd.h>
#include "input/dump.h"
#include "input/source.h"
#include "symbol/symbols.h"

#define CORE		"/proc/kcore"
#define KALLSYMS	"/proc/kallsyms"
#define MODULE		"/sys/module/stackbuf"

/* Bytes of an array that are read at a time */
#define PART		((u64)1 << 20)

/* A copy of kallsyms has about 10 MB */
#define KALLSYMS_MAX	(1LL << 28)

int keep_out(void)
{
	return open(DEBUGFS "/info", O_RDONLY | O_CLOEXEC);
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

/* Is this part of a copied array a hole?  A file that does not support SEEK_DATA has no holes */
static bool is_hole(const struct source *s, enum array a, u64 offset, size_t size)
{
	struct stat st;
	off_t data;

	if (s->live || fstat(s->fd[a], &st) || offset + size > (u64)st.st_size)
		return false;
	data = lseek(s->fd[a], offset, SEEK_DATA);
	return data < 0 ? errno == ENXIO : (u64)data >= offset + size;
}

/* Read the first page of stackbuf_info and from it the arrays' sizes */
static int arrays_sizes(struct source *s)
{
	struct stackbuf_info info = { 0 };
	struct page_set set = { 0 };
	enum page_is is = PAGE_FOREIGN;
	unsigned int version;
	ssize_t n;

	n = read_at(s->fd[ARRAY_INFO], &info, STACKBUF_PAGE_SIZE, s->offset[ARRAY_INFO]);
	if (n < 0)
		return failed(s, "%s: cannot read info: %s", s->name, strerror(errno));
	if (!n)
		return failed(s, "%s: info is empty", s->name);
	if (n >= (ssize_t)sizeof(struct stackbuf_page))
		is = page_set_add(&set, &info);
	version = set.other_version;
	page_set_clear(&set);
	if (is == PAGE_OTHER_VERSION)
		return failed(s, "%s: format version %u; this stackbuf knows version %u", s->name,
			      version, STACKBUF_VERSION);
	if (is == PAGE_FOREIGN || info.page.kind != STACKBUF_INFO || info.page.index)
		return failed(s, "%s: info is not from stackbuf", s->name);
	if (n < STACKBUF_PAGE_SIZE)
		return failed(s, "%s: info is cut: it ends after %zd bytes", s->name, n);
	if (!info_sane(&info))
		return failed(s, "%s: info is damaged: its sizes make no sense", s->name);
	s->size[ARRAY_INFO] = info.info_size;
	s->size[ARRAY_EVENTS] = info.events_size;
	s->size[ARRAY_STACKS] = info.stacks_size;
	s->size[ARRAY_TEXT] = info.text_size;
	return 0;
}

/* Of two copies of a page keep what is certain; @seq was read before both */
static void settle_page(struct stackbuf_events_page *page, u64 seq,
			const struct stackbuf_events_page *before)
{
	if (seq != page->page.seq) {
		bool reused = seq && page->page.seq;

		page->page.seq = 0;
		/* Its words stay, for which drop_changed_events() counts it as changed */
		if (reused)
			return;
	}
	/* If it was not closed before the second copy, it may have grown since */
	page->owner = before->owner;
	events_drop_torn(page, before);
}

int source_read_pages(struct source *s, enum array a, size_t index, void *page, size_t nr)
{
	u64 offset = index * STACKBUF_PAGE_SIZE, size = nr * STACKBUF_PAGE_SIZE;
	char *first = xcalloc(3, size), *between = first + size, *last = between + size;
	size_t at;
	int ret;

	/*
	 * If a page's number, or a stack's id, is the same at first and at the end, what was read
	 * between is of one page or stack
	 */
	ret = s->ops->read(s, a, offset, first, size);
	if (!ret)
		ret = s->ops->read(s, a, offset, between, size);
	if (!ret)
		ret = s->ops->read(s, a, offset, last, size);
	for (at = 0; at < size && !ret; at += STACKBUF_PAGE_SIZE) {
		void *before = first + at, *copy = between + at, *after = last + at;

		if (a == ARRAY_EVENTS)
			settle_page(after, ((struct stackbuf_page *)before)->seq, copy);
		else
			stacks_drop_torn(copy, before, after);
	}
	memcpy(page, a == ARRAY_EVENTS ? last : between, size);
	free(first);
	return ret;
}

int source_read_info(struct source *s, struct record *r)
{
	struct stackbuf_info *info = xcalloc(1, sizeof(*info));
	struct page_set set = { 0 };
	/* A build may leave out its last pages */
	size_t size = s->size[ARRAY_INFO] < sizeof(*info) ? s->size[ARRAY_INFO] : sizeof(*info), i;
	int ret = s->ops->read(s, ARRAY_INFO, 0, info, size);

	if (!ret) {
		for (i = 0; i < size; i += STACKBUF_PAGE_SIZE)
			page_set_add(&set, (char *)info + i);
		record_parse(r, &set, page_set_newest(&set), NULL);
	}
	/* These would refer to pages that are freed */
	r->pairs = 0;
	page_set_clear(&set);
	free(info);
	return ret;
}

/*
 * Return true if the memory at @offset was read.  Holes were not: do not touch their memory either,
 * as some kernels allocate a page even for a read
 */
static bool is_filled(const struct source *s, enum array a, u64 offset)
{
	return s->filled[a][offset / PART];
}

/* Read all of an array but its holes, whose memory stays 0 unless it was read before */
static int arrays_read_all(struct source *s, enum array a)
{
	u64 offset, size;
	void *to;

	for (offset = 0; offset < s->size[a]; offset += size) {
		size = s->size[a] - offset < PART ? s->size[a] - offset : PART;
		if (!is_filled(s, a, offset) && is_hole(s, a, offset, size))
			continue;
		s->filled[a][offset / PART] = true;
		to = (char *)s->memory[a] + offset;
		if (a == ARRAY_TEXT ? arrays_read(s, a, offset, to, size) :
				      source_read_pages(s, a, offset / STACKBUF_PAGE_SIZE, to,
							size / STACKBUF_PAGE_SIZE))
			return -1;
	}
	return 0;
}

/* Read a part of an array once more and give each page that has something to @drop */
static int read_again(struct source *s, enum array a, struct page_set *set,
		      void (*drop)(struct page_set *set, void *page, const void *again))
{
	char *again = xcalloc(PART, 1), *page;
	u64 offset, size, at;
	int ret = 0;

	for (offset = 0; offset < s->size[a] && !ret; offset += size) {
		size = s->size[a] - offset < PART ? s->size[a] - offset : PART;
		if (!is_filled(s, a, offset))
			continue;
		ret = arrays_read(s, a, offset, again, size);
		page = (char *)s->memory[a] + offset;
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
	/* Events of a page that was blank already are counted as overwritten */
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
 * Read in an order that loses nothing: ring, stacks, text.  A stack stays while the ring refers
 * to it, and its text is older than its events.  Then read the heads of the ring again, to drop
 * what was overwritten since; and last the counters, so that they include what was dropped.
 */
static int arrays_load(struct source *s, struct page_set *set)
{
	static const enum array order[] = { ARRAY_EVENTS, ARRAY_STACKS, ARRAY_TEXT };
	unsigned int i, strange = 0;
	const char *page;
	u64 offset;

	set->live = s->live;
	for (i = 0; i < ARRAYS && !s->memory[i]; i++) {
		s->memory[i] = xcalloc(s->size[i], 1);
		s->filled[i] = xcalloc(s->size[i] / PART + 1, sizeof(*s->filled[i]));
	}
	memset(s->filled[ARRAY_INFO], true, s->size[ARRAY_INFO] / PART + 1);
	for (i = 0; i < ARRAY_SIZE(order); i++)
		if (arrays_read_all(s, order[i]))
			return -1;
	if (read_again(s, ARRAY_TEXT, set, drop_changed_text) ||
	    read_again(s, ARRAY_EVENTS, set, drop_changed_events) ||
	    arrays_read(s, ARRAY_INFO, 0, s->memory[ARRAY_INFO], s->size[ARRAY_INFO]) ||
	    read_again(s, ARRAY_INFO, set, drop_changed_info))
		return -1;

	for (i = 0; i < ARRAYS; i++, strange = 0) {
		for (offset = 0; offset < s->size[i]; offset += STACKBUF_PAGE_SIZE) {
			page = (char *)s->memory[i] + offset;
			/* Pages of text are blank until they are first used */
			if (is_filled(s, i, offset) ?
			    page_set_add(set, page) != PAGE_TAKEN && (i != ARRAY_TEXT || *page) :
			    i != ARRAY_TEXT)
				strange++;
		}
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
		free(s->filled[i]);
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
	struct stat st;
	char path[4096];
	int i;

	s->ops = &arrays_ops;
	s->live = !statfs(name, &fs) && fs.f_type == DEBUGFS_MAGIC;
	for (i = 0; i < ARRAYS; i++) {
		snprintf(path, sizeof(path), "%s/%s", name, array_name[i]);
		/* Opening a FIFO would block until a writer opens it */
		s->fd[i] = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (s->fd[i] < 0 && errno == ENOENT)
			return failed(s, "%s: holds no file \"%s\": a directory must hold text, info, events and stacks",
				name, array_name[i]);
		if (s->fd[i] < 0)
			return failed(s, "%s: %s%s", path, strerror(errno),
				      s->live && errno == EPERM && !geteuid() ?
				      ": the kernel is locked down for confidentiality" :
				      errno == EACCES || errno == EPERM ? "; run it as root" : "");
		if (fstat(s->fd[i], &st) || !S_ISREG(st.st_mode))
			return failed(s, "%s: is not a regular file", path);
	}
	snprintf(path, sizeof(path), "%s/kallsyms", name);
	if (s->live)
		s->kallsyms = xstrdup(KALLSYMS);
	else if (!access(path, R_OK) && !stat(path, &st) && S_ISREG(st.st_mode))
		s->kallsyms = xstrdup(path);
	if (!s->live && s->kallsyms && st.st_size > KALLSYMS_MAX)
		return failed(s, "%s: is too large to be a list of the kernel's symbols", path);
	return arrays_sizes(s);
}

/* ------------------------------------------------------------ /proc/kcore --- */

/* Return the offset of a virtual address in an ELF core file, 0 if it is not there */
static u64 core_offset(int fd, u64 addr, u64 size)
{
	u64 offset = 0;
	size_t nr, i;
	bool whole;
	Elf64_Phdr *p = core_segments(fd, &nr, &whole);

	for (i = 0; i < nr && !offset; i++)
		if (p[i].p_type == PT_LOAD && addr >= p[i].p_vaddr &&
		    addr - p[i].p_vaddr < p[i].p_memsz &&
		    size <= p[i].p_memsz - (addr - p[i].p_vaddr))
			offset = p[i].p_offset + (addr - p[i].p_vaddr);
	free(p);
	return offset;
}

/* Return the number in a file of sysfs, 0 if there is none */
static u64 number_in(const char *directory, const char *name)
{
	char path[4096], line[64] = "";
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (!fgets(line, sizeof(line), f))
		*line = '\0';
	fclose(f);
	return strtoull(line, NULL, 0);
}

/*
 * Search the module's .bss, as a RAM image is searched, for the page of stackbuf_info that has
 * its own address in it.  For kernels without CONFIG_KALLSYMS_ALL, whose kallsyms names functions
 * only (Debian's for arm64 at 6.1).
 */
static u64 search_info(int core, const char *module)
{
	u64 addr = number_in(module, "sections/.bss"), end = addr + number_in(module, "coresize");
	struct stackbuf_info info;
	u64 offset;

	addr = (addr + STACKBUF_PAGE_SIZE - 1) & -(u64)STACKBUF_PAGE_SIZE;
	if (!addr || addr >= end)
		return 0;
	offset = core_offset(core, addr, end - addr);
	if (!offset)
		return 0;
	for (; addr < end; addr += STACKBUF_PAGE_SIZE, offset += STACKBUF_PAGE_SIZE)
		if (read_at(core, &info, STACKBUF_PAGE_SIZE, offset) == STACKBUF_PAGE_SIZE &&
		    info.page.magic == ~STACKBUF_MAGIC_INVERTED &&
		    info.page.kind == STACKBUF_INFO && info.info_addr == addr)
			return addr;
	return 0;
}

/*
 * Set *@addr to the address of the loaded module's stackbuf_info, 0 if @kallsyms has functions
 * only.  Return 0, or -1 with s->error set.
 */
static int find_info(struct source *s, const char *kallsyms, u64 *addr)
{
	bool found = false, loaded = false;
	struct kallsyms k;

	if (kallsyms_open(&k, kallsyms))
		return failed(s, "%s: %s", kallsyms, strerror(errno));
	while (!found && kallsyms_next(&k)) {
		if (strcmp(k.module, "stackbuf"))
			continue;
		loaded = true;
		found = !strcmp(k.name, "stackbuf_info");
	}
	fclose(k.file);
	if (!loaded)
		return failed(s, "the module stackbuf is not loaded: insmod stackbuf.ko first, or name a source with -f");
	if (found && !k.addr)
		return failed(s, "%s does not show addresses; run it as root", kallsyms);
	*addr = found ? k.addr : 0;
	return 0;
}

int source_open_core(struct source *s, const char *core, const char *kallsyms,
		     const char *module)
{
	struct stackbuf_info info;
	u64 addr[ARRAYS];
	int i;

	s->ops = &arrays_ops;
	s->live = true;
	s->name = xstrdup(core);
	if (find_info(s, kallsyms, &addr[ARRAY_INFO]))
		return -1;
	for (i = 0; i < ARRAYS; i++) {
		s->fd[i] = open(core, O_RDONLY | O_CLOEXEC);
		if (s->fd[i] < 0)
			return failed(s, "%s: %s%s", core, strerror(errno),
				      errno == EACCES || errno == EPERM ?
				      "; run it as root, or kernel lockdown forbids it" : "");
	}
	if (!addr[ARRAY_INFO])
		addr[ARRAY_INFO] = search_info(s->fd[ARRAY_INFO], module);
	if (!addr[ARRAY_INFO])
		return failed(s, "neither %s nor %s shows where the module's data is: run it as root, or mount debugfs on /sys/kernel/debug",
			kallsyms, module);
	s->offset[ARRAY_INFO] = core_offset(s->fd[0], addr[ARRAY_INFO], STACKBUF_PAGE_SIZE);
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
	s->kallsyms = xstrdup(kallsyms);
	return 0;
}

/* ------------------------------------------- files with a machine's memory --- */

/* Pages of info kept while scanning: one for each instance, and copies */
#define INFO_PAGES_MAX	1000

/* Copies of one page with the same sequence that are read */
#define COPIES_MAX	16

static void *keep_page(struct source *s, const void *page)
{
	void *block = xrealloc(NULL, 1, STACKBUF_PAGE_SIZE);

	if ((s->blocks & (s->blocks - 1)) == 0)
		s->block = xrealloc(s->block, s->blocks ? 2 * s->blocks : 1, sizeof(*s->block));
	s->block[s->blocks++] = block;
	return memcpy(block, page, STACKBUF_PAGE_SIZE);
}

/* Of several kernels in an image, take the name of the first; which offset is right is unknown */
static void take_vmcoreinfo(struct source *s, const char *info)
{
	u64 offset;

	if (!*s->linux_release)
		vmcoreinfo_release(info, s->linux_release, s->linux_build_id);
	if (!vmcoreinfo_kernel_offset(info, &offset))
		return;
	if (!s->kernel_offsets || offset != s->kernel_offset)
		s->kernel_offsets++;
	s->kernel_offset = offset;
}

/* A page that a scan came by: a raw image has it nowhere else */
static void find_vmcoreinfo(struct source *s, struct dump_file *f, const char *page)
{
	char *info = xasprintf("%.*s", STACKBUF_PAGE_SIZE, page);

	take_vmcoreinfo(s, info);
	if (f->vmcoreinfo) {
		free(info);
		return;
	}
	f->vmcoreinfo = info;
	/* Memory begins elsewhere than at 0 on arm64 */
	if (f->kind == DUMP_RAW && !f->start)
		vmcoreinfo_number(f->vmcoreinfo, "PHYS_OFFSET", &f->start);
}

void source_find_kallsyms(struct source *s, const struct stackbuf_info *info)
{
	if (s->kallsyms || s->files != 1)
		return;
	s->names = tmpfile();
	if (!s->names || dump_kallsyms(s->file, s->names, info->base_symbol, info->base_addr) ||
	    fflush(s->names))
		return;
	s->kallsyms = xasprintf("/proc/self/fd/%d", fileno(s->names));
}

bool source_core_kernel_offset(const char *core, u64 *offset)
{
	int fd = open(core, O_RDONLY | O_CLOEXEC);
	char *info;
	bool found;

	if (fd < 0)
		return false;
	info = core_vmcoreinfo(fd);
	found = vmcoreinfo_kernel_offset(info, offset);
	free(info);
	close(fd);
	return found;
}

bool source_kernel_offset(const struct source *s, u64 *offset)
{
	if (s->live)
		return source_core_kernel_offset(CORE, offset);
	*offset = s->kernel_offset;
	return s->kernel_offsets == 1;
}

struct page_search {
	struct source *source;
	struct page_set *set;
	unsigned int file, infos;
};

/* Take a page into the set.  For most pages this reads no more than the first word */
static void visit_page(void *arg, u64 where, const void *page)
{
	struct page_search *f = arg;
	struct source *s = f->source;
	struct found_page *p;
	size_t nr = f->set->nr;
	u64 word;

	memcpy(&word, page, sizeof(word));
	if (word != ~STACKBUF_MAGIC_INVERTED && memcmp(&word, "stackbuf", sizeof(word))) {
		if (!memcmp(&word, VMCOREINFO, sizeof(word)) &&
		    !memcmp(page, VMCOREINFO, strlen(VMCOREINFO)))
			find_vmcoreinfo(s, &s->file[f->file], page);
		return;
	}
	/* page_set_add() counts pages that do not fit the set */
	if (page_set_add(f->set, page) != PAGE_TAKEN || f->set->nr == nr)
		return;
	p = &f->set->page[nr];
	p->data = NULL;
	p->where = where;
	p->file = f->file;
	/* The page of info identifies its instance */
	if (p->kind == STACKBUF_INFO && !p->index && f->infos++ < INFO_PAGES_MAX)
		p->data = keep_page(s, page);
}

/*
 * Return the number of pages that a snapshot should have, 0 for a file that is no snapshot.  Add
 * those that were left out when it was made.
 */
static unsigned long long promised_pages(struct dump_file *f, struct page_set *set)
{
	char page[STACKBUF_PAGE_SIZE + 1] = "";
	const struct stackbuf_page *head = (const void *)page;
	unsigned long long pages = 0;
	unsigned int changed, text;

	if (f->kind != DUMP_RAW || dump_read(f, 0, page) ||
	    head->magic != ~STACKBUF_MAGIC_INVERTED || head->version != STACKBUF_VERSION ||
	    head->kind != STACKBUF_SNAPSHOT || head->index)
		return 0;
	if (sscanf(page + sizeof(*head), "pages %llu changed %u %u", &pages, &changed,
		   &text) == 3) {
		set->live = true;
		set->changed += changed;
		set->changed_text += text;
	}
	return pages;
}

static int nothing_found(struct source *s, const struct page_set *set)
{
	const char *why = NULL;
	unsigned int i, machine = 0;

	if (set->other_version)
		return failed(s, "%s: format version %u; this stackbuf knows version %u", s->name,
			      set->other_version, STACKBUF_VERSION);
	for (i = 0; i < s->files && !why; i++) {
		why = dump_explain(s->file[i].fd) ?: folded_explain(s->file[i].fd);
		machine |= s->file[i].machine;
	}
	if (why && !*s->linux_release)
		return failed(s, "%s: %s", s->file[i - 1].name, why);
	if ((*s->linux_release || machine) && (set->cut || set->unreadable))
		return failed(s, "%s: is cut or damaged: what is left of this dump holds no page of stackbuf's memory",
			s->name);
	if (*s->linux_release || machine)
		return failed(s, "%s: is a dump%s%s, and holds no page of stackbuf's memory: the module was not loaded",
			s->name, *s->linux_release ? " of Linux " : "", s->linux_release);
	return failed(s, "%s: is neither a snapshot nor a dump: it holds no page of stackbuf's or of Linux",
		      s->name);
}

static int check_promised(struct source *s, struct page_set *set)
{
	unsigned long long promised;
	unsigned int i;

	for (i = 0; i < s->files; i++) {
		u64 pages = s->file[i].size / STACKBUF_PAGE_SIZE;

		promised = promised_pages(&s->file[i], set);
		if (promised > pages)
			return failed(s, "%s: is cut: %llu of %llu pages are there",
				      s->file[i].name, pages, promised);
		if (promised && s->file[i].size % STACKBUF_PAGE_SIZE)
			return failed(s, "%s: is cut: it ends inside a page", s->file[i].name);
		s->promised += promised;
	}
	return 0;
}

/* Take a page of the record that is read once only */
static void visit_mapped_page(void *arg, u64 where, const void *page)
{
	struct page_search *f = arg;
	size_t nr = f->set->nr;

	visit_page(arg, where, page);
	if (f->set->nr > nr && !f->set->page[nr].data)
		f->set->page[nr].data = keep_page(f->source, page);
}

/* Find the record through the kernel's page tables.  Return NULL, or why a scan is needed */
static const char *load_mapped(struct source *s, struct page_search *search)
{
	const char *why;

	if (s->scan)
		return s->scan;
	if (s->files > 1)
		return "there are several files";
	why = mapped_record(&s->file[0], visit_mapped_page, search);
	if (!why)
		take_vmcoreinfo(s, s->file[0].vmcoreinfo);
	else
		page_set_clear(search->set);
	return why;
}

/* Look at every page.  Return the bytes that were read */
static u64 scan_files(struct source *s, struct page_search *search)
{
	struct scan scan = { .page = visit_page, .arg = search };
	u64 total = 0;
	unsigned int i;

	search->infos = 0;
	for (i = 0; i < s->files; i++)
		total += dump_total(&s->file[i]);
	scan_start(&scan, s->name, total);
	for (i = 0; i < s->files; i++) {
		search->file = i;
		dump_scan(&s->file[i], &scan);
	}
	scan_end(&scan);
	search->set->unreadable = scan.unreadable;
	return scan.read;
}

/* What the files' pages took, other than those that were scanned */
static u64 files_bytes_read(const struct source *s)
{
	u64 bytes = 0;
	unsigned int i;

	for (i = 0; i < s->files; i++)
		bytes += s->file[i].bytes_read;
	return bytes;
}

static int files_load(struct source *s, struct page_set *set)
{
	struct page_search search = { .source = s, .set = set };
	u64 scanned = 0;
	unsigned int i;

	set->scanned = load_mapped(s, &search);
	if (set->scanned)
		scanned = scan_files(s, &search);
	set->found_by = set->scanned ? "scan" : "page tables";
	for (i = 0; i < s->files; i++)
		set->cut += s->file[i].cut;
	if (!set->nr)
		return nothing_found(s, set);
	if (check_promised(s, set))
		return -1;
	set->bytes_read = scanned + files_bytes_read(s);
	return 0;
}

/* Read the data of copies of one page that have the same age */
static void fetch_copies(struct source *s, struct page_set *set, struct found_page *copy, size_t nr)
{
	char page[STACKBUF_PAGE_SIZE] __attribute__((aligned(8)));
	unsigned int copies = 0;
	size_t i;

	for (i = 0; i < nr && copies < COPIES_MAX; i++) {
		if (copy[i].data)
			continue;
		copies++;
		if (dump_read(&s->file[copy[i].file], copy[i].where, page)) {
			set->unreadable++;
			continue;
		}
		/* A page with several mappings may be in several segments: one copy is enough */
		if (i && copy[i - 1].data && !memcmp(copy[i - 1].data, page, sizeof(page)))
			continue;
		copy[i].data = keep_page(s, page);
	}
}

static int files_fetch(struct source *s, struct page_set *set, u64 instance)
{
	u64 before = files_bytes_read(s);
	size_t i, n, old;

	for (i = 0; i < set->nr; i += n) {
		n = page_set_copies(set, i);
		if (set->page[i].instance != instance)
			continue;
		/* Older copies are not needed */
		for (old = 0; set->page[i + old].seq != set->page[i + n - 1].seq; old++)
			;
		fetch_copies(s, set, &set->page[i + old], n - old);
	}
	set->bytes_read += files_bytes_read(s) - before;
	return 0;
}

static void files_close(struct source *s)
{
	unsigned int i;
	size_t n;

	for (i = 0; i < s->files; i++)
		dump_close(&s->file[i]);
	free(s->file);
	for (n = 0; n < s->blocks; n++)
		free(s->block[n]);
	free(s->block);
}

static const struct source_ops files_ops = {
	.load = files_load,
	.fetch = files_fetch,
	.close = files_close,
};

/*
 * Among pieces of memory one that seems to be an ELF file, but no whole dump, is a piece as well:
 * its first page held the beginning of a program, or of the headers for a vmcore.
 */
static int open_files(struct source *s, char *const *name, unsigned int names)
{
	bool pieces = false;
	struct dump_file *f;
	unsigned int i;

	s->ops = &files_ops;
	s->file = xcalloc(names, sizeof(*s->file));
	for (f = s->file; s->files < names; f++) {
		if (dump_open(f, name[s->files++], false) && f->kind != DUMP_ELF)
			return failed(s, "%s", f->error);
		pieces |= f->kind == DUMP_RAW;
	}
	for (i = 0, f = s->file; i < names; i++, f++) {
		if (f->kind != DUMP_ELF || (f->ranges && !f->cut))
			continue;
		dump_close(f);
		if (dump_open(f, name[i], pieces))
			return failed(s, "%s", f->error);
	}
	return 0;
}

/* -------------------------------------------------------------- which one --- */

int source_open(struct source *s, char *const *name, unsigned int names)
{
	const char *only = names == 1 ? name[0] : NULL;
	struct stat st;
	int i;

	memset(s, 0, sizeof(*s));
	for (i = 0; i < ARRAYS; i++)
		s->fd[i] = -1;
	if (!names && !access(DEBUGFS, X_OK))
		only = DEBUGFS;
	if (!names && !only && geteuid())
		return failed(s, "only root may read the running kernel's memory: run it as root, or name a source with -f");
	if (!names && !only)
		only = CORE;
	if (only && !strcmp(only, CORE))
		return source_open_core(s, CORE, KALLSYMS, MODULE);
	if (names > 1)
		s->name = xasprintf("%s and %u more", name[0], names - 1);
	if (only)
		s->name = xstrdup(only);
	if (only && !stat(only, &st) && S_ISDIR(st.st_mode))
		return open_directory(s, only);
	return open_files(s, name, names);
}

void source_close(struct source *s)
{
	if (s->ops)
		s->ops->close(s);
	if (s->names)
		fclose(s->names);
	free(s->name);
	free(s->kallsyms);
	memset(s, 0, sizeof(*s));
}
