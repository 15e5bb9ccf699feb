#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# stackbuf snoop and stackbuf count PATTERN: tests/guest/snoop.sh on each kernel.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

# Debug information for --lines that fits into the guest: of no function of the kernel
tiny_vmlinux() {
	echo 'int none(void) { return 0; }' |
		"${cross:-}gcc${cross:+-12}" -g -nostdlib -static -Wl,-e,none -x c - -o "$work/vm/vmlinux"
}

prepare() {
	local bpftrace=''
	build "$1" small EVENTS_KB=64 STACKS_KB=64 TEXT_KB=64 KCFLAGS=-DLINES_WAIT_US=100000000 && tiny_vmlinux &&
		kernel_modules "$1" "$work/vm" vsock vmw_vsock_virtio_transport_common || return
	# Modules for it have debug information
	! grep -q '^CONFIG_DEBUG_INFO=y' "$work/vm/config" || : >"$work/vm/debug_info"
	[[ $1 == *-arm64 ]] || bpftrace=$(command -v bpftrace)
	options+=(${bpftrace:+-x "$bpftrace"})
}

in_guest "snoop and count" snoop 6.1 -s -m 1024 -x setpriv
