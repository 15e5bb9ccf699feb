#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# The command stackbuf reads the live module: tests/guest/log.sh on each kernel.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

live_reader() {
	local kernel words cross reader='' sizes
	# As in probe.t: a ring of fewer laps
	read -ra sizes <<<"$(few 'EVENTS_KB=256 TEXT_KB=4096 STACKS_KB=4096' '')"

	guest "$1" log && cp "$here/guest/tags.awk" "$work/vm/" && build_sbcheck "$1" && build_reader "$1" &&
		build "$1" big "${sizes[@]}" || echo "not ok everything is built"
	KASLR=1 boot "$1" -x "$reader"
	ended
}

on_each_kernel "the reader" live_reader 6.12
