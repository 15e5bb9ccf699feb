// SPDX-License-Identifier: GPL-2.0
/*
 * load - keep the kernel busy, for the tests and the benchmark
 *
 *   load KIND ROUNDS    KIND is one of those at the end of this file
 *
 * A round is short.  It waits for all processes and threads that it started.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void check(int ok, const char *what)
{
	if (!ok)
		die(what);
}

static void reap(pid_t pid)
{
	int status;

	check(waitpid(pid, &status, 0) == pid, "waitpid");
	check(WIFEXITED(status) && !WEXITSTATUS(status), "child");
}

static pid_t split(void)
{
	pid_t pid = fork();

	check(pid >= 0, "fork");
	return pid;
}

/* Page faults: first touches by user space and by the kernel, and copies on write */
static void faults(void)
{
	size_t size = 64 * 4096, i;
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = open("/proc/self/exe", O_RDONLY);
	char *file = mmap(NULL, 65536, PROT_READ, MAP_PRIVATE, fd, 0);
	volatile char sum = 0;
	pid_t pid;

	check(p != MAP_FAILED && file != MAP_FAILED, "mmap");
	for (i = 0; i < size / 2; i += 4096)
		p[i] = 1;
	check(pread(fd, p + size / 2, 65536, 0) == 65536, "pread");
	for (i = 0; i < 65536; i += 4096)
		sum += file[i];
	pid = split();
	if (!pid) {
		memset(p, 2, size / 2);
		_exit(0);
	}
	reap(pid);
	munmap(p, size);
	munmap(file, 65536);
	close(fd);
}

/* A TCP connection over loopback, with data in both directions */
static void tcp(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int listening = socket(AF_INET, SOCK_STREAM, 0), fd, n;
	socklen_t len = sizeof(address);
	static char data[65536];
	ssize_t got;
	pid_t pid;

	check(!bind(listening, (void *)&address, sizeof(address)) && !listen(listening, 5) &&
	      !getsockname(listening, (void *)&address, &len), "listen");
	pid = split();
	if (!pid) {
		fd = accept(listening, NULL, NULL);
		while ((got = read(fd, data, sizeof(data))) > 0)
			check(write(fd, data, (got + 15) / 16) > 0, "echo");
		_exit(0);
	}
	fd = socket(AF_INET, SOCK_STREAM, 0);
	check(!connect(fd, (void *)&address, sizeof(address)), "connect");
	for (n = 0; n < 20; n++) {
		check(write(fd, data, 500 * (n + 1)) > 0, "write");
		check(read(fd, data, sizeof(data)) > 0, "read");
	}
	check(!shutdown(fd, SHUT_WR), "shutdown");
	while (read(fd, data, sizeof(data)) > 0)
		;
	close(fd);
	close(listening);
	reap(pid);
}

static void udp(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int to = socket(AF_INET, SOCK_DGRAM, 0), from = socket(AF_INET, SOCK_DGRAM, 0), i;
	socklen_t len = sizeof(address);
	char data[600] = "";

	check(!bind(to, (void *)&address, sizeof(address)) &&
	      !getsockname(to, (void *)&address, &len), "bind");
	for (i = 0; i < 20; i++) {
		check(sendto(from, data, 30 * i, 0, (void *)&address, len) == 30 * i, "sendto");
		check(recv(to, data, sizeof(data), 0) == 30 * i, "recv");
	}
	close(to);
	close(from);
}

/* Two processes that wake each other and yield */
static void sched(void)
{
	int a[2], b[2], i;
	char c = 0;
	pid_t pid;

	check(!pipe(a) && !pipe(b), "pipe");
	pid = split();
	if (!pid) {
		close(a[1]);
		while (read(a[0], &c, 1) == 1)
			check(write(b[1], &c, 1) == 1, "write");
		_exit(0);
	}
	close(a[0]);
	for (i = 0; i < 50; i++) {
		check(write(a[1], &c, 1) == 1 && read(b[0], &c, 1) == 1, "pipe");
		sched_yield();
	}
	close(a[1]);
	close(b[0]);
	close(b[1]);
	reap(pid);
}

static volatile sig_atomic_t user_seen, alarm_seen;

static void on_signal(int sig)
{
	if (sig == SIGALRM)
		alarm_seen = 1;
	else
		user_seen = 1;
}

/* Signals from the process itself, another process and a timer; and a fatal one */
static void signals(void)
{
	struct itimerval timer = { .it_value.tv_usec = 200 };
	int i, status;
	pid_t pid;

	signal(SIGUSR1, on_signal);
	signal(SIGALRM, on_signal);
	for (i = 0; i < 20; i++)
		raise(SIGUSR1);
	user_seen = 0;
	alarm_seen = 0;
	pid = split();
	if (!pid) {
		for (i = 0; i < 10; i++)
			kill(getppid(), SIGUSR1);
		pause();
		_exit(1);
	}
	setitimer(ITIMER_REAL, &timer, NULL);
	while (!user_seen || !alarm_seen)
		sched_yield();
	kill(pid, SIGKILL);
	check(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status), "killed");
}

static void execs(void)
{
	pid_t pid = split();

	if (!pid) {
		execl("/proc/self/exe", "load", "nothing", "1", (char *)NULL);
		_exit(1);
	}
	reap(pid);
}

static void *thread(void *arg)
{
	return arg;
}

static void threads(void)
{
	pthread_t t[4];
	int i;

	for (i = 0; i < 4; i++)
		check(!pthread_create(&t[i], NULL, thread, NULL), "thread");
	for (i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

/* Files: created, written, read, renamed, removed */
static void files(void)
{
	char dir[32], name[64], other[64], data[4096];
	struct stat st;
	int i, fd;

	snprintf(dir, sizeof(dir), "load.%d", getpid());
	check(!mkdir(dir, 0700), "mkdir");
	for (i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "%s/%d", dir, i);
		snprintf(other, sizeof(other), "%s/other%d", dir, i);
		fd = open(name, O_RDWR | O_CREAT, 0600);
		check(fd >= 0, name);
		memset(data, i, sizeof(data));
		check(write(fd, data, sizeof(data)) == sizeof(data), "write");
		check(pread(fd, data, sizeof(data), 0) == sizeof(data), "read");
		close(fd);
		check(!stat(name, &st) && !rename(name, other) && !unlink(other), "rename");
	}
	check(!rmdir(dir), "rmdir");
}

static sigjmp_buf landing;

static void on_fault(int sig)
{
	siglongjmp(landing, sig);
}

/* Jumps to an unmapped address and to a kernel address: both fault at the target */
static void jumps(void)
{
	const struct sigaction catch = { .sa_handler = on_fault };
	FILE *symbols = fopen("/proc/kallsyms", "r");
	char line[256], name[64], type;
	unsigned long to[2] = { 0, 0 };
	int i;

	check(!!symbols, "/proc/kallsyms");
	while (fgets(line, sizeof(line), symbols))
		if (sscanf(line, "%lx %c %63s", &to[1], &type, name) == 3 && !strcmp(name, "_text"))
			break;
	fclose(symbols);
	check(!sigaction(SIGSEGV, &catch, NULL), "sigaction");
	for (i = 0; i < 20; i++)
		if (!sigsetjmp(landing, 1))
			((void (*)(void))to[i % 2])();
}

static void nothing(void)
{
}

static const struct {
	const char *name;
	void (*round)(void);
} kinds[] = {
	{ "faults", faults },	{ "tcp", tcp },	      { "udp", udp },	  { "sched", sched },
	{ "signals", signals }, { "execs", execs },   { "threads", threads }, { "files", files },
	{ "jumps", jumps },	{ "nothing", nothing },
};

int main(int argc, char **argv)
{
	unsigned int i, n, rounds = argc == 3 ? atoi(argv[2]) : 0;

	for (i = 0; rounds && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(argv[1], kinds[i].name)) {
			for (n = 0; n < rounds; n++)
				kinds[i].round();
			return 0;
		}
	fputs("usage: load KIND ROUNDS\n", stderr);
	return 2;
}
