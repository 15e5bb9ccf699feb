#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# usage.t: the help of every script; what scripts and the Makefile say about what is missing;
# the command alone, built and installed without a kernel

# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "${BASH_SOURCE[0]%/*}/../lib.sh"

export LC_ALL=C

# refuses STATUS PATTERN COMMAND...: this status, nothing on standard output, and one line on
# standard error, make's own lines aside, which matches
refuses() {
	local rc
	"${@:3}" >"$work/out" 2>"$work/err" </dev/null
	rc=$?
	echo "status $rc"
	cat "$work/out" "$work/err"
	[ "$rc" = "$1" ] && [ ! -s "$work/out" ] && [ "$(grep -vc '^make' "$work/err")" = 1 ] &&
		grep -v '^make' "$work/err" | grep -qE -- "$2"
}

# ---------------------------------------------------------------- scripts ---

helps() {
	local script name n=0
	for script in "$top"/scripts/{,*/}stackbuf-*; do
		[ -f "$script" ] || continue
		name=${script##*/}
		n=$((n + 1))
		[ -x "$script" ] && head -n 1 "$script" | grep '^#!/usr/bin/' || { echo "$name cannot be run"; return 1; }
		"$script" -h >"$work/short" 2>"$work/err" </dev/null && "$script" --help >"$work/long" 2>>"$work/err" </dev/null &&
			cmp "$work/short" "$work/long" && [ ! -s "$work/err" ] &&
			head -n 1 "$work/long" | grep "^Usage: $name\>" && grep -qE '^  -h, --help( |$)' "$work/long" &&
			! grep -nE '.{101}' "$work/long" || { cat "$work/err"; echo "$name: no help"; return 1; }
		refuses "$([ "$name" = stackbuf-vm ] && echo 125 || echo 2)" "^$name: .*--nonsense.*; try $name -h\$" \
			"$script" --nonsense || return
	done
	echo "$n scripts"
	[ "$n" -ge 8 ]
}

# without NAME...: makes $work/without, for PATH, with all programs but these
without() {
	rm -rf "$work/without" && mkdir "$work/without" || return
	ln -s /usr/bin/* /usr/sbin/* "$work/without/" 2>/dev/null
	(cd "$work/without" && rm -f "$@")
}

packages() {
	local script=$top/scripts dump=$top/README.md
	without crash nm gdb xz qemu-system-x86_64
	refuses 1 'crash is missing: install the package crash$' env PATH="$work/without" "$script/stackbuf-crash" "$dump" &&
		refuses 1 'nm is missing: install the package binutils$' env PATH="$work/without" "$script/stackbuf-decode" "$dump" &&
		refuses 1 'xz is missing: install the package xz-utils$' env PATH="$work/without" "$script/machine/stackbuf-kernel" 6.1 || return
	mkdir -p "$work/vm" && touch "$work/vm/run" || return
	# stackbuf-vm adds /usr/sbin to PATH, not /usr/bin
	refuses 125 'qemu-system-x86_64 is missing: install the package qemu-system-x86$' \
		env PATH="$work/without" "$script/machine/stackbuf-vm" "$work/vm" || return
	# A kernel with modules that zstd compressed
	without zstd
	mkdir -p "$work/cache/kernel/6.1/modules" && touch "$work/cache/kernel/6.1"/{release,modules/qemu_fw_cfg.ko.zst} &&
		refuses 125 'zstd is missing: install the package zstd$' \
			env PATH="$work/without" STACKBUF_CACHE="$work/cache" "$script/machine/stackbuf-vm" "$work/vm"
}

# The debug package of the release that ran, or that runs here
debug_package() {
	if [ -e "/usr/lib/debug/boot/vmlinux-$(uname -r)" ] || [ -e "/lib/modules/$(uname -r)/build/vmlinux" ]; then
		echo "vmlinux of this kernel is here: stackbuf-decode finds it"
	else
		echo 'vfs_read+0x1/0x2' >"$work/text"
		refuses 1 "install .* package.*, or name the file: -k" \
			"$top/scripts/stackbuf-decode" -s "$top/README.md" "$work/text" || return
	fi
	{ printf 'OSRELEASE=9.9.0-none\n'; head -c 5000 /dev/zero; } >"$work/dump"
	# Another file in place of vmlinux
	refuses 1 'LICENSE: no vmlinux .*vmlinuz, which boots, has none: install its debug package' \
		"$top/scripts/stackbuf-crash" -k "$top/LICENSE" "$work/dump" &&
		echo 'vfs_read+0x1/0x2' >"$work/text" &&
		refuses 1 'LICENSE' "$top/scripts/stackbuf-decode" -k "$top/LICENSE" -s "$top/README.md" "$work/text" || return
	while read -r release package; do
		{ printf 'OSRELEASE=%s\n' "$release"; head -c 5000 /dev/zero; } >"$work/dump"
		refuses 1 "install $package, or name the file: -k" "$top/scripts/stackbuf-crash" "$work/dump" || return
	done <<-END
		9.9.0-none its debug package
		9.9.0-1-cloud-amd64 Debian's package linux-image-9.9.0-1-cloud-amd64-dbg
		9.9.0-101-generic Ubuntu's package linux-image-9.9.0-101-generic-dbgsym
		5.15.0-200.131.27.el9uek.x86_64 its debug package
		5.14.0-362.8.1.el9_3.x86_64+rt its debug package
		5.14.0-362.8.1.el9_3.x86_64 the package kernel-debuginfo-5.14.0-362.8.1.el9_3.x86_64
	END
}

debuggers() {
	local gdb=$top/scripts/debugger/stackbuf-gdb.py drgn=$top/scripts/debugger/stackbuf-drgn.py file=$top/README.md
	refuses 2 'stackbuf-gdb.py: .*is for gdb; try stackbuf-gdb.py -h$' "$gdb" "$file" &&
		refuses 2 'stackbuf-drgn.py: .*runs within drgn; try stackbuf-drgn.py -h$' "$drgn" "$file"
}

# No machine is booted: the program is refused before
hidden() {
	local dir file status=0
	mkdir -p "$work/vm" && printf '#!/bin/sh\n' >"$work/vm/run" || return
	for dir in /tmp /run /dev/shm; do
		file=$(mktemp "$dir/usage.t.XXXXXX") || { echo "cannot write in $dir: not tried"; continue; }
		cp /bin/true "$file" && chmod 755 "$file" &&
			refuses 125 "^stackbuf-vm: -x $file: the guest has another /[a-z]*, so $file would be hidden there: copy it elsewhere, as to /var/tmp\$" \
				"$top/scripts/machine/stackbuf-vm" -x "$file" "$work/vm" || status=1
		rm -f "$file"
	done
	return $status
}

# ----------------------------------------------------------- the Makefile ---

# A copy of the tree with the command that is built already
tree() {
	mkdir -p "$work/tree/build" && cp -a "$top"/{Makefile,Kbuild,README.md,stackbuf*.[ch],man,packaging,scripts,tools} "$work/tree/" &&
		build_tools all && ln -sfn "$tools" "$work/tree/build/tools"
}

make_there() { make -C "$work/tree" --no-print-directory "$@"; }

# The command, scripts and pages, and no module, without a kernel's headers
alone() {
	local root=$work/root file version
	version=$(sed -n 's/^VERSION := //p' "$top/Makefile")
	make_there tools KDIR=/nonexistent && make_there install-tools KDIR=/nonexistent DESTDIR="$root" || return
	for file in sbin/stackbuf bin/stackbuf-crash bin/stackbuf-decode share/stackbuf/stackbuf-{gdb,drgn}.py; do
		[ -x "$root/usr/local/$file" ] || { echo "no $file"; return 1; }
	done
	for file in "$top"/man/*; do
		[ -e "$root/usr/local/share/man/man${file##*.}/${file##*/}" ] || { echo "no ${file##*/}"; return 1; }
	done
	# A relative one begins where make runs
	make_there install-tools KDIR=/nonexistent DESTDIR=pkg && diff -r "$root" "$work/tree/pkg" && [ ! -e "$work/tree/tools/pkg" ] &&
		make_there uninstall KDIR=/nonexistent DESTDIR=pkg && [ -z "$(find "$work/tree/pkg" ! -type d)" ] || return
	# Installed pages have the version, those of the tree have none
	[ ! -e "$root/lib" ] && "$root/usr/local/sbin/stackbuf" --version | grep -F "stackbuf $version," &&
		grep "^\.TH .* \"stackbuf $version\" " "$root/usr/local/share/man/man8/stackbuf.8" &&
		! grep -n '^\.TH .*[0-9]\.[0-9]' "$top"/man/* &&
		[ -s "$root/usr/local/share/bash-completion/completions/stackbuf" ]
}

# The installed scripts find the command where users' PATH lacks sbin
find_reader() {
	local bin=$work/root/usr/local/bin share=$work/root/usr/local/share/stackbuf
	without stackbuf
	# The dump is refused, and not that the command is missing
	printf '#!/bin/sh\n' >"$work/without/crash.new" && chmod 755 "$work/without/crash.new" &&
		mv "$work/without/crash.new" "$work/without/crash" || return
	refuses 1 'not a dump' env PATH="$work/without" "$bin/stackbuf-crash" "$top/README.md" || return
	PATH=$work/without python3 -c "import runpy; print(runpy.run_path('$share/stackbuf-drgn.py')['find_reader']())" |
		tee /dev/stderr | grep -q '/sbin/stackbuf$' || return
	! command -v gdb >/dev/null || PATH=$work/without gdb -nx -batch -ex "source $share/stackbuf-gdb.py" -ex 'python print(find_reader())' |
		tee /dev/stderr | grep -q '/sbin/stackbuf$' || return
	refuses 1 'the command stackbuf is missing: make tools, then make install-tools$' \
		env PATH="$work/without" bash -c "mkdir -p '$work/moved' && cp '$bin/stackbuf-crash' '$work/moved/' &&
			exec '$work/moved/stackbuf-crash' '$top/README.md'"
}

removed() {
	make_there uninstall KDIR=/nonexistent DESTDIR="$work/root" && [ -z "$(find "$work/root" ! -type d)" ] &&
		make_there uninstall KDIR=/nonexistent release=9.9.9-none PREFIX="$work/root"
}

# Of the directory, where the shell, make or kbuild would go astray
odd_names() {
	local name
	for name in co:lon "q'uote" 'pct%x' 'par(en)' 'bl ank'; do
		mkdir "$work/$name" && cp "$top/Makefile" "$work/$name/" &&
			refuses 2 "make cannot work in a directory with such a character in its name: .*/${name//[()]/.}\$" make -s -C "$work/$name" --no-print-directory tools &&
			refuses 2 "kbuild cannot work in a directory with such a character in its name: .*/${name//[()]/.}\$" make -s -C "$work/$name" --no-print-directory module || return
	done
}

# Nothing is installed
libraries() {
	refuses 2 'cannot build the command stackbuf: install the packages libpopt-dev, libjansson-dev, libdw-dev, zlib1g-dev, libkdumpfile-dev and libbpf-dev$' \
		make -s -C "$work/tree" --no-print-directory install-tools CC='gcc -nostdinc' DESTDIR="$work/nothing" &&
		refuses 2 'cannot build the command stackbuf: install the packages gcc and libc6-dev$' \
			make -s -C "$work/tree" --no-print-directory tools CC=no-such-compiler rpm= &&
		refuses 2 'cannot build the command stackbuf: install the packages gcc and glibc-devel$' \
			make -s -C "$work/tree" --no-print-directory tools CC=no-such-compiler rpm=y && [ ! -e "$work/nothing" ]
}

# The makefile of Debian's common headers is there, but nothing of one kernel
not_configured() {
	local common=$work/linux-headers-9.9.0-1-common
	mkdir -p "$common" "$work/source" && touch "$common/Makefile" "$work/source/Makefile" || return
	refuses 2 "KDIR=$common has only the headers .* in common: install the package linux-headers-9.9.0-1-amd64, or .*KDIR=/usr/src/linux-headers-RELEASE\$" \
		make -s -C "$work/tree" --no-print-directory module KDIR="$common" BUILD="$work/none" &&
		refuses 2 "KDIR=$work/source is a kernel's source that is not configured: name the directory" \
			make -s -C "$work/tree" --no-print-directory module KDIR="$work/source" BUILD="$work/none" &&
		refuses 2 'no headers for the running kernel 9.9.9-none: install the package linux-headers-9.9.9-none, .*by make tools, needs none' \
			make -s -C "$work/tree" --no-print-directory module release=9.9.9-none rpm= BUILD="$work/none" &&
		refuses 2 'no headers for the running kernel 5.14.0-1.el9: install the package kernel-devel-5.14.0-1.el9, ' \
			make -s -C "$work/tree" --no-print-directory module release=5.14.0-1.el9 rpm=y BUILD="$work/none" || return
	mkdir -p "$work/source/include/config" && echo 'CONFIG_MODULES=y' >"$work/source/include/config/auto.conf" &&
		refuses 2 'the kernel .* is built without CONFIG_KALLSYMS, which stackbuf needs$' \
			make -s -C "$work/tree" --no-print-directory module KDIR="$work/source" BUILD="$work/none" &&
		[ ! -e "$work/none" ]
}

# Imitates root, a kernel and a module of three parameters; insmod writes what it was given
load() {
	local fake=$work/fake said
	mkdir -p "$fake" "$work/kernel/include/generated" "$work/module" && touch "$work/module/stackbuf.ko" &&
		echo '#define UTS_RELEASE "9.9.0"' >"$work/kernel/include/generated/utsrelease.h" || return
	printf '#!/bin/sh\necho 0\n' >"$fake/id"
	printf '#!/bin/sh\necho 9.9.0\n' >"$fake/uname"
	printf '#!/bin/sh\nprintf "%%s\\n" "probe:names (charp)" "enable:bool" "pid:a number"\n' >"$fake/modinfo"
	printf '#!/bin/sh\necho "$@" >>"%s"\n' "$work/given" >"$fake/insmod"
	chmod 755 "$fake"/*
	set -- make -s -C "$work/tree" --no-print-directory load KDIR="$work/kernel" BUILD="$work/module"
	refuses 2 'no parameter prob: this module knows enable pid probe$' \
		env PATH="$fake:$PATH" "$@" PARAMS='pid=1 prob=vfs_read' && [ ! -e "$work/given" ] || return
	without insmod
	ln -sf "$fake"/{id,uname,modinfo} "$work/without/"
	refuses 2 'insmod or modinfo is missing: install the package kmod$' "$@" PATH="$work/without" || return
	if grep -q '^stackbuf ' /proc/modules; then
		echo "stackbuf is loaded here: the rest was not tried"
		return
	fi
	# shellcheck disable=SC2016 # for the fake insmod
	printf '#!/bin/sh\necho "insmod: ERROR: could not insert module stackbuf.ko: $SAYS" >&2; exit 1\n' >"$work/refusing"
	chmod 755 "$work/refusing" && mv "$fake/insmod" "$work/insmod" && mv "$work/refusing" "$fake/insmod" || return
	for said in 'Key was rejected by service' 'Required key not available'; do
		refuses 2 'mokutil --import /var/lib/dkms/mok.pub, reboot and confirm the key$' env PATH="$fake:$PATH" SAYS="$said" "$@" || return
	done
	mv "$work/insmod" "$fake/insmod" || return
	PATH="$fake:$PATH" "$@" PARAMS='enable probe=vfs_read' && [ "$(cat "$work/given")" = "$work/module/stackbuf.ko enable probe=vfs_read" ]
}

# What tests/run printed goes into the table of the page; of half a log nothing does
results_table() {
	local tree=$work/results page=$work/results/docs/testing.md row log=$work/suite.log commit
	local -x GIT_DIR=$tree/.git GIT_WORK_TREE=$tree GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
	mkdir -p "$tree/tests/host" "$tree/docs" "$tree/core" && cp "$top/tests"/{results,lib.sh} "$tree/tests/" &&
		cp "$top/tests/host/docs" "$tree/tests/host/" && echo 1 >"$tree/core/x.c" &&
		cp "$top/docs/testing.md" "$tree/docs/" && git init -q "$tree" 2>/dev/null && git add -A && git commit -qm one || return
	commit=$(git rev-parse --short=12 HEAD)
	cat >"$log" <<-'END'
		KTAP version 1
		    # Subtest: probe.t
		        ok 1 a
		        ok 2 b # SKIP c
		        not ok 3 d
		    not ok 1 probes on 9.9
		not ok 1 probe.t
	END
	refuses 1 'not the whole output of tests/run: docs/testing.md does not change$' "$tree/tests/results" "$log" &&
		cmp "$page" "$top/docs/testing.md" || return
	echo '1 passed, 1 failed, 1 skipped' >>"$log"
	refuses 1 "not of one commit, but of 'none': docs/testing.md does not change$" "$tree/tests/results" "$log" &&
		cmp "$page" "$top/docs/testing.md" || return
	cp "$log" "$log.dirty" && echo "# commit $commit and more" >>"$log.dirty" &&
		refuses 1 "not of one commit, but of '$commit and more': " "$tree/tests/results" "$log.dirty" || return
	echo "# commit $commit" >>"$log" && touch -d 2001-02-03 "$log" &&
		"$tree/tests/results" "$log" && cp "$page" "$work/page.once" && "$tree/tests/results" "$log" && cmp "$page" "$work/page.once" || return
	# All other lines stay
	row=$(diff "$top/docs/testing.md" "$page" | grep '^[<>]')
	echo "$row"
	[[ $row == '> | 9.9 |'*' **1/1/1** |'*" $commit | 2001-02-03 |" ]] && "$tree/tests/host/docs" results || return
	# Of other code, and of code that has changed more than 50 times since
	for n in {2..52}; do
		echo "$n" >"$tree/core/x.c" && git commit -qam "$n" || return
		[ "$n" != 2 ] || refuses 1 "the code has changed since its commit $commit: docs/testing.md does not change" "$tree/tests/results" "$log" || return
		[ "$n" != 51 ] || "$tree/tests/host/docs" results || return
	done
	! "$tree/tests/host/docs" results >"$work/said" && cat "$work/said" && grep -q "results of $commit: the code has changed 51 times since" "$work/said"
}

{
	result "a copy of the tree is made" tree
	result "every script has -h and --help, and refuses what it does not know" helps
	result "a program is missing: its package is named" packages
	result "vmlinux is missing: its package is named" debug_package
	result "stackbuf-gdb.py and stackbuf-drgn.py refuse what makes no sense" debuggers
	result "stackbuf-vm -x: a path that the guest hides is refused" hidden
	result "make tools and make install-tools need no kernel" alone
	result "installed scripts find the command beside them" find_reader
	result "make uninstall removes all of it, without a kernel" removed
	result "make tools and make install-tools without libraries: their packages are named" libraries
	result "names of directories in which make, a shell or kbuild goes astray are refused" odd_names
	result "KDIR is not a kernel that was configured: what to name" not_configured
	result "make load: a parameter that does not exist, and a key that the kernel does not know" load
	result "tests/results puts what was printed into the table, all of it or nothing" results_table
	echo "done"
} | ktap
