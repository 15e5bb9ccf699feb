#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# What packages are made of: one version, the archive of the source, "make install" with the headers for
# modules that call stackbuf, examples, the service's script and unit, the specs.  No package is installed.

# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "${BASH_SOURCE[0]%/*}/../lib.sh"

export LC_ALL=C
# As users build it only in "make test-all": in one unit takes half the time
thorough || export UNIT=y
version=$(sed -n 's/^VERSION := //p' "$top/Makefile")
source=$work/unpacked/stackbuf-$version
root=$work/root
kernel_of 6.1 || exit 1

one_version() {
	local spec
	[[ $version =~ ^[0-9]+(\.[0-9]+)+$ ]] && head -n 1 "$top/debian/changelog" | grep "^stackbuf ($version) " &&
		grep -m 1 '^## ' "$top/CHANGELOG.md" | grep "^## $version " || return
	for spec in "$top"/packaging/*.spec.in; do
		grep -x 'Version:  *@VERSION@' "$spec" || { echo "${spec##*/} has a version of its own"; return 1; }
	done
}

archive() {
	mkdir -p "$work/unpacked" && copy_of_tree "$work/copy" &&
		make -s -C "$work/copy" dist SOURCE_DATE_EPOCH=1000000000 && cp "$work/copy/build/stackbuf-$version.tar.gz" "$work/first" &&
		make -s -C "$work/copy" dist SOURCE_DATE_EPOCH=1000000000 && cmp "$work/first" "$work/copy/build/stackbuf-$version.tar.gz" &&
		tar -xf "$work/first" -C "$work/unpacked" && rm -rf "$work/copy/build" && diff -r "$work/copy" "$source"
}

# git cannot list its files, and O= is kbuild's
no_archive() {
	mkdir "$work/copy/.git" "$work/kept" || return
	! make -s -C "$work/copy" dist >"$work/said" 2>&1 && grep -q '^stackbuf: no archive: ' "$work/said" && [ -z "$(ls "$work/copy/build")" ] || { cat "$work/said"; return 1; }
	make -s -C "$work/copy" clean O="$work/kept" >"$work/said" 2>&1 && O="$work/kept" make -s -C "$work/copy" clean >"$work/said" 2>&1 && [ -d "$work/kept" ] || return
	! make -s -C "$work/copy/tools" clean O="$work/kept" 2>"$work/said" && [ -d "$work/kept" ] && grep -q 'not made here' "$work/said"
}

# The module, as DKMS has no sources of tests, and the command
builds() {
	rm -rf "$source/tests" "$source/build" && mkdir -p "$source/build" &&
		make -s -C "$source" module KDIR="$kernel/build" BUILD="$source/ko" >"$work/said" 2>&1 && build_tools all &&
		ln -s "$tools" "$source/build/tools" || { cat "$work/said"; return 1; }
	[ "$(modinfo -F version "$source/ko/stackbuf.ko")" = "$version" ]
}

# Where the kernel has no key to sign with, as Debian's headers
quiet() {
	make -s -C "$source" install KDIR="$kernel/build" BUILD="$source/ko" DESTDIR="$root" PREFIX=/opt/sb >"$work/said" 2>"$work/err"
	rc=$?
	cat "$work/said" "$work/err"
	# Of 6.1, about the kernel's own depmod
	! grep -v "missing 'System.map' file. Skipping depmod" "$work/err" && ! grep -iE 'error|sign-file|ssl' "$work/said" && [ "$rc" = 0 ] &&
		[ -z "$(find "$root" ! -type d ! -path "$root/opt/sb/*" ! -path "$root/lib/modules/$(cat "$kernel/release")/*")" ]
}

client() {
	mkdir -p "$work/mine" || return
	# shellcheck disable=SC2016 # backquotes are Markdown's
	sed -n '/^```c$/,/^```$/p' "$top/docs/client.md" | sed '1d; $d' >"$work/mine/mine.c"
	printf 'obj-m := mine.o\ninclude %s\n' "$root/opt/sb/share/stackbuf/client.mk" >"$work/mine/Kbuild"
	make -s -C "$kernel/build" M="$work/mine" modules && [ "$(modinfo -F depends "$work/mine/mine.ko")" = stackbuf ] &&
		make -s -C "$kernel/build" M="$work/mine" clean || return
	mv "$root/opt/sb/lib/stackbuf" "$work/symbols" || return
	! make -s -C "$kernel/build" M="$work/mine" modules >"$work/said" 2>&1 || return
	mv "$work/symbols" "$root/opt/sb/lib/stackbuf"
	cat "$work/said"
	grep "stackbuf: the module is not built for the kernel $(cat "$kernel/release"): run " "$work/said" &&
		make -s -C "$kernel/build" M="$work/mine" clean
}

# DKMS leaves the module its debug information, and puts its symbols beside it
dkms() {
	# What DKMS sets
	# shellcheck disable=SC2034
	local kernel_source_dir=$kernel/build kernelver=9.9.0 arch=x86_64 STRIP=() POST_BUILD=''
	# shellcheck source=/dev/null
	. "$top/debian/stackbuf-dkms.dkms"
	[ "${STRIP[0]}" = no ] || { echo "DKMS strips the module"; return 1; }
	mkdir -p "$work/dkms/9.9.0/x86_64/module" "$work/dkms/build" && ln -s "$source/ko" "$work/dkms/build/ko" || return
	# A command with its argument
	# shellcheck disable=SC2086
	(cd "$work/dkms/build" && $top/$POST_BUILD) &&
		cmp "$source/ko/Module.symvers" "$work/dkms/9.9.0/x86_64/module/Module.symvers"
}

uninstalled() {
	# Of a kernel that is not the one of KDIR
	mkdir -p "$root"/{lib/modules/5.15.0-other/updates,opt/sb/lib/stackbuf/5.15.0-other} && touch "$root/lib/modules/5.15.0-other/updates/stackbuf.ko.xz" || return
	make -s -C "$source" uninstall KDIR="$kernel/build" DESTDIR="$root" PREFIX=/opt/sb &&
		[ -z "$(find "$root" ! -type d ! -name 'modules.*')" ] || { find "$root" ! -type d; return 1; }
}

# ------------------------------------------------------- examples, service ---

# Each parameter of the module, all of them comments
parameters() {
	modinfo -F parm "$source/ko/stackbuf.ko" | cut -d: -f1 | sort >"$work/has"
	sed -n 's/^#options stackbuf \([a-z_]*\)=.*/\1/p' "$top/packaging/modprobe.conf" | sort >"$work/says"
	! grep -v '^#\|^$' "$top/packaging/modprobe.conf" && [ -s "$work/has" ] && diff "$work/has" "$work/says"
}

# conf NAME...: stackbuf.conf sets what the script reads
conf() {
	grep -oE '^[A-Z]+=' "$top/scripts/service/stackbuf.conf" | sort >"$work/has"
	"$top/scripts/service/stackbuf-service" -h | sed -n 's/^  \([A-Z][A-Z]*\)  .*/\1=/p' | sort | diff "$work/has" - &&
		sh -n "$top/scripts/service/stackbuf.conf"
}

# says PATTERN VARIABLE=VALUE...: the service refuses to start, in one line
says() {
	! env PATH="$work/fake:$PATH" "${@:2}" "$top/scripts/service/stackbuf-service" start >"$work/said" 2>&1 || { echo "started"; return 1; }
	cat "$work/said"
	[ "$(wc -l <"$work/said")" = 1 ] && grep -qE -- "$1" "$work/said"
}

# With a modprobe that prints what kmod does
service() {
	local fake=$work/fake
	[ ! -e /sys/module/stackbuf ] || { echo "stackbuf is loaded here: not tried"; return; }
	# shellcheck disable=SC2016 # for the fake modprobe
	mkdir -p "$fake" && printf '#!/bin/sh\necho 0\n' >"$fake/id" &&
		printf '#!/bin/sh\necho "$@" >"%s/given"\n[ -z "$SAYS" ] || { echo "$SAYS" >&2; exit 1; }\n' "$work" >"$fake/modprobe" &&
		chmod 755 "$fake"/* || return
	says 'WAIT=1x is no number' WAIT=1x && [ ! -e "$work/given" ] &&
		says 'the module no-such_module is not loaded after 0 seconds: see MODULES' WAIT=0 MODULES=no-such_module &&
		[ ! -e "$work/given" ] || return
	for said in 'Key was rejected by service' 'Required key not available'; do
		says 'mokutil --import /var/lib/dkms/mok.pub, reboot, and confirm' \
			SAYS="modprobe: ERROR: could not insert 'stackbuf': $said" || return
	done
	printf '#!/bin/sh\nprintf "%%s\\n" "probe:places (charp)" "pid:a process (uint)"\n' >"$fake/modinfo" && chmod 755 "$fake/modinfo" &&
		rm -f "$work/given" && says 'PARAMETERS: stackbuf has no parameter prob' PARAMETERS='prob=vfs_read pid=1' && [ ! -e "$work/given" ] || return
	says 'not loaded: modprobe: ERROR: .*Invalid argument; dmesg has more' SAYS="modprobe: ERROR: x: Invalid argument" || return
	# Words are split, also of several lines; patterns are not expanded
	(cd / && PARAMETERS=$'probe=a,*\n pid=1' SAYS='' PATH="$fake:$PATH" "$top/scripts/service/stackbuf-service" start) &&
		[ "$(cat "$work/given")" = 'stackbuf probe=a,* pid=1' ]
}

# As installed, below /opt/sb
unit() {
	local file=$root/opt/sb/lib/systemd/system/stackbuf.service
	grep -x 'ExecStart=/opt/sb/libexec/stackbuf/stackbuf-service start' "$file" && [ -x "$root/opt/sb/libexec/stackbuf/stackbuf-service" ] || return
	mkdir -p "$work/units" && sed "s,=/opt,=$root/opt," "$file" >"$work/units/stackbuf.service" &&
		systemd-analyze --man=no verify "$work/units/stackbuf.service" >"$work/said" 2>&1 && [ ! -s "$work/said" ] || { cat "$work/said"; return 1; }
	systemd-analyze security --offline=true --threshold=30 "$work/units/stackbuf.service"
}

specs() {
	local spec
	for spec in stackbuf stackbuf-kmod; do
		sed "s/@VERSION@/$version/" "$top/packaging/$spec.spec.in" >"$work/$spec.spec" &&
			rpmlint -c "$top/packaging/rpmlint.toml" "$work/$spec.spec" >"$work/said" 2>&1 && grep ' 0 errors, 0 warnings' "$work/said" ||
			{ cat "$work/said"; return 1; }
		[ "$(rpmspec -q --srpm --qf '%{version}' "$work/$spec.spec")" = "$version" ] || return
	done
}

no_mounts() {
	if [ "$(id -u)" != 0 ]; then
		echo 'only root can try it'
	elif ! unshare -m true 2>/dev/null; then
		echo 'unshare -m does not work here, as in a chroot'
	fi
}

# Debian's script, on a /var/lib of its own
purged() {
	local how
	sed '/^#DEBHELPER#/d' "$top/debian/stackbuf.postrm" >"$work/postrm"
	for how in remove purge; do
		# shellcheck disable=SC2016 # for the other shell
		unshare -m sh -c 'mount -t tmpfs none /var/lib && mkdir /var/lib/stackbuf && sh "$@" && ls /var/lib' - "$work/postrm" $how ||
			return
	done >"$work/left"
	# Removed it stays, purged it goes
	[ "$(cat "$work/left")" = stackbuf ] || { cat "$work/left"; return 1; }
}

{
	result "debian/changelog, CHANGELOG.md and the specs have the version of the Makefile" one_version
	result "make dist: the same bytes twice, all files" archive
	result "make dist without files is an error; make clean removes only what was built here" no_archive
	result "the unpacked archive builds, without git" builds
	result "make install is quiet without a key to sign with, and keeps to DESTDIR and PREFIX" quiet
	result "a client builds by what make install left, and without it one line says what to do" client
	result "DKMS strips nothing, and puts the module's symbols beside it" dkms
	result "packaging/modprobe.conf has each parameter of the module, as comments" parameters
	result "scripts/service/stackbuf.conf has the variables of stackbuf-service" conf
	result "stackbuf-service: what it waits for, passes on and refuses" service
	with systemd-analyze "the installed unit is valid, and exposed by 3.0 at most" unit
	result "make uninstall leaves nothing" uninstalled
	unless "$(no_mounts)" "purging Debian's package removes the service's record, removing it does not" purged
	with rpmlint "rpmlint accepts the specs" specs
	echo "done"
} | ktap
