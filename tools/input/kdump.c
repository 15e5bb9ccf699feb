// SPDX-License-Identifier: GPL-2.0
/*
 * kdump.c - dumps in kdump's formats, read by libkdumpfile in separate processes
 *
 * libkdumpfile 0.5.1 trusts a file's headers: if they are damaged, it may read out of bounds or
 * never return.  So it runs in a child, which writes pages to shared memory.  When the child dies
 * or takes too long, the page that it was reading counts as unreadable, and another child continues
 * after that page.
 *
 * A scan has one child per CPU.  Each child reads a part of the pages, and the parent takes their
 * answers in the order of the parts, so the result does not depend on their speed.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <libkdumpfile/kdumpfile.h>
#include <sched.h>
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
#include "ending.h"
#include "input/exclude.h"
#include "input/kdump.h"
#include "input/vmcoreinfo.h"
#include "library.h"
#include "stackbuf.h"

#define PAGES		256	/* per answer */
#define PFNS		32768	/* looked up in the bitmap at a time */
#define PAGE_MAX	65536	/* size of the kernel's own pages */
#define PFNS_MAX	(512 * PFNS)	/* in a part of a scan, so that the progress bar moves */
#define FAILURES_MAX	20	/* children of one file that may die */
#define WORKERS_MAX	64	/* children at a time */
#define PER_WORKER	(1ULL << 24)	/* minimum memory for each: starting one takes time */

/* CPU time for one answer, which unpacks a megabyte: a hundred times the usual time */
#define SECONDS_MAX	2

/* Memory that the library may use: twice the bitmap of 16 TiB of memory */
#define MEMORY_MAX	(1ULL << 30)

/* Zeroed pages at the end of a dump; their data may be elsewhere in the file */
#define ZEROES_MAX	4096

enum { SCAN, READ, LAST };

/* A function of libkdumpfile */
#define KDUMP(function) LIBRARY(LIBKDUMPFILE, function)

/* Shared by child and parent */
struct shared {
	/* The request: SCAN, as many pages as fit; READ, one page; LAST, the last one with data */
	int what;
	u64 pfn;	/* first page of the request; then the page being read */
	u64 stop;	/* end of a scan */
	u64 end, page_size;	/* as in struct kdump */
	u64 unreadable;	/* pages that could not be read */
	size_t nr;	/* pages of 4 KiB in @page */
	unsigned int machine;	/* EM_..., 0 if unknown */
	char error[256];	/* error on opening, or "" */
	char vmcoreinfo[VMCOREINFO_MAX];	/* the kernel's, or "" */
	u64 where[PAGES];	/* their addresses in memory */
	char page[PAGES][STACKBUF_PAGE_SIZE] __attribute__((aligned(STACKBUF_PAGE_SIZE)));
};

/* A child that reads */
struct worker {
	struct shared *s;
	pid_t child;	/* its process, 0: none */
	int fd;	/* the socket to the child */
	bool asked;	/* the last request reached a child */
	/* the rest of its part of a scan */
	u64 pfn, stop;
};

/* An open file */
struct kdump {
	/* Its children; the first one reads single pages, too */
	struct worker worker[WORKERS_MAX];
	unsigned int workers;
	int file;
	u64 bytes;	/* size of the file */
	u64 end;	/* the first page beyond its limit */
	u64 page_size;	/* size of the kernel's pages */
	unsigned int failures;	/* children that died */
};

/* ------------------------------------------------------------- the child --- */

/* kdump_vmcoreinfo_raw() needs the operating system's name, which makes the library walk tables */
static void child_vmcoreinfo(struct shared *s, kdump_ctx_t *ctx)
{
	kdump_attr_t raw = { .type = KDUMP_BLOB };
	const char *text;

	if (KDUMP(kdump_get_typed_attr)(ctx, "linux.vmcoreinfo.raw", &raw) != KDUMP_OK)
		return;
	text = KDUMP(kdump_blob_pin)(raw.val.blob);
	if (text)
		snprintf(s->vmcoreinfo, sizeof(s->vmcoreinfo), "%.*s",
			 (int)KDUMP(kdump_blob_size)(raw.val.blob), text);
}

static bool get_number(kdump_ctx_t *ctx, const char *key, u64 *n)
{
	kdump_attr_t attr = { .type = KDUMP_NUMBER };

	if (KDUMP(kdump_get_typed_attr)(ctx, key, &attr) != KDUMP_OK)
		return false;
	*n = attr.val.number;
	return true;
}

static kdump_ctx_t *child_open(struct shared *s, int fd, u64 bytes)
{
	/* If a mapped file were truncated, SIGBUS would end the child */
	kdump_attr_t never = { .type = KDUMP_NUMBER, .val.number = KDUMP_MMAP_NEVER };
	kdump_attr_t file = { .type = KDUMP_NUMBER, .val.number = fd };
	kdump_attr_t machine = { .type = KDUMP_STRING };
	kdump_ctx_t *ctx = KDUMP(kdump_new)();
	u64 n;

	if (!ctx) {
		failed(s, "out of memory");
		return NULL;
	}
	KDUMP(kdump_set_attr)(ctx, KDUMP_ATTR_FILE_MMAP_POLICY, &never);
	if (KDUMP(kdump_set_attr)(ctx, KDUMP_ATTR_FILE_FD, &file) != KDUMP_OK) {
		failed(s, "is cut or damaged: %s", KDUMP(kdump_get_err)(ctx));
		return NULL;
	}
	s->page_size = STACKBUF_PAGE_SIZE;
	if (get_number(ctx, KDUMP_ATTR_PAGE_SIZE, &n) &&
	    n >= STACKBUF_PAGE_SIZE && n <= PAGE_MAX && !(n & (n - 1)))
		s->page_size = n;
	/* A whole file has a bit for each page */
	if (get_number(ctx, "max_pfn", &n))
		s->end = n < 8 * bytes ? n : 8 * bytes;
	child_vmcoreinfo(s, ctx);
	if (KDUMP(kdump_get_typed_attr)(ctx, KDUMP_ATTR_ARCH_NAME, &machine) != KDUMP_OK)
		return ctx;
	if (!strcmp(machine.val.string, "x86_64"))
		s->machine = EM_X86_64;
	else if (!strcmp(machine.val.string, "aarch64"))
		s->machine = EM_AARCH64;
	else
		failed(s, "is of another architecture (%.30s): stackbuf records on x86-64 and arm64",
		       machine.val.string);
	return ctx;
}

/* Read the kernel's page s->pfn into pages of 4 KiB */
static void child_page(struct shared *s, kdump_ctx_t *ctx)
{
	u64 addr = s->pfn * s->page_size, i;
	size_t n = s->page_size;

	if (KDUMP(kdump_read)(ctx, KDUMP_MACHPHYSADDR, addr, s->page[s->nr], &n) != KDUMP_OK) {
		s->unreadable++;
		return;
	}
	for (i = 0; i < s->page_size; i += STACKBUF_PAGE_SIZE)
		s->where[s->nr++] = addr + i;
}

/*
 * Return 1 if page @pfn is in the file, 0 if not, or -1 if its bitmap cannot be read.
 * kdump_bmp_find_set() cannot be used: in 0.5.1 it does not return for some bitmaps.
 */
static int child_has_page(const struct shared *s, kdump_ctx_t *ctx, u64 pfn)
{
	static unsigned char bits[PFNS / 8];
	static u64 first = 1, last;		/* the range of @bits */
	static kdump_attr_t map = { .type = KDUMP_BITMAP };

	if (!map.val.bitmap &&
	    KDUMP(kdump_get_typed_attr)(ctx, KDUMP_ATTR_FILE_PAGEMAP, &map) != KDUMP_OK)
		return -1;
	if (pfn < first || pfn > last || first > last) {
		first = pfn / PFNS * PFNS;
		last = s->end - first < PFNS ? s->end - 1 : first + PFNS - 1;
		memset(bits, 0, sizeof(bits));
		if (KDUMP(kdump_bmp_get_bits)(map.val.bitmap, first, last, bits) != KDUMP_OK) {
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
	int has;

	for (; s->pfn < s->stop; s->pfn++) {
		if (s->nr + s->page_size / STACKBUF_PAGE_SIZE > PAGES)
			return;
		has = child_has_page(s, ctx, s->pfn);
		if (has < 0) {
			s->unreadable += s->stop - s->pfn;
			s->pfn = s->stop;
			return;
		}
		if (has)
			child_page(s, ctx);
	}
}

/*
 * Read the last page that is not zeroed.  Pages are written in order, except zeroed pages, which
 * share the data of the first of them.
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

static void __attribute__((noreturn)) child_main(const struct kdump *k, struct shared *s, int fd)
{
	struct itimerval limit = { .it_value.tv_sec = SECONDS_MAX };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	kdump_ctx_t *ctx;
	int i;
	char c;

	/* If the child dies, it prints nothing and leaves no core file */
	ending_forget();
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

static void stop_child(struct worker *w)
{
	if (!w->child)
		return;
	close(w->fd);
	kill(w->child, SIGKILL);
	while (waitpid(w->child, NULL, 0) < 0 && errno == EINTR)
		;
	w->child = 0;
}

/* Wait for the answer.  Return false if the child died */
static bool child_answered(struct kdump *k, struct worker *w)
{
	ssize_t n;
	char c;

	do
		n = read(w->fd, &c, 1);
	while (n < 0 && errno == EINTR);
	if (n == 1)
		return true;
	stop_child(w);
	k->failures++;
	return false;
}

static int start_child(struct kdump *k, struct worker *w)
{
	unsigned int i;
	int fd[2];

	w->s->error[0] = '\0';
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd))
		return failed(w->s, "cannot be read: %s", strerror(errno));
	w->child = fork();
	if (!w->child) {
		/* A child ends when its own socket is closed: the others must not keep it open */
		for (i = 0; i < k->workers; i++)
			if (k->worker[i].child)
				close(k->worker[i].fd);
		close(fd[0]);
		exclude_self();
		child_main(k, w->s, fd[1]);
	}
	close(fd[1]);
	if (w->child < 0) {
		w->child = 0;
		close(fd[0]);
		return failed(w->s, "cannot be read: %s", strerror(errno));
	}
	w->fd = fd[0];
	if (child_answered(k, w))
		return w->s->error[0] ? -1 : 0;
	return failed(w->s, "is cut or damaged: libkdumpfile fails on its headers");
}

/* Add and return a worker, or return NULL if out of memory */
static struct worker *add_worker(struct kdump *k)
{
	struct worker *w = &k->worker[k->workers];

	w->s = mmap(NULL, sizeof(*w->s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (w->s == MAP_FAILED)
		return NULL;
	k->workers++;
	return w;
}

/* Send a request to the child, after starting it if necessary */
static void ask_child(struct kdump *k, struct worker *w, int what, u64 pfn, u64 stop)
{
	w->s->nr = 0;
	w->asked = w->child || (k->failures <= FAILURES_MAX && !start_child(k, w));
	if (!w->asked)
		return;
	w->s->what = what;
	w->s->pfn = pfn;
	w->s->stop = stop;
	/* If the child has died, the read of its answer fails */
	send(w->fd, "", 1, MSG_NOSIGNAL);
}

/* Read the answer.  Return 0; 1 if the child died at page s->pfn; -1 without a child */
static int take_answer(struct kdump *k, struct worker *w)
{
	if (!w->asked)
		return -1;
	return child_answered(k, w) ? 0 : 1;
}

struct kdump *kd_open(int fd, u64 bytes, unsigned int *machine, char *error, size_t size)
{
	struct kdump *k = xcalloc(1, sizeof(*k));
	struct worker *w;

	/* Report a missing library here, as a child prints nothing */
	library_find(LIBKDUMPFILE, "kdump_new");
	k->file = fd;
	k->bytes = bytes;
	w = add_worker(k);
	if (!w) {
		set_error(error, size, "out of memory");
		free(k);
		return NULL;
	}
	if (start_child(k, w)) {
		set_error(error, size, "%s", w->s->error);
		kd_close(k);
		return NULL;
	}
	*machine = w->s->machine;
	k->end = w->s->end;
	k->page_size = w->s->page_size;
	return k;
}

void kd_close(struct kdump *k)
{
	while (k->workers) {
		struct worker *w = &k->worker[--k->workers];

		stop_child(w);
		munmap(w->s, sizeof(*w->s));
	}
	free(k);
}

u64 kd_total(const struct kdump *k)
{
	return k->end * k->page_size;
}

/* True if there are no pages, or so many that child_open() took the limit from the file's size */
static bool damaged_end(const struct kdump *k)
{
	return !k->end || k->end == 8 * k->bytes;
}

/* Add a worker for each CPU that this process may use, but none for a small file */
static void add_workers(struct kdump *k)
{
	u64 most = kd_total(k) / PER_WORKER;
	cpu_set_t cpus;

	if (sched_getaffinity(0, sizeof(cpus), &cpus))
		return;
	if (most > (u64)CPU_COUNT(&cpus))
		most = CPU_COUNT(&cpus);
	if (most > WORKERS_MAX)
		most = WORKERS_MAX;
	while (k->workers < most && add_worker(k))
		;
}

/* Give a worker the next part of a scan, of @pfns pages, or an empty part at the end */
static void next_part(struct kdump *k, struct worker *w, u64 *next, u64 pfns)
{
	w->pfn = *next;
	w->stop = k->end - *next < pfns ? k->end : *next + pfns;
	*next = w->stop;
	if (w->pfn < w->stop)
		ask_child(k, w, SCAN, w->pfn, w->stop);
}

/* Process the pages of an answer.  Return false if no more can be read */
static bool pass_pages(struct kdump *k, struct worker *w, struct scan *scan)
{
	u64 from = w->pfn;
	int ret = take_answer(k, w);
	struct shared *s = w->s;
	size_t i;

	/* The pages before the one at which the child died are whole */
	w->pfn = s->pfn + (ret && s->pfn < w->stop);
	if (ret < 0 || w->pfn <= from || w->pfn > w->stop || s->nr > PAGES) {
		w->pfn = from;
		return false;
	}
	scan->unreadable += s->unreadable + ret;
	for (i = 0; i < s->nr; i++)
		scan->page(scan->arg, s->where[i], s->page[i]);
	scan_passed(scan, (w->pfn - from) * k->page_size, s->nr * STACKBUF_PAGE_SIZE);
	return true;
}

void kd_scan(struct kdump *k, struct scan *scan)
{
	const u64 fit = PAGES * STACKBUF_PAGE_SIZE / k->page_size;
	u64 next = 0, pfns = fit;
	unsigned int i;

	if (damaged_end(k))
		scan->unreadable++;
	add_workers(k);
	for (i = 0; i < k->workers; i++)
		next_part(k, &k->worker[i], &next, pfns);
	for (i = 0; k->worker[i].pfn < k->worker[i].stop; i = (i + 1) % k->workers) {
		struct worker *w = &k->worker[i];
		bool once = true;

		while (pass_pages(k, w, scan) && w->pfn < w->stop) {
			once = false;
			ask_child(k, w, SCAN, w->pfn, w->stop);
		}
		if (w->pfn != w->stop)
			break;
		/* Use larger parts where pages are sparse; ideally a part fits in one answer */
		if (!once && pfns > fit)
			pfns /= 2;
		else if (w->s->nr < PAGES / 2 && pfns < PFNS_MAX)
			pfns *= 2;
		next_part(k, w, &next, pfns);
	}
	/* Pages are left unread if a worker gave up its part */
	scan->unreadable += k->end - next;
	for (i = 0; i < k->workers; i++)
		scan->unreadable += k->worker[i].stop - k->worker[i].pfn;
	/* Keep the first child for single pages, unless it gave up its part */
	for (i = k->worker[0].pfn == k->worker[0].stop; i < k->workers; i++)
		stop_child(&k->worker[i]);
}

char *kd_vmcoreinfo(const struct kdump *k)
{
	const char *text = k->worker[0].s->vmcoreinfo;

	/* The child wrote it: it may lack a NUL */
	return *text ? xasprintf("%.*s", VMCOREINFO_MAX, text) : NULL;
}

bool kd_whole(struct kdump *k)
{
	struct worker *w = &k->worker[0];

	if (damaged_end(k))
		return false;
	ask_child(k, w, LAST, 0, 0);
	return !take_answer(k, w) && !w->s->unreadable;
}

int kd_read(struct kdump *k, u64 where, void *page)
{
	u64 i = where % k->page_size / STACKBUF_PAGE_SIZE;
	struct worker *w = &k->worker[0];

	ask_child(k, w, READ, where / k->page_size, 0);
	if (take_answer(k, w) || w->s->nr > PAGES || i >= w->s->nr)
		return -1;
	memcpy(page, w->s->page[i], STACKBUF_PAGE_SIZE);
	return 0;
}
