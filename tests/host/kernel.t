#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# make test-kernel KERNEL=FOLDER: what it refuses, and what it reports about a configuration

set -u

here=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd) || exit 1
top=${here%/*/*}
w=$(mktemp -d "${TMPDIR:-/var/tmp}/kernel.t.XXXXXX") || exit 1
trap 'rm -rf -- "$w"' EXIT
trap 'exit 130' INT TERM HUP

n=0
result() {
	n=$((n + 1))
	if "${@:2}" >"$w/diag" 2>&1; then
		echo "ok $n $1"
	else
		echo "not ok $n $1"
		sed 's/^/# /' "$w/diag"
	fi
}

# refuses FOLDER PATTERN: fails with status 1 and one line that matches; docs/runs.md stays
refuses() {
	local rc

	cp "$top/docs/runs.md" "$w/page"
	env STACKBUF_CACHE="$w/cache" "$top/tests/proof" kernel "$1" >"$w/out" 2>"$w/err"
	rc=$?
	echo "status $rc"
	cat "$w/out" "$w/err"
	[ "$rc" = 1 ] && [ ! -s "$w/out" ] && [ "$(wc -l <"$w/err")" = 1 ] && grep -qE -- "^[a-z-]*: .*$2" "$w/err" &&
		cmp "$w/page" "$top/docs/runs.md" &&
		[ -z "$(find "$w/cache" ! -type d ! -name 'lock*' 2>/dev/null)" ]
}

by_make() {
	! make -s -C "$top" test-kernel "$@" >"$w/out" 2>"$w/err" || return
	cat "$w/err"
	[ "$(grep -vc '^make' "$w/err")" = 1 ]
}

# folder NAME OPTION...: imitates a build folder of kbuild, for x86-64 with these options
folder() {
	mkdir -p "$w/$1/arch/x86/boot" "$w/$1/include/config"
	echo 6.6.9 >"$w/$1/include/config/kernel.release"
	touch "$w/$1"/{arch/x86/boot/bzImage,vmlinux,Module.symvers,modules.order}
	# For make
	# shellcheck disable=SC2016
	printf 'modules_install:\n\t@mkdir -p $(INSTALL_MOD_PATH)/lib/modules/6.6.9\n' >"$w/$1/Makefile"
	printf 'CONFIG_%s\n' 'CC_VERSION_TEXT="gcc-12 (Debian 12.2.0-14) 12.2.0"' X86_64=y "${@:2}" >"$w/$1/.config"
}

# All options that scripts/kernel/needs requires
mapfile -t needed < <(awk '$3 == "need" && $2 != "aarch64" && /^[A-Z]/ {
	print $1 ($1 ~ /UARTS/ ? "=4" : "=y") }' "$top/scripts/kernel/needs")

echo "KTAP version 1"
echo "1..11"
result "no folder is named" by_make
result "by make: no such folder" by_make KERNEL="$w/nothing"
result "no such folder" refuses "$w/nothing" '/nothing: no such folder$'
result "a file" refuses "$top/README.md" 'README.md: no such folder$'
mkdir "$w/empty"
result "a folder in which no kernel was built" refuses "$w/empty" '/empty is no folder that a kernel was built in: it has no \.config$'
mkdir "$w/riscv"
printf '%s\n' '#' '# Automatically generated file; DO NOT EDIT.' '# Linux/riscv 6.6.9 Kernel Configuration' '#' \
	CONFIG_64BIT=y CONFIG_RISCV=y >"$w/riscv/.config"
result "a kernel of another architecture" refuses "$w/riscv" 'is for riscv: the tests run on x86-64 and arm64 only$'
folder configured "${needed[@]}"
rm "$w/configured/arch/x86/boot/bzImage"
result "a kernel that was configured and not built" refuses "$w/configured" 'was not built, .*bzImage is missing; run make there$'
folder old "${needed[@]}"
echo 5.10.1 >"$w/old/include/config/kernel.release"
result "a kernel that is too old" refuses "$w/old" 'is 5\.10\.1: stackbuf needs 5\.15 or later$'
folder other "${needed[@]}" KPROBES=y
sed -i 's/"gcc-12 /"gcc-of-another-machine /' "$w/other/.config"

named() {
	env STACKBUF_CACHE="$w/cache" "$top/scripts/stackbuf-kernel" -k "$1" >"$w/out" 2>"$w/err"
	echo "status $?"
	cat "$w/out" "$w/err"
}

compiler() {
	named "$w/other"
	[ ! -s "$w/out" ] && tail -n 1 "$w/err" | grep "was built by 'gcc-of-another-machine .*', which is not here$"
}
result "a kernel by a compiler that is not here" compiler

without() {
	folder little "${needed[@]}"
	sed -i '/^CONFIG_\(DEBUG_FS\|PCI\)=/d; s/UARTS=4/UARTS=2/' "$w/little/.config"
	named "$w/little"
	[ ! -s "$w/out" ] && grep 'CONFIG_DEBUG_FS is not set: ' "$w/err" &&
		grep 'CONFIG_KPROBES is not set: ' "$w/err" &&
		grep 'CONFIG_SERIAL_8250_RUNTIME_UARTS is 2: ' "$w/err" &&
		tail -n 1 "$w/err" | grep 'cannot run .*without CONFIG_DEBUG_FS CONFIG_PCI CONFIG_SERIAL_8250_RUNTIME_UARTS$'
}
result "options that are missing are named, a line each; without some it does not run" without

known() {
	local name dir

	folder whole "${needed[@]}" UNWINDER_ORC=y PREEMPT=y
	named "$w/whole"
	name=$(cat "$w/out")
	[[ $name =~ ^6\.6-own[0-9a-f]{8}$ ]] && grep 'CONFIG_KPROBES is not set: ' "$w/err" || return
	dir=$(STACKBUF_CACHE="$w/cache" "$top/scripts/stackbuf-kernel" "$name") || return
	cat "$dir/what"
	[ "$(cat "$dir/what")" = "6.6.9, x86-64, gcc-12, UNWINDER_ORC, PREEMPT" ] && [ "$(cat "$dir/make")" = CC=gcc-12 ] &&
		[ "$(readlink -f "$dir/build")" = "$(readlink -f "$w/whole")" ] && [ -d "$dir/modules" ]
}
result "one with all that is needed gets a name, by which it is a kernel like others" known
