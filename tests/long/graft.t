#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# scripts/stackbuf-graft: stackbuf in the kernel's own source, built in and as a module, on Debian's
# sources with a small configuration; and for arm64, and its KUnit tests.

# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "${BASH_SOURCE[0]%/*}/../lib.sh"

graft=$top/scripts/stackbuf-graft
concerned=(Makefile MAINTAINERS lib/Kconfig.debug lib/Makefile init/main.c Documentation/dev-tools/index.rst)

# As much of a kernel's tree as the script needs, under git
small_tree() { # FOLDER
	local file

	rm -rf "$1"
	mkdir -p "$1"/{lib,init,include/linux,Documentation/dev-tools}
	for file in "${concerned[@]}"; do cp "$source/$file" "$1/$file" || return; done
	git -C "$1" init -q && git -C "$1" add -A && git -C "$1" commit -qm base
}

same() { diff -r --exclude=.git "$1" "$2"; }

# refused WORDS OPTION...: one line that has these words, and nothing is changed
refused() {
	local words=$1
	shift
	rm -rf "$work/before"
	[ ! -e "$tree" ] || cp -a "$tree" "$work/before"
	if "$graft" "$@" 2>"$work/said"; then echo "accepted"; return 1; fi
	cat "$work/said"
	[ "$(wc -l <"$work/said")" = 1 ] && grep -q "$words" "$work/said" && { [ ! -e "$tree" ] || diff -r "$work/before" "$tree"; }
}

in_and_out() {
	small_tree "$tree" && cp -a "$tree" "$work/orig" && "$graft" "$tree" && [ -e "$tree/lib/stackbuf/core/save.c" ] &&
		! cmp -s "$tree/init/main.c" "$work/orig/init/main.c" && cp -a "$tree" "$work/twice" &&
		"$graft" "$tree" && same "$work/twice" "$tree" &&
		git -C "$tree" add -A && git -C "$tree" commit -qm graft && rm "$tree/lib/stackbuf/.grafted" &&
		"$graft" "$tree" && same "$work/twice" "$tree" &&
		"$graft" --remove "$tree" && same "$work/orig" "$tree"
}

as_patch() {
	small_tree "$tree" && "$graft" --patch "$tree" >"$work/patch" && [ -z "$(git -C "$tree" status --porcelain)" ] &&
		git -C "$tree" am -q <"$work/patch" && "$graft" "$tree" && [ -z "$(git -C "$tree" status --porcelain)" ]
}

silent() {
	perl "$source/scripts/checkpatch.pl" --no-tree --strict --terse --no-summary --color=never \
		--ignore "$(sed -n 's/^recorder_ignores=//p' "$here/check.t"),UNKNOWN_COMMIT_ID" "$work/patch"
}

bad_input() {
	tree=$work/none refused 'no such folder' "$tree/none" && refused 'no kernel.s source tree' "$top" && refused 'wanted' &&
		refused 'no option' --link "$tree" || return
	small_tree "$tree" && sed -i 's/^PATCHLEVEL = .*/PATCHLEVEL = 14/; s/^VERSION = .*/VERSION = 5/' "$tree/Makefile" &&
		refused 'is Linux 5.14' "$tree" || return
	small_tree "$tree" && echo '# mine' >>"$tree/lib/Makefile" && refused 'lib/Makefile has changes that are not committed' "$tree" || return
	small_tree "$tree" && mkdir "$tree/lib/stackbuf" && refused 'is not ours' "$tree" || return
	small_tree "$tree" && "$graft" "$tree" && echo '/* mine */' >>"$tree/lib/stackbuf/core/save.c" &&
		refused 'core/save.c was changed' "$tree" && refused 'core/save.c was changed' --remove "$tree" || return
	small_tree "$tree" && sed -i '/trap_init/d' "$tree/init/main.c" && git -C "$tree" commit -qam other &&
		refused 'init/main.c is not laid out as known' "$tree"
}

# A call at the beginning of this function's code
insert_call() { # FILE FUNCTION
	awk -v function_name="$2" '
		/^#include <linux\// && !included { print "#include <linux/stackbuf.h>"; included = 1 }
		{ print }
		index($0, function_name "(") && !/;/ && /^[a-z]/ { inside = 1 }
		inside && /^{/ { print "\tu32 __maybe_unused stackbuf_here = stackbuf_save();"; inside = 0; done = 1 }
		END { exit !done }' "$1" >"$work/with-call" && cat "$work/with-call" >"$1"
}

# configure ARCHITECTURE OPTION=VALUE...: of $work/kernel, small
configure() {
	local arch=$1
	shift
	make -s -C "$work/linux" O="$work/kernel" "${words[@]}" tinyconfig &&
		{ grep -h '^CONFIG' "$top/scripts/machine/kernel/base.config" && printf 'CONFIG_%s\n' "$@"; } >>"$work/kernel/.config" &&
		make -s -C "$work/linux" O="$work/kernel" "${words[@]}" olddefconfig
}

compiled() { # TARGET...
	make -s -j2 -C "$work/linux" O="$work/kernel" "${words[@]}" "$@" >"$work/make.log" 2>&1 || { tail -n 20 "$work/make.log"; return 1; }
	! grep -A 5 'stackbuf.*warning' "$work/make.log"
}

in_machine() { # WHAT APPEND OPTION...
	local status append=$2 what=$1 name
	shift 2
	name=$("$top/scripts/machine/stackbuf-kernel" -k "$work/kernel") || return
	rm -rf "$work/vm" "$work/out"
	mkdir -p "$work/vm" "$work/out" && cp "$here/guest/lib.sh" "$work/vm/" && cp "$here/guest/graft.sh" "$work/vm/run" && echo "$what" >"$work/vm/what"
	[ "$what" != m ] || find "$work/kernel/lib" -name stackbuf.ko -exec cp {} "$work/vm/" \;
	APPEND=$append boot "$name" -x "$tools/stackbuf:stackbuf" "$@"
	status=1
	! grep -qx 'done' "$work/guest.log" || status=0
	return $status
}

# What the dump has, which QEMU wrote while the kernel panicked
from_the_dump() {
	"$tools/stackbuf" -f "$work/out/dump" info >"$work/info" && "$tools/stackbuf" -f "$work/out/dump" log --last 20 >"$work/log" || return
	cat "$work/info"
	grep -q 'do_sys_openat2+0x' "$work/log" && ! grep -q '0x[0-9a-f]\{16\}' "$work/log"
}

series() {
	local words=(CC=gcc-12 HOSTCC=gcc-12)

	source=$("$top/scripts/machine/stackbuf-kernel" -t "$1") || return
	tree=$work/tree
	export GIT_AUTHOR_NAME=me GIT_AUTHOR_EMAIL=me@example.com GIT_COMMITTER_NAME=me GIT_COMMITTER_EMAIL=me@example.com
	result "in, twice, and out again" in_and_out
	result "as a patch for git am" as_patch
	result "... at which checkpatch is silent" silent
	result "what cannot be is refused in one line" bad_input

	rm -rf "$work/linux" "$work/kernel"
	build_tools all && cp -a "$source" "$work/linux" && "$graft" "$work/linux" && mkdir "$work/kernel" &&
		insert_call "$work/linux/fs/open.c" do_sys_openat2 && insert_call "$work/linux/mm/util.c" kstrdup &&
		insert_call "$work/linux/mm/memblock.c" memblock_add && configure x86 STACKBUF=y || { echo "not ok it is grafted"; return; }
	result "built in: it compiles" compiled bzImage vmlinux modules
	in_machine y 'stackbuf.probe=vfs_read,t:kmem:kfree,no_such_function stackbuf.comm=' -e
	result "the dump of a panic" from_the_dump
	result "as a module: it compiles" eval 'configure x86 STACKBUF=m && compiled bzImage vmlinux modules'
	in_machine m ''
	[ "$1" = 6.1 ] || { result "KUnit" kunit; words=(ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- CC=aarch64-linux-gnu-gcc-12 HOSTCC=gcc-12); rm -rf "$work/kernel"; mkdir "$work/kernel"; result "arm64: it compiles" eval 'configure arm64 STACKBUF=y && compiled vmlinux'; }
	echo "done"
}

kunit() {
	(cd "$work/linux" && python3 tools/testing/kunit/kunit.py run --arch x86_64 --make_options CC=gcc-12 --make_options HOSTCC=gcc-12 \
		--jobs 2 --timeout 600 --build_dir "$work/kunit" --kunitconfig lib/stackbuf) >"$work/kunit.log" 2>&1
	tail -n 25 "$work/kunit.log"
	grep -q 'PASSED.* same_path_same_id' "$work/kunit.log" && grep -Eq 'Testing complete.*[Ff]ail(ed|ed:)? ?:? ?0|Passed: |passed: ' "$work/kunit.log" && ! grep -q 'FAILED' "$work/kunit.log"
}

on_each_kernel "stackbuf in the kernel's own code" series 6.1 6.12
