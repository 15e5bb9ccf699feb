#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Probes where functions return: tests/guest/return.sh on each kernel: 6.12 has fprobes, 6.1 kretprobes alone.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

prepare() {
	[[ $1 == *-arm64 ]] || bpftrace=$(command -v bpftrace)
	options+=(${bpftrace:+-x "$bpftrace"})
}

bpftrace=''
# -s: setting and removing probes patches running code
in_guest returns return 6.12 -s -m 1024
