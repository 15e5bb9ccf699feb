// SPDX-License-Identifier: GPL-2.0
/*
 * call.c - is there a call right before an address?
 */
#include <string.h>
#include "symbol/call.h"

/* Length of an x86 call through a register or memory, by its ModRM and SIB bytes; 0: no call */
static int indirect_call(const u8 *p)
{
	u8 mod = p[1] >> 6, rm = p[1] & 7;

	if (p[0] != 0xff || (p[1] >> 3 & 7) != 2)
		return 0;
	if (mod == 3)
		return 2;
	if (mod == 0)
		return rm == 5 ? 6 : rm != 4 ? 2 : (p[2] & 7) == 5 ? 7 : 3;
	return (mod == 1 ? 3 : 6) + (rm == 4);
}

bool call_before(struct elf_file *e, u64 addr)
{
	/* Room for a ModRM and a SIB byte after the shortest instruction */
	u8 code[8 + 3] = { 0 };
	size_t i, len;
	u32 insn;

	if (e->machine == EM_AARCH64) {
		if (elf_file_read(e, addr - 4, &insn, 4) < 4)
			return true;
		return (insn & 0xfc000000) == 0x94000000 ||	/* bl */
		       (insn & 0xfffffc1f) == 0xd63f0000 ||	/* blr */
		       (insn & 0xfefff800) == 0xd63f0800;	/* blra* */
	}
	if (e->machine != EM_X86_64)
		return true;
	for (len = 8; len >= 2; len--)
		if (elf_file_read(e, addr - len, code + 8 - len, len) == len)
			break;
	if (len < 2)
		return true;
	if (len >= 5 && code[3] == 0xe8) {
		struct elf_section *s = e->section;
		s32 distance;

		memcpy(&distance, code + 4, 4);
		for (i = 0; i < e->sections; i++, s++)
			if (e->relocatable || (s->code && addr + distance >= s->addr &&
					       addr + distance < s->addr + s->size))
				return true;
	}
	for (i = 2; i <= 7 && i <= len; i++)
		if (indirect_call(code + 8 - i) == (int)i)
			return true;
	return false;
}
