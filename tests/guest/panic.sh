#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Panics while all CPUs record, in the guest.  The host checks what is left.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /t/lib.sh

# The host reads the log from the console
dmesg -n 7
load big panic_dump=20
case $(cat /t/kind) in
oops)
	# The oops must stop recording also while a filter is set, here one that passes everything
	echo 4294967295 >$P/limit
	run panic 1000 0x10
	;;
nmi) run panic 1000 1 ;;
nested) run panic 1000 2 ;;
*) run panic 1000 ;;
esac
