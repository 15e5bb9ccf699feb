#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Builds that leave out parts (make PROBES=n DEEPEST=n KEEP=n): tests/guest/parts.sh on each kernel.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

# without SERIES DIRECTORY VARIABLE=n...: builds DIRECTORY without a warning.  TESTS=1: stackbuf_info, whose
# checksum clients have, is another without a part.  The guest loads one module of the tests: "make test" builds that alone.
without() {
	local series=$1 directory=$2 parts
	shift 2
	build "$series" "$directory" W=1 TESTS=1 "$(few STACKBUF_TESTS=stackbuf_test.o STACKBUF_TESTS=)" "$@" || return
	# These messages do not concern our code
	if sed -E '/^Skipping BTF generation/d; /^warning: the compiler differs/,+2d' "$work/make.log" | grep .; then
		return 1
	fi
	parts=("${@/%=n/=0}")
	"${cross:-}gcc${cross:+-12}" -static -O2 -Wall "${parts[@]/#/-DSTACKBUF_WITH_}" \
		-o "$work/vm/$directory/sbcheck" "$here/guest/sbcheck.c"
}

# refused VARIABLE=VALUE: make refuses it in one line, before anything is built
refused() {
	! make -s -C "$top" module BUILD="$work/refused" KDIR="$kernel/build" "$1" >"$work/log" 2>&1 &&
		grep -x "stackbuf: $1 is neither y nor n" "$work/log" && [ ! -e "$work/refused" ] &&
		[ "$(grep -vc '^make' "$work/log")" = 1 ]
}

parts() {
	local kernel words cross reader='' bad
	kernel_of "$1" || return
	result "PROBES=n DEEPEST=n KEEP=n: no warnings" without "$1" neither PROBES=n DEEPEST=n KEEP=n FRAMES=32
	if thorough; then
		result "PROBES=n: no warnings" without "$1" no-probes PROBES=n
		result "DEEPEST=n: no warnings" without "$1" no-deepest DEEPEST=n
	fi
	for bad in PROBES=x DEEPEST= PROBES=no; do
		result "$bad is refused in one line" refused "$bad"
	done
	guest "$1" parts && build_reader "$1" || echo "not ok everything is built"
	boot "$1" -x "$reader"
	ended
}

on_each_kernel "builds without parts" parts 6.12
