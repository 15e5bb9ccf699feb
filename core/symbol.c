// SPDX-License-Identifier: GPL-2.0
/*
 * symbol.c - which function an address lies in, and whether that has a frame there
 *
 * kallsyms tells a module the function in text only.
 */

/* The number that ends before *@end, which then is where it begins */
static __always_inline unsigned long sb_hex_before(const char *text, unsigned int *end)
{
	unsigned long n = 0;
	unsigned int shift = 0;

	while (*end > 0 && isxdigit(text[*end - 1])) {
		n |= (unsigned long)hex_to_bin(text[--*end]) << shift;
		shift += 4;
	}
	return n;
}

/* From behind, as this is done for every symbol of the kernel */
bool sb_symbol_at(struct sb_symbol *symbol, unsigned long addr)
{
	unsigned int end = sprint_symbol(symbol->name, addr);
	char *text = symbol->name;

	symbol->of_module = end && text[end - 1] == ']';
	while (symbol->of_module && end > 0 && text[end] != ' ')
		end--;
	symbol->size = sb_hex_before(text, &end);
	if (end < 3 || memcmp(text + end - 3, "/0x", 3))
		return false;
	end -= 3;
	symbol->start = addr - sb_hex_before(text, &end);
	if (end < 3 || memcmp(text + end - 3, "+0x", 3))
		return false;
	symbol->len = end - 3;
	text[symbol->len] = '\0';
	return symbol->size;
}

NOKPROBE_SYMBOL(sb_symbol_at);

#if SB_HAVE_RECORDS

/* What sb_is_bare() found, by a hash of the address: see there */
#define SB_BARE_SHIFT	9
static u64 sb_bare[1 << SB_BARE_SHIFT];

#ifdef CONFIG_X86_64
/* Before "push %rbp" (0x55): at the beginning, behind endbr64, behind ftrace's five bytes */
static noinline bool sb_find_bare(unsigned long pc)
{
	struct sb_symbol symbol;
	const u8 *code;

	/* A part that gcc split off begins where its function jumps to, with a record */
	if (!sb_symbol_at(&symbol, pc) || strstr(symbol.name, ".cold"))
		return false;
	code = (const u8 *)symbol.start;
	if (pc == (unsigned long)code)
		return true;
	if (READ_ONCE(*(const u32 *)code) == 0xfa1e0ff3 ||
	    READ_ONCE(*(const u32 *)code) == 0x001f0f66) { /* where nobody needs it */
		code += 4;
		if (pc == (unsigned long)code)
			return true;
	}
	/* call, the nop in its place, or what is there while one becomes the other */
	return pc == (unsigned long)code + 5 &&
	       (READ_ONCE(*code) == 0xe8 || READ_ONCE(*code) == 0x0f || READ_ONCE(*code) == 0xcc);
}
#else
/* Follow the code from the function's beginning on */
static noinline bool sb_find_bare(unsigned long pc)
{
	struct sb_symbol symbol;
	const u32 *start, *at;
	bool bare = true;

	/* A part that gcc split off begins where its function sends it, with a record or not */
	if (pc & 3 || !sb_symbol_at(&symbol, pc) || strstr(symbol.name, ".cold"))
		return false;
	start = (const u32 *)symbol.start;
	for (at = start; at < (const u32 *)pc; at++) {
		u32 code = READ_ONCE(*at), rd = code & 0x1f, rt2 = code >> 10 & 0x1f;

		if ((code & 0xfe407fff) == 0xa8407bfd)			/* ldp x29, x30, [sp...] */
			bare = true;
		else if ((code & 0xfe407fff) == 0xa8007bfd)		/* stp x29, x30, [sp...] */
			continue;
		else if ((code & 0xfc000000) == 0x94000000)		/* bl, but for ftrace's */
			bare = bare && at > start && READ_ONCE(at[-1]) == 0xaa1e03e9;
		else if ((code & 0xfc000000) == 0x14000000 ||		/* b */
			 (code & 0xfe000000) == 0xd6000000 ||		/* br, blr, ret */
			 ((code & 0xff000000) == 0xd4000000 && at > start) || /* brk */
			 rd == 29 || rd == 30 ||			/* mov x29, sp */
			 ((code & 0x3a000000) == 0x28000000 && (rt2 == 29 || rt2 == 30)))
			bare = false;
	}
	return bare;
}
#endif

NOKPROBE_SYMBOL(sb_find_bare);

/*
 * Whether at @pc the function has no record, and so its caller stands in the link
 * register, on x86 on top of the stack, and nowhere else: at its beginning, and on
 * arm64 in leaves, before and behind what has one.
 *
 * Which of the two it is does not depend on the way that was taken to @pc: compilers
 * see to that, or nobody could unwind.  So one way there tells it, the straight one: a
 * record is there from where x29 is set, until it is loaded again with x30.  Behind a
 * jump there is no straight way, and behind a call without a record x30 is another; then
 * this says no, and what the unwinder would leave out is missing: in a part of a
 * function that has no record, behind one that has.
 *
 * A probe of ours knows it from when it was set.  Where stackbuf_save_regs() is given a place
 * in a module, it is found here, once an epoch, by a search of all symbols of that module:
 * half a million instructions if it has 20,000.
 *
 * Kept as the address's distance from the kernel, in which the kernel's code and that of
 * modules lies, the epoch, and what was found: code that goes makes a new epoch.
 */
bool sb_is_bare(unsigned long pc)
{
	u64 epoch = READ_ONCE(sb_recall_epoch), key, had;
	s64 distance = pc - (unsigned long)stack_trace_save;
	u64 *at = &sb_bare[pc * GOLDEN_RATIO_64 >> (64 - SB_BARE_SHIFT)];
	bool is;

	if (unlikely(!epoch || distance != (s32)distance))
		return sb_find_bare(pc);
	key = (u64)distance << 32 | (u32)epoch << 1;
	had = READ_ONCE(*at);
	if (likely((had & ~1ULL) == key))
		return had & 1;
	is = sb_find_bare(pc);
	WRITE_ONCE(*at, key | is);
	return is;
}

NOKPROBE_SYMBOL(sb_is_bare);

/* What a probe at @pc must know of the place: see sb_start_hint() */
bool sb_is_entry(unsigned long pc)
{
	return sb_find_bare(pc);
}

#else

/* What a probe at @pc must know of the place: see sb_regs_fit() */
bool sb_is_entry(unsigned long pc)
{
	struct sb_symbol symbol;

	return sb_symbol_at(&symbol, pc) && pc - symbol.start <= 8;
}

#endif
