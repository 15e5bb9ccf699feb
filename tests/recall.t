#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# A recalled stack is the one that a walk would find: tests/guest/recall.sh on
# each kernel.  ROUNDS=N (default 1) repeats the load; each round makes about half
# a million recalls on each kernel, in "make test" a fifth of that.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

# wrong SERIES FILE EDIT: builds the module "fault", after an edit of that file of core
wrong() {
	rm -rf "$work/wrong"
	mkdir -p "$work/wrong" && cp -r "$top"/{Makefile,Kbuild,core,tests} "$top"/stackbuf*.[ch] "$work/wrong/" || return
	sed -i "$3" "$work/wrong/core/$2"
	cmp -s "$top/core/$2" "$work/wrong/core/$2" &&
		{ echo "# the fault does not apply"; return 1; }
	tree=$work/wrong build "$1" fault
}

recall() {
	local kernel words cross reader='' fault
	kernel_of "$1" || return
	fault=(recall_cache.h 's/sbuf_checks_hold(sbuf_entry_checks(entry), entry->checks, start->sp, 0)/true/')
	if ! grep -q '^CONFIG_UNWINDER_ORC=y' "$kernel/build/.config"; then
		touch "$work/vm/records"
		fault=(recall_fp.c 's/cmp\t%\[pc\], ..frame/cmp\t%[pc], %[pc]/
			s/if (unlikely((pc | signature) - text != \*frame++))/if (frame++, !pc)/')
	fi
	guest "$1" recall && build_reader "$1" && echo "${ROUNDS:-1}" >"$work/vm/rounds" &&
		build "$1" big && build_load "$1" &&
		wrong "$1" "${fault[@]}" || echo "not ok everything is built"
	boot "$1" -t "$((${ROUNDS:-1} * 100 + 300))" -x "$reader"
	ended
}

on_each_kernel recall recall 6.1
