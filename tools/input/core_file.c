// SPDX-License-Identifier: GPL-2.0
/*
 * core_file.c - ELF core files, including /proc/kcore
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "input/core_file.h"
#include "input/vmcoreinfo.h"

/* Limit of program headers: a file with more is damaged or hostile */
#define SEGMENTS_MAX	(1U << 20)

/* Limit of the bytes read of a segment of notes, and of the number of such segments */
#define NOTES_SIZE	(1U << 20)
#define NOTES_MAX	16

Elf64_Phdr *core_segments(int fd, size_t *nr, bool *whole)
{
	Elf64_Phdr *segment;
	Elf64_Shdr section;
	Elf64_Ehdr head;
	u64 promised;
	ssize_t n;

	*nr = 0;
	*whole = false;
	if (read_at(fd, &head, sizeof(head), 0) != sizeof(head) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_ident[EI_DATA] != ELFDATA2LSB || head.e_type != ET_CORE ||
	    head.e_phentsize != sizeof(*segment))
		return NULL;
	promised = head.e_phnum;
	if (promised == PN_XNUM) {
		/* The number does not fit in the ELF header: the first section has it */
		if (read_at(fd, &section, sizeof(section), head.e_shoff) != sizeof(section))
			return NULL;
		promised = section.sh_info;
	}
	/* A sparse file may hold any number of empty headers */
	*nr = promised < SEGMENTS_MAX ? promised : SEGMENTS_MAX;
	segment = xcalloc(*nr, sizeof(*segment));
	n = read_at(fd, segment, *nr * sizeof(*segment), head.e_phoff);
	*nr = n < 0 ? 0 : n / sizeof(*segment);
	*whole = *nr == promised;
	return segment;
}

/* Read one segment of notes */
static char *read_notes(int fd, const Elf64_Phdr *segment)
{
	size_t size = segment->p_filesz < NOTES_SIZE ? segment->p_filesz : NOTES_SIZE;
	char *notes = xcalloc(size, 1), *info = NULL;
	ssize_t n = read_at(fd, notes, size, segment->p_offset);
	const char *text;
	size_t len;

	text = n > 0 ? note_find(notes, n, "VMCOREINFO", 0, &len) : NULL;
	if (text && len && len <= VMCOREINFO_MAX && *text)
		info = xasprintf("%.*s", (int)len, text);
	free(notes);
	return info;
}

char *core_vmcoreinfo(int fd)
{
	size_t nr, i;
	bool whole;
	Elf64_Phdr *segment = core_segments(fd, &nr, &whole);
	unsigned int notes = 0;
	char *info = NULL;

	for (i = 0; i < nr && notes < NOTES_MAX && !info; i++)
		if (segment[i].p_type == PT_NOTE && ++notes)
			info = read_notes(fd, &segment[i]);
	free(segment);
	return info;
}

u64 core_offset(int fd, u64 addr, u64 size)
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

bool core_kernel_offset(const char *core, u64 *offset)
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
