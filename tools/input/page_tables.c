// SPDX-License-Identifier: GPL-2.0
/*
 * page_tables.c - the kernel's page tables in a dump
 *
 * libaddrxlat knows their formats.  It walks from the root for each address; tables are cached, so
 * each is read once.  libaddrxlat's own way from VMCOREINFO to the root (addrxlat_sys_os_init()) is
 * not used: it tries one address layout after the other, reads the memory that they lead to, and on
 * arm64 mistakes the configured number of address bits for the number in use.
 *
 * Tables may be damaged or malicious.  The number of levels is fixed, so a loop ends; the number of
 * tables is limited.
 */
#include <elf.h>
#include <libkdumpfile/addrxlat.h>
#include <stdlib.h>
#include <string.h>
#include "input/page_tables.h"
#include "input/vmcoreinfo.h"
#include "library.h"
#include "stackbuf.h"

/* Limit of pages of tables: the kernel has two for each GiB of the areas, and a few more */
#define TABLES_MAX	4096
#define SLOTS		(2 * TABLES_MAX)	/* a power of two */

/* Physical addresses have no more bits */
#define PHYS_END	(1ULL << 52)

#define GIB		(1ULL << 30)

/* A function of libaddrxlat */
#define ADDRXLAT(function) LIBRARY(LIBADDRXLAT, function)

/* x86-64: start of the mapping of the kernel's image */
#define KERNEL_MAP	0xffffffff80000000ULL
#define X86_PTE_WRITE	(1ULL << 1)

/* arm64: read-only at all privilege levels */
#define ARM_PTE_RDONLY	(1ULL << 7)

/* arm64 branches reach no further: all modules are within this distance of the kernel */
#define ARM_MODULES	(2 * GIB + GIB / 8)

/* 4 KiB of a table */
struct table {
	u64 phys;
	bool used;	/* the slot is in use */
	void *bytes;	/* contents, or NULL if they cannot be read */
};

/* The kernel's page tables in a dump */
struct page_tables {
	struct dump_file *file;
	bool x86;	/* x86-64, else arm64 */
	addrxlat_meth_t method;	/* describes the translation of addresses */
	addrxlat_ctx_t *context;
	/* Hash table of the tables that were read, by address */
	struct table slot[SLOTS];
	unsigned int tables;
};

/* ----------------------------------------------------------------- tables --- */

static addrxlat_status get_table(const addrxlat_cb_t *callbacks, addrxlat_buffer_t *buffer)
{
	struct page_tables *t = callbacks->priv;
	u64 phys = buffer->addr.addr & -(u64)STACKBUF_PAGE_SIZE, where;
	u64 i = phys / STACKBUF_PAGE_SIZE * 0x9e3779b97f4a7c15ULL >> 32;
	struct table *table;

	for (;; i++) {
		table = &t->slot[i % SLOTS];
		if (!table->used || table->phys == phys)
			break;
	}
	if (!table->used) {
		if (t->tables == TABLES_MAX)
			return ADDRXLAT_ERR_NODATA;
		t->tables++;
		table->used = true;
		table->phys = phys;
		table->bytes = xcalloc(1, STACKBUF_PAGE_SIZE);
		if (dump_read_memory(t->file, phys, table->bytes, &where)) {
			free(table->bytes);
			table->bytes = NULL;
		}
	}
	if (!table->bytes)
		return ADDRXLAT_ERR_NODATA;
	buffer->addr.addr = phys;
	buffer->ptr = table->bytes;
	buffer->size = STACKBUF_PAGE_SIZE;
	buffer->byte_order = ADDRXLAT_LITTLE_ENDIAN;
	return ADDRXLAT_OK;
}

static unsigned long read_caps(const addrxlat_cb_t *callbacks)
{
	(void)callbacks;
	return ADDRXLAT_CAPS(ADDRXLAT_MACHPHYSADDR) | ADDRXLAT_CAPS(ADDRXLAT_KPHYSADDR);
}

/* ----------------------------------------------------------------- layout --- */

static bool x86_layout(const char *info, addrxlat_param_pgt_t *pgt)
{
	u64 root, base, five = 0, sme = 0;
	unsigned int i;

	if (!vmcoreinfo_symbol(info, "swapper_pg_dir", &root) ||
	    !vmcoreinfo_number(info, "phys_base", &base))
		return false;
	vmcoreinfo_number(info, "pgtable_l5_enabled", &five);
	vmcoreinfo_number(info, "sme_mask", &sme);
	pgt->root.addr = root - KERNEL_MAP + base;
	/* A bit that marks encrypted memory is not part of the address */
	pgt->pte_mask = sme;
	pgt->pf.pte_format = ADDRXLAT_PTE_X86_64;
	pgt->pf.nfields = five ? 6 : 5;
	pgt->pf.fieldsz[0] = 12;
	for (i = 1; i < pgt->pf.nfields; i++)
		pgt->pf.fieldsz[i] = 9;
	return true;
}

static bool arm_layout(const char *info, addrxlat_param_pgt_t *pgt)
{
	u64 root, offset, page, bits = 0, unused, n;
	unsigned int shift;

	if (!vmcoreinfo_symbol(info, "swapper_pg_dir", &root) ||
	    !vmcoreinfo_number(info, "kimage_voffset", &offset) ||
	    !vmcoreinfo_value(info, "PAGESIZE", 10, &page))
		return false;
	if (page != 4096 && page != 16384 && page != 65536)
		return false;
	shift = __builtin_ctzll(page);
	vmcoreinfo_number(info, "VA_BITS", &bits);
	/*
	 * A kernel configured for 52 bits may run with fewer.  Its tables then have the smaller
	 * number, except with pages of 64 KiB: there the root keeps its size, and its last part is
	 * used.
	 */
	if (vmcoreinfo_number(info, "TCR_EL1_T1SZ", &unused) && unused < 64 &&
	    (shift != 16 || 64 - unused > bits))
		bits = 64 - unused;
	if (bits < 36 || bits > 52)
		return false;
	pgt->root.addr = root - offset;
	/* Unused upper address bits are 0 in entries */
	if (shift == 16)
		pgt->pf.pte_format = ADDRXLAT_PTE_AARCH64_LPA;
	else
		pgt->pf.pte_format = bits > 48 ? ADDRXLAT_PTE_AARCH64_LPA2 : ADDRXLAT_PTE_AARCH64;
	pgt->pf.fieldsz[0] = shift;
	pgt->pf.nfields = 1;
	for (bits -= shift; bits; bits -= n) {
		n = bits < shift - 3 ? bits : shift - 3;
		pgt->pf.fieldsz[pgt->pf.nfields++] = n;
	}
	return true;
}

struct page_tables *page_tables_open(struct dump_file *f)
{
	struct page_tables *t = xcalloc(1, sizeof(*t));
	addrxlat_param_pgt_t *pgt = &t->method.param.pgt;
	addrxlat_cb_t *callbacks = NULL;
	bool known;

	t->file = f;
	t->method.kind = ADDRXLAT_PGT;
	t->method.target_as = ADDRXLAT_MACHPHYSADDR;
	pgt->root.as = ADDRXLAT_MACHPHYSADDR;
	/* QEMU's compressed dumps lack the machine; only x86-64 has these keys */
	t->x86 = f->machine != EM_AARCH64 && x86_layout(f->vmcoreinfo, pgt);
	known = t->x86 || (f->machine != EM_X86_64 && arm_layout(f->vmcoreinfo, pgt));
	if (known && pgt->root.addr < PHYS_END && pgt->root.addr % sizeof(u64) == 0) {
		t->context = ADDRXLAT(addrxlat_ctx_new)();
		callbacks = t->context ? ADDRXLAT(addrxlat_ctx_add_cb)(t->context) : NULL;
	}
	if (!callbacks) {
		page_tables_close(t);
		return NULL;
	}
	callbacks->priv = t;
	callbacks->get_page = get_table;
	callbacks->read_caps = read_caps;
	return t;
}

void page_tables_close(struct page_tables *t)
{
	unsigned int i;

	if (t->context)
		ADDRXLAT(addrxlat_ctx_decref)(t->context);
	for (i = 0; i < SLOTS; i++)
		free(t->slot[i].bytes);
	free(t);
}

unsigned int page_tables_areas(const struct page_tables *t, struct area area[AREAS_MAX])
{
	const char *info = t->file->vmcoreinfo;
	unsigned int nr = 0;
	u64 text;

	if (t->x86) {
		/* The image may take 512 MiB, or 1 GiB with KASLR; modules follow */
		area[0] = (struct area){ KERNEL_MAP + GIB, 0xffffffffff000000 };
		area[1] = (struct area){ KERNEL_MAP + GIB / 2, KERNEL_MAP + GIB };
		area[2] = (struct area){ KERNEL_MAP, KERNEL_MAP + GIB / 2 };
		return 3;
	}
	/* Kernels before 6.1 do not export the modules' area, and KASLR may move it */
	if (vmcoreinfo_number(info, "MODULES_VADDR", &area[0].start) &&
	    vmcoreinfo_number(info, "MODULES_END", &area[0].end) &&
	    area[0].end - area[0].start <= ARM_MODULES)
		nr++;
	if (vmcoreinfo_symbol(info, "_stext", &text) && text > ARM_MODULES && text < -ARM_MODULES) {
		text &= -(u64)STACKBUF_PAGE_SIZE;
		area[nr++] = (struct area){ text - ARM_MODULES, text };
		area[nr++] = (struct area){ text, text + ARM_MODULES };
	}
	return nr;
}

/* ------------------------------------------------------------------ walks --- */

/* The size that an entry of this level maps; level 1 is the last */
static u64 level_size(const struct page_tables *t, unsigned int level)
{
	const addrxlat_paging_form_t *form = &t->method.param.pgt.pf;
	unsigned int bits = 0, i;

	for (i = 0; i < level; i++)
		bits += form->fieldsz[i];
	return 1ULL << bits;
}

static bool entry_writable(const struct page_tables *t, u64 entry, unsigned int left)
{
	if (t->x86)
		return entry & X86_PTE_WRITE;
	/* On arm64 only entries of the last level have the bit */
	return left > 1 || !(entry & ARM_PTE_RDONLY);
}

/* Translate @addr.  Set m->size to the rest of the entry's range, even if it is not mapped */
static bool walk(struct page_tables *t, u64 addr, struct mapping *m)
{
	addrxlat_step_t step = { .ctx = t->context, .meth = &t->method };
	unsigned int level = t->method.param.pgt.pf.nfields;
	bool mapped;
	u64 size;

	m->addr = addr;
	m->writable = true;
	mapped = ADDRXLAT(addrxlat_launch)(&step, addr) == ADDRXLAT_OK;
	while (mapped && step.remain > 1) {
		level = step.remain - 1;
		mapped = ADDRXLAT(addrxlat_step)(&step) == ADDRXLAT_OK;
		m->writable = m->writable && entry_writable(t, step.raw.pte, step.remain);
	}
	if (!mapped)
		ADDRXLAT(addrxlat_ctx_clear_err)(t->context);
	size = level_size(t, level);
	m->size = size - (addr & (size - 1));
	m->phys = step.base.addr + step.idx[0];
	return mapped && m->phys < PHYS_END;
}

bool page_tables_next(struct page_tables *t, u64 addr, u64 end, struct mapping *m)
{
	for (; addr < end; addr += m->size) {
		if (!walk(t, addr, m)) {
			/* The end of the address space */
			if (addr + m->size < addr)
				return false;
			continue;
		}
		if (m->size > end - addr)
			m->size = end - addr;
		return true;
	}
	return false;
}
