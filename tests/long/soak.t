#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# A mixed load on all CPUs with everything switched on, for MINUTES (default 10) on each
# kernel: tests/guest/soak.sh.

# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "${BASH_SOURCE[0]%/*}/../lib.sh"

minutes=${MINUTES:-10}

soak() {
	local series=$1 kernel words cross reader=''
	guest "$series" soak && build_reader "$series" && echo "$minutes" >"$work/vm/minutes" &&
		build_sbcheck "$series" && build "$series" big || echo "not ok everything is built"
	# -s: setting and removing probes patches running code.  nowatchdog: in an emulator the
	# kernel's clocksource watchdog would complain about slow reads.
	boot "$series" -s -a tsc=nowatchdog -x "$reader" -t $((minutes * 60 + 300))
	ended
}

on_each_kernel soak soak
