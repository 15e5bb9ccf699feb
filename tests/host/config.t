#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Kernel configurations that no kernel here has: the module is compiled for them with changed
# headers.  It cannot be loaded.

# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "${BASH_SOURCE[0]%/*}/../lib.sh"

kernel=$("$top/scripts/machine/stackbuf-kernel" 6.12) || exit 1

# compile CC [WORD...]: compiles the module with the header $work/other.h, with these words for
# make; messages go to $work/log
compile() {
	local compiler=$1
	shift
	rm -rf "$work/build"
	make -s -j2 -C "${tree:-$top}" module BUILD="$work/build" KDIR="$kernel/build" W=1 CC="$compiler" \
		UNIT=y CONFIG_DEBUG_INFO= CONFIG_DEBUG_INFO_BTF_MODULES= KCFLAGS="-include $work/other.h" "$@" >"$work/log" 2>&1
	local status=$?
	# These messages do not concern our code
	sed -i -E '/^Skipping BTF generation/d; /^warning: the compiler differs/,+2d' "$work/log"
	return $status
}

compiles() { compile "$@" && [ ! -s "$work/log" ] || { cat "$work/log"; return 1; }; }

# refused WORDS: the first error has these words
refused() {
	if compile gcc; then echo "it compiled"; return 1; fi
	grep -m 1 'error:' "$work/log" | grep -F "#error \"$1" || { cat "$work/log"; return 1; }
}

{
	cat >"$work/other.h" <<-'END'
		#undef CONFIG_UNWINDER_ORC
		#define CONFIG_UNWINDER_GUESS 1
	END
	for compiler in gcc $(few '' clang); do
		result "CONFIG_UNWINDER_GUESS, which leaves no recall: $compiler, no warnings" compiles "$compiler" \
			CONFIG_UNWINDER_ORC= CONFIG_UNWINDER_GUESS=y
	done

	# CONFIG_RANDSTRUCT may put a field between a task's pid and its tgid.  What linux/sched.h
	# defines before the source does must be the same
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
	echo 'typedef void (*cfi_check_fn)(void);' >"$work/other.h"
	result "CONFIG_CFI_CLANG before 6.1: refused in one sentence" refused "stackbuf needs the addresses of the kernel's functions"
	# The kernel's own headers may fail, too: look at the first error only
	printf '#undef CONFIG_X86_64\n#include "%s/core/arch.h"\n' "${tree:-$top}" >"$work/other.h"
	result "another architecture: refused in one sentence" refused "stackbuf knows x86-64 and arm64"
	echo "done"
} | ktap
