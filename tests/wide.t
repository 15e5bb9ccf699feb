#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# How long a task waits for a CPU while functions are searched, and what patterns of any size take:
# tests/guest/wide.sh on each kernel.  Time is counted in instructions, one per nanosecond.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

in_guest wide wide 6.12 -i -a preempt=full
