#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The end of a machine that records, in the guest: what is left, the host checks.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /t/lib.sh

load big panic_dump=20
# The log of the panic is read from the console
dmesg -n 7
case $(cat /t/kind) in
oops)
	# Filters that let everything pass are no reason to go on
	echo 4294967295 >/sys/module/stackbuf/parameters/limit
	run panic 1000 0x10
	;;
*) run panic 1000 ;;
esac
