#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# make test-kernel KERNEL=DIRECTORY: what it refuses, and what it reports about a configuration

# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "${BASH_SOURCE[0]%/*}/../lib.sh"

# refuses DIRECTORY PATTERN: fails with status 1 and one line that matches
refuses() {
	local rc
	env STACKBUF_CACHE="$work/cache" "$top/tests/suite" kernel "$1" >"$work/out" 2>"$work/err"
	rc=$?
	echo "status $rc"
	cat "$work/out" "$work/err"
	[ "$rc" = 1 ] && [ ! -s "$work/out" ] && [ "$(wc -l <"$work/err")" = 1 ] && grep -qE -- "^[a-z-]*: .*$2" "$work/err" &&
		[ -z "$(find "$work/cache" ! -type d ! -name 'lock*' 2>/dev/null)" ]
}

by_make() {
	! make -s -C "$top" test-kernel "$@" >"$work/out" 2>"$work/err" || return
	cat "$work/err"
	[ "$(grep -vc '^make' "$work/err")" = 1 ]
}

# directory NAME OPTION...: imitates a build directory of kbuild, for x86-64 with these options
directory() {
	mkdir -p "$work/$1/arch/x86/boot" "$work/$1/include/config"
	echo 6.6.9 >"$work/$1/include/config/kernel.release"
	touch "$work/$1"/{arch/x86/boot/bzImage,vmlinux,Module.symvers,modules.order}
	# For make
	# shellcheck disable=SC2016
	printf 'modules_install:\n\t@mkdir -p $(INSTALL_MOD_PATH)/lib/modules/6.6.9\n' >"$work/$1/Makefile"
	printf 'CONFIG_%s\n' 'CC_VERSION_TEXT="gcc-12 (Debian 12.2.0-14) 12.2.0"' X86_64=y "${@:2}" >"$work/$1/.config"
}

# All options that scripts/machine/kernel/needs requires
mapfile -t needed < <(awk '$3 == "need" && $2 != "aarch64" && /^[A-Z]/ {
	print $1 ($1 ~ /UARTS/ ? "=4" : "=y") }' "$top/scripts/machine/kernel/needs")

named() {
	env STACKBUF_CACHE="$work/cache" "$top/scripts/machine/stackbuf-kernel" -k "$1" >"$work/out" 2>"$work/err"
	echo "status $?"
	cat "$work/out" "$work/err"
}

compiler() {
	local name package
	while read -r name package; do
		sed -i "s/^CONFIG_CC_VERSION_TEXT=.*/CONFIG_CC_VERSION_TEXT=\"$name (Debian) 99.2.0\"/" "$work/other/.config"
		named "$work/other"
		[ ! -s "$work/out" ] && tail -n 1 "$work/err" |
			grep "was built by '$name .*', which is not here: install it (on Debian the package $package)$" || return
	done <<-END
		gcc-99 gcc-99
		$(uname -m)-linux-gnu-gcc-99 gcc-99
		sparc64-linux-gnu-gcc-99 gcc-99-sparc64-linux-gnu
	END
}

without() {
	directory little "${needed[@]}"
	sed -i '/^CONFIG_\(DEBUG_FS\|PCI\)=/d; s/UARTS=4/UARTS=2/' "$work/little/.config"
	named "$work/little"
	[ ! -s "$work/out" ] && grep 'CONFIG_DEBUG_FS is not set: ' "$work/err" &&
		grep 'CONFIG_KPROBES is not set: ' "$work/err" &&
		grep 'CONFIG_SERIAL_8250_RUNTIME_UARTS is 2: ' "$work/err" &&
		tail -n 1 "$work/err" | grep 'cannot run .*without CONFIG_DEBUG_FS CONFIG_PCI CONFIG_SERIAL_8250_RUNTIME_UARTS$'
}

known() {
	local name dir
	directory whole "${needed[@]}" UNWINDER_ORC=y PREEMPT=y
	named "$work/whole"
	name=$(cat "$work/out")
	[[ $name =~ ^6\.6-own[0-9a-f]{8}$ ]] && grep 'CONFIG_KPROBES is not set: ' "$work/err" || return
	dir=$(STACKBUF_CACHE="$work/cache" "$top/scripts/machine/stackbuf-kernel" "$name") || return
	cat "$dir/what"
	[ "$(cat "$dir/what")" = "6.6.9, x86-64, gcc-12, UNWINDER_ORC, PREEMPT" ] && [ "$(cat "$dir/make")" = CC=gcc-12 ] &&
		[ "$(readlink -f "$dir/build")" = "$(readlink -f "$work/whole")" ] && [ -d "$dir/modules" ]
}

{
	result "no directory is named" by_make
	result "by make: no such directory" by_make KERNEL="$work/nothing"
	result "no such directory" refuses "$work/nothing" '/nothing: no such directory$'
	result "a file" refuses "$top/README.md" 'README.md: no such directory$'
	mkdir "$work/empty"
	result "a directory in which no kernel was built" refuses "$work/empty" '/empty is no directory that a kernel was built in: it has no \.config$'
	mkdir "$work/riscv"
	printf '%s\n' '#' '# Automatically generated file; DO NOT EDIT.' '# Linux/riscv 6.6.9 Kernel Configuration' '#' \
		CONFIG_64BIT=y CONFIG_RISCV=y >"$work/riscv/.config"
	result "a kernel of another architecture" refuses "$work/riscv" 'is for riscv: the tests run on x86-64 and arm64 only$'
	directory configured "${needed[@]}"
	rm "$work/configured/arch/x86/boot/bzImage"
	result "a kernel that was configured and not built" refuses "$work/configured" 'was not built, .*bzImage is missing; run make there$'
	directory other "${needed[@]}" KPROBES=y
	result "a kernel by a compiler that is not here" compiler
	result "options that are missing are named, a line each; without some it does not run" without
	result "one with all that is needed gets a name, by which it is a kernel like others" known
	echo "done"
} | ktap
