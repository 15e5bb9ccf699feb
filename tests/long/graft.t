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
small_tree() { # DIRECTORY
	local file
	rm -rf "$1"
	mkdir -p "$1"/{lib,init,include/linux,Documentation/dev-tools}
	for file in "${concerned[@]}"; do cp "$source/$file" "$1/$file" || return; done
	# As the kernel has it
	printf "%s\n" ".*" "!.gitignore" "!.kunitconfig" >"$1/.gitignore"
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
	rm -rf "$work/orig" "$work/twice"
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
		--ignore LINUX_VERSION_CODE,CONSTANT_COMPARISON,MACRO_ARG_UNUSED,EMBEDDED_FUNCTION_NAME,LONG_LINE_STRING "$work/patch"
}

bad_input() {
	small_tree "$tree" && refused 'no such directory' "$tree/none" && refused 'no kernel.s source tree' "$top" && refused 'wanted' &&
		refused 'no option' --link "$tree" || return
	small_tree "$tree" && echo '# mine' >>"$tree/lib/Makefile" && refused 'lib/Makefile has changes that are not committed' "$tree" || return
	small_tree "$tree" && mkdir "$tree/lib/stackbuf" && touch "$tree/lib/stackbuf/x.c" && refused 'is not ours' "$tree" || return
	small_tree "$tree" && echo mine >"$tree/include/linux/stackbuf.h" && refused 'is not ours' "$tree" || return
	small_tree "$tree" && "$graft" "$tree" && echo '/* mine */' >>"$tree/lib/stackbuf/core/save.c" &&
		refused 'core/save.c was added or changed' "$tree" && refused 'core/save.c was added or changed' --remove "$tree" || return
	# What a build leaves there
	small_tree "$tree" && "$graft" "$tree" && git -C "$tree" add -A && git -C "$tree" commit -qm graft && touch "$tree/lib/stackbuf/stackbuf_features.h" &&
		"$graft" "$tree" && rm "$tree/lib/stackbuf/.grafted" && "$graft" "$tree" && "$graft" --remove "$tree" && [ ! -e "$tree/lib/stackbuf" ] || return
	small_tree "$tree" && "$graft" "$tree" && echo '/* mine */' >"$tree/lib/stackbuf/core/mine.c" &&
		refused 'core/mine.c was added or changed' "$tree" || return
	# By a name that is relative
	(cd "${tree%/*}" && refused 'core/mine.c was added or changed' "${tree##*/}" && rm "$tree/lib/stackbuf/core/mine.c" &&
		"$graft" "${tree##*/}" 2>"$work/said" && "$graft" --remove "${tree##*/}" 2>>"$work/said" && [ ! -s "$work/said" ]) || return
	# With the beginning of a name of ours, a hidden one, one that git ignores
	for file in core/print .mine my.patch; do
		small_tree "$tree" && "$graft" "$tree" && { [ "$file" != my.patch ] || { git -C "$tree" add -A && git -C "$tree" commit -qm graft && echo '*.patch' >>"$tree/.git/info/exclude"; }; } &&
			echo mine >"$tree/lib/stackbuf/$file" && refused "lib/stackbuf/$file was added or changed" --remove "$tree" || return
	done
	# Any file that no build makes; what the message says leads on
	small_tree "$tree" && cp -a "$tree" "$work/orig2" && "$graft" "$tree" && touch "$tree/lib/stackbuf/"{notes.txt,save.o} &&
		refused 'lib/stackbuf/notes.txt was added or changed' "$tree" && refused 'notes.txt was added or changed' --remove "$tree" &&
		(cd "$work" && eval "$(sed 's/.*then: //' "$work/said")") && "$graft" "$tree" && "$graft" --remove "$tree" && same "$work/orig2" "$tree" || return
	# A build's own files name it
	small_tree "$tree" && mkdir -p "$tree/fs" && "$graft" "$tree" && echo 'KSYMTAB_FUNC(stackbuf_save, "", "");' | tee "$tree/.vmlinux.export.c" "$tree/fs/mine.mod.c" &&
		echo '/* stackbuf_save */' >"$tree/.tmp_vmlinux1.kallsyms.S" && "$graft" --remove "$tree" && [ ! -e "$tree/lib/stackbuf" ] || return
	# Code still calls it
	small_tree "$tree" && mkdir -p "$tree/fs" && "$graft" "$tree" && printf '#include <linux/stackbuf.h>\n' >"$tree/fs/mine.c" &&
		refused '^stackbuf-graft: 1 file(s) outside of lib/stackbuf still use it: fs/mine.c: ' --remove "$tree" && "$graft" --remove --force "$tree" &&
		[ ! -e "$tree/lib/stackbuf" ] && refused 'force is for --remove' --force "$tree" || return
	# Committed, and changed since
	small_tree "$tree" && "$graft" "$tree" && git -C "$tree" add -A && git -C "$tree" commit -qm graft && rm "$tree/lib/stackbuf/.grafted" &&
		echo '/* mine */' >>"$tree/include/linux/stackbuf.h" && refused 'was added or changed' "$tree" || return
	small_tree "$tree" && sed -i '/trap_init/d' "$tree/init/main.c" && git -C "$tree" commit -qam other &&
		refused 'init/main.c is not laid out as known' "$tree"
}

# A call at the beginning of this function's code
insert_call() { # FILE FUNCTION
	awk -v name="$2" '
		/^#include <linux\// && !included { print "#include <linux/stackbuf.h>"; included = 1 }
		{ print }
		index($0, name "(") && !/;/ && /^[a-z]/ { inside = 1 }
		inside && /^{/ { print "\tu32 __maybe_unused stackbuf_here = stackbuf_save();"; inside = 0; done = 1 }
		END { exit !done }' "$work/linux/$1" >"$work/with-call" && cat "$work/with-call" >"$work/linux/$1"
}

kernel_make() { make -s -j2 -C "$work/linux" O="$work/kernel" "${words[@]}" "$@" >"$work/make.log" 2>&1; }

# configure STACKBUF: a small kernel with CONFIG_STACKBUF=y or m
configure() {
	mkdir -p "$work/kernel" && kernel_make tinyconfig && {
		grep -h '^CONFIG_' "$top/scripts/machine/kernel/base.config"
		# Less to compile; and by tinyconfig it warns as for 32 bits
		printf 'CONFIG_%s\n' NET=n SECURITY=n SUSPEND=n FRAME_WARN=2048 "STACKBUF=$1"
		# What QEMU's machine for arm64 has
		printf 'CONFIG_%s=y\n' PCI_HOST_GENERIC SERIAL_AMBA_PL011 SERIAL_AMBA_PL011_CONSOLE SERIAL_8250_PCI RTC_DRV_PL031
	} >>"$work/kernel/.config" && kernel_make olddefconfig && grep -qx "CONFIG_STACKBUF=$1" "$work/kernel/.config"
}

# compiled STACKBUF TARGET...
compiled() {
	configure "$1" || { tail -n 5 "$work/make.log"; return 1; }
	shift
	kernel_make "$@" || { grep -B 5 'rror' "$work/make.log"; return 1; }
	if grep -A 5 'stackbuf.*warning' "$work/make.log"; then return 1; fi
}

# in_machine WHAT APPEND OPTION...: runs the guest's script
in_machine() {
	local name kernel words cross reader='' append=$2 what=$1
	shift 2
	name=$("$top/scripts/machine/stackbuf-kernel" -k "$work/kernel" 2>"$work/said") && kernel_of "$name" ||
		{ echo "not ok $what: the kernel that was built is taken"; sed 's/^/# /' "$work/said"; return; }
	rm -rf "$work/vm" "$work/out"
	mkdir -p "$work/vm" "$work/out" && cp "$here/guest/lib.sh" "$work/vm/" && cp "$here/guest/graft.sh" "$work/vm/run" &&
		echo "$what" >"$work/vm/what" && find "$work/kernel" \( -name stackbuf.ko -o -name qemu_fw_cfg.ko \) -exec cp {} "$work/vm/" \;
	echo "# $what"
	build_reader "$name" || echo "not ok there is a command for it"
	APPEND=$append boot "$name" -x "$reader:stackbuf" "$@"
	grep -qx 'done' "$work/guest.log" || echo "not ok the guest's script ran to its end"
	# Or each run would leave a kernel in the cache
	rm -rf "$kernel" "${kernel%/*}/lock.${kernel##*/}"
}

from_the_vmcore() {
	"$tools/stackbuf" -f "$work/out/vmcore" info >"$work/info" && "$tools/stackbuf" -f "$work/out/vmcore" log --json >"$work/log" ||
		return
	grep -E 'found by|recorded|damaged|missing' "$work/info"
	head -n 1 "$work/log"
	tail -n 1 "$work/log"
	head -n 1 "$work/log" | grep -q 'start_kernel' && grep -q 'do_sys_openat2' "$work/log" && grep -q 'vfs_read' "$work/log"
}

kunit() {
	(cd "$work/linux" && make -s mrproper && python3 tools/testing/kunit/kunit.py run --arch x86_64 --make_options CC=gcc-12 \
		--make_options HOSTCC=gcc-12 --jobs 2 --timeout 600 --build_dir "$work/kunit" --kunitconfig lib/stackbuf) >"$work/kunit.log" 2>&1 ||
		{ tail -n 20 "$work/kunit.log"; return 1; }
	grep -E 'PASSED|FAILED|Testing complete' "$work/kunit.log"
	[ "$(grep -c 'PASSED.*[a-z]_[a-z]' "$work/kunit.log")" = "$(grep -c 'KUNIT_CASE(' "$top/scripts/graft/stackbuf_kunit.c")" ]
}

series() {
	local words=(CC=gcc-12 HOSTCC=gcc-12)
	source=$("$top/scripts/machine/stackbuf-kernel" -t "$1") || return
	tree=$work/tree
	result "in, twice, and out again" in_and_out
	result "as a patch for git am" as_patch
	result "... at which checkpatch is silent" silent
	result "what cannot be is refused in one line" bad_input

	rm -rf "$work/linux" "$work/kernel"
	build_tools all && cp -a "$source" "$work/linux" && "$graft" "$work/linux" && insert_call fs/open.c do_sys_openat2 &&
		insert_call mm/util.c kstrdup && insert_call mm/memblock.c memblock_add || echo "not ok there are calls"
	result "built in, it compiles" compiled y bzImage vmlinux modules
	in_machine y 'stackbuf.probe=vfs_read,t:kmem:kfree stackbuf.verify=1' -K -e
	result "the vmcore has it all, from the first event on" from_the_vmcore
	# shellcheck disable=SC2016
	[ "$1" != 6.1 ] || in_machine kept 'memmap=32M$0x8000000 reboot=t stackbuf.keep=0x8000000:32M stackbuf.probe=no_such_function' -r
	result "as a module, it compiles" compiled m bzImage vmlinux modules
	in_machine m ''
	if [ "$1" != 6.1 ]; then
		rm -rf "$work/kernel"
		words=(ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- CC=aarch64-linux-gnu-gcc-12 HOSTCC=gcc-12)
		result "for arm64, it compiles" compiled y Image vmlinux modules
		in_machine y 'stackbuf.probe=vfs_read,t:kmem:kfree stackbuf.verify=1' -e
		rm -rf "$work/kernel"
		result "KUnit" kunit
	fi
	echo "done"
}

export GIT_AUTHOR_NAME=me GIT_AUTHOR_EMAIL=me@example.com GIT_COMMITTER_NAME=me GIT_COMMITTER_EMAIL=me@example.com
on_each_kernel "stackbuf in the kernel's own code" series 6.1 6.12
