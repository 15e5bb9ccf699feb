// SPDX-License-Identifier: GPL-2.0
/*
 * unit_options.c - tests of the functions that implement the command's options
 *
 * Prints KTAP.  Writes into the current directory, which should be a new one.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "made.h"
#include "output/print.h"
#include "output/outfile.h"
#include "output/events.h"
#include "output/output.h"
#include "record/info.h"

static unsigned int failures;

#define CHECK(what) do {							\
	if (!(what)) {								\
		if (failures++ < 10)						\
			printf("# %s:%d: not so: %s\n", __FILE__, __LINE__, #what);	\
	}									\
} while (0)

/* ---------------------------------------------------------------- files --- */

static unsigned int files_here(void)
{
	unsigned int n = 0;
	DIR *dir = opendir(".");
	struct dirent *e;

	while ((e = readdir(dir)))
		n += *e->d_name != '.' || strlen(e->d_name) > 2;
	closedir(dir);
	return n;
}

static void write_old(void)
{
	FILE *f = fopen("kept", "w");

	if (!f || fputs("old", f) < 0 || fclose(f)) {
		perror("kept");
		exit(1);
	}
}

static bool is_old(void)
{
	char text[8] = "";
	FILE *f = fopen("kept", "r");
	bool same = f && fgets(text, sizeof(text), f) && !strcmp(text, "old");

	if (f)
		fclose(f);
	return same;
}

/* A signal while a file is written: the old file stays, and no other is left */
static void test_signals(void)
{
	static const int sent[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU };
	struct outfile out;
	int status;
	size_t i;
	pid_t child;

	for (i = 0; i < sizeof(sent) / sizeof(*sent); i++) {
		write_old();
		fflush(stdout);
		child = fork();
		if (!child) {
			setrlimit(RLIMIT_CORE, &(struct rlimit){ 0 });
			/* A shell may have set signals of background processes to be ignored */
			signal(sent[i], SIG_DFL);
			if (outfile_open(&out, "kept", 0600, false) || fputs("half", out.file) < 0 ||
			    fflush(out.file) || files_here() != 2)
				_exit(1);
			raise(sent[i]);
			_exit(2);
		}
		CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
		      WTERMSIG(status) == sent[i]);
		CHECK(is_old() && files_here() == 1);
	}

	/* A signal that was ignored stays ignored */
	fflush(stdout);
	child = fork();
	if (!child) {
		signal(SIGHUP, SIG_IGN);
		if (outfile_open(&out, "kept", 0600, false))
			_exit(1);
		raise(SIGHUP);
		_exit(outfile_close(&out, -1) == -1 && is_old() ? 0 : 2);
	}
	CHECK(waitpid(child, &status, 0) == child && !status);
	CHECK(is_old() && files_here() == 1);
	unlink("kept");
}

/* Reaching the limit of the file size is an error, and signal handlers are restored */
static void test_limit(void)
{
	struct rlimit small = { 4096, RLIM_INFINITY }, before;
	struct outfile out;
	char text[8192] = "";
	struct sigaction is;
	int failed;

	write_old();
	/* A shell may have been started with SIGXFSZ ignored, a background job with SIGINT */
	signal(SIGXFSZ, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	getrlimit(RLIMIT_FSIZE, &before);
	small.rlim_max = before.rlim_max;
	CHECK(!outfile_open(&out, "kept", 0600, false));
	setrlimit(RLIMIT_FSIZE, &small);
	failed = fwrite(text, 1, sizeof(text), out.file) != sizeof(text);
	CHECK(outfile_close(&out, failed) == -1 && errno == EFBIG);
	setrlimit(RLIMIT_FSIZE, &before);
	CHECK(is_old() && files_here() == 1);
	sigaction(SIGXFSZ, NULL, &is);
	CHECK(is.sa_handler == SIG_DFL);
	sigaction(SIGINT, NULL, &is);
	CHECK(is.sa_handler == SIG_DFL);
	unlink("kept");
}

/* In a folder like /tmp, another user's link or FIFO is not followed */
static void test_foreign(void)
{
	struct outfile out;

	if (geteuid()) {
		puts("# links of other users: not tested without root");
		return;
	}
	mkdir("sticky", 0700);
	chmod("sticky", 01777);
	write_old();
	if (symlink("../kept", "sticky/link") || lchown("sticky/link", 65534, 65534) ||
	    mkfifo("sticky/fifo", 0600) || chown("sticky/fifo", 65534, 65534)) {
		CHECK(!"made");
		return;
	}
	CHECK(outfile_open(&out, "sticky/link", 0600, false) == -1 && errno == EACCES);
	CHECK(outfile_open(&out, "sticky/fifo", 0600, false) == -1 && errno == EACCES);
	CHECK(is_old());
	/* A link of the folder's owner is followed */
	CHECK(!lchown("sticky/link", 0, 0));
	CHECK(!outfile_open(&out, "sticky/link", 0600, false) && fputs("new", out.file) >= 0 &&
	      !outfile_close(&out, 0) && !is_old());
	unlink("sticky/link");
	unlink("sticky/fifo");
	rmdir("sticky");
	unlink("kept");
}

/* ----------------------------------------------------------------- JSON --- */

static void test_address(void)
{
	struct symbols symbols = { 0 };
	struct output o = { .format = FORMAT_JSON, .symbols = &symbols };
	struct stackbuf_probe *probe;
	struct page_set set = { 0 };
	struct record r;
	struct made m;
	char *text;
	size_t size;

	made_init(&m, 2, 1, 1, NULL);
	probe = &m.info->probe[0].probe[0];
	strcpy(probe->name, "vfs_read");
	probe->addr = MADE_BASE;
	probe->state = STACKBUF_PROBE_SET;
	made_pages(&m, &set, 0);
	record_parse(&r, &set, MADE_INSTANCE);
	o.record = &r;
	o.file = open_memstream(&text, &size);
	output_info(&o, "x", &set, NULL, 0);
	fclose(o.file);
	CHECK(strstr(text, "\"name\":\"vfs_read\",\"state\":\"set\","
		     "\"address\":\"0xffffffff81234500\""));
	free(text);
	record_free(&r);
	page_set_clear(&set);
	made_free(&m);
}

/* ---------------------------------------------------------------- depth --- */

/*
 * The deepest stack number @n: its place, a function that its system call is in, and the frames
 * further out, of which @entry has @size bytes
 */
static void deepest(struct made *m, unsigned int n, u64 entry, unsigned int inner,
		    unsigned int size)
{
	struct stackbuf_depth *d = &m->info->depth[0].depth[n];
	const u64 addr[] = { MADE_BASE + 0x100 * n, MADE_BASE + 0x8000, entry, MADE_BASE + 0xa000 };
	unsigned int i;

	*d = (struct stackbuf_depth){ .origin = addr[0], .seq = 2, .id = 77, .nr = 4 };
	d->words[3] = 176 / 8;
	d->words[2] = (176 + size) / 8;
	d->words[1] = (176 + size + 48) / 8;
	d->words[0] = (176 + size + 48 + inner) / 8;
	d->bytes = 8 * d->words[0];
	for (i = 0; i < 4; i++)
		d->frame[i] = addr[i] - MADE_BASE;
}

/* What "depth" prints, to be freed */
static char *depths(const struct made *m, enum output_format format)
{
	struct symbols symbols;
	struct output o = { .format = format, .symbols = &symbols };
	struct page_set set = { 0 };
	struct record r;
	char *text;
	size_t size;

	made_pages(m, &set, 0);
	record_parse(&r, &set, MADE_INSTANCE);
	symbols_init(&symbols, &r, "depth.kallsyms");
	o.record = &r;
	o.file = open_memstream(&text, &size);
	output_depth(&o);
	fclose(o.file);
	symbols_free(&symbols);
	record_free(&r);
	page_set_clear(&set);
	return text;
}

/* Does @text hold all three, one after the other? */
static bool in_order(const char *text, const char *first, const char *second, const char *third)
{
	text = strstr(text, first);
	text = text ? strstr(text + 1, second) : NULL;
	return text && strstr(text + 1, third);
}

#define SYSCALL	(MADE_BASE + 0x9012)
#define CANNOT	"\n(the random offset of system calls may take up to 1 KiB of these bytes: how much cannot be told)\n"

static void test_depth(void)
{
	FILE *f = fopen("depth.kallsyms", "w");
	struct made m;
	char *text;

	CHECK(f);
	fprintf(f, "%llx T stack_trace_save\n%llx T probed\n%llx T vfs_read\n%llx T do_syscall_64\n"
		"%llx T entry_SYSCALL_64\n%llx T invoke_syscall\n%llx T end\n", MADE_BASE,
		MADE_BASE + 1, MADE_BASE + 0x7000, MADE_BASE + 0x9000, MADE_BASE + 0xa000,
		MADE_BASE + 0xb000, MADE_BASE + 0xc000);
	fclose(f);
	made_init(&m, 2, 1, 1, NULL);

	/* The first is as deep as the second by its offset alone: 824 bytes more */
	deepest(&m, 0, SYSCALL, 176, 1056);
	deepest(&m, 1, SYSCALL, 1000, 232);
	deepest(&m, 2, SYSCALL, 400, 248);
	text = depths(&m, FORMAT_TEXT);
	CHECK(in_order(text, " probed+0xff/", " probed+0x1ff/", " stack_trace_save+0x0/"));
	CHECK(in_order(text, "  2)      408     232   do_syscall_64+0x12/0x1000\n",
		       "takes at least 16 of these bytes: 856 without them)\n",
		       "takes at least 824 of these bytes: 632 without them)\n"));
	CHECK(!strstr(text, CANNOT) && !strstr(text, "least 0 of"));
	free(text);
	text = depths(&m, FORMAT_JSON);
	CHECK(in_order(text, "{\"depth\":1456,\"stack\":77,\"cut\":false,\"random_offset\":0,",
		       "{\"depth\":872,\"stack\":77,\"cut\":false,\"random_offset\":16,",
		       "{\"depth\":1456,\"stack\":77,\"cut\":false,\"random_offset\":824,"));
	free(text);

	/* Another return address in the same function: nothing to compare with */
	m.info->depth[0].depth[0].frame[2]++;
	text = depths(&m, FORMAT_TEXT);
	CHECK(in_order(text, " stack_trace_save+0x0/", " probed+0xff/", " probed+0x1ff/") &&
	      strstr(text, CANNOT) && strstr(text, "least 16 of"));
	free(text);

	/* All the same; and arm64's, where the offset is elsewhere */
	deepest(&m, 0, SYSCALL, 176, 232);
	deepest(&m, 2, SYSCALL, 400, 232);
	text = depths(&m, FORMAT_TEXT);
	CHECK(in_order(text, CANNOT, CANNOT, CANNOT) && !strstr(text, "at least"));
	free(text);
	deepest(&m, 0, MADE_BASE + 0xb010, 176, 232);
	deepest(&m, 1, MADE_BASE + 0xb010, 176, 248);
	deepest(&m, 2, MADE_BASE + 0xb010, 176, 264);
	text = depths(&m, FORMAT_TEXT);
	CHECK(in_order(text, CANNOT, CANNOT, CANNOT) && !strstr(text, "at least"));
	free(text);
	text = depths(&m, FORMAT_JSON);
	CHECK(!strstr(text, "random_offset"));
	free(text);

	/* No system call; and the function of system calls itself, before it adds the offset */
	deepest(&m, 0, MADE_BASE + 0x7001, 176, 232);
	deepest(&m, 1, MADE_BASE + 0x7001, 176, 248);
	deepest(&m, 2, MADE_BASE + 0x7001, 176, 264);
	m.info->depth[0].depth[0].frame[0] = 0x9000;
	text = depths(&m, FORMAT_TEXT);
	CHECK(strstr(text, " do_syscall_64+0x0/") && !strstr(text, CANNOT) &&
	      !strstr(text, "at least"));
	free(text);
	made_free(&m);
}

/* Missed hits are explained, where there are any */
static void test_missed(void)
{
	struct symbols symbols = { 0 };
	struct output o = { .symbols = &symbols };
	struct page_set set = { 0 };
	struct record r;
	struct made m;
	char *text;
	size_t size;
	int missed;

	made_init(&m, 2, 1, 1, NULL);
	for (missed = 0; missed < 2; missed++) {
		m.info->missed_before = missed;
		page_set_clear(&set);
		made_pages(&m, &set, 0);
		record_parse(&r, &set, MADE_INSTANCE);
		o.record = &r;
		o.file = open_memstream(&text, &size);
		output_info(&o, "x", &set, NULL, 0);
		fclose(o.file);
		CHECK(strstr(text, missed ? "hits that probes missed      1\n  reason" :
					    "hits that probes missed      0\n"));
		CHECK(!strstr(text, WHY_MISSED) == !missed);
		free(text);
		record_free(&r);
	}
	page_set_clear(&set);
	made_free(&m);
}

static const struct {
	void (*run)(void);
	const char *name;
} tests[] = {
	{ test_signals, "a signal leaves the old file and nothing else" },
	{ test_limit, "a limit of the file's size is an error" },
	{ test_foreign, "in a folder for all users no other user's link or FIFO is used" },
	{ test_address, "JSON: addresses of probes are strings" },
	{ test_depth, "depth: what is told of the random offset of system calls" },
	{ test_missed, "info explains missed hits" },
};

int main(void)
{
	unsigned int i, bad = 0, nr = sizeof(tests) / sizeof(*tests);

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("KTAP version 1\n1..%u\n", nr);
	for (i = 0; i < nr; i++) {
		failures = 0;
		tests[i].run();
		printf("%sok %u %s\n", failures ? "not " : "", i + 1, tests[i].name);
		bad += !!failures;
	}
	return bad ? 1 : 0;
}
