#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# The parameter trigger, and save --on-trigger: tests/guest/trigger.sh on each kernel.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

trigger() {
	local reader='' kernel words cross
	guest "$1" trigger && build_reader "$1" && build "$1" big || echo "not ok everything is built"
	# -s: setting and removing probes patches running code
	boot "$1" -s -x "$reader"
	ended
}

on_each_kernel trigger trigger 6.12
