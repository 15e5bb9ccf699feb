#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests stackbuf.ko on each kernel: tests/guest/module.sh in a machine.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

# Each call in stackbuf.h; what is called is exported, as the module of the tests is loaded
every_call() {
	local call
	for call in $(grep -o 'stackbuf_[a-z_]*(' "$top/stackbuf.h" | sort -u | tr -d '('); do
		grep -q "\<$call(" "$top"/tests/modules/test_*.c ||
			{ echo "$call() is used by no test"; return 1; }
	done
}

module() {
	local series=$1 kernel words cross slow=1
	kernel_of "$series" || return
	[[ $series != *-@(debug|kcsan) ]] || slow=10

	! grep -q '^CONFIG_UNWINDER_FRAME_POINTER=y' "$kernel/build/.config" || touch "$work/vm/records"
	guest "$series" module && echo "$slow" >"$work/vm/slow" && build_sbcheck "$series" &&
		build "$series" big && "${cross}nm" "$work/vm/big/stackbuf_test.ko" |
		awk '$3 ~ /^long_a_name/ { print length($3); exit }' >"$work/vm/long" &&
		{ ! thorough || build "$series" again KCFLAGS="-DSBUF_FIRST_GENERATION=0x100000000"; } &&
		build "$series" small EVENTS_KB=64 STACKS_KB=64 TEXT_KB=64 KCFLAGS=-DLINES_WAIT_US=100000000 ||
		echo "not ok everything is built"
	boot "$series" -a log_buf_len=4M
	result "every call is used by another module" every_call
	ended
}

on_each_kernel "the module" module 6.12
