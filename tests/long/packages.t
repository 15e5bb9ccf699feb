#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# The Debian packages: built, and installed into a Debian 12 of their own, where DKMS builds the module
# for the kernels 6.1 and 6.12.  Each kernel then boots with that system, loads the module and runs
# the service: tests/guest/packages.sh.  Needs root, for chroot, and Debian's archive.

# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "${BASH_SOURCE[0]%/*}/../lib.sh"

export LC_ALL=C DEBIAN_FRONTEND=noninteractive
root=$work/root
version=$(sed -n 's/^VERSION := //p' "$top/Makefile")
read -ra all <<<"${SERIES:-6.1 6.12}"
releases=()
failed=

# step TEXT COMMAND...: a result without which the next ones make no sense
step() {
	local said
	said=$(result "$@")
	printf '%s\n' "$said"
	[[ $said == "ok "* ]] || failed=1
}

# inside COMMAND...: runs it in the Debian, with a /proc
inside() {
	# shellcheck disable=SC2016 # for the inner shell
	unshare -m sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$root" "$@"
}

# ------------------------------------------------------------ the packages ---

built() {
	# From a copy: "make deb" must leave nothing in the tree but build/
	rm -rf "$work/source" && copy_of_tree "$work/source" || return
	(cd "$work/source" && find . | sort) >"$work/before"
	make -s -C "$work/source" deb || return
	(cd "$work/source" && find . -path ./build -prune -o -print | sort) | diff "$work/before" - &&
		cp "$work/source"/build/deb/*.deb "$work/source"/build/deb/*.changes "$work/source"/build/deb/*.buildinfo "$work/"
}

lint() {
	lintian --allow-root --fail-on error,warning "$work"/*.changes >"$work/lint" 2>&1 && [ ! -s "$work/lint" ] && return
	cat "$work/lint"
	return 1
}

# What users are to find in them
contents() {
	local deb path
	while read -r deb path; do
		dpkg-deb -c "$work"/"$deb"_"$version"_*.deb | awk '{ print $6 }' | grep -qxF "./$path" ||
			{ echo "$deb lacks /$path"; return 1; }
	done <<-END
		stackbuf usr/sbin/stackbuf
		stackbuf usr/bin/stackbuf-crash
		stackbuf usr/bin/stackbuf-decode
		stackbuf usr/share/stackbuf/stackbuf-gdb.py
		stackbuf usr/share/stackbuf/stackbuf-drgn.py
		stackbuf usr/share/man/man8/stackbuf.8.gz
		stackbuf usr/share/man/man4/stackbuf.4.gz
		stackbuf usr/share/bash-completion/completions/stackbuf
		stackbuf usr/share/doc/stackbuf/examples/modprobe.conf
		stackbuf lib/systemd/system/stackbuf.service
		stackbuf etc/stackbuf.conf
		stackbuf-dkms usr/src/stackbuf-$version/dkms.conf
		stackbuf-dev usr/include/stackbuf/stackbuf.h
		stackbuf-dev usr/include/stackbuf/stackbuf_format.h
		stackbuf-dev usr/share/stackbuf/client.mk
	END
}

# -------------------------------------------------------------- the system ---

# Debian with the headers of each kernel and what the packages depend on
debian() {
	local series kernel words cross sources=() include=dkms,openssl,systemd
	for series in "${all[@]}"; do
		kernel_of "$series" && include+=,linux-headers-$(cat "$kernel/release") || return
	done
	include+=,$(dpkg-deb -f "$work/stackbuf_${version}"_*.deb Depends | sed 's/([^)]*)//g; s/ //g; s/|[^,]*//g')
	for file in /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources; do
		[ ! -s "$file" ] || sources+=("$file")
	done
	# As this machine reaches the archive
	apt-config dump | grep -E '^Acquire::(Check-|http|Retries)' >"$work/apt.conf"
	mmdebstrap --quiet --variant=minbase --include="$include" --aptopt="$work/apt.conf" \
		bookworm "$root" "${sources[@]}" >"$work/mm.log" 2>&1 && return
	tail -n 10 "$work/mm.log"
	return 1
}

# Files of the system, without those that any installation changes
list() {
	(cd "$root" && find . \( -path ./proc -o -path ./run -o -path ./var/log -o -path ./var/cache -o -path ./var/lib/dpkg -o \
		-path ./var/lib/systemd -o -path ./tmp \) -prune -o -printf '%p %y\n') |
		grep -vE '^\./(usr/lib/modules/[^/]*/modules\.[a-z.]*|etc/ld\.so\.cache|usr/share/man/.*\.gz|var/lib/dkms/mok\.(key|pub)) ' | sort
}

install_all() {
	list >"$work/files"
	mkdir -p "$root/debs" && cp "$work"/stackbuf{,-dkms,-dev}_"$version"_*.deb "$root/debs/" &&
		inside sh -c 'dpkg -i /debs/*.deb' && rm -r "$root/debs"
}

# module RELEASE: unpacks the module of this kernel to $work/stackbuf.ko
module() {
	local file
	file=$(find "$root/lib/modules/$1/updates/dkms" -name 'stackbuf.ko*')
	case $file in
	*.ko) cp "$file" "$work/stackbuf.ko" ;;
	*.xz) xz -dc "$file" >"$work/stackbuf.ko" ;;
	*) echo "no module for $1"; return 1 ;;
	esac
}

dkms_built() {
	local release
	inside dkms status
	for release in "${releases[@]}"; do
		inside dkms status -m stackbuf -v "$version" -k "$release" | grep ': installed$' && module "$release" &&
			[ "$(modinfo -F version "$work/stackbuf.ko")" = "$version" ] &&
			[[ $(modinfo -F vermagic "$work/stackbuf.ko") == "$release "* ]] || return
	done
}

# STRIP="no" in dkms.conf
lines_kept() {
	local release
	for release in "${releases[@]}"; do
		module "$release" && readelf -SW "$work/stackbuf.ko" 2>/dev/null | grep '\.debug_line ' &&
			addr2line -j .text -e "$work/stackbuf.ko" \
				"0x$(nm "$work/stackbuf.ko" | awk '$3 == "stackbuf_save_tag" { print $1 }')" 2>&1 |
			tee /dev/stderr | grep -qE '/core/[a-z_]+\.c:[1-9]' || return
	done
}

# make clean as well, and the modules for the virtual machines
client() {
	local release
	mkdir -p "$root/client" || return
	# shellcheck disable=SC2016 # backquotes are Markdown's
	sed -n '/^```c$/,/^```$/p' "$top/docs/client.md" | sed '1d; $d' >"$root/client/mine.c"
	# shellcheck disable=SC2016
	sed -n '/^```make$/,/^```$/p' "$top/docs/client.md" | sed '1d; $d' >"$root/client/Kbuild"
	for release in "${releases[@]}"; do
		inside make -s -C "/lib/modules/$release/build" M=/client modules &&
			[ "$(modinfo -F depends "$root/client/mine.ko")" = stackbuf ] &&
			mv "$root/client/mine.ko" "$work/mine-$release.ko" &&
			inside make -s -C "/lib/modules/$release/build" M=/client clean || return
	done
	[ "$(cd "$root/client" && echo *)" = 'Kbuild mine.c' ]
}

# The packaged headers of a kernel, without one option
lacking() {
	local release=${releases[0]} lines
	inside sh -c "cp -r /usr/src/linux-headers-$release /lacking && sed -i '/^CONFIG_KALLSYMS=/d' /lacking/include/config/auto.conf" || return
	! inside dkms build "stackbuf/$version" -k 9.9.9-lacking --kernelsourcedir /lacking >"$work/said" 2>&1 || return
	cat "$work/said"
	lines=$(grep '^stackbuf:' "$work/said")
	rm -rf "$root/lacking" "$root/var/lib/dkms/stackbuf/$version/build"
	[[ $lines =~ ^stackbuf:\ the\ kernel\ .*\ is\ built\ without\ CONFIG_KALLSYMS,\ which\ stackbuf\ needs$ ]] || return
	! inside dkms build "stackbuf/$version" -k 9.9.9-none >"$work/said" 2>&1 || return
	cat "$work/said"
	grep -q 'install the linux-headers-9.9.9-none package' "$work/said"
}

# The client's build names what is missing
client_alone() {
	inside make -s -C "/lib/modules/${releases[0]}/build" M=/client modules >"$work/said" 2>&1 && return 1
	cat "$work/said"
	grep -q "stackbuf: the module is not built for the kernel ${releases[0]}: run \"dkms autoinstall" "$work/said"
}

# Of debian/tests, what needs no other machine
autopkgtest() {
	cp "$top/debian/tests/command" "$root/client/" && mkdir -p "$root/client/tmp" || return
	inside env AUTOPKGTEST_TMP=/client/tmp /client/command
}

unit() {
	inside systemd-analyze --man=no verify stackbuf.service >"$work/said" 2>&1 && [ ! -s "$work/said" ] &&
		[ ! -e "$root/etc/systemd/system/multi-user.target.wants/stackbuf.service" ] && return
	cat "$work/said"
	return 1
}

# Its documented exposure
score() {
	local said
	said=$(inside systemd-analyze security --offline=true stackbuf.service | sed -n 's/.*exposure level[^:]*: \([0-9.]*\) .*/\1/p')
	echo "exposure $said"
	grep -qF "exposure level of $said " "$top/docs/service.md"
}

purged() {
	mkdir -p "$root/var/lib/stackbuf" && touch "$root/var/lib/stackbuf/last" &&
		inside dpkg --purge stackbuf stackbuf-dkms stackbuf-dev && rm -rf "$root/client" || return
	list | diff "$work/files" - && ! inside dpkg -l 'stackbuf*' 2>/dev/null | grep '^[a-z][a-z] '
}

# debian/tests' other one, which installs the package from an archive: here of this package alone
dkms_test() {
	local status
	mkdir "$root/repo" && cp "$work/stackbuf-dkms_$version"_*.deb "$root/repo/" &&
		(cd "$root/repo" && dpkg-scanpackages . >Packages) && rm -f "$root"/etc/apt/sources.list.d/* &&
		echo 'deb [trusted=yes] file:/repo ./' >"$root/etc/apt/sources.list" || return
	inside sh -c 'apt-get -q update && cd /tmp && AUTOPKGTEST_ARTIFACTS=/tmp /usr/lib/dkms/dkms-autopkgtest stackbuf-dkms' >"$work/said" 2>&1
	status=$?
	tail -n 12 "$work/said"
	[ $status = 0 ] && [ "$(grep -c '^I: PASS ' "$work/said")" = ${#releases[@]} ]
}

# --------------------------------------------------------- virtual machines ---

# The system as a file for the guest, without what builds modules
pack() {
	tar -c -C "$root" --exclude=./usr/src --exclude=./usr/lib/gcc --exclude=./usr/share/{doc,locale,man,perl,i18n,zoneinfo} \
		--exclude=./usr/lib/linux-kbuild* --exclude=./var/{cache,lib/apt,lib/dpkg} --exclude=./usr/lib/python3* \
		--exclude=./usr/lib/x86_64-linux-gnu/{perl*,gconv,*.a} --exclude=./proc . >"$work/system.tar"
}

boot_it() {
	local series=$1 release
	rm -rf "$work/vm" && mkdir -p "$work/vm" "$work/out" && guest "$series" packages && release=$(cat "$kernel/release") &&
		cp "$work/mine-$release.ko" "$work/vm/mine.ko" && ln -s "$work/system.tar" "$work/vm/system.tar" || return
	# -s: probes patch running code
	boot "$series" -s -m 1024 | sed "s/^\(not \)\?ok /&$series: /"
	grep -qx 'done' "$work/guest.log"
}

all() {
	local series kernel words cross
	step "make deb builds the packages and leaves nothing outside of build/" built
	[ -z "$failed" ] || return
	result "lintian says nothing" lint
	result "each package has what it is for" contents
	step "a Debian with the headers of ${all[*]} is made" debian
	[ -z "$failed" ] || return
	for series in "${all[@]}"; do
		kernel_of "$series" && releases+=("$(cat "$kernel/release")") || return
	done
	step "the packages are installed" install_all
	[ -z "$failed" ] || return
	result "DKMS built the module for each kernel" dkms_built
	result "source lines of the module are kept" lines_kept
	result "a kernel without what the module needs, or without headers: one line says so" lacking
	step "a client builds for each kernel by the packaged headers" client
	result "debian/tests/command passes" autopkgtest
	result "systemd-analyze verify; the service is not enabled" unit
	result "systemd-analyze security: the exposure that docs/service.md gives" score
	# A deliberate fault is in the packages: see tests/long/faults.t
	if [ -z "${FAILS:-}" ]; then
		pack || return
		[ -n "$failed" ] || for series in "${all[@]}"; do
			boot_it "$series" || return
		done
	fi
	inside dkms remove "stackbuf/$version" --all >/dev/null
	result "a client without the module: one line says what to run" client_alone
	inside dkms autoinstall -k "${releases[0]}" >/dev/null 2>&1
	result "purged, the packages leave nothing" purged
	result "dkms-autopkgtest passes" dkms_test
	echo "done"
}

if [ "$(id -u)" != 0 ]; then
	printf '%s\n' "KTAP version 1" "1..0 # SKIP only root can install packages in a system of its own"
	exit 0
fi
all | ktap
