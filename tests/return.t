#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Probes where functions return: tests/guest/return.sh on each kernel: 6.12 has fprobes, 6.1 kretprobes alone.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

returns() {
	local kernel words cross reader='' bpftrace=''
	guest "$1" return && build_reader "$1" && build "$1" big || echo "not ok everything is built"
	[[ $1 == *-arm64 ]] || bpftrace=$(command -v bpftrace)
	# -s: setting and removing probes patches running code
	boot "$1" -s -m 1024 ${bpftrace:+-x "$bpftrace"} -x "$reader"
	grep -qx 'done' "$work/guest.log" || return
	# Without a stable TSC the kernel's clock may stand still until the next tick
	if [[ $1 != *-arm64 ]]; then
		touch "$work/vm/clock"
		APPEND="tsc=unstable" boot "$1" -s -x "$reader"
	fi
	ended
}

on_each_kernel returns returns 6.12
