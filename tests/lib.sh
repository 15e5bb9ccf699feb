# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# lib.sh - for the tests that boot a machine

set -u

here=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
top=${here%/*}
work=$(mktemp -d "${TMPDIR:-/var/tmp}/stackbuf-test.XXXXXX") || exit 1
trap 'rm -rf -- "$work"' EXIT
trap 'exit 1' HUP INT TERM

# build SERIES NAME [VARIABLE=VALUE...]: both modules of that build into $work/vm/NAME
build() {
	local series=$1 name=$2 kernel
	shift 2

	kernel=$("$top/scripts/stackbuf-kernel" "$series") || return
	make -s -C "$top" module BUILD="$work/build/$series-$name" KDIR="$kernel/build" TESTS=1 "$@" \
		>"$work/make.log" 2>&1 || { sed 's/^/# /' "$work/make.log"; return 1; }
	mkdir -p "$work/vm/$name" &&
		cp "$work/build/$series-$name/stackbuf.ko" "$work/build/$series-$name/tests/stackbuf_test.ko" \
			"$work/vm/$name/"
}

# result TEXT COMMAND...
result() {
	local text=$1 said
	shift
	if said=$("$@" 2>&1); then
		echo "ok $text"
	else
		echo "not ok $text"
		printf '%s\n' "$said" | head -n 20 | sed 's/^/# /'
	fi
}

# ktap: "ok TEXT" and "not ok TEXT" of standard input, numbered, with a plan.
# Without a last word "done" something went missing: that is a failure, too.
ktap() {
	local line number=0 lines=() finished='' failed=0

	while IFS= read -r line; do
		case $line in
		"ok "*) lines+=("ok $((++number)) ${line#ok }") ;;
		"not ok "*) lines+=("not ok $((++number)) ${line#not ok }") failed=1 ;;
		"done") finished=1 ;;
		*) lines+=("# ${line#\# }") ;;
		esac
	done
	if [ -z "$finished" ]; then
		lines+=("not ok $((++number)) it ran to its end")
		failed=1
	fi
	printf '%s\n' "KTAP version 1" "1..$number" "${lines[@]}"
	return "$failed"
}

# Where the instructions of the module $1 begin: lines FUNCTION OFFSET
instructions() {
	objdump -d -j .text --no-show-raw-insn "$1" | awk '
		/^[0-9a-f]+ <.*>:$/ { start = $1; name = substr($2, 2, length($2) - 3) }
		/^ +[0-9a-f]+:/ { sub(":", "", $1); print name, start, $1 }' |
		while read -r name start at; do
			printf '%s %x\n' "$name" $((0x$at - 0x$start))
		done
}
