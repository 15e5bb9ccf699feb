#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Fuzzes the three parsers of the command stackbuf, each for MINUTES (default 10): the
# arrays, the text of stacks to decode, and dump files.

# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "${BASH_SOURCE[0]%/*}/../lib.sh"

minutes=${MINUTES:-10}

# fuzz WHAT COMMAND...: runs a fuzzer: no crash, leak or undefined behaviour, and enough inputs
fuzz() {
	local what=$1 runs
	shift
	"$@" >"$work/fuzz.log" 2>&1 || { grep -m 5 -E 'ERROR|SUMMARY|runtime error' "$work/fuzz.log"; tail -n 5 "$work/fuzz.log"; return 1; }
	runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/fuzz.log")
	echo "# $what: $minutes minutes, $runs inputs" >>"$work/inputs"
	[ "${runs:-0}" -gt 1000 ]
}

dumps() {
	make -s -C "$top/tools" O="$work" "$work/fuzz_dump" && mkdir "$work/dumps" && cd "$work" &&
		./fuzz_dump -max_total_time=$((minutes * 60)) -timeout=20 -rss_limit_mb=1024 -max_len=4000 \
			-print_final_stats=1 dumps
}

all() {
	: >"$work/inputs"
	result "arbitrary bytes as arrays" fuzz arrays make -s -C "$top/tools" O="$work" MINUTES="$minutes" fuzz
	result "arbitrary bytes as text" fuzz text make -s -C "$top/tools" O="$work" MINUTES="$minutes" fuzz-text
	result "arbitrary bytes as dumps" fuzz dumps dumps
	cat "$work/inputs"
	echo "done"
}

all | ktap
