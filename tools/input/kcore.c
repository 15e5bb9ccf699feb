// SPDX-License-Identifier: GPL-2.0
/*
 * kcore.c - the running kernel's memory: finds the module's arrays in /proc/kcore
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "input/arrays.h"
#include "input/core_file.h"
#include "input/kcore.h"
#include "symbol/symbols.h"

/* Return the number in a sysfs file, 0 if there is none */
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
 * Search the module's .bss, as for a RAM image, for the page of stackbuf_info that contains its own
 * address.  This is for kernels without CONFIG_KALLSYMS_ALL, whose kallsyms has only functions
 * (Debian's for arm64 at 6.1).
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
 * Set *@addr to the address of stackbuf_info in the loaded module or, if stackbuf is built in, in
 * the kernel; 0 if @kallsyms has only functions.  Return 0, or -1 with s->error set.
 */
static int find_info(struct source *s, const char *kallsyms, u64 *addr)
{
	bool found = false, loaded = false;
	struct kallsyms k;

	if (kallsyms_open(&k, kallsyms))
		return failed(s, "%s: %s", kallsyms, strerror(errno));
	while (!found && kallsyms_next(&k)) {
		found = (!*k.module || !strcmp(k.module, "stackbuf")) &&
			!strcmp(k.name, "stackbuf_info");
		loaded |= found || !strcmp(k.module, "stackbuf");
	}
	fclose(k.file);
	if (!loaded)
		return failed(s, "the module stackbuf is not loaded: insmod stackbuf.ko first, or name a source with -f");
	if (found && !k.addr)
		return failed(s, "%s does not show addresses; run it as root", kallsyms);
	*addr = found ? k.addr : 0;
	return 0;
}

int kcore_open(struct source *s, const char *core, const char *kallsyms, const char *module)
{
	struct stackbuf_info info;
	u64 addr[ARRAYS], offset;
	int fd[ARRAYS], i;

	arrays_start(s, true);
	s->name = xstrdup(core);
	if (find_info(s, kallsyms, &addr[ARRAY_INFO]))
		return -1;
	for (i = 0; i < ARRAYS; i++) {
		fd[i] = open(core, O_RDONLY | O_CLOEXEC);
		arrays_place(s, i, fd[i], 0);
		if (fd[i] < 0)
			return failed(s, "%s: %s%s", core, strerror(errno),
				      errno == EACCES || errno == EPERM ?
				      "; run it as root, or kernel lockdown forbids it" : "");
	}
	if (!addr[ARRAY_INFO])
		addr[ARRAY_INFO] = search_info(fd[ARRAY_INFO], module);
	if (!addr[ARRAY_INFO])
		return failed(s, "neither %s nor %s shows where the module's data is: run it as root, or mount debugfs on /sys/kernel/debug",
			kallsyms, module);
	offset = core_offset(fd[ARRAY_INFO], addr[ARRAY_INFO], STACKBUF_PAGE_SIZE);
	if (!offset)
		return failed(s, "%s: does not hold the module's memory at %#llx", core,
			      addr[ARRAY_INFO]);
	arrays_place(s, ARRAY_INFO, fd[ARRAY_INFO], offset);
	if (arrays_read_sizes(s, &info))
		return -1;
	addr[ARRAY_EVENTS] = info.events_addr;
	addr[ARRAY_STACKS] = info.stacks_addr;
	addr[ARRAY_TEXT] = info.text_addr;
	for (i = 0; i < ARRAYS; i++) {
		offset = core_offset(fd[i], addr[i], arrays_size(s, i));
		arrays_place(s, i, fd[i], offset);
		if (!offset)
			return failed(s, "%s: does not hold the array %s at %#llx", core,
				      array_name[i], addr[i]);
	}
	s->kallsyms = xstrdup(kallsyms);
	return 0;
}
