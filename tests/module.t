#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests stackbuf.ko on each kernel: tests/guest/module.sh in a machine, then checks of
# the module's files on the host.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

exports() {
	local call

	for call in $(grep -o 'stackbuf_[a-z_]*(' "$top/stackbuf.h" | sort -u | tr -d '('); do
		case $call in
		# Inline: nothing to export, so it must be defined, before the calls and not only for
		# code without stackbuf
		stackbuf_trace_copy | stackbuf_trace_put | stackbuf_trace_zero)
			sed '/^#ifndef STACKBUF_DISABLED/,$d' "$top/stackbuf.h" |
				grep -q "^static inline [a-z]* $call(" && grep -q "\<$call(" "$top"/tests/modules/test_*.c ||
				{ echo "$call is not inline, or not used by the test module"; return 1; }
			continue
			;;
		esac
		"${cross}nm" "$work/vm/big/stackbuf.ko" | grep -q " __ksymtab_$call\$" ||
			{ echo "$call is not exported"; return 1; }
		"${cross}nm" -u "$work/vm/big/stackbuf_test.ko" | grep -q " $call\$" ||
			{ echo "$call is not used by the test module"; return 1; }
	done
	for call in stackbuf stackbuf_info stackbuf_events stackbuf_stacks; do
		"${cross}nm" "$work/vm/big/stackbuf.ko" | grep -q "^[0-9a-f]* [BR] $call\$" ||
			{ echo "$call is not in .bss"; return 1; }
		"${cross}nm" "$work/vm/big/stackbuf.ko" | grep -q " __ksymtab_$call\$" ||
			{ echo "$call is not exported"; return 1; }
	done
}

# One license: in LICENSE, in every tag, and in the module
license() {
	local file

	grep -q 'Version 2, June 1991' "$top/LICENSE" || { echo "LICENSE is not version 2"; return 1; }
	[ "$(modinfo -F license "$work/vm/big/stackbuf.ko")" = GPL ] || { echo "modinfo"; return 1; }
	while IFS= read -r file; do
		head -n 3 "$file" | grep -Eq 'SPDX-License-Identifier: GPL-2\.0( |$)' ||
			{ echo "$file: no SPDX tag of GPL-2.0 in its first lines"; return 1; }
	done < <(find "$top"/Kbuild "$top"/Makefile "$top"/*.[ch] "$top"/core "$top"/scripts "$top"/tests "$top"/tools \
		\( -name '*.[ch]' -o -name Kbuild -o -name Makefile -o -name '*.sh' -o -name '*.t' -o -name 'stackbuf-*' \) -type f)
}

# The first frame of the event recorded on load leads to the call in the present source
source_line() {
	local frame offset line

	frame=$(cat "$work/out/first.frame") || return
	offset=${frame#*+}
	offset=$((${offset%%/*}))
	# The function is the first of its section; the call is before the return address
	line=$("${cross}addr2line" -e "$work/vm/big/stackbuf.ko" -j .init.text \
		"$(printf '%#x' $((0x$("${cross}nm" "$work/vm/big/stackbuf.ko" | awk '$3 ~ /^(stackbuf_init|init_module)$/ { print $1; exit }') + offset - 1)))")
	line=${line%% *}
	case $line in
	*/stackbuf.c:*) ;;
	*) echo "$frame is $line"; return 1 ;;
	esac
	sed -n "${line##*:}p" "$top/stackbuf.c" | grep 'stackbuf_save()' || { echo "$line"; return 1; }
}

module() {
	local series=$1 kernel words cross slow=1

	kernel_of "$series" || return
	[[ $series != *-@(debug|kcsan) ]] || slow=10

	! grep -q '^CONFIG_UNWINDER_FRAME_POINTER=y' "$kernel/build/.config" || touch "$work/vm/records"
	guest "$series" module && echo "$slow" >"$work/vm/slow" && build_sbcheck "$series" &&
		build "$series" big &&
		"${cross}nm" "$work/vm/big/stackbuf_test.ko" |
		awk '$3 ~ /^long_a_name/ { print length($3); exit }' >"$work/vm/long" &&
		{ ! thorough || build "$series" again KCFLAGS="-DSBUF_FIRST_ROUND=0x100000000"; } &&
		build "$series" small EVENTS_KB=64 STACKS_KB=64 TEXT_KB=64 ||
		echo "not ok everything is built"
	boot "$series" -a log_buf_len=4M
	result "defect 7: one licence everywhere" license
	result "defect 8: a frame of today's log is at the call in today's source" source_line
	result "defect 9: every call is exported, and used by another module" exports
	ended
}

on_each_kernel "the module" module 6.12
