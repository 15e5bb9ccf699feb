#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# check.t: checks that need no virtual machine: compiler warnings, style, spelling,
# and what the Makefile refuses

# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "${BASH_SOURCE[0]%/*}/../lib.sh"

cd "$top" || exit 1

# judge STATUS TEXT: a result, and $work/log below it if STATUS is not 0.
before=0
judge() {
	[ $((SECONDS - before)) -lt 5 ] || echo "# $((SECONDS - before)) s"
	before=$SECONDS
	if [ "$1" -eq 0 ]; then
		echo "ok $2"
	else
		echo "not ok $2"
		head -n 40 "$work/log" | sed 's/^/# /'
	fi
}

# Files of the project: those that git tracks or, in an unpacked archive, all.
files() {
	git ls-files -co --exclude-standard 2>/dev/null ||
		find . -path ./build -prune -o -path ./.git -prune -o -type f -printf '%P\n'
}

mapfile -t all < <(files | while read -r file; do [ ! -f "$file" ] || echo "$file"; done)
# Files that cannot hold a comment.
no_spdx='^(LICENSE$|tests/field/logs$|.*\.md$|tools/tests/.*\.txt$|.*\.json$|.*/corpus/|debian/(changelog|source/format)$)'
scripts=()
sources=()
for file in "${all[@]}"; do
	case $file in
	*.[ch]) sources+=("$file") ;;
	*) [[ $(head -c 64 "$file" | head -n 1 | tr -d '\0') =~ ^'#!'.*/(ba|)sh$|^'#!'.*env\ bash$ ]] && scripts+=("$file") ;;
	esac
done

# Each compiler once, and each kernel: gcc and sparse take the files apart, clang those of the tests as well;
# with STACKBUF_TEST_ALL all of it on both
pairs=(6.1:gcc 6.12:clang)
compilers=(gcc)
sizes=(262144)
lint=(warnings 'gcc and clang')
sparse=()
apart=() together=(UNIT=y TESTS=1 C=0) unit=(UNIT=y C=0)
# Those of kernels that check indirect calls, which make test-debug builds; and of others than 6.1, the one here
others='^core/(recall_fp|frame_record|return_fprobe|tracepoint_own|tracepoint_stub)\.c$'
if [ -n "${STACKBUF_TEST_ALL:-}" ]; then
	pairs=({6.1,6.12}:{gcc,clang})
	compilers+=(clang)
	sizes+=(4)
	lint=(lint 'gcc, clang and cppcheck')
	sparse=(C=2)
	apart=(TESTS=1) together=(TESTS=1) unit=()
	others='^core/tracepoint_(own|stub)\.c$'
fi

# silent TEXT WORD...: a result, the module built for $kernel with these words for make and without
# a message.  Adds the files of core/ that were compiled to $work/alone.
silent() {
	local status
	# sparse checks only files that are compiled: use a fresh directory.
	make -s -j2 module KDIR="$kernel/build" BUILD="$work/silent" W=1 C=2 CONFIG_DEBUG_INFO= \
		CONFIG_DEBUG_INFO_BTF_MODULES= "${@:2}" >"$work/log" 2>&1
	status=$?
	# These messages do not concern our code.
	sed -i -E '/^Skipping BTF generation/d; /^warning: the compiler differs/,+2d' "$work/log"
	# A reader of a dump would take its page in the page cache for one of the record
	! LC_ALL=C grep -aqF $'\x89stkbuf' "$work/silent/stackbuf.ko" || echo "stackbuf.ko holds STACKBUF_MAGIC" >>"$work/log"
	[ "$status" -eq 0 ] && [ ! -s "$work/log" ]
	judge $? "$1"
	(cd "$work/silent/core" && printf '%s\n' ./*.o | sed 's,^./,core/,; s/o$/c/') >>"$work/alone"
	cp "$work/silent/stackbuf_features.h" "$work/"
	rm -rf "$work/silent"
}

all_tests() {

for pair in "${pairs[@]}"; do
	series=${pair%:*} compiler=${pair#*:}
	text="$series headers, $compiler, W=1: no warnings"
	if kernel=$(scripts/machine/stackbuf-kernel "$series" 2>"$work/log"); then
		if [ "$compiler" = gcc ]; then
			silent "$text" CC="$compiler" "${apart[@]}"
		else
			silent "$text" CC="$compiler" "${together[@]}"
		fi
	else
		judge 1 "$text"
	fi
done

kernel=$(scripts/machine/stackbuf-kernel 6.12 2>"$work/log")

# No kernel here has frame pointers: compile for one, without linking.
cat >"$work/other.h" <<'END'
#undef CONFIG_UNWINDER_ORC
#define CONFIG_UNWINDER_FRAME_POINTER 1
#define CONFIG_FRAME_POINTER 1
END
for compiler in "${compilers[@]}"; do
	silent "unwinding by frame pointers, $compiler, W=1: no warnings" CC="$compiler" "${unit[@]}" CONFIG_UNWINDER_ORC= \
		CONFIG_UNWINDER_FRAME_POINTER=y KCFLAGS="-include $work/other.h"
done

# The last build was for 6.12, which has these; stable kernels may get more
printf '%s\n' HEX_H SAVE_TASK MODULE_MEMORY FILTER_IPS HK_TYPE RESERVE_MEM LARGE_TWICE CACHE_FREE_CACHE TIMER_DELETE_SYNC DEPOT_INIT OBJPOOL \
	FPROBE_RET_IP | while read -r feature; do
	grep -x "#define SBUF_HAS_$feature 1" "$work/stackbuf_features.h" >/dev/null || echo "6.12 has $feature"
done >"$work/log"
grep -q '"kmalloc", "call_site ptr bytes_req bytes_alloc gfp_flags node"' "$work/stackbuf_features.h" || echo "the arguments of kmalloc" >>"$work/log"
[ ! -s "$work/log" ]
judge $? "core/features.sh finds what 6.12 has"

# Each file was compiled to an object of its own, and none includes another.
printf '%s\n' core/*.c | grep -vxFf "$work/alone" | grep -vE "$others" >"$work/log"
grep -nE '^#include ".*\.c"' stackbuf.c core/* >>"$work/log"
[ ! -s "$work/log" ]
judge $? "each file of core/ compiles alone"

{ tests/helpers/includes.py --headers core && tests/helpers/includes.py tools; } >"$work/log" 2>&1
[ ! -s "$work/log" ]
judge $? "no circle of includes"

# A source file for each header, which includes nothing else, and one for code without stackbuf.
mkdir -p "$work/headers" && ln -s "$top"/{core,stackbuf.h,stackbuf_format.h} "$work/headers/" || exit 1
objects=()
for header in core/*.h stackbuf.h stackbuf_format.h; do
	name=${header//[\/.]/_}
	objects+=("$name.o")
	printf '#include "%s"\n' "$header" >"$work/headers/$name.c"
done
objects+=(disabled.o)
cat >"$work/headers/disabled.c" <<'END'
#include <linux/gfp.h>

#define STACKBUF_DISABLED
#include "stackbuf.h"

int disabled(struct pt_regs *regs, struct task_struct *task, char *buf, size_t size);
int disabled(struct pt_regs *regs, struct task_struct *task, char *buf, size_t size)
{
	struct stackbuf_trace trace = {}, *copy = stackbuf_trace_create(GFP_KERNEL);
	u32 id = stackbuf_save() + stackbuf_save_tag(1) + stackbuf_save_regs(regs, 1);

	stackbuf_print();
	stackbuf_print_id(id);
	stackbuf_trace_zero(&trace);
	stackbuf_trace_save(&trace);
	stackbuf_trace_print(&trace);
	stackbuf_trace_print_short(&trace);
	if (copy)
		stackbuf_trace_copy(&trace, copy);
	stackbuf_trace_destroy(copy);
	return stackbuf_save_task(task, 1, &id) + stackbuf_trace_put(&trace, 1) +
		stackbuf_trace_save_task(&trace, task) +
		stackbuf_trace_snprint(buf, size, &trace, STACKBUF_TRACE_LONG);
}
END
{
	echo "obj-m := ${objects[*]}"
	echo "ccflags-y := -I$work -I$work/headers -DSTACKBUF_EVENTS_KB=4 -DSTACKBUF_STACKS_KB=4 -DSTACKBUF_TEXT_KB=4 -DSTACKBUF_FRAMES=64"
} >"$work/headers/Kbuild"
make -s -j2 -C "$kernel/build" M="$work/headers" W=1 "${sparse[@]}" "${objects[@]}" >"$work/log" 2>&1
sed -i -E '/^warning: the compiler differs/,+2d' "$work/log"
[ ! -s "$work/log" ] && [ -e "$work/headers/disabled.o" ]
judge $? "each header compiles alone, and code without stackbuf: no warnings"

# checkpatch TYPES FILE...: runs it without these types of message.  It leaves a
# cache in the current directory, so run it in another; --root must have include/.
checkpatch() {
	local ignore=$1
	shift
	mkdir -p "$work/include"
	(cd "$work" && "$kernel/checkpatch.pl" --no-tree --root="$work" --strict --terse --no-summary --color=never \
		--ignore "FILE_PATH_CHANGES,$ignore" -f "${@/#/$top/}") >"$work/log" 2>&1
}
mapfile -t kernel_sources < <(printf '%s\n' "${sources[@]}" | grep -vE '^(tools|tests/guest|tests/core)/')
mapfile -t user_sources < <(printf '%s\n' "${sources[@]}" | grep -E '^(tools|tests/guest)/')
# An out-of-tree module compares versions and has macros for calls of other versions.
# Messages of tests begin with the name of the tested call.
checkpatch LINUX_VERSION_CODE,CONSTANT_COMPARISON,MACRO_ARG_UNUSED,EMBEDDED_FUNCTION_NAME,LONG_LINE_STRING \
	"${kernel_sources[@]}"
judge $? "checkpatch --strict, kernel: ${#kernel_sources[@]} files"
# Advice on kernel types, macros and calls does not apply to user space.
checkpatch PREFER_KERNEL_TYPES,CAMELCASE,PREFER_DEFINED_ATTRIBUTE_MACRO,PREFER_PRINTF,STRCPY,STRLCPY,SSCANF_TO_KSTRTO,NAKED_SSCANF,CONSTANT_COMPARISON,NEW_TYPEDEFS,VOLATILE,CONSIDER_KSTRTO,AVOID_EXTERNS,BIT_MACRO,MACRO_ARG_REUSE,OPEN_ENDED_LINE,SPLIT_STRING,STRNCPY,LONG_LINE_STRING,PARENTHESIS_ALIGNMENT \
	"${user_sources[@]}"
judge $? "checkpatch --strict, user space: ${#user_sources[@]} files"

mapfile -t core_sources < <(printf '%s\n' "${sources[@]}" | grep -E '^tests/core/')
# The shim has the kernel's macros in short forms.
checkpatch PREFER_KERNEL_TYPES,LINUX_VERSION_CODE,COMPLEX_MACRO,MACRO_ARG_UNUSED,MACRO_ARG_REUSE,MACRO_ARG_PRECEDENCE,MACRO_WITH_FLOW_CONTROL,MEMORY_BARRIER,DATA_RACE,IS_ENABLED_CONFIG,MINMAX,FUNCTION_ARGUMENTS,STATIC_CONST_CHAR_ARRAY,LINE_SPACING,QUOTED_WHITESPACE_BEFORE_NEWLINE,AVOID_EXTERNS,PREFER_DEFINED_ATTRIBUTE_MACRO,PREFER_PRINTF,CONSTANT_COMPARISON,VOLATILE,LONG_LINE_STRING,SPLIT_STRING,NEW_TYPEDEFS,CAMELCASE,SPACING \
	"${core_sources[@]}"
judge $? "checkpatch --strict, core/ in programs: ${#core_sources[@]} files"

# Of the kernel's macros and ours those that evaluate an argument twice, which neither compilers nor checkpatch tell
! grep -nE '\b(swap|DIV_ROUND_UP|IS_ALIGNED|GROW)\([^;]*(\+\+|--)' "${sources[@]}" >"$work/log"
judge $? "no side effect in an argument that a macro evaluates twice"

shellcheck "${scripts[@]}" >"$work/log" 2>&1
judge $? "shellcheck: ${#scripts[@]} files"

# parm is a word of modinfo, .TE of troff; fo is a variable.
codespell --quiet-level=3 -L parm,fo,te "${all[@]}" >"$work/log" 2>&1
judge $? "codespell: ${#all[@]} files"

mapfile -t marked < <(printf '%s\n' "${all[@]}" | grep -vE "$no_spdx|^\.checkpatch-camelcase")
awk 'FNR <= 3 && /SPDX-License-Identifier: GPL-2\.0( |$)/ { has[FILENAME] = 1 }
	FNR == 3 { nextfile }
	END { for (i = 1; i < ARGC; i++) if (!has[ARGV[i]]) print ARGV[i] " has no SPDX line" }' "${marked[@]}" >"$work/log"
[ ! -s "$work/log" ]
judge $? "every file says that its license is GPL-2.0"

tests/helpers/fault.py check . >"$work/log" 2>&1
judge $? "deliberate faults fit the code"

while read -r what text; do
	tests/host/docs "$what" >"$work/log" 2>&1
	judge $? "documents: $text"
done <<'END'
paths files and headings that they name exist
names identifiers that they name are in the sources
code names of code in them and in comments exist, barriers where they are said to be
barriers docs/design.md has each function of core/ with a memory barrier
keys stackbuf-json(5) has all keys, and no others
parameters stackbuf(4) has all parameters, and no others
prose no phrase to be rewritten in them, in comments and in messages; no line above 120 columns
END

text="documents: docs/testing.md has results of the code as it was 50 commits ago or later"
if [ "$(git rev-parse --show-toplevel --is-shallow-repository 2>/dev/null | paste -sd ' ')" = "$(pwd -P) false" ]; then
	tests/host/docs results >"$work/log" 2>&1
	judge $? "$text"
else
	echo "ok $text # SKIP no history is here"
fi

if [ -e tools/Makefile ]; then
	# Other tests may be building there
	mkdir -p build &&
		flock build/tools.lock make -s --no-print-directory -C tools "${lint[0]}" >"$work/log" 2>&1
	judge $? "tools: ${lint[1]}: no warnings"
else
	echo "ok tools: ${lint[1]}: no warnings # SKIP no tools here"
fi

# refused TEXT COMMAND...: fails with this text in one line, besides make's own lines.
refused() {
	local text=$1
	shift
	rm -rf "$work"/refused*
	"$@" >"$work/log" 2>&1 && { echo "was accepted" >>"$work/log"; return 1; }
	grep -qE -- "$text" "$work/log" && [ "$(grep -vc '^make' "$work/log")" -eq 1 ] && [ ! -e "$work/refused" ]
}

status=0
for size in 0 3 6 -4 4k 1e4 262148 99999999999999999999 '' '4 4'; do
	refused 'EVENTS_KB=' make module KDIR="$kernel/build" BUILD="$work/refused" EVENTS_KB="$size" || { status=1; break; }
	refused 'STACKS_KB=' make module KDIR="$kernel/build" BUILD="$work/refused" STACKS_KB="$size" || { status=1; break; }
done
for frames in 0 7 128 1000 x '' -8; do
	refused 'FRAMES=.* 8 to 127' make module KDIR="$kernel/build" BUILD="$work/refused" FRAMES="$frames" || { status=1; break; }
done
[ "$status" -eq 0 ] && refused '24 to 262144 KiB' make module KDIR="$kernel/build" BUILD="$work/refused" PAIRS_KB=20 &&
	refused '4 to 4096 KiB' make module KDIR="$kernel/build" BUILD="$work/refused" TEXT_KB=4100
judge $? "the Makefile refuses sizes that make no sense"

refused 'is no kernel build directory' make module KDIR="$work/nothing" BUILD="$work/refused"
judge $? "the Makefile refuses a KDIR that is none"

refused 'blanks' make module KDIR="$kernel/build" BUILD="$work/refused a"
judge $? "the Makefile refuses directories with blanks, as kbuild cannot"

status=0
for size in "${sizes[@]}"; do
	make -s module UNIT=y CONFIG_DEBUG_INFO= CONFIG_DEBUG_INFO_BTF_MODULES= KDIR="$kernel/build" \
		BUILD="$work/size" EVENTS_KB="$size" STACKS_KB="$size" \
		TEXT_KB=$((size > 4096 ? 4096 : size)) >"$work/log" 2>&1 || { status=1; break; }
done
judge $status "these sizes build, in KiB: ${sizes[*]}"

echo "done"
}

all_tests | ktap
