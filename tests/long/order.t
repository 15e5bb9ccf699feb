#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# The order of memory: herd7 enumerates all executions of each test in tests/litmus that the kernel's memory
# model allows.  None may end as the test's last line says; and without each of the barriers that end with
# "// without: ...", one must.  HERD7="/path/to/herd7 OPTION..." names another herd7 than that of PATH.

# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "${BASH_SOURCE[0]%/*}/../lib.sh"

read -ra herd <<<"${HERD7:-herd7}"
if ! "${herd[@]}" -version >/dev/null 2>&1; then
	echo "KTAP version 1"
	echo "1..0 # SKIP ${herd[0]} does not run: docs/testing.md says how to build herd7; HERD7= says where it is"
	exit 0
fi
# Of the newest kernel that is tested
model=$("$top/scripts/machine/stackbuf-kernel" -t 6.12)/tools/memory-model || exit 1

# observed FILE: Never, Sometimes or Always.  A test whose accesses race without a mark proves nothing
observed() {
	(cd "$model" && limited 300 "${herd[@]}" -conf linux-kernel.cfg "$1") >"$work/herd" 2>&1 &&
		! grep '^Flag ' "$work/herd" >&2 && awk '/^Observation / { print $3; found = 1 } END { exit !found }' "$work/herd" ||
		cat "$work/herd" >&2
}

# without N FILE: the test without the barrier that is its Nth
without() {
	awk -v n="$1" '/\/\/ without:/ && ++nr == n {
		match($0, /^\t*/); tabs = substr($0, 1, RLENGTH); sub(/.*\/\/ without: */, ""); print tabs $0; next
	} 1' "$2"
}

never() { [ "$(observed "$1" | tee /dev/stderr)" = Never ]; }

# weakened FILE LABEL: each barrier is needed
weakened() {
	local n number said status=0
	number=$(grep -c '// without:' "$1")
	[ "$number" -gt 0 ] || { echo "no barrier is marked"; return 1; }
	for ((n = 1; n <= number; n++)); do
		without "$n" "$1" >"$work/$2-$n.litmus"
		said=$(observed "$work/$2-$n.litmus")
		[ "$said" = Sometimes ] || [ "$said" = Always ] ||
			{ echo "${said:-nothing} without: $(grep -m "$n" '// without:' "$1" | tail -n 1)"; status=1; }
	done
	echo "$number barriers"
	return "$status"
}

order() {
	local file label
	for file in "$here"/litmus/*.litmus; do
		label=${file##*/}
		label=${label%.litmus}
		result "$label: never" never "$file"
		result "$label: without any of its barriers, sometimes" weakened "$file" "$label"
	done
	echo "done"
}

order | ktap
exit "${PIPESTATUS[1]}"
