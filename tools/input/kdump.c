// SPDX-License-Identifier: GPL-2.0
/*
 * kdump.c - dumps in kdump's formats, read by libkdumpfile in a process of its own
 *
 * libkdumpfile 0.5.1 trusts a file's headers: where they are damaged it may read beyond its
 * memory, or never return.  So it runs in a child, which puts pages into shared memory.  When the
 * child dies, or takes too much time, the page that it was reading counts as unreadable, and
 * another child continues after that page.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <libkdumpfile/kdumpfile.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "input/kdump.h"
#include "stackbuf.h"

#define PAGES		256	/* handed over at a time */
#define PFNS		32768	/* looked up in the bitmap at a time */
#define PAGE_MAX	65536	/* of the kernel's own pages */
#define PFNS_MAX	(512 * PFNS)	/* passed in one answer, so that the progress bar moves */
#define FAILURES_MAX	20	/* children of one file that may die */

/* Processor time for one answer, which unpacks a megabyte: a hundred times what it needs */
#define SECONDS_MAX	2

/* Memory that the library may take: twice the bitmap of 16 TiB of memory */
#define MEMORY_MAX	(1ULL << 30)

/* Pages at the end that may be of zeroes, whose data is elsewhere in the file */
#define ZEROES_MAX	4096

enum { SCAN, READ, LAST };

/**
 * struct shared - what child and parent share
 * @what: the request: SCAN, as many pages as fit; READ, one page; LAST, the last one with data
 * @pfn: the kernel's page to begin with; then the one that the child is reading
 * @end: the first page that the file cannot hold
 * @page_size: of the kernel's pages
 * @unreadable: pages that could not be read
 * @nr: pages of 4 KiB in @page
 * @where: their places in memory
 * @machine: EM_..., 0 if it is not known
 * @error: what went wrong on opening, or ""
 * @vmcoreinfo: the kernel's, or ""
 */
struct shared {
	int what;
	u64 pfn, end, page_size, unreadable;
	size_t nr;
	unsigned int machine;
	char error[256];
	char vmcoreinfo[VMCOREINFO_MAX];
	u64 where[PAGES];
	char page[PAGES][STACKBUF_PAGE_SIZE] __attribute__((aligned(STACKBUF_PAGE_SIZE)));
};

/**
 * struct kdump - a file that is read
 * @s: shared with the child
 * @file: the file
 * @bytes: size of the file
 * @end: the first page that it cannot hold
 * @page_size: of the kernel's pages
 * @child: its process, 0: none
 * @fd: the socket to the child
 * @failures: children that died
 */
struct kdump {
	struct shared *s;
	int file;
	u64 bytes, end, page_size;
	pid_t child;
	int fd;
	unsigned int failures;
};

/* ------------------------------------------------------------- the child --- */

/* kdump_vmcoreinfo_raw() needs the operating system's name, and with it the library walks tables */
static void child_vmcoreinfo(struct shared *s, kdump_ctx_t *ctx)
{
	kdump_attr_t raw = { .type = KDUMP_BLOB };
	const char *text;

	if (kdump_get_typed_attr(ctx, "linux.vmcoreinfo.raw", &raw) != KDUMP_OK)
		return;
	text = kdump_blob_pin(raw.val.blob);
	if (text)
		snprintf(s->vmcoreinfo, sizeof(s->vmcoreinfo), "%.*s",
			 (int)kdump_blob_size(raw.val.blob), text);
}

static kdump_ctx_t *child_open(struct shared *s, int fd, u64 bytes)
{
	/* A mapped file that is truncated would end the child by SIGBUS */
	kdump_attr_t never = { .type = KDUMP_NUMBER, .val.number = KDUMP_MMAP_NEVER };
	kdump_ctx_t *ctx = kdump_new();
	const char *machine;
	kdump_num_t n;

	if (!ctx) {
		failed(s, "out of memory");
		return NULL;
	}
	kdump_set_attr(ctx, KDUMP_ATTR_FILE_MMAP_POLICY, &never);
	if (kdump_set_number_attr(ctx, KDUMP_ATTR_FILE_FD, fd) != KDUMP_OK) {
		failed(s, "is cut or damaged: %s", kdump_get_err(ctx));
		return NULL;
	}
	s->page_size = STACKBUF_PAGE_SIZE;
	if (kdump_get_number_attr(ctx, KDUMP_ATTR_PAGE_SIZE, &n) == KDUMP_OK &&
	    n >= STACKBUF_PAGE_SIZE && n <= PAGE_MAX && !(n & (n - 1)))
		s->page_size = n;
	/* A whole file has a bit for each page */
	if (kdump_get_number_attr(ctx, "max_pfn", &n) == KDUMP_OK)
		s->end = n < 8 * bytes ? n : 8 * bytes;
	child_vmcoreinfo(s, ctx);
	if (kdump_get_string_attr(ctx, KDUMP_ATTR_ARCH_NAME, &machine) != KDUMP_OK)
		return ctx;
	if (!strcmp(machine, "x86_64"))
		s->machine = EM_X86_64;
	else if (!strcmp(machine, "aarch64"))
		s->machine = EM_AARCH64;
	else
		failed(s, "is of another architecture (%.30s): stackbuf records on x86-64 and arm64",
		    machine);
	return ctx;
}

/* Read the kernel's page s->pfn, as pages of 4 KiB */
static void child_page(struct shared *s, kdump_ctx_t *ctx)
{
	u64 addr = s->pfn * s->page_size, i;
	size_t n = s->page_size;

	if (kdump_read(ctx, KDUMP_MACHPHYSADDR, addr, s->page[s->nr], &n) != KDUMP_OK) {
		s->unreadable++;
		return;
	}
	for (i = 0; i < s->page_size; i += STACKBUF_PAGE_SIZE)
		s->where[s->nr++] = addr + i;
}

/*
 * Is page @pfn in the file?  Return 1 or 0, or -1 if its bitmap cannot be read.
 * kdump_bmp_find_set() cannot be used: in 0.5.1 it does not return for some bitmaps.
 */
static int child_has_page(const struct shared *s, kdump_ctx_t *ctx, u64 pfn)
{
	static unsigned char bits[PFNS / 8];
	static u64 first = 1, last;		/* the pages that @bits are of */
	static kdump_attr_t map = { .type = KDUMP_BITMAP };

	if (!map.val.bitmap &&
	    kdump_get_typed_attr(ctx, KDUMP_ATTR_FILE_PAGEMAP, &map) != KDUMP_OK)
		return -1;
	if (pfn < first || pfn > last || first > last) {
		first = pfn / PFNS * PFNS;
		last = s->end - first < PFNS ? s->end - 1 : first + PFNS - 1;
		memset(bits, 0, sizeof(bits));
		if (kdump_bmp_get_bits(map.val.bitmap, first, last, bits) != KDUMP_OK) {
			first = 1;
			last = 0;
			return -1;
		}
	}
	return bits[(pfn - first) / 8] >> (pfn - first) % 8 & 1;
}

/* Read pages from s->pfn on, as many as fit */
static void child_scan(struct shared *s, kdump_ctx_t *ctx)
{
	u64 stop = s->end - s->pfn < PFNS_MAX ? s->end : s->pfn + PFNS_MAX;
	int has;

	for (; s->pfn < stop; s->pfn++) {
		if (s->nr + s->page_size / STACKBUF_PAGE_SIZE > PAGES)
			return;
		has = child_has_page(s, ctx, s->pfn);
		if (has < 0) {
			s->unreadable++;
			s->pfn = s->end;
			return;
		}
		if (has)
			child_page(s, ctx);
	}
}

/*
 * Read the last page that is not of zeroes: pages are written in their order, but for those of
 * zeroes, which share the data of the first of them.
 */
static void child_last(struct shared *s, kdump_ctx_t *ctx)
{
	unsigned int zeroes = 0;
	const char *data;
	int has;

	for (s->pfn = s->end; s->pfn-- && zeroes < ZEROES_MAX; ) {
		has = child_has_page(s, ctx, s->pfn);
		s->unreadable += has < 0;
		if (s->unreadable)
			return;
		if (!has)
			continue;
		s->nr = 0;
		child_page(s, ctx);
		data = (const char *)s->page;
		if (s->unreadable || *data || memcmp(data, data + 1, s->page_size - 1))
			return;
		zeroes++;
	}
}

/* A damaged header may make the library allocate any amount */
static void limit_memory(void)
{
	struct rlimit limit;
	unsigned long data;
	FILE *f = fopen("/proc/self/statm", "re");

	if (f && fscanf(f, "%*u %*u %*u %*u %*u %lu", &data) == 1 &&
	    !getrlimit(RLIMIT_DATA, &limit)) {
		data = data * sysconf(_SC_PAGESIZE) + MEMORY_MAX;
		if (limit.rlim_cur > data)
			limit.rlim_cur = data;
		setrlimit(RLIMIT_DATA, &limit);
	}
	if (f)
		fclose(f);
}

static void __attribute__((noreturn)) child_main(const struct kdump *k, int fd)
{
	static const int fatal[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGPROF, SIGINT,
				     SIGTERM, SIGHUP };
	struct itimerval limit = { .it_value.tv_sec = SECONDS_MAX };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct shared *s = k->s;
	kdump_ctx_t *ctx;
	size_t i;
	char c;

	/* If the child dies, it prints nothing and leaves no core file */
	for (i = 0; i < ARRAY_SIZE(fatal); i++)
		signal(fatal[i], SIG_DFL);
	limit_memory();
	prctl(PR_SET_DUMPABLE, 0);
	for (i = 0; null >= 0 && i < 3; i++)
		dup2(null, i);
	setitimer(ITIMER_PROF, &limit, NULL);
	ctx = child_open(s, k->file, k->bytes);
	while (write(fd, "", 1) == 1 && ctx && read(fd, &c, 1) == 1) {
		setitimer(ITIMER_PROF, &limit, NULL);
		s->nr = 0;
		s->unreadable = 0;
		if (s->what == SCAN)
			child_scan(s, ctx);
		else if (s->what == LAST)
			child_last(s, ctx);
		else
			child_page(s, ctx);
	}
	_exit(0);
}

/* ------------------------------------------------------------ the parent --- */

static void stop_child(struct kdump *k)
{
	if (!k->child)
		return;
	close(k->fd);
	kill(k->child, SIGKILL);
	while (waitpid(k->child, NULL, 0) < 0 && errno == EINTR)
		;
	k->child = 0;
}

/* Wait for the answer.  Return false if the child has died */
static bool child_answered(struct kdump *k)
{
	ssize_t n;
	char c;

	do
		n = read(k->fd, &c, 1);
	while (n < 0 && errno == EINTR);
	if (n == 1)
		return true;
	stop_child(k);
	k->failures++;
	return false;
}

static int start_child(struct kdump *k)
{
	int fd[2];

	k->s->error[0] = '\0';
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd)) {
		failed(k->s, "cannot be read: %s", strerror(errno));
		return -1;
	}
	k->child = fork();
	if (!k->child) {
		close(fd[0]);
		child_main(k, fd[1]);
	}
	close(fd[1]);
	if (k->child < 0) {
		k->child = 0;
		close(fd[0]);
		failed(k->s, "cannot be read: %s", strerror(errno));
		return -1;
	}
	k->fd = fd[0];
	if (child_answered(k))
		return k->s->error[0] ? -1 : 0;
	failed(k->s, "is cut or damaged: libkdumpfile fails on its headers");
	return -1;
}

/* Ask the child, started if need be.  Return 0; 1 if it died at page s->pfn; -1 without a child */
static int ask_child(struct kdump *k, int what, u64 pfn)
{
	k->s->nr = 0;
	if (!k->child && (k->failures > FAILURES_MAX || start_child(k)))
		return -1;
	k->s->what = what;
	k->s->pfn = pfn;
	/* If the child has died, the read of its answer fails */
	send(k->fd, "", 1, MSG_NOSIGNAL);
	return child_answered(k) ? 0 : 1;
}

struct kdump *kd_open(int fd, u64 bytes, unsigned int *machine, char *error, size_t size)
{
	struct kdump *k = xcalloc(1, sizeof(*k));

	k->file = fd;
	k->bytes = bytes;
	k->s = mmap(NULL, sizeof(*k->s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (k->s == MAP_FAILED) {
		snprintf(error, size, "out of memory");
		free(k);
		return NULL;
	}
	if (start_child(k)) {
		snprintf(error, size, "%s", k->s->error);
		kd_close(k);
		return NULL;
	}
	*machine = k->s->machine;
	k->end = k->s->end;
	k->page_size = k->s->page_size;
	return k;
}

void kd_close(struct kdump *k)
{
	stop_child(k);
	munmap(k->s, sizeof(*k->s));
	free(k);
}

u64 kd_total(const struct kdump *k)
{
	return k->end * k->page_size;
}

/* No pages, or so many that child_open() took the limit from the file's size */
static bool damaged_end(const struct kdump *k)
{
	return !k->end || k->end == 8 * k->bytes;
}

void kd_scan(struct kdump *k, struct scan *scan)
{
	struct shared *s = k->s;
	u64 pfn = 0, from;
	size_t i;
	int ret;

	if (damaged_end(k))
		scan->unreadable++;
	while (pfn < k->end) {
		from = pfn;
		ret = ask_child(k, SCAN, pfn);
		/* The pages before the one that the child died at are whole */
		pfn = s->pfn + !!ret;
		if (ret < 0 || pfn <= from || s->nr > PAGES) {
			scan->unreadable++;
			break;
		}
		scan->unreadable += s->unreadable + ret;
		for (i = 0; i < s->nr; i++)
			scan->page(scan->arg, s->where[i], s->page[i]);
		scan_passed(scan, (pfn - from) * k->page_size, s->nr * STACKBUF_PAGE_SIZE);
	}
}

bool kd_vmcoreinfo(const struct kdump *k, struct vmcoreinfo *info)
{
	/* Not trusted to be terminated: the child wrote it */
	info->text = xasprintf("%.*s", VMCOREINFO_MAX, k->s->vmcoreinfo);
	info->size = strlen(info->text);
	return info->size;
}

bool kd_whole(struct kdump *k)
{
	return !damaged_end(k) && !ask_child(k, LAST, 0) && !k->s->unreadable;
}

int kd_read(struct kdump *k, u64 where, void *page)
{
	u64 i = where % k->page_size / STACKBUF_PAGE_SIZE;

	if (ask_child(k, READ, where / k->page_size) || k->s->nr > PAGES || i >= k->s->nr)
		return -1;
	memcpy(page, k->s->page[i], STACKBUF_PAGE_SIZE);
	return 0;
}
