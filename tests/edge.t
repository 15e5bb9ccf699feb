#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Limits of the parameters, and probes, locks and files that are switched off, locked down or
# in use: tests/guest/edge.sh on each kernel, which checks for writes outside of allocations.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

prepare() { inside "$work/vm/big/stackbuf_test.ko" context_save >"$work/vm/inside"; }

# -s: setting and removing probes patches running code
in_guest edge edge 6.1 -s -a slub_debug=FZPU
