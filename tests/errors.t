#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Errors of the kernel's own functions: tests/guest/errors.sh, and what kdump's vmcore has of them after a panic.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

in_vmcore() {
	local reads
	reads=$(<"$work/out/reads")
	"$tools/stackbuf" -f "$work/out/vmcore" errors -e EIO --lines -k "$kernel/vmlinux" >"$work/found" 2>"$work/said" || { cat "$work/said"; return 1; }
	cat "$work/found" "$work/said"
	# Directly, and through the page cache
	grep -qE "^$reads -EIO from .*direct_IO" "$work/found" && grep -qE "^$reads -EIO from filemap_" "$work/found" && [ "$(grep -c '^[0-9]' "$work/found")" = 2 ] &&
		grep -qE '^	\[-EIO] blkdev_read_iter\+0x[0-9a-f]+/0x[0-9a-f]+ \(block/fops\.c:[0-9]+\)' "$work/found"
}

errors() {
	local reader='' kernel words cross crash=()
	guest "$1" errors && build_tools all && build_reader "$1" && build "$1" big && kernel_modules "$1" "$work/vm" configfs null_blk loop &&
		spoilt_image "$work/vm/spoilt" || echo "not ok everything is built"
	[[ $1 == *-* ]] || crash=(-K -e)
	rm -f "$work/out/vmcore"
	# -s: setting and removing probes patches running code
	KASLR=1 boot "$1" -s "${crash[@]}" -x "$reader"
	[ ${#crash[@]} = 0 ] || result "the vmcore after a panic: which paths returned -EIO, and how often" in_vmcore
	ended
}

on_each_kernel errors errors 6.12
