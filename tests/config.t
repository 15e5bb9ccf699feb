#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Kernels that are configured in ways that no kernel here is: the module is compiled for
# them by changing what a header says.  It cannot be loaded.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

kernel=$("$top/scripts/stackbuf-kernel" 6.12) || exit 1

# compile CC [WORD...]: the module with the header $work/other.h and these words for make; what was
# said is in $work/log
compile() {
	local compiler=$1
	shift
	rm -rf "$work/build"
	make -s -C "${tree:-$top}" module BUILD="$work/build" KDIR="$kernel/build" W=1 CC="$compiler" \
		KCFLAGS="-include $work/other.h" "$@" >"$work/log" 2>&1
	local status=$?
	# Neither is about this code
	sed -i -E '/^Skipping BTF generation/d; /^warning: the compiler differs/,+2d' "$work/log"
	return $status
}

compiles() {
	compile "$@" && [ ! -s "$work/log" ] || { cat "$work/log"; return 1; }
}

# refused WORDS: the first error says them
refused() {
	if compile gcc; then echo "it compiled"; return 1; fi
	grep -m 1 'error:' "$work/log" | grep -F "#error \"$1" || { cat "$work/log"; return 1; }
}

{
	cat >"$work/other.h" <<-'END'
		#undef CONFIG_UNWINDER_ORC
		#define CONFIG_UNWINDER_GUESS 1
	END
	for compiler in gcc clang; do
		result "CONFIG_UNWINDER_GUESS, which leaves no recall: $compiler, no warnings" compiles "$compiler" \
			CONFIG_UNWINDER_ORC= CONFIG_UNWINDER_GUESS=y
	done

	# As CONFIG_RANDSTRUCT may have it: something between a task's pid and its tgid
	cat >"$work/other.h" <<-'END'
		#define tgid apart; pid_t tgid __attribute__((unused))
		#include <linux/sched.h>
		#undef tgid
		#undef pr_fmt
		#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt
	END
	result "pid and tgid that are no neighbours: gcc, no warnings" compiles gcc

	echo '#undef CONFIG_KPROBES' >"$work/other.h"
	result "no CONFIG_KPROBES: gcc, no warnings" compiles gcc

	echo '#undef CONFIG_KALLSYMS' >"$work/other.h"
	result "no CONFIG_KALLSYMS: refused in one sentence" refused "stackbuf needs CONFIG_KALLSYMS"
	# Whatever else the kernel's headers say then
	printf '#undef CONFIG_X86_64\n#include "%s/core/compat.h"\n' "${tree:-$top}" >"$work/other.h"
	result "another architecture: refused in one sentence" refused "stackbuf knows x86-64 and arm64"
	echo "done"
} | ktap
