/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stands for a kernel: functions of the names and sizes of those in the logs, with a call where
 * they return to.  A return address is of the line of the call, the place itself of the next one.
 */
.macro begin name
	.globl	\name
	.type	\name, @function
\name:
.endm
/* Up to an offset of the function */
.macro to_offset name, offset
	.org	\name + \offset, 0x90
.endm
#ifndef SECOND
	.text
begin vfs_read
	nop; nop; nop; nop
	nop			/* vfs_read+0x4 */
	to_offset vfs_read, 0xa4
	call	ksys_read
	nop			/* vfs_read+0xa9 */
	to_offset vfs_read, 0x158
	call	ksys_read
	nop			/* vfs_read+0x15d */
	to_offset vfs_read, 0x370
begin ksys_read
	to_offset ksys_read, 0x6a
	call	vfs_read
	nop			/* ksys_read+0x6f */
	to_offset ksys_read, 0xf0
begin do_syscall_64
	to_offset do_syscall_64, 0x82
	call	ksys_read
	nop			/* do_syscall_64+0x87 */
	to_offset do_syscall_64, 0x180
begin entry_SYSCALL_64_after_hwframe
	to_offset entry_SYSCALL_64_after_hwframe, 0x71
	call	do_syscall_64
	nop			/* entry_SYSCALL_64_after_hwframe+0x76 */
	to_offset entry_SYSCALL_64_after_hwframe, 0x7e
begin asm_sysvec_apic_timer_interrupt
	to_offset asm_sysvec_apic_timer_interrupt, 0x15
	call	vfs_read
	nop			/* asm_sysvec_apic_timer_interrupt+0x1a */
	to_offset asm_sysvec_apic_timer_interrupt, 0x20
begin asm_fred_entrypoint_kernel
	to_offset asm_fred_entrypoint_kernel, 0x4e
	call	vfs_read
	nop			/* asm_fred_entrypoint_kernel+0x53 */
	to_offset asm_fred_entrypoint_kernel, 0x70
begin asm_exc_page_fault
	to_offset asm_exc_page_fault, 0x21
	call	vfs_read
	nop			/* asm_exc_page_fault+0x26 */
	to_offset asm_exc_page_fault, 0x30
begin asm_common_interrupt
	to_offset asm_common_interrupt, 0x21
	call	common_interrupt
	nop			/* asm_common_interrupt+0x26 */
	to_offset asm_common_interrupt, 0x40
begin common_interrupt
	to_offset common_interrupt, 0x7b
	call	vfs_read
	nop			/* common_interrupt+0x80 */
	to_offset common_interrupt, 0xa0
begin apic_timer_interrupt
	to_offset apic_timer_interrupt, 0xa
	call	vfs_read
	nop			/* apic_timer_interrupt+0xf */
	to_offset apic_timer_interrupt, 0x20
begin el1_irq
	to_offset el1_irq, 0xb3
	call	vfs_read
	nop			/* el1_irq+0xb8 */
	to_offset el1_irq, 0x100
begin el1h_64_irq_handler
	to_offset el1h_64_irq_handler, 0x13
	call	vfs_read
	nop			/* el1h_64_irq_handler+0x18 */
	to_offset el1h_64_irq_handler, 0x24
begin __pfx_kthread
	to_offset __pfx_kthread, 0x10
begin kthread
	nop			/* kthread+0x0 */
	to_offset kthread, 0xeb
	call	vfs_read
	nop			/* kthread+0xf0 */
	to_offset kthread, 0x100
begin ret_from_fork
	to_offset ret_from_fork, 0x2f
	call	kthread
	nop			/* ret_from_fork+0x34 */
	to_offset ret_from_fork, 0x50
/* Assembled twice, there are two of this name */
#else
	.text
#endif
twice:
	to_offset twice, 0x20
#ifndef SECOND
last_function:
	nop
	.section .rodata
	.globl	linux_banner
linux_banner:
	.asciz	"Linux version 6.12.0-field (field@field) #1 SMP\n"
#endif
