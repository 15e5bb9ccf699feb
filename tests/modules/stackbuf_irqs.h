/* SPDX-License-Identifier: GPL-2.0 */
/*
 * stackbuf_irqs.h - how long stackbuf keeps interrupts off
 *
 * For a build of stackbuf.ko whose core/types.h ends with an #include of this file, and whose
 * stackbuf.c defines IRQS_OFF_HERE before that.  Its parameter irqs_off holds the longest
 * time since it was set to 0, in units of the cycle counter: in a machine that counts
 * instructions (stackbuf-vm -i), in instructions.  That machine runs one CPU at a time, so
 * one variable is enough.
 */
#include <linux/irqflags.h>
#include <linux/moduleparam.h>
#include <linux/timex.h>

extern unsigned long irqs_off_since, irqs_off_longest;
#ifdef IRQS_OFF_HERE
unsigned long irqs_off_since, irqs_off_longest;
module_param_named(irqs_off, irqs_off_longest, ulong, 0600);
#endif

#undef raw_local_irq_save
#define raw_local_irq_save(flags)					\
	do {								\
		flags = arch_local_irq_save();				\
		irqs_off_since = get_cycles();				\
	} while (0)

#undef raw_local_irq_restore
#define raw_local_irq_restore(flags)					\
	do {								\
		unsigned long irqs_off = get_cycles() - irqs_off_since;	\
									\
		if (irqs_off > irqs_off_longest)			\
			irqs_off_longest = irqs_off;			\
		arch_local_irq_restore(flags);				\
	} while (0)
