#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Rare states of the ring and the table: fewer pages than CPUs, both full, interrupted by
# NMIs, CPUs that go offline: tests/guest/ring.sh on each kernel.  KINDS selects parts, as
# KINDS="late".

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

ring() {
	local series=$1 kernel words cross what every probeable="KCFLAGS=-include $here/modules/probeable.h"

	every=$(few 300 40)
	[[ $series != *-@(debug|kcsan) ]] || every=200
	guest "$series" ring && build_sbcheck "$series" &&
		build "$series" few EVENTS_KB=8 STACKS_KB=64 TEXT_KB=64 "$probeable" &&
		build "$series" page EVENTS_KB=4 STACKS_KB=4 TEXT_KB=4 "$probeable" &&
		build "$series" full EVENTS_KB=2048 STACKS_KB=64 TEXT_KB=64 &&
		instructions "$work/vm/few/stackbuf.ko" | some "$2" "$every" >"$work/vm/instructions" &&
		instructions "$work/vm/full/stackbuf.ko" | some "$2" $((2 * every)) >"$work/vm/instructions.late" &&
		instructions "$work/vm/page/stackbuf.ko" >"$work/instructions" &&
		some "$2" "$every" 1 <"$work/instructions" >"$work/vm/instructions.page" &&
		# More of the functions that give up a page
		grep -E '^(sbuf_ring_close_page_early|close_this_page|close_current_page)' "$work/instructions" | some "$2" "$(few 8 1)" >"$work/vm/instructions.leave" ||
		echo "not ok everything is built"
	for what in ${KINDS:-storms steps+late}; do
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
