#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# MINUTES (default 10) of a mixed load on all CPUs with everything on, on each
# kernel: tests/guest/soak.sh.

# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "${BASH_SOURCE[0]%/*}/../lib.sh"

minutes=${MINUTES:-10}

soak() {
	local series=$1 reader=''

	cp "$here/guest/lib.sh" "$work/vm/" && cp "$here/guest/soak.sh" "$work/vm/run" &&
		build_reader "$series" && echo "$minutes" >"$work/vm/minutes" &&
		build_sbcheck "$series" && build "$series" big || echo "not ok everything is built"
	# -s: probes come and go, which patches code that runs.  In an emulator the kernel's
	# watchdog of clocks finds them slow to read, and says so.
	boot "$series" -s -a tsc=nowatchdog -x "$reader" -t $((minutes * 60 + 600))
	ended
}

on_each_kernel soak soak
