#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Probes and filters: tests/guest/probe.sh on each kernel.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

probe() {
	local ko=$work/vm/big/stackbuf_test.ko kernel words cross reader=''
	guest "$1" probe && build_reader "$1" && build_sbcheck "$1" &&
		build "$1" big EVENTS_KB=256 TEXT_KB=4096 STACKS_KB=4096 || echo "not ok everything is built"
	inside "$ko" context_save >"$work/vm/inside"
	inside "$ko" storm_save >"$work/vm/storm"
	inside "$ko" go >"$work/vm/go"
	# clang leaves a module's init function only the name that the kernel gives it
	readelf -sW "$ko" 2>/dev/null | grep -oE ' (stackbuf_test_init|init_module)$' | sort -r | head -n 1 | tr -d ' ' >"$work/vm/init"
	boot "$1" -s -x "$reader"
	ended
}

on_each_kernel probes probe 6.1
