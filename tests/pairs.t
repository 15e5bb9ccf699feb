#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Pairs of probes: what is open, by stack, and for how long it was: tests/guest/pairs.sh on each
# kernel, once with a clock that counts instructions, so that times are exact, and once on two CPUs.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

# With slab set from insmod on.  What was being written as the machine stopped is said
in_dump() {
	"$tools/stackbuf" -f "$work/out/elf" leaks --json >"$work/leaks" 2>"$work/said" &&
		"$tools/stackbuf" -f "$work/out/elf" leaks 2>&1 | sed -n 1p || { cat "$work/said"; return 1; }
	grep leak_path_b "$work/leaks" | grep -q '"pair":"slab",.*"open":37,"value":4736,' && ! grep 'leak_path_[ac]' "$work/leaks"
}

pairs() {
	local reader='' kernel what

	kernel_of "$1" && cp "$kernel/build/.config" "$work/vm/config" && cp "$here/guest/lib.sh" "$work/vm/" &&
		cp "$here/guest/pairs.sh" "$work/vm/run" && build_sbcheck "$1" && build_tools all && build_reader "$1" && build "$1" big &&
		build "$1" few PAIRS_KB=24 || echo "not ok everything is built"
	for what in ${KINDS:-exact storm}; do
		rm -f "$work/out/elf"
		echo "$what" >"$work/vm/what"
		case $what in
		exact) boot "$1" -i -x "$reader" ;;
		# -s: setting and removing pairs patches running code
		*) boot "$1" -s -x "$reader" ;;
		esac
		grep -qx 'done' "$work/guest.log" || return
		[ ! -e "$work/out/elf" ] || result "a dump: 37 objects leaked, and their path" in_dump
	done
	ended
}

on_each_kernel pairs pairs 6.1
