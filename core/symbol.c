// SPDX-License-Identifier: GPL-2.0
/*
 * symbol.c - the function at an address, and whether it has a frame record there
 */
#include <linux/kernel.h>
#include <linux/string.h>
#ifdef CONFIG_ARM64
#include <asm/debug-monitors.h>
#endif

#include "probe.h"
#include "recall.h"
#include "symbol.h"

/*
 * Modules can look up modules' symbols only as text: name+0x12/0x34, then [module] if it is in one.
 * sscanf() would be too slow, as this runs for every symbol of the kernel.
 */
bool sbuf_symbol_at(struct sbuf_symbol *symbol, unsigned long addr)
{
	char *text = symbol->name, *space, *plus, *size;
	unsigned int len = sprint_symbol(text, addr);
	unsigned long offset;

	symbol->of_module = len && text[len - 1] == ']';
	space = symbol->of_module ? strrchr(text, ' ') : NULL;
	if (space)
		*space = '\0';
	plus = strrchr(text, '+');
	size = plus ? strchr(plus, '/') : NULL;
	if (!size)
		return false;
	*plus = '\0';
	*size = '\0';
	if (kstrtoul(plus + 1, 16, &offset) || kstrtoul(size + 1, 16, &symbol->size))
		return false;
	symbol->start = addr - offset;
	symbol->len = plus - text;
	return symbol->size;
}

NOKPROBE_SYMBOL(sbuf_symbol_at);

#if SBUF_HAVE_RECORDS

#ifdef CONFIG_X86_64
/* True before "push %rbp" (0x55): at the beginning, or after endbr64 or ftrace's five bytes */
noinline bool sbuf_symbol_is_entry(unsigned long pc)
{
	struct sbuf_symbol symbol;
	unsigned long site;

	/* A part that gcc split off is entered by a jump from its function, which has a record */
	if (!sbuf_symbol_at(&symbol, pc) || strstr(symbol.name, ".cold"))
		return false;
	if (pc == symbol.start || pc == sbuf_arch_after_pad(symbol.start))
		return true;
	site = sbuf_arch_call_site(symbol.start);
	return site && pc == site + 5;
}
#else
/* The caller's registers that the function has not changed, or has restored */
#define X29	0x1
#define X30	0x2

/* Follow the code from the function's beginning to @pc */
noinline bool sbuf_symbol_is_entry(unsigned long pc)
{
	unsigned int callers = X29 | X30;
	struct sbuf_symbol symbol;
	u32 code = 0, before;
	const u32 *start, *at;

	/* A part that gcc split off is entered by a jump, with or without a record */
	if (pc & 3 || !sbuf_symbol_at(&symbol, pc) || strstr(symbol.name, ".cold"))
		return false;
	start = (const u32 *)symbol.start;
	for (at = start; at < (const u32 *)pc; at++) {
		u32 rd, rt2;

		before = code;
		code = READ_ONCE(*at);
		if (code == BRK64_OPCODE_KPROBES)
			code = sbuf_kprobe_replaced(at) ?: code;
		rd = code & 0x1f;
		rt2 = code >> 10 & 0x1f;
		if ((code & 0xfe407fff) == 0xa8407bfd)			/* ldp x29, x30, [sp...] */
			callers = X29 | X30;
		else if ((code & 0xfe407fff) == 0xa8007bfd ||		/* stp x29, x30, [sp...] */
			 code == 0xf800865e)				/* str x30, [x18], #8 */
			continue;
		/* With a shadow call stack (x18) gcc loads the two separately, in either order */
		else if (code == 0xf85f8e5e)				/* ldr x30, [x18, #-8]! */
			callers |= X30;
		else if ((code & 0xffe00fff) == 0xf84007fd ||		/* ldr x29, [sp], #... */
			 (code & 0xffc003ff) == 0xf94003fd)		/* ldr x29, [sp, #...] */
			callers |= X29;
		else if ((code & 0xfc000000) == 0x94000000)		/* bl, except ftrace's */
			callers = before == 0xaa1e03e9 ? callers : 0;
		else if ((code & 0xfc000000) == 0x14000000 ||		/* b */
			 (code & 0xfe000000) == 0xd6000000 ||		/* br, blr, ret */
			 /* brk, also of a kprobe of others, which hides an instruction */
			 ((code & 0xff000000) == 0xd4000000 && at > start) ||
			 rd == 29 || rd == 30 ||			/* mov x29, sp */
			 ((code & 0x3a000000) == 0x28000000 && (rt2 == 29 || rt2 == 30)))
			callers = 0;
	}
	return callers == (X29 | X30);
}
#endif

NOKPROBE_SYMBOL(sbuf_symbol_is_entry);

/*
 * Results of sbuf_symbol_is_frameless(), indexed by a hash of the address.  An element holds the
 * distance of the address from the kernel, 32 bits for code of the kernel and modules; the epoch,
 * 31 bits; and the result.  Freeing code ends the epoch.
 */
#define FRAMELESS_SHIFT	9
static u64 frameless_cache[1 << FRAMELESS_SHIFT];

/*
 * A function has no frame record in its first instructions.  On arm64 it also has none in leaves,
 * and before and after the part that has one.
 *
 * At a given @pc a function has a record on all paths that lead there or on none: compilers ensure
 * that, as unwinding would be impossible otherwise.  So it suffices to follow one path, the
 * straight one: a record exists from where x29 is set until x29 and x30 are loaded again.  After a
 * jump there is no straight path, and after a call without a record x30 has changed.  Then the
 * result is false, and in a part without a record that follows one with a record the caller is
 * missing, as in the unwinder's own trace.
 *
 * A probe that the parameter probe sets calls sbuf_symbol_is_entry() once, when it is set.  An
 * address in a module that is passed to stackbuf_save_regs() is looked up here, once per epoch, by
 * a search of all symbols of that module: half a million instructions for 20,000 symbols.
 */
bool sbuf_symbol_is_frameless(unsigned long pc)
{
	u64 epoch = READ_ONCE(sbuf_recall_epoch), key, cached;
	s64 distance = pc - (unsigned long)stack_trace_save;
	u64 *slot = &frameless_cache[pc * GOLDEN_RATIO_64 >> (64 - FRAMELESS_SHIFT)];

	if (unlikely(!epoch || distance != (s32)distance))
		return sbuf_symbol_is_entry(pc);
	key = (u64)distance << 32 | (u32)epoch << 1;
	cached = READ_ONCE(*slot);
	if (unlikely((cached & ~1ULL) != key)) {
		cached = key | sbuf_symbol_is_entry(pc);
		WRITE_ONCE(*slot, cached);
	}
	return cached & 1;
}

NOKPROBE_SYMBOL(sbuf_symbol_is_frameless);

#else

/* For regs_fit() */
bool sbuf_symbol_is_entry(unsigned long pc)
{
	struct sbuf_symbol symbol;

	return sbuf_symbol_at(&symbol, pc) && pc - symbol.start <= 8;
}

#endif
