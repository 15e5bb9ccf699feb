#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# The parameter trigger, and save --on-trigger: tests/guest/trigger.sh on each kernel.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

# -s: setting and removing probes patches running code
in_guest trigger trigger 6.12 -s
