// SPDX-License-Identifier: GPL-2.0
/*
 * override.c - the running module's parameters, overridden until the command ends
 *
 * The old values are written back when the command ends, unless SIGKILL ends it.  A probe that is
 * already in the list stays.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
#include "ending.h"
#include "input/steady.h"
#include "live/watch.h"
#include "symbol/errors.h"

#define KPROBES		"/sys/kernel/debug/kprobes"

/* sysfs accepts no more bytes in one write */
#define WRITE_MAX	4095

/* Probes set at a time; interrupts are noticed after each batch */
#define SOME		32

static const char *const parameter_name[PARAMETERS_NR] = {
	"pid", "cpu", "comm", "limit", "every", "cgroup", "pair"
};

/* The parameters to restore at exit() */
static struct overrides *overrides;

/* ------------------------------------------------------------- the module --- */

#define UNKNOWN_KEY								\
	"the kernel loads only modules signed with a key that it knows: mokutil --import %s, reboot, and confirm the key (stackbuf(4), SIGNED MODULES)"

/* The key with which DKMS signs: Ubuntu's, or DKMS's own */
static const char *mok_key(void)
{
	static const char ubuntu[] = "/var/lib/shim-signed/mok/MOK.der";

	return access(ubuntu, F_OK) ? "/var/lib/dkms/mok.pub" : ubuntu;
}

/*
 * Return modprobe's exit status, or -1 without modprobe or a directory of modules.  @said receives
 * its output.
 */
static int run_modprobe(char *said, size_t size)
{
	char path[PATH_MAX];
	struct utsname name;
	size_t len = 0;
	int status, ends[2];
	ssize_t n;
	pid_t pid;

	*said = '\0';
	if (uname(&name))
		return -1;
	snprintf(path, sizeof(path), "/lib/modules/%s", name.release);
	if (access(path, X_OK) || pipe2(ends, O_CLOEXEC))
		return -1;
	pid = fork();
	if (!pid) {
		dup2(ends[1], STDERR_FILENO);
		setenv("LC_ALL", "C", 1);
		/* main() ignores it, which modprobe would inherit */
		signal(SIGXFSZ, SIG_DFL);
		/* Without -q, which hides why the kernel refused the module */
		execlp("modprobe", "modprobe", "stackbuf", NULL);
		execl("/sbin/modprobe", "modprobe", "stackbuf", NULL);
		_exit(127);
	}
	close(ends[1]);
	while ((n = read(ends[0], path, sizeof(path))) > 0 || (n < 0 && errno == EINTR)) {
		if (n < 0)
			continue;
		/* Keep reading after @said is full, or modprobe would block */
		if ((size_t)n > size - 1 - len)
			n = size - 1 - len;
		memcpy(said + len, path, n);
		len += n;
		said[len] = '\0';
	}
	close(ends[0]);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status) == 127 ? -1 : WEXITSTATUS(status);
}

static void load_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		die(1, "%s: %s", path, strerror(errno));
	if (syscall(SYS_finit_module, fd, "", 0) && errno != EEXIST) {
		if (errno == EKEYREJECTED || errno == ENOKEY)
			die(1, "%s: not loaded: " UNKNOWN_KEY, path, mok_key());
		if (errno == EPERM)
			die(1, "%s: not loaded: run it as root, or kernel lockdown forbids it",
			    path);
		die(1, "%s: not loaded: %s; the kernel log says why (dmesg | tail)", path,
		    strerror(errno));
	}
	close(fd);
}

/*
 * Look next to the program, and where make puts the module: build/RELEASE next to build/tools.  Do
 * not look in the current directory, which another user may own.
 */
static bool find_file(char *path, size_t size)
{
	char self[PATH_MAX], *slash;
	struct utsname name;
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (len < 0 || uname(&name))
		return false;
	self[len] = '\0';
	slash = strrchr(self, '/');
	if (!slash)
		return false;
	*slash = '\0';
	snprintf(path, size, "%s/stackbuf.ko", self);
	if (!access(path, R_OK))
		return true;
	snprintf(path, size, "%s/../%s/stackbuf.ko", self, name.release);
	return !access(path, R_OK);
}

const char *override_dir(void)
{
	const char *dir = getenv("STACKBUF_PARAMETERS");

	return dir && *dir ? dir : PARAMETERS;
}

void override_load_module(struct overrides *p)
{
	char path[2 * PATH_MAX], said[512];
	const char *how = "modprobe stackbuf";

	p->lock = -1;
	p->dir = override_dir();
	if (!access(p->dir, X_OK))
		return;
	if (strcmp(p->dir, PARAMETERS))
		die(1, "%s: %s", p->dir, strerror(errno));
	if (geteuid())
		die(1, "the module stackbuf is not loaded: run it as root to load it");
	if (run_modprobe(said, sizeof(said))) {
		/* modprobe's text for EKEYREJECTED and ENOKEY */
		if (strstr(said, "Key was rejected") || strstr(said, "key not available"))
			die(1, "not loaded: " UNKNOWN_KEY, mok_key());
		said[strcspn(said, "\n")] = '\0';
		if (!find_file(path, sizeof(path))) {
			if (*said && !strstr(said, "not found"))
				die(1, "not loaded: %s", said);
			die(1, "the module stackbuf is not loaded, and was found neither by modprobe nor beside the program: insmod stackbuf.ko first");
		}
		load_file(path);
		how = path;
	}
	if (access(p->dir, X_OK))
		die(1, "the module stackbuf was loaded (%s), but %s is missing", how, p->dir);
	report("loaded the module (%s); it stays until rmmod stackbuf", how);
}

void override_check(struct overrides *p, const struct stackbuf_info *info)
{
	p->instance = info->page.instance;
	if (!(info->state & STACKBUF_ENABLED))
		die(1, "recording is off: write 1 to %s/enable first", p->dir);
	if (info->state & STACKBUF_FROZEN)
		die(1, "%s has stopped recording: stackbuf save keeps the events before it; write 1 to %s/enable to resume",
		    info->state & STACKBUF_FROZEN_TRIGGER ? "a trigger" : "an oops", p->dir);
	if (info->filter.limit && info->filter.left <= 0)
		die(1, "limit=%u is reached: stackbuf save keeps these events; write another value to %s/limit to resume",
		    info->filter.limit, p->dir);
	if (info->filter.limit)
		report("limit=%u: its count begins again when this ends", info->filter.limit);
}

/* ---------------------------------------------------------- one parameter --- */

static char *read_value(const struct overrides *p, const char *name)
{
	char path[PATH_MAX], buf[2 * STACKBUF_PAGE_SIZE];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", p->dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		die(1, "%s: the loaded module has no such parameter: it is an older build, or was built with PROBES=n: rmmod stackbuf, and load this one",
		    path);
	n = fd < 0 ? -1 : read(fd, buf, sizeof(buf) - 1);
	if (n < 0)
		die(1, "%s: %s%s", path, strerror(errno),
		    errno == EACCES ? "; run it as root" : "");
	close(fd);
	buf[n] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return xstrdup(buf);
}

/* Read the module's last line in the kernel log, the reason for refusing a value, into p->reply */
static void log_last(struct overrides *p, int fd)
{
	char line[1024];
	ssize_t n;

	while (fd >= 0) {
		char *text;

		n = read(fd, line, sizeof(line) - 1);
		/* EPIPE: a line was overwritten before it was read; continue with the next one */
		if (n < 0 && errno == EPIPE)
			continue;
		if (n <= 0)
			break;
		line[n] = '\0';
		text = strchr(line, ';');
		if (!text || strncmp(text + 1, "stackbuf: ", 10))
			continue;
		text += 11;
		text[strcspn(text, "\n")] = '\0';
		snprintf(p->reply, sizeof(p->reply), "%s", text);
	}
}

/* Return 0, or -1 with errno, p->error and p->reply set */
static int write_value(struct overrides *p, const char *name, const char *value)
{
	char path[PATH_MAX];
	size_t len = strlen(value);
	int fd, kmsg, code = 0;

	*p->reply = '\0';
	snprintf(path, sizeof(path), "%s/%s", p->dir, name);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0) {
		code = errno;
		failed(p, "%s: %s%s", path, strerror(code),
		       code == EACCES ? "; run it as root" : "");
		errno = code;
		return -1;
	}
	kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	lseek(kmsg, 0, SEEK_END);
	/* sysfs does not pass an empty write on to the module */
	if (write(fd, len ? value : "\n", len ?: 1) < 0)
		code = errno;
	log_last(p, kmsg);
	if (code)
		failed(p, "%s", *p->reply ? p->reply : strerror(code));
	if (kmsg >= 0)
		close(kmsg);
	close(fd);
	errno = code;
	return code ? -1 : 0;
}

void override_parameter(struct overrides *p, enum parameter which, const char *value)
{
	const char *name = parameter_name[which];
	char *before = read_value(p, name);

	if (!strcmp(before, value)) {
		free(before);
		return;
	}
	p->before[which] = before;
	left_note(p, name, before, value);
	if (write_value(p, name, value))
		die(1, "%s", p->error);
}

const char *override_comm(const struct filter *f)
{
	return f->comms == 1 && !strpbrk(*f->comm, "*?[") ? *f->comm : NULL;
}

int override_process(u32 pid)
{
	int fd = syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0 && (errno == ESRCH || !pid))
		die(1, "there is no process %u", pid);
	if (fd < 0)
		die(1, "%u is a thread: give its process", pid);
	return fd;
}

void override_filter(struct overrides *p, const struct filter *f)
{
	char pid[16], cpu[16];
	u32 value;

	snprintf(pid, sizeof(pid), "%u", filter_single(&f->pid, &value) ? value : 0);
	snprintf(cpu, sizeof(cpu), "%d", filter_single(&f->cpu, &value) ? (int)value : -1);
	override_parameter(p, PARAM_PID, pid);
	override_parameter(p, PARAM_CPU, cpu);
	override_parameter(p, PARAM_COMM, override_comm(f) ?: "");
}

void override_add_pair(struct overrides *p, const char *name)
{
	char *before = read_value(p, parameter_name[PARAM_PAIR]), *list;

	list = xasprintf("%s%s%s", before, *before ? "," : "", name);
	override_parameter(p, PARAM_PAIR, list);
	free(list);
	free(before);
}

/* --------------------------------------------------------------- the list --- */

static bool reads_zero(const char *path)
{
	FILE *f = fopen(path, "re");
	bool zero = f && getc(f) == '0';

	if (f)
		fclose(f);
	return zero;
}

void kprobe_sites_add(struct kprobe_sites *k, const struct stackbuf_probe *probe)
{
	if (probe->way == STACKBUF_PROBE_BY_RETURN) {
		errors_add_probe(&k->returns, probe);
		if (probe->addr) {
			GROW(k->return_addr, k->return_addrs);
			k->return_addr[k->return_addrs++] = probe->addr;
		}
	} else if (probe->way == STACKBUF_PROBE_BY_TRACEPOINT) {
		k->tracepoints = true;
	} else if (probe->way == STACKBUF_PROBE_BY_KPROBE && probe->addr) {
		GROW(k->addr, k->nr);
		k->addr[k->nr++] = probe->addr;
	}
}

void kprobe_sites_free(struct kprobe_sites *k)
{
	free(k->addr);
	free(k->return_addr);
	patterns_free(&k->returns);
	*k = (struct kprobe_sites){ 0 };
}

/* How far beyond a function's address its first instruction may be, in bytes */
#define FUNCTION_BEGIN	16

/* How names of the functions begin that core/tracepoint_own.c probes */
#define TRACEPOINT_OWN	"trace_event_raw_event_"

/* Return true if a line of the kernel's list of kprobes is about one of these */
static bool is_one_of(const struct kprobe_sites *k, const char *line)
{
	char kind, function[512], module[64] = "";
	unsigned long long at;
	size_t i;

	if (sscanf(line, "%llx %c %511s %63s", &at, &kind, function, module) < 3)
		return false;
	if (kind == 'r') {
		function[strcspn(function, "+")] = '\0';
		/* Without a module the first of the marks follows */
		for (i = 0; i < k->returns.nr; i++)
			if (pattern_matches(&k->returns.pattern[i], function, module,
					    *module == '[' ? 0 : strlen(module)))
				return true;
		/* Of a function's names the list has one.  A probe may be after an endbr or bti */
		for (i = 0; i < k->return_addrs; i++)
			if (at && at - k->return_addr[i] + FUNCTION_BEGIN <= 2 * FUNCTION_BEGIN)
				return true;
		return false;
	}
	if (k->tracepoints && text_begins_with(function, strlen(function), TRACEPOINT_OWN))
		return true;
	/* 0: the kernel hides addresses */
	for (i = 0; i < k->nr; i++)
		if (!at || at == k->addr[i])
			return true;
	return false;
}

/*
 * Return true if one of these is in the kernel's list of kprobes, with this mark, or if that cannot
 * be read.  Where the kernel has fprobes, those on returns are not in it; another tool's kretprobe
 * on the same function may be taken for one
 */
static bool is_listed(const struct kprobe_sites *k, const char *mark)
{
	FILE *f = fopen(KPROBES "/list", "re");
	bool found = !f;
	char line[1024];

	while (!found && fgets(line, sizeof(line), f))
		found = strstr(line, mark) && is_one_of(k, line);
	if (f)
		fclose(f);
	return found;
}

const char *probes_off(const struct kprobe_sites *k)
{
	if (!k->nr && !k->returns.nr && !k->tracepoints)
		return NULL;
	if (reads_zero(KPROBES "/enabled") && (k->nr || is_listed(k, "")))
		return "kprobes are switched off, probes made by them are not hit: "
		       KPROBES "/enabled is 0";
	if (reads_zero("/proc/sys/kernel/ftrace_enabled") && is_listed(k, "[FTRACE]"))
		return "ftrace is switched off, probes made by it are not hit: "
		       "kernel.ftrace_enabled is 0";
	return NULL;
}

/* Read the list of probes: from the parameter or, if that is cut at a page, from the record */
static char *read_list(const struct overrides *p, const struct record *r)
{
	char *text = read_value(p, "probe");
	struct stackbuf_probe probe;
	unsigned int i;
	size_t size;
	FILE *f;

	if (!strstr(text, ",..."))
		return text;
	free(text);
	f = text_open(&text, &size);
	for (i = 0; probe_next(r, &i, &probe); )
		if (!probe.role)
			fprintf(f, "%s%s", ftell(f) ? "," : "", probe.name);
	text_close(f);
	return text;
}

/* As write_list(), but leave out names that the module refuses now.  p->reply is about the last */
static int write_accepted(struct overrides *p, const char *list)
{
	char name[WRITE_MAX + 1];
	int left_out = 0;
	size_t len;

	if (write_value(p, "probe", ""))
		return -1;
	for (; *list; list += len + (list[len] == ',')) {
		len = strcspn(list, ",");
		snprintf(name, sizeof(name), "+%.*s", (int)len, list);
		if (write_value(p, "probe", name))
			left_out++;
	}
	return left_out;
}

/* Write a list of any length: the first write replaces the list, later ones add to it */
static int write_list(struct overrides *p, const char *list)
{
	char chunk[WRITE_MAX + 1];
	bool add = false;

	do {
		size_t room = WRITE_MAX - add, len = strlen(list);

		if (len > room) {
			for (len = room; len && list[len] != ','; len--)
				;
		}
		snprintf(chunk, sizeof(chunk), "%s%.*s", add ? "+" : "", (int)len, list);
		if (write_value(p, "probe", chunk))
			return -1;
		list += len + (list[len] == ',');
		add = true;
	} while (*list);
	return 0;
}

/* The process that holds the lock: "FLOCK ADVISORY WRITE PID MAJOR:MINOR:INODE" in /proc/locks */
static int lock_owner(int fd)
{
	FILE *f = fopen("/proc/locks", "re");
	unsigned long long inode;
	char line[256];
	struct stat st;
	int pid, owner = 0;

	while (f && !fstat(fd, &st) && fgets(line, sizeof(line), f))
		if (sscanf(line, "%*s FLOCK ADVISORY WRITE %d %*x:%*x:%llu", &pid, &inode) == 2 &&
		    inode == st.st_ino)
			owner = pid;
	if (f)
		fclose(f);
	return owner;
}

/* Another load of the module has another directory, and parameters of its own */
static bool is_unloaded(const struct overrides *p)
{
	struct stat st;

	return stat(p->dir, &st) || st.st_ino != p->inode;
}

/* May run in a signal handler: must not allocate or free */
static void write_back(void)
{
	struct overrides *p = overrides;
	int i;

	if (!p || is_unloaded(p))
		return;
	if (p->list && write_list(p, p->list))
		write_accepted(p, p->list);
	for (i = 0; i < PARAMETERS_NR; i++)
		if (p->before[i])
			write_value(p, parameter_name[i], p->before[i]);
	left_forget(p);
}

static void at_exit(void)
{
	struct overrides *p = overrides;

	if (p && override_restore(p))
		report("%s", p->error);
}

/* Write an old list back; report what the module refuses now.  Return as write_value() */
static int restore_list(struct overrides *p, const char *list)
{
	char why[sizeof(p->error)];
	int left_out;

	if (!write_list(p, list))
		return 0;
	memcpy(why, p->error, sizeof(why));
	left_out = write_accepted(p, list);
	if (left_out > 0)
		report("of the probes that were set before the module refuses %d now: %s", left_out,
		       why);
	return left_out < 0 ? -1 : 0;
}

/* Return true if a list that reads as @now, perhaps cut at a page, may have this value */
static bool may_be(const char *now, const char *value)
{
	const char *cut = strstr(now, ",...");

	return cut ? !strncmp(now, value, cut - now) : !strcmp(now, value);
}

/*
 * Return true if a parameter that reads as @now was set from @before to @set by the command that
 * was killed; NULL: to some part of it.  Of a list that is cut @set may be all that tells; writing
 * the old one again does no harm
 */
static bool was_left(const char *now, const char *before, const char *set)
{
	bool same = strstr(now, ",...") ? set && !strcmp(set, before) : !strcmp(now, before);

	return !same && (!set || may_be(now, set));
}

/*
 * Name the parameters that a killed command left set, unless they were changed since.  With
 * @restore, set them back
 */
static char *left_by(struct overrides *p, bool restore)
{
	char *process, *text = NULL, *now;
	const char *name, *before, *set;
	json_t *parameters, *value;
	bool probes, failures = false;

	process = left_read(p->dir, p->instance, &parameters);
	json_object_foreach(parameters, name, value) {
		before = json_string_value(json_array_get(value, 0));
		set = json_string_value(json_array_get(value, 1));
		if (!before)
			continue;
		probes = !strcmp(name, "probe");
		now = read_value(p, name);
		if (was_left(now, before, set)) {
			char *more = xasprintf("%s%s%s", text ?: "", text ? ", " : "", name);

			if (restore && (probes ? restore_list(p, before) :
						 write_value(p, name, before))) {
				report("%s: set by %s, which was killed; cannot be restored: %s",
				       name, process, p->error);
				failures = true;
				free(more);
			} else {
				free(text);
				text = more;
			}
		}
		free(now);
	}
	if (restore && process && !failures)
		left_drop();
	now = text ? xasprintf("%s: set by %s, which was killed", text, process) : NULL;
	json_decref(parameters);
	free(text);
	free(process);
	return now;
}

/* Call left_by() unless the lock is held: then the command still runs */
static char *left_if_ended(struct overrides *p, bool restore)
{
	char path[PATH_MAX], *text = NULL;
	int fd;

	snprintf(path, sizeof(path), "%s/probe", p->dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && !flock(fd, (restore ? LOCK_EX : LOCK_SH) | LOCK_NB))
		text = left_by(p, restore);
	if (fd >= 0)
		close(fd);
	return text;
}

char *override_left(const char *dir, u64 instance)
{
	struct overrides b = { .dir = dir, .instance = instance };

	return left_if_ended(&b, false);
}

static bool report_restored(char *text)
{
	bool any = text;

	if (any)
		report("%s; restored", text);
	free(text);
	return any;
}

bool override_restore_left(const char *dir, u64 instance)
{
	struct overrides b = { .dir = dir, .instance = instance };

	return report_restored(left_if_ended(&b, true));
}

void override_open(struct overrides *p)
{
	char path[PATH_MAX];
	struct stat st;
	int tries;

	snprintf(path, sizeof(path), "%s/probe", p->dir);
	p->lock = open(path, O_RDONLY | O_CLOEXEC);
	if (p->lock < 0)
		free(read_value(p, "probe"));	/* to set p->error */
	for (tries = 100; flock(p->lock, LOCK_EX | LOCK_NB); tries--) {
		int owner = lock_owner(p->lock);
		char holder[32] = "";

		/* Without an owner, a command looks for what was left, which takes no time */
		if (!owner && tries) {
			usleep(10000);
			continue;
		}
		if (owner > 0)
			snprintf(holder, sizeof(holder), ", process %d", owner);
		die(1, "another snoop, count or command about pairs is running%s: one at a time, as they share the module's parameters",
		    holder);
	}
	if (access(path, W_OK) || stat(p->dir, &st))
		die(1, "%s: %s; run it as root", path, strerror(errno));
	p->inode = st.st_ino;
	report_restored(left_by(p, true));
	atexit(at_exit);
	overrides = p;
	ending_undo(ENDING_PARAMETERS, write_back);
}

/* Add names that fit in one write.  Return as write_value() */
static int add_names(struct overrides *p, char **name, size_t nr)
{
	size_t i, size;
	char *text;
	FILE *f = text_open(&text, &size);
	int ret;

	for (i = 0; i < nr; i++)
		fprintf(f, "%c%s", i ? ',' : '+', name[i]);
	text_close(f);
	ret = write_value(p, "probe", text);
	free(text);
	return ret;
}

/* Index of the refused name in "probe: NAME: REASON"; @nr if it is none of @name */
static size_t refused_name(const char *reply, char **name, size_t nr)
{
	size_t i, len;

	for (i = 0; i < nr && !strncmp(reply, "probe: ", 7); i++) {
		len = strlen(name[i]);
		if (!strncmp(reply + 7, name[i], len) && !strncmp(reply + 7 + len, ": ", 2))
			return i;
	}
	return nr;
}

/*
 * Add at most SOME names.  Unless @all, leave out the names that the module refuses: its message
 * has the first of them; without the message, write the names one by one.
 */
static int add_some(struct overrides *p, char **name, size_t nr, bool all)
{
	char *left[SOME];
	size_t i, bad;

	memcpy(left, name, nr * sizeof(*left));
	while (nr && !interrupted) {
		int ret = add_names(p, left, nr);

		/* Errors that are not about one name: no space, permission or module, or busy */
		if (!ret || all || errno == ENOSPC || errno == EACCES || errno == EPERM ||
		    errno == ENODEV || errno == ENOMEM || errno == EBUSY ||
		    (errno == ENOENT && access(p->dir, F_OK)))
			return ret;
		bad = nr > 1 ? refused_name(p->reply, left, nr) : 0;
		if (bad == nr) {
			for (i = 0; i < nr && !interrupted; i++)
				if (add_some(p, left + i, 1, all))
					return -1;
			return 0;
		}
		GROW(p->refusal, p->refused);
		p->refusal[p->refused].name = left[bad];
		p->refusal[p->refused++].why = xstrdup(*p->reply ? p->reply : left[bad]);
		memmove(left + bad, left + bad + 1, (--nr - bad) * sizeof(*left));
	}
	return 0;
}

/* Get the addresses of the chosen probes from the record */
static void learn_addresses(struct overrides *p, const struct record *r, const struct matches *c)
{
	struct stackbuf_probe probe;
	unsigned int i;

	p->addrs = 0;
	kprobe_sites_free(&p->kprobes);
	p->functions = 0;
	p->left_out = 0;
	for (i = 0; probe_next(r, &i, &probe); ) {
		const char *name = probe.name;

		if (probe.role || !bsearch(&name, c->name, c->nr, sizeof(name), order_strings))
			continue;
		if (probe.state == STACKBUF_PROBE_PENDING) {
			GROW(p->pending, p->pendings);
			p->pending[p->pendings++] = xstrdup(name);
		}
		p->functions += probe.functions;
		p->left_out += probe.left_out;
		p->unlisted |= probe_has_functions(&probe);
		if (probe.addr) {
			GROW(p->addr, p->addrs);
			p->addr[p->addrs++] = probe.addr;
		}
		kprobe_sites_add(&p->kprobes, &probe);
	}
}

int override_set(struct overrides *p, struct source *s, const struct matches *c, bool all)
{
	struct record *r = xcalloc(1, sizeof(*r));
	size_t i, some = 0, bytes;
	int ret = 0;

	if (steady_read_info(s, r))
		die(1, "%s", s->error);
	p->list = read_list(p, r);
	left_note(p, "probe", p->list, NULL);
	for (i = 0; i < c->nr; i++)
		if (strpbrk(c->name[i], "*?[") == c->name[i])
			report("attaching to every function that matches %s, perhaps all of the kernel's: it runs slower until this ends",
			       c->name[i]);
	for (i = 0; i < c->nr && !interrupted && !ret; i += some) {
		for (some = 0, bytes = 1; some < SOME && i + some < c->nr; some++) {
			bytes += strlen(c->name[i + some]) + 1;
			if (some && bytes > WRITE_MAX)
				break;
		}
		ret = add_some(p, c->name + i, some, all);
	}
	if (interrupted)
		ret = 0;
	record_free(r);
	if (!ret && steady_read_info(s, r))
		die(1, "%s", s->error);
	if (!ret) {
		char *set = read_list(p, r);

		left_note(p, "probe", p->list, set);
		free(set);
		learn_addresses(p, r, c);
	}
	record_free(r);
	free(r);
	return ret;
}

int override_remove(struct overrides *p)
{
	char why[sizeof(p->error)], *list = p->list;
	int ret = 0;

	/* Unloading the module removes them */
	if (list && !is_unloaded(p))
		ret = restore_list(p, list);
	p->list = NULL;
	free(list);
	if (ret && is_unloaded(p))
		return 0;
	if (ret) {
		memcpy(why, p->error, sizeof(why));
		failed(p, "the probes that were set before could not be set again: %.400s", why);
	}
	return ret;
}

int override_restore(struct overrides *p)
{
	int ret = override_remove(p), i;

	for (i = 0; i < PARAMETERS_NR; i++) {
		char *before = p->before[i];

		if (before && !is_unloaded(p) && write_value(p, parameter_name[i], before))
			ret = -1;
		p->before[i] = NULL;
		free(before);
	}
	overrides = NULL;
	ending_undo(ENDING_PARAMETERS, NULL);
	if (!ret)
		left_forget(p);
	return ret;
}

void override_close(struct overrides *p)
{
	if (p->lock >= 0)
		close(p->lock);
	kprobe_sites_free(&p->kprobes);
	free(p->addr);
	while (p->pendings)
		free(p->pending[--p->pendings]);
	free(p->pending);
	while (p->refused)
		free(p->refusal[--p->refused].why);
	free(p->refusal);
	json_decref(p->note);
	*p = (struct overrides){ .lock = -1 };
}
