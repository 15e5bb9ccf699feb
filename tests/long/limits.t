#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Machines that are small or large, or where calls fail: tests/guest/limits.sh on each
# kernel, booted in several ways; on a debug kernel, allocations that fail.
# KINDS="NAME..." selects machines.

# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "${BASH_SOURCE[0]%/*}/../lib.sh"

# Make 64 modules from one, each with another name
clients() {
	local n

	for n in $(seq 10 73); do
		LC_ALL=C sed "s/stackbuf_probe/stackbuf_pro$n/g" "$work/vm/big/stackbuf_probe.ko" \
			>"$work/vm/big/client$n.ko" || return
	done
}

limits() {
	local series=$1 reader='' kind kinds="usual one eight many possible nodebugfs lockdown signed page huge clients"

	if [[ $series == *-debug ]]; then
		kinds=failing
		gcc -static -O2 -Wall -o "$work/vm/failing" "$here/guest/failing.c" || echo "not ok everything is built"
	fi
	cp "$here/guest/lib.sh" "$work/vm/" && cp "$here/guest/limits.sh" "$work/vm/run" &&
		build_reader "$series" && build_sbcheck "$series" &&
		build "$series" big && build "$series" page EVENTS_KB=4 STACKS_KB=4 TEXT_KB=4 &&
		build "$series" many EVENTS_KB=256 &&
		build "$series" huge EVENTS_KB=262144 STACKS_KB=4096 TEXT_KB=4096 && clients ||
		echo "not ok everything is built"
	for kind in ${KINDS:-$kinds}; do
		echo "$kind" >"$work/vm/kind"
		echo "# $series $kind"
		case $kind in
		# With fewer pages than CPUs the ring lacks the totals of some CPUs
		one | page) boot "$series" -t 900 -x "$reader" -c 1 ;;
		eight) boot "$series" -t 900 -x "$reader" -c 8 -m 768 ;;
		# -s: with a thread each, 128 CPUs of the emulator make little progress
		many) boot "$series" -s -t 1800 -x "$reader" -c 128 -m 3072 ;;
		possible) boot "$series" -t 900 -x "$reader" -m 768 -a possible_cpus=600 ;;
		nodebugfs) boot "$series" -s -t 900 -x "$reader" -a debugfs=off ;;
		signed) boot "$series" -t 900 -x "$reader" -a lockdown=integrity ;;
		huge) boot "$series" -t 900 -x "$reader" -m 1536 ;;
		# -s: setting and removing probes patches running code
		*) boot "$series" -s -t 900 -x "$reader" ;;
		esac | sed "s/^\(not \)\?ok /&$kind: /"
		grep -qx "done" "$work/guest.log" || return
	done
	echo "done"
}

on_each_kernel limits limits
