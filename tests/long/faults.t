#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Each patch of tests/faults/ breaks one thing on purpose.  The test that it names must
# then fail, with the result that it names.  FAULTS="NAME..." selects patches.
#
# The first lines of a patch are "Kernel: SERIES", "Test: FILE", "Fails: REGEXP" for the
# result, and for long/limits.t "Kinds: NAME" for the machine.

# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "${BASH_SOURCE[0]%/*}/../lib.sh"

said() {
	sed -n "s/^$1: //p" "$patch"
}

# Run the test with the fault; its output goes to $work/fault.log
faulty() {
	: >"$work/found"
	rm -rf "$work/tree"
	mkdir "$work/tree" && cp -r "$top"/{Makefile,Kbuild,LICENSE,stackbuf.c,stackbuf.h,stackbuf_format.h,core,tests,tools,scripts,debian,docs,man,packaging,README.md,CHANGELOG.md} "$work/tree/" &&
		patch -s -p1 -d "$work/tree" <"$patch" || { echo "the fault does not apply"; return 1; }
	# With builds of its own: those that tests share are of the tree without the fault
	SERIES=$(said Kernel) KINDS=$(said Kinds) FAILS=$(said Fails) STACKBUF_TEST_BUILDS='' "$work/tree/tests/$(said Test)" >"$work/fault.log" 2>&1 &&
		{ echo "nothing failed"; return 1; }
	# If the build fails, all results do
	if grep -q 'not ok .*everything is built' "$work/fault.log"; then
		grep -E 'error|not ok' "$work/fault.log"
		return 1
	fi
	if grep -oE "not ok .*($(said Fails)).*" "$work/fault.log" | head -n 1 |
		sed "s/^not ok [0-9]*/# ${patch##*/} on $(said Kernel):/" | grep . >"$work/found"; then
		return
	fi
	grep -E 'not ok|error' "$work/fault.log"
	return 1
}

all() {
	local name

	for name in ${FAULTS:-$(cd "$here/faults" && ls)}; do
		patch=$here/faults/${name%.patch}.patch
		result "found: ${name%.patch} (by $(said Test) on $(said Kernel))" faulty
		cat "$work/found"
	done
	echo "done"
}

all | ktap
