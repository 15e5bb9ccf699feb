// SPDX-License-Identifier: GPL-2.0
/*
 * frame.c - one frame of a trace, as the kernel prints it
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "record/frame.h"

static bool name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '$';
}

static size_t hex_number(const char *text, size_t len, u64 *value)
{
	size_t n;

	if (len < 3 || text[0] != '0' || text[1] != 'x')
		return 0;
	*value = 0;
	for (n = 2; n < len && isxdigit((unsigned char)text[n]); n++) {
		if (n >= 18)
			return 0;
		*value = *value << 4 | hex_digit(text[n]);
	}
	return n > 2 ? n : 0;
}

/* Parse " [module]" or " [module build-id]" at @n.  Return its end, or @n if there is none */
static size_t parse_module(struct frame *f, const char *text, size_t len, size_t n)
{
	size_t at = n + 2, digits;

	if (n + 3 > len || text[n] != ' ' || text[n + 1] != '[')
		return n;
	while (at < len && (isalnum((unsigned char)text[at]) || text[at] == '_' || text[at] == '-'))
		at++;
	digits = at - n - 2;
	if (!digits || digits > 63 || at >= len)
		return n;
	if (text[at] == ' ') {
		size_t id = ++at;

		while (at < len && isxdigit((unsigned char)text[at]))
			at++;
		if (at == id || at - id > 128)
			return n;
		f->build_id = text + id;
		f->build_id_len = at - id;
	}
	if (at >= len || text[at] != ']') {
		f->build_id_len = 0;
		return n;
	}
	f->module = text + n + 2;
	f->module_len = digits;
	return at + 1;
}

size_t frame_parse(struct frame *f, const char *text, size_t len, bool sizeless)
{
	size_t n = 0, digits;

	*f = (struct frame){ .name = text, .module = "", .build_id = "" };
	while (n < len && name_char(text[n]))
		n++;
	if (!n || n > 511 || n >= len || text[n] != '+')
		return 0;
	f->name_len = n++;
	digits = hex_number(text + n, len - n, &f->offset);
	if (digits && n + digits < len && text[n + digits] == '/') {
		n += digits + 1;
		digits = hex_number(text + n, len - n, &f->size);
		return digits ? parse_module(f, text, len, n + digits) : 0;
	}
	if (!sizeless)
		return 0;
	f->sizeless = true;
	f->decimal = !digits;
	while (f->decimal && n + digits < len && isdigit((unsigned char)text[n + digits])) {
		if (digits > 8)
			return 0;
		f->offset = 10 * f->offset + text[n + digits++] - '0';
	}
	n += digits;
	if (!digits || (n < len && (text[n] == '/' || name_char(text[n]))) ||
	    memmem(f->name, f->name_len, ".so", 3))
		return 0;
	return parse_module(f, text, len, n);
}

/*
 * The stubs of arch/x86/include/asm/idtentry.h and arch/x86/entry/entry_64_fred.S, up to 5.7 those
 * of arch/x86/entry/entry_64.S, and kernel/entry*.S of arm64, arm, riscv and s390.  They call
 * handlers in C, which are not entries.  Only int3 reports the address after itself.
 */
static bool is_entry(const char *name, size_t len)
{
	static const char *const beginning[] = {
		/* x86, arm64 */
		"asm_exc_", "asm_sysvec_", "asm_fred_exc_", "xen_asm_exc_", "el1h_64_", "el1t_64_",
	};
	static const char *const whole[] = {
		/* x86, then arm64 */
		"asm_common_interrupt", "asm_spurious_interrupt", "asm_fred_entrypoint_kernel",
		"end_repeat_nmi", "page_fault", "async_page_fault", "general_protection",
		"invalid_op", "divide_error", "double_fault", "stack_segment",
		"segment_not_present", "alignment_check", "machine_check", "nmi", "error_entry",
		"device_not_available", "common_interrupt", "ret_from_intr", "retint_kernel",
		"apic_timer_interrupt", "reschedule_interrupt", "irq_work_interrupt",
		"call_function_interrupt", "call_function_single_interrupt", "reboot_interrupt",
		"thermal_interrupt", "threshold_interrupt", "deferred_error_interrupt",
		"error_interrupt", "spurious_interrupt", "x86_platform_ipi",
		"kvm_posted_intr_ipi", "hyperv_callback_vector", "xen_hypervisor_callback",
		/* arm, riscv, s390 */
		"__irq_svc", "__fiq_svc", "__dabt_svc", "__pabt_svc", "__und_svc",
		"handle_exception", "ret_from_exception",
		"io_int_handler", "ext_int_handler", "mcck_int_handler", "pgm_check_handler",
		"el1_irq", "el1_fiq", "el1_sync", "el1_error", "el1_da", "el1_ia", "el1_undef",
		"el1_dbg", "el1_inv",
	};
	size_t i;

	if (text_begins_with(name, len, "asm_exc_int3") ||
	    text_begins_with(name, len, "xen_asm_exc_int3"))
		return false;
	for (i = 0; i < ARRAY_SIZE(beginning); i++)
		if (text_begins_with(name, len, beginning[i]))
			return !text_ends_with(name, len, "_handler");
	for (i = 0; i < ARRAY_SIZE(whole); i++)
		if (len == strlen(whole[i]) && !memcmp(name, whole[i], len))
			return true;
	return false;
}

enum frame_entry frame_entry(const char *name, size_t len)
{
	if (!is_entry(name, len))
		return FRAME_NO_ENTRY;
	return text_begins_with(name, len, "el1_") ||
	       (len == 16 && !memcmp(name, "common_interrupt", 16)) ?
		FRAME_ENTRY_OR_C : FRAME_ENTRY;
}

bool frame_was_interrupted(enum frame_entry entry, const char *name, size_t len)
{
	bool is_stub = text_begins_with(name, len, "asm_") ||
		       text_begins_with(name, len, "xen_asm_") ||
		       text_begins_with(name, len, "fred_") ||
		       (text_begins_with(name, len, "el1") &&
			text_ends_with(name, len, "_handler"));

	return entry == FRAME_ENTRY || (entry == FRAME_ENTRY_OR_C && !is_stub);
}

/* True for entries from user space and the first functions of threads and idle CPUs */
bool frame_is_outermost(const char *name, size_t len)
{
	static const char *const beginning[] = {
		"entry_SYSCALL_64", "entry_SYSENTER_", "entry_INT80_", "asm_fred_entrypoint_user",
		"ret_from_fork", "secondary_startup_64", "el0t_64_", "el0t_32_",
		"__secondary_switched",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(beginning); i++)
		if (text_begins_with(name, len, beginning[i]))
			return !text_ends_with(name, len, "_handler");
	return false;
}

u64 frame_place(const struct frame *f)
{
	return hash_bytes(f->name, f->name_len) + (f->offset << 32);
}

struct frame frame_take(char *text, u64 addr, bool given)
{
	struct frame f;
	const char *module;

	if (given || !frame_parse(&f, text, strlen(text), false)) {
		/* Some have a module but no offset */
		module = given ? NULL : strstr(text, " [");
		f = (struct frame){ .name = text, .module = "", .build_id = "" };
		if (given || module)
			f.name_len = module ? (size_t)(module - text) : strlen(text);
		if (module) {
			f.module = module + 2;
			f.module_len = strcspn(f.module, " ]");
		}
	}
	f.text = text;
	f.addr = addr;
	return f;
}
