#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# The command stackbuf reads the live module: tests/guest/log.sh on each kernel.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

prepare() { cp "$here/guest/tags.awk" "$work/vm/" && build_sbcheck "$1"; }

# As in probe.t: a ring of fewer laps
read -ra sizes <<<"$(few 'EVENTS_KB=256 TEXT_KB=4096 STACKS_KB=4096' '')"
KASLR=1 in_guest "the reader" log 6.12
