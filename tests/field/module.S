/* SPDX-License-Identifier: GPL-2.0 */
/* Stands for a module, foo-bar.ko: see kernel.S */
	.text
	.globl	foo_work
foo_work:
	.org	foo_work + 0x4, 0x90
	call	foo_work
	nop			/* foo_work+0x9 */
	.org	foo_work + 0x1e, 0x90
"lto_fn.llvm.1234567890123456789":
	.org	"lto_fn.llvm.1234567890123456789" + 0x9, 0x90
	call	foo_work
	nop			/* lto_fn+0xe */
	.org	"lto_fn.llvm.1234567890123456789" + 0x20, 0x90
	.globl	last_function
last_function:
	nop
	.section .init.text, "ax"
	.globl	foo_init
foo_init:
	.org	foo_init + 0x6, 0x90
	call	foo_work
	nop			/* foo_init+0xb */
	.org	foo_init + 0x23, 0x90
