#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Each fault of tests/faults.txt breaks one thing on purpose.  The test that it names must
# then fail, with the result that it names, as "make test" runs it, or with "tier: test-all" only as
# "make test-all" does.  FAULTS="NAME..." selects faults.

# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "${BASH_SOURCE[0]%/*}/../lib.sh"

fault() { "$here/helpers/fault.py" "$@"; }

# field FIELD: of the chosen fault
field() { fault get "$chosen" "$1"; }

# Run the test with the fault; its output goes to $work/fault.log
faulty() {
	: >"$work/found"
	rm -rf "$work/tree"
	mkdir "$work/tree" && cp -r "$top"/{Makefile,Kbuild,LICENSE,stackbuf.c,stackbuf.h,stackbuf_format.h,core,tests,tools,scripts,debian,docs,man,packaging,README.md,CHANGELOG.md} "$work/tree/" &&
		fault apply "$chosen" "$work/tree" || return 1
	# With builds of its own: those that tests share are of the tree without the fault
	STACKBUF_TEST_ALL=$(field tier) SERIES=$(field kernel) KINDS=$(field kinds) FAILS=$(field fails) \
		STACKBUF_TEST_BUILDS='' "$work/tree/tests/$(field test)" >"$work/fault.log" 2>&1 &&
		{ echo "nothing failed"; return 1; }
	# If the build fails, all results do
	if grep -q 'not ok .*everything is built' "$work/fault.log"; then
		grep -E 'error|not ok' "$work/fault.log"
		return 1
	fi
	if grep -oE "not ok .*($(field fails)).*" "$work/fault.log" | head -n 1 |
		sed "s/^not ok [0-9]*/# $chosen on $(field kernel):/" | grep . >"$work/found"; then
		return
	fi
	grep -E 'not ok|error' "$work/fault.log"
	return 1
}

all() {
	local name names
	names=${FAULTS:-$(fault list)} && [ -n "$names" ] || return
	for name in $names; do
		chosen=${name%.patch}
		result "found: $chosen (by $(field test) on $(field kernel))" faulty
		cat "$work/found"
	done
	echo "done"
}

all | ktap
