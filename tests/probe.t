#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Probes and filters: tests/guest/probe.sh on each kernel.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

prepare() {
	local ko=$work/vm/big/stackbuf_test.ko
	build_sbcheck "$1" && kernel_modules "$1" "$work/vm" reed_solomon || return
	inside "$ko" context_save >"$work/vm/inside"
	inside "$ko" storm_save >"$work/vm/storm"
	inside "$ko" go >"$work/vm/go"
	# clang leaves a module's init function only the name that the kernel gives it
	readelf -sW "$ko" 2>/dev/null | grep -oE ' (stackbuf_test_init|init_module)$' | sort -r | head -n 1 | tr -d ' ' >"$work/vm/init"
}

sizes=(EVENTS_KB=256 TEXT_KB=4096 STACKS_KB=4096)
in_guest probes probe 6.1 -s
