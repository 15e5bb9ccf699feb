#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# A kernel without stackbuf: tests/guest/bare.sh, and a panic with its notifiers before kdump.  What fails
# here, hangs or complains is the kernel's own, and other tests may fail of it: "make test-kernel" runs
# it first.

# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "${BASH_SOURCE[0]%/*}/../lib.sh"

goes_down() { # SERIES
	[ -e "$kernel/build/.config" ] && printf '%s\n' '#!/bin/sh' 'echo 1 >/proc/sys/kernel/sysrq; echo c >/proc/sysrq-trigger' >"$work/vm/run" &&
		"$top/scripts/machine/stackbuf-vm" -k "$1" -K -e -o "$work/out" -a "crash_kexec_post_notifiers ${APPEND:-}" "$work/vm" &&
		[ -s "$work/out/vmcore" ]
}

bare() {
	local kernel words cross why='kdump is tested on x86-64 only'
	guest "$1" bare || echo "not ok the guest's script is there"
	# What is not booted by firmware does not resume
	KASLR=1 APPEND="tsc=reliable ${APPEND:-}" boot "$1" -s
	if [[ $1 != *-arm64 ]]; then
		why='it has no CONFIG_KEXEC_FILE, CRASH_DUMP or PROC_VMCORE'
		[ "$(grep -cE '^CONFIG_(KEXEC_FILE|CRASH_DUMP|PROC_VMCORE)=y' "$kernel/build/.config")" != 3 ] || why=
	fi
	if [ -n "$why" ]; then
		echo "ok a panic with crash_kexec_post_notifiers: kdump saves the memory # SKIP $why"
	else
		result "a panic with crash_kexec_post_notifiers: kdump saves the memory" goes_down "$1"
	fi
	ended
}

on_each_kernel "a kernel without stackbuf" bare 6.12
