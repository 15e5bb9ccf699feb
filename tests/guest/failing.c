// SPDX-License-Identifier: GPL-2.0
/*
 * failing - load a module, or set a parameter, while one of the kernel's allocations for it fails
 *
 *   failing NTH MODULE PARAMETERS
 *   failing NTH -w FILE TEXT
 *
 * prints "left N": how many more allocations were needed for one to fail, 0 if one
 * failed.  Status: 0 loaded or set, 1 refused, 2 any other error.  The kernel needs
 * CONFIG_FAULT_INJECTION, see its Documentation/fault-injection/fault-injection.rst.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void die(const char *what)
{
	perror(what);
	exit(2);
}

int main(int argc, char **argv)
{
	int nth = open("/proc/thread-self/fail-nth", O_RDWR), file, err;
	const bool write_it = argc == 5 && !strcmp(argv[2], "-w");
	const char *number = argv[1];
	char left[32] = "";
	struct stat st;
	void *module;

	if (argc != 4 && !write_it) {
		fputs("usage: failing NTH MODULE PARAMETERS, or NTH -w FILE TEXT\n", stderr);
		return 2;
	}
	if (nth < 0)
		die("/proc/thread-self/fail-nth");
	if (write_it)
		argv++;
	file = open(argv[2], write_it ? O_WRONLY : O_RDONLY);
	if (file < 0 || fstat(file, &st))
		die(argv[2]);
	module = malloc(st.st_size);
	if (!write_it && (!module || read(file, module, st.st_size) != st.st_size))
		die(argv[2]);
	if (write(nth, number, strlen(number)) < 0)
		die("fail-nth");
	if (write_it)
		err = write(file, argv[3], strlen(argv[3])) < 0 ? errno : 0;
	else
		err = syscall(SYS_init_module, module, st.st_size, argv[3]) ? errno : 0;
	/* Read what is left, 0 if an allocation failed; then let no further allocation fail */
	if (pread(nth, left, sizeof(left) - 1, 0) <= 0 || pwrite(nth, "0", 1, 0) != 1)
		die("fail-nth");
	printf("left %d\n", atoi(left));
	if (err)
		fprintf(stderr, "%s: %s\n", argv[2], strerror(err));
	return !!err;
}
