#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Rare states of the ring and the table: fewer pages than CPUs, both full, interrupted by NMIs, CPUs
# that go offline: tests/guest/ring.sh on each kernel.  KINDS selects parts, as KINDS="late".

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

ring() {
	local series=$1 kernel words cross what every
	every=$(few 40 10)
	[[ $series != *-@(debug|kcsan) ]] || every=80
	guest "$series" ring && build_sbcheck "$series" &&
		build "$series" few EVENTS_KB=8 STACKS_KB=64 TEXT_KB=64 &&
		build "$series" page EVENTS_KB=4 STACKS_KB=4 TEXT_KB=4 &&
		build "$series" full EVENTS_KB=2048 STACKS_KB=64 TEXT_KB=64 &&
		# Of what a save calls, as most other functions are not reached
		instructions "$work/vm/full/stackbuf.ko" | cut -d ' ' -f 1,2 | grep -E '^sbuf_(table|trace|ring|recall|depth|evict|worker)_' |
		some "$2" "$every" >"$work/vm/instructions.late" ||
		echo "not ok everything is built"
	for what in ${KINDS:-storms late}; do
		echo "$what" >"$work/vm/what"
		case $what in
		storms) boot "$series" -c 4 -m 768 ;;
		# -s: setting and removing probes patches running code.  What is not booted by firmware does not resume
		*) KASLR=1 boot "$series" -s ;;
		esac
		grep -qx 'done' "$work/guest.log" || return
	done
	echo "done"
}

on_each_kernel ring ring 6.1
