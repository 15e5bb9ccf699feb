#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Compiles the modules for every kernel that the archive has header packages for, by gcc
# and by clang, without a warning at W=1; then boots the newest of each flavour once.
# RELEASES="..." selects kernels.

# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "${BASH_SOURCE[0]%/*}/../lib.sh"

compiles() {
	local release=$1 compiler=$2 kdir llvm=()
	kdir=$("$top/scripts/machine/stackbuf-kernel" -b "$release" 2>"$work/err") || { cat "$work/err"; return 1; }
	[ "$compiler" != clang ] || llvm=(LLVM=1)
	rm -rf "$work/build"
	make -s -C "$top" module W=1 TESTS=1 BUILD="$work/build" KDIR="$kdir" CC="$compiler" "${llvm[@]}" \
		>"$work/make.log" 2>&1 || { cat "$work/make.log"; return 1; }
	# Expected: the kernel was built by gcc, and there is no vmlinux
	! grep -v -E 'compiler differs|The kernel was built by|You are using|Skipping BTF|^make' "$work/make.log" ||
		return 1
	[ "$(modinfo -F vermagic "$work/build/stackbuf.ko" | cut -d' ' -f1)" = "$release" ]
}

boots() {
	cp "$here/guest/lib.sh" "$work/vm/" && build_sbcheck "$1" && build "$1" big || return
	cat >"$work/vm/run" <<-'END'
		#!/bin/sh
		. /t/lib.sh
		load big verify=1 && run path 1 6 0x11 100 >a && check && cat check && unload && echo "done"
	END
	"$top/scripts/machine/stackbuf-vm" -k "$1" -o "$work/out" "$work/vm" >"$work/guest.log" 2>&1 &&
		grep -qx 'done' "$work/guest.log" && grep -q ' total 101 ' "$work/guest.log" && return
	cat "$work/guest.log"
	return 1
}

all() {
	local release compiler series list
	list=${RELEASES:-$("$top/scripts/machine/stackbuf-kernel" -l)}
	[ -n "$list" ] || echo "not ok there are kernels to compile for"
	for release in $list; do
		for compiler in gcc-12 clang; do
			result "$release: built by $compiler, W=1, without a warning" compiles "$release" "$compiler"
		done
	done
	for series in ${SERIES:-6.1 6.12 6.1-generic 6.12-generic 6.1-rt 6.12-rt}; do
		rm -rf "$work/vm" "$work/out"
		mkdir -p "$work/vm" "$work/out"
		result "$series: boots, records, unloads" boots "$series"
	done
	echo "done"
}

all | ktap
