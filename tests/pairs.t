#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Pairs of probes: outstanding objects, by stack, and how long others were open: tests/guest/pairs.sh on each
# kernel, once with a clock that counts instructions, so that times are exact, and once on two CPUs.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

# What was being written as the machine stopped is said
in_dump() { # FILE
	"$tools/stackbuf" -f "$work/out/$1" leaks --json >"$work/leaks" 2>"$work/said" &&
		"$tools/stackbuf" -f "$work/out/$1" leaks 2>&1 | sed -n 1p || { cat "$work/said"; return 1; }
	grep leak_path_b "$work/leaks" | grep -qE '"pair":"slab",.*"open":37,"value":(4736|9472),' && ! grep 'leak_path_[ac]' "$work/leaks"
}

# What keep= has copied since: the copy alone
kept_on() {
	dd if="$work/out/suspended" of="$work/kept" bs=1M skip=128 count=32 status=none && rm "$work/out/suspended" &&
		"$tools/stackbuf" -f "$work/kept" info >"$work/facts" && "$tools/stackbuf" -f "$work/kept" leaks slab --json >"$work/leaks" || return
	grep -E '^(events recorded|damaged pages|missing pages|half-written stacks) ' "$work/facts"
	grep leak_path_b "$work/leaks" | grep -q '"exact":false,.*"open":74,' &&
		[ "$(grep -cE '^(damaged pages|missing pages|half-written stacks) +0$' "$work/facts")" = 3 ]
}

pairs() {
	local reader='' kernel words cross what crash=() memory='' append=${APPEND:-}
	guest "$1" pairs && build_sbcheck "$1" && build_tools all && build_reader "$1" && build "$1" big &&
		build "$1" few PAIRS_KB=24 || echo "not ok everything is built"
	# A capture kernel with a sanitizer has not enough memory, and on arm64 there is none
	[[ $1 == *-* ]] || { crash=(-K -e); touch "$work/vm/crash"; }
	# Its own objects have the same callers
	[[ $1 != *-debug ]] || append+=" kmemleak=off"
	# shellcheck disable=SC2016
	[[ $1 == *arm64* ]] || { memory='memmap=32M$0x8000000'; touch "$work/vm/memory"; }
	for what in ${KINDS:-exact wakes storm}; do
		rm -f "$work/out/elf" "$work/out/vmcore" "$work/out/suspended"
		echo "$what" >"$work/vm/what"
		case $what in
		exact) APPEND=$append boot "$1" -i -x "$reader" ;;
		wakes) APPEND=$append boot "$1" -s -x "$reader" ;;
		# -s: setting and removing pairs patches running code.  The emulated cycles of two CPUs are one counter,
		# which the kernel does not find out
		# What is not booted by firmware does not resume
		*) KASLR=1 APPEND="tsc=reliable $memory $append" boot "$1" -s "${crash[@]}" -x "$reader" ;;
		esac
		grep -qx 'done' "$work/guest.log" || return
		[ ! -e "$work/out/elf" ] || result "a dump by QEMU: 37 objects leaked, and their path" in_dump elf
		[ ! -e "$work/out/suspended" ] || result "suspended to memory: what is kept is copied from then on" kept_on
		[ ! -e "$work/out/vmcore" ] || result "a vmcore by kdump: the same" in_dump vmcore
	done
	ended
}

on_each_kernel pairs pairs 6.1
